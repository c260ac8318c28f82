/** The options of an activity: those of its Scheduled event, or what an operator has made of them. */
import type { ActivityTaskScheduledAttributes, RetryPolicy } from '../generated/public-api.ts';
import type { Activity, RunView } from '../state.ts';
import type { ActivityOptions } from './activity-operations.ts';

/** What was scheduled, with the options as they are. */
export function attributesOf({ attributes, operations }: Activity): ActivityTaskScheduledAttributes {
  const options = operations?.options;
  if (options === undefined) return attributes;
  const { nonRetryableErrorTypes = [] } = attributes.retryPolicy ?? {};
  return { ...attributes, ...options, retryPolicy: { ...options.retryPolicy, nonRetryableErrorTypes } };
}

const noRetryPolicy: RetryPolicy = {
  initialIntervalMs: 0,
  backoffCoefficient: 0,
  maximumIntervalMs: 0,
  maximumAttempts: 0,
  nonRetryableErrorTypes: [],
};

export function optionsOf(run: RunView, activity: Activity): ActivityOptions {
  const a = attributesOf(activity);
  return {
    taskQueue: a.taskQueue ?? run.start.taskQueue,
    scheduleToCloseTimeoutMs: a.scheduleToCloseTimeoutMs,
    scheduleToStartTimeoutMs: a.scheduleToStartTimeoutMs,
    startToCloseTimeoutMs: a.startToCloseTimeoutMs,
    heartbeatTimeoutMs: a.heartbeatTimeoutMs,
    retryPolicy: a.retryPolicy ?? noRetryPolicy,
    priority: a.priority,
  };
}

export function activityType({ attributes }: Activity): string {
  return attributes.activityType?.name ?? '';
}
