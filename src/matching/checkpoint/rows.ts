/** A matching host's state as rows of a database: what a checkpoint writes, and what a takeover reads. The same shapes as in the database port. */

export type TaskRow = {
  readonly taskId: number;
  /** The key of its lane (`matching/lane-name.ts`), under the name of the column. */
  readonly queue: string;
  readonly task: Uint8Array;
};

/** The first rows of the lane whose key is `queue`, by task id, and the id of its last one. */
export type LaneRows = { readonly queue: string; readonly lastTaskId: number; readonly tasks: readonly TaskRow[] };

/** What changed between two cuts. What is named among the gone may never have been written, and stands among the rows never. */
export type BacklogDelta = { readonly tasks: readonly TaskRow[]; readonly goneTasks: readonly number[] };

/** What is one for all rows, as of the cut. */
export type BacklogCounters = {
  readonly counters: Uint8Array;
  /** The time of the last record. */
  readonly timeMs: number;
};

export type BacklogCheckpoint = BacklogCounters & { readonly delta: BacklogDelta };
