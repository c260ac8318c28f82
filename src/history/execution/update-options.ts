/**
 * The options of a workflow change: its priority. Its own tasks have it at once, the one that waits too, as another task; what its activities and
 * children take of it they take when they are dispatched or started.
 */
import type { Draft, RunDraft } from '../draft.ts';
import { changedPriority, samePriority } from '../priority.ts';
import { findRunning, isRejected } from '../reject.ts';
import type { HistoryReply } from '../replies.ts';
import { dispatchWorkflowTask, finishWorkflowTaskTasks } from '../workflow-task/workflow-task.ts';
import type { UpdateWorkflowOptions } from './options-commands.ts';

export function updateWorkflowOptions(draft: Draft, { key, fields, priority: change, identity }: UpdateWorkflowOptions): HistoryReply {
  const run = findRunning(draft.shard, key);
  if (isRejected(run)) return run;
  let { priority } = run.start;
  for (const field of fields) priority = changedPriority(priority, change, field, draft.wire);
  if (samePriority(priority, run.start.priority, draft.wire)) return { kind: 'workflowOptionsUpdated', priority: run.start.priority };
  const updating = draft.open(run);
  updating.addOrBuffer(
    'workflowExecutionOptionsUpdated',
    {
      versioningOverride: undefined,
      // As Temporal says it of all workflows that have none.
      unsetVersioningOverride: true,
      attachedRequestId: '',
      attachedCompletionCallbacks: [],
      identity,
      // One that says nothing takes the old one away.
      priority: priority ?? noPriority,
      timeSkippingConfig: undefined,
      workflowUpdateOptions: [],
      timeSkippingConfigUpdated: false,
    },
    { workerMayIgnore: true },
  );
  requeueWaitingTask(updating);
  return { kind: 'workflowOptionsUpdated', priority: updating.run.start.priority };
}

const noPriority = new Uint8Array(0);

/** Its queue has it by its old priority. */
function requeueWaitingTask(run: RunDraft): void {
  const { workflowTask } = run.run;
  if (workflowTask === undefined || workflowTask.startedEventId !== 0) return;
  finishWorkflowTaskTasks(run);
  run.addFact({ kind: 'workflowTaskRequeued', taskQueue: workflowTask.taskQueue });
  dispatchWorkflowTask(run);
}
