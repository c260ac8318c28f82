/**
 * A backlog out of the rows that checkpoints have written, page by page: a page is a moment's work, and what is not served yet may wait
 * between two of them.
 */
import { assert } from '../../kernel/assert.ts';
import type { Backlog } from '../backlog.ts';
import type { BacklogWire } from './backlog-wire.ts';
import { isUnread, readRow, type UnreadTask } from './read-rows.ts';
import type { BacklogCounters, TaskRow } from './rows.ts';

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
      const read = readRow(row, wire);
      if (isUnread(read)) {
        backlog.leaveUnread(taskId);
        unread.push(read);
      } else backlog.installTask(read.spilled, read.storedAtMs);
    }
  }
  return unread;
}

/** Behind the last row: the backlog equals the one that was folded up to where the rows go. */
export function installCounters(backlog: Backlog, { counters, timeMs }: BacklogCounters, wire: BacklogWire): void {
  const { lastId } = wire.decodeCounters(counters);
  assert(lastId >= backlog.lastId, `the last stored task was ${lastId}, and there is a row of task ${backlog.lastId}`);
  backlog.lastId = lastId;
  backlog.timeMs = timeMs;
}
