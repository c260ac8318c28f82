/**
 * Tasks from outside, into normal processing: as those of letters are executed again (src/history/redrive), but nobody waits for what comes of
 * them, and one that fails for good becomes a letter like any other.
 */
import type { Draft } from '../draft.ts';
import { overtakenBy, pendingAgain, stopRetention } from '../redrive/redrive.ts';
import { reject, workflowBehind } from '../reject.ts';
import type { HistoryReply } from '../replies.ts';
import type { PendingTask } from '../tasks.ts';
import type { AddTasks } from './shard-task-commands.ts';

/** One that has nothing left to do is not added. */
export function addTasks(draft: Draft, { key, tasks }: AddTasks): HistoryReply {
  const { shard, wire, nowMs } = draft;
  if (shard.aside.has(key.runId)) return reject({ reason: 'busy-workflow', message: 'the workflow of the tasks was put aside' });
  if (shard.isBehind(key.runId)) return workflowBehind;
  for (const [index, bytes] of tasks.entries()) {
    const task = wire.decodeTask(bytes);
    if (overtakenBy(draft, task) !== undefined) continue;
    if (task.kind === 'invokeCallback') stopRetention(draft, task);
    addTask(draft, index, pendingAgain(task, draft.nextTaskId(), nowMs));
  }
  return { kind: 'done' };
}

/** Queues count from 1. */
const NO_QUEUE = 0;

/** A letter that is begun, ended and confirmed in one record: its task waits, and no mark does. */
function addTask(draft: Draft, index: number, task: PendingTask): void {
  const letter = { queue: NO_QUEUE, messageId: index, generation: 0 };
  draft.beginLetter({ letter, task });
  draft.endLetter({ letter, outcome: { kind: 'applied' } });
  draft.confirmLetter(letter);
}
