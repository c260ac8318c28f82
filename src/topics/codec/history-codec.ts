/** Records of `<prefix>.history` as bytes. Schema 1: `perdure.journal.v1.HistoryRecord`. */
import { LogError } from '../../actors/log.ts';
import type { EncodedRecord, RecordCodec } from '../../actors/partition/partition-core.ts';
import type { RunKey } from '../../history/commands.ts';
import type { HistoryEvent } from '../../history/events.ts';
import { parentClosePolicy, timeoutType } from '../../history/generated/enums.ts';
import type { TaskQueue } from '../../history/generated/public-api.ts';
import { type Fact, type HistoryRecord, type PlacedFact, recordSchema, type RunChange } from '../../history/record.ts';
import { isTimer, type ParentClosePolicy, type Task, type TimerTask, type TransferTask } from '../../history/tasks.ts';
import { unreachable } from '../../kernel/assert.ts';
import * as journal from '../../wire/generated/journal/history.ts';
import { decodeEvent, encodeEvent } from './event-codec.ts';
import { ownLimits } from '../../wire/wire-limits.ts';

export const historyCodec: RecordCodec<HistoryRecord> = {
  encode(record): EncodedRecord {
    const { namespaceId, namespace, workflowId, runId, timeMs, type, schema } = record;
    const timerTasks: journal.TimerTask[] = [];
    const transferTasks: journal.TransferTask[] = [];
    for (const task of record.tasks) {
      if (isTimer(task)) timerTasks.push(toWireTimer(task, record));
      else transferTasks.push(toWireTransfer(task, record));
    }
    const value = journal.encodeHistoryRecord({
      timeMs,
      type,
      namespaceId,
      namespace,
      workflowId,
      runId,
      runs: record.runs.map((change) => toWireRun(change, runId)),
      transferTasks,
      timerTasks,
      finishedTaskIds: record.finishedTaskIds,
    });
    const key = workflowId === '' ? '@tasks' : `${namespace}/${workflowId}`;
    return { key, schema, type, namespace, workflowId, runId, timeMs, value };
  },

  decode(value, schema): HistoryRecord {
    if (schema !== recordSchema) throw new LogError('corrupt', `history records have schema ${recordSchema}, found ${schema}`);
    const wire = journal.decodeHistoryRecord(value, ownLimits);
    const { timeMs, type, namespaceId, namespace, workflowId, runId, finishedTaskIds } = wire;
    const runs = wire.runs.map((change) => fromWireRun(change, runId));
    const tasks: Task[] = [];
    const record = { schema, timeMs, type, namespaceId, namespace, workflowId, runId, runs, tasks, finishedTaskIds };
    for (const task of wire.transferTasks) tasks.push(fromWireTransfer(task, record));
    for (const task of wire.timerTasks) tasks.push(fromWireTimer(task, record));
    return record;
  },
};

function toWireRun(change: RunChange, runId: string): journal.RunChange {
  return {
    runId: change.runId === runId ? '' : change.runId,
    events: change.events.map((recorded) => recorded.bytes),
    facts: change.facts.map(toWireFact),
  };
}

function fromWireRun(change: journal.RunChange, runId: string): RunChange {
  return {
    runId: change.runId === '' ? runId : change.runId,
    events: change.events.map((bytes) => ({ event: decodeEvent(bytes), bytes })),
    facts: change.facts.map(fromWireFact),
  };
}

// ── Facts ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const noFact = journal.emptyFact();
const nothing = journal.emptyNothing();

function toWireFact({ afterEvents, fact }: PlacedFact): journal.Fact {
  switch (fact.kind) {
    case 'startRequest':
      return { ...noFact, afterEvents, startRequest: fact };
    case 'workflowTaskScheduled':
      return { ...noFact, afterEvents, workflowTaskScheduled: fact };
    case 'workflowTaskHeartbeat':
      return { ...noFact, afterEvents, workflowTaskHeartbeat: fact };
    case 'workflowTaskStarted':
      return { ...noFact, afterEvents, workflowTaskStarted: fact };
    case 'workflowTaskFailed':
      return { ...noFact, afterEvents, workflowTaskFailed: fact };
    case 'workflowTaskRequeued':
      return { ...noFact, afterEvents, workflowTaskRequeued: fact };
    case 'stickySet': {
      const { taskQueue, scheduleToStartTimeoutMs } = fact.sticky;
      return { ...noFact, afterEvents, stickySet: { workerTaskQueue: taskQueue, scheduleToStartTimeoutMs } };
    }
    case 'stickyCleared':
      return { ...noFact, afterEvents, stickyCleared: nothing };
    case 'eventBuffered':
      return { ...noFact, afterEvents, eventBuffered: encodeEvent(fact.event) };
    case 'bufferFlushed':
      return { ...noFact, afterEvents, bufferFlushed: nothing };
    case 'timerFiredUnbuffered':
      return { ...noFact, afterEvents, timerFiredUnbuffered: fact };
    case 'activityStarted':
      return { ...noFact, afterEvents, activityStarted: fact };
    case 'activityStartWithdrawn':
      return { ...noFact, afterEvents, activityStartWithdrawn: fact };
    case 'activityHeartbeat':
      return { ...noFact, afterEvents, activityHeartbeat: fact };
    case 'activityRetried':
      return { ...noFact, afterEvents, activityRetried: fact };
    case 'activityBackoffEnded':
      return { ...noFact, afterEvents, activityBackoffEnded: fact };
    case 'runPutAside':
      return { ...noFact, afterEvents, runPutAside: fact };
    case 'runTakenBack':
      return { ...noFact, afterEvents, runTakenBack: nothing };
    case 'runForgotten':
      return { ...noFact, afterEvents, runForgotten: nothing };
    default:
      return unreachable(fact);
  }
}

function fromWireFact(wire: journal.Fact): PlacedFact {
  return { afterEvents: wire.afterEvents, fact: factOf(wire) };
}

function factOf(wire: journal.Fact): Fact {
  if (wire.startRequest !== undefined) return { kind: 'startRequest', ...wire.startRequest };
  if (wire.workflowTaskScheduled !== undefined) {
    return { kind: 'workflowTaskScheduled', ...wire.workflowTaskScheduled, taskQueue: needed(wire.workflowTaskScheduled.taskQueue) };
  }
  if (wire.workflowTaskHeartbeat !== undefined) return { kind: 'workflowTaskHeartbeat', ...wire.workflowTaskHeartbeat };
  if (wire.workflowTaskStarted !== undefined) return { kind: 'workflowTaskStarted', ...wire.workflowTaskStarted };
  if (wire.workflowTaskFailed !== undefined) return { kind: 'workflowTaskFailed', ...wire.workflowTaskFailed };
  if (wire.workflowTaskRequeued !== undefined)
    return { kind: 'workflowTaskRequeued', taskQueue: needed(wire.workflowTaskRequeued.taskQueue) };
  if (wire.stickySet !== undefined) {
    const { workerTaskQueue, scheduleToStartTimeoutMs } = wire.stickySet;
    return { kind: 'stickySet', sticky: { taskQueue: needed(workerTaskQueue), scheduleToStartTimeoutMs } };
  }
  if (wire.stickyCleared !== undefined) return { kind: 'stickyCleared' };
  if (wire.eventBuffered !== undefined) return { kind: 'eventBuffered', event: decodeEvent(wire.eventBuffered) };
  if (wire.bufferFlushed !== undefined) return { kind: 'bufferFlushed' };
  if (wire.timerFiredUnbuffered !== undefined) return { kind: 'timerFiredUnbuffered', ...wire.timerFiredUnbuffered };
  if (wire.activityStarted !== undefined) return { kind: 'activityStarted', ...wire.activityStarted };
  if (wire.activityStartWithdrawn !== undefined) return { kind: 'activityStartWithdrawn', ...wire.activityStartWithdrawn };
  if (wire.activityHeartbeat !== undefined) return { kind: 'activityHeartbeat', ...wire.activityHeartbeat };
  if (wire.activityRetried !== undefined) return { kind: 'activityRetried', ...wire.activityRetried };
  if (wire.activityBackoffEnded !== undefined) return { kind: 'activityBackoffEnded', ...wire.activityBackoffEnded };
  if (wire.runPutAside !== undefined) return { kind: 'runPutAside', ...wire.runPutAside };
  if (wire.runTakenBack !== undefined) return { kind: 'runTakenBack' };
  if (wire.runForgotten !== undefined) return { kind: 'runForgotten' };
  throw new LogError('corrupt', 'a fact of a kind that this version does not know');
}

function needed(taskQueue: TaskQueue | undefined): TaskQueue {
  if (taskQueue === undefined) throw new LogError('corrupt', 'a fact names no task queue');
  return taskQueue;
}

// ── What a task has from its event ─────────────────────────────────────────────────────────────────────────────────────────────
//
// Names are up to 1,000 bytes long, and a worker may send thousands of commands at once. A task whose event stands in the same record
// leaves out what that event says.

/** Undefined: the event is not in this record. */
function eventIn({ runs }: HistoryRecord, runId: string, eventId: number): HistoryEvent | undefined {
  for (const change of runs) {
    const first = change.events[0];
    if (change.runId === runId && first !== undefined) return change.events[eventId - first.event.eventId]?.event;
  }
  return undefined;
}

function taskQueueIn(record: HistoryRecord, runId: string, scheduledEventId: number): TaskQueue | undefined {
  const event = eventIn(record, runId, scheduledEventId);
  const isScheduled = event?.type === 'workflowTaskScheduled' || event?.type === 'activityTaskScheduled';
  return isScheduled ? event.attributes.taskQueue : undefined;
}

function targetIn(record: HistoryRecord, runId: string, initiatedEventId: number): RunKey | undefined {
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

function timerIdIn(record: HistoryRecord, runId: string, startedEventId: number): string | undefined {
  const event = eventIn(record, runId, startedEventId);
  return event?.type === 'timerStarted' ? event.attributes.timerId : undefined;
}

/** The task's target, unless its event says it. */
function unknownTarget(record: HistoryRecord, task: Extract<TransferTask, { readonly target: RunKey }>): RunKey | undefined {
  const { target } = task;
  const said = targetIn(record, task.key.runId, task.initiatedEventId);
  const isSaid = said?.namespaceId === target.namespaceId && said.workflowId === target.workflowId && said.runId === target.runId;
  return isSaid ? undefined : target;
}

function isSameQueue(one: TaskQueue, other: TaskQueue | undefined): boolean {
  return other !== undefined && one.name === other.name && one.kind === other.kind && one.normalName === other.normalName;
}

// ── Tasks ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const transferKind = journal.TransferTaskKind;
const noTransfer = journal.emptyTransferTask();

function toWireTransfer(task: TransferTask, record: HistoryRecord): journal.TransferTask {
  const { taskId, version } = task;
  const { runId } = task.key;
  const common = { ...noTransfer, taskId, version, runId: runId === record.runId ? '' : runId };
  switch (task.kind) {
    case 'workflowTask':
    case 'activityTask': {
      const kind = task.kind === 'workflowTask' ? transferKind.WORKFLOW_TASK : transferKind.ACTIVITY_TASK;
      const { scheduledEventId: eventId, stamp, scheduleToStartTimeoutMs } = task;
      const taskQueue = isSameQueue(task.taskQueue, taskQueueIn(record, runId, eventId)) ? undefined : task.taskQueue;
      return { ...common, kind, eventId, stamp, taskQueue, scheduleToStartTimeoutMs };
    }
    case 'startChild':
      return {
        ...common,
        kind: transferKind.START_CHILD,
        eventId: task.initiatedEventId,
        target: unknownTarget(record, task),
        parentClosePolicy: task.parentClosePolicy ?? 0,
      };
    case 'signalExternal':
      return {
        ...common,
        kind: transferKind.SIGNAL_EXTERNAL,
        eventId: task.initiatedEventId,
        target: unknownTarget(record, task),
      };
    case 'cancelExternal':
      return {
        ...common,
        kind: transferKind.CANCEL_EXTERNAL,
        eventId: task.initiatedEventId,
        target: unknownTarget(record, task),
      };
    case 'scheduleChildFirstTask':
      return { ...common, kind: transferKind.SCHEDULE_CHILD_FIRST_TASK, target: task.child };
    case 'notifyParent':
      return { ...common, kind: transferKind.NOTIFY_PARENT };
    case 'closeChild':
      return {
        ...common,
        kind: transferKind.CLOSE_CHILD,
        eventId: task.initiatedEventId,
        target: task.child,
        parentClosePolicy: task.policy,
      };
    default:
      return unreachable(task);
  }
}

function fromWireTransfer(wire: journal.TransferTask, record: HistoryRecord): TransferTask {
  const { taskId, version, eventId, stamp, scheduleToStartTimeoutMs } = wire;
  const key = keyOf(wire.runId, record);
  const common = { taskId, version, key };
  switch (wire.kind) {
    case transferKind.WORKFLOW_TASK:
    case transferKind.ACTIVITY_TASK: {
      const kind = wire.kind === transferKind.WORKFLOW_TASK ? 'workflowTask' : 'activityTask';
      const taskQueue = needed(wire.taskQueue ?? taskQueueIn(record, key.runId, eventId));
      return { ...common, kind, scheduledEventId: eventId, stamp, taskQueue, scheduleToStartTimeoutMs };
    }
    case transferKind.NOTIFY_PARENT:
      return { ...common, kind: 'notifyParent' };
  }
  const target = wire.target ?? targetIn(record, key.runId, eventId);
  if (target === undefined) throw new LogError('corrupt', `transfer task ${taskId} of kind ${wire.kind} names no target`);
  switch (wire.kind) {
    case transferKind.START_CHILD:
      return {
        ...common,
        kind: 'startChild',
        initiatedEventId: eventId,
        target,
        ...parentClosePolicyOf(wire),
      };
    case transferKind.SIGNAL_EXTERNAL:
      return { ...common, kind: 'signalExternal', initiatedEventId: eventId, target };
    case transferKind.CANCEL_EXTERNAL:
      return { ...common, kind: 'cancelExternal', initiatedEventId: eventId, target };
    case transferKind.SCHEDULE_CHILD_FIRST_TASK:
      return { ...common, kind: 'scheduleChildFirstTask', child: target };
    case transferKind.CLOSE_CHILD:
      return { ...common, kind: 'closeChild', initiatedEventId: eventId, child: target, policy: closePolicyOf(wire) };
    default:
      throw new LogError('corrupt', `transfer task ${taskId} has the unknown kind ${wire.kind}`);
  }
}

/** Absent in records of programs that did not write it yet. */
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
function toWireTimer(task: TimerTask, record: HistoryRecord): journal.TimerTask {
  const { taskId, fireTimeMs } = task;
  const { runId } = task.key;
  const common = { ...noTimer, taskId, fireTimeMs, runId: runId === record.runId ? '' : runId };
  switch (task.kind) {
    case 'userTimer': {
      const timerId = task.timerId === timerIdIn(record, runId, task.startedEventId) ? '' : task.timerId;
      return { ...common, kind: timerKind.USER_TIMER, eventId: task.startedEventId, timerId };
    }
    case 'activityTimeout':
    case 'workflowTaskTimeout': {
      const kind = task.kind === 'activityTimeout' ? timerKind.ACTIVITY_TIMEOUT : timerKind.WORKFLOW_TASK_TIMEOUT;
      return { ...common, kind, eventId: task.scheduledEventId, stamp: task.stamp, timeoutType: timeoutType[task.timeout] };
    }
    case 'activityRetry':
      return { ...common, kind: timerKind.ACTIVITY_RETRY, eventId: task.scheduledEventId, stamp: task.stamp };
    case 'firstWorkflowTask':
      return { ...common, kind: timerKind.FIRST_WORKFLOW_TASK };
    case 'runTimeout':
      return { ...common, kind: timerKind.RUN_TIMEOUT };
    case 'executionTimeout':
      return { ...common, kind: timerKind.EXECUTION_TIMEOUT };
    case 'retention':
      return { ...common, kind: timerKind.RETENTION };
    default:
      return unreachable(task);
  }
}

function fromWireTimer(wire: journal.TimerTask, record: HistoryRecord): TimerTask {
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
    case timerKind.FIRST_WORKFLOW_TASK:
      return { ...common, kind: 'firstWorkflowTask' };
    case timerKind.RUN_TIMEOUT:
      return { ...common, kind: 'runTimeout' };
    case timerKind.EXECUTION_TIMEOUT:
      return { ...common, kind: 'executionTimeout' };
    case timerKind.RETENTION:
      return { ...common, kind: 'retention' };
    default:
      throw new LogError('corrupt', `timer task ${taskId} has the unknown kind ${wire.kind}`);
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

function keyOf(runId: string, record: HistoryRecord): RunKey {
  return { namespaceId: record.namespaceId, workflowId: record.workflowId, runId: runId === '' ? record.runId : runId };
}
