/** Updates ride on the workflow task that starts. */
import type { Draft } from '../draft.ts';
import type { RunView } from '../state.ts';
import { pendingUpdateBytes } from './pending-update.ts';
import { pendingUpdates } from './updates-of-draft.ts';

export type SentUpdate = { readonly updateId: string; readonly request: Uint8Array };

const noUpdates: readonly SentUpdate[] = [];

/**
 * Those that wait for a task, as many as it may carry, and at least one; the others wait for the next. A poll that asks for its task once more,
 * for its answer was lost, gets what went with it.
 */
export function takeUpdates(draft: Draft, run: RunView, startedEventId: number): readonly SentUpdate[] {
  const { runId } = run.key;
  if (draft.volatile.updates.size === 0 && draft.changes.length === 0) return noUpdates;
  const pending = pendingUpdates(draft, runId);
  if (pending.size === 0) return noUpdates;
  const sent: SentUpdate[] = [];
  let bytes = 0;
  for (const update of pending.values()) {
    const isWaiting = update.sentWith === 0;
    if (!isWaiting && update.sentWith !== startedEventId) continue;
    bytes += pendingUpdateBytes(update);
    if (isWaiting && sent.length > 0 && bytes > draft.limits.updateBytesPerTaskMax) break;
    sent.push({ updateId: update.updateId, request: update.request });
    if (isWaiting) draft.stage({ kind: 'updatePending', runId, update: { ...update, sentWith: startedEventId } });
  }
  return sent;
}

/** Their task is over, and its worker has said nothing of them: they go with the next one. */
export function unsendUpdates(draft: Draft, runId: string): void {
  if (draft.volatile.updates.size === 0) return;
  for (const update of pendingUpdates(draft, runId).values()) {
    if (update.sentWith !== 0) draft.stage({ kind: 'updatePending', runId, update: { ...update, sentWith: 0 } });
  }
}

export function hasUpdatesToSend(draft: Draft, runId: string): boolean {
  for (const { sentWith } of pendingUpdates(draft, runId).values()) if (sentWith === 0) return true;
  return false;
}
