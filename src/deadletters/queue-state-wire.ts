/** The port through which a checkpoint turns what is one for all rows of a queue into bytes, and back. */
import type { QueueSnapshot } from './queue-state.ts';

/** Of the bytes below. v1: first form. What a later version has written is not read. */
const queueStateSchema = 1;
/** With an incarnation. */
const queueStateSchemaIncarnation = 2;
export const queueStateSchemaLast = queueStateSchemaIncarnation;

/** The lowest that can say it. */
export function queueSchemaOf({ incarnation }: Pick<QueueSnapshot, 'incarnation'>): number {
  return incarnation === 0 ? queueStateSchema : queueStateSchemaIncarnation;
}

/** What is encoded can be decoded, and means the same. Decoding throws where the bytes cannot be what was written. */
export interface QueueStateWire {
  encodeCounters(snapshot: QueueSnapshot): Uint8Array;
  decodeCounters(bytes: Uint8Array): QueueSnapshot;
}
