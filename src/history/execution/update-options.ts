/** The options of a workflow change: its priority. Its own tasks have it at once, activities and children when they start. */
import type { Draft, RunDraft } from '../draft/draft.ts';
import { changedPriority, samePriority } from '../commands/priority.ts';
import { addOptionsUpdated } from '../steps/common-events.ts';
import { findRunning, isRejected } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import { dispatchWorkflowTask, finishWorkflowTaskTasks } from '../steps/workflow-task.ts';
import type { RunView } from '../run/state.ts';
import type { PriorityChange, UpdateWorkflowOptions } from '../commands/operation-commands.ts';

export function updateWorkflowOptions(draft: Draft, { key, identity, ...change }: UpdateWorkflowOptions): HistoryReply {
  const run = findRunning(draft.shard, key);
  if (isRejected(run)) return run;
  const priority = priorityWith(draft, run, change);
  if (samePriority(priority, run.start.priority, draft.wire)) return { kind: 'workflowOptionsUpdated', priority: run.start.priority };
  const updating = draft.open(run);
  writePriority(updating, priority, identity);
  requeueWaitingTask(updating);
  return { kind: 'workflowOptionsUpdated', priority: updating.run.start.priority };
}

/** Changes a run that nobody works on yet. No event says who has asked for it, as in Temporal. */
export function changePriority(run: RunDraft, change: PriorityChange): void {
  const priority = priorityWith(run.draft, run.run, change);
  if (!samePriority(priority, run.run.start.priority, run.draft.wire)) writePriority(run, priority, '');
}

function priorityWith({ wire }: Draft, { start }: RunView, { fields, priority: change }: PriorityChange): Uint8Array | undefined {
  return fields.reduce((priority, field) => changedPriority(priority, change, field, wire), start.priority);
}

/** The event unsets a versioning override, as Temporal's does where there is none. A priority that says nothing takes the old one away. */
function writePriority(run: RunDraft, priority: Uint8Array | undefined, identity: string): void {
  addOptionsUpdated(run, { unsetVersioningOverride: true, identity, priority: priority ?? new Uint8Array(0) });
}

/** The queue of the waiting task has it by its old priority. */
function requeueWaitingTask(run: RunDraft): void {
  const { workflowTask } = run.run;
  if (workflowTask === undefined || workflowTask.startedEventId !== 0) return;
  finishWorkflowTaskTasks(run);
  run.addFact({ kind: 'workflowTaskRequeued', taskQueue: workflowTask.taskQueue });
  dispatchWorkflowTask(run);
}
