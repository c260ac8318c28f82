import { expect, test } from 'vitest';
import { durationMsMax } from '../../src/kernel/duration.ts';
import { retryIntervalMs, type RetryPolicyFields, retryPolicyProblem, withRetryDefaults } from '../../src/kernel/retry-policy.ts';

const none: RetryPolicyFields = {
  initialIntervalMs: 0,
  backoffCoefficient: 0,
  maximumIntervalMs: 0,
  maximumAttempts: 0,
  nonRetryableErrorTypes: [],
};

test('what a policy leaves out is filled in', () => {
  expect(withRetryDefaults(none)).toEqual({ ...none, initialIntervalMs: 1_000, backoffCoefficient: 2, maximumIntervalMs: 100_000 });
  expect(withRetryDefaults({ ...none, initialIntervalMs: 50 }).maximumIntervalMs).toBe(5_000);
  expect(withRetryDefaults({ ...none, initialIntervalMs: durationMsMax }).maximumIntervalMs).toBe(durationMsMax);
  expect(withRetryDefaults({ ...none, initialIntervalMs: -durationMsMax, maximumAttempts: 1 }).maximumIntervalMs).toBe(-durationMsMax);
});

test.each<[string | undefined, Partial<RetryPolicyFields>]>([
  [undefined, {}],
  [undefined, { maximumAttempts: 1, backoffCoefficient: Number.NaN, initialIntervalMs: -1, maximumIntervalMs: -1 }],
  [undefined, { backoffCoefficient: Infinity }],
  ['invalid InitialInterval set on retry policy: negative duration', { initialIntervalMs: -1 }],
  ['BackoffCoefficient cannot be less than 1 on retry policy.', { backoffCoefficient: 0.99 }],
  ['BackoffCoefficient cannot be less than 1 on retry policy.', { backoffCoefficient: -Infinity }],
  ['BackoffCoefficient cannot be less than 1 on retry policy.', { backoffCoefficient: Number.NaN }],
  ['invalid MaximumInterval set on retry policy: negative duration', { maximumIntervalMs: -1 }],
  ['MaximumInterval cannot be less than InitialInterval on retry policy.', { maximumIntervalMs: 999 }],
  ['MaximumAttempts cannot be negative on retry policy.', { maximumAttempts: -1 }],
  ['Invalid timeout type value: Unspecified.', { nonRetryableErrorTypes: ['Mine', 'TemporalTimeout:Unspecified'] }],
  ['Invalid timeout type value: .', { nonRetryableErrorTypes: ['TemporalTimeout:'] }],
  [undefined, { nonRetryableErrorTypes: ['TemporalTimeout:Heartbeat', ''] }],
])('%s: %j', (problem, change) => {
  expect(retryPolicyProblem(withRetryDefaults({ ...none, ...change }))).toBe(problem);
});

test.each([
  ['the first', {}, 1, 1_000],
  ['the third', {}, 3, 4_000],
  ['whole milliseconds', { initialIntervalMs: 1, backoffCoefficient: 1.5 }, 2, 2],
  ['a part of a millisecond', { initialIntervalMs: 1e-6, maximumIntervalMs: 1e-4 }, 1, 1],
  ['a part of a millisecond at the longest', { initialIntervalMs: 1e-6, maximumIntervalMs: 1e-4 }, 9, 1],
  ['capped', {}, 9, 100_000],
  ['the 2^31st', {}, 2 ** 31, 100_000],
  ['an infinite coefficient', { backoffCoefficient: Infinity }, 2, 100_000],
  ['a policy of an old journal', { backoffCoefficient: Number.NaN }, 2, 100_000],
  ['without a longest', { maximumIntervalMs: -5 }, 5_000, durationMsMax],
] as const)('the pause after an attempt: %s', (_, change, attempt, ms) => {
  expect(retryIntervalMs({ ...withRetryDefaults(none), ...change }, attempt)).toBe(ms);
});
