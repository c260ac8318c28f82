/** What events say of the worker that has taken a task: a `WorkerVersionStamp`. */
import { Reader } from '../../wire/reader.ts';
import { encodeBriefly, type Writer } from '../../wire/writer.ts';
import { checkLength, type EdgeLimits } from '../validation/lengths.ts';
import { checkOpaque } from '../validation/opaque.ts';

// WorkerVersionCapabilities and WorkerVersionStamp: build_id = 1; WorkerVersionStamp.use_versioning = 3
const buildIdTag = (1 << 3) | 2;
const stampUseVersioningTag = 3 << 3;

/** Of a poll. Undefined: its build has no id. */
export function stampOfPoll(capabilities: Uint8Array | undefined): Uint8Array | undefined {
  const buildId = buildIdOf(capabilities);
  return buildId === '' ? undefined : encodedStamp(buildId, false);
}

/** As a worker has sent it, but for fields that the public API does not have: each activity that starts eagerly keeps a copy. */
export function checkedStamp(stamp: Uint8Array | undefined, limits: EdgeLimits): Uint8Array | undefined {
  checkOpaque(stamp, 'workerVersionStamp');
  if (stamp === undefined) return undefined;
  const buildId = buildIdOf(stamp);
  checkLength(buildId, 'BuildId', limits);
  return encodedStamp(buildId, varintField(stamp, stampUseVersioningTag) !== 0);
}

export function buildIdOf(message: Uint8Array | undefined): string {
  if (message === undefined) return '';
  const reader = new Reader(message);
  let buildId = '';
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === buildIdTag) buildId = reader.string();
    else reader.skip(tag);
  }
  return buildId;
}

/** One number out of an opaque message that is known to be well-formed; 0 when it is not there. */
export function varintField(message: Uint8Array | undefined, wanted: number): number {
  if (message === undefined) return 0;
  const reader = new Reader(message);
  let value = 0;
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === wanted) value = reader.int32();
    else reader.skip(tag);
  }
  return value;
}

type Stamp = { readonly buildId: string; readonly usesVersioning: boolean };

function encodedStamp(buildId: string, usesVersioning: boolean): Uint8Array {
  return encodeBriefly(writeStamp, { buildId, usesVersioning });
}

function writeStamp(w: Writer, { buildId, usesVersioning }: Stamp): void {
  w.string(buildIdTag, buildId);
  w.bool(stampUseVersioningTag, usesVersioning);
}
