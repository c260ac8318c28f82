/** What is asked of workflows is not for schedules and batch jobs, whose runs are kept beside theirs under ids that no workflow has. */
import { isBatchJobs } from '../../batches/job-id.ts';
import { isSchedules } from '../../schedules/schedule-id.ts';
import type { HistoryCommand } from '../commands.ts';
import { reject, workflowNotFound } from '../reject.ts';
import type { Rejected } from '../replies.ts';

/** undefined: the command is decided as it is. */
export function refusedAsNoWorkflow(command: HistoryCommand): Rejected | undefined {
  switch (command.kind) {
    // The edge refuses the id; a parent that asks for such a child gets none.
    case 'startWorkflow':
      return isNoWorkflows(command.key) ? reservedId(command.key.workflowId) : undefined;
    case 'signalWithStartWorkflow':
    case 'updateWorkflow':
    case 'pollUpdate':
    case 'signalWorkflow':
    case 'requestCancelWorkflow':
    case 'terminateWorkflow':
    case 'deleteWorkflow':
    case 'pauseWorkflow':
    case 'unpauseWorkflow':
    case 'updateWorkflowOptions':
    case 'resetWorkflow':
    case 'resetStickyTaskQueue':
    case 'queryWorkflow':
    case 'describeWorkflow':
    case 'getHistoryPosition':
    case 'pauseActivity':
    case 'unpauseActivity':
    case 'resetActivity':
    case 'updateActivityOptions':
      return isNoWorkflows(command.key) ? workflowNotFound(command.key) : undefined;
    default:
      return undefined;
  }
}

type Named = { readonly workflowId: string };

function isNoWorkflows(key: Named): boolean {
  return isSchedules(key) || isBatchJobs(key);
}

function reservedId(workflowId: string): Rejected {
  const message = `the workflow id ${workflowId} is a ${isSchedules({ workflowId }) ? 'schedule' : 'batch job'}'s`;
  return reject({ reason: 'already-started', message, startRequestId: '', runId: '', firstExecutionRunId: '' });
}
