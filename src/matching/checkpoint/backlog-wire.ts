/** The port through which a checkpoint turns stored tasks into the bytes of database rows, and back. */
import type { SpilledTask } from '../records.ts';
import type { ConfiguredQueue } from '../task-queue-config.ts';

/**
 * Of the bytes below. v1: first form. v2: rows of lanes, priorities, and configurations of queues. v3: where one of these has a rate of fairness keys.
 * What a later version has written is not read.
 */
export const backlogSchemaMax = 3;

export function backlogSchemaOf(configs: readonly ConfiguredQueue[]): number {
  return configs.some(({ config }) => config.keyRate !== undefined) ? backlogSchemaMax : 2;
}

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
