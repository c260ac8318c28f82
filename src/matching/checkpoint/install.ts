/**
 * A backlog out of the rows that checkpoints have written: of each lane its first ones, as many as its window takes. A page of lanes is a moment's
 * work, and what is not served yet may wait between two of them.
 *
 *     rows of a lane    1 2 3 … 1,000 │ 1,001 …………………………… 1,000,000
 *                       tasks: read   │ cold: nobody looks ─────┘ but for the last id
 */
import { parseLaneKey } from '../../kernel/task-queue.ts';
import { assert } from '../../kernel/assert.ts';
import type { Backlog } from '../backlog.ts';
import type { BacklogWire } from './backlog-wire.ts';
import { isUnread, readRow, type UnreadTask } from './read-rows.ts';
import type { BacklogCounters, LaneRows } from './rows.ts';

/** The first rows of a lane, and that there are others, into a backlog that has none of it and no record. Those that cannot be read stay rows until they end. */
export function installQueue(backlog: Backlog, { queue, lastTaskId, tasks }: LaneRows, wire: BacklogWire): readonly UnreadTask[] {
  const unread: UnreadTask[] = [];
  let upToId = 0;
  for (const row of tasks) {
    assert(row.taskId > upToId && row.taskId <= lastTaskId, `stored task ${row.taskId} stands between ${upToId} and ${lastTaskId}`);
    if (!backlog.hasRoom(queue)) break;
    upToId = row.taskId;
    const read = readRow(row, wire);
    if (isUnread(read)) {
      backlog.leaveUnread(read);
      unread.push(read);
    } else backlog.installTask(read.spilled, read.storedAtMs);
  }
  if (upToId === lastTaskId) return unread;
  const named = parseLaneKey(queue);
  if (named !== undefined) backlog.installCold(named.queue, named.lane, { afterId: upToId, untilId: lastTaskId });
  else unread.push({ taskId: lastTaskId, laneKey: queue, error: new Error(`${queue} names no task queue`) });
  return unread;
}

/** Behind the last queue: the backlog equals the one that was folded up to where the rows go. */
export function installCounters(backlog: Backlog, { counters, timeMs }: BacklogCounters, wire: BacklogWire): void {
  const { lastId, configs } = wire.decodeCounters(counters);
  backlog.installCounters(lastId, timeMs);
  for (const configured of configs) backlog.configs.set(configured);
}
