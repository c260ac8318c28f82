/** What a decision needs to know of a failure; the failure itself stays bytes. */
export type FailureFacts = {
  readonly kind: 'application' | 'timeout' | 'canceled' | 'terminated' | 'server' | 'activity' | 'child' | 'reset' | 'nexus' | 'none';
  /** Application failure type, or `TemporalTimeout:StartToClose` and the like for timeouts. */
  readonly type: string;
  readonly nonRetryable: boolean;
  readonly nextRetryDelayMs: number;
  readonly message: string;
};
export type OpaqueFailure = { readonly facts: FailureFacts; readonly bytes: Uint8Array };
