/** Retry policies, of activities and of workflows: starts and commands check and complete them alike. The texts are Temporal's. */
import { durationMsMax, wholeNanoseconds } from './duration.ts';

export type RetryPolicyFields = {
  /** Intervals are as they were given, with fractions of a millisecond. */
  readonly initialIntervalMs: number;
  readonly backoffCoefficient: number;
  readonly maximumIntervalMs: number;
  /** Attempts, the first one included. 0 = unlimited; 1 = no retry. */
  readonly maximumAttempts: number;
  readonly nonRetryableErrorTypes: readonly string[];
};

const initialIntervalMsDefault = 1_000;
const backoffCoefficientDefault = 2;
/** Times the initial interval. */
const maximumIntervalFactorDefault = 100;

/** What the policy leaves out is filled in, as Temporal's default policies have it. */
export function withRetryDefaults(policy: RetryPolicyFields | undefined): RetryPolicyFields {
  const { maximumAttempts = 0, nonRetryableErrorTypes = [] } = policy ?? {};
  const initialIntervalMs = given(policy?.initialIntervalMs) ?? initialIntervalMsDefault;
  return {
    initialIntervalMs,
    backoffCoefficient: given(policy?.backoffCoefficient) ?? backoffCoefficientDefault,
    maximumIntervalMs: given(policy?.maximumIntervalMs) ?? longestByDefault(initialIntervalMs),
    maximumAttempts,
    nonRetryableErrorTypes,
  };
}

function longestByDefault(initialIntervalMs: number): number {
  const longestMs = wholeNanoseconds(initialIntervalMs * maximumIntervalFactorDefault);
  // A policy of one attempt may have any interval; what is stored and what is read again must be the same.
  return Math.max(-durationMsMax, Math.min(longestMs, durationMsMax));
}

/** 0 is what a message says that says nothing. */
function given(value: number | undefined): number | undefined {
  return value === 0 ? undefined : value;
}

const timeoutPrefix = 'TemporalTimeout:';
const timeoutNames: ReadonlySet<string> = new Set(['StartToClose', 'ScheduleToStart', 'ScheduleToClose', 'Heartbeat']);

/** What is wrong with a policy that has its defaults. undefined: nothing. */
export function retryPolicyProblem(policy: RetryPolicyFields): string | undefined {
  // One attempt only: the rest of the policy never matters.
  if (policy.maximumAttempts === 1) return undefined;
  if (policy.initialIntervalMs < 0) return 'invalid InitialInterval set on retry policy: negative duration';
  // NaN is not less than 1 either.
  if (!(policy.backoffCoefficient >= 1)) return 'BackoffCoefficient cannot be less than 1 on retry policy.';
  if (policy.maximumIntervalMs < 0) return 'invalid MaximumInterval set on retry policy: negative duration';
  if (policy.maximumIntervalMs > 0 && policy.maximumIntervalMs < policy.initialIntervalMs) {
    return 'MaximumInterval cannot be less than InitialInterval on retry policy.';
  }
  if (policy.maximumAttempts < 0) return 'MaximumAttempts cannot be negative on retry policy.';
  for (const type of policy.nonRetryableErrorTypes) {
    if (!type.startsWith(timeoutPrefix)) continue;
    const name = type.slice(timeoutPrefix.length);
    if (!timeoutNames.has(name)) return `Invalid timeout type value: ${name}.`;
  }
  return undefined;
}

/** After that attempt; whole milliseconds. A policy in an old journal may hold anything: what is no duration waits as long as any. */
export function retryIntervalMs(policy: RetryPolicyFields, attempt: number): number {
  const intervalMs = policy.initialIntervalMs * policy.backoffCoefficient ** (attempt - 1);
  const longestMs = longestIntervalMs(policy);
  return intervalMs >= 0 && intervalMs < longestMs ? Math.ceil(intervalMs) : longestMs;
}

/** Whatever asks for more waits so long; whole milliseconds. */
export function longestIntervalMs({ maximumIntervalMs }: RetryPolicyFields): number {
  return maximumIntervalMs > 0 ? Math.min(Math.ceil(maximumIntervalMs), durationMsMax) : durationMsMax;
}
