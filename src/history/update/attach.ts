/**
 * Callbacks that a request brings for an update which is there already (src/history/run/update-callbacks.ts tells what becomes of them).
 *
 *   completed, or its run closed ──▶ nothing: the answer is the outcome
 *   in history                   ──▶ an OptionsUpdated event
 *   in memory alone              ──▶ wait there until a worker accepts it
 *   by a request that is known   ──▶ nothing: they are attached
 */
import type { UpdateAttachment } from '../commands/callback-commands.ts';
import { callbacksOfUpdate, isAttached } from '../run/update-callbacks.ts';
import { whyNoRoom } from '../run/callback.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { addOptionsUpdated } from '../steps/common-events.ts';
import { reject } from '../run/reject.ts';
import type { Rejected } from '../run/history-replies.ts';
import { isRunning, type RunView } from '../run/state.ts';
import { attachmentBytes, type PendingUpdate } from '../commands/pending-update.ts';
import type { UpdateAttributes } from '../commands/update-commands.ts';
import { pendingUpdates } from '../steps/updates.ts';

/** undefined: nothing speaks against it, and what there is to attach is attached. */
export function attachToKnown(draft: Draft, run: RunView, update: UpdateAttributes): Rejected | undefined {
  const { updateId, attachment } = update;
  if (attachment === undefined || !isRunning(run)) return undefined;
  const { requestId, callbacks } = attachment;
  const pending = pendingUpdates(draft, run.key.runId).get(updateId);
  if (pending !== undefined) {
    if (pending.attachments.some((other) => other.requestId === requestId)) return undefined;
    const refusal = refusalToAttach(draft, run, update) ?? noRoomInNamespace(draft, run.key.namespaceId, attachmentBytes(attachment));
    if (refusal !== undefined) return refusal;
    const attachments = [...pending.attachments, attachment];
    draft.stage({ kind: 'updatePending', runId: run.key.runId, update: { ...pending, attachments } });
    return undefined;
  }
  if (run.updates.get(updateId)?.completedEventId !== 0 || isAttached(run, updateId, requestId)) return undefined;
  const refusal = refusalToAttach(draft, run, update);
  if (refusal !== undefined) return refusal;
  addAttachment(draft.open(run), { updateId, requestId, callbacks });
  return undefined;
}

export function refusalToAttach(draft: Draft, run: RunView, { updateId, attachment }: UpdateAttributes): Rejected | undefined {
  if (attachment === undefined) return undefined;
  const { callbacks, callbacksMax, updateCallbacksMax } = attachment;
  const pending = pendingUpdates(draft, run.key.runId);
  const attached = callbacksOfUpdate(run, updateId) + waiting(pending.get(updateId)).length;
  if (callbacks.length + attached > updateCallbacksMax) {
    const to = `to update ${JSON.stringify(updateId)} (${attached} callbacks already attached)`;
    return reject({ reason: 'failed-precondition', message: `cannot attach more than ${updateCallbacksMax} callbacks ${to}` });
  }
  const { callbackBytesPerRunMax: callbackBytesMax } = draft.limits;
  const message = whyNoRoom(run.callbacks, [...pending.values()].flatMap(waiting), callbacks, { callbacksMax, callbackBytesMax });
  return message === undefined ? undefined : reject({ reason: 'failed-precondition', message });
}

function waiting(pending: PendingUpdate | undefined): readonly Uint8Array[] {
  return pending?.attachments.flatMap(({ callbacks }) => callbacks) ?? [];
}

/** A worker has accepted it. What came with its request is attached by that. */
export function attachAccepted(run: RunDraft, updateId: string, attachments: readonly UpdateAttachment[]): void {
  for (const { requestId, callbacks } of attachments)
    if (!isAttached(run.run, updateId, requestId)) addAttachment(run, { updateId, requestId, callbacks });
}

type Attachment = { readonly updateId: string; readonly requestId: string; readonly callbacks: readonly Uint8Array[] };

function addAttachment(run: RunDraft, { updateId, requestId, callbacks }: Attachment): void {
  addOptionsUpdated(run, { workflowUpdateOptions: [{ updateId, attachedRequestId: requestId, attachedCompletionCallbacks: callbacks }] });
}

/** Updates that no worker has accepted are in memory alone: their bytes have a limit beside those of each run. undefined: there is room. */
export function noRoomInNamespace({ volatile, limits }: Draft, namespaceId: string, bytes: number): Rejected | undefined {
  const { updateBytesPerNamespaceMax } = limits;
  if ((volatile.updateBytes.get(namespaceId) ?? 0) + bytes <= updateBytesPerNamespaceMax) return undefined;
  const message = `the updates of this namespace that no worker has accepted take ${updateBytesPerNamespaceMax} bytes in a history shard`;
  return reject({ reason: 'too-many-updates', message });
}
