/**
 * How long a closed run stays: until its callbacks and its archive have come to an end, then for its retention, and beyond that as long as a
 * letter needs it.
 *
 *     close ─▶ callbacks ─▶ archiveExecution ─▶ retention ─▶ gone
 *                 └ failed      └ failed for good: a letter ─▶ letterCheck, at the end of the retention ─┬─ it is in its queue still: again in an hour
 *                                                                                                       └─ it was purged: gone
 *
 * Until then the run has no retention: so nothing is lost with it, and a merge finds what it was for.
 */
import { fingerprint32 } from '../../kernel/fingerprint.ts';
import type { LetterChecked } from '../commands/task-commands.ts';
import { hasFailed, isUnsettled } from '../run/callback.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { findRun } from '../run/reject.ts';
import { type HistoryReply, done } from '../run/history-replies.ts';
import type { Schedule } from '../run/schedule-state.ts';
import type { RunView } from '../run/state.ts';

/** Adds, at the close of a run or when its completion callbacks have come to an end, its retention, or what comes before it. */
export function addEndOfRun(run: RunDraft): void {
  const { draft } = run;
  const { key } = run.run;
  if (!draft.archives(key.namespaceId)) return addRetention(run);
  // Runs that close together are archived one after the other.
  const delayMs = Math.floor((fingerprint32(key.runId) / 2 ** 32) * draft.limits.archiveDelayMsMax);
  const fireTimeMs = draft.nowMs + Math.min(delayMs, retentionOf(draft, run.run));
  run.addTask({ kind: 'archiveExecution', fireTimeMs });
}

/** A retention begins at the close. Callbacks that are tried again bring another end of the run with theirs. */
export function addRetention(run: RunDraft): void {
  const { callbacks } = run.run;
  if (callbacks.some(isUnsettled)) return;
  if (callbacks.some(hasFailed)) return addLetterCheck(run);
  run.addTask({ kind: 'retention', fireTimeMs: endOfRetention(run) });
}

/** A task of the run is, or is about to be, a letter: when its retention is over, that decides. */
export function addLetterCheck(run: RunDraft, fireTimeMs = endOfRetention(run)): void {
  run.addTask({ kind: 'letterCheck', fireTimeMs });
}

export function letterChecked(draft: Draft, { taskId, isOpen }: LetterChecked): HistoryReply {
  const task = draft.shard.timers.get(taskId);
  if (task?.kind !== 'letterCheck') return done;
  draft.finishTask(taskId);
  const run = findRun(draft.shard, task.key);
  // A merge has brought another end, or is about to.
  if (run === undefined || draft.shard.timers.get(run.retentionTaskId) !== undefined || run.callbacks.some(isUnsettled)) return done;
  const open = draft.open(run);
  if (isOpen) addLetterCheck(open, draft.nowMs + draft.limits.letterRecheckMs);
  else open.addTask({ kind: 'retention', fireTimeMs: draft.nowMs });
  return done;
}

/** Nothing ends a schedule but its deletion. */
export function forgetSchedule(run: RunDraft, { wakeTaskId, letterCheckTaskId }: Schedule): void {
  run.finishTask(wakeTaskId);
  run.finishTask(letterCheckTaskId);
  run.forget();
}

function endOfRetention({ draft, run }: RunDraft): number {
  return Math.max(draft.nowMs, run.closeTimeMs + retentionOf(draft, run));
}

export function retentionOf({ limits }: Draft, { retentionMs }: RunView): number {
  return retentionMs > 0 ? retentionMs : limits.retentionMsDefault;
}
