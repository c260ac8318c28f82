/**
 * What a history shard is asked. Plain values only: a command may come from another process. What each may be answered is said in its row
 * (command-table.ts), and here where there is more to say of it.
 *
 * The edge has checked form (lengths, UUIDs, missing messages) and resolved namespaces; the core checks state and meaning. What the
 * core never looks into (payloads, headers, memo, links, metadata) is encoded bytes of the public API's message, `undefined` = not
 * set. Durations and times are integer milliseconds, 0 = not set. Ids, random draws and wall time come from outside.
 */
import type { CloseOutcome } from '../../kernel/close-outcome.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type {
  ActivityOperationRequest,
  UpdateWorkflowOptions,
  PauseWorkflow,
  UnpauseWorkflow,
  DropReset,
  PrepareReset,
  ResetWorkflow,
} from './operation-commands.ts';
import type { BatchRequest, BatchStepped, StartBatch } from './batch-commands.ts';
import type { OnConflict, OwnCallbackCommand, StartCallbacks } from './callback-commands.ts';
import type { HandOverCommand } from './hand-over-commands.ts';
import type { ShardTaskRequest } from './shard-task-commands.ts';
import type { OpaqueFailure } from './failure.ts';
import type { RetryPolicy, TaskQueue, WorkflowExecution } from '../generated/public-api.ts';
import type { FinishQueryDispatch, QueryResult } from './query-commands.ts';
import type { CreateSchedule, ScheduleRequest, StartedBySchedule } from './schedule-commands.ts';
import type { FoundRunKeys } from './run-keys.ts';
import type { OwnerRequest } from './owner-requests.ts';
import type { TaskCommand, TriedTask } from './task-commands.ts';
import type { EndSpeculative, StartAndUpdateOf, UpdateMessage, UpdateRequest } from './update-commands.ts';
import type { WorkflowCommand } from './workflow-commands.ts';

/** What a start says of a workflow, whoever asks: a client, a parent, a signal. */
export type StartAttributes = {
  readonly workflowType: string;
  readonly taskQueue: TaskQueue;
  readonly input: Uint8Array | undefined;
  readonly header: Uint8Array | undefined;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
  readonly executionTimeoutMs: number;
  readonly runTimeoutMs: number;
  readonly taskTimeoutMs: number;
  readonly startDelayMs: number;
  readonly identity: string;
  readonly userMetadata: Uint8Array | undefined;
  readonly links: readonly Uint8Array[];
  readonly priority: Uint8Array | undefined;
  /** Has the defaults of retry policies. */
  readonly retryPolicy: RetryPolicy | undefined;
  /** '' = none. */
  readonly cronSchedule: string;
};

/** Reuse: 1 allow, 2 failed only, 3 reject; conflict: 1 fail, 2 use, 3 terminate. The edge has applied defaults and translated TERMINATE_IF_RUNNING. */
export type IdPolicies = { readonly reusePolicy: 1 | 2 | 3; readonly conflictPolicy: 1 | 2 | 3 };

export type ParentLink = RunKey & {
  readonly namespace: string;
  readonly initiatedEventId: number;
  readonly rootWorkflowId: string;
  readonly rootRunId: string;
};

export type StartWorkflow = {
  readonly kind: 'startWorkflow';
  readonly key: RunKey;
  readonly namespace: string;
  readonly newRunId: string;
  readonly requestId: string;
  readonly start: StartAttributes;
  readonly policies: IdPolicies;
  /** Children: the first workflow task waits for `scheduleFirstWorkflowTask`, once the parent has recorded the start. */
  readonly parent: ParentLink | undefined;
  /** How long the run is kept once it is closed, as its namespace says; absent or 0: the core's default. */
  readonly retentionMs?: number | undefined;
  readonly onConflict: OnConflict | undefined;
  readonly callbacks?: StartCallbacks | undefined;
  readonly scheduled?: StartedBySchedule | undefined;
  /** An open run that one of these runs of the child's parent has started makes way. Absent: none does. */
  readonly replacesChildrenOf?: readonly string[] | undefined;
  /** The first workflow task is wanted with the answer, started: it is given unless it is delayed. Never of a child. Absent: false. */
  readonly eager?: boolean | undefined;
};

/** Reply: StartReply (`started` false: an existing run was signalled). */
export type SignalWithStartWorkflow = { readonly kind: 'signalWithStartWorkflow'; readonly signal: SignalAttributes } & Pick<
  StartWorkflow,
  'key' | 'namespace' | 'newRunId' | 'requestId' | 'start' | 'policies' | 'retentionMs'
>;

export type SignalAttributes = {
  readonly signalName: string;
  readonly input: Uint8Array | undefined;
  readonly header: Uint8Array | undefined;
  readonly identity: string;
  readonly requestId: string;
  readonly links: readonly Uint8Array[];
  /** The signalling workflow, for signals of workflows. */
  readonly externalWorkflowExecution: WorkflowExecution | undefined;
};

/** `childOf`: only if the target is (still) this parent's child. */
export type SignalWorkflow = {
  readonly kind: 'signalWorkflow';
  readonly key: RunKey;
  readonly signal: SignalAttributes;
  readonly childOf: ParentLink | undefined;
};

/** Reply: Done, also for closed workflows and repeats. */
export type RequestCancelWorkflow = {
  readonly kind: 'requestCancelWorkflow';
  readonly key: RunKey;
  readonly firstExecutionRunId: string;
  readonly cause: string;
  readonly identity: string;
  readonly requestId: string;
  readonly links: readonly Uint8Array[];
  readonly external: { readonly initiatedEventId: number; readonly execution: WorkflowExecution } | undefined;
  readonly childOf: ParentLink | undefined;
};

export type TerminateWorkflow = {
  readonly kind: 'terminateWorkflow';
  readonly key: RunKey;
  readonly firstExecutionRunId: string;
  readonly reason: string;
  readonly details: Uint8Array | undefined;
  readonly identity: string;
  readonly links: readonly Uint8Array[];
  readonly childOf: ParentLink | undefined;
};

/** Ends the run if it is open, and forgets it with its history. `isPurge`: with its namespace, be it a schedule. Reply: Done; asked again: rejected, workflow-not-found. */
export type DeleteWorkflow = { readonly kind: 'deleteWorkflow'; readonly key: RunKey; readonly isPurge?: true };

/** A parent closed before it learnt whether its child started: did it? ChildFound, also when it has closed or continued as new since. */
export type FindChild = { readonly kind: 'findChild'; readonly key: RunKey; readonly parent: ParentLink };

/** A parent has recorded that its child started: the child's first workflow task may go out. Reply: Done; idempotent. */
export type ScheduleFirstWorkflowTask = { readonly kind: 'scheduleFirstWorkflowTask'; readonly key: RunKey };

/** Reply: StartedWorkflowTask, again for the same `pollRequestId`; rejected: task-not-found when it is gone, stale, or another poll's. */
export type StartWorkflowTask = {
  readonly kind: 'startWorkflowTask';
  readonly key: RunKey;
  readonly scheduledEventId: number;
  /** Which scheduling of that id: attempts of a transient task share the event id. */
  readonly stamp: number;
  readonly pollRequestId: string;
  readonly identity: string;
  /** The queue that was polled: its name says whether this is the sticky or the normal queue. */
  readonly taskQueue: TaskQueue;
};

/** Every field of the task token that names a started workflow task. */
export type WorkflowTaskRef = {
  readonly key: RunKey;
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly startedTimeMs: number;
  readonly attempt: number;
};

export type StickyAttributes = { readonly taskQueue: TaskQueue; readonly scheduleToStartTimeoutMs: number };

/** Reply: CompletedWorkflowTask; rejected: task-not-found, unhandled-command, bad-command (the task was failed), invalid-sequence. */
export type CompleteWorkflowTask = {
  readonly kind: 'completeWorkflowTask';
  readonly task: WorkflowTaskRef;
  readonly namespace: string;
  readonly identity: string;
  readonly commands: readonly WorkflowCommand[];
  readonly sticky: StickyAttributes | undefined;
  readonly returnNewWorkflowTask: boolean;
  readonly forceCreateNewWorkflowTask: boolean;
  readonly queryResults: ReadonlyMap<string, QueryResult>;
  readonly messages: readonly UpdateMessage[];
  /** A speculative task may be dropped although its worker has got events with it. */
  readonly discardsSpeculativeEvents: boolean;
  readonly sdkMetadata: Uint8Array | undefined;
  readonly meteringMetadata: Uint8Array | undefined;
  readonly workerVersion: Uint8Array | undefined;
  readonly binaryChecksum: string;
  /** The run that goes on in this one's place, if one does. */
  readonly newRunId: string;
  /** Poll request id of an inline task. */
  readonly pollRequestId: string;
  /** How long a run that continues this one is kept once it is closed, as its namespace says now; absent: as this one. */
  readonly retentionMs?: number | undefined;
  /** How far the asker has folded the cluster's journal (`ClusterSnapshot.position`): its workers may know what was registered there. */
  readonly registryPosition: number;
  /** Uniform in [0, 1). */
  readonly jitter: number;
};

/** A completion as the core decides it, with what HistoryShard has looked up in the registry: a decision reads nothing but its command. */
export type ResolvedCompletion = CompleteWorkflowTask & {
  /** Custom and system search attributes of the namespace: name -> IndexedValueType. */
  readonly searchAttributeTypes: ReadonlyMap<string, number>;
  /** Search attributes of each other namespace that it starts children in, by namespace id; undefined: it starts none there. */
  readonly searchAttributeTypesElsewhere: ReadonlyMap<string, ReadonlyMap<string, number>> | undefined;
};

/** `cause` as `temporal.api.enums.v1.WorkflowTaskFailedCause`. */
export type FailWorkflowTask = {
  readonly kind: 'failWorkflowTask';
  readonly task: WorkflowTaskRef;
  readonly cause: number;
  readonly failure: OpaqueFailure | undefined;
  readonly identity: string;
  readonly binaryChecksum: string;
  readonly jitter: number;
};

export type ResetStickyTaskQueue = { readonly kind: 'resetStickyTaskQueue'; readonly key: RunKey };

export type StartActivityTask = Omit<StartWorkflowTask, 'kind' | 'taskQueue'> & {
  readonly kind: 'startActivityTask';
  readonly workerVersion: Uint8Array | undefined;
};

/** The poll went away between asking for the start and its answer: take the start back. Reply: Done; idempotent. */
export type WithdrawActivityStart = {
  readonly kind: 'withdrawActivityStart';
  readonly key: RunKey;
  readonly scheduledEventId: number;
  readonly pollRequestId: string;
};

/** An activity by token (scheduledEventId, attempt) or by id (activityId, attempt 0). */
export type ActivityRef = {
  readonly key: RunKey;
  readonly scheduledEventId: number;
  readonly activityId: string;
  readonly attempt: number;
};

type OfActivity = { readonly activity: ActivityRef; readonly identity: string };

export type CompleteActivityTask = OfActivity & { readonly kind: 'completeActivityTask'; readonly result: Uint8Array | undefined };

export type FailActivityTask = OfActivity & {
  readonly kind: 'failActivityTask';
  readonly failure: OpaqueFailure | undefined;
  readonly lastHeartbeatDetails: Uint8Array | undefined;
};

export type CancelActivityTask = OfActivity & { readonly kind: 'cancelActivityTask'; readonly details: Uint8Array | undefined };
export type RecordActivityHeartbeat = OfActivity & { readonly kind: 'recordActivityHeartbeat'; readonly details: Uint8Array | undefined };

/** Reply: QueryReply, perhaps much later. `rejectCondition` as `temporal.api.enums.v1.QueryRejectCondition`. */
export type QueryWorkflow = {
  readonly kind: 'queryWorkflow';
  readonly key: RunKey;
  readonly queryId: string;
  /** Encoded `temporal.api.query.v1.WorkflowQuery`. */
  readonly query: Uint8Array;
  readonly rejectCondition: number;
  readonly deadlineMs: number;
};

export type TimedQuery = QueryWorkflow & {
  /** Time until the deadline, by the clock that set it: the shard's own time may be ahead of that by hours. */
  readonly remainingMs: number;
};

export type DescribeWorkflow = { readonly kind: 'describeWorkflow'; readonly key: RunKey };

/** Describes a run for operators, with the ids under which its shard keeps what is pending. Reply: MutableState. */
export type DescribeMutableState = { readonly kind: 'describeMutableState'; readonly key: RunKey };

/** Answered at once, or when the run has an event beyond `waitBeyondEventId` (-1: no wait) or is closed. The router ends the wait with `deadline`. */
export type GetHistoryPosition = {
  readonly kind: 'getHistoryPosition';
  readonly key: RunKey;
  readonly waitBeyondEventId: number;
  readonly waitForClose: boolean;
};

/** The answer to an outbox task of this shard: how its target took it. */
export type FinishOutboxTask = { readonly kind: 'finishOutboxTask'; readonly taskId: number; readonly outcome: OutboxOutcome };
export type OutboxOutcome =
  /** `nothingLeft`: why nobody was told anything, or has done anything; absent: it was told. */
  | { readonly kind: 'done'; readonly nothingLeft?: string }
  | { readonly kind: 'childStarted'; readonly runId: string }
  | { readonly kind: 'childStartFailed'; readonly cause: 'already-exists' | 'namespace-not-found' }
  /** `runId`: of the first run of its chain. */
  | { readonly kind: 'actionStarted'; readonly runId: string }
  | { readonly kind: 'actionFailed' }
  /** `status`, `cancelRequested`: of the newest run of the workflow's id; `firstRunId`: of its chain. */
  | { readonly kind: 'actionSeen'; readonly firstRunId: string; readonly status: number; readonly cancelRequested: boolean }
  | { readonly kind: 'externalFailed'; readonly cause: 'not-found' | 'namespace-not-found' | 'signal-count-limit-exceeded' };

/** A child closed for good (no successor run). Reply: Done, also when the parent is gone or does not know the child any more. */
export type RecordChildClosed = {
  readonly kind: 'recordChildClosed';
  readonly parent: ParentLink;
  readonly child: WorkflowExecution;
  readonly childFirstRunId: string;
  readonly childNamespace: string;
  readonly childWorkflowType: string;
  readonly close: CloseOutcome;
};

/** A workflow that a schedule has started closed for good. Reply: Done, also when the schedule is gone or waits for it no more. */
export type RecordActionClosed = {
  readonly kind: 'recordActionClosed';
  readonly key: RunKey;
  readonly startId: number;
  /** The first run of its chain. */
  readonly workflow: WorkflowExecution;
  readonly close: CloseOutcome;
};

/** A pending outbox task is to be delivered: its message is built from its run as it is. Writes nothing: the effect carries it. */
export type RunOutboxTask = TriedTask & {
  readonly kind: 'runOutboxTask';
  /** The id of a child that may be made. */
  readonly newRunId: string;
};

/** A request to the shard of that workflow. Its answer becomes FinishOutboxTask. */
export type OutboxMessage = { readonly targetNamespaceId: string; readonly targetWorkflowId: string; readonly command: DecidedRequest };

export type Deliver = TriedTask & {
  readonly kind: 'deliver';
  /** undefined: there is nothing to ask (any more), the task is done. */
  readonly message: OutboxMessage | undefined;
};

/** Completions of transfer tasks that no other record has carried yet. */
export type FlushFinishedTasks = { readonly kind: 'flushFinishedTasks' };

/** Closed runs whose retention was over when a database was asked. Those in memory have timers; the others are retired unread. */
export type RetireRuns = { readonly kind: 'retireRuns'; readonly runs: readonly RunKey[] };

/** One of the shard's own commands for this run cannot be decided: the run is put aside. */
export type PutAside = {
  readonly kind: 'putAside';
  readonly key: RunKey;
  /** Kind of the command, or of the task, that fails. */
  readonly failedCommand: string;
  /** The task that fails; 0 = none. */
  readonly taskId: number;
  readonly reason: string;
};

/** What HistoryShard adds to what begins a run: why none may be begun in its server now; absent: one may. */
export type RoomForRuns = { readonly noRoom?: string | undefined };

export type StartAndUpdate = StartAndUpdateOf<StartWorkflow>;

type Start = StartWorkflow | SignalWithStartWorkflow | StartAndUpdate;
type TaskRequest = StartWorkflowTask | FailWorkflowTask | ResetStickyTaskQueue | StartActivityTask | WithdrawActivityStart;
type ActivityAnswer = CompleteActivityTask | FailActivityTask | CancelActivityTask | RecordActivityHeartbeat;

export type BeginsRun = Start | ResetWorkflow | PrepareReset | CreateSchedule | StartBatch;

/** What others ask of a shard, and its core decides as it is; a start may have something added. */
export type DecidedRequest =
  | Start
  | UpdateRequest
  | SignalWorkflow
  | RequestCancelWorkflow
  | TerminateWorkflow
  | DeleteWorkflow
  | ScheduleFirstWorkflowTask
  | FindChild
  | TaskRequest
  | ActivityAnswer
  | ActivityOperationRequest
  | (ResetWorkflow | PrepareReset | DropReset | PauseWorkflow | UnpauseWorkflow | UpdateWorkflowOptions)
  | ScheduleRequest
  | BatchRequest
  | DescribeWorkflow
  | DescribeMutableState
  | GetHistoryPosition
  | RecordChildClosed
  | RecordActionClosed
  | ShardTaskRequest;

export type HistoryRequest = DecidedRequest | CompleteWorkflowTask | QueryWorkflow | OwnerRequest;

export type OwnHistoryCommand =
  | TaskCommand
  | RunOutboxTask
  | FinishOutboxTask
  | FinishQueryDispatch
  | FlushFinishedTasks
  | HandOverCommand
  | RetireRuns
  | PutAside
  | (OwnCallbackCommand | EndSpeculative | BatchStepped);

export type HistoryCommand =
  | Exclude<DecidedRequest, BeginsRun>
  | (BeginsRun & RoomForRuns)
  | ResolvedCompletion
  | TimedQuery
  | FoundRunKeys
  | OwnHistoryCommand;
