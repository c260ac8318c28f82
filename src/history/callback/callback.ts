/**
 * Completion callbacks of a run: whoever wants to hear of its end, at an address outside.
 *
 *     standby ── the run closes ─▶ scheduled ── an attempt ─┬─▶ succeeded
 *                                      ▲                    ├─▶ backingOff ── after a pause ─▶ scheduled
 *                                      │                    └─▶ failed: its task is a dead letter
 *                                      └──────── the letter is merged ──────┘
 *
 * They come with the start, or with a start that meets the open run; a run that continues as new hands them to the next. What becomes of them is
 * told by the tasks that a record brings (`evolve` notes them) and by the fact of each attempt.
 */
import { callbackState } from '../generated/enums.ts';
import type { InvokeCallbackTask } from '../tasks.ts';

export type Callback = {
  /** Within the run. */
  readonly callbackId: string;
  /** temporal.api.common.v1.Callback */
  readonly callback: Uint8Array;
  /** The request that attached it to the open run; '': it came with the start. */
  readonly attachedBy: string;
  readonly registrationTimeMs: number;
  /** `temporal.api.enums.v1.CallbackState` */
  readonly state: number;
  /** Attempts that have ended. */
  readonly attempt: number;
  /** 0 = none. */
  readonly lastAttemptTimeMs: number;
  /** temporal.api.failure.v1.Failure; undefined: the last attempt did not fail. */
  readonly lastFailure: Uint8Array | undefined;
  /** 0 = it waits for no pause. */
  readonly nextAttemptTimeMs: number;
};

export type CallbackAttempted = {
  readonly kind: 'callbackAttempted';
  readonly callbackId: string;
  /** Succeeded, backing off or failed. */
  readonly state: number;
  readonly failure: Uint8Array | undefined;
  readonly nextAttemptTimeMs: number;
};

type Callbacks = readonly Callback[];

/** Shared by all runs without any. */
export const noCallbacks: Callbacks = [];

type Attached = {
  readonly callbacks: readonly Uint8Array[];
  readonly attachedBy: string;
  readonly timeMs: number;
  readonly idOf: (index: number) => string;
};

/** An event that was buffered comes twice, and attaches once. */
export function withAttached(known: Callbacks, { callbacks, attachedBy, timeMs, idOf }: Attached): Callbacks {
  if (callbacks.length === 0) return known;
  const added = callbacks.map((callback, index): Callback => ({
    callbackId: idOf(index),
    callback,
    attachedBy,
    registrationTimeMs: timeMs,
    state: callbackState.standby,
    attempt: 0,
    lastAttemptTimeMs: 0,
    lastFailure: undefined,
    nextAttemptTimeMs: 0,
  }));
  return [...known.filter(({ callbackId }) => !added.some((one) => one.callbackId === callbackId)), ...added];
}

export function attempted(known: Callbacks, fact: CallbackAttempted, nowMs: number): Callbacks {
  return known.map((callback) =>
    callback.callbackId === fact.callbackId
      ? {
          ...callback,
          state: fact.state,
          attempt: callback.attempt + 1,
          lastAttemptTimeMs: nowMs,
          lastFailure: fact.failure,
          nextAttemptTimeMs: fact.nextAttemptTimeMs,
        }
      : callback,
  );
}

/** The next attempt may be made: at the end of a pause, or because its letter is merged. */
export function tried(known: Callbacks, { callbackId }: InvokeCallbackTask): Callbacks {
  return known.map((callback) =>
    callback.callbackId === callbackId ? { ...callback, state: callbackState.scheduled, nextAttemptTimeMs: 0 } : callback,
  );
}

/** Of a closed run: it is not known yet what becomes of it. One that still stands by was handed on to the run that goes on. */
export function isUnsettled({ state }: Callback): boolean {
  return state === callbackState.scheduled || state === callbackState.backingOff;
}

/** For good: its task is a letter, or was. */
export function hasFailed({ state }: Callback): boolean {
  return state === callbackState.failed;
}

/** At the end of its pause, also where that had become a letter. */
export function mayBeTried(callback: Callback | undefined): boolean {
  return callback?.state === callbackState.backingOff || callback?.state === callbackState.failed;
}

export function callbackOf(run: { readonly callbacks: Callbacks }, callbackId: string): Callback | undefined {
  return run.callbacks.find((callback) => callback.callbackId === callbackId);
}
