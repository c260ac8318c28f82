/** Whether what a task is for waits in its shard under another id: to add it once more would bring nothing, or the same twice. */
import { canonicalText } from '../run/canonical.ts';
import type { Draft } from '../draft/draft.ts';
import { findRun } from '../run/reject.ts';
import type { RunView } from '../run/state.ts';
import type { PendingTask } from '../run/tasks.ts';

/** The answer is memory's: a timer that is far away may be a row alone. */
export function isPendingAlready(draft: Draft, task: PendingTask): boolean {
  const { shard, finishedTaskIds } = draft;
  const run = findRun(shard, task.key);
  if (run === undefined) return false;
  const pendingOf = (taskId: number): PendingTask | undefined =>
    finishedTaskIds.has(taskId) ? undefined : (shard.transfers.get(taskId) ?? shard.timers.get(taskId) ?? shard.tasksAside.get(taskId));
  const known = knownTask(run, task);
  if (known !== undefined) return pendingOf(known)?.kind === task.kind;
  const subject = subjectOf(task);
  for (const taskId of shard.undeliveredOf(run.key.runId)) {
    const other = pendingOf(taskId);
    if (other?.kind === task.kind && subjectOf(other) === subject) return true;
  }
  return false;
}

/** Which task its run remembers (`rememberTask`); undefined: runs remember none of its kind, or it is for something else. */
function knownTask(run: RunView, task: PendingTask): number | undefined {
  switch (task.kind) {
    case 'workflowTask':
      return run.workflowTask?.dispatchTaskId;
    case 'workflowTaskTimeout':
      return run.workflowTask?.timeoutTaskId;
    case 'activityTask':
      return run.activities.get(task.scheduledEventId)?.dispatchTaskId;
    case 'activityTimeout':
    case 'activityRetry':
      return run.activities.get(task.scheduledEventId)?.timerTaskId;
    case 'userTimer':
      return run.timers.get(task.timerId)?.taskId;
    case 'startChild':
      return run.children.get(task.initiatedEventId)?.taskId;
    case 'signalExternal':
      return run.externalSignals.get(task.initiatedEventId)?.taskId;
    case 'cancelExternal':
      return run.externalCancels.get(task.initiatedEventId)?.taskId;
    case 'runTimeout':
    case 'executionTimeout':
      return run.timeoutTaskId;
    case 'firstWorkflowTask':
      return run.backoffTaskId;
    case 'scheduleWake':
      return run.own.archetype === 'schedule' ? run.own.wakeTaskId : undefined;
    case 'letterCheck':
      return run.own.archetype === 'schedule' ? run.own.letterCheckTaskId : undefined;
    case 'batchStep':
      return run.own.archetype === 'batch' ? run.own.stepTaskId : undefined;
    default:
      return undefined;
  }
}

/** All but its id, and what the run says of it anyway. */
function subjectOf(task: PendingTask): string {
  return canonicalText({ ...task, taskId: undefined, outcome: undefined, sender: undefined, parentClosePolicy: undefined });
}
