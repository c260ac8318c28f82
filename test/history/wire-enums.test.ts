/** The core's names for numbers of the public API. A wrong one would be written into histories without a word. */
import { expect, test } from 'vitest';
import * as core from '../../src/history/wire-enums.ts';
import * as api from '../../src/wire/generated/lean/enums.ts';

type Numbers = Readonly<Record<string, number>>;

test.each<[string, Numbers, Numbers]>([
  ['timeoutType', core.timeoutType, api.TimeoutType],
  ['retryState', core.retryState, api.RetryState],
  ['idReusePolicy', core.idReusePolicy, api.WorkflowIdReusePolicy],
  ['idConflictPolicy', core.idConflictPolicy, api.WorkflowIdConflictPolicy],
  ['parentClosePolicy', core.parentClosePolicy, api.ParentClosePolicy],
  ['queryRejectCondition', core.queryRejectCondition, api.QueryRejectCondition],
  ['taskQueueKind', core.taskQueueKind, api.TaskQueueKind],
  ['continueAsNewInitiator', core.continueAsNewInitiator, api.ContinueAsNewInitiator],
  ['suggestContinueAsNewReason', core.suggestContinueAsNewReason, api.SuggestContinueAsNewReason],
  ['startChildFailedCause', core.startChildFailedCause, api.StartChildWorkflowExecutionFailedCause],
  ['workflowTaskFailedCause', core.workflowTaskFailedCause, api.WorkflowTaskFailedCause],
])('%s', (_name, ours, theirs) => {
  const expected = Object.keys(ours).map((name) => [name, theirs[name.replace(/[A-Z]/g, '_$&').toUpperCase()]]);
  expect(Object.entries(ours)).toEqual(expected);
});

test('externalFailedCause stands for two enumerations', () => {
  const { externalFailedCause } = core;
  const { CancelExternalWorkflowExecutionFailedCause: cancel, SignalExternalWorkflowExecutionFailedCause: signal } = api;
  for (const theirs of [cancel, signal]) {
    expect(externalFailedCause.executionNotFound).toBe(theirs.EXTERNAL_WORKFLOW_EXECUTION_NOT_FOUND);
    expect(externalFailedCause.namespaceNotFound).toBe(theirs.NAMESPACE_NOT_FOUND);
  }
  expect(externalFailedCause.signalCountLimitExceeded).toBe(signal.SIGNAL_COUNT_LIMIT_EXCEEDED);
});
