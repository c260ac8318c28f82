/** What every part of one matching host works with. */
import type { DeadlineHeap } from './deadline-heap.ts';
import type { Decision } from './decision.ts';
import type { MatchingLimits } from './limits.ts';
import type { DueNode, LoadedQueue } from './loaded-queue.ts';

export type HostParts<T> = {
  readonly decision: Decision<T>;
  readonly deadlines: DeadlineHeap<DueNode>;
  readonly limits: MatchingLimits;
};

/** Has the queue looked at when its next time comes. */
export function armQueue<T>({ deadlines, limits }: HostParts<T>, queue: LoadedQueue): void {
  deadlines.set(queue, queue.nextDueMs(limits.queueIdleMs));
}
