/** What a committed record obliges its shard to do, at least once: who receives it deduplicates. Ids come from one counter of the shard. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { CloseOutcome } from '../../kernel/close-outcome.ts';
import type { ParentLink } from '../commands/history-commands.ts';
import type { PriorityFields } from '../../kernel/priority.ts';
import type { TaskQueue, WorkflowExecution } from '../generated/public-api.ts';

/** `temporal.api.enums.v1.ParentClosePolicy`: 1 TERMINATE, 2 ABANDON, 3 REQUEST_CANCEL. */
export type ParentClosePolicy = 1 | 2 | 3;

type TransferOf<Kind extends string> = {
  readonly kind: Kind;
  readonly taskId: number;
  readonly key: RunKey;
  /** The failover version of the run. */
  readonly version: number;
};

/** What a run's messages to other shards say of it. */
export type Sender = {
  readonly key: RunKey;
  readonly namespace: string;
  readonly start: {
    readonly workflowType: string;
    readonly firstRunId: string;
    readonly parent: ParentLink | undefined;
    readonly root: WorkflowExecution;
  };
};

/** `sender`: of a run that was deleted before its message was delivered. `evolve` leaves it with the task. */
type OutboxOf<Kind extends string> = TransferOf<Kind> & { readonly sender?: Sender };

/** `atMatching`: the journal of its queue offers it from now on, so no takeover does. What puts its subject into a queue again is another task. */
type DispatchOf<Kind extends string> = TransferOf<Kind> & {
  readonly scheduledEventId: number;
  readonly stamp: number;
  readonly taskQueue: TaskQueue;
  readonly scheduleToStartTimeoutMs: number;
  /** An activity's own, merged into its workflow's. Absent: nothing is said of it. */
  readonly priority?: PriorityFields;
  readonly atMatching?: true;
};

export type TransferTask =
  /** Stays pending until that workflow task started or was superseded, so that a takeover offers it again unless matching has stored it. */
  | DispatchOf<'workflowTask'>
  /** Stays pending until that attempt started or ended. */
  | DispatchOf<'activityTask'>
  /** Stays pending when the parent closes, until it is known whether the child started. */
  | (OutboxOf<'startChild'> & {
      readonly initiatedEventId: number;
      readonly target: RunKey;
      /** What becomes of a child that turns out to have started when its parent has closed; absent of a dead letter that another server wrote: terminate. */
      readonly parentClosePolicy?: ParentClosePolicy;
    })
  /** The parent has recorded the child's start: the child schedules its first workflow task. */
  | (OutboxOf<'scheduleChildFirstTask'> & { readonly child: RunKey })
  | (OutboxOf<'signalExternal'> & { readonly initiatedEventId: number; readonly target: RunKey })
  | (OutboxOf<'cancelExternal'> & { readonly initiatedEventId: number; readonly target: RunKey })
  /** This run closed for good: tell its parent. */
  | OutboxOf<'notifyParent'>
  /** Parent close policy 1 TERMINATE or 3 REQUEST_CANCEL for one child. */
  | (OutboxOf<'closeChild'> & { readonly child: RunKey; readonly initiatedEventId: number; readonly policy: 1 | 3 })
  /** An action of a schedule: its workflow is to begin. */
  | (OutboxOf<'startAction'> & { readonly startId: number; readonly target: RunKey })
  /** The workflow of an earlier action makes way. `target`: the first run of its chain. */
  | (OutboxOf<'endAction'> & { readonly startId: number; readonly target: RunKey; readonly terminates: boolean })
  /** Does the workflow of an earlier action, which holds up others, still run? `target`: the first run of its chain. */
  | (OutboxOf<'lookAtAction'> & { readonly startId: number; readonly target: RunKey })
  /** This run, which a schedule has started, closed for good: tell the schedule. */
  | (OutboxOf<'notifySchedule'> & { readonly schedule: RunKey; readonly startId: number })
  /** One attempt (`stamp`: which) at a callback of a closed run, or of an update that is over. `destination`: `https://host:port`. */
  | (TransferOf<'invokeCallback'> & { readonly callbackId: string; readonly stamp: number; readonly destination: string })
  /** A database has refused the row of List. Never pending but for its letter: it comes into the line of its queue at once. */
  | (TransferOf<'upsertVisibility'> & { readonly isClosed: boolean });

type TimerOf<Kind extends string> = { readonly kind: Kind; readonly taskId: number; readonly fireTimeMs: number; readonly key: RunKey };

/** One whose task is finished is gone; one whose subject has moved on without finishing it (stamp, attempt) does nothing when it fires. */
export type TimerTask =
  | (TimerOf<'userTimer'> & { readonly timerId: string; readonly startedEventId: number })
  | (TimerOf<'activityTimeout'> & {
      readonly scheduledEventId: number;
      readonly stamp: number;
      readonly timeout: 'scheduleToStart' | 'scheduleToClose' | 'startToClose' | 'heartbeat';
    })
  | (TimerOf<'activityRetry'> & { readonly scheduledEventId: number; readonly stamp: number })
  | (TimerOf<'workflowTaskTimeout'> & {
      readonly scheduledEventId: number;
      readonly stamp: number;
      readonly timeout: 'scheduleToStart' | 'startToClose';
    })
  /** Start delay or continue-as-new backoff is over: schedule the first workflow task. */
  | TimerOf<'firstWorkflowTask'>
  | TimerOf<'runTimeout'>
  | TimerOf<'executionTimeout'>
  | TimerOf<'retention'>
  /** The history of a closed run is to be archived; until then the run has no retention. */
  | TimerOf<'archiveExecution'>
  /** The run's retention would be over, but its archive task, or a callback, has become a letter: is that still in its queue? */
  | TimerOf<'letterCheck'>
  /** The pause after a failed attempt at a completion callback is over. `stamp`: the next attempt's. */
  | (TimerOf<'callbackBackoff'> & { readonly callbackId: string; readonly stamp: number })
  /** A schedule has something to do, or is to go. */
  | TimerOf<'scheduleWake'>
  /** A batch job goes on: a step of it runs beside the shard. */
  | TimerOf<'batchStep'>;

export type Task = TransferTask | TimerTask;
export type TaskOf<Kind extends Task['kind']> = Extract<Task, { readonly kind: Kind }>;
export type InvokeCallbackTask = TaskOf<'invokeCallback'>;
export type CallbackBackoffTask = TaskOf<'callbackBackoff'>;

/** A task as a decision asks for it: its draft gives it an id, the run that it is of and the version of its events (draft/draft.ts). */
export type NewTask = NewTaskOf<Task>;
type NewTaskOf<Any extends Task> = Any extends Task ? Omit<Any, 'taskId' | 'key' | 'version'> : never;

/** As it waits: `evolve` gives news of a close what the close says, so that they can be told, and end, without a change of the run. */
export type PendingTransfer = Exclude<TransferTask, NewsOfClose> | (NewsOfClose & { readonly outcome: CloseOutcome });

export type NewsOfClose = TaskOf<'notifyParent' | 'notifySchedule'>;

export function isNewsOfClose(task: Task): task is NewsOfClose {
  return task.kind === 'notifyParent' || task.kind === 'notifySchedule';
}

export type PendingTask = PendingTransfer | TimerTask;

/** What takes I/O of unknown length, and tells its shard what has come of it by a command (src/actors/history/side-tasks). */
export type SideTask = TaskOf<'invokeCallback' | 'upsertVisibility'>;

export type BesideTimer = TaskOf<'archiveExecution' | 'letterCheck' | 'batchStep'>;

export function runsBeside(task: TimerTask): task is BesideTimer {
  return task.kind === 'archiveExecution' || task.kind === 'letterCheck' || task.kind === 'batchStep';
}

/** An attempt at a completion callback, or the pause before the next. */
export function isOfCallback(task: PendingTask): task is InvokeCallbackTask | CallbackBackoffTask {
  return task.kind === 'invokeCallback' || task.kind === 'callbackBackoff';
}

/** Another shard has to hear of it. */
export type OutboxTask = Exclude<PendingTransfer, DispatchTask | SideTask>;

/** A task for workers: matching is told of it. */
export type DispatchTask = TaskOf<'workflowTask' | 'activityTask'>;

export function isDispatch(task: Task): task is DispatchTask {
  return task.kind === 'workflowTask' || task.kind === 'activityTask';
}

export function isOutbox(task: PendingTask): task is OutboxTask {
  return !isTimer(task) && !isDispatch(task) && !isSide(task);
}

export function isSide(task: Task): task is SideTask {
  return task.kind === 'invokeCallback' || task.kind === 'upsertVisibility';
}

/** The task of a run that is deleted. */
export function isLastMessage<Any extends Task>(task: Any): task is Any & { readonly sender: Sender } {
  return 'sender' in task && task.sender !== undefined;
}

export function isTimer(task: Task): task is TimerTask {
  return 'fireTimeMs' in task;
}
