/**
 * The names of lanes. Stored tasks of a queue stand in lanes, by priority and fairness key, and each lane has a window and rows of its own
 * (backlog.ts): so a long backlog of one lane hides no task of another.
 *
 *     level 1   ""   "tenant-a"   "tenant-b"                       1 goes first; among the lanes of a level it goes by fair shares
 *     level 3   ""   "tenant-a"   shared 1 … shared 8              shared: by keys for which there was no room (lane-choice.ts)
 *
 * Rows stand under the lane's key. That of what has no priority and no fairness key is the queue's own, as it was before there were lanes.
 */
import { priorityKeyDefault, priorityKeyMax } from '../kernel/priority.ts';
import { type TaskQueuePartition, taskQueuePartitionKey, taskQueuePartitionOf } from './task-queue.ts';
import type { MatchingTask } from './tasks.ts';

/** Which lane of its queue. `shared`: 0 = of its fairness key alone. */
export type LaneName = { readonly level: number; readonly fairnessKey: string; readonly shared: number };

/** Of one fairness key, and of no other. */
export function hasOwnKey({ fairnessKey }: LaneName): boolean {
  return fairnessKey !== '';
}

/** Of one fairness key, or of several that share it. */
export function isKeyed(name: LaneName): boolean {
  return hasOwnKey(name) || name.shared > 0;
}

export const plainLane: LaneName = { level: priorityKeyDefault, fairnessKey: '', shared: 0 };

/** From 1 to 5. Whoever sets no key is in the middle, whoever sets a higher one at the end. */
export function levelOf({ priority }: MatchingTask): number {
  const key = priority?.priorityKey ?? 0;
  return key === 0 ? priorityKeyDefault : Math.min(key, priorityKeyMax);
}

export function fairnessKeyOf({ priority }: MatchingTask): string {
  return priority?.fairnessKey ?? '';
}

/** The one where the task belongs, while there is room for a lane of its key. */
export function ownLane(task: MatchingTask): LaneName {
  if (task.priority === undefined) return plainLane;
  return { level: levelOf(task), fairnessKey: fairnessKeyOf(task), shared: 0 };
}

/** What rows stand under. The fairness key's length says where it ends: it may hold any character. */
export function laneKey(queue: TaskQueuePartition, { level, fairnessKey, shared }: LaneName): string {
  const key = taskQueuePartitionKey(queue);
  if (level === priorityKeyDefault && fairnessKey === '' && shared === 0) return key;
  const nameAt = key.length - queue.name.length;
  return `${key.slice(0, nameAt - 1)}p${level}s${shared}k${fairnessKey.length}/${fairnessKey}/${queue.name}`;
}

/** What that key names; undefined: nothing. */
export function parseLaneKey(key: string): { readonly queue: TaskQueuePartition; readonly lane: LaneName } | undefined {
  const plain = taskQueuePartitionOf(key);
  if (plain !== undefined) return { queue: plain, lane: plainLane };
  const [, before = '', level, shared, length, rest = ''] = /^([^/]*\/[ns][wa]\/\d+)p(\d)s(\d+)k(\d+)\/(.*)$/s.exec(key) ?? [];
  const fairnessKey = rest.slice(0, Number(length));
  const queue = taskQueuePartitionOf(`${before}/${rest.slice(fairnessKey.length + 1)}`);
  const lane: LaneName = { level: Number(level), fairnessKey, shared: Number(shared) };
  return queue !== undefined && laneKey(queue, lane) === key ? { queue, lane } : undefined;
}
