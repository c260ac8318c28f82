/**
 * What the kinds of events close. The table is total: a new kind of event does not compile before somebody has said whether the run, an
 * activity or a child ends with it; who reads the table then learns of it, a replay years later included.
 */
import type { EventKind, EventOf, HistoryEvent } from './events.ts';

const closes = {
  workflowExecutionStarted: undefined,
  workflowExecutionCompleted: 'run',
  workflowExecutionFailed: 'run',
  workflowExecutionTimedOut: 'run',
  workflowTaskScheduled: undefined,
  workflowTaskStarted: undefined,
  workflowTaskCompleted: undefined,
  workflowTaskTimedOut: undefined,
  workflowTaskFailed: undefined,
  activityTaskScheduled: undefined,
  activityTaskStarted: undefined,
  activityTaskCompleted: 'activity',
  activityTaskFailed: 'activity',
  activityTaskTimedOut: 'activity',
  activityTaskCancelRequested: undefined,
  activityTaskCanceled: 'activity',
  timerStarted: undefined,
  timerFired: undefined,
  timerCanceled: undefined,
  workflowExecutionCancelRequested: undefined,
  workflowExecutionCanceled: 'run',
  requestCancelExternalWorkflowExecutionInitiated: undefined,
  requestCancelExternalWorkflowExecutionFailed: undefined,
  externalWorkflowExecutionCancelRequested: undefined,
  markerRecorded: undefined,
  workflowExecutionSignaled: undefined,
  workflowExecutionTerminated: 'run',
  workflowExecutionContinuedAsNew: 'run',
  startChildWorkflowExecutionInitiated: undefined,
  // It never started: there is no Started that it would have to wait for.
  startChildWorkflowExecutionFailed: undefined,
  childWorkflowExecutionStarted: undefined,
  childWorkflowExecutionCompleted: 'child',
  childWorkflowExecutionFailed: 'child',
  childWorkflowExecutionCanceled: 'child',
  childWorkflowExecutionTimedOut: 'child',
  childWorkflowExecutionTerminated: 'child',
  signalExternalWorkflowExecutionInitiated: undefined,
  signalExternalWorkflowExecutionFailed: undefined,
  externalWorkflowExecutionSignaled: undefined,
  upsertWorkflowSearchAttributes: undefined,
  workflowPropertiesModified: undefined,
  workflowExecutionOptionsUpdated: undefined,
  workflowExecutionUpdateAdmitted: undefined,
  workflowExecutionUpdateAccepted: undefined,
  workflowExecutionUpdateCompleted: undefined,
  workflowExecutionPaused: undefined,
  workflowExecutionUnpaused: undefined,
} as const satisfies { readonly [Kind in EventKind]: 'run' | 'activity' | 'child' | undefined };

type Closing<What> = { [Kind in EventKind]: (typeof closes)[Kind] extends What ? Kind : never }[EventKind];

export type RunCloseKind = Closing<'run'>;
export type RunClose = { [Kind in RunCloseKind]: EventOf<Kind> }[RunCloseKind];
export type ActivityClose = { [Kind in Closing<'activity'>]: EventOf<Kind> }[Closing<'activity'>];
export type ChildClose = { [Kind in Closing<'child'>]: EventOf<Kind> }[Closing<'child'>];

export function closesRun(event: HistoryEvent): event is RunClose {
  return closes[event.type] === 'run';
}

export function closesActivity(event: HistoryEvent): event is ActivityClose {
  return closes[event.type] === 'activity';
}

export function closesChild(event: HistoryEvent): event is ChildClose {
  return closes[event.type] === 'child';
}
