/** What operators leave in a pending activity. */
import type { ActivityTimeouts } from '../commands/workflow-commands.ts';
import type { AskedByOperator } from '../commands/operation-commands.ts';
import type { AnsweredRequests } from './answered-requests.ts';
import type { RetryPolicy, TaskQueue } from '../generated/public-api.ts';

export type ActivityOperations = {
  /** No attempt is dispatched, and no timeout counts. */
  readonly pause: ActivityPause | undefined;
  /** The attempt that runs does not count: the next one is the first. */
  readonly attemptsReset: boolean;
  /** The attempt that runs learns by its heartbeats that the activity was reset. */
  readonly resetRequested: boolean;
  /** The details of its heartbeats go with it. */
  readonly heartbeatReset: boolean;
  /** undefined: those of the Scheduled event. */
  readonly options: ActivityOptions | undefined;
  readonly answered: AnsweredRequests | undefined;
};

export type ActivityPause = AskedByOperator & { readonly pauseTimeMs: number };

/** All that an operator can change, as it is stored. */
export type ActivityOptions = Omit<ShownOptions, 'retryPolicy'> & {
  /** Without its types of errors, which may be large and seldom change. */
  readonly retryPolicy: RetryPolicy;
  /** Instead of those of the Scheduled event; undefined: they are those. */
  readonly errorTypes: { readonly types: readonly string[] } | undefined;
};

export type ShownOptions = ActivityTimeouts & {
  readonly taskQueue: TaskQueue;
  readonly retryPolicy: RetryPolicy;
  readonly priority: Uint8Array | undefined;
};
