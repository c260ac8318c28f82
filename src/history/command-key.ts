/** Which run a command is about: what has to be in memory before it is decided. */
import { keyToKeep } from './archival/archive.ts';
import { unreachable } from '../kernel/assert.ts';
import type { RunKey } from '../kernel/run-key.ts';
import type { HistoryCommand } from './commands.ts';
import { keyToSettle } from './shard-tasks/remove-task.ts';
import type { ShardView } from './state.ts';

/** undefined: it is about no run, or about one that the shard no longer knows. `runId` '' = the current run. */
export function commandKey(command: HistoryCommand, shard: ShardView): RunKey | undefined {
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
    case 'scheduleFirstWorkflowTask':
    case 'findChild':
    case 'startWorkflowTask':
    case 'resetStickyTaskQueue':
    case 'startActivityTask':
    case 'withdrawActivityStart':
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
    case 'describeWorkflow':
    case 'describeMutableState':
    case 'getHistoryPosition':
    case 'putAside':
    case 'executeLetter':
    case 'withdrawLetter':
    case 'addTasks':
    case 'rowRefused':
      return command.key;
    case 'completeWorkflowTask':
    case 'failWorkflowTask':
      return command.task.key;
    case 'completeActivityTask':
    case 'failActivityTask':
    case 'cancelActivityTask':
    case 'recordActivityHeartbeat':
      return command.activity.key;
    case 'recordChildClosed': {
      const { namespaceId, workflowId, runId } = command.parent;
      return { namespaceId, workflowId, runId };
    }
    case 'finishQueryDispatch':
      return command.query.key;
    case 'fireTimer':
    case 'archived':
    case 'letterChecked':
      return shard.timers.get(command.taskId)?.key;
    case 'runOutboxTask':
    case 'finishOutboxTask':
    case 'writeRow':
    case 'runCallback':
    case 'callbackAnswered':
      return shard.transfers.get(command.taskId)?.key;
    case 'handOverTask': {
      // What its task becomes is told by the run of a callback, to a schedule, and to a batch job.
      const task = shard.transfers.get(command.taskId);
      if (task?.kind === 'invokeCallback' || task?.kind === 'startAction') return task.key;
      const timer = shard.timers.get(command.taskId);
      return timer?.kind === 'scheduleWake' || timer?.kind === 'batchStep' ? timer.key : keyToKeep(timer);
    }
    case 'removeTask':
      return keyToSettle(shard, command.taskId);
    case 'flushFinishedTasks':
    case 'noteAtMatching':
    case 'noteLetters':
    case 'retireRuns':
    case 'confirmLetter':
    case 'listLetterMarks':
    case 'listTasks':
    case 'finishRow':
      return undefined;
    default:
      return unreachable(command);
  }
}
