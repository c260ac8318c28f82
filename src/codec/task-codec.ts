/** Tasks as `perdure.journal.v1.TransferTask` and `TimerTask`, and back: in a record of the journal, and alone in a row of a checkpoint. */
import { LogError } from '../ports/log.ts';
import type { RunKey } from '../kernel/run-key.ts';
import type { HistoryEvent } from '../history/run/events.ts';
import { parentClosePolicy, timeoutType } from '../history/generated/enums.ts';
import type { TaskQueue } from '../history/generated/public-api.ts';
import type { HistoryRecord } from '../history/run/record.ts';
import { isDispatch, isLastMessage } from '../history/run/tasks.ts';
import type { DispatchTask, ParentClosePolicy, Sender, TimerTask, TransferTask } from '../history/run/tasks.ts';
import { unreachable } from '../kernel/assert.ts';
import { wordOf } from '../wire/as-core.ts';
import * as journal from '../wire/generated/journal/history.ts';

/** What a task needs not say, for the record around it says it. */
export type TaskRecord = Pick<HistoryRecord, 'namespaceId' | 'workflowId' | 'runId' | 'runs'>;

const transferKind = journal.TransferTaskKind;
const noTransfer = journal.emptyTransferTask();

export function toWireTransfer(task: TransferTask, record: TaskRecord): journal.TransferTask {
  if (isDispatch(task)) return dispatchToWire(task, record);
  const { taskId, version } = task;
  const { runId } = task.key;
  const common = { ...noTransfer, taskId, version, runId: runId === record.runId ? '' : runId, sender: senderToWire(task) };
  switch (task.kind) {
    case 'startChild':
      return {
        ...common,
        kind: transferKind.START_CHILD,
        eventId: task.initiatedEventId,
        target: unknownTarget(record, task),
        parentClosePolicy: task.parentClosePolicy ?? 0,
      };
    case 'signalExternal':
      return { ...common, kind: transferKind.SIGNAL_EXTERNAL, eventId: task.initiatedEventId, target: unknownTarget(record, task) };
    case 'cancelExternal':
      return { ...common, kind: transferKind.CANCEL_EXTERNAL, eventId: task.initiatedEventId, target: unknownTarget(record, task) };
    case 'scheduleChildFirstTask':
      return { ...common, kind: transferKind.SCHEDULE_CHILD_FIRST_TASK, target: task.child };
    case 'notifyParent':
      return { ...common, kind: transferKind.NOTIFY_PARENT };
    case 'closeChild': {
      const { initiatedEventId: eventId, child: target, policy } = task;
      return { ...common, kind: transferKind.CLOSE_CHILD, eventId, target, parentClosePolicy: policy };
    }
    case 'startAction':
      return { ...common, kind: transferKind.START_ACTION, eventId: task.startId, target: task.target };
    case 'endAction': {
      const { terminate, requestCancel } = parentClosePolicy;
      const policy = task.terminates ? terminate : requestCancel;
      return { ...common, kind: transferKind.END_ACTION, eventId: task.startId, target: task.target, parentClosePolicy: policy };
    }
    case 'lookAtAction':
      return { ...common, kind: transferKind.LOOK_AT_ACTION, eventId: task.startId, target: task.target };
    case 'notifySchedule':
      return { ...common, kind: transferKind.NOTIFY_SCHEDULE, eventId: task.startId, target: task.schedule };
    case 'invokeCallback': {
      const { callbackId, stamp, destination } = task;
      return { ...common, kind: transferKind.INVOKE_CALLBACK, callbackId, stamp, destination };
    }
    case 'upsertVisibility':
      return { ...common, kind: transferKind.UPSERT_VISIBILITY, closed: task.isClosed };
    default:
      return unreachable(task);
  }
}

export function fromWireTransfer(wire: journal.TransferTask, record: TaskRecord): TransferTask {
  const { taskId, version, eventId, stamp, scheduleToStartTimeoutMs, priority } = wire;
  const key = keyOf(wire.runId, record);
  const common = { taskId, version, key, ...senderFromWire(key, wire) };
  switch (wire.kind) {
    case transferKind.WORKFLOW_TASK:
    case transferKind.ACTIVITY_TASK: {
      const kind = wire.kind === transferKind.WORKFLOW_TASK ? 'workflowTask' : 'activityTask';
      const taskQueue = wire.taskQueue ?? taskQueueIn(record, key.runId, eventId);
      if (taskQueue === undefined) throw new LogError('corrupt', `${kind} ${taskId} names no task queue`);
      return { ...common, kind, scheduledEventId: eventId, stamp, taskQueue, scheduleToStartTimeoutMs, ...(priority && { priority }) };
    }
    case transferKind.NOTIFY_PARENT:
      return { ...common, kind: 'notifyParent' };
    case transferKind.INVOKE_CALLBACK:
      return { taskId, version, key, kind: 'invokeCallback', callbackId: wire.callbackId, stamp, destination: wire.destination };
    case transferKind.UPSERT_VISIBILITY:
      return { taskId, version, key, kind: 'upsertVisibility', isClosed: wire.closed };
  }
  const target = wire.target ?? targetIn(record, key.runId, eventId);
  if (target === undefined) throw new LogError('corrupt', `transfer task ${taskId} of kind ${wire.kind} names no target`);
  switch (wire.kind) {
    case transferKind.START_CHILD:
      return { ...common, kind: 'startChild', initiatedEventId: eventId, target, ...parentClosePolicyOf(wire) };
    case transferKind.SIGNAL_EXTERNAL:
      return { ...common, kind: 'signalExternal', initiatedEventId: eventId, target };
    case transferKind.CANCEL_EXTERNAL:
      return { ...common, kind: 'cancelExternal', initiatedEventId: eventId, target };
    case transferKind.SCHEDULE_CHILD_FIRST_TASK:
      return { ...common, kind: 'scheduleChildFirstTask', child: target };
    case transferKind.START_ACTION:
      return { ...common, kind: 'startAction', startId: eventId, target };
    case transferKind.END_ACTION: {
      const terminates = closePolicyOf(wire) === parentClosePolicy.terminate;
      return { ...common, kind: 'endAction', startId: eventId, target, terminates };
    }
    case transferKind.LOOK_AT_ACTION:
      return { ...common, kind: 'lookAtAction', startId: eventId, target };
    case transferKind.NOTIFY_SCHEDULE:
      return { ...common, kind: 'notifySchedule', startId: eventId, schedule: target };
    case transferKind.CLOSE_CHILD:
      return { ...common, kind: 'closeChild', initiatedEventId: eventId, child: target, policy: closePolicyOf(wire) };
    default:
      throw new LogError('corrupt', `transfer task ${taskId} has the unknown kind ${wire.kind}`);
  }
}

/** Nearly every record has such a task, so it is made in one step; nobody sends one for a run that is gone. */
function dispatchToWire(task: DispatchTask, record: TaskRecord): journal.TransferTask {
  const { taskId, version, scheduledEventId: eventId, stamp, scheduleToStartTimeoutMs, priority } = task;
  const { runId } = task.key;
  const kind = task.kind === 'workflowTask' ? transferKind.WORKFLOW_TASK : transferKind.ACTIVITY_TASK;
  const taskQueue = isSameQueue(task.taskQueue, taskQueueIn(record, runId, eventId)) ? undefined : task.taskQueue;
  const ofRun = runId === record.runId ? '' : runId;
  return { ...noTransfer, kind, taskId, version, runId: ofRun, eventId, stamp, taskQueue, scheduleToStartTimeoutMs, priority };
}

function senderToWire(task: TransferTask): journal.Sender | undefined {
  if (!isLastMessage(task)) return undefined;
  const { namespace, start } = task.sender;
  const { workflowType, firstRunId, parent, root } = start;
  return { namespace, workflowType, firstRunId, rootWorkflowId: root.workflowId, rootRunId: root.runId, parent };
}

/** Nearly every task has none, and then not the property either. */
function senderFromWire(key: RunKey, { sender }: journal.TransferTask): { readonly sender?: Sender } {
  if (sender === undefined) return {};
  const { namespace, workflowType, firstRunId, rootWorkflowId, rootRunId, parent } = sender;
  const start = { workflowType, firstRunId, parent, root: { workflowId: rootWorkflowId, runId: rootRunId } };
  return { sender: { key, namespace, start } };
}

/** Absent of a task that another server wrote as a dead letter. */
function parentClosePolicyOf({ taskId, parentClosePolicy: policy }: journal.TransferTask): {
  readonly parentClosePolicy?: ParentClosePolicy;
} {
  const { terminate, abandon, requestCancel } = parentClosePolicy;
  if (policy === 0) return {};
  if (policy === terminate || policy === abandon || policy === requestCancel) return { parentClosePolicy: policy };
  throw new LogError('corrupt', `transfer task ${taskId} has the unknown parent close policy ${policy}`);
}

/** Every program has written it, and ABANDON leaves nothing to do. */
function closePolicyOf({ taskId, parentClosePolicy: policy }: journal.TransferTask): 1 | 3 {
  if (policy === parentClosePolicy.terminate || policy === parentClosePolicy.requestCancel) return policy;
  throw new LogError('corrupt', `transfer task ${taskId} closes a child with the unknown policy ${policy}`);
}

type TimerTaskOf<Kind extends TimerTask['kind']> = Extract<TimerTask, { readonly kind: Kind }>;

const timerKind = journal.TimerTaskKind;
const noTimer = journal.emptyTimerTask();

/** Timers of which there is nothing to say but when they fire, and for which run. */
const plainTimers = {
  firstWorkflowTask: timerKind.FIRST_WORKFLOW_TASK,
  runTimeout: timerKind.RUN_TIMEOUT,
  executionTimeout: timerKind.EXECUTION_TIMEOUT,
  retention: timerKind.RETENTION,
  archiveExecution: timerKind.ARCHIVE_EXECUTION,
  letterCheck: timerKind.LETTER_CHECK,
  scheduleWake: timerKind.SCHEDULE_WAKE,
  batchStep: timerKind.BATCH_STEP,
} as const;

/** Nearly every record has such a task, so it is made in one step. */
function timeoutToWire(task: TimerTaskOf<'activityTimeout' | 'workflowTaskTimeout'>, record: TaskRecord): journal.TimerTask {
  const { taskId, fireTimeMs, scheduledEventId: eventId, stamp, timeout } = task;
  const { runId } = task.key;
  const kind = task.kind === 'activityTimeout' ? timerKind.ACTIVITY_TIMEOUT : timerKind.WORKFLOW_TASK_TIMEOUT;
  const ofRun = runId === record.runId ? '' : runId;
  return { ...noTimer, kind, taskId, fireTimeMs, runId: ofRun, eventId, stamp, timeoutType: timeoutType[timeout] };
}

export function toWireTimer(task: TimerTask, record: TaskRecord): journal.TimerTask {
  if (task.kind === 'activityTimeout' || task.kind === 'workflowTaskTimeout') return timeoutToWire(task, record);
  const { taskId, fireTimeMs } = task;
  const { runId } = task.key;
  const common = { ...noTimer, taskId, fireTimeMs, runId: runId === record.runId ? '' : runId };
  switch (task.kind) {
    case 'userTimer': {
      const timerId = task.timerId === timerIdIn(record, runId, task.startedEventId) ? '' : task.timerId;
      return { ...common, kind: timerKind.USER_TIMER, eventId: task.startedEventId, timerId };
    }
    case 'activityRetry':
      return { ...common, kind: timerKind.ACTIVITY_RETRY, eventId: task.scheduledEventId, stamp: task.stamp };
    case 'callbackBackoff':
      return { ...common, kind: timerKind.CALLBACK_BACKOFF, callbackId: task.callbackId, stamp: task.stamp };
    default:
      return { ...common, kind: plainTimers[task.kind] };
  }
}

export function fromWireTimer(wire: journal.TimerTask, record: TaskRecord): TimerTask {
  const { taskId, fireTimeMs, eventId, stamp } = wire;
  const key = keyOf(wire.runId, record);
  const common = { taskId, fireTimeMs, key };
  switch (wire.kind) {
    case timerKind.USER_TIMER: {
      const timerId = wire.timerId === '' ? (timerIdIn(record, key.runId, eventId) ?? '') : wire.timerId;
      return { ...common, kind: 'userTimer', timerId, startedEventId: eventId };
    }
    case timerKind.ACTIVITY_TIMEOUT:
      return { ...common, kind: 'activityTimeout', scheduledEventId: eventId, stamp, timeout: activityTimeoutOf(wire) };
    case timerKind.WORKFLOW_TASK_TIMEOUT:
      return { ...common, kind: 'workflowTaskTimeout', scheduledEventId: eventId, stamp, timeout: workflowTaskTimeoutOf(wire) };
    case timerKind.ACTIVITY_RETRY:
      return { ...common, kind: 'activityRetry', scheduledEventId: eventId, stamp };
    case timerKind.CALLBACK_BACKOFF:
      return { ...common, kind: 'callbackBackoff', callbackId: wire.callbackId, stamp };
    default: {
      const kind = wordOf(plainTimers, wire.kind);
      if (kind === undefined) throw new LogError('corrupt', `timer task ${taskId} has the unknown kind ${wire.kind}`);
      return { ...common, kind };
    }
  }
}

function activityTimeoutOf(wire: journal.TimerTask): TimerTaskOf<'activityTimeout'>['timeout'] {
  switch (wire.timeoutType) {
    case timeoutType.scheduleToClose:
      return 'scheduleToClose';
    case timeoutType.heartbeat:
      return 'heartbeat';
    default:
      return workflowTaskTimeoutOf(wire);
  }
}

function workflowTaskTimeoutOf(wire: journal.TimerTask): TimerTaskOf<'workflowTaskTimeout'>['timeout'] {
  switch (wire.timeoutType) {
    case timeoutType.startToClose:
      return 'startToClose';
    case timeoutType.scheduleToStart:
      return 'scheduleToStart';
    default:
      throw new LogError('corrupt', `timer task ${wire.taskId} of kind ${wire.kind} has the unknown timeout type ${wire.timeoutType}`);
  }
}

function keyOf(runId: string, record: TaskRecord): RunKey {
  return { namespaceId: record.namespaceId, workflowId: record.workflowId, runId: runId === '' ? record.runId : runId };
}

// ── What a task has from its event ─────────────────────────────────────────────────────────────────────────────────────────────
//
// Names are up to 1,000 bytes long, and a worker may send thousands of commands at once. A task whose event stands in the same record
// leaves out what that event says.

/** Undefined: the event is not in this record. */
function eventIn({ runs }: TaskRecord, runId: string, eventId: number): HistoryEvent | undefined {
  for (const change of runs) {
    const first = change.events[0];
    if (change.runId === runId && first !== undefined) return change.events[eventId - first.event.eventId]?.event;
  }
  return undefined;
}

function taskQueueIn(record: TaskRecord, runId: string, scheduledEventId: number): TaskQueue | undefined {
  const event = eventIn(record, runId, scheduledEventId);
  const isScheduled = event?.type === 'workflowTaskScheduled' || event?.type === 'activityTaskScheduled';
  return isScheduled ? event.attributes.taskQueue : undefined;
}

function targetIn(record: TaskRecord, runId: string, initiatedEventId: number): RunKey | undefined {
  const event = eventIn(record, runId, initiatedEventId);
  switch (event?.type) {
    case 'startChildWorkflowExecutionInitiated':
      return { namespaceId: event.attributes.namespaceId, workflowId: event.attributes.workflowId, runId: '' };
    case 'signalExternalWorkflowExecutionInitiated':
    case 'requestCancelExternalWorkflowExecutionInitiated': {
      const { namespaceId, workflowExecution } = event.attributes;
      return workflowExecution === undefined ? undefined : { namespaceId, ...workflowExecution };
    }
    default:
      return undefined;
  }
}

function timerIdIn(record: TaskRecord, runId: string, startedEventId: number): string | undefined {
  const event = eventIn(record, runId, startedEventId);
  return event?.type === 'timerStarted' ? event.attributes.timerId : undefined;
}

/** The task's target, unless its event says it. */
function unknownTarget(
  record: TaskRecord,
  task: Extract<TransferTask, { readonly target: RunKey; readonly initiatedEventId: number }>,
): RunKey | undefined {
  const { target } = task;
  const said = targetIn(record, task.key.runId, task.initiatedEventId);
  const isSaid = said?.namespaceId === target.namespaceId && said.workflowId === target.workflowId && said.runId === target.runId;
  return isSaid ? undefined : target;
}

function isSameQueue(one: TaskQueue, other: TaskQueue | undefined): boolean {
  return other !== undefined && one.name === other.name && one.kind === other.kind && one.normalName === other.normalName;
}
