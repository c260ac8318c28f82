/** The port through which shards deliver completion callbacks: what leaves the cluster goes through it alone (src/outbound). */

export type CallbackDelivery = {
  readonly namespaceId: string;
  readonly namespace: string;
  readonly workflowId: string;
  readonly runId: string;
  /** temporal.api.common.v1.Callback */
  readonly callback: Uint8Array;
  readonly startTimeMs: number;
  /** Request that attached the callback to a run that was open; '': it came with the start. */
  readonly attachedBy: string;
  /** The event with which the run closed: asked for when it is this callback's turn. */
  readonly closeEvent: () => Promise<Uint8Array>;
};

export type CallbackOutcome =
  | { readonly kind: 'delivered' }
  /** `refused`: no further attempt is to be made. `failed`: the next one may succeed. */
  | { readonly kind: 'refused' | 'failed'; readonly errorType: string; readonly message: string }
  /** No attempt was made: too many wait already, or this machine has nothing to send it with. */
  | { readonly kind: 'full'; readonly message: string }
  /** No attempt was made: what is to be sent could not be read. */
  | { readonly kind: 'unread'; readonly error: unknown };

export interface CallbackDeliveries {
  /** Answers once, in a later turn; but not any more once it is given up, by what this returns. */
  deliver(delivery: CallbackDelivery, answer: (outcome: CallbackOutcome) => void): () => void;
  /** Where it would have to wait for very many others. */
  isFull(namespaceId: string, destination: string): boolean;
  /** The circuit breaker of its destination is open. */
  isBlocked(namespaceId: string, callback: Uint8Array): boolean;
}
