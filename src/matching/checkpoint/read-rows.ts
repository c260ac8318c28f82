/** Rows of stored tasks, one by one: a bad one is the trouble of its task alone, not of its queue or, at a takeover, of its host. */
import { laneKey } from '../../kernel/task-queue.ts';
import { assert } from '../../kernel/assert.ts';
import { laneOfSpilled } from '../matching-records.ts';
import type { BacklogWire, TaskState } from './backlog-wire.ts';
import type { TaskRow } from './rows.ts';

/** A stored task that is offered to nobody: its row cannot be read. */
export type UnreadTask = { readonly taskId: number; readonly laneKey: string; readonly error: unknown };

export function readRow({ taskId, queue, task }: TaskRow, wire: BacklogWire): TaskState | UnreadTask {
  try {
    const state = wire.decodeTask(task);
    const { spilled } = state;
    assert(spilled.id === taskId, `the row of stored task ${taskId} holds task ${spilled.id}`);
    const key = laneKey(spilled.queue, laneOfSpilled(spilled));
    assert(key === queue, `the row of stored task ${taskId} stands at queue ${queue}, and the task in it at ${key}`);
    return state;
  } catch (error) {
    return { taskId, laneKey: queue, error };
  }
}

export function isUnread(row: TaskState | UnreadTask): row is UnreadTask {
  return 'error' in row;
}
