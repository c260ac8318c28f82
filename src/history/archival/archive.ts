/**
 * A closed run that is to be archived.
 *
 *     close ─▶ archiveExecution ── archived ─▶ retention ─▶ gone
 *                     └ has failed for good: a letter ─▶ archiveLetterCheck ─┬─ the letter is in its queue still: again in an hour
 *                                                                            └─ it was purged: gone
 *
 * Until its history is archived, or nobody wants that any more, the run has no retention: so nothing is lost with it.
 */
import { fingerprint32 } from '../../kernel/fingerprint.ts';
import { isUnsettled } from '../callback/callback.ts';
import type { RunKey } from '../commands.ts';
import type { Archived, ArchiveLetterChecked } from './archival-commands.ts';
import type { Draft, RunDraft } from '../draft.ts';
import { findRun } from '../reject.ts';
import { endRunLetter } from '../redrive/redrive.ts';
import type { HistoryReply } from '../replies.ts';
import type { RunView } from '../state.ts';
import type { ArchivalTimer, PendingTask } from '../tasks.ts';

const done: HistoryReply = { kind: 'done' };

/** At the close of a run, or when its completion callbacks have come to an end: its retention, or what comes before it. */
export function addEndOfRun(run: RunDraft): void {
  const { draft } = run;
  const { key } = run.run;
  const retentionMs = retentionOf(draft, run.run);
  if (!draft.archives(key.namespaceId)) return addRetention(run, Math.max(draft.nowMs, run.run.closeTimeMs + retentionMs));
  // Runs that close together are archived one after the other.
  const delayMs = Math.floor((fingerprint32(key.runId) / 2 ** 32) * draft.limits.archiveDelayMsMax);
  const fireTimeMs = draft.nowMs + Math.min(delayMs, retentionMs);
  run.addTask({ kind: 'archiveExecution', taskId: draft.nextTaskId(), fireTimeMs, key });
}

export function archived(draft: Draft, { taskId }: Archived): HistoryReply {
  const task = draft.shard.timers.get(taskId);
  if (task?.kind !== 'archiveExecution') return done;
  draft.finishTask(taskId);
  archiveTaskOver(draft, task);
  endRunLetter(draft, taskId);
  return done;
}

/** It has done its work, or was taken away: its run goes when its retention is over. */
export function archiveTaskOver(draft: Draft, { key }: ArchivalTimer): void {
  const run = findRun(draft.shard, key);
  if (run !== undefined) addRetention(draft.open(run), Math.max(draft.nowMs, run.closeTimeMs + retentionOf(draft, run)));
}

/** The task becomes a letter: the run outlives that. */
export function keepForLetter(draft: Draft, task: PendingTask): void {
  if (task.kind !== 'archiveExecution') return;
  const run = findRun(draft.shard, task.key);
  if (run === undefined) return;
  addLetterCheck(draft.open(run), Math.max(draft.nowMs, run.closeTimeMs + retentionOf(draft, run)));
}

export function archiveLetterChecked(draft: Draft, { taskId, isOpen }: ArchiveLetterChecked): HistoryReply {
  const task = draft.shard.timers.get(taskId);
  if (task?.kind !== 'archiveLetterCheck') return done;
  draft.finishTask(taskId);
  const run = findRun(draft.shard, task.key);
  // A merge has archived it.
  if (run === undefined || draft.shard.timers.get(run.retentionTaskId) !== undefined) return done;
  if (isOpen) addLetterCheck(draft.open(run), draft.nowMs + draft.limits.archiveLetterRecheckMs);
  else addRetention(draft.open(run), draft.nowMs);
  return done;
}

/** What has to be in memory to hand it over. */
export function keyToKeep(task: PendingTask | undefined): RunKey | undefined {
  return task?.kind === 'archiveExecution' ? task.key : undefined;
}

/** Callbacks that are tried again bring another end of the run with theirs. */
function addRetention(run: RunDraft, fireTimeMs: number): void {
  if (run.run.callbacks.some(isUnsettled)) return;
  run.addTask({ kind: 'retention', taskId: run.draft.nextTaskId(), fireTimeMs, key: run.run.key });
}

function addLetterCheck(run: RunDraft, fireTimeMs: number): void {
  run.addTask({ kind: 'archiveLetterCheck', taskId: run.draft.nextTaskId(), fireTimeMs, key: run.run.key });
}

export function retentionOf({ limits }: Draft, { retentionMs }: RunView): number {
  return retentionMs > 0 ? retentionMs : limits.retentionMsDefault;
}
