/** What operators may change of an activity, as a field mask names it in its JSON form. */
export const activityOptionFields = {
  'taskQueue.name': true,
  scheduleToCloseTimeout: true,
  scheduleToStartTimeout: true,
  startToCloseTimeout: true,
  heartbeatTimeout: true,
  retryPolicy: true,
  'retryPolicy.initialInterval': true,
  'retryPolicy.backoffCoefficient': true,
  'retryPolicy.maximumInterval': true,
  'retryPolicy.maximumAttempts': true,
  'retryPolicy.nonRetryableErrorTypes': true,
  priority: true,
  'priority.priorityKey': true,
  'priority.fairnessKey': true,
  'priority.fairnessWeight': true,
} as const;

export type ActivityOptionField = keyof typeof activityOptionFields;
