/** What List and Count show of a run, and which events change it. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { EventKind } from '../events.ts';
import type { Fact, RunChange } from '../record.ts';
import { isRunning, type RunStart, type RunView, shownStatus } from '../state.ts';

/** As it was at one moment: references to what is never changed in place, so it costs next to nothing to keep. */
export type RunSummary = {
  readonly key: RunKey;
  readonly start: RunStart;
  /** `temporal.api.enums.v1.WorkflowExecutionStatus` */
  readonly status: number;
  /** undefined: it is open. */
  readonly closeTimeMs: number | undefined;
  readonly historyLength: number;
  readonly historySizeBytes: number;
  /** Grows with every record about the run. */
  readonly stateTransitionCount: number;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
};

export type ShownOfRun = Pick<
  RunView,
  | 'key'
  | 'start'
  | 'status'
  | 'pause'
  | 'preparation'
  | 'closeTimeMs'
  | 'nextEventId'
  | 'historySizeBytes'
  | 'stateTransitionCount'
  | 'memo'
  | 'searchAttributes'
>;

/** Of a run, or of as much of it as a list shows; undefined: no list shows it, it is being prepared. */
export function summaryOf(run: ShownOfRun): RunSummary | undefined {
  if (run.preparation !== undefined) return undefined;
  const { key, start, nextEventId, historySizeBytes, stateTransitionCount, memo, searchAttributes } = run;
  return {
    key,
    start,
    status: shownStatus(run),
    closeTimeMs: isRunning(run) ? undefined : run.closeTimeMs,
    historyLength: nextEventId - 1,
    historySizeBytes,
    stateTransitionCount,
    memo,
    searchAttributes,
  };
}

/** What grows with every event (the length of the history) is shown of closed runs alone. */
export function changesSummary({ events, facts }: RunChange): boolean {
  for (const { event } of events) if (shown[event.type]) return true;
  return facts.some(({ fact }) => shownFacts.has(fact.kind));
}

const shownFacts: ReadonlySet<Fact['kind']> = new Set(['problemsReported', 'scheduleChanged', 'pauseInfoChanged', 'preparationEnded']);

/** Total: a new kind of event does not compile before somebody has said whether a list shows what it does. */
const shown: { readonly [Kind in EventKind]: boolean } = {
  workflowExecutionStarted: true,
  workflowExecutionCompleted: true,
  workflowExecutionFailed: true,
  workflowExecutionTimedOut: true,
  workflowTaskScheduled: false,
  workflowTaskStarted: false,
  workflowTaskCompleted: false,
  workflowTaskTimedOut: false,
  workflowTaskFailed: false,
  activityTaskScheduled: false,
  activityTaskStarted: false,
  activityTaskCompleted: false,
  activityTaskFailed: false,
  activityTaskTimedOut: false,
  activityTaskCancelRequested: false,
  activityTaskCanceled: false,
  timerStarted: false,
  timerFired: false,
  timerCanceled: false,
  workflowExecutionCancelRequested: false,
  workflowExecutionCanceled: true,
  requestCancelExternalWorkflowExecutionInitiated: false,
  requestCancelExternalWorkflowExecutionFailed: false,
  externalWorkflowExecutionCancelRequested: false,
  markerRecorded: false,
  workflowExecutionSignaled: false,
  workflowExecutionTerminated: true,
  workflowExecutionContinuedAsNew: true,
  startChildWorkflowExecutionInitiated: false,
  startChildWorkflowExecutionFailed: false,
  childWorkflowExecutionStarted: false,
  childWorkflowExecutionCompleted: false,
  childWorkflowExecutionFailed: false,
  childWorkflowExecutionCanceled: false,
  childWorkflowExecutionTimedOut: false,
  childWorkflowExecutionTerminated: false,
  signalExternalWorkflowExecutionInitiated: false,
  signalExternalWorkflowExecutionFailed: false,
  externalWorkflowExecutionSignaled: false,
  upsertWorkflowSearchAttributes: true,
  workflowPropertiesModified: true,
  workflowExecutionOptionsUpdated: false,
  workflowExecutionUpdateAdmitted: false,
  workflowExecutionUpdateAccepted: false,
  workflowExecutionUpdateCompleted: false,
  // What is buffered comes with the fact that changes the search attribute.
  workflowExecutionPaused: true,
  workflowExecutionUnpaused: true,
};
