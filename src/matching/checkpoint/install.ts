/**
 * A backlog out of the rows that checkpoints have written, page by page: a page is a moment's work, and what is not served yet may wait
 * between two of them.
 */
import { assert } from '../../kernel/assert.ts';
import type { Backlog } from '../backlog.ts';
import { taskQueuePartitionKey } from '../task-queue.ts';
import type { BacklogWire } from './backlog-wire.ts';
import type { BacklogCounters, TaskRow } from './rows.ts';

/** A stored task that is offered to nobody: its row cannot be read. */
export type UnreadTask = { readonly taskId: number; readonly queue: string; readonly error: unknown };

/**
 * Some of the rows, into a backlog that has all those with lower ids and no record. Of a queue whose window is full they stay rows; so do those that
 * cannot be read, until they end.
 */
export function installTasks(backlog: Backlog, rows: Iterable<TaskRow>, wire: BacklogWire): readonly UnreadTask[] {
  const unread: UnreadTask[] = [];
  for (const row of rows) {
    const { taskId, queue } = row;
    assert(taskId > backlog.lastId, `rows come by task id: ${taskId} after ${backlog.lastId}`);
    const known = backlog.queues.get(queue);
    if (known?.cold !== undefined) backlog.installCold(known, taskId);
    else if (known !== undefined && !backlog.hasRoom(queue)) backlog.installCold(backlog.endWindow(known, taskId), taskId);
    else {
      try {
        installTask(backlog, row, wire);
      } catch (error) {
        backlog.leaveUnread(taskId);
        unread.push({ taskId, queue, error });
      }
    }
  }
  return unread;
}

function installTask(backlog: Backlog, { taskId, queue, task }: TaskRow, wire: BacklogWire): void {
  const { spilled, storedAtMs } = wire.decodeTask(task);
  assert(spilled.id === taskId, `the row of stored task ${taskId} holds task ${spilled.id}`);
  const key = taskQueuePartitionKey(spilled.queue);
  assert(key === queue, `the row of stored task ${taskId} stands at queue ${queue}, and the task in it at ${key}`);
  backlog.installTask(spilled, storedAtMs);
}

/** Behind the last row: the backlog equals the one that was folded up to where the rows go. */
export function installCounters(backlog: Backlog, { counters, timeMs }: BacklogCounters, wire: BacklogWire): void {
  const { lastId } = wire.decodeCounters(counters);
  assert(lastId >= backlog.lastId, `the last stored task was ${lastId}, and there is a row of task ${backlog.lastId}`);
  backlog.lastId = lastId;
  backlog.timeMs = timeMs;
}
