/** The port through which a checkpoint turns stored tasks into the bytes of database rows, and back. */
import type { SpilledTask } from '../matching-records.ts';
import type { ConfiguredQueue } from '../task-queue-config.ts';

export type TaskState = { readonly spilled: SpilledTask; readonly storedAtMs: number };

/** What is one for all rows. The configurations of queues stand here as a whole: they are few (`configBytesPerHostMax`), and change rarely. */
export type CountersState = { readonly lastId: number; readonly configs: readonly ConfiguredQueue[] };

/** What is encoded can be decoded, and means the same. Decoding throws where the bytes cannot be what was written. */
export interface BacklogWire {
  encodeTask(task: TaskState): Uint8Array;
  decodeTask(bytes: Uint8Array): TaskState;
  encodeCounters(counters: CountersState): Uint8Array;
  decodeCounters(bytes: Uint8Array): CountersState;
}
