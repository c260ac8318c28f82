/** A letter that is being executed is to be purged: its task ends, if that can have reached nobody. */
import type { Draft } from '../draft/draft.ts';
import { workflowBehind } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import { settleTaken } from './remove-task.ts';
import { type PendingTask, runsBeside } from '../run/tasks.ts';
import type { LetterMark } from '../run/letter-marks.ts';
import { busy, nameOf, noop } from '../steps/redrive.ts';
import type { WithdrawLetter } from '../commands/redrive-commands.ts';

/** Mark and task end in one record: never both withdrawn and executed. What may have left the shard is being executed, and cannot be called back. */
export function withdrawLetter(draft: Draft, { letter }: WithdrawLetter): HistoryReply {
  const mark = draft.shard.letterMarks?.get(letter);
  if (mark === undefined) return { kind: 'letterWithdrawn' };
  if (mark.letter.generation > letter.generation) return busy(`${nameOf(mark.letter)} was executed as a later generation`);
  if (mark.outcome === undefined) {
    const task = withdrawable(draft, mark);
    if (task === undefined) return busy(`${nameOf(mark.letter)} is being executed`);
    if (draft.shard.isBehind(task.key.runId)) return workflowBehind;
    draft.finishTask(mark.taskId);
    settleTaken(draft, task, 'its dead letter was purged');
    draft.endLetter({ letter: mark.letter, outcome: withdrawn });
    draft.confirmLetter(mark.letter);
    return { kind: 'letterWithdrawn' };
  }
  return mark.letter.generation === letter.generation ? { kind: 'letterExecuted', outcome: mark.outcome } : { kind: 'letterWithdrawn' };
}

const withdrawn = noop('it was withdrawn, and not executed');

/** Undefined: it may be executed. */
function withdrawable({ shard, volatile }: Draft, { taskId }: LetterMark): PendingTask | undefined {
  if (volatile.finished.has(taskId)) return undefined;
  const timer = shard.timers.get(taskId);
  // A timer fires in the mailbox, before this or never; what runs beside the shard may be under way.
  if (timer !== undefined) return runsBeside(timer) ? undefined : timer;
  return shard.unsentTasks.has(taskId) ? shard.transfers.get(taskId) : undefined;
}
