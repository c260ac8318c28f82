/**
 * The value of a letter: its task as Temporal stores such tasks, and in one field more, which Temporal's decoders pass over, our own task.
 *
 *     PendingTask ─▶ ┌ namespace_id, workflow_id, …, task_id   what Temporal's tools show
 *          ▲         └ pending_task                            what comes back, exactly
 *          └───────────┘
 *
 * A letter that somebody else has put there has the first half alone. What that says of a task of ours is enough for most kinds.
 */
import { type TaskCategory, taskCategoryOf, taskTypeOf } from '../../history/hand-over/task-types.ts';
import { taskQueueKind, timeoutType } from '../../history/generated/enums.ts';
import type { PendingTask, PendingTransfer, SideTask, TimerTask } from '../../history/tasks.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import { shownId } from '../../kernel/shown-id.ts';
import { Undecodable } from '../../kernel/undecodable.ts';
import * as info from '../../wire/generated/letter/task_info.ts';
import * as state from '../../wire/generated/state/history.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { taskFromMessage, taskToMessage } from './state/task-message.ts';

export type TaskInfo = { readonly valueType: string; readonly value: Uint8Array };

const valueTypes: { readonly [category in TaskCategory]: string } = {
  transfer: 'temporal.server.api.persistence.v1.TransferTaskInfo',
  timer: 'temporal.server.api.persistence.v1.TimerTaskInfo',
  visibility: 'temporal.server.api.persistence.v1.VisibilityTaskInfo',
  archival: 'temporal.server.api.persistence.v1.ArchivalTaskInfo',
  outbound: 'temporal.server.api.persistence.v1.OutboundTaskInfo',
};

export function encodeTaskInfo(task: PendingTask): TaskInfo {
  return { valueType: valueTypes[taskCategoryOf(task)], value: encodedInfo(task) };
}

function encodedInfo(task: PendingTask): Uint8Array {
  switch (task.kind) {
    case 'archiveExecution':
      return info.encodeArchivalTaskInfo({ ...commonInfo(task), visibilityTimeMs: task.fireTimeMs });
    case 'invokeCallback':
      return info.encodeOutboundTaskInfo({ ...commonInfo(task), destination: task.destination });
    case 'upsertVisibility':
      return info.encodeVisibilityTaskInfo({ ...commonInfo(task), version: task.version });
    default:
      return 'fireTimeMs' in task ? info.encodeTimerTaskInfo(timerInfo(task)) : info.encodeTransferTaskInfo(transferInfo(task));
  }
}

/** Throws Undecodable, with the reason, when the bytes are damaged, or say too little, and nothing else. */
export function decodeTaskInfo({ valueType, value }: TaskInfo): PendingTask {
  try {
    if (valueType === valueTypes.transfer) return transferOf(info.decodeTransferTaskInfo(value, ownLimits));
    if (valueType === valueTypes.timer) return timerOf(info.decodeTimerTaskInfo(value, ownLimits));
    if (valueType === valueTypes.visibility) return rowOf(info.decodeVisibilityTaskInfo(value, ownLimits));
    if (valueType === valueTypes.archival) return archiveOf(info.decodeArchivalTaskInfo(value, ownLimits));
    if (valueType === valueTypes.outbound) return outboundOf(info.decodeOutboundTaskInfo(value, ownLimits));
  } catch (error) {
    throw new Undecodable(`the task of the letter cannot be read: ${errorText(error)}`, { cause: error });
  }
  throw new Undecodable(
    `the letter holds a ${valueType === '' ? 'value of no known type' : valueType}, which is no task of a history shard`,
  );
}

/** Likewise, of one that somebody gives us as a task of that category: what Temporal's tools show of it has to be what is executed. */
export function decodeTaskOf(category: TaskCategory, value: Uint8Array): PendingTask {
  const valueType = valueTypes[category];
  const task = decodeTaskInfo({ valueType, value });
  const shown = infoDecoders[category](value);
  const executed = infoDecoders[category](encodeTaskInfo(task).value);
  for (const field of fieldsSaidTwice) {
    if (shown[field] === executed[field]) continue;
    throw new Undecodable(`its ${field} is ${shownId(String(shown[field]))}, and ${shownId(String(executed[field]))} in its pending_task`);
  }
  return task;
}

type Shown = Readonly<Record<string, unknown>>;

const infoDecoders: { readonly [category in TaskCategory]: (value: Uint8Array) => Shown } = {
  transfer: (value) => info.decodeTransferTaskInfo(value, ownLimits),
  timer: (value) => info.decodeTimerTaskInfo(value, ownLimits),
  visibility: (value) => info.decodeVisibilityTaskInfo(value, ownLimits),
  archival: (value) => info.decodeArchivalTaskInfo(value, ownLimits),
  outbound: (value) => info.decodeOutboundTaskInfo(value, ownLimits),
};

/** Of those that a category has. Its id and its time are its own. */
const fieldsSaidTwice = [
  'taskType',
  'namespaceId',
  'workflowId',
  'runId',
  'targetNamespaceId',
  'targetWorkflowId',
  'targetRunId',
  'taskQueue',
  'scheduledEventId',
  'eventId',
  'destination',
] as const;

// ── As Temporal stores it ──────────────────────────────────────────────────────────────────────────────────────────────────────

const noTransfer = info.emptyTransferTaskInfo();
const noTimer = info.emptyTimerTaskInfo();

function ownTask(task: PendingTask): Uint8Array {
  return state.encodePendingTask(taskToMessage(task));
}

function typeNumber(task: PendingTask): number {
  const name = taskTypeOf(task);
  return numbers[name];
}

function commonInfo(task: PendingTask) {
  return { ...task.key, taskType: typeNumber(task), taskId: task.taskId, pendingTask: ownTask(task) };
}

const numbers: { readonly [name in ReturnType<typeof taskTypeOf>]: number } = {
  TASK_TYPE_TRANSFER_WORKFLOW_TASK: info.TaskType.TRANSFER_WORKFLOW_TASK,
  TASK_TYPE_TRANSFER_ACTIVITY_TASK: info.TaskType.TRANSFER_ACTIVITY_TASK,
  TASK_TYPE_TRANSFER_START_CHILD_EXECUTION: info.TaskType.TRANSFER_START_CHILD_EXECUTION,
  TASK_TYPE_TRANSFER_SIGNAL_EXECUTION: info.TaskType.TRANSFER_SIGNAL_EXECUTION,
  TASK_TYPE_TRANSFER_CANCEL_EXECUTION: info.TaskType.TRANSFER_CANCEL_EXECUTION,
  TASK_TYPE_TRANSFER_CLOSE_EXECUTION: info.TaskType.TRANSFER_CLOSE_EXECUTION,
  TASK_TYPE_USER_TIMER: info.TaskType.USER_TIMER,
  TASK_TYPE_ACTIVITY_TIMEOUT: info.TaskType.ACTIVITY_TIMEOUT,
  TASK_TYPE_ACTIVITY_RETRY_TIMER: info.TaskType.ACTIVITY_RETRY_TIMER,
  TASK_TYPE_WORKFLOW_TASK_TIMEOUT: info.TaskType.WORKFLOW_TASK_TIMEOUT,
  TASK_TYPE_WORKFLOW_BACKOFF_TIMER: info.TaskType.WORKFLOW_BACKOFF_TIMER,
  TASK_TYPE_WORKFLOW_RUN_TIMEOUT: info.TaskType.WORKFLOW_RUN_TIMEOUT,
  TASK_TYPE_WORKFLOW_EXECUTION_TIMEOUT: info.TaskType.WORKFLOW_EXECUTION_TIMEOUT,
  TASK_TYPE_DELETE_HISTORY_EVENT: info.TaskType.DELETE_HISTORY_EVENT,
  TASK_TYPE_VISIBILITY_UPSERT_EXECUTION: info.TaskType.VISIBILITY_UPSERT_EXECUTION,
  TASK_TYPE_VISIBILITY_CLOSE_EXECUTION: info.TaskType.VISIBILITY_CLOSE_EXECUTION,
  TASK_TYPE_ARCHIVAL_ARCHIVE_EXECUTION: info.TaskType.ARCHIVAL_ARCHIVE_EXECUTION,
  TASK_TYPE_STATE_MACHINE_OUTBOUND: info.TaskType.STATE_MACHINE_OUTBOUND,
  TASK_TYPE_CHASM_PURE: info.TaskType.CHASM_PURE,
  TASK_TYPE_STATE_MACHINE_TIMER: info.TaskType.STATE_MACHINE_TIMER,
};

function transferInfo(task: Exclude<PendingTransfer, SideTask>): info.TransferTaskInfo {
  const common = { ...noTransfer, ...commonInfo(task), version: task.version };
  switch (task.kind) {
    case 'workflowTask':
    case 'activityTask':
      return { ...common, taskQueue: task.taskQueue.name, scheduledEventId: task.scheduledEventId, stamp: task.stamp };
    case 'startChild':
    case 'signalExternal':
    case 'cancelExternal':
      return { ...common, ...targetOf(task.target), scheduledEventId: task.initiatedEventId };
    case 'scheduleChildFirstTask':
      return { ...common, ...targetOf(task.child) };
    case 'closeChild':
      return { ...common, ...targetOf(task.child), scheduledEventId: task.initiatedEventId };
    case 'startAction':
    case 'endAction':
    case 'lookAtAction':
      return { ...common, ...targetOf(task.target), scheduledEventId: task.startId };
    case 'notifySchedule':
      return { ...common, ...targetOf(task.schedule), scheduledEventId: task.startId };
    case 'notifyParent':
      return common;
    default:
      return unreachable(task);
  }
}

function targetOf({ namespaceId, workflowId, runId }: PendingTask['key']) {
  return { targetNamespaceId: namespaceId, targetWorkflowId: workflowId, targetRunId: runId };
}

function timerInfo(task: Exclude<TimerTask, { readonly kind: 'archiveExecution' }>): info.TimerTaskInfo {
  const common = { ...noTimer, ...commonInfo(task), visibilityTimeMs: task.fireTimeMs };
  switch (task.kind) {
    case 'userTimer':
      return { ...common, eventId: task.startedEventId };
    case 'activityTimeout':
    case 'workflowTaskTimeout':
      return { ...common, eventId: task.scheduledEventId, stamp: task.stamp, timeoutType: timeoutType[task.timeout] };
    case 'activityRetry':
      return { ...common, eventId: task.scheduledEventId, stamp: task.stamp };
    case 'firstWorkflowTask':
    case 'runTimeout':
    case 'executionTimeout':
    case 'retention':
    case 'letterCheck':
    case 'scheduleWake':
    case 'batchStep':
      return common;
    case 'callbackBackoff':
      return { ...common, stamp: task.stamp };
    default:
      return unreachable(task);
  }
}

// ── Our task of it ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** undefined: another server has written it. */
function ownTaskOf(bytes: Uint8Array, category: TaskCategory): PendingTask | undefined {
  if (bytes.byteLength === 0) return undefined;
  const task = taskFromMessage(state.decodePendingTask(bytes, ownLimits));
  if (taskCategoryOf(task) !== category) throw new Undecodable(`it holds a task that is no ${category}`);
  keyOf(task.key);
  return task;
}

function rowOf(wire: info.VisibilityTaskInfo): PendingTask {
  const own = ownTaskOf(wire.pendingTask, 'visibility');
  if (own !== undefined) return own;
  const { taskType, version } = wire;
  const isClosed = taskType === info.TaskType.VISIBILITY_CLOSE_EXECUTION;
  if (!isClosed && taskType !== info.TaskType.VISIBILITY_UPSERT_EXECUTION)
    throw new Undecodable(`its task_type ${taskType} is none that a history shard has for a row`);
  return { kind: 'upsertVisibility', taskId: present(wire.taskId, 'task_id'), version, key: keyOf(wire), isClosed };
}

function archiveOf(wire: info.ArchivalTaskInfo): PendingTask {
  const own = ownTaskOf(wire.pendingTask, 'archival');
  if (own !== undefined) return own;
  return { kind: 'archiveExecution', taskId: present(wire.taskId, 'task_id'), fireTimeMs: wire.visibilityTimeMs, key: keyOf(wire) };
}

function outboundOf(wire: info.OutboundTaskInfo): PendingTask {
  const own = ownTaskOf(wire.pendingTask, 'outbound');
  if (own !== undefined) return own;
  throw new Undecodable('a call that another server has written does not say which callback it is for');
}

function transferOf(wire: info.TransferTaskInfo): PendingTask {
  const own = ownTaskOf(wire.pendingTask, 'transfer');
  if (own !== undefined) return own;
  const { taskId, version, stamp } = wire;
  const common = { taskId: present(taskId, 'task_id'), version, key: keyOf(wire) };
  switch (wire.taskType) {
    case info.TaskType.TRANSFER_WORKFLOW_TASK:
    case info.TaskType.TRANSFER_ACTIVITY_TASK: {
      const kind = wire.taskType === info.TaskType.TRANSFER_WORKFLOW_TASK ? 'workflowTask' : 'activityTask';
      const taskQueue = { name: present(wire.taskQueue, 'task_queue'), kind: taskQueueKind.normal, normalName: '' };
      return { ...common, kind, scheduledEventId: eventOf(wire), stamp, taskQueue, scheduleToStartTimeoutMs: 0 };
    }
    case info.TaskType.TRANSFER_START_CHILD_EXECUTION:
      return { ...common, kind: 'startChild', initiatedEventId: eventOf(wire), target: targetKeyOf(wire) };
    case info.TaskType.TRANSFER_SIGNAL_EXECUTION:
      return { ...common, kind: 'signalExternal', initiatedEventId: eventOf(wire), target: targetKeyOf(wire) };
    case info.TaskType.TRANSFER_CANCEL_EXECUTION:
      return { ...common, kind: 'cancelExternal', initiatedEventId: eventOf(wire), target: targetKeyOf(wire) };
    case info.TaskType.TRANSFER_CLOSE_EXECUTION:
      throw new Undecodable('a close that another server has written does not say whom to tell of it');
    default:
      throw new Undecodable(`its task_type ${wire.taskType} is none that a history shard has for a transfer`);
  }
}

function timerOf(wire: info.TimerTaskInfo): PendingTask {
  const own = ownTaskOf(wire.pendingTask, 'timer');
  if (own !== undefined) return own;
  const { taskId, stamp, visibilityTimeMs } = wire;
  const common = { taskId: present(taskId, 'task_id'), fireTimeMs: visibilityTimeMs, key: keyOf(wire) };
  switch (wire.taskType) {
    case info.TaskType.ACTIVITY_TIMEOUT:
      return { ...common, kind: 'activityTimeout', scheduledEventId: eventOf(wire), stamp, timeout: activityTimeoutOf(wire) };
    case info.TaskType.WORKFLOW_TASK_TIMEOUT:
      return { ...common, kind: 'workflowTaskTimeout', scheduledEventId: eventOf(wire), stamp, timeout: workflowTaskTimeoutOf(wire) };
    case info.TaskType.ACTIVITY_RETRY_TIMER:
      return { ...common, kind: 'activityRetry', scheduledEventId: eventOf(wire), stamp };
    case info.TaskType.WORKFLOW_BACKOFF_TIMER:
      return { ...common, kind: 'firstWorkflowTask' };
    case info.TaskType.WORKFLOW_RUN_TIMEOUT:
      return { ...common, kind: 'runTimeout' };
    case info.TaskType.WORKFLOW_EXECUTION_TIMEOUT:
      return { ...common, kind: 'executionTimeout' };
    case info.TaskType.DELETE_HISTORY_EVENT:
      return { ...common, kind: 'retention' };
    case info.TaskType.USER_TIMER:
      throw new Undecodable('a timer of a workflow that another server has written does not say which one it is');
    default:
      throw new Undecodable(`its task_type ${wire.taskType} is none that a history shard has for a timer`);
  }
}

function activityTimeoutOf(wire: info.TimerTaskInfo): Extract<TimerTask, { readonly kind: 'activityTimeout' }>['timeout'] {
  if (wire.timeoutType === timeoutType.scheduleToClose) return 'scheduleToClose';
  return wire.timeoutType === timeoutType.heartbeat ? 'heartbeat' : workflowTaskTimeoutOf(wire);
}

function workflowTaskTimeoutOf({ timeoutType: type }: info.TimerTaskInfo): 'startToClose' | 'scheduleToStart' {
  if (type === timeoutType.startToClose) return 'startToClose';
  if (type === timeoutType.scheduleToStart) return 'scheduleToStart';
  throw new Undecodable(`its timeout_type ${type} is none that such a task has`);
}

function keyOf({ namespaceId, workflowId, runId }: RunKey): RunKey {
  return {
    namespaceId: present(namespaceId, 'namespace_id'),
    workflowId: present(workflowId, 'workflow_id'),
    runId: present(runId, 'run_id'),
  };
}

/** Whichever run of the target is open. */
function targetKeyOf({ targetNamespaceId, targetWorkflowId, targetRunId }: info.TransferTaskInfo): RunKey {
  return {
    namespaceId: present(targetNamespaceId, 'target_namespace_id'),
    workflowId: present(targetWorkflowId, 'target_workflow_id'),
    runId: targetRunId,
  };
}

function eventOf(wire: { readonly scheduledEventId: number } | { readonly eventId: number }): number {
  return 'eventId' in wire ? present(wire.eventId, 'event_id') : present(wire.scheduledEventId, 'scheduled_event_id');
}

function present<Value extends string | number>(value: Value, field: string): Value {
  if (value === '' || (typeof value === 'number' && value <= 0)) throw new Undecodable(`it has no ${field}`);
  return value;
}
