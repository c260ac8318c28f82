/** Whether an activity gets another attempt, and when. */
import { durationMsMax } from '../../kernel/duration.ts';
import type { FailureFacts } from '../failure.ts';
import type { Activity } from '../state.ts';
import { retryState } from '../generated/enums.ts';

export type RetryDecision = { readonly retry: true; readonly intervalMs: number } | { readonly retry: false; readonly retryState: number };

export function decideRetry(activity: Activity, failure: FailureFacts, nowMs: number): RetryDecision {
  const policy = activity.attributes.retryPolicy;
  if (policy === undefined) return no(retryState.retryPolicyNotSet);
  if (activity.cancelRequestedEventId !== 0) return no(retryState.cancelRequested);
  if (failure.kind === 'timeout' && endsTheActivity(failure.type)) return no(retryState.timeout);
  if (!isRetryable(failure, policy.nonRetryableErrorTypes)) return no(retryState.nonRetryableFailure);
  if (policy.maximumAttempts > 0 && activity.attempt >= policy.maximumAttempts) return no(retryState.maximumAttemptsReached);
  const intervalMs = failure.nextRetryDelayMs > 0 ? failure.nextRetryDelayMs : interval(activity);
  const { scheduleToCloseTimeoutMs } = activity.attributes;
  // An attempt may start at the very moment at which the time ends, not later.
  if (scheduleToCloseTimeoutMs > 0 && nowMs + intervalMs > activity.firstScheduledTimeMs + scheduleToCloseTimeoutMs) {
    return no(retryState.timeout);
  }
  return { retry: true, intervalMs };
}

function no(state: number): RetryDecision {
  return { retry: false, retryState: state };
}

function interval(activity: Activity): number {
  const policy = activity.attributes.retryPolicy;
  if (policy === undefined) return 0;
  const intervalMs = policy.initialIntervalMs * policy.backoffCoefficient ** (activity.attempt - 1);
  const longestMs = policy.maximumIntervalMs > 0 ? Math.min(policy.maximumIntervalMs, durationMsMax) : durationMsMax;
  // A policy in an old journal may hold anything: what is no duration waits as long as any.
  return intervalMs >= 0 && intervalMs < longestMs ? Math.ceil(intervalMs) : longestMs;
}

function isRetryable(failure: FailureFacts, nonRetryableTypes: readonly string[]): boolean {
  if (failure.nonRetryable) return false;
  switch (failure.kind) {
    case 'canceled':
    case 'terminated':
      return false;
    default:
      return !nonRetryableTypes.includes(failure.type);
  }
}

/** Waiting too long for a worker, or in all, does not get better by trying again. */
function endsTheActivity(timeoutType: string): boolean {
  return timeoutType === 'TemporalTimeout:ScheduleToStart' || timeoutType === 'TemporalTimeout:ScheduleToClose';
}
