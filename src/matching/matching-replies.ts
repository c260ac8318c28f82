/** What a matching host answers. */
import type { QueueWithTasks } from '../kernel/task-queue.ts';
import type { TaskQueueConfig } from './task-queue-config.ts';
import type { MatchingTask, QueriedWorkflow, QueryResult } from './matching-tasks.ts';

export type MatchingRejection = {
  readonly reason:
    /** FAILED_PRECONDITION `no poller seen for task queue recently, worker may be down`; clients compare the text. */
    | 'no-poller'
    /** DEADLINE_EXCEEDED */
    | 'query-expired'
    /** NOT_FOUND */
    | 'query-not-found'
    /** INVALID_ARGUMENT */
    | 'too-many-weights'
    /** The namespace that was to be forgotten has tasks. */
    | 'tasks-left'
    /** RESOURCE_EXHAUSTED */
    | ('configs-full' | 'too-many-polls' | 'too-many-queries' | 'backlog-full' | 'too-many-queues');
  readonly message: string;
};

export type MatchingRejected = { readonly kind: 'rejected'; readonly rejection: MatchingRejection };

export type Done = { readonly kind: 'done' };
export const done: Done = { kind: 'done' };

/** A task is in the journal of its partition, committed: it survives whatever becomes of the host. */
export type Stored = { readonly kind: 'stored' };

/** The poll's time is over. */
export type EmptyPoll = { readonly kind: 'emptyPoll' };

/** A task whose start is committed in history. */
export type TaskReply<T> = {
  readonly kind: 'task';
  readonly task: T;
  /** What was started, and for which poll: for whoever must take the start back. */
  readonly origin: MatchingTask;
  readonly pollRequestId: string;
  readonly backlogCountHint: number;
};

/** A query-only workflow task: nothing was started, the answer goes to `answerQuery` of this queue. */
export type QueryTask = {
  readonly kind: 'queryTask';
  readonly queryId: string;
  /** Encoded `temporal.api.query.v1.WorkflowQuery`. */
  readonly query: Uint8Array;
  readonly workflow: QueriedWorkflow;
  /** The partition that waits for the answer; goes into the task token. */
  readonly queuePartition: number;
  /** The task was on a sticky queue, where the worker gets no history events. */
  readonly sticky: boolean;
};

/** Nobody polls this sticky queue: offer the task on the normal queue, at once. */
export type StickyUnavailable = { readonly kind: 'stickyUnavailable' };
export const stickyUnavailable: StickyUnavailable = { kind: 'stickyUnavailable' };

/** To a task that is not stored here: its sender keeps it. `isRefused`: a poll waited and its start was refused: a child offers others. */
export type NoMatch = { readonly kind: 'noMatch'; readonly isRefused: boolean };

export type QueryAnswer = { readonly kind: 'queryAnswer'; readonly result: QueryResult };

export type PollerDescription = {
  readonly identity: string;
  readonly lastAccessTimeMs: number;
  /** Tasks per second that this worker asked to be limited to; undefined = none said. */
  readonly ratePerSecond: number | undefined;
};

export type LevelDescription = {
  readonly priorityKey: number;
  readonly backlogCount: number;
  readonly backlogAgeMs: number;
  /** A second, lately. */
  readonly addRate: number;
  readonly dispatchRate: number;
};

export type TaskQueueDescription = {
  readonly kind: 'taskQueueDescription';
  /** Seen within the last minutes, newest first. */
  readonly pollers: readonly PollerDescription[];
  readonly backlogCountHint: number;
  /** Age of the oldest task that waits; 0 = none. */
  readonly backlogAgeMs: number;
  /** First and last id of the stored tasks, 0 = none. */
  readonly ackLevel: number;
  readonly readLevel: number;
  readonly ratePerSecond: number | undefined;
  /** The limit has held a task up lately. */
  readonly isRateLimited: boolean;
  /** Priorities that are in use, or were lately. */
  readonly levels: readonly LevelDescription[];
  /** The config as this partition knows it; undefined: nobody has said anything. */
  readonly config: TaskQueueConfig | undefined;
};

/** The configuration as it is now, committed. */
export type TaskQueueConfigured = { readonly kind: 'taskQueueConfigured'; readonly config: TaskQueueConfig };

/** Queues with how many tasks each has, or a few more. */
export type StoredQueues = { readonly kind: 'storedQueues'; readonly queues: readonly QueueWithTasks[] };

export type MatchingReply<T> =
  | MatchingRejected
  | Done
  | Stored
  | StoredQueues
  | EmptyPoll
  | TaskReply<T>
  | QueryTask
  | StickyUnavailable
  | NoMatch
  | QueryAnswer
  | TaskQueueDescription
  | TaskQueueConfigured;
