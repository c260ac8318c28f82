/** What becomes known of pending transfer tasks outside of their runs. */
import type { Draft } from '../draft/draft.ts';
import { letterAtMatching } from '../steps/redrive.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import { isDispatch } from '../run/tasks.ts';
import type { NoteAtMatching } from '../commands/task-commands.ts';

/** Tasks that are not in memory are passed over: one that was offered stays there until this is decided, so they have started or ended. */
export function noteAtMatching(draft: Draft, { taskIds }: NoteAtMatching): HistoryReply {
  for (const taskId of taskIds) {
    const task = draft.shard.transfers.get(taskId);
    if (task === undefined || !isDispatch(task) || task.atMatching === true) continue;
    draft.noteAtMatching(taskId);
    letterAtMatching(draft, taskId);
  }
  return { kind: 'done' };
}

/** Tasks that ended without a record of their own: this one carries them along, as many as it should. */
export function takeFinishedAlong(draft: Draft): void {
  let room = draft.limits.finishedTasksPerRecordMax;
  for (const taskId of draft.volatile.finished) {
    if (room === 0) return;
    if (!draft.shard.transfers.has(taskId)) continue;
    draft.finishTask(taskId);
    room--;
  }
}
