/** What is asked of workflows is not for schedules and batch jobs, whose runs are kept beside theirs under ids that no workflow has. */
import { isBatchJobs } from '../../batches/job-id.ts';
import { unreachable } from '../../kernel/assert.ts';
import { isSchedules } from '../../schedules/schedule-id.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryCommand } from '../commands.ts';
import { activityNotFound, reject, workflowNotFound } from '../reject.ts';
import type { HistoryReply, Rejected } from '../replies.ts';

/** undefined: the command is decided as it is. Whoever adds a command says here whether it is for workflows alone. */
export function refusedAsNoWorkflow(command: HistoryCommand): HistoryReply | undefined {
  switch (command.kind) {
    // The edge refuses the id; a parent that asks for such a child gets none.
    case 'startWorkflow':
      return isNoWorkflows(command.key) ? reservedId(command.key.workflowId) : undefined;
    case 'startAndUpdate': {
      const { key } = command.start;
      return isNoWorkflows(key) ? { kind: 'startRefused', rejection: reservedId(key.workflowId).rejection } : undefined;
    }
    case 'signalWithStartWorkflow':
    case 'updateWorkflow':
    case 'pollUpdate':
    case 'signalWorkflow':
    case 'requestCancelWorkflow':
    case 'terminateWorkflow':
    case 'pauseWorkflow':
    case 'unpauseWorkflow':
    case 'updateWorkflowOptions':
    case 'resetWorkflow':
    case 'prepareReset':
    case 'dropReset':
    case 'resetStickyTaskQueue':
    case 'queryWorkflow':
    case 'describeWorkflow':
    case 'getHistoryPosition':
    case 'pauseActivity':
    case 'unpauseActivity':
    case 'resetActivity':
    case 'updateActivityOptions':
    case 'scheduleFirstWorkflowTask':
    case 'findChild':
      return notFoundIn(command.key);
    case 'deleteWorkflow':
      return command.isPurge === true ? undefined : notFoundIn(command.key);
    case 'completeActivityTask':
    case 'failActivityTask':
    case 'cancelActivityTask':
    case 'recordActivityHeartbeat': {
      const { key, scheduledEventId } = command.activity;
      const isByToken = scheduledEventId !== 0;
      return isByToken && isNoWorkflows(key) ? activityNotFound : notFoundIn(key);
    }
    // Of tasks for workers, which only workflows have: what is asked names a task, and finds none.
    case 'startWorkflowTask':
    case 'completeWorkflowTask':
    case 'failWorkflowTask':
    case 'endSpeculative':
    case 'startActivityTask':
    case 'withdrawActivityStart':
    case 'finishQueryDispatch':
    case 'noteAtMatching':
      return undefined;
    // Of schedules and batch jobs.
    case 'createSchedule':
    case 'updateSchedule':
    case 'patchSchedule':
    case 'deleteSchedule':
    case 'describeSchedule':
    case 'recordActionClosed':
    case 'startBatch':
    case 'stopBatch':
    case 'describeBatch':
    case 'batchStepped':
      return undefined;
    // What operators and the shard itself ask of any run; a child tells a parent that its events name.
    case 'describeMutableState':
    case 'recordChildClosed':
    case 'fireTimer':
    case 'archived':
    case 'letterChecked':
    case 'runOutboxTask':
    case 'finishOutboxTask':
    case 'flushFinishedTasks':
    case 'runCallback':
    case 'callbackAnswered':
    case 'handOverTask':
    case 'noteLetters':
    case 'executeLetter':
    case 'confirmLetter':
    case 'withdrawLetter':
    case 'listLetterMarks':
    case 'listTasks':
    case 'removeTask':
    case 'addTasks':
    case 'retireRuns':
    case 'putAside':
    case 'rowRefused':
    case 'writeRow':
    case 'finishRow':
      return undefined;
    default:
      return unreachable(command);
  }
}

type Named = { readonly workflowId: string };

function notFoundIn(key: RunKey): Rejected | undefined {
  return isNoWorkflows(key) ? workflowNotFound(key) : undefined;
}

function isNoWorkflows(key: Named): boolean {
  return isSchedules(key) || isBatchJobs(key);
}

function reservedId(workflowId: string): Rejected {
  const message = `the workflow id ${workflowId} is a ${isSchedules({ workflowId }) ? 'schedule' : 'batch job'}'s`;
  return reject({ reason: 'already-started', message, startRequestId: '', runId: '', firstExecutionRunId: '' });
}
