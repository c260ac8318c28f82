/**
 * Tasks that have failed for good, on their way to a queue of dead letters.
 *
 *     pending ── handOverTask ─▶ waits in the line of its queue ── the queue's owner has answered ── noteLetters ─▶ gone
 *                a record: its sequence is given out                                                  a record: its ids
 *
 * A task is in one of these places, never in two: what stands in a line is tried no more, has no row of its own, and is kept whole. It gets its
 * sequence before anybody is asked: a hand-over that is repeated after a crash is known to the owner by it. What is made obsolete while it
 * stands there becomes a letter all the same, for the owner may have it by then.
 */
import { isDeleted } from '../run/reject.ts';
import { assert } from '../../kernel/assert.ts';
import { keepForLetter } from '../execution/archive.ts';
import { failBatch } from '../batch/batch-decisions.ts';
import { failCallback, nothingLeft } from '../execution/callback-attempts.ts';
import type { HandOverTask, NoteLetters } from '../commands/hand-over-commands.ts';
import type { Draft } from '../draft/draft.ts';
import { endLetterOf } from '../steps/redrive.ts';
import { goOnWithout, isOfSchedule } from '../schedule/schedule-decisions.ts';
import { type HistoryReply, done } from '../run/history-replies.ts';
import { isDispatch, isOfCallback, isTimer, type PendingTask } from '../run/tasks.ts';
import { bytesOf, type HandedOverTask, type HandOverLine, lineOf } from '../run/hand-over-lines.ts';

export const handOverLimits = {
  /** Limits the tasks of one line, which is written whole with each checkpoint. */
  tasksMax: 100,
  /** Limits the bytes of a line, roughly; one task always fits. */
  bytesMax: 4 * 1024 * 1024,
} as const;

/** One that has ended meanwhile, that matching has stored after all, or that finds no room, stays what it is. */
export function handOverTask(draft: Draft, { taskId, category, failure, subject }: HandOverTask): HistoryReply {
  const task = draft.shard.transfers.get(taskId) ?? draft.shard.timers.get(taskId);
  if (task === undefined || draft.volatile.finished.has(taskId) || staysWhereItIs(task)) return done;
  // While the callback was on its way: no letter could be merged, and none is owed to anybody.
  if (task.kind === 'invokeCallback' && isDeleted(draft.shard, task.key)) return nothingLeft(draft, taskId);
  // It is a letter, and stays one.
  if (endLetterOf(draft, taskId, { kind: 'failed', failure })) {
    if (isOfCallback(task)) failCallback(draft, task, failure.errorMessage);
    return done;
  }
  if (task.kind === 'batchStep') return failBatch(draft, task, failure);
  const line = lineOf(draft.shard.handOvers, category);
  const handedOver = { category, sequence: line.lastSequence + 1, task, failure, subject };
  if (!hasRoom(line, handedOver)) return done;
  draft.handOver(handedOver);
  keepForLetter(draft, task);
  if (isOfSchedule(task)) goOnWithout(draft, task);
  if (isOfCallback(task)) failCallback(draft, task, failure.errorMessage);
  return done;
}

/** Matching offers it; or it is the end of a retention, which the row of its run says as well, so that it would come back with the run. */
function staysWhereItIs(task: PendingTask): boolean {
  return task.kind === 'retention' || (!isTimer(task) && isDispatch(task) && task.atMatching === true);
}

/** What is told again was noted before. */
export function noteLetters(draft: Draft, { category, sequence, messageIds }: NoteLetters): HistoryReply {
  const { waiting } = lineOf(draft.shard.handOvers, category);
  const accepted = waiting.filter((task) => task.sequence <= sequence);
  if (accepted.length > 0) {
    assert(accepted.length === messageIds.length, `${accepted.length} tasks became ${messageIds.length} letters of ${category}`);
    draft.noteLetters({ category, sequence, messageIds });
  }
  return { kind: 'done' };
}

function hasRoom({ waiting }: HandOverLine, next: HandedOverTask): boolean {
  if (waiting.length === 0) return true;
  if (waiting.length >= handOverLimits.tasksMax) return false;
  return waiting.reduce((bytes, task) => bytes + bytesOf(task), bytesOf(next)) <= handOverLimits.bytesMax;
}
