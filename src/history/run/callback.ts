/**
 * Completion callbacks of a run: whoever wants to hear of its end, at an address outside.
 *
 *     standby ── the run closes ─▶ scheduled ── an attempt ─┬─▶ succeeded
 *                                      ▲                    ├─▶ backingOff ── after a pause ─▶ scheduled
 *                                      │                    └─▶ failed: its task is a dead letter
 *                                      └──────── the letter is merged ──────┘
 *
 * They come with the start, or with a start that meets the open run; a run that continues as new hands them to the next. Those of an update come
 * with its request, wait for its end (update-callbacks.ts), and stay with their run. What becomes of them is told by the tasks that a record brings
 * (`evolve` notes them) and by the fact of each attempt.
 */
import { callbackState } from '../generated/enums.ts';
import type { UpdateRejection } from '../commands/callback-commands.ts';
import type { InvokeCallbackTask } from './tasks.ts';

export type Callback = {
  /** Within the run. */
  readonly callbackId: string;
  /** temporal.api.common.v1.Callback */
  readonly callback: Uint8Array;
  /** The request that attached it to the open run, or that brought its update; '': it came with the start. */
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
  /** The update whose end the callback waits for; undefined: the run's. */
  readonly update: CallbackUpdate | undefined;
};

export type CallbackUpdate = {
  readonly updateId: string;
  /** No event tells of it. undefined: it was not rejected. */
  readonly rejection: UpdateRejection | undefined;
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

/** What a run may have of them: all stand in its row. */
export type CallbackRoom = { readonly callbacksMax: number; readonly callbackBytesMax: number };

type Attached = {
  readonly callbacks: readonly Uint8Array[];
  readonly attachedBy: string;
  readonly timeMs: number;
  readonly idOf: (index: number) => string;
  readonly update?: CallbackUpdate;
};

/** An event that was buffered comes twice, and attaches once: by the second time a callback of an update may be on its way. */
export function withAttached(known: Callbacks, { callbacks, attachedBy, timeMs, idOf, update }: Attached): Callbacks {
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
    update,
  }));
  const others = known.filter(({ callbackId }) => !added.some((one) => one.callbackId === callbackId));
  if (others.length === known.length) return [...known, ...added];
  const underWay = (id: string): Callback | undefined =>
    known.find(({ callbackId, state }) => callbackId === id && state !== callbackState.standby);
  return [...others, ...added.map((one) => underWay(one.callbackId) ?? one)];
}

/** Why no more can be attached; undefined: there is room. `waiting`: of updates that no worker has accepted. */
export function whyNoRoom(
  known: Callbacks,
  waiting: readonly Uint8Array[],
  callbacks: readonly Uint8Array[],
  { callbacksMax, callbackBytesMax }: CallbackRoom,
): string | undefined {
  const attached = known.length + waiting.length;
  if (callbacks.length + attached > callbacksMax)
    return `cannot attach more than ${callbacksMax} callbacks to a workflow (${attached} callbacks already attached)`;
  let bytes = 0;
  for (const { callback } of known) bytes += callback.length;
  for (const callback of [...waiting, ...callbacks]) bytes += callback.length;
  if (bytes <= callbackBytesMax) return undefined;
  return `cannot attach more than ${callbackBytesMax} bytes of callbacks to a workflow (${attached} callbacks already attached)`;
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
          // What nobody is to be told again is not kept.
          update: fact.state === callbackState.succeeded ? withoutRejection(callback.update) : callback.update,
        }
      : callback,
  );
}

function withoutRejection(update: CallbackUpdate | undefined): CallbackUpdate | undefined {
  return update?.rejection === undefined ? update : { ...update, rejection: undefined };
}

/** The next attempt may be made: at the end of a pause, or because its letter is merged. */
export function tried(known: Callbacks, { callbackId }: InvokeCallbackTask): Callbacks {
  return known.map((callback) =>
    callback.callbackId === callbackId ? { ...callback, state: callbackState.scheduled, nextAttemptTimeMs: 0 } : callback,
  );
}

/** What becomes of the callback is not known yet. One that still stands by when its run is closed was handed on to the run that goes on. */
export function isUnsettled({ state }: Callback): boolean {
  return state === callbackState.scheduled || state === callbackState.backingOff;
}

/** The callback has failed for good: its task is a letter, or was. */
export function hasFailed({ state }: Callback): boolean {
  return state === callbackState.failed;
}

/** The callback is at the end of its pause, also where that had become a letter. */
export function mayBeTried(callback: Callback | undefined): boolean {
  return callback?.state === callbackState.backingOff || callback?.state === callbackState.failed;
}

export function callbackOf(run: { readonly callbacks: Callbacks }, callbackId: string): Callback | undefined {
  return run.callbacks.find((callback) => callback.callbackId === callbackId);
}
