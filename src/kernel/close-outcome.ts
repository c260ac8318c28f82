import { unreachable } from './assert.ts';

/** How a run closed for good, for its parent or its schedule. */
export type CloseOutcome =
  | { readonly kind: 'completed'; readonly result: Uint8Array | undefined }
  | { readonly kind: 'failed'; readonly failure: Uint8Array | undefined; readonly retryState: number }
  | { readonly kind: 'canceled'; readonly details: Uint8Array | undefined }
  | { readonly kind: 'timedOut'; readonly retryState: number }
  | { readonly kind: 'terminated' };

/** The same in the one form that messages have for all kinds. */
export type CloseFields = {
  readonly kind: CloseOutcome['kind'];
  readonly value: Uint8Array | undefined;
  readonly retryState: number;
};

export function closeFields(close: CloseOutcome): CloseFields {
  const { kind } = close;
  switch (kind) {
    case 'completed':
      return { kind, value: close.result, retryState: 0 };
    case 'failed':
      return { kind, value: close.failure, retryState: close.retryState };
    case 'canceled':
      return { kind, value: close.details, retryState: 0 };
    case 'timedOut':
      return { kind, value: undefined, retryState: close.retryState };
    case 'terminated':
      return { kind, value: undefined, retryState: 0 };
    default:
      return unreachable(kind);
  }
}

export function closeOf({ kind, value, retryState }: CloseFields): CloseOutcome {
  switch (kind) {
    case 'completed':
      return { kind, result: value };
    case 'failed':
      return { kind, failure: value, retryState };
    case 'canceled':
      return { kind, details: value };
    case 'timedOut':
      return { kind, retryState };
    case 'terminated':
      return { kind };
    default:
      return unreachable(kind);
  }
}
