/** A query on its way to a worker, and what comes back. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { TaskQueue } from '../generated/public-api.ts';

export type QueryResult = {
  readonly answered: boolean;
  readonly answer: Uint8Array | undefined;
  readonly errorMessage: string;
  readonly failure: Uint8Array | undefined;
};

/** A query for a run without a pending workflow task: straight to a worker, its answer straight to `askId`. */
export type DirectQuery = {
  readonly kind: 'directQuery';
  readonly askId: number;
  readonly queryId: string;
  /** The workflow, with the id of the run that was resolved. */
  readonly key: RunKey;
  readonly workflowType: string;
  /** The queue to try first: the sticky one when there is one, else the normal one. */
  readonly taskQueue: TaskQueue;
  readonly normalTaskQueue: TaskQueue;
  /** How long a first try on a sticky queue may take; 0 otherwise. When it passes, the normal queue is tried. */
  readonly scheduleToStartTimeoutMs: number;
  readonly query: Uint8Array;
  readonly deadlineMs: number;
  readonly previousStartedEventId: number;
  /** Last event of the history that the normal queue's poller gets, from 1. */
  readonly lastEventId: number;
};

/** What became of a query at the task queue that was tried. The shard's own; the answer goes to the ask of the query. */
export type FinishQueryDispatch = {
  readonly kind: 'finishQueryDispatch';
  readonly query: DirectQuery;
  readonly outcome: QueryDispatchOutcome;
  /** Time until the query's deadline, by the clock that set it: the shard's own time may be ahead of that by hours. */
  readonly remainingMs: number;
};

export type QueryDispatchOutcome =
  | { readonly kind: 'answered'; readonly result: QueryResult }
  | { readonly kind: 'noPoller' }
  | { readonly kind: 'expired' }
  | { readonly kind: 'queueFull'; readonly message: string };
