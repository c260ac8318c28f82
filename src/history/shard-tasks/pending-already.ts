/** Whether what a task is for waits in its shard under another id: to add it once more would bring nothing, or the same twice. */
import type { Draft } from '../draft.ts';
import { findRun } from '../reject.ts';
import type { RunView } from '../state.ts';
import type { PendingTask } from '../tasks.ts';

/** As far as memory tells: a timer that is far away may be a row alone. */
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
    if (other !== undefined && subjectOf(other) === subject) return true;
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
      return run.schedule?.wakeTaskId;
    case 'letterCheck':
      return run.schedule?.letterCheckTaskId;
    case 'batchStep':
      return run.batch?.stepTaskId;
    default:
      return undefined;
  }
}

/** All but its id, and what the run says of it anyway. */
function subjectOf(task: PendingTask): string {
  const { taskId: _, ...rest } = task;
  return JSON.stringify(rest, (name, value: unknown) =>
    name === 'outcome' || name === 'sender' || name === 'parentClosePolicy' ? undefined : value,
  );
}
