/**
 * A row of List that its database refuses for good: a task of the run, like any other, writes the row of the run as it is then.
 *
 *     flush ─ refused ─▶ rowRefused: a task ─▶ writeRow ─▶ written: finishRow ends it
 *                                                └─ refused: it has failed, and is a dead letter; a merge writes the row as it is by then
 *
 * A run has one such task at a time. The task outlives the server, as the refusal does.
 */
import type { Draft } from '../draft/draft.ts';
import { endLetterOf, noop } from '../steps/redrive.ts';
import { findRun } from '../run/reject.ts';
import { type HistoryReply, done } from '../run/history-replies.ts';
import { isRunning, type ShardView } from '../run/state.ts';
import type { FinishRow, RowRefused, WriteRow } from '../commands/task-commands.ts';

export function rowRefused(draft: Draft, { key }: RowRefused): HistoryReply {
  const run = findRun(draft.shard, key);
  if (run === undefined || hasTask(draft.shard, key.runId)) return done;
  draft.open(run).addTask({ kind: 'upsertVisibility', isClosed: !isRunning(run) });
  return done;
}

/** Waiting to be written, aside, or on its way to a letter. Rows are refused rarely. */
function hasTask({ transfers, tasksAside, handOvers }: ShardView, runId: string): boolean {
  for (const { kind, key } of transfers.values()) if (kind === 'upsertVisibility' && key.runId === runId) return true;
  for (const { kind, key } of tasksAside.values()) if (kind === 'upsertVisibility' && key.runId === runId) return true;
  return handOvers?.get('visibility')?.waiting.some(({ task }) => task.key.runId === runId) === true;
}

export function writeRow(draft: Draft, { taskId, tries }: WriteRow): HistoryReply | undefined {
  const task = draft.shard.transfers.get(taskId);
  if (task?.kind !== 'upsertVisibility') return done;
  if (findRun(draft.shard, task.key) === undefined) {
    if (!endLetterOf(draft, taskId, noop('the workflow is gone'))) draft.finishTask(taskId);
    return done;
  }
  draft.restsOnState = false;
  draft.effects.push({ kind: 'rowToWrite', taskId, tries });
  return undefined;
}

export function finishRow(draft: Draft, { taskId }: FinishRow): HistoryReply {
  if (draft.shard.transfers.get(taskId)?.kind !== 'upsertVisibility') return done;
  if (!endLetterOf(draft, taskId, { kind: 'applied' })) draft.finishTask(taskId);
  return done;
}
