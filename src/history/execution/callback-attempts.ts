/**
 * Attempts to call completion callbacks of a run that has closed, or of an update that is over. What an attempt takes is done outside (src/actors/history/side-tasks), at least once:
 *
 *     invokeCallback, pending ── runCallback ─▶ deliverCallback ─▶ … ─┬─ callbackAnswered ─▶ succeeded, or a callbackBackoff until the next
 *                                                                     └─ handOverTask ─▶ failed: the task becomes a letter
 */
import type { Draft, RunDraft } from '../draft/draft.ts';
import { endLetterOf, endRunLetter, noop } from '../steps/redrive.ts';
import { callbackState } from '../generated/enums.ts';
import { findRun } from '../run/reject.ts';
import { type HistoryReply, done } from '../run/history-replies.ts';
import { isRunning, type RunView } from '../run/state.ts';
import type { CallbackBackoffTask, InvokeCallbackTask } from '../run/tasks.ts';
import { callbackOf, type CallbackUpdate, isUnsettled, mayBeTried } from '../run/callback.ts';
import type { CallbackAnswered, DeliverCallback, RunCallback } from '../commands/callback-commands.ts';
import { invoke } from '../steps/invoke-callbacks.ts';
import { closedFirst } from '../steps/updates.ts';
import { addEndOfRun } from '../steps/end-of-run.ts';

export function runCallback(draft: Draft, { taskId, tries }: RunCallback): HistoryReply {
  const task = taskOf(draft, taskId);
  if (task === undefined) return done;
  const run = findRun(draft.shard, task.key);
  const callback = run === undefined ? undefined : callbackOf(run, task.callbackId);
  if (run === undefined || callback?.state !== callbackState.scheduled) return nothingLeft(draft, taskId);
  const { key, namespace, start, nextEventId } = run;
  draft.effects.push({
    kind: 'deliverCallback',
    taskId,
    tries,
    key,
    namespace,
    callback: callback.callback,
    attachedBy: callback.attachedBy,
    startTimeMs: start.startTimeMs,
    ...(callback.update === undefined ? { closeEventId: nextEventId - 1 } : endOfUpdate(draft, run, callback.update, callback.attachedBy)),
    attempt: callback.attempt + 1,
  });
  return done;
}

/** One that was neither completed nor rejected was ended by the close of its run. */
function endOfUpdate(draft: Draft, run: RunView, { updateId, rejection }: CallbackUpdate, attachedBy: string): EndOfUpdate {
  const closeEventId = run.updates.get(updateId)?.completedEventId ?? 0;
  const attachedWith = run.requestIds.find(({ requestId }) => requestId === attachedBy)?.eventType ?? 0;
  const byClose = { failure: closedFirst(draft), timeMs: run.closeTimeMs };
  const failed = rejection ?? (closeEventId === 0 ? byClose : undefined);
  return { closeEventId, update: { attachedWith, failed } };
}

type EndOfUpdate = Pick<DeliverCallback, 'closeEventId' | 'update'>;

/** Ends the task of a run that is deleted. */
export function nothingLeft(draft: Draft, taskId: number): HistoryReply {
  if (!endLetterOf(draft, taskId, noop('the task is obsolete'))) draft.finishTask(taskId);
  return done;
}

export function callbackAnswered(draft: Draft, { taskId, outcome }: CallbackAnswered): HistoryReply {
  const task = taskOf(draft, taskId);
  if (task === undefined) return done;
  const run = findRun(draft.shard, task.key);
  if (run === undefined) return nothingLeft(draft, taskId);
  draft.finishTask(taskId);
  const open = draft.open(run);
  const { callbackId } = task;
  if (outcome.kind === 'delivered') {
    open.addFact({ kind: 'callbackAttempted', callbackId, state: callbackState.succeeded, failure: undefined, nextAttemptTimeMs: 0 });
    settle(open);
  } else {
    const fireTimeMs = draft.nowMs + outcome.pauseMs;
    const failure = failureOf(draft, outcome.message, false);
    open.addFact({ kind: 'callbackAttempted', callbackId, state: callbackState.backingOff, failure, nextAttemptTimeMs: fireTimeMs });
    open.addTask({ kind: 'callbackBackoff', fireTimeMs, callbackId, stamp: task.stamp + 1 });
  }
  endRunLetter(draft, taskId);
  return done;
}

/** The callback has failed for good: its task is, or stays, a letter, or was taken away. One that waits for another task or none stays as it is. */
export function failCallback(draft: Draft, task: InvokeCallbackTask | CallbackBackoffTask, errorMessage: string): void {
  const { kind, key, callbackId } = task;
  const run = findRun(draft.shard, key);
  const awaited = kind === 'invokeCallback' ? callbackState.scheduled : callbackState.backingOff;
  if (run === undefined || callbackOf(run, callbackId)?.state !== awaited) return;
  const open = draft.open(run);
  const failure = failureOf(draft, errorMessage, true);
  open.addFact({ kind: 'callbackAttempted', callbackId, state: callbackState.failed, failure, nextAttemptTimeMs: 0 });
  settle(open);
}

export function fireCallbackBackoff(draft: Draft, { taskId, key, callbackId }: CallbackBackoffTask): void {
  draft.finishTask(taskId);
  const run = findRun(draft.shard, key);
  const callback = run === undefined ? undefined : callbackOf(run, callbackId);
  if (run !== undefined && callback !== undefined && mayBeTried(callback)) invoke(draft.open(run), callback);
}

function taskOf({ shard, volatile }: Draft, taskId: number): InvokeCallbackTask | undefined {
  const task = shard.transfers.get(taskId);
  return task?.kind === 'invokeCallback' && !volatile.finished.has(taskId) ? task : undefined;
}

/** The closed run waits for nothing else any more; it may have ended so before, and a letter have been merged since. */
function settle(run: RunDraft): void {
  if (isRunning(run.run)) return;
  const isEnding = run.draft.shard.timers.get(run.run.retentionTaskId) !== undefined;
  if (!isEnding && !run.run.callbacks.some(isUnsettled)) addEndOfRun(run);
}

function failureOf({ wire }: Draft, message: string, nonRetryable: boolean): Uint8Array {
  return wire.encodeFailure({ message, cause: undefined, info: { kind: 'application', type: '', nonRetryable } });
}
