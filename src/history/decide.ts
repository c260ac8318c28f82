/** Which decision a command asks for. */
import { archived } from './archival/archive.ts';
import { batchStepped, describeBatch, startBatch, stopBatch } from './batch/batch-decisions.ts';
import { letterChecked } from './execution/end-of-run.ts';
import { unreachable } from '../kernel/assert.ts';
import { callbackAnswered, runCallback } from './callback/attempt.ts';
import { startActivityTask, withdrawActivityStart } from './activity/activity-task.ts';
import { cancelActivityTask, completeActivityTask, failActivityTask, recordActivityHeartbeat } from './activity/activity-close.ts';
import { pauseActivity, resetActivity, unpauseActivity, updateActivityOptions } from './activity/operate-activity.ts';
import { requestCancelWorkflow, scheduleFirstWorkflowTask, terminateWorkflow } from './execution/cancel-terminate.ts';
import { findChild, recordChildClosed } from './child/child-outcomes.ts';
import type { HistoryCommand } from './commands.ts';
import type { NoteAtMatching } from './transfer/transfer-commands.ts';
import { completeWorkflowTask } from './workflow-task/complete.ts';
import { deleteWorkflow } from './execution/delete.ts';
import { describeMutableState, describeWorkflow, getHistoryPosition } from './execution/describe.ts';
import { handOverTask, noteLetters } from './hand-over/hand-over.ts';
import type { Draft } from './draft.ts';
import { failWorkflowTask, resetStickyTaskQueue } from './workflow-task/fail-workflow-task.ts';
import { finishOutboxTask, runOutboxTask } from './outbox/outbox.ts';
import { pauseWorkflow, unpauseWorkflow } from './pause/pause-workflow.ts';
import { putAside } from './execution/put-aside.ts';
import { updateWorkflowOptions } from './execution/update-options.ts';
import { finishRow, rowRefused, writeRow } from './execution/refused-row.ts';
import { retireRuns } from './execution/retire.ts';
import { finishQueryDispatch } from './query/direct-query.ts';
import { queryWorkflow } from './query/query.ts';
import type { HistoryReply } from './replies.ts';
import { dropReset, prepareReset } from './reset/prepare-reset.ts';
import { resetWorkflow } from './reset/reset-workflow.ts';
import { refusedAsNoWorkflow } from './execution/not-a-workflow.ts';
import {
  createSchedule,
  deleteSchedule,
  describeSchedule,
  patchSchedule,
  recordActionClosed,
  startsChecked,
  updateSchedule,
} from './schedule/schedule-decisions.ts';
import { signalWorkflow } from './signal/signal.ts';
import { startWorkflow, signalWithStartWorkflow } from './execution/start.ts';
import { fireTimer } from './timer/fire-timer.ts';
import { isDispatch } from './tasks.ts';
import { addTasks } from './shard-tasks/add-tasks.ts';
import { listTasks } from './shard-tasks/list-tasks.ts';
import { removeTask } from './shard-tasks/remove-task.ts';
import { confirmLetter, executeLetter, letterAtMatching, listLetterMarks } from './redrive/redrive.ts';
import { withdrawLetter } from './redrive/withdraw-letter.ts';
import { pollUpdate, startAndUpdate, updateWorkflow } from './update/admit-update.ts';
import { endSpeculative } from './workflow-task/end-speculative.ts';
import { startWorkflowTask } from './workflow-task/start-workflow-task.ts';

/** undefined: the answer comes later. */
export function decide(draft: Draft, command: HistoryCommand): HistoryReply | undefined {
  const refused = refusedAsNoWorkflow(command);
  if (refused !== undefined) return refused;
  switch (command.kind) {
    case 'startWorkflow':
      return startWorkflow(draft, command);
    case 'signalWithStartWorkflow':
      return signalWithStartWorkflow(draft, command);
    case 'startAndUpdate':
      return startAndUpdate(draft, command);
    case 'updateWorkflow':
      return updateWorkflow(draft, command);
    case 'pollUpdate':
      return pollUpdate(draft, command);
    case 'endSpeculative':
      return endSpeculative(draft, command);
    case 'signalWorkflow':
      return signalWorkflow(draft, command);
    case 'requestCancelWorkflow':
      return requestCancelWorkflow(draft, command);
    case 'terminateWorkflow':
      return terminateWorkflow(draft, command);
    case 'deleteWorkflow':
      return deleteWorkflow(draft, command);
    case 'scheduleFirstWorkflowTask':
      return scheduleFirstWorkflowTask(draft, command);
    case 'findChild':
      return findChild(draft, command);
    case 'startWorkflowTask':
      return startWorkflowTask(draft, command);
    case 'completeWorkflowTask':
      return completeWorkflowTask(draft, command);
    case 'failWorkflowTask':
      return failWorkflowTask(draft, command);
    case 'resetStickyTaskQueue':
      return resetStickyTaskQueue(draft, command);
    case 'startActivityTask':
      return startActivityTask(draft, command);
    case 'withdrawActivityStart':
      return withdrawActivityStart(draft, command);
    case 'completeActivityTask':
      return completeActivityTask(draft, command);
    case 'failActivityTask':
      return failActivityTask(draft, command);
    case 'cancelActivityTask':
      return cancelActivityTask(draft, command);
    case 'recordActivityHeartbeat':
      return recordActivityHeartbeat(draft, command);
    case 'pauseActivity':
      return pauseActivity(draft, command);
    case 'unpauseActivity':
      return unpauseActivity(draft, command);
    case 'resetActivity':
      return resetActivity(draft, command);
    case 'updateActivityOptions':
      return updateActivityOptions(draft, command);
    case 'createSchedule':
      return createSchedule(draft, command);
    case 'updateSchedule':
      return updateSchedule(draft, command);
    case 'patchSchedule':
      return patchSchedule(draft, command);
    case 'deleteSchedule':
      return deleteSchedule(draft, command);
    case 'describeSchedule':
      return describeSchedule(draft, command);
    case 'startBatch':
      return startBatch(draft, command);
    case 'stopBatch':
      return stopBatch(draft, command);
    case 'describeBatch':
      return describeBatch(draft, command);
    case 'batchStepped':
      return batchStepped(draft, command);
    case 'recordActionClosed':
      return recordActionClosed(draft, command);
    case 'pauseWorkflow':
      return pauseWorkflow(draft, command);
    case 'unpauseWorkflow':
      return unpauseWorkflow(draft, command);
    case 'updateWorkflowOptions':
      return updateWorkflowOptions(draft, command);
    case 'resetWorkflow':
      return resetWorkflow(draft, command);
    case 'prepareReset':
      return prepareReset(draft, command);
    case 'dropReset':
      return dropReset(draft, command);
    case 'queryWorkflow':
      return queryWorkflow(draft, command);
    case 'finishQueryDispatch':
      return finishQueryDispatch(draft, command);
    case 'describeWorkflow':
      return describeWorkflow(draft, command);
    case 'describeMutableState':
      return describeMutableState(draft, command);
    case 'getHistoryPosition':
      return getHistoryPosition(draft, command);
    case 'fireTimer':
      return fireTimer(draft, command);
    case 'archived':
      return archived(draft, command);
    case 'letterChecked':
      return startsChecked(draft, command) ?? letterChecked(draft, command);
    case 'runOutboxTask':
      return runOutboxTask(draft, command);
    case 'finishOutboxTask':
      return finishOutboxTask(draft, command);
    case 'recordChildClosed':
      return recordChildClosed(draft, command);
    case 'retireRuns':
      return retireRuns(draft, command);
    case 'putAside':
      return putAside(draft, command);
    case 'flushFinishedTasks':
      // `handle` puts them into every record; here they are the record.
      takeFinishedAlong(draft);
      return { kind: 'done' };
    case 'noteAtMatching':
      return noteAtMatching(draft, command);
    case 'runCallback':
      return runCallback(draft, command);
    case 'callbackAnswered':
      return callbackAnswered(draft, command);
    case 'handOverTask':
      return handOverTask(draft, command);
    case 'noteLetters':
      return noteLetters(draft, command);
    case 'executeLetter':
      return executeLetter(draft, command);
    case 'confirmLetter':
      return confirmLetter(draft, command);
    case 'withdrawLetter':
      return withdrawLetter(draft, command);
    case 'listLetterMarks':
      return listLetterMarks(draft, command);
    case 'listTasks':
      return listTasks(draft, command);
    case 'removeTask':
      return removeTask(draft, command);
    case 'addTasks':
      return addTasks(draft, command);
    case 'rowRefused':
      return rowRefused(draft, command);
    case 'writeRow':
      return writeRow(draft, command);
    case 'finishRow':
      return finishRow(draft, command);
    default:
      return unreachable(command);
  }
}

/** Of those that are in memory. A task that was offered stays there until this is decided; one that is not there has started or ended. */
function noteAtMatching(draft: Draft, { taskIds }: NoteAtMatching): HistoryReply {
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
