import { unreachable } from '../kernel/assert.ts';
import type { DeadlineHeap } from './deadline-heap.ts';
import type { DueNode } from './loaded-queue.ts';
import type { Removals } from './removals.ts';

/**
 * The clock was set back, by hand or by a time service after a wrong start. Whatever waits, waits as long as it would have: else a task whose shard
 * did not answer for a moment, or a partition that leaves its parent alone for a second, would wait for the whole step.
 *
 * A host goes by the wall clock, for the deadlines of callers do, and the times at which tasks expire. Those of calls that come from now on are by
 * the new time; of those that are here both move. `byMs`: from the last command to this one, so what has passed between them is waited for again:
 * 30 s at most, for somebody looks at the clock that often.
 */
export function setBack(deadlines: DeadlineHeap<DueNode>, removals: Removals, byMs: number): void {
  removals.setBack(byMs);
  deadlines.setBack(byMs, (node) => {
    switch (node.node) {
      case 'poll':
        node.deadlineMs -= byMs;
        return;
      case 'offer':
        if (node.holdUntilMs !== 0) node.holdUntilMs -= byMs;
        return;
      case 'query':
        return;
      case 'queue':
        // Each that is loaded has a deadline.
        return node.setBack(byMs);
      default:
        return unreachable(node);
    }
  });
}
