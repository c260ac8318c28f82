/** The port through which shards deliver completion callbacks: what leaves the cluster goes through it alone (src/outbound). */
import type { RunKey } from '../kernel/run-key.ts';

export type CallbackOfUpdate = {
  /** Type of the event with which that request came into the run; 0: there is none. */
  readonly attachedWith: number;
  /** Rejected, or ended by the close of its run: temporal.api.failure.v1.Failure. undefined: the event tells its end. */
  readonly failed: { readonly failure: Uint8Array; readonly timeMs: number } | undefined;
};

export type CallbackDelivery = RunKey & {
  readonly namespace: string;
  /** temporal.api.common.v1.Callback */
  readonly callback: Uint8Array;
  readonly startTimeMs: number;
  /** Request that attached the callback to a run that was open, or brought its update; '': it came with the start. */
  readonly attachedBy: string;
  /** The event that tells the end, of the run or of the update: asked for when it is this callback's turn. */
  readonly closeEvent: () => Promise<Uint8Array>;
  /** Absent: it waited for the end of the run. */
  readonly update?: CallbackOfUpdate;
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
