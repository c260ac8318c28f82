/** What is asked of workflows is not for schedules, whose runs are kept beside theirs under ids that no workflow has. */
import { isSchedules } from '../../schedules/schedule-id.ts';
import type { HistoryCommand } from '../commands.ts';
import { reject, workflowNotFound } from '../reject.ts';
import type { Rejected } from '../replies.ts';

/** undefined: the command is decided as it is. */
export function refusedForSchedule(command: HistoryCommand): Rejected | undefined {
  switch (command.kind) {
    // The edge refuses the id; a parent that asks for such a child gets none.
    case 'startWorkflow':
      return isSchedules(command.key) ? reservedId(command.key.workflowId) : undefined;
    case 'signalWithStartWorkflow':
    case 'updateWorkflow':
    case 'pollUpdate':
    case 'signalWorkflow':
    case 'requestCancelWorkflow':
    case 'terminateWorkflow':
    case 'deleteWorkflow':
    case 'resetWorkflow':
    case 'resetStickyTaskQueue':
    case 'queryWorkflow':
    case 'describeWorkflow':
    case 'getHistoryPosition':
    case 'pauseActivity':
    case 'unpauseActivity':
    case 'resetActivity':
    case 'updateActivityOptions':
      return isSchedules(command.key) ? workflowNotFound(command.key) : undefined;
    default:
      return undefined;
  }
}

function reservedId(workflowId: string): Rejected {
  const message = `the workflow id ${workflowId} is a schedule's`;
  return reject({ reason: 'already-started', message, startRequestId: '', runId: '', firstExecutionRunId: '' });
}
