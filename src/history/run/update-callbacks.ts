/**
 * Completion callbacks of updates: entries of their run like all others, but for what they wait for.
 *
 *     with the request of an update ─▶ standby from its UpdateAccepted event on, or from its UpdateAdmitted event where a reset has carried it over
 *     with a repeated request       ─▶ likewise; an OptionsUpdated event says so, at once where the update is in history, else behind its UpdateAccepted
 *
 *     standby ─┬─ UpdateCompleted ─────────────────────────▶ scheduled: its outcome
 *              ├─ rejected, after it was carried over ─────▶ scheduled: that failure, which the callback keeps, for no event has it
 *              ├─ the run closes, also for its next run ───▶ scheduled: the failure that callers get
 *              └─ a reset ends the run ────────────────────▶ standby, where the run that goes on has the update too
 *
 * Of an update that is rejected before any event tells of it nothing is attached: whoever asked has the answer already.
 */
import type { EventOf } from './events.ts';
import { callbackState } from '../generated/enums.ts';
import type { HistoryWire } from './history-replies.ts';
import type { Run, RunView } from './state.ts';
import { type Callback, withAttached } from './callback.ts';
import type { UpdateRejection } from '../commands/callback-commands.ts';

type Attachment = { readonly updateId: string; readonly requestId: string; readonly callbacks: readonly Uint8Array[] };

/** The event that began the update's life makes ids its own: an update that was rejected may come again, under the same request id. */
export function attachToUpdate(run: Run, { updateId, requestId, callbacks }: Attachment, timeMs: number): void {
  const update = run.updates.get(updateId);
  if (update === undefined || callbacks.length === 0) return;
  const idOf = (index: number): string => `up-${update.admittedEventId || update.acceptedEventId}-${requestId}-${index}`;
  const attached = { callbacks, attachedBy: requestId, timeMs, idOf, update: { updateId, rejection: undefined } };
  run.callbacks = withAttached(run.callbacks, attached);
}

export function attachOptions(run: Run, { attributes, eventTimeMs }: EventOf<'workflowExecutionOptionsUpdated'>): readonly string[] {
  for (const { updateId, attachedRequestId: requestId, attachedCompletionCallbacks: callbacks } of attributes.workflowUpdateOptions)
    attachToUpdate(run, { updateId, requestId, callbacks }, eventTimeMs);
  return attributes.workflowUpdateOptions.map(({ attachedRequestId }) => attachedRequestId);
}

/** A worker has refused it, in a task with which its run may have closed: then nobody has been told of another end yet. */
export function noteRejection(run: Run, updateId: string, rejection: UpdateRejection): void {
  run.callbacks = run.callbacks.map((callback) =>
    isUntold(callback, updateId) ? { ...callback, update: { updateId, rejection } } : callback,
  );
}

/** Drops callbacks of updates that were over at the event to which a reset goes back: the base run has called them. */
export function dropTold(run: Run): void {
  if (!run.callbacks.some(({ update }) => update !== undefined)) return;
  run.callbacks = run.callbacks.filter(
    ({ update }) => update === undefined || (run.updates.get(update.updateId)?.completedEventId ?? 1) === 0,
  );
}

export function isAttached({ callbacks }: RunView, updateId: string, requestId: string): boolean {
  return callbacks.some((callback) => waitsFor(callback, updateId) && callback.attachedBy === requestId);
}

export function callbacksOfUpdate({ callbacks }: RunView, updateId: string): number {
  return callbacks.filter(({ update }) => update?.updateId === updateId).length;
}

/** What a failure may take in a run that keeps it for those who are to be told; a larger one is not told in its own words. */
const rejectionBytesMax = 4 * 1024;

/** undefined: nobody is to be told. */
export function rejectionToKeep({ callbacks }: RunView, updateId: string, failure: Uint8Array, wire: HistoryWire): Uint8Array | undefined {
  if (!callbacks.some((callback) => isUntold(callback, updateId))) return undefined;
  if (failure.length <= rejectionBytesMax) return failure;
  return wire.encodeFailure({
    message: `Workflow Update was rejected, with a failure of ${failure.length} bytes.`,
    cause: undefined,
    info: { kind: 'application', type: 'UpdateRejected', nonRetryable: true },
  });
}

export function waitsFor({ update, state }: Callback, updateId: string): boolean {
  return update?.updateId === updateId && state === callbackState.standby;
}

function isUntold(callback: Callback, updateId: string): boolean {
  const { update, state, attempt } = callback;
  return waitsFor(callback, updateId) || (update?.updateId === updateId && state === callbackState.scheduled && attempt === 0);
}
