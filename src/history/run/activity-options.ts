/** The options of an activity: those of its Scheduled event, or what an operator has made of them. */
import type { ActivityTaskScheduledAttributes, RetryPolicy } from '../generated/public-api.ts';
import type { Activity, RunView } from './state.ts';
import type { ActivityOptions, ShownOptions } from './activity-operations.ts';

/** What was scheduled, with the options as they are. */
export function attributesOf({ attributes, operations }: Activity): ActivityTaskScheduledAttributes {
  const options = operations?.options;
  if (options === undefined) return attributes;
  const { errorTypes, ...changed } = options;
  const nonRetryableErrorTypes = errorTypes?.types ?? attributes.retryPolicy?.nonRetryableErrorTypes ?? [];
  return { ...attributes, ...changed, retryPolicy: { ...options.retryPolicy, nonRetryableErrorTypes } };
}

const noRetryPolicy: RetryPolicy = {
  initialIntervalMs: 0,
  backoffCoefficient: 0,
  maximumIntervalMs: 0,
  maximumAttempts: 0,
  nonRetryableErrorTypes: [],
};

export function optionsOf(run: RunView, activity: Activity): ShownOptions {
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

export function storedOptions({ attributes }: Activity, { retryPolicy, ...options }: ShownOptions): ActivityOptions {
  const { nonRetryableErrorTypes: types } = retryPolicy;
  const areOfEvent = areSameTexts(types, attributes.retryPolicy?.nonRetryableErrorTypes ?? []);
  return { ...options, retryPolicy: { ...retryPolicy, nonRetryableErrorTypes: [] }, errorTypes: areOfEvent ? undefined : { types } };
}

export function areSameTexts(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at]);
}

export function activityType({ attributes }: Activity): string {
  return attributes.activityType?.name ?? '';
}
