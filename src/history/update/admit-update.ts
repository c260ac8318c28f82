/**
 * Updates from outside: admitted in memory, delivered with the next workflow task, and answered when they have come as far as their caller
 * wants.
 *
 *   known already          ──▶ how it stands, or a wait: an update id is one update of a run, for ever. One that no worker has accepted is
 *                              refused as a new one is, where the workflow cannot take any: its caller must not ask for ever
 *   a task is scheduled    ──▶ rides on it
 *   a task is started      ──▶ waits for its end
 *   none                   ──▶ a speculative task is offered
 */
import { findRun, reject, workflowClosed, workflowNotFound } from '../run/reject.ts';
import type { Draft } from '../draft/draft.ts';
import type { HistoryReply, Rejected, StartReply, UpdateReply } from '../run/history-replies.ts';
import { isRunning, type RunView } from '../run/state.ts';
import { offerSpeculative } from '../steps/speculative.ts';
import { attachToKnown, refusalToAttach, noRoomInNamespace } from './attach.ts';
import { type PendingUpdate, pendingUpdateBytes, type UpdateWait } from '../commands/pending-update.ts';
import { pendingUpdates, abortedByClose, completedByClose } from '../steps/updates.ts';
import type { PollUpdate, UpdateAttributes, UpdateWorkflow } from '../commands/update-commands.ts';

/** A task that fails again and again will not answer an update either. */
const failingAttempts = 3;

export function updateWorkflow(draft: Draft, command: UpdateWorkflow): HistoryReply | undefined {
  const { key, firstExecutionRunId, update } = command;
  const run = findRun(draft.shard, key);
  if (run === undefined) return workflowNotFound(key);
  if (firstExecutionRunId !== '' && firstExecutionRunId !== run.start.firstRunId) return notOfThisChain;
  return admit(draft, run, update, undefined);
}

const notOfThisChain = reject({ reason: 'workflow-not-found', message: 'workflow execution not found' });

export function pollUpdate(draft: Draft, { key, updateId, waitStage }: PollUpdate): HistoryReply | undefined {
  const run = findRun(draft.shard, key);
  if (run === undefined) return workflowNotFound(key);
  if (!isKnown(draft, run, updateId)) return reject({ reason: 'update-not-found', message: `update "${updateId}" not found` });
  return answerOrWait(draft, run, { updateId, waitStage, started: undefined });
}

export function isKnown(draft: Draft, run: RunView, updateId: string): boolean {
  return run.updates.has(updateId) || pendingUpdates(draft, run.key.runId).has(updateId);
}

export function admit(draft: Draft, run: RunView, attributes: UpdateAttributes, started: StartReply | undefined): HistoryReply | undefined {
  const { updateId, request, waitStage, attachment } = attributes;
  if (isKnown(draft, run, updateId)) return join(draft, run, attributes, started);
  const { namespaceId, runId } = run.key;
  const attachments = attachment === undefined ? [] : [attachment];
  const refusal = refusalOf(draft, run, { request, attachments }) ?? refusalToAttach(draft, run, attributes);
  if (refusal !== undefined) return refusal;
  draft.stage({ kind: 'updatePending', runId, update: { updateId, namespaceId, request, sentWith: 0, attachments } });
  offerSpeculative(draft, run);
  return answerOrWait(draft, run, { updateId, waitStage, started });
}

/** The run takes no updates until somebody unpauses it, or fixes its worker. */
function takesNone(run: RunView): Rejected | undefined {
  if (run.pause !== undefined) return workflowPaused;
  return run.workflowTaskAttempt >= failingAttempts ? workflowFails : undefined;
}

const workflowFails = reject({
  reason: 'workflow-not-ready',
  message: 'Unable to perform workflow execution update due to Workflow Task in failed state.',
});

const workflowPaused = reject({ reason: 'failed-precondition', message: 'Workflow is paused. Cannot update the workflow.' });

/** Whoever asks again under another request id may bring callbacks of his own. */
export function join(draft: Draft, run: RunView, update: UpdateAttributes, started: StartReply | undefined): HistoryReply | undefined {
  const refusal = run.updates.has(update.updateId) ? undefined : takesNone(run);
  return refusal ?? attachToKnown(draft, run, update) ?? answerOrWait(draft, run, { ...update, started });
}

type Asked = Pick<PendingUpdate, 'request' | 'attachments'>;

function refusalOf(draft: Draft, run: RunView, asked: Asked): Rejected | undefined {
  if (!isRunning(run)) return workflowClosed;
  const refusal = takesNone(run);
  if (refusal !== undefined) return refusal;
  if (run.closeAttempted && run.workflowTask !== undefined && run.workflowTask.startedEventId !== 0) {
    return reject({ reason: 'busy-workflow', message: 'workflow operation can not be applied because workflow is closing' });
  }
  return tooMany(draft, run, asked);
}

function tooMany(draft: Draft, run: RunView, asked: Asked): Rejected | undefined {
  const { updatesInFlightMax, updateBytesInFlightMax, updatesPerRunMax } = draft.limits;
  const pending = pendingUpdates(draft, run.key.runId);
  let inFlight = pending.size;
  for (const { completedEventId } of run.updates.values()) if (completedEventId === 0) inFlight++;
  if (inFlight >= updatesInFlightMax) {
    const message = `limit on number of concurrent in-flight updates has been reached (${updatesInFlightMax})`;
    return reject({ reason: 'too-many-updates', message });
  }
  if (run.updates.size + pending.size >= updatesPerRunMax) {
    const message =
      `The limit on the total number of distinct updates in this workflow has been reached (${updatesPerRunMax}). ` +
      'Let repeated updates have the same update id, or let the workflow continue as new.';
    return reject({ reason: 'failed-precondition', message });
  }
  const bytes = pendingUpdateBytes(asked);
  let bytesInFlight = bytes;
  for (const update of pending.values()) bytesInFlight += pendingUpdateBytes(update);
  if (bytesInFlight > updateBytesInFlightMax) {
    const message = `limit on size of in-flight updates has been reached (${updateBytesInFlightMax} bytes)`;
    return reject({ reason: 'too-many-updates', message });
  }
  return noRoomInNamespace(draft, run.key.namespaceId, bytes);
}

/** `wait` of an update that is known. */
function answerOrWait(draft: Draft, run: RunView, wait: Omit<UpdateWait, 'askId'>): UpdateReply | Rejected | undefined {
  const { updateId, waitStage, started } = wait;
  const { runId } = run.key;
  const reply = { kind: 'updateStage', runId, outcome: undefined, completedEventId: 0, started } as const;
  const known = run.updates.get(updateId);
  if (known !== undefined && known.completedEventId !== 0) {
    return { ...reply, stage: 'completed', completedEventId: known.completedEventId };
  }
  const isAccepted = known !== undefined && known.acceptedEventId !== 0;
  if (known !== undefined && !isRunning(run)) {
    return isAccepted ? { ...reply, stage: 'completed', outcome: completedByClose(draft) } : abortedByClose;
  }
  if (isAccepted && waitStage !== 'completed') return { ...reply, stage: 'accepted' };
  if (waitStage === 'none') return { ...reply, stage: 'admitted' };
  draft.stage({ kind: 'updateAwaited', runId, wait: { askId: draft.askId, updateId, waitStage, started } });
  return undefined;
}
