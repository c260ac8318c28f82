/** Completion callbacks that are due: what comes of an attempt stands in execution/callback-attempts.ts. */
import type { RunDraft } from '../draft/draft.ts';
import { callbackState } from '../generated/enums.ts';
import type { Callback } from '../run/callback.ts';
import { waitsFor } from '../run/update-callbacks.ts';

/** The run has closed: those that `isDue` tells of and that stand by are to be called. */
export function invokeCallbacks(run: RunDraft, isDue: (callback: Callback) => boolean): void {
  for (const callback of run.run.callbacks) if (callback.state === callbackState.standby && isDue(callback)) invoke(run, callback);
}

export function invokeOfUpdate(run: RunDraft, updateId: string): void {
  for (const callback of run.run.callbacks) if (waitsFor(callback, updateId)) invoke(run, callback);
}

export function invoke(run: RunDraft, { callbackId, callback, attempt }: Callback): void {
  const destination = run.draft.wire.callbackDestination(callback);
  run.addTask({ kind: 'invokeCallback', callbackId, stamp: attempt + 1, destination });
}
