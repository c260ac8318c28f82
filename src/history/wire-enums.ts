/** Numbers of the public API's enums that decisions use (`temporal.api.enums.v1`). */

export const timeoutType = { startToClose: 1, scheduleToStart: 2, scheduleToClose: 3, heartbeat: 4 } as const;

export const retryState = {
  inProgress: 1,
  nonRetryableFailure: 2,
  timeout: 3,
  maximumAttemptsReached: 4,
  retryPolicyNotSet: 5,
  internalServerError: 6,
  cancelRequested: 7,
} as const;

export const idReusePolicy = { allowDuplicate: 1, allowDuplicateFailedOnly: 2, rejectDuplicate: 3, terminateIfRunning: 4 } as const;
export const idConflictPolicy = { fail: 1, useExisting: 2, terminateExisting: 3 } as const;
export const parentClosePolicy = { terminate: 1, abandon: 2, requestCancel: 3 } as const;
export const queryRejectCondition = { none: 1, notOpen: 2, notCompletedCleanly: 3 } as const;
export const taskQueueKind = { normal: 1, sticky: 2 } as const;
export const continueAsNewInitiator = { workflow: 1, retry: 2, cronSchedule: 3 } as const;
export const suggestContinueAsNewReason = { historySizeTooLarge: 1, tooManyHistoryEvents: 2, tooManyUpdates: 3 } as const;
export const startChildFailedCause = { workflowAlreadyExists: 1, namespaceNotFound: 2 } as const;
export const externalFailedCause = { executionNotFound: 1, namespaceNotFound: 2, signalCountLimitExceeded: 3 } as const;

export const workflowTaskFailedCause = {
  unhandledCommand: 1,
  badScheduleActivityAttributes: 2,
  badRequestCancelActivityAttributes: 3,
  badStartTimerAttributes: 4,
  badCancelTimerAttributes: 5,
  badRecordMarkerAttributes: 6,
  badCompleteWorkflowExecutionAttributes: 7,
  badFailWorkflowExecutionAttributes: 8,
  badCancelWorkflowExecutionAttributes: 9,
  badRequestCancelExternalWorkflowExecutionAttributes: 10,
  badContinueAsNewAttributes: 11,
  startTimerDuplicateId: 12,
  resetStickyTaskQueue: 13,
  workflowWorkerUnhandledFailure: 14,
  badSignalWorkflowExecutionAttributes: 15,
  badStartChildExecutionAttributes: 16,
  forceCloseCommand: 17,
  scheduleActivityDuplicateId: 22,
  badSearchAttributes: 23,
  nonDeterministicError: 24,
  badModifyWorkflowPropertiesAttributes: 25,
  pendingChildWorkflowsLimitExceeded: 26,
  pendingActivitiesLimitExceeded: 27,
  pendingSignalsLimitExceeded: 28,
  pendingRequestCancelLimitExceeded: 29,
  grpcMessageTooLarge: 36,
} as const;

export type FailedCauseName = keyof typeof workflowTaskFailedCause;

/** As the start of an error text: `BadStartTimerAttributes`. */
export function pascalCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
