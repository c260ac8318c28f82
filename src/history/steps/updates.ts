/** Updates of a run, and who waits for them, as a decision leaves them so far. */
import type { Draft } from '../draft/draft.ts';
import { type PendingUpdate, type UpdateWait, pendingUpdateBytes } from '../commands/pending-update.ts';
import { type RunView, isRunning } from '../run/state.ts';
import { assert } from '../../kernel/assert.ts';
import { reject } from '../run/reject.ts';
import type { Rejected, UpdateReply } from '../run/history-replies.ts';

/** Updates that no worker has accepted, in the order of their admission. */
export function pendingUpdates(draft: Draft, runId: string): ReadonlyMap<string, PendingUpdate> {
  const before = draft.volatile.updates.get(runId) ?? noUpdates;
  let changed: Map<string, PendingUpdate> | undefined;
  for (const change of draft.changes) {
    if (change.kind === 'updatePending' && change.runId === runId) (changed ??= new Map(before)).set(change.update.updateId, change.update);
    else if (change.kind === 'updateEnded' && change.runId === runId) (changed ??= new Map(before)).delete(change.updateId);
  }
  return changed ?? before;
}

const noUpdates: ReadonlyMap<string, PendingUpdate> = new Map();

/** Callers who wait for an update of the run, less those whom this decision has answered. */
function waitingForUpdates(draft: Draft, runId: string): readonly UpdateWait[] {
  const before = draft.volatile.updateWaits.get(runId);
  const waits = before === undefined ? new Map<number, UpdateWait>() : new Map(before);
  for (const change of draft.changes) {
    if (change.kind === 'updateAwaited' && change.runId === runId) waits.set(change.wait.askId, change.wait);
    else if (change.kind === 'waitEnded') waits.delete(change.askId);
  }
  return [...waits.values()];
}

export type SentUpdate = { readonly updateId: string; readonly request: Uint8Array };

const nothingSent: readonly SentUpdate[] = [];

/** Those that wait, as many as a task may carry and at least one. A poll that asks again, its answer lost, gets what went with it. */
export function takeUpdates(draft: Draft, run: RunView, startedEventId: number): readonly SentUpdate[] {
  const { runId } = run.key;
  if (draft.volatile.updates.size === 0 && draft.changes.length === 0) return nothingSent;
  const pending = pendingUpdates(draft, runId);
  if (pending.size === 0) return nothingSent;
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

/** The task of these updates is over, and its worker has said nothing of them: they go with the next one. */
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

export type UpdateEnd = { readonly kind: 'accepted' } | { readonly kind: 'completed'; readonly outcome: Uint8Array } | UpdateRejection;

export type UpdateRejection = { readonly kind: 'rejected'; readonly outcome: Uint8Array };

/** Who waited for as much as has come of it is answered. `run` as it is then. */
export function answerUpdates(draft: Draft, run: RunView, ends: ReadonlyMap<string, UpdateEnd>): void {
  if (ends.size === 0) return;
  for (const wait of waitingForUpdates(draft, run.key.runId)) {
    const end = ends.get(wait.updateId);
    if (end === undefined || (end.kind === 'accepted' && wait.waitStage === 'completed')) continue;
    const isCutOff = end.kind === 'accepted' && !isRunning(run);
    answer(draft, wait, replyOf(run, wait, isCutOff ? { kind: 'completed', outcome: completedByClose(draft) } : end));
  }
}

function replyOf(run: RunView, { started }: UpdateWait, end: UpdateEnd): UpdateReply {
  const reply = { kind: 'updateStage', runId: run.key.runId, completedEventId: 0, started } as const;
  if (end.kind === 'accepted') return { ...reply, stage: 'accepted', outcome: undefined };
  return { ...reply, stage: 'completed', outcome: end.outcome };
}

function answer(draft: Draft, { askId, started }: UpdateWait, reply: UpdateReply | Rejected): void {
  if (reply.kind !== 'rejected' || started === undefined) draft.answer(askId, reply);
  else draft.answer(askId, { kind: 'updateRefused', rejection: reply.rejection, begun: started.started });
}

/** The server refused what the worker did: the updates that were with it have failed, the others go with the next task. */
export function failSentUpdates(draft: Draft, runId: string): void {
  if (draft.volatile.updates.size === 0) return;
  const sent = [...pendingUpdates(draft, runId).values()].filter(({ sentWith }) => sentWith !== 0);
  if (sent.length === 0) return;
  for (const { updateId } of sent) draft.stage({ kind: 'updateEnded', runId, updateId });
  const waits = waitingForUpdates(draft, runId).filter((wait) => sent.some(({ updateId }) => updateId === wait.updateId));
  for (const wait of waits) answer(draft, wait, taskFailed);
}

const taskFailed = reject({
  reason: 'workflow-not-ready',
  message: 'Unable to perform workflow execution update due to unexpected workflow task failure.',
});

/** The run has closed, or is forgotten: nothing comes of its updates any more. */
export function abortUpdates(draft: Draft, run: RunView): void {
  const { runId } = run.key;
  assert(!isRunning(run), 'only the updates of a closed run are aborted');
  const { updates, updateWaits } = draft.volatile;
  if (updates.size === 0 && updateWaits.size === 0) return;
  for (const updateId of pendingUpdates(draft, runId).keys()) draft.stage({ kind: 'updateEnded', runId, updateId });
  for (const wait of waitingForUpdates(draft, runId)) {
    const isAccepted = (run.updates.get(wait.updateId)?.acceptedEventId ?? 0) !== 0;
    if (isAccepted) answer(draft, wait, replyOf(run, wait, { kind: 'completed', outcome: completedByClose(draft) }));
    else answer(draft, wait, run.successorRunId === '' ? abortedByClose : continued);
  }
}

/** Clients compare this text. */
export const abortedByClose: Rejected = reject({ reason: 'workflow-closed', message: 'workflow update was aborted by closing workflow' });
/** Whoever asks again reaches the run that comes next. */
const continued: Rejected = reject({
  reason: 'busy-workflow',
  message: 'workflow operation can not be applied because workflow is closing',
});

/** The outcome of an update that was accepted, and whose run has closed before it was completed. */
export function completedByClose(draft: Draft): Uint8Array {
  return draft.wire.encodeFailedUpdate(closedFirst(draft));
}

export function closedFirst({ wire }: Draft): Uint8Array {
  return wire.encodeFailure({
    // Clients compare this text.
    message: 'Workflow Update failed because the Workflow completed before the Update completed.',
    cause: undefined,
    info: { kind: 'application', type: 'AcceptedUpdateCompletedWorkflow', nonRetryable: true },
  });
}
