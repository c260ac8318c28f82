/** What a history shard answers. A rejection changes nothing and says why; the edge knows the gRPC code and details of each reason. */
import type { UpdateStarted } from '../commands/pending-update.ts';
import type { PutAsideDescription } from '../commands/put-aside-description.ts';
import type { ShownOptions, ActivityPause } from './activity-operations.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { LetterOutcome } from './letter-marks.ts';
import type { LetterName } from '../commands/redrive-commands.ts';
import type { HistoryEvent } from './events.ts';
import type { BatchDescription } from '../commands/batch-commands.ts';
import type { ScheduleChanged, ScheduleDescription } from '../commands/schedule-commands.ts';
import type { ScheduleWire } from './schedule-wire.ts';
import type { RowsHeld } from '../commands/owner-requests.ts';
import type { RunKeys } from '../commands/run-keys.ts';
import type { TaskList } from '../commands/shard-task-commands.ts';
import type { PendingTask } from './tasks.ts';
import type { RetryPolicy, TaskQueue, WorkflowExecution } from '../generated/public-api.ts';
import type { Callback } from './callback.ts';
import type { WorkflowPause, Activity, UserTimer, WorkflowTask, RunStart } from './state.ts';
import type { PriorityFields } from '../../kernel/priority.ts';
import type { SearchAttributeWire } from '../../kernel/search-attributes.ts';

export type Rejection =
  /** NOT_FOUND + NotFoundFailure */
  | { readonly reason: 'workflow-not-found' | 'workflow-closed' | 'task-not-found' | 'activity-not-found'; readonly message: string }
  | { readonly reason: 'schedule-not-found' | 'update-not-found'; readonly message: string }
  /** ALREADY_EXISTS + WorkflowExecutionAlreadyStartedFailure */
  | {
      readonly reason: 'already-started';
      readonly message: string;
      readonly startRequestId: string;
      readonly runId: string;
      readonly firstExecutionRunId: string;
    }
  /** INVALID_ARGUMENT; `unhandled-command` has the literal text `UnhandledCommand`. */
  | { readonly reason: 'invalid-argument' | 'unhandled-command' | 'bad-command'; readonly message: string }
  /** FAILED_PRECONDITION (+ WorkflowNotReadyFailure) */
  | { readonly reason: 'failed-precondition' | 'workflow-not-ready'; readonly message: string }
  /** RESOURCE_EXHAUSTED, cause SYSTEM_OVERLOADED: it would begin a run, and this server takes none now. */
  | { readonly reason: 'no-room'; readonly message: string }
  /** RESOURCE_EXHAUSTED, cause CONCURRENT_LIMIT */
  | { readonly reason: 'too-many-updates'; readonly message: string }
  /** RESOURCE_EXHAUSTED, cause BUSY_WORKFLOW */
  | { readonly reason: 'busy-workflow'; readonly message: string }
  /** INVALID_ARGUMENT + QueryFailedFailure */
  | { readonly reason: 'query-failed'; readonly message: string; readonly failure: Uint8Array | undefined }
  /** DEADLINE_EXCEEDED */
  | { readonly reason: 'query-timed-out'; readonly message: string };

export type Rejected = { readonly kind: 'rejected'; readonly rejection: Rejection };

export type Done = { readonly kind: 'done' };
export const done: Done = { kind: 'done' };

/** `runId`: the run that has the signal, for the link to it. */
export type SignaledReply = { readonly kind: 'signaled'; readonly runId: string };

/** `runId`: the child's first run. */
export type ChildFound = { readonly kind: 'childFound'; readonly runId: string };

export type StartReply = UpdateStarted & {
  /** The run's first, started for who asked for it. Absent: matching has it, or will have. */
  readonly workflowTask?: StartedWorkflowTask | undefined;
};

/** Its history: events `historyFirstEventId … historyLastEventId`, then `tailEvents` (unwritten ones, if it is transient or speculative). */
export type StartedWorkflowTask = Pick<
  WorkflowTask,
  'scheduledEventId' | 'startedEventId' | 'attempt' | 'scheduledTimeMs' | 'startedTimeMs'
> & {
  readonly kind: 'workflowTask';
  readonly key: RunKey;
  readonly workflowType: string;
  readonly previousStartedEventId: number;
  /** The normal queue, also on a sticky task. */
  readonly taskQueue: TaskQueue;
  readonly historyFirstEventId: number;
  readonly historyLastEventId: number;
  /** The first page of these events, where the shell has attached it; absent: it is read with `readHistory`. */
  readonly firstPage?: readonly Uint8Array[] | undefined;
  readonly tailEvents: readonly Uint8Array[];
  /** Query id -> encoded `WorkflowQuery`. */
  readonly queries: ReadonlyMap<string, Uint8Array>;
  /** Updates in the order of their admission; `request` is a temporal.api.update.v1.Request. */
  readonly updates: readonly { readonly updateId: string; readonly request: Uint8Array }[];
};

export type StartedActivityTask = Pick<Activity, 'activityId' | 'heartbeatDetails' | 'scheduledEventId' | 'attempt' | 'startedTimeMs'> & {
  readonly kind: 'activityTask';
  readonly key: RunKey;
  readonly workflowType: string;
  readonly activityType: string;
  readonly header: Uint8Array | undefined;
  readonly input: Uint8Array | undefined;
  readonly scheduledTimeMs: number;
  readonly currentAttemptScheduledTimeMs: number;
  readonly scheduleToCloseTimeoutMs: number;
  readonly startToCloseTimeoutMs: number;
  readonly heartbeatTimeoutMs: number;
  readonly retryPolicy: RetryPolicy;
  readonly priority: Uint8Array | undefined;
};

export type CompletedWorkflowTask = {
  readonly kind: 'workflowTaskCompleted';
  /** The follow-up task, started inline. */
  readonly workflowTask: StartedWorkflowTask | undefined;
  readonly activityTasks: readonly StartedActivityTask[];
  readonly resetHistoryEventId: number;
};

export type HeartbeatReply = {
  readonly kind: 'heartbeat';
  readonly cancelRequested: boolean;
  readonly activityPaused: boolean;
  readonly activityReset: boolean;
};

/** `runId`: of the run that goes on, or is being prepared to; '' = the history has grown since it was read, and nothing has happened. */
export type WorkflowReset = { readonly kind: 'workflowReset'; readonly runId: string };

/** The options from now on; of several activities, those of the last. */
export type ActivityOptionsUpdated = { readonly kind: 'activityOptionsUpdated'; readonly options: ShownOptions };

export type WorkflowOptionsUpdated = { readonly kind: 'workflowOptionsUpdated'; readonly priority: Uint8Array | undefined };

export type QueryReply =
  | { readonly kind: 'queryAnswered'; readonly answer: Uint8Array | undefined }
  | { readonly kind: 'queryRejected'; readonly status: number };

export type UpdateReply = {
  readonly kind: 'updateStage';
  readonly runId: string;
  readonly stage: 'admitted' | 'accepted' | 'completed';
  /** temporal.api.update.v1.Outcome, of one that is completed; undefined: it is to be read from `completedEventId`. */
  readonly outcome: Uint8Array | undefined;
  /** 0 = none. */
  readonly completedEventId: number;
  /** The reply to the start that the update came with, if there was one. */
  readonly started: StartReply | undefined;
};

/** The start that an update came with was refused: nothing has happened. */
export type StartRefused = { readonly kind: 'startRefused'; readonly rejection: Rejection };

/** An update that came with a start was refused. `begun`: that start has made the run. */
export type UpdateRefused = { readonly kind: 'updateRefused'; readonly rejection: Rejection; readonly begun: boolean };

export type HistoryPosition = {
  readonly kind: 'historyPosition';
  readonly key: RunKey;
  readonly firstEventId: number;
  readonly lastEventId: number;
  readonly closed: boolean;
  /** Of an open run: transient tail for a worker whose cache missed. Of one that is deleted now: its last events. Else empty. */
  readonly tailEvents: readonly Uint8Array[];
};

export type HistoryPage = { readonly kind: 'historyPage'; readonly events: readonly Uint8Array[] };

export type PendingActivityDescription = ShownOptions & {
  readonly activityId: string;
  readonly activityType: string;
  /** PendingActivityState: 1 scheduled, 2 started, 3 cancel requested, 4 paused, 5 pause requested. */
  readonly state: number;
  readonly heartbeatDetails: Uint8Array | undefined;
  readonly lastHeartbeatTimeMs: number;
  readonly lastStartedTimeMs: number;
  readonly attempt: number;
  readonly maximumAttempts: number;
  readonly scheduledTimeMs: number;
  readonly expirationTimeMs: number;
  readonly lastFailure: Uint8Array | undefined;
  readonly lastWorkerIdentity: string;
  readonly currentRetryIntervalMs: number;
  readonly nextAttemptScheduleTimeMs: number;
  readonly lastAttemptCompleteTimeMs: number;
  readonly pause: ActivityPause | undefined;
};

export type PendingChildDescription = {
  readonly workflowId: string;
  readonly runId: string;
  readonly workflowType: string;
  readonly initiatedEventId: number;
  readonly parentClosePolicy: number;
};

export type CallbackDescription = Omit<Callback, 'callbackId' | 'attachedBy' | 'update'> & {
  /** The update whose end the callback waits for; '': the run's. */
  readonly updateId: string;
};

/** What is shown of the start of a run as it is. */
type ShownStart = Omit<RunStart, 'parent' | 'originalRunId' | 'links' | 'attempt' | 'runExpirationMs' | 'executionExpirationMs'>;

export type Description = ShownStart & {
  readonly kind: 'description';
  readonly key: RunKey;
  readonly status: number;
  readonly closeTimeMs: number;
  readonly historyLength: number;
  readonly historySizeBytes: number;
  readonly stateTransitionCount: number;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
  readonly parent: { readonly namespaceId: string; readonly execution: WorkflowExecution } | undefined;
  readonly executionExpirationTimeMs: number;
  readonly runExpirationTimeMs: number;
  readonly originalStartTimeMs: number;
  readonly cancelRequested: boolean;
  readonly lastResetTimeMs: number;
  /** '' = none. */
  readonly resetRunId: string;
  readonly pause: WorkflowPause | undefined;
  readonly pendingActivities: readonly PendingActivityDescription[];
  readonly pendingChildren: readonly PendingChildDescription[];
  readonly pendingWorkflowTask:
    | {
        readonly started: boolean;
        readonly scheduledTimeMs: number;
        readonly originalScheduledTimeMs: number;
        readonly startedTimeMs: number;
        readonly attempt: number;
      }
    | undefined;
  readonly callbacks: readonly CallbackDescription[];
  readonly aside: PutAsideDescription | undefined;
  /** Request ids that made or attached to this run: id -> event id and type. */
  readonly requestIds: ReadonlyMap<string, { readonly eventId: number; readonly eventType: number; readonly buffered: boolean }>;
};

/** All that is pending in a run, as its shard keeps it. */
export type MutableState = {
  readonly kind: 'mutableState';
  readonly description: Omit<Description, 'kind'>;
  readonly previousStartedEventId: number;
  readonly successorRunId: string;
  /** Which attempt of its retry policy the run is. */
  readonly attempt: number;
  /** undefined for a closed run. */
  readonly retryPolicy: RetryPolicy | undefined;
  /** '' for a closed run, and for one without a schedule. */
  readonly cronSchedule: string;
  readonly signalCount: number;
  readonly signalRequestIds: readonly string[];
  /** `type` as `temporal.server.api.enums.v1.WorkflowTaskType`: 1 normal, 2 transient, 3 speculative. */
  readonly workflowTask:
    | (Pick<WorkflowTask, 'scheduledEventId' | 'startedEventId' | 'stamp' | 'requestId' | 'startToCloseTimeoutMs' | 'historySizeBytes'> & {
        readonly type: number;
      })
    | undefined;
  /** '' = none. */
  readonly stickyTaskQueue: string;
  readonly stickyScheduleToStartTimeoutMs: number;
  /** What else is known of `description.pendingActivities`, in the same order. */
  readonly activities: readonly Pick<
    Activity,
    'scheduledEventId' | 'firstScheduledTimeMs' | 'stamp' | 'requestId' | 'cancelRequestedEventId'
  >[];
  readonly timers: readonly Omit<UserTimer, 'taskId'>[];
  /** The started event of each of `description.pendingChildren`, in the same order; 0: not recorded. */
  readonly childStartedEventIds: readonly number[];
  /** Signals and cancel requests under way to other workflows. */
  readonly signalInitiatedEventIds: readonly number[];
  readonly cancelInitiatedEventIds: readonly number[];
};

/** What has come of a letter's task, for good. */
export type LetterExecuted = { readonly kind: 'letterExecuted'; readonly outcome: LetterOutcome };

/** The shard keeps so many outcomes of this queue's letters that it begins no other: which of these may it forget? */
export type LettersUnconfirmed = { readonly kind: 'lettersUnconfirmed'; readonly letters: readonly LetterName[] };

/** Nothing of it is pending: it will not be executed. */
export type LetterWithdrawn = { readonly kind: 'letterWithdrawn' };

/** The marks of one queue. `ended`: those whose outcomes are known and not confirmed. */
export type LetterMarksListed = {
  readonly kind: 'letterMarks';
  readonly pending: readonly LetterName[];
  readonly ended: readonly LetterName[];
};

export type HistoryReply =
  | Rejected
  | Done
  | StartReply
  | StartedWorkflowTask
  | SignaledReply
  | ChildFound
  | ScheduleChanged
  | ScheduleDescription
  | BatchDescription
  | CompletedWorkflowTask
  | StartedActivityTask
  | HeartbeatReply
  | ActivityOptionsUpdated
  | WorkflowOptionsUpdated
  | WorkflowReset
  | QueryReply
  | UpdateReply
  | StartRefused
  | UpdateRefused
  | HistoryPosition
  | HistoryPage
  | RunKeys
  | RowsHeld
  | Description
  | MutableState
  | LetterExecuted
  | LettersUnconfirmed
  | LetterWithdrawn
  | LetterMarksListed
  | TaskList;

/** The functions of the wire format that decisions need, injected: the core itself imports no codec. All are pure. */
export interface HistoryWire extends SearchAttributeWire {
  readonly schedules: ScheduleWire;
  encodeEvent(event: HistoryEvent): Uint8Array;
  /** Throws what no program has written. */
  decodeEvent(event: Uint8Array): HistoryEvent;
  encodeFailure(failure: FailureSpec): Uint8Array;
  /** `request`: temporal.api.update.v1.Request */
  updateIdOf(request: Uint8Array): string;
  /** What an update brings along; `links`: of its callbacks. None of a request that cannot be read. */
  attachmentOf(request: Uint8Array): UpdateBrings;
  withoutCallbacks(request: Uint8Array): Uint8Array;
  /** temporal.api.update.v1.Outcome */
  encodeFailedUpdate(failure: Uint8Array | undefined): Uint8Array;
  /** Returns the failure with at most `causesMax` causes below it; the last one says how many were cut off. */
  limitCauses(failure: Uint8Array, causesMax: number): Uint8Array;
  /** Payloads of one JSON value each. */
  encodePayloads(jsonTexts: readonly string[]): Uint8Array;
  /** Whom it calls, `https://host:port`. */
  callbackDestination(callback: Uint8Array): string;
  /** The value of a search attribute of the type KeywordList. */
  encodeKeywords(words: readonly string[]): Uint8Array;
  encodeFields(fields: ReadonlyMap<string, Uint8Array>): Uint8Array;
  /** One of the fields, whatever the others cost; undefined: it is not there. */
  fieldOf(message: Uint8Array, name: string): Uint8Array | undefined;
  decodePriority(priority: Uint8Array): PriorityFields;
  encodePriority(priority: PriorityFields): Uint8Array;
  /** Decodes a task as rows hold it. Throws what no program has written. */
  decodeTask(task: Uint8Array): PendingTask;
  /** A null, empty or `[]` payload, which deletes its key in an upsert. */
  isEmptyPayload(payload: Uint8Array): boolean;
}

export type UpdateBrings = { readonly requestId: string; readonly callbacks: readonly Uint8Array[]; readonly links: readonly Uint8Array[] };

/** A failure that the server makes. */
export type FailureSpec = {
  readonly message: string;
  readonly cause: Uint8Array | undefined;
  readonly info:
    | { readonly kind: 'timeout'; readonly timeoutType: number; readonly lastHeartbeatDetails: Uint8Array | undefined }
    | { readonly kind: 'server'; readonly nonRetryable: boolean }
    | { readonly kind: 'application'; readonly type: string; readonly nonRetryable: boolean }
    | { readonly kind: 'terminated' }
    | { readonly kind: 'reset' }
    | { readonly kind: 'canceled'; readonly details: Uint8Array | undefined };
};
