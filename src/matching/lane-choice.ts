/**
 * In which lane a task goes. Each lane takes memory, and rows are read for it: so there are as many as limits say, of a queue and of a host, and the
 * keys beyond share some. Where a queue has too many, eight of each level by the key's hash: a flood of one key holds up an eighth of those. Where
 * the host has too many, one; but each namespace has its even share of those of the host.
 */
import { type LaneName, laneKey } from '../kernel/task-queue.ts';
import { fingerprint32 } from '../kernel/fingerprint.ts';
import type { Backlog } from './backlog.ts';
import { ownLane } from './lane-name.ts';
import type { MatchingLimits } from './matching-limits.ts';
import type { LoadedQueue } from './loaded-queue.ts';
import type { MatchingTask } from './matching-tasks.ts';

export function laneFor(queue: LoadedQueue, task: MatchingTask, backlog: Backlog, limits: MatchingLimits): LaneName {
  const own = ownLane(task);
  const { level, fairnessKey } = own;
  if (fairnessKey === '') return own;
  if (queue.lanes.find(laneKey(queue.queue, own))?.isInUse === true) return own;
  if (!backlog.keyedLanes.hasRoom(queue.queue.namespaceId, limits.keyedLanesPerHostMax)) return { level, fairnessKey: '', shared: 1 };
  if (queue.lanes.keyed < limits.keyedLanesPerQueueMax) return own;
  return { level, fairnessKey: '', shared: 1 + (fingerprint32(fairnessKey) % limits.sharedLanesPerLevel) };
}
