/**
 * The end of closed runs: when retention is over nothing of them stays.
 *
 *     in memory      retention timer ─▶ fireTimer ──┐
 *     in the table   its rows that are due ─▶ retireRuns ──┴─▶ one record for all that are due, whoever's they are
 *
 * So goes a run in preparation, which nobody has gone on with. A run that leaves memory takes its retention timer along: closed runs are the most
 * numerous, and their rows say when they are due.
 */
import type { TaskOf } from '../run/tasks.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { RetireRuns } from '../commands/history-commands.ts';
import type { Draft } from '../draft/draft.ts';
import { findAnyRun } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';

/** A run whose retention is over takes others along whose time is over. */
export function fireRetention(draft: Draft, fired: TaskOf<'retention'>): void {
  const { shard, limits, nowMs } = draft;
  const run = findAnyRun(shard, fired.key);
  if (run === undefined) return draft.finishTask(fired.taskId);
  if (isStillNeeded(draft, run.key)) {
    draft.finishTask(fired.taskId);
    const fireTimeMs = nowMs + limits.retentionRecheckMs;
    return draft.open(run).addTask({ kind: 'retention', fireTimeMs });
  }
  draft.retire(run.key);
  for (const task of shard.timers.firstDue(nowMs, limits.runsRetiredTogetherMax)) {
    if (task.kind === 'retention' && task.taskId !== fired.taskId && isOver(draft, task.key)) draft.retire(task.key);
  }
}

export function retireRuns(draft: Draft, { runs }: RetireRuns): HistoryReply {
  for (const key of runs) if (isOver(draft, key)) draft.retire(key);
  return { kind: 'done' };
}

/** What is in memory may have changed since somebody looked; of a run that is not in memory, its row tells the truth. */
function isOver(draft: Draft, key: RunKey): boolean {
  const { shard, nowMs } = draft;
  if (isStillNeeded(draft, key)) return false;
  const run = shard.runs.get(key.runId);
  if (run === undefined) return shard.isRunCold(key);
  const timer = shard.timers.get(run.retentionTaskId);
  return timer !== undefined && timer.fireTimeMs <= nowMs;
}

/** A parent or a child has not heard of its end, and would wait, or go on, for ever. A run that was put aside is not kept beyond its retention. */
function isStillNeeded({ shard }: Draft, { runId }: RunKey): boolean {
  return shard.undelivered.has(runId) && !shard.aside.has(runId);
}
