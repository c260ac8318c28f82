/** A closed run that is to be archived (steps/end-of-run.ts says what comes before and behind that). */
import type { RunKey } from '../../kernel/run-key.ts';
import type { Draft } from '../draft/draft.ts';
import { addLetterCheck, addRetention } from '../steps/end-of-run.ts';
import { endRunLetter } from '../steps/redrive.ts';
import { findRun } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import type { BesideTimer, PendingTask } from '../run/tasks.ts';
import type { Archived } from '../commands/task-commands.ts';

export function archived(draft: Draft, { taskId }: Archived): HistoryReply {
  const task = draft.shard.timers.get(taskId);
  if (task?.kind !== 'archiveExecution') return { kind: 'done' };
  draft.finishTask(taskId);
  archiveTaskOver(draft, task);
  endRunLetter(draft, taskId);
  return { kind: 'done' };
}

/** The archive task has done its work, or was taken away: its run goes when its retention is over. Of several the first brings that. */
export function archiveTaskOver(draft: Draft, { key }: BesideTimer): void {
  const { shard } = draft;
  const run = findRun(shard, key);
  if (run !== undefined && shard.timers.get(run.retentionTaskId) === undefined) addRetention(draft.open(run));
}

/** The task becomes a letter: the run outlives that. */
export function keepForLetter(draft: Draft, task: PendingTask): void {
  if (task.kind !== 'archiveExecution') return;
  const run = findRun(draft.shard, task.key);
  if (run !== undefined) addLetterCheck(draft.open(run));
}

/** What has to be in memory to hand it over. */
export function keyToKeep(task: PendingTask | undefined): RunKey | undefined {
  return task?.kind === 'archiveExecution' ? task.key : undefined;
}
