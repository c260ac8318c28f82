/** What ends with an event of each kind, and whether List shows it. Total: a new kind does not compile before somebody says that. */
import { unreachable } from '../../kernel/assert.ts';
import type { CloseOutcome } from '../../kernel/close-outcome.ts';
import type { EventKind, EventOf, HistoryEvent } from './events.ts';

const meanings = {
  workflowExecutionStarted: 'isListed',
  workflowExecutionCompleted: 'endsRun',
  workflowExecutionFailed: 'endsRun',
  workflowExecutionTimedOut: 'endsRun',
  workflowTaskScheduled: undefined,
  workflowTaskStarted: undefined,
  workflowTaskCompleted: undefined,
  workflowTaskTimedOut: undefined,
  workflowTaskFailed: undefined,
  activityTaskScheduled: undefined,
  activityTaskStarted: undefined,
  activityTaskCompleted: 'endsActivity',
  activityTaskFailed: 'endsActivity',
  activityTaskTimedOut: 'endsActivity',
  activityTaskCancelRequested: undefined,
  activityTaskCanceled: 'endsActivity',
  timerStarted: undefined,
  timerFired: undefined,
  timerCanceled: undefined,
  workflowExecutionCancelRequested: undefined,
  workflowExecutionCanceled: 'endsRun',
  requestCancelExternalWorkflowExecutionInitiated: undefined,
  requestCancelExternalWorkflowExecutionFailed: undefined,
  externalWorkflowExecutionCancelRequested: undefined,
  markerRecorded: undefined,
  workflowExecutionSignaled: undefined,
  workflowExecutionTerminated: 'endsRun',
  workflowExecutionContinuedAsNew: 'endsRun',
  startChildWorkflowExecutionInitiated: undefined,
  // It never started: there is no Started that it would have to wait for.
  startChildWorkflowExecutionFailed: undefined,
  childWorkflowExecutionStarted: undefined,
  childWorkflowExecutionCompleted: 'endsChild',
  childWorkflowExecutionFailed: 'endsChild',
  childWorkflowExecutionCanceled: 'endsChild',
  childWorkflowExecutionTimedOut: 'endsChild',
  childWorkflowExecutionTerminated: 'endsChild',
  signalExternalWorkflowExecutionInitiated: undefined,
  signalExternalWorkflowExecutionFailed: undefined,
  externalWorkflowExecutionSignaled: undefined,
  upsertWorkflowSearchAttributes: 'isListed',
  workflowPropertiesModified: 'isListed',
  workflowExecutionOptionsUpdated: undefined,
  workflowExecutionUpdateAdmitted: undefined,
  workflowExecutionUpdateAccepted: undefined,
  workflowExecutionUpdateCompleted: undefined,
  // What is buffered comes with the fact that changes the search attribute.
  workflowExecutionPaused: 'isListed',
  workflowExecutionUnpaused: 'isListed',
} as const satisfies { readonly [Kind in EventKind]: 'endsRun' | 'endsActivity' | 'endsChild' | 'isListed' | undefined };

type Meaning<What> = { [Kind in EventKind]: (typeof meanings)[Kind] extends What ? Kind : never }[EventKind];

export type RunCloseKind = Meaning<'endsRun'>;
export type RunClose = { [Kind in RunCloseKind]: EventOf<Kind> }[RunCloseKind];
export type ActivityClose = { [Kind in Meaning<'endsActivity'>]: EventOf<Kind> }[Meaning<'endsActivity'>];
export type ChildClose = { [Kind in Meaning<'endsChild'>]: EventOf<Kind> }[Meaning<'endsChild'>];

export function closesRun(event: HistoryEvent): event is RunClose {
  return meanings[event.type] === 'endsRun';
}

export function closesActivity(event: HistoryEvent): event is ActivityClose {
  return meanings[event.type] === 'endsActivity';
}

export function closesChild(event: HistoryEvent): event is ChildClose {
  return meanings[event.type] === 'endsChild';
}

/** What grows with every event (the length of the history) is shown of closed runs alone. */
export function isListed({ type }: HistoryEvent): boolean {
  return meanings[type] === 'isListed' || meanings[type] === 'endsRun';
}

/** What a parent hears of the end of its child; undefined: another run goes on in its place. */
export function closeOutcome(event: RunClose): CloseOutcome | undefined {
  if ('newExecutionRunId' in event.attributes && event.attributes.newExecutionRunId !== '') return undefined;
  switch (event.type) {
    case 'workflowExecutionCompleted':
      return { kind: 'completed', result: event.attributes.result };
    case 'workflowExecutionFailed':
      return { kind: 'failed', failure: event.attributes.failure, retryState: event.attributes.retryState };
    case 'workflowExecutionCanceled':
      return { kind: 'canceled', details: event.attributes.details };
    case 'workflowExecutionTerminated':
      return { kind: 'terminated' };
    case 'workflowExecutionTimedOut':
      return { kind: 'timedOut', retryState: event.attributes.retryState };
    case 'workflowExecutionContinuedAsNew':
      return undefined;
    default:
      return unreachable(event);
  }
}
