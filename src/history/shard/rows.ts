/** A shard as rows: what a checkpoint writes, and a shard is made of again. The database port adds history and visibility. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { EventsLeftOut } from './state-wire.ts';

export type RunRow = RunKey & {
  /** `temporal.api.enums.v1.WorkflowExecutionStatus` */
  readonly status: number;
  /** The run, and why it was put aside, if it was. */
  readonly state: Uint8Array;
  /** End of retention of a closed run, in place of its timer's row; undefined: it is open, or that timer waits aside, with a row of its own. */
  readonly forgetMs: number | undefined;
};

/** A row that was read, and what it leaves to history. */
export type StoredRun = RunRow & { readonly events?: EventsLeftOut };

/** Which run made a child: a start that is delivered again finds it, whatever has become of it. */
export type ChildStartRow = { readonly parentRunId: string; readonly initiatedEventId: number; readonly runId: string };

/** `aside`: of a run that the shard cannot go on with. */
export type TaskRow = { readonly taskId: number; readonly task: Uint8Array; readonly aside: boolean };
/** `atMatching`: of a task for a worker that matching has stored. */
export type TransferTaskRow = TaskRow & { readonly atMatching: boolean };
export type TimerRow = TaskRow & { readonly fireTimeMs: number };

/** Which timers to read: by (fire time, task id), from behind that place on. */
export type TimerPage = { readonly afterFireTimeMs: number; readonly afterTaskId: number; readonly untilMs: number; readonly max: number };

/** A record that waits for a run whose row cannot be read; `index`: from 1, of that run's. */
export type WaitingRow = { readonly runId: string; readonly index: number; readonly record: Uint8Array };

/** All of a shard. Starts of children are not needed: runs say who started them. */
export type ShardRows = {
  readonly runs: Iterable<StoredRun>;
  /** The newest run of each workflow id. One that is not among the runs counts as none. */
  readonly currentRuns: Iterable<RunKey>;
  /** Transfer tasks in the order of their ids. */
  readonly transferTasks: Iterable<TransferTaskRow>;
  readonly timers: Iterable<TimerRow>;
};

/** What changed between two cuts. Pointers are written before runs are retired: one may name such a run, so that no older one is found. */
export type ShardDelta = {
  readonly runs: readonly RunRow[];
  readonly currentRuns: readonly RunKey[];
  readonly childStarts: readonly ChildStartRow[];
  readonly transferTasks: readonly TransferTaskRow[];
  readonly timers: readonly TimerRow[];
  /** Matching has stored them since their rows were written; none of them is among the rows or the gone. */
  readonly tasksAtMatching: readonly number[];
  /** Some of the gone were never written. */
  readonly goneTransferTasks: readonly number[];
  readonly goneTimers: readonly number[];
  /** Runs to delete, with their child starts; the pointer of the workflow id only if it still names this run. */
  readonly retiredRuns: readonly RunKey[];
};

/** What is one for all rows, as of the cut. */
export type ShardCounters = {
  readonly counters: Uint8Array;
  /** The time of the last record. */
  readonly timeMs: number;
};

export type ShardCheckpoint = ShardCounters & { readonly delta: ShardDelta; readonly waiting: readonly WaitingRow[] };
