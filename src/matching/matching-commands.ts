/** What a matching host is asked: plain values, times in whole ms. The edge has taken its margin off deadlines. `T`: the started task, opaque here. */
import type { TaskRow } from './checkpoint/rows.ts';
import type { EmptyPoll, QueryTask, TaskReply } from './matching-replies.ts';
import type { ConfigChange, TaskQueueConfig } from './task-queue-config.ts';
import type { TaskQueuePartition, TaskType, taskTypes } from '../kernel/task-queue.ts';
import type { MatchingTask, QueriedWorkflow, QueryResult } from './matching-tasks.ts';

type PollOf<Kind extends string> = {
  readonly kind: Kind;
  readonly queue: TaskQueuePartition;
  /** Names this poll; a start that is recorded twice under it is the same start. A new UUID for each poll. */
  readonly pollRequestId: string;
  readonly identity: string;
  /** Absolute: an empty answer is given then. */
  readonly deadlineMs: number;
  /** What ShutdownWorker names; '' = not sent. */
  readonly workerInstanceKey: string;
  /** Limit of the whole queue that this worker asks for, at least 0 (nothing leaves the queue); undefined = none said. Activities only. */
  readonly maxTasksPerSecond: number | undefined;
  /** Encoded worker version, for the started record. */
  readonly workerVersion: Uint8Array | undefined;
  /** The child partition that passes this poll on; undefined = a worker's own. */
  readonly forwardedFrom: number | undefined;
};

/** Reply: EmptyPoll, TaskReply or, of a workflow queue, QueryTask; rejected: too-many-polls. */
export type PollTask = { readonly [Type in TaskType]: PollOf<(typeof taskTypes)[Type]['poll']> }[TaskType];

type AddOf<Kind extends string> = {
  readonly kind: Kind;
  readonly queue: TaskQueuePartition;
  readonly task: MatchingTask;
  /** The child partition that passes this task on; undefined = from history. */
  readonly forwardedFrom: number | undefined;
  /** Its sender (a child, or history) keeps it, and is told NoMatch when no poll came by then. 0: stored here, or a child's handed back. */
  readonly holdUntilMs: number;
};

/**
 * Reply: Stored = it is in the journal of this partition, which offers it until it is started, obsolete or expired, whatever becomes of its host.
 * Done = it was started, is obsolete or expired, or waits in the memory of a sticky queue, which may be lost. StickyUnavailable: nobody polls that
 * sticky queue, offer it on the normal one. NoMatch: to tasks that are not stored here. Rejected: backlog-full.
 */
export type AddTask = { readonly [Type in TaskType]: AddOf<(typeof taskTypes)[Type]['add']> }[TaskType];

/** Reply: QueryAnswer or StickyUnavailable; rejected: no-poller, query-expired. Goes to the root partition. */
export type DispatchQuery = {
  readonly kind: 'dispatchQuery';
  readonly queue: TaskQueuePartition;
  /** Chosen by the caller, unique. */
  readonly queryId: string;
  readonly workflow: QueriedWorkflow;
  /** Encoded `temporal.api.query.v1.WorkflowQuery`. */
  readonly query: Uint8Array;
  readonly deadlineMs: number;
};

/** A worker's answer to a query-only task. Reply: Done; rejected: query-not-found. */
export type AnswerQuery = {
  readonly kind: 'answerQuery';
  readonly queue: TaskQueuePartition;
  readonly queryId: string;
  readonly result: QueryResult;
};

/** Reply: TaskQueueDescription, of this partition. */
export type DescribeTaskQueue = { readonly kind: 'describeTaskQueue'; readonly queue: TaskQueuePartition };

/** Goes to the root partition. Reply: TaskQueueConfigured; rejected: too-many-weights, configs-full. */
export type UpdateTaskQueueConfig = ConfigChange & { readonly kind: 'updateTaskQueueConfig'; readonly queue: TaskQueuePartition };

/** From the root to another partition. Reply: Done, it is in the journal there. */
export type ConfigurePartition = {
  readonly kind: 'configurePartition';
  readonly queue: TaskQueuePartition;
  readonly config: TaskQueueConfig;
};

/** The namespace is removed: what this host has for it goes. Reply: Done, when that and all before is committed; rejected: tasks-left. */
export type ForgetNamespace = { readonly kind: 'forgetNamespace'; readonly namespaceId: string };

/** Task queues of a namespace that have stored tasks here; `only`: that one alone. Reply: StoredQueues. */
export type ListStoredQueues = {
  readonly kind: 'listStoredQueues';
  readonly namespaceId: string;
  readonly only: TaskQueuePartition | undefined;
};

/** A worker stops: its open polls end empty, a sticky queue is unavailable from now on. Asked of each partition it names. Reply: Done. */
export type ShutdownWorker = {
  readonly kind: 'shutdownWorker';
  readonly queue: TaskQueuePartition;
  /** '' = none of the polls, the sticky queue only. */
  readonly workerInstanceKey: string;
};

/** What history made of a `startTask` effect. */
export type StartOutcome<T> =
  | { readonly kind: 'started'; readonly task: T }
  /** The task is gone, stale, or was started by another poll. */
  | { readonly kind: 'obsolete' }
  /** The shard of the workflow is not served, or the workflow stands still: certainly not started, and it may take long. */
  | { readonly kind: 'refused' }
  /** The outcome is not known, or there is none now: ask again. */
  | { readonly kind: 'unavailable' };

/** From the shell, to each `startTask` effect. No reply. */
export type TaskStartAnswered<T> = { readonly kind: 'taskStartAnswered'; readonly correlation: number; readonly outcome: StartOutcome<T> };

/** What the parent partition made of a `forwardPoll` effect. */
export type ForwardedPollOutcome<T> = TaskReply<T> | QueryTask | EmptyPoll | { readonly kind: 'unavailable' };

/** From the shell, to each `forwardPoll` effect. No reply. */
export type ForwardedPollAnswered<T> = {
  readonly kind: 'forwardedPollAnswered';
  readonly correlation: number;
  readonly outcome: ForwardedPollOutcome<T>;
};

export type ForwardedTaskOutcome = 'taken' | 'noMatch' | 'refused' | 'unavailable';

/** From the shell, to each `forwardTask` effect: `taken` = nobody needs to offer it again; `refused` = not now. No reply. */
export type ForwardedTaskAnswered = {
  readonly kind: 'forwardedTaskAnswered';
  readonly correlation: number;
  readonly outcome: ForwardedTaskOutcome;
};

/** From the shell, to each `loadStoredTasks` effect: what the table holds there, in order; undefined: not now. `key`: of the lane. No reply. */
export type StoredTasksLoaded = {
  readonly kind: 'storedTasksLoaded';
  readonly queue: TaskQueuePartition;
  readonly key: string;
  readonly rows: readonly TaskRow[] | undefined;
};

/** From the shell, to each `countStoredTasks` effect: how many of them have ids above `afterTaskId`, up to `upToTaskId`. No reply. */
export type StoredTasksCounted = {
  readonly kind: 'storedTasksCounted';
  readonly queue: TaskQueuePartition;
  readonly afterTaskId: number;
  readonly upToTaskId: number;
  readonly count: number;
};

/** From the shell, when `nextDeadline()` has come. No reply. */
export type Tick = { readonly kind: 'tick' };

/** From the shell, when it is idle: journals the removals that no other record has carried yet. No reply. */
export type FlushRemovals = { readonly kind: 'flushRemovals' };

/** From the shell, when the server stops: polls that wait end empty, also all later ones; a start under way is answered. No reply. */
export type EndPolls = { readonly kind: 'endPolls' };

/** From the shell, once, after the partition was taken over: offers what the journal holds. No reply. */
export type Activate = { readonly kind: 'activate' };

/** What others ask a matching host. */
export type MatchingRequest =
  | PollTask
  | AddTask
  | DispatchQuery
  | AnswerQuery
  | DescribeTaskQueue
  | UpdateTaskQueueConfig
  | ConfigurePartition
  | ForgetNamespace
  | ListStoredQueues
  | ShutdownWorker;

export type MatchingCommand<T> =
  | MatchingRequest
  | TaskStartAnswered<T>
  | ForwardedPollAnswered<T>
  | ForwardedTaskAnswered
  | StoredTasksLoaded
  | StoredTasksCounted
  | Tick
  | FlushRemovals
  | EndPolls
  | Activate;
