/**
 * The pending tasks of a shard, page by page, in the order (fire time, task id).
 *
 *     in memory, the first of them ─┬─▶ one page
 *     in rows alone ────────────────┘    what is in memory is looked at first: a task that leaves meanwhile has a row, and is met there
 *
 * The end of a retention is none: it is a part of its run. Nor is a task for a worker that matching has stored, or a task on its way to a queue of
 * dead letters.
 */
import { byPlace } from '../run/timer-queue.ts';
import { FirstOf } from '../../kernel/first-of.ts';
import type { TaskRow } from '../shard/rows.ts';
import type { StateWire } from '../shard/state-wire.ts';
import type { Draft } from '../draft/draft.ts';
import { taskCategoryOf, taskTypeOf } from '../run/task-types.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import { isDispatch, isTimer, type PendingTask } from '../run/tasks.ts';
import type { ListedTask, ListTasks, TaskList, TaskPlace } from '../commands/shard-task-commands.ts';

/** The answer comes with the rows. */
export function listTasks(draft: Draft, command: ListTasks): HistoryReply | undefined {
  const { askId, shard, volatile } = draft;
  const first = firstTasks(command);
  const queue = isScheduled(command.category) ? shard.timers : shard.transfers;
  for (const tasks of [queue.values(), shard.tasksAside.values()]) {
    for (const task of tasks) {
      if (volatile.finished.has(task.taskId)) continue;
      const listed = listedTask(task, command);
      if (listed !== undefined) first.add(listed);
    }
  }
  draft.effects.push({ kind: 'taskRowsToList', askId, command, found: first.found });
  return undefined;
}

/** undefined: it is not wanted. */
function listedTask(task: PendingTask, { category, from, to }: ListTasks): ListedTask | undefined {
  if (taskCategoryOf(task) !== category || !isListed(task)) return undefined;
  const place = { fireTimeMs: isTimer(task) ? task.fireTimeMs : 0, taskId: task.taskId };
  if (byPlace(place, from) < 0 || byPlace(place, to) >= 0) return undefined;
  const { namespaceId, workflowId, runId } = task.key;
  return { ...place, taskType: taskTypeOf(task), key: { namespaceId, workflowId, runId }, version: isTimer(task) ? 0 : task.version };
}

/** Shows a task that is a row alone; undefined: it is not wanted. One that cannot be read is shown by its place. */
export function listedRow(row: TaskRow, place: TaskPlace, command: ListTasks, wire: StateWire): ListedTask | undefined {
  let task: PendingTask;
  try {
    task = wire.decodeTask(row.task);
  } catch {
    const isWanted = byPlace(place, command.from) >= 0 && byPlace(place, command.to) < 0;
    const key = { namespaceId: '', workflowId: '', runId: '' };
    return isWanted ? { ...place, taskType: '', key, version: 0 } : undefined;
  }
  return listedTask(task, command);
}

/** Tasks that are listed can be removed as well. */
export function isListed(task: PendingTask): boolean {
  if (isTimer(task)) return task.kind !== 'retention' && task.kind !== 'letterCheck';
  return !isDispatch(task) || task.atMatching !== true;
}

/** Tasks of such a category stand in the order of their times. */
export function isScheduled(category: string): boolean {
  return category === 'timer' || category === 'archival';
}

/** `restAt`: rows from there on have not been looked at. */
export function pageOf(tasks: readonly ListedTask[], max: number, restAt: TaskPlace | undefined): TaskList {
  const known = restAt === undefined ? tasks : tasks.filter((task) => byPlace(task, restAt) < 0);
  const next = known[max] ?? restAt;
  return {
    kind: 'taskList',
    tasks: known.slice(0, max),
    next: next === undefined ? undefined : { fireTimeMs: next.fireTimeMs, taskId: next.taskId },
  };
}

/** One more than fit into a page: the next begins with it. */
export function firstTasks({ max }: ListTasks): FirstOf<ListedTask> {
  return new FirstOf<ListedTask>(max + 1, byPlace);
}
