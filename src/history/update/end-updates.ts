/** Updates that come to their end, and those who wait for them. */
import { assert } from '../../kernel/assert.ts';
import type { Draft } from '../draft.ts';
import { reject } from '../reject.ts';
import type { Rejected, UpdateReply } from '../replies.ts';
import { isRunning, type RunView } from '../state.ts';
import type { UpdateWait } from './pending-update.ts';
import { pendingUpdates, waitingForUpdates } from './updates-of-draft.ts';

/** What came of an update in a workflow task. */
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
  draft.stage({ kind: 'waitEnded', askId });
  if (reply.kind !== 'rejected' || started === undefined) draft.effects.push({ kind: 'reply', askId, reply });
  else draft.effects.push({ kind: 'reply', askId, reply: { kind: 'updateRefused', rejection: reply.rejection, begun: started.started } });
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

/** Of an update that was accepted in a run that has closed before it was completed. */
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
