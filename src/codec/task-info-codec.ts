/**
 * The value of a letter: its task as Temporal stores such tasks, and in one field more, which Temporal's decoders pass over, our own task.
 *
 *     PendingTask ─▶ ┌ namespace_id, workflow_id, …, task_id   what Temporal's tools show
 *          ▲         └ pending_task                            what comes back, exactly
 *          └───────────┘
 *
 * A letter that somebody else has put there has the first half alone. What that says of a task of ours is enough for most kinds.
 */
import { type TaskCategory, taskCategoryOf, taskTypeOf } from '../history/run/task-types.ts';
import { taskQueueKind, timeoutType } from '../history/generated/enums.ts';
import type { PendingTask, PendingTransfer, SideTask, TimerTask } from '../history/run/tasks.ts';
import type { RunKey } from '../kernel/run-key.ts';
import { unreachable } from '../kernel/assert.ts';
import { errorText } from '../kernel/error-text.ts';
import { shownId } from '../kernel/shown-id.ts';
import { words } from '../kernel/words.ts';
import { Undecodable } from '../kernel/undecodable.ts';
import * as info from '../wire/generated/letter/task_info.ts';
import * as state from '../wire/generated/state/history.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { taskFromMessage, taskToMessage } from './state/task-message.ts';

export type TaskInfo = { readonly valueType: string; readonly value: Uint8Array };

type Form = {
  readonly valueType: string;
  readonly shown: (value: Uint8Array) => Shown;
  readonly taskIn: (value: Uint8Array) => PendingTask;
};
type Shown = Readonly<Record<string, unknown>>;
type Info = { readonly pendingTask: Uint8Array };

/** `taskOf`: our task, of what another server has written. */
function form<Wire extends Info>(
  category: TaskCategory,
  name: string,
  decode: (value: Uint8Array, limits: typeof ownLimits) => Wire,
  taskOf: (wire: Wire) => PendingTask,
): Form {
  const taskIn = (value: Uint8Array): PendingTask => {
    const wire = decode(value, ownLimits);
    return ownTaskOf(wire, category) ?? taskOf(wire);
  };
  return { valueType: `temporal.server.api.persistence.v1.${name}`, shown: (value) => decode(value, ownLimits), taskIn };
}

const forms: { readonly [category in TaskCategory]: Form } = {
  transfer: form('transfer', 'TransferTaskInfo', info.decodeTransferTaskInfo, transferOf),
  timer: form('timer', 'TimerTaskInfo', info.decodeTimerTaskInfo, timerOf),
  visibility: form('visibility', 'VisibilityTaskInfo', info.decodeVisibilityTaskInfo, rowOf),
  archival: form('archival', 'ArchivalTaskInfo', info.decodeArchivalTaskInfo, archiveOf),
  outbound: form('outbound', 'OutboundTaskInfo', info.decodeOutboundTaskInfo, outboundOf),
};

export function encodeTaskInfo(task: PendingTask): TaskInfo {
  return { valueType: forms[taskCategoryOf(task)].valueType, value: encodedInfo(task) };
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
  const known = Object.values(forms).find((each) => each.valueType === valueType);
  if (known === undefined) {
    const what = valueType === '' ? 'value of no known type' : valueType;
    throw new Undecodable(`the dead letter holds a ${what}, which is no task of a history shard`);
  }
  try {
    return known.taskIn(value);
  } catch (error) {
    throw new Undecodable(`the task of the dead letter cannot be read: ${errorText(error)}`, { cause: error });
  }
}

/** Decodes what somebody gives us as a task of that category: what Temporal's tools show of it has to be what is executed. */
export function decodeTaskOf(category: TaskCategory, value: Uint8Array): PendingTask {
  const { valueType, shown: shownIn } = forms[category];
  const task = decodeTaskInfo({ valueType, value });
  const shown = shownIn(value);
  const executed = shownIn(encodeTaskInfo(task).value);
  for (const field of fieldsSaidTwice) {
    if (shown[field] === executed[field]) continue;
    throw new Undecodable(`its ${field} is ${shownId(String(shown[field]))}, and ${shownId(String(executed[field]))} in its pending_task`);
  }
  return task;
}

/** Fields of which a category may have some. A task's id and its time are its own. */
const fieldsSaidTwice = words(
  'taskType namespaceId workflowId runId targetNamespaceId targetWorkflowId targetRunId',
  'taskQueue scheduledEventId eventId destination',
).all;

// ── As Temporal stores it ──────────────────────────────────────────────────────────────────────────────────────────────────────

const noTransfer = info.emptyTransferTaskInfo();
const noTimer = info.emptyTimerTaskInfo();

function ownTask(task: PendingTask): Uint8Array {
  return state.encodePendingTask(taskToMessage(task));
}

const typePrefix = 'TASK_TYPE_';
type WithoutPrefix<Name> = Name extends `${typeof typePrefix}${infer Rest}` ? Rest : never;
type TypeName = WithoutPrefix<ReturnType<typeof taskTypeOf>>;

/** Each type of a task has its number. */
const numbers: { readonly [name in TypeName]: number } = info.TaskType;

function commonInfo(task: PendingTask) {
  const name = taskTypeOf(task).slice(typePrefix.length) as TypeName;
  return { ...task.key, taskType: numbers[name], taskId: task.taskId, pendingTask: ownTask(task) };
}

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
function ownTaskOf({ pendingTask: bytes }: Info, category: TaskCategory): PendingTask | undefined {
  if (bytes.byteLength === 0) return undefined;
  const task = taskFromMessage(state.decodePendingTask(bytes, ownLimits));
  if (taskCategoryOf(task) !== category) throw new Undecodable(`it holds a task that is no ${category}`);
  keyOf(task.key);
  return task;
}

function rowOf(wire: info.VisibilityTaskInfo): PendingTask {
  const { taskType, version } = wire;
  const isClosed = taskType === info.TaskType.VISIBILITY_CLOSE_EXECUTION;
  if (!isClosed && taskType !== info.TaskType.VISIBILITY_UPSERT_EXECUTION)
    throw new Undecodable(`its task_type ${taskType} is none that a history shard has for a row`);
  return { kind: 'upsertVisibility', taskId: present(wire.taskId, 'task_id'), version, key: keyOf(wire), isClosed };
}

function archiveOf(wire: info.ArchivalTaskInfo): PendingTask {
  return { kind: 'archiveExecution', taskId: present(wire.taskId, 'task_id'), fireTimeMs: wire.visibilityTimeMs, key: keyOf(wire) };
}

function outboundOf(): PendingTask {
  throw new Undecodable('a call that another server has written does not say which callback it is for');
}

function transferOf(wire: info.TransferTaskInfo): PendingTask {
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
  const workflow = { namespaceId: present(namespaceId, 'namespace_id'), workflowId: present(workflowId, 'workflow_id') };
  return { ...workflow, runId: present(runId, 'run_id') };
}

/** Whichever run of the target is open. */
function targetKeyOf({ targetNamespaceId, targetWorkflowId, targetRunId: runId }: info.TransferTaskInfo): RunKey {
  const namespaceId = present(targetNamespaceId, 'target_namespace_id');
  return { namespaceId, workflowId: present(targetWorkflowId, 'target_workflow_id'), runId };
}

function eventOf(wire: { readonly scheduledEventId: number } | { readonly eventId: number }): number {
  return 'eventId' in wire ? present(wire.eventId, 'event_id') : present(wire.scheduledEventId, 'scheduled_event_id');
}

function present<Value extends string | number>(value: Value, field: string): Value {
  if (value === '' || (typeof value === 'number' && value <= 0)) throw new Undecodable(`it has no ${field}`);
  return value;
}
