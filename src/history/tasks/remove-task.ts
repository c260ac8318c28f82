/** An operator takes a pending task away: what it was for does not happen. What its run waits for is settled, or it would stay for ever. */
import { archiveTaskOver } from '../execution/archive.ts';
import { failCallback } from '../execution/callback-attempts.ts';
import type { Draft } from '../draft/draft.ts';
import { reject, workflowBehind } from '../run/reject.ts';
import { type HistoryReply, done } from '../run/history-replies.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { ShardView } from '../run/state.ts';
import { isOfCallback, type PendingTask } from '../run/tasks.ts';
import { isListed } from './list-tasks.ts';
import type { RemoveTask } from '../commands/shard-task-commands.ts';

export function removeTask(draft: Draft, command: RemoveTask): HistoryReply {
  const { shard, volatile } = draft;
  const { taskId } = command;
  if (volatile.finished.has(taskId)) return notFound(command);
  const task = shard.transfers.get(taskId) ?? shard.timers.get(taskId) ?? shard.tasksAside.get(taskId);
  if (task === undefined) return removeUnseen(draft, command);
  if (!isListed(task)) return notFound(command);
  const key = keyToSettle(shard, taskId);
  if (key !== undefined && shard.isBehind(key.runId)) return workflowBehind;
  end(draft, command);
  settleTaken(draft, task, removed);
  return done;
}

/** Names of the tasks with which something else is settled (`settleTaken`). */
const settledTypes: ReadonlySet<string> = new Set([
  ...['TASK_TYPE_STATE_MACHINE_OUTBOUND', 'TASK_TYPE_STATE_MACHINE_TIMER', 'TASK_TYPE_ARCHIVAL_ARCHIVE_EXECUTION'],
]);

/** The task is a row alone: what it says, but for its name, is not known here. */
function removeUnseen(draft: Draft, command: RemoveTask): HistoryReply {
  const { taskId, taskType } = command;
  if (draft.shard.changes?.isGone(taskId) !== false) return notFound(command);
  // Its run would wait for it for ever.
  if (settledTypes.has(taskType)) {
    const message = `task ${taskId} is not in memory: it can be removed in the last minutes before it is due`;
    return reject({ reason: 'failed-precondition', message });
  }
  end(draft, command);
  return done;
}

/** The letter whose task it was has nothing left to do, and says who saw to that. */
function end(draft: Draft, { taskId, by }: RemoveTask): void {
  const mark = draft.shard.letterMarks?.pendingOf(taskId);
  draft.finishTask(taskId);
  if (mark !== undefined) draft.endLetter({ letter: mark.letter, outcome: { kind: 'noop', detail: `its task was removed by ${by}` } });
}

/** What has to be in memory to settle it. */
export function keyToSettle({ transfers, timers, tasksAside }: ShardView, taskId: number): RunKey | undefined {
  const task = transfers.get(taskId) ?? timers.get(taskId) ?? tasksAside.get(taskId);
  if (task === undefined) return undefined;
  return task.kind === 'archiveExecution' || isOfCallback(task) ? task.key : undefined;
}

/** For a task that is gone and was not executed. `errorMessage`: why, for people. */
export function settleTaken(draft: Draft, task: PendingTask, errorMessage: string): void {
  if (task.kind === 'archiveExecution') archiveTaskOver(draft, task);
  if (isOfCallback(task)) failCallback(draft, task, errorMessage);
}

const removed = 'its task was removed by an operator';

function notFound({ taskId }: RemoveTask): HistoryReply {
  return reject({ reason: 'task-not-found', message: `task ${taskId} is not found: it has ended` });
}
