/** The journal of a matching host: which tasks wait for a poll, and which no longer do; and how its queues are configured. */
import { fairnessKeyOf, levelOf } from './lane-name.ts';
import type { MatchingTask } from './matching-tasks.ts';
import type { ConfiguredQueue } from './task-queue-config.ts';
import { type TaskQueuePartition, type LaneName, plainLane } from '../kernel/task-queue.ts';

/** `id` is unique on its host and rises, as tasks of a lane are offered. `shared`: the lane has several keys; 0 = that of its own key. */
export type SpilledTask = { readonly id: number; readonly queue: TaskQueuePartition; readonly task: MatchingTask; readonly shared: number };

export function laneOfSpilled({ task, shared }: SpilledTask): LaneName {
  if (task.priority === undefined) return plainLane;
  return { level: levelOf(task), fairnessKey: shared === 0 ? fairnessKeyOf(task) : '', shared };
}

export type MatchingRecord = {
  readonly kind: 'backlogChanged';
  readonly timeMs: number;
  /** Found no poll: kept until started or obsolete. */
  readonly spilled: readonly SpilledTask[];
  /** Ids of tasks that were started or are obsolete. Journaled late, so after a crash some are offered once more and refused. */
  readonly removed: readonly number[];
  /** What operators have said of queues. */
  readonly configured: readonly ConfiguredQueue[];
  /** Ids of namespaces that are removed: what was configured for their queues goes. */
  readonly forgotten: readonly string[];
};
