/** What a run that is deleted leaves behind: messages that others still hear, with what they say of it. */
import { authorOf } from './reset-runs.ts';
import { childStartKey, type RunView } from './state.ts';
import type { OutboxTask, PendingTask } from './tasks.ts';

/** A child knows as its parent the run that asked for it first: where a reset run asks for it too, the message is that one's from here on. */
export function lastMessageOf(run: RunView, task: OutboxTask): OutboxTask {
  const { namespace, start } = run;
  const { workflowType, firstRunId, parent, root } = start;
  const { key } = task.kind === 'startChild' ? authorOf(run, task.initiatedEventId) : run;
  return { ...task, key, sender: { key, namespace, start: { workflowType, firstRunId, parent, root } } };
}

/** Which start has made the chain of a deleted child, if its parent has not heard of the child's end. */
export function startOfDeleted(task: PendingTask): { readonly startKey: string; readonly firstRunId: string } | undefined {
  if (task.kind !== 'notifyParent' || task.sender === undefined) return undefined;
  const { parent, firstRunId } = task.sender.start;
  return parent === undefined ? undefined : { startKey: childStartKey(parent), firstRunId };
}
