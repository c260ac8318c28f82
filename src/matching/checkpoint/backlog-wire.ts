/** The port through which a checkpoint turns stored tasks into the bytes of database rows, and back. */
import type { SpilledTask } from '../records.ts';

/** Of the bytes below. v1: first form. v2: rows of lanes, and priorities. What a later version has written is not read. */
export const backlogSchema = 2;

export type TaskState = { readonly spilled: SpilledTask; readonly storedAtMs: number };

/** What is encoded can be decoded, and means the same. Decoding throws where the bytes cannot be what was written. */
export interface BacklogWire {
  encodeTask(task: TaskState): Uint8Array;
  decodeTask(bytes: Uint8Array): TaskState;
  encodeCounters(counters: { readonly lastId: number }): Uint8Array;
  decodeCounters(bytes: Uint8Array): { readonly lastId: number };
}
