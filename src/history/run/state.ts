/** The durable state of a history shard, changed by `evolve` alone. What runs and sets hold is replaced, never changed: drafts share it. */
import type { AskedByOperator } from '../commands/operation-commands.ts';
import type { AnsweredRequests } from './answered-requests.ts';
import { type Callback, noCallbacks } from './callback.ts';
import type { HandOverLines } from './hand-over-lines.ts';
import type { LetterMarksView } from './letter-marks.ts';
import type { UnsentTasksView } from './unsent-tasks.ts';
import type { HistoryEvent } from './events.ts';
import type { ActivityOperations } from './activity-operations.ts';
import type { ExecutionId, RunKey } from '../../kernel/run-key.ts';
import type { ParentLink, StickyAttributes } from '../commands/history-commands.ts';
import { status } from '../generated/enums.ts';
import type {
  ActivityTaskScheduledAttributes,
  StartChildWorkflowExecutionInitiatedAttributes,
  TaskQueue,
  WorkflowExecution,
  WorkflowExecutionStartedAttributes,
} from '../generated/public-api.ts';
import { Pending, type PendingView } from './pending.ts';
import type { Batch } from './batch-state.ts';
import type { Schedule, ScheduledBy } from './schedule-state.ts';
import type { PendingTask, PendingTransfer } from './tasks.ts';
import type { TimerView } from './timer-queue.ts';

/** The shard as decisions see it. `Shard` (shard/shard.ts) holds it, and lets `evolve` alone change it. */
export type ShardView = {
  readonly taskIdLast: number;
  /** Time of the last record: `now` never goes below it. */
  readonly timeMs: number;
  /** How many runs there are, in memory and in the table. */
  readonly runCount: number;
  /** Open runs, and closed ones until their retention ends, by run id. */
  readonly runs: ReadonlyMap<string, RunView>;
  /** The newest run of each workflow id, by `executionKey`. */
  readonly currentRuns: ReadonlyMap<string, RunView>;
  /** By `childStartKey`: the first run of each child until its retention ends: a start that is delivered again finds what it made. */
  readonly childStarts: ReadonlyMap<string, string>;
  /** Pending transfer tasks in the order of their ids, but for those that were put aside meanwhile. */
  readonly transfers: ReadonlyMap<number, PendingTransfer>;
  /** How many transfer tasks of a run another shard has not answered yet, also of those that wait aside. 0 = absent. */
  readonly undelivered: ReadonlyMap<string, number>;
  readonly timers: TimerView;
  /** Runs that the shard cannot go on with (execution/put-aside.ts), by run id. */
  readonly aside: ReadonlyMap<string, AsideRun>;
  /** Timers and transfer tasks of runs that are put aside, which neither fire nor run meanwhile. */
  readonly tasksAside: ReadonlyMap<number, PendingTask>;
  /** Tasks that have failed for good, and are no letters yet; undefined: there was never one. */
  readonly handOvers: HandOverLines | undefined;
  /** Letters that are executed again, or were and are not confirmed; undefined: there is none. */
  readonly letterMarks: LetterMarksView | undefined;
  readonly unsentTasks: UnsentTasksView;
  /** What checkpoints have to write; undefined: there is no database. */
  readonly changes: { isGone(taskId: number): boolean } | undefined;
  undeliveredOf(runId: string): Iterable<number>;
  /** The run is not in memory, and for all that is known in the database: it must be loaded before anything is decided about it. */
  isRunCold(key: RunKey): boolean;
  /** The row of the run cannot be read: what the journal brings for it waits (shard/runs-behind.ts). */
  isBehind(runId: string): boolean;
  /** A run that is to be deleted, and whose row cannot be read. `key`: a run, or the current one. */
  runToDeleteUnread(key: RunKey): RunKey | undefined;
  isCurrentCold(key: ExecutionId): boolean;
  /** `key`: of the child. */
  isChildStartCold(key: RunKey, startedBy: { readonly runId: string; readonly initiatedEventId: number }): boolean;
};

export type AsideRun = { readonly failedCommand: string; readonly reason: string; readonly timeMs: number };

export function executionKey(namespaceId: string, workflowId: string): string {
  return `${namespaceId}/${workflowId}`;
}

export function childStartKey(parent: { readonly runId: string; readonly initiatedEventId: number }): string {
  return `${parent.runId}:${parent.initiatedEventId}`;
}

/** What an execution is, and has as such. The rules of commit are the same; whoever treats them differently chooses exhaustively by it. */
export type Own = { readonly archetype: 'workflow' } | Schedule | Batch;

export type Archetype = Own['archetype'];

/** What the first event fixes for the life of a run. */
export type RunStart = {
  readonly workflowType: string;
  readonly taskQueue: TaskQueue;
  readonly startTimeMs: number;
  /** Start plus the first backoff. */
  readonly executionTimeMs: number;
  readonly executionTimeoutMs: number;
  readonly runTimeoutMs: number;
  readonly taskTimeoutMs: number;
  /** 0 = never. */
  readonly runExpirationMs: number;
  readonly executionExpirationMs: number;
  readonly firstRunId: string;
  readonly originalRunId: string;
  readonly attempt: number;
  readonly parent: ParentLink | undefined;
  readonly root: WorkflowExecution;
  readonly userMetadata: Uint8Array | undefined;
  readonly priority: Uint8Array | undefined;
  /** The links of the first event. A run that continues this one has them too. */
  readonly links: readonly Uint8Array[];
};

/**
 * normal:      its Scheduled is in history, Started too once it is started
 * transient:   a repeated attempt; both are written when it completes
 * speculative: volatile, for updates; both are written only if it turns out to matter
 */
export type WorkflowTask = {
  readonly kind: 'normal' | 'transient' | 'speculative';
  readonly scheduledEventId: number;
  readonly stamp: number;
  readonly attempt: number;
  readonly scheduledTimeMs: number;
  /** When the first of a chain of heartbeating tasks was scheduled. */
  readonly originalScheduledTimeMs: number;
  readonly taskQueue: TaskQueue;
  readonly startToCloseTimeoutMs: number;
  /** 0 = not started. */
  readonly startedEventId: number;
  readonly startedTimeMs: number;
  readonly requestId: string;
  readonly identity: string;
  readonly historySizeBytes: number;
  readonly suggestContinueAsNewReasons: readonly number[];
  readonly dispatchTaskId: number;
  readonly timeoutTaskId: number;
};

/** What the start of a workflow task says of it. */
export type StartOfTask = Pick<WorkflowTask, 'identity' | 'requestId' | 'historySizeBytes' | 'suggestContinueAsNewReasons'>;

export type Activity = {
  readonly scheduledEventId: number;
  readonly activityId: string;
  readonly attributes: ActivityTaskScheduledAttributes;
  readonly firstScheduledTimeMs: number;
  /** When this attempt is scheduled: in the future while it waits for a retry. */
  readonly scheduledTimeMs: number;
  readonly attempt: number;
  readonly stamp: number;
  readonly inBackoff: boolean;
  /** 0 = this attempt has not started. */
  readonly startedTimeMs: number;
  readonly requestId: string;
  readonly identity: string;
  readonly workerVersion: Uint8Array | undefined;
  readonly heartbeatDetails: Uint8Array | undefined;
  readonly heartbeatTimeMs: number;
  readonly cancelRequestedEventId: number;
  readonly lastFailure: Uint8Array | undefined;
  readonly lastWorkerIdentity: string;
  readonly lastStartedTimeMs: number;
  readonly lastAttemptCompleteTimeMs: number;
  readonly retryIntervalMs: number;
  readonly dispatchTaskId: number;
  /** The one armed timer: the earliest timeout, or the end of the backoff. */
  readonly timerTaskId: number;
  /** What operators have done to it; undefined: nothing that still matters. */
  readonly operations: ActivityOperations | undefined;
};

export type UserTimer = { readonly timerId: string; readonly startedEventId: number; readonly fireTimeMs: number; readonly taskId: number };

export type Child = {
  readonly initiatedEventId: number;
  readonly attributes: StartChildWorkflowExecutionInitiatedAttributes;
  readonly userMetadata: Uint8Array | undefined;
  /** '' = not known to have started. */
  readonly runId: string;
  /** 0 also while the Started event is buffered. */
  readonly startedEventId: number;
  /** The task that starts it; 0 = done. */
  readonly taskId: number;
};

/** A signal or a cancel request under way to another workflow. */
export type ExternalRequest = {
  readonly initiatedEventId: number;
  readonly namespace: string;
  readonly namespaceId: string;
  readonly workflowExecution: WorkflowExecution;
  readonly childWorkflowOnly: boolean;
  readonly control: string;
  /** The reason of a cancel request. */
  readonly reason: string;
  readonly signalName: string;
  readonly input: Uint8Array | undefined;
  readonly header: Uint8Array | undefined;
  readonly workflowTaskCompletedEventId: number;
  readonly taskId: number;
};

/** What was asked, and what came of it, stands in the run's history alone. */
export type WorkflowUpdate = {
  readonly updateId: string;
  /** The event with the request of an update that a reset has brought along. 0: it came with no event. */
  readonly admittedEventId: number;
  /** 0 = no worker has accepted it yet. */
  readonly acceptedEventId: number;
  /** 0 = not completed. */
  readonly completedEventId: number;
};

export type Reset = {
  readonly requestId: string;
  readonly timeMs: number;
  /** The time of the first event, which is a copy. */
  readonly originalStartTimeMs: number;
  /** The runs before it, oldest first: the events that are copies are theirs. */
  readonly bases: readonly BaseRun[];
};

/** The run is prepared for a reset (reset/reset-workflow.ts): nobody finds it, and the end of its retention drops it. */
export type Preparation = { readonly baseRunId: string };

/** `lastEventId`: of the events up to here, those that no base run before it has. */
export type BaseRun = { readonly runId: string; readonly lastEventId: number };

export type RequestIdEntry = { readonly requestId: string; readonly eventId: number; readonly eventType: number };

export type Run = {
  readonly key: RunKey;
  readonly namespace: string;
  start: RunStart;
  /** `temporal.api.enums.v1.WorkflowExecutionStatus` */
  status: number;
  closeTimeMs: number;
  /** The next run of the chain (steps/next-run.ts); '' = none. */
  successorRunId: string;
  retentionMs: number;
  nextEventId: number;
  historySizeBytes: number;
  stateTransitionCount: number;
  /** Started id of the last completed workflow task. */
  previousStartedEventId: number;
  workflowTask: WorkflowTask | undefined;
  /** The attempt of the next workflow task; above 1 it is transient. */
  workflowTaskAttempt: number;
  workflowTaskStamp: number;
  /** A close was refused because of buffered events; signals wait until the next task has run. */
  closeAttempted: boolean;
  sticky: StickyAttributes | undefined;
  cancelRequested: boolean;
  /** Its first event, with which the next run begins too, until it closes; undefined: it has neither retry policy nor cron schedule. */
  startedWith: WorkflowExecutionStartedAttributes | undefined;
  memo: Uint8Array | undefined;
  searchAttributes: Uint8Array | undefined;
  signalCount: number;
  /** Start requests that made this run or attached to it. */
  requestIds: readonly RequestIdEntry[];
  /** Wait for the end of the started workflow task, in order of arrival. Grows in place: one task may cancel 25,000 activities. */
  buffered: HistoryEvent[];
  bufferedBytes: number;
  /** Run or execution timeout. */
  timeoutTaskId: number;
  /** End of the first backoff. */
  backoffTaskId: number;
  /** The task that ends the retention of a closed run, or drops a run in preparation. */
  retentionTaskId: number;
  /** The run is not there for anybody yet; undefined: it is. */
  preparation: Preparation | undefined;
  /** The run goes on from an event of another run; undefined: it does not. */
  reset: Reset | undefined;
  /** The last run that goes on from one of its events; '' = none. */
  resetRunId: string;
  /** The run stands still since then; undefined: it does not. One that was closed meanwhile keeps it. */
  pause: WorkflowPause | undefined;
  /** Operators' requests of the workflow itself, of this run and those before it in its chain; undefined: none. */
  answered: AnsweredRequests | undefined;
  own: Own;
  /** The schedule that has started its chain; undefined: none has. */
  scheduledBy: ScheduledBy | undefined;
  callbacks: readonly Callback[];
  signalRequestIds: Pending<string, RequestIdEntry>;
  /** Updates that events tell of, by their ids: completed ones too, so that who asks again is answered again. */
  updates: Pending<string, WorkflowUpdate>;
  activities: Pending<number, Activity>;
  /** What attempts have left behind, and no history shows: heartbeat details and last failures of all pending activities. */
  attemptBytes: number;
  activityIds: Pending<string, { readonly scheduledEventId: number }>;
  timers: Pending<string, UserTimer>;
  children: Pending<number, Child>;
  externalSignals: Pending<number, ExternalRequest>;
  externalCancels: Pending<number, ExternalRequest>;
};

type ViewOf<Held> =
  Held extends Pending<infer Key, infer Value> ? PendingView<Key, Value> : Held extends HistoryEvent[] ? readonly HistoryEvent[] : Held;

/** A run that is only read. For change one is had from `Shard.change` alone, which notes that it changes; a decision changes its fork. */
export type RunView = { readonly [Name in keyof Run]: ViewOf<Run[Name]> };

export type RunOf<Kind extends Archetype> = RunView & { readonly own: Extract<Own, { readonly archetype: Kind }> };

export function isOf<Kind extends Archetype>(archetype: Kind, run: RunView | undefined): run is RunOf<Kind> {
  return run?.own.archetype === archetype;
}

/** Never changed: what a run has of its own is given to it anew. */
const aWorkflow: Own = { archetype: 'workflow' };

export function newRun(key: RunKey, namespace: string, start: RunStart): Run {
  return {
    key,
    namespace,
    start,
    status: status.running,
    closeTimeMs: 0,
    successorRunId: '',
    retentionMs: 0,
    nextEventId: 1,
    historySizeBytes: 0,
    stateTransitionCount: 0,
    previousStartedEventId: 0,
    workflowTask: undefined,
    workflowTaskAttempt: 1,
    workflowTaskStamp: 0,
    closeAttempted: false,
    sticky: undefined,
    cancelRequested: false,
    startedWith: undefined,
    memo: undefined,
    searchAttributes: undefined,
    signalCount: 0,
    requestIds: [],
    buffered: [],
    bufferedBytes: 0,
    timeoutTaskId: 0,
    backoffTaskId: 0,
    retentionTaskId: 0,
    preparation: undefined,
    reset: undefined,
    resetRunId: '',
    pause: undefined,
    answered: undefined,
    own: aWorkflow,
    scheduledBy: undefined,
    callbacks: noCallbacks,
    signalRequestIds: new Pending(),
    updates: new Pending(),
    activities: new Pending(),
    attemptBytes: 0,
    activityIds: new Pending(),
    timers: new Pending(),
    children: new Pending(),
    externalSignals: new Pending(),
    externalCancels: new Pending(),
  };
}

/** A run to decide on: may be changed freely, and the original does not notice. */
export function forkRun(run: RunView): Run {
  // All that a view cannot change follows.
  const fork = { ...run } as Run;
  fork.buffered = [...run.buffered];
  fork.signalRequestIds = run.signalRequestIds.fork();
  fork.updates = run.updates.fork();
  fork.activities = run.activities.fork();
  fork.activityIds = run.activityIds.fork();
  fork.timers = run.timers.fork();
  fork.children = run.children.fork();
  fork.externalSignals = run.externalSignals.fork();
  fork.externalCancels = run.externalCancels.fork();
  return fork;
}

/** No worker has seen it, and none is to see it before its execution time. */
export function isInFirstBackoff(run: Pick<RunView, 'start' | 'workflowTask' | 'previousStartedEventId'>): boolean {
  return run.start.executionTimeMs > run.start.startTimeMs && run.workflowTask === undefined && run.previousStartedEventId === 0;
}

/** The status that is shown: a workflow that is paused is open like one that runs. */
export function shownStatus(run: Pick<RunView, 'status' | 'pause'>): number {
  return run.pause !== undefined && isRunning(run) ? status.paused : run.status;
}

export function isRunning(run: Pick<RunView, 'status'>): boolean {
  return run.status === status.running;
}

/** A workflow that stands still until an operator lets it go on. It is open; that it runs says the status that is kept, that it is paused the one that is shown. */
export type WorkflowPause = AskedByOperator & { readonly timeMs: number };
