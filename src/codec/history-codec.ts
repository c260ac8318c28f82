/** Records of `<prefix>.history` as bytes: `perdure.journal.v1.HistoryRecord`. */
import { LogError } from '../ports/log.ts';
import type { EncodedRecord, RecordCodec } from '../actors/partition/partition-core.ts';
import type { TaskQueue } from '../history/generated/public-api.ts';
import type { Fact, HistoryRecord, PlacedFact, RunChange } from '../history/run/record.ts';
import { isTimer, type Task } from '../history/run/tasks.ts';
import * as journal from '../wire/generated/journal/history.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { encodeBriefly } from '../wire/writer.ts';
import { decodeEvent, encodeEvent } from './event-codec.ts';
import { handedOverFromWire, handedOverToWire, begunFromWire, begunToWire, endedFromWire, endedToWire } from './letter-task-codec.ts';
import { checkRecordSchema, recordSchema } from './record-schema.ts';
import { fromWireTimer, fromWireTransfer, toWireTimer, toWireTransfer } from './task-codec.ts';

export const historyCodec = {
  encode(record): EncodedRecord {
    const { namespaceId, namespace, workflowId, runId, timeMs, type } = record;
    const timerTasks: journal.TimerTask[] = [];
    const transferTasks: journal.TransferTask[] = [];
    for (const task of record.tasks) {
      if (isTimer(task)) timerTasks.push(toWireTimer(task, record));
      else transferTasks.push(toWireTransfer(task, record));
    }
    const value = encodeBriefly(journal.writeHistoryRecord, {
      timeMs,
      type,
      namespaceId,
      namespace,
      workflowId,
      runId,
      runs: wireRuns(record),
      transferTasks,
      timerTasks,
      finishedTaskIds: record.finishedTaskIds,
      retiredRuns: record.retiredRuns ?? [],
      taskIdsAtMatching: record.taskIdsAtMatching ?? [],
      tasksHandedOver: record.tasksHandedOver?.map(handedOverToWire) ?? [],
      lettersAccepted: record.lettersAccepted ?? [],
      lettersBegun: record.lettersBegun?.map(begunToWire) ?? [],
      lettersEnded: record.lettersEnded?.map(endedToWire) ?? [],
      lettersConfirmed: record.lettersConfirmed ?? [],
    });
    const key = workflowId === '' ? '@tasks' : `${namespace}/${workflowId}`;
    return { key, schema: recordSchema, type, namespace, workflowId, runId, timeMs, value };
  },

  decode(value, schema): HistoryRecord {
    checkRecordSchema(schema);
    const wire = journal.decodeHistoryRecord(value, ownLimits);
    const { timeMs, type, namespaceId, namespace, workflowId, runId, finishedTaskIds } = wire;
    const { retiredRuns, taskIdsAtMatching, tasksHandedOver, lettersAccepted } = wire;
    const runs = wire.runs.map((change) => fromWireRun(change, runId));
    const tasks: Task[] = [];
    const retiring = retiredRuns.length === 0 ? {} : { retiredRuns };
    const noting = taskIdsAtMatching.length === 0 ? {} : { taskIdsAtMatching };
    const handing = tasksHandedOver.length === 0 ? {} : { tasksHandedOver: tasksHandedOver.map(handedOverFromWire) };
    const accepting = lettersAccepted.length === 0 ? {} : { lettersAccepted };
    const executing = executedLetters(wire);
    const ids = { namespaceId, namespace, workflowId, runId };
    const record = { timeMs, type, ...ids, runs, tasks, finishedTaskIds, ...retiring, ...noting, ...handing, ...accepting, ...executing };
    for (const task of wire.transferTasks) tasks.push(fromWireTransfer(task, record));
    for (const task of wire.timerTasks) tasks.push(fromWireTimer(task, record));
    return record;
  },
} satisfies RecordCodec<HistoryRecord>;

function executedLetters({ lettersBegun, lettersEnded, lettersConfirmed }: journal.HistoryRecord): Partial<HistoryRecord> {
  return {
    ...(lettersBegun.length === 0 ? {} : { lettersBegun: lettersBegun.map(begunFromWire) }),
    ...(lettersEnded.length === 0 ? {} : { lettersEnded: lettersEnded.map(endedFromWire) }),
    ...(lettersConfirmed.length === 0 ? {} : { lettersConfirmed }),
  };
}

function wireRuns({ runs, runId }: HistoryRecord): readonly journal.RunChange[] {
  const wire: journal.RunChange[] = [];
  for (const change of runs) {
    const events: Uint8Array[] = [];
    for (const { bytes } of change.events) events.push(bytes);
    const facts = change.facts.length === 0 ? noFacts : change.facts.map(toWireFact);
    wire.push({ runId: change.runId === runId ? '' : change.runId, events, facts });
  }
  return wire;
}

const noFacts: readonly journal.Fact[] = [];

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

type FactOf<Kind extends Fact['kind']> = Extract<Fact, { readonly kind: Kind }>;
type ToWire<Kind extends Fact['kind']> = (afterEvents: number, fact: FactOf<Kind>) => journal.Fact;

const factsToWire: { readonly [Kind in Fact['kind']]: ToWire<Kind> } = {
  startRequest: (afterEvents, startRequest) => ({ ...noFact, afterEvents, startRequest }),
  workflowTaskScheduled: (afterEvents, workflowTaskScheduled) => ({ ...noFact, afterEvents, workflowTaskScheduled }),
  workflowTaskHeartbeat: (afterEvents, workflowTaskHeartbeat) => ({ ...noFact, afterEvents, workflowTaskHeartbeat }),
  workflowTaskStarted: (afterEvents, workflowTaskStarted) => ({ ...noFact, afterEvents, workflowTaskStarted }),
  workflowTaskFailed: (afterEvents, workflowTaskFailed) => ({ ...noFact, afterEvents, workflowTaskFailed }),
  workflowTaskRequeued: (afterEvents, workflowTaskRequeued) => ({ ...noFact, afterEvents, workflowTaskRequeued }),
  stickySet: (afterEvents, { sticky }) => {
    const { taskQueue: workerTaskQueue, scheduleToStartTimeoutMs } = sticky;
    return { ...noFact, afterEvents, stickySet: { workerTaskQueue, scheduleToStartTimeoutMs } };
  },
  stickyCleared: (afterEvents) => ({ ...noFact, afterEvents, stickyCleared: nothing }),
  problemsReported: (afterEvents, problemsReported) => ({ ...noFact, afterEvents, problemsReported }),
  callbackAttempted: (afterEvents, callbackAttempted) => ({ ...noFact, afterEvents, callbackAttempted }),
  updateRejected: (afterEvents, updateRejected) => ({ ...noFact, afterEvents, updateRejected }),
  eventBuffered: (afterEvents, { event }) => ({ ...noFact, afterEvents, eventBuffered: encodeEvent(event) }),
  bufferFlushed: (afterEvents) => ({ ...noFact, afterEvents, bufferFlushed: nothing }),
  timerFiredUnbuffered: (afterEvents, timerFiredUnbuffered) => ({ ...noFact, afterEvents, timerFiredUnbuffered }),
  activityStarted: (afterEvents, activityStarted) => ({ ...noFact, afterEvents, activityStarted }),
  activityStartWithdrawn: (afterEvents, activityStartWithdrawn) => ({ ...noFact, afterEvents, activityStartWithdrawn }),
  activityHeartbeat: (afterEvents, activityHeartbeat) => ({ ...noFact, afterEvents, activityHeartbeat }),
  activityRetried: (afterEvents, activityRetried) => ({ ...noFact, afterEvents, activityRetried }),
  activityBackoffEnded: (afterEvents, activityBackoffEnded) => ({ ...noFact, afterEvents, activityBackoffEnded }),
  activitiesPaused: (afterEvents, activitiesPaused) => ({ ...noFact, afterEvents, activitiesPaused }),
  activityUnpaused: (afterEvents, activityUnpaused) => ({ ...noFact, afterEvents, activityUnpaused }),
  activityReset: (afterEvents, activityReset) => ({ ...noFact, afterEvents, activityReset }),
  activityOptionsUpdated: (afterEvents, activityOptionsUpdated) => ({ ...noFact, afterEvents, activityOptionsUpdated }),
  requestAnswered: (afterEvents, requestAnswered) => ({ ...noFact, afterEvents, requestAnswered }),
  activityRescheduled: (afterEvents, activityRescheduled) => ({ ...noFact, afterEvents, activityRescheduled }),
  activitiesWithheld: (afterEvents, activitiesWithheld) => ({ ...noFact, afterEvents, activitiesWithheld }),
  pauseInfoChanged: (afterEvents, pauseInfoChanged) => ({ ...noFact, afterEvents, pauseInfoChanged }),
  runReset: (afterEvents, runReset) => ({ ...noFact, afterEvents, runReset }),
  runResetTo: (afterEvents, runResetTo) => ({ ...noFact, afterEvents, runResetTo }),
  preparationBegun: (afterEvents, preparationBegun) => ({ ...noFact, afterEvents, preparationBegun }),
  preparationEnded: (afterEvents) => ({ ...noFact, afterEvents, preparationEnded: nothing }),
  scheduleChanged: (afterEvents, scheduleChanged) => ({ ...noFact, afterEvents, scheduleChanged }),
  batchChanged: (afterEvents, batchChanged) => ({ ...noFact, afterEvents, batchChanged }),
  scheduledBy: (afterEvents, { by }) => ({ ...noFact, afterEvents, scheduledBy: by }),
  runPutAside: (afterEvents, runPutAside) => ({ ...noFact, afterEvents, runPutAside }),
  runTakenBack: (afterEvents) => ({ ...noFact, afterEvents, runTakenBack: nothing }),
  runForgotten: (afterEvents) => ({ ...noFact, afterEvents, runForgotten: nothing }),
};

/** A fact and its own kind belong to one row: TypeScript does not follow that through a union, and takes the row for one of all kinds. */
function toWireOf<Kind extends Fact['kind']>(kind: Kind): ToWire<Kind> {
  return factsToWire[kind];
}

function toWireFact({ afterEvents, fact }: PlacedFact): journal.Fact {
  return toWireOf(fact.kind)(afterEvents, fact);
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
  if (wire.problemsReported !== undefined) return { kind: 'problemsReported', ...wire.problemsReported };
  if (wire.callbackAttempted !== undefined) return { kind: 'callbackAttempted', ...wire.callbackAttempted };
  if (wire.updateRejected !== undefined) return { kind: 'updateRejected', ...wire.updateRejected };
  if (wire.eventBuffered !== undefined) return { kind: 'eventBuffered', event: decodeEvent(wire.eventBuffered) };
  if (wire.bufferFlushed !== undefined) return { kind: 'bufferFlushed' };
  if (wire.timerFiredUnbuffered !== undefined) return { kind: 'timerFiredUnbuffered', ...wire.timerFiredUnbuffered };
  if (wire.activityStarted !== undefined) return { kind: 'activityStarted', ...wire.activityStarted };
  if (wire.activityStartWithdrawn !== undefined) return { kind: 'activityStartWithdrawn', ...wire.activityStartWithdrawn };
  if (wire.activityHeartbeat !== undefined) return { kind: 'activityHeartbeat', ...wire.activityHeartbeat };
  if (wire.activityRetried !== undefined) return { kind: 'activityRetried', ...wire.activityRetried };
  if (wire.activityBackoffEnded !== undefined) return { kind: 'activityBackoffEnded', ...wire.activityBackoffEnded };
  if (wire.activitiesPaused !== undefined) return { kind: 'activitiesPaused', ...wire.activitiesPaused };
  if (wire.activityUnpaused !== undefined) return { kind: 'activityUnpaused', ...wire.activityUnpaused };
  if (wire.activityReset !== undefined) return { kind: 'activityReset', ...wire.activityReset };
  if (wire.activityOptionsUpdated !== undefined) return { kind: 'activityOptionsUpdated', ...wire.activityOptionsUpdated };
  if (wire.requestAnswered !== undefined) return { kind: 'requestAnswered', ...wire.requestAnswered };
  if (wire.activityRescheduled !== undefined) return { kind: 'activityRescheduled', ...wire.activityRescheduled };
  if (wire.activitiesWithheld !== undefined) return { kind: 'activitiesWithheld', ...wire.activitiesWithheld };
  if (wire.pauseInfoChanged !== undefined) return { kind: 'pauseInfoChanged', ...wire.pauseInfoChanged };
  if (wire.runReset !== undefined) return { kind: 'runReset', ...wire.runReset };
  if (wire.runResetTo !== undefined) return { kind: 'runResetTo', ...wire.runResetTo };
  if (wire.preparationBegun !== undefined) return { kind: 'preparationBegun', ...wire.preparationBegun };
  if (wire.preparationEnded !== undefined) return { kind: 'preparationEnded' };
  if (wire.scheduleChanged !== undefined) return { kind: 'scheduleChanged', ...wire.scheduleChanged };
  if (wire.batchChanged !== undefined) return { kind: 'batchChanged', ...wire.batchChanged };
  if (wire.scheduledBy !== undefined) return { kind: 'scheduledBy', by: wire.scheduledBy };
  if (wire.runPutAside !== undefined) return { kind: 'runPutAside', ...wire.runPutAside };
  if (wire.runTakenBack !== undefined) return { kind: 'runTakenBack' };
  if (wire.runForgotten !== undefined) return { kind: 'runForgotten' };
  throw new LogError('corrupt', 'a fact of a kind that this version does not know');
}

function needed(taskQueue: TaskQueue | undefined): TaskQueue {
  if (taskQueue === undefined) throw new LogError('corrupt', 'a fact names no task queue');
  return taskQueue;
}
