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
import { type LaneName, plainLane } from '../kernel/task-queue.ts';
import type { MatchingTask } from './matching-tasks.ts';

/** Whether the lane has one fairness key and no other. */
export function hasOwnKey({ fairnessKey }: LaneName): boolean {
  return fairnessKey !== '';
}

/** Whether the lane has one fairness key, or several that share it. */
export function isKeyed(name: LaneName): boolean {
  return hasOwnKey(name) || name.shared > 0;
}

/** A level from 1 to 5. Whoever sets no key is in the middle, whoever sets a higher one at the end. */
export function levelOf({ priority }: MatchingTask): number {
  const key = priority?.priorityKey ?? 0;
  return key === 0 ? priorityKeyDefault : Math.min(key, priorityKeyMax);
}

export function fairnessKeyOf({ priority }: MatchingTask): string {
  return priority?.fairnessKey ?? '';
}

/** Temporal's bounds: whatever somebody says of himself, others have their turns. */
const fairnessWeightMin = 0.001;
const fairnessWeightMax = 1_000;

/** What operators say of its key (`weights`) goes before what the task says. Of one that says nothing, or what makes no sense, 1. */
export function fairnessWeightOf({ priority }: MatchingTask, weights: ReadonlyMap<string, number>): number {
  return effectiveWeight(weights.get(priority?.fairnessKey ?? '') ?? priority?.fairnessWeight ?? 0);
}

function effectiveWeight(weight: number): number {
  return weight > 0 ? Math.min(Math.max(weight, fairnessWeightMin), fairnessWeightMax) : 1;
}

/** The one where the task belongs, while there is room for a lane of its key. */
export function ownLane(task: MatchingTask): LaneName {
  if (task.priority === undefined) return plainLane;
  return { level: levelOf(task), fairnessKey: fairnessKeyOf(task), shared: 0 };
}
