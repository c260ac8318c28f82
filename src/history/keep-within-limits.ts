/** The last step of every decision: too many buffered events end the workflow task, too large a history or state ends the run. */
import { terminateByServer } from './steps/close.ts';
import type { RunDraft } from './draft/draft.ts';
import { writeWorkflowTaskFailed } from './workflow-task/workflow-task-ends.ts';
import { isRunning, type RunView } from './run/state.ts';
import { workflowTaskFailedCause } from './generated/enums.ts';
import { scheduleWorkflowTask } from './steps/workflow-task.ts';

/** A run in preparation can end nothing; it is looked at once it is there. */
export function keepWithinLimits(run: RunDraft): void {
  if (!isRunning(run.run) || run.run.preparation !== undefined) return;
  const { limits } = run.draft;
  const { buffered, bufferedBytes } = run.run;
  if (buffered.length > limits.bufferedEventsMax || bufferedBytes > limits.bufferedBytesMax) endBuffering(run);
  if (run.run.historySizeBytes > limits.historyBytesMax) terminateByServer(run, 'Workflow history size exceeds limit.');
  else if (run.run.nextEventId - 1 > limits.historyEventsMax) terminateByServer(run, 'Workflow history count exceeds limit.');
  else if (mutableStateBytes(run.run) > limits.mutableStateBytesMax) terminateByServer(run, 'Workflow mutable state size exceeds limit.');
}

function mutableStateBytes({ attemptBytes, bufferedBytes, memo, searchAttributes }: RunView): number {
  return attemptBytes + bufferedBytes + (memo?.length ?? 0) + (searchAttributes?.length ?? 0);
}

/** Too many events are buffered: the started workflow task fails, and the next one brings them to a worker. */
function endBuffering(run: RunDraft): void {
  const { forceCloseCommand: cause } = workflowTaskFailedCause;
  writeWorkflowTaskFailed(run, { cause, failure: undefined, identity: 'history-service', binaryChecksum: '' });
  scheduleWorkflowTask(run);
}
