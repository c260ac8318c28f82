/**
 * The pending tasks of a shard, page by page, in the order (fire time, task id).
 *
 *     in memory, the first of them ─┬─▶ one page
 *     in rows alone ────────────────┘    what is in memory is looked at first: a task that leaves meanwhile has a row, and is met there
 *
 * The end of a retention is none: it is a part of its run. Nor is a task for a worker that matching has stored, or a task on its way to a queue of
 * dead letters.
 */
import type { TaskRow } from '../checkpoint/rows.ts';
import type { StateWire } from '../checkpoint/state-wire.ts';
import type { Draft } from '../draft.ts';
import { taskCategoryOf, taskTypeOf } from '../hand-over/task-types.ts';
import type { HistoryReply } from '../replies.ts';
import { isDispatch, isTimer, type PendingTask } from '../tasks.ts';
import type { ListedTask, ListTasks, TaskList, TaskPlace } from './shard-task-commands.ts';

/** The answer comes with the rows. */
export function listTasks(draft: Draft, command: ListTasks): HistoryReply | undefined {
  const { askId, shard, volatile } = draft;
  const found = new FirstTasks(command.max + 1);
  const queue = isScheduled(command.category) ? shard.timers : shard.transfers;
  for (const tasks of [queue.values(), shard.tasksAside.values()]) {
    for (const task of tasks) {
      if (volatile.finished.has(task.taskId)) continue;
      const listed = listedTask(task, command);
      if (listed !== undefined) found.add(listed);
    }
  }
  draft.effects.push({ kind: 'taskRowsToList', askId, command, found: found.tasks });
  return undefined;
}

/** undefined: it is not wanted. */
function listedTask(task: PendingTask, { category, from, to }: ListTasks): ListedTask | undefined {
  if (taskCategoryOf(task) !== category || !isListed(task)) return undefined;
  const place = { fireTimeMs: isTimer(task) ? task.fireTimeMs : 0, taskId: task.taskId };
  if (byPlace(place, from) < 0 || byPlace(place, to) >= 0) return undefined;
  const { namespaceId, workflowId, runId } = task.key;
  return {
    ...place,
    taskType: taskTypeOf(task),
    key: { namespaceId, workflowId, runId },
    version: isTimer(task) ? 0 : task.version,
  };
}

/** Of a row alone, likewise. One that cannot be read is shown by its place. */
export function listedRow(row: TaskRow, place: TaskPlace, command: ListTasks, wire: StateWire): ListedTask | undefined {
  let task: PendingTask;
  try {
    task = wire.decodeTask(row.task);
  } catch {
    const isWanted = byPlace(place, command.from) >= 0 && byPlace(place, command.to) < 0;
    return isWanted ? { ...place, taskType: '', key: nobody, version: 0 } : undefined;
  }
  return listedTask(task, command);
}

const nobody = { namespaceId: '', workflowId: '', runId: '' };

/** It can be removed as well. */
export function isListed(task: PendingTask): boolean {
  if (isTimer(task)) return task.kind !== 'retention' && task.kind !== 'letterCheck';
  return !isDispatch(task) || task.atMatching !== true;
}

/** Their tasks stand in the order of their times. */
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

export function byPlace(one: TaskPlace, other: TaskPlace): number {
  return one.fireTimeMs - other.fireTimeMs || one.taskId - other.taskId;
}

/** The first so many of all that are added, in their order. */
export class FirstTasks {
  readonly #max: number;
  readonly #tasks: ListedTask[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  get tasks(): readonly ListedTask[] {
    return this.#tasks;
  }

  add(task: ListedTask): void {
    const tasks = this.#tasks;
    const last = tasks.at(-1);
    if (tasks.length === this.#max && last !== undefined && byPlace(task, last) > 0) return;
    let low = 0;
    for (let high = tasks.length; low < high;) {
      const middle = (low + high) >>> 1;
      if (byPlace(tasks[middle] as ListedTask, task) < 0) low = middle + 1;
      else high = middle;
    }
    tasks.splice(low, 0, task);
    if (tasks.length > this.#max) tasks.pop();
  }
}
