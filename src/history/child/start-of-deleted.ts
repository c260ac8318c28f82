import { childStartKey } from '../state.ts';
import type { PendingTask } from '../tasks.ts';

/** Of a deleted child whose parent has not heard of its end: which start has made the chain that it was the last run of. */
export function startOfDeleted(task: PendingTask): { readonly startKey: string; readonly firstRunId: string } | undefined {
  if (task.kind !== 'notifyParent' || task.sender === undefined) return undefined;
  const { parent, firstRunId } = task.sender.start;
  return parent === undefined ? undefined : { startKey: childStartKey(parent), firstRunId };
}
