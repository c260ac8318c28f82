/** What failed and has a retry policy: whether another attempt follows. Activities and workflows ask alike, each with rules of its own. */
import type { FailureFacts } from '../commands/failure.ts';

/** `retryState`: why none follows. */
export type RetryDecision = { readonly retry: true; readonly intervalMs: number } | { readonly retry: false; readonly retryState: number };

export function noRetry(state: number): RetryDecision {
  return { retry: false, retryState: state };
}

/** Timeouts are listed as `TemporalTimeout:StartToClose`. */
export function isRetryable(failure: FailureFacts, nonRetryableTypes: readonly string[]): boolean {
  if (failure.nonRetryable) return false;
  switch (failure.kind) {
    case 'canceled':
    case 'terminated':
      return false;
    default:
      return !nonRetryableTypes.includes(failure.type);
  }
}
