/** Whether an activity gets another attempt, and when. */
import { retryIntervalMs } from '../../kernel/retry-policy.ts';
import type { FailureFacts } from '../commands/failure.ts';
import { isRetryable, noRetry, type RetryDecision } from '../run/retry.ts';
import type { Activity } from '../run/state.ts';
import { attributesOf } from '../run/activity-options.ts';
import { retryState } from '../generated/enums.ts';

export function decideRetry(activity: Activity, failure: FailureFacts, nowMs: number): RetryDecision {
  const { retryPolicy: policy, scheduleToCloseTimeoutMs } = attributesOf(activity);
  if (policy === undefined) return noRetry(retryState.retryPolicyNotSet);
  if (activity.cancelRequestedEventId !== 0) return noRetry(retryState.cancelRequested);
  if (failure.kind === 'timeout' && lastTimeouts.has(failure.type)) return noRetry(retryState.timeout);
  if (!isRetryable(failure, policy.nonRetryableErrorTypes)) return noRetry(retryState.nonRetryableFailure);
  const { pause, attemptsReset = false } = activity.operations ?? {};
  // An attempt that ran when the attempts were reset counts as none.
  const attempt = attemptsReset ? 0 : activity.attempt;
  if (policy.maximumAttempts > 0 && attempt >= policy.maximumAttempts) return noRetry(retryState.maximumAttemptsReached);
  const intervalMs = failure.nextRetryDelayMs > 0 ? failure.nextRetryDelayMs : retryIntervalMs(policy, Math.max(attempt, 1));
  // An attempt may start at the very moment at which the time ends, not later.
  if (scheduleToCloseTimeoutMs > 0 && nowMs + intervalMs > activity.firstScheduledTimeMs + scheduleToCloseTimeoutMs) {
    return noRetry(retryState.timeout);
  }
  // A pause puts off the next attempt, and brings none that there would not be without it. It goes out with the unpause.
  return { retry: true, intervalMs: pause === undefined ? intervalMs : 0 };
}

/** Waiting too long for a worker, or in all, does not get better by trying again. */
const lastTimeouts: ReadonlySet<string> = new Set(['TemporalTimeout:ScheduleToStart', 'TemporalTimeout:ScheduleToClose']);
