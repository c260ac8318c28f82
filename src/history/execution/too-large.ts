/**
 * A command whose record would be larger than the journal takes. As in Temporal, the transaction's size limit ends the run: what cannot be
 * written now could not be written at the next attempt either. What a caller asks from outside is refused instead, and harms nobody.
 */
import { unreachable } from '../../kernel/assert.ts';
import { finishStartChild } from '../child/child-outcomes.ts';
import { terminateByServer } from './close.ts';
import { commandKey } from '../command-key.ts';
import type { HistoryCommand } from '../commands.ts';
import type { Draft } from '../draft.ts';
import { findRun, rejectInvalid } from '../reject.ts';
import type { HistoryReply } from '../replies.ts';
import { isRunning } from '../state.ts';

const reason = 'Transaction size exceeds limit.';

/** undefined: the command is refused, and nothing changes. */
export function endTooLarge(draft: Draft, command: HistoryCommand): HistoryReply | undefined {
  switch (command.kind) {
    case 'startWorkflow':
    case 'signalWithStartWorkflow':
    case 'startAndUpdate':
    case 'updateWorkflow':
    case 'pollUpdate':
    case 'endSpeculative':
    case 'signalWorkflow':
    case 'requestCancelWorkflow':
    case 'terminateWorkflow':
    case 'deleteWorkflow':
    case 'findChild':
    case 'resetStickyTaskQueue':
    case 'pauseActivity':
    case 'unpauseActivity':
    case 'resetActivity':
    case 'updateActivityOptions':
    case 'pauseWorkflow':
    case 'unpauseWorkflow':
    case 'updateWorkflowOptions':
    case 'resetWorkflow':
    case 'prepareReset':
    case 'dropReset':
    case 'createSchedule':
    case 'updateSchedule':
    case 'patchSchedule':
    case 'deleteSchedule':
    case 'describeSchedule':
    case 'startBatch':
    case 'stopBatch':
    case 'describeBatch':
    case 'batchStepped':
    case 'recordActionClosed':
    case 'queryWorkflow':
    case 'finishQueryDispatch':
    case 'describeWorkflow':
    case 'describeMutableState':
    case 'getHistoryPosition':
    case 'flushFinishedTasks':
    case 'noteAtMatching':
    case 'handOverTask':
    case 'noteLetters':
    case 'retireRuns':
    case 'archived':
    case 'letterChecked':
    case 'executeLetter':
    case 'confirmLetter':
    case 'withdrawLetter':
    case 'listLetterMarks':
    case 'runOutboxTask':
    case 'runCallback':
    case 'callbackAnswered':
    case 'putAside':
    case 'rowRefused':
    case 'writeRow':
    case 'finishRow':
      return undefined;
    case 'startWorkflowTask':
    case 'completeWorkflowTask':
    case 'failWorkflowTask':
    case 'startActivityTask':
    case 'completeActivityTask':
    case 'failActivityTask':
    case 'cancelActivityTask':
    case 'recordActivityHeartbeat':
      return endRun(draft, command) ? rejectInvalid(reason) : undefined;
    case 'scheduleFirstWorkflowTask':
    case 'withdrawActivityStart':
    case 'recordChildClosed':
      return endRun(draft, command) ? { kind: 'done' } : undefined;
    case 'fireTimer':
      if (!endRun(draft, command)) return undefined;
      draft.finishTask(command.taskId);
      return { kind: 'done' };
    case 'finishOutboxTask': {
      const task = draft.shard.transfers.get(command.taskId);
      const run = task === undefined ? undefined : findRun(draft.shard, task.key);
      if (task === undefined || run === undefined || !endRun(draft, command)) return undefined;
      draft.finishTask(command.taskId);
      if (task.kind === 'startChild') finishStartChild(draft.open(run), task, command.outcome);
      return { kind: 'done' };
    }
    // Its tasks are refused together.
    case 'addTasks':
    case 'listTasks':
    case 'removeTask':
      return undefined;
    default:
      return unreachable(command);
  }
}

function endRun(draft: Draft, command: HistoryCommand): boolean {
  const key = commandKey(command, draft.shard);
  const run = key === undefined ? undefined : findRun(draft.shard, key);
  if (run === undefined || !isRunning(run) || run.start.archetype !== 'workflow') return false;
  terminateByServer(draft.open(run), reason);
  return true;
}
