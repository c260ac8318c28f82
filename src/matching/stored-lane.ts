/** The stored tasks of a queue, in its lanes: what of them is in memory (backlog.ts). */
import type { TaskQueuePartition, LaneName } from '../kernel/task-queue.ts';
import type { MatchingTask } from './matching-tasks.ts';

export type StoredTask = { readonly id: number; readonly lane: StoredLane; readonly task: MatchingTask; readonly storedAtMs: number };

/** Ids above `afterId`, up to `untilId`. `count`: of those counted. `left`: how many ever left memory. `sinceMs`: when one close before was stored. */
export type ColdTasks = { afterId: number; untilId: number; count: number; left: number; sinceMs: number; uncounted: IdRange | undefined };

/** Ids above `afterId`, up to `untilId`. */
export type IdRange = { readonly afterId: number; readonly untilId: number };

export type StoredQueue = {
  readonly key: string;
  readonly queue: TaskQueuePartition;
  readonly lanes: Map<string, StoredLane>;
  /** Ids of tasks in memory, by identity: history offers what it is not sure of again, after each of its takeovers. */
  readonly ids: Map<string, number>;
};

export type StoredLane = {
  readonly key: string;
  readonly of: StoredQueue;
  readonly name: LaneName;
  /** Tasks by id, in rising order. */
  readonly tasks: Map<number, StoredTask>;
  /** The highest id that ever stood in `tasks`. */
  windowUpToId: number;
  /** undefined: all are in `tasks`, and what comes goes there. */
  cold: ColdTasks | undefined;
  readonly newer: Map<number, StoredTask>;
};

/** A lower bound: of tasks that nobody has counted there is one. */
export function coldHint({ count, uncounted }: ColdTasks): number {
  return uncounted === undefined ? count : count + 1;
}

export function isUncounted({ uncounted }: ColdTasks, id: number): boolean {
  return uncounted !== undefined && id > uncounted.afterId && id <= uncounted.untilId;
}

/** `count` alone does not say so: a fold removes without a look. */
export function hasCold({ afterId, untilId }: ColdTasks): boolean {
  return afterId < untilId;
}
