import { Reader } from '../../wire/runtime.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { checkOpaque } from './opaque.ts';

const fairnessKeyBytesMax = 64;

// Priority.priority_key = 1 (varint), fairness_key = 2 (bytes), fairness_weight = 3 (32 bits)
const priorityKeyTag = 1 << 3;
const fairnessKeyTag = (2 << 3) | 2;
const fairnessWeightTag = (3 << 3) | 5;

/** It is passed on as it is; a value that no queue could use is refused here. */
export function checkPriority(bytes: Uint8Array | undefined): void {
  if (bytes === undefined) return;
  checkOpaque(bytes, 'priority');
  const reader = new Reader(bytes);
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === priorityKeyTag) {
      if (reader.int32() < 0) throw invalidArgument("priority key can't be negative");
    } else if (tag === fairnessKeyTag) {
      if (Buffer.byteLength(reader.string()) > fairnessKeyBytesMax) throw invalidArgument('fairness key length exceeds limit');
    } else if (tag === fairnessWeightTag) {
      if (reader.float() < 0) throw invalidArgument('must be greater than zero');
    } else reader.skip(tag);
  }
}
