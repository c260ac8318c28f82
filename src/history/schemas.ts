/**
 * Since which record schema there is what a record may hold: a program that reads only earlier ones does not know it. Every kind says so, or it
 * does not compile; so a record with a new kind cannot be written as if all programs knew it.
 */
import type { EventKind, HistoryEvent } from './events.ts';
import {
  type Fact,
  recordSchema,
  recordSchemaLaterRuns,
  recordSchemaLaterTasks,
  recordSchemaOperators,
  recordSchemaPreparations,
} from './record.ts';
import type { Task } from './tasks.ts';

const factSince: { readonly [Kind in Fact['kind']]: number } = {
  startRequest: recordSchema,
  workflowTaskScheduled: recordSchema,
  workflowTaskHeartbeat: recordSchema,
  workflowTaskStarted: recordSchema,
  workflowTaskFailed: recordSchema,
  workflowTaskRequeued: recordSchema,
  problemsReported: recordSchema,
  stickySet: recordSchema,
  stickyCleared: recordSchema,
  eventBuffered: recordSchema,
  bufferFlushed: recordSchema,
  timerFiredUnbuffered: recordSchema,
  activityStarted: recordSchema,
  activityStartWithdrawn: recordSchema,
  activityHeartbeat: recordSchema,
  activityRetried: recordSchema,
  activityBackoffEnded: recordSchema,
  runPutAside: recordSchema,
  runTakenBack: recordSchema,
  runForgotten: recordSchema,
  callbackAttempted: recordSchemaLaterTasks,
  activitiesPaused: recordSchemaLaterRuns,
  activitiesWithheld: recordSchemaLaterRuns,
  pauseInfoChanged: recordSchemaLaterRuns,
  activityUnpaused: recordSchemaLaterRuns,
  activityReset: recordSchemaLaterRuns,
  // With types of errors: `isOperatorsFact`.
  activityOptionsUpdated: recordSchemaLaterRuns,
  activityRescheduled: recordSchemaLaterRuns,
  updateRejected: recordSchemaLaterRuns,
  runReset: recordSchemaLaterRuns,
  runResetTo: recordSchemaLaterRuns,
  scheduleChanged: recordSchemaLaterRuns,
  scheduledBy: recordSchemaLaterRuns,
  batchChanged: recordSchemaLaterRuns,
  preparationBegun: recordSchemaPreparations,
  preparationEnded: recordSchemaPreparations,
  requestAnswered: recordSchemaOperators,
};

const eventSince: { readonly [Kind in EventKind]: number } = {
  workflowExecutionStarted: recordSchema,
  workflowExecutionCompleted: recordSchema,
  workflowExecutionFailed: recordSchema,
  workflowExecutionTimedOut: recordSchema,
  workflowExecutionCancelRequested: recordSchema,
  workflowExecutionCanceled: recordSchema,
  workflowExecutionSignaled: recordSchema,
  workflowExecutionTerminated: recordSchema,
  workflowExecutionContinuedAsNew: recordSchema,
  // With a priority: `isLaterEvent`.
  workflowExecutionOptionsUpdated: recordSchema,
  workflowTaskScheduled: recordSchema,
  workflowTaskStarted: recordSchema,
  workflowTaskCompleted: recordSchema,
  workflowTaskTimedOut: recordSchema,
  workflowTaskFailed: recordSchema,
  activityTaskScheduled: recordSchema,
  activityTaskStarted: recordSchema,
  activityTaskCompleted: recordSchema,
  activityTaskFailed: recordSchema,
  activityTaskTimedOut: recordSchema,
  activityTaskCancelRequested: recordSchema,
  activityTaskCanceled: recordSchema,
  timerStarted: recordSchema,
  timerFired: recordSchema,
  timerCanceled: recordSchema,
  markerRecorded: recordSchema,
  upsertWorkflowSearchAttributes: recordSchema,
  workflowPropertiesModified: recordSchema,
  startChildWorkflowExecutionInitiated: recordSchema,
  startChildWorkflowExecutionFailed: recordSchema,
  childWorkflowExecutionStarted: recordSchema,
  childWorkflowExecutionCompleted: recordSchema,
  childWorkflowExecutionFailed: recordSchema,
  childWorkflowExecutionCanceled: recordSchema,
  childWorkflowExecutionTimedOut: recordSchema,
  childWorkflowExecutionTerminated: recordSchema,
  signalExternalWorkflowExecutionInitiated: recordSchema,
  signalExternalWorkflowExecutionFailed: recordSchema,
  externalWorkflowExecutionSignaled: recordSchema,
  requestCancelExternalWorkflowExecutionInitiated: recordSchema,
  requestCancelExternalWorkflowExecutionFailed: recordSchema,
  externalWorkflowExecutionCancelRequested: recordSchema,
  workflowExecutionUpdateAdmitted: recordSchemaLaterRuns,
  workflowExecutionUpdateAccepted: recordSchemaLaterRuns,
  workflowExecutionUpdateCompleted: recordSchemaLaterRuns,
  workflowExecutionPaused: recordSchemaLaterRuns,
  workflowExecutionUnpaused: recordSchemaLaterRuns,
};

const taskSince: { readonly [Kind in Task['kind']]: number } = {
  workflowTask: recordSchema,
  activityTask: recordSchema,
  startChild: recordSchema,
  scheduleChildFirstTask: recordSchema,
  signalExternal: recordSchema,
  cancelExternal: recordSchema,
  notifyParent: recordSchema,
  closeChild: recordSchema,
  userTimer: recordSchema,
  activityTimeout: recordSchema,
  activityRetry: recordSchema,
  workflowTaskTimeout: recordSchema,
  firstWorkflowTask: recordSchema,
  runTimeout: recordSchema,
  executionTimeout: recordSchema,
  retention: recordSchema,
  invokeCallback: recordSchemaLaterTasks,
  callbackBackoff: recordSchemaLaterTasks,
  upsertVisibility: recordSchemaLaterTasks,
  archiveExecution: recordSchemaLaterTasks,
  letterCheck: recordSchemaLaterTasks,
  startAction: recordSchemaLaterRuns,
  endAction: recordSchemaLaterRuns,
  lookAtAction: recordSchemaLaterRuns,
  notifySchedule: recordSchemaLaterRuns,
  scheduleWake: recordSchemaLaterRuns,
  batchStep: recordSchemaLaterRuns,
};

/** Programs that read records up to schema 5 do not know it. */
export function isLaterFact(fact: Fact): boolean {
  if (fact.kind === 'eventBuffered') return isLaterEvent(fact.event);
  return factSince[fact.kind] >= recordSchemaLaterRuns;
}

/** Programs that read records up to schema 7 do not know it, or would pass over what is new in it. */
export function isOperatorsFact(fact: Fact): boolean {
  if (fact.kind === 'activityOptionsUpdated') return fact.options?.errorTypes !== undefined;
  return factSince[fact.kind] === recordSchemaOperators;
}

/** Likewise, up to schema 5. */
export function isLaterEvent(event: HistoryEvent): boolean {
  if (event.type === 'workflowExecutionOptionsUpdated') return event.attributes.priority !== undefined;
  return eventSince[event.type] >= recordSchemaLaterRuns;
}

/** It came with record schema 5 and state schema 4. What came later is told by its run, for ever (`isLaterRun`). */
export function isOfLaterKind(task: Task): boolean {
  return taskSince[task.kind] === recordSchemaLaterTasks;
}

/** Programs that read records up to schema 5 do not know it, or would pass over what is new in it. */
export function isOfLaterForm(task: Task): boolean {
  return taskSince[task.kind] >= recordSchemaLaterRuns || ('priority' in task && task.priority !== undefined);
}
