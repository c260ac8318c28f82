/** Tasks whose start is committed: from history to whoever polled, and through matching. */
import type { StartedTask } from '../../actors/asks/router.ts';
import type { StartedActivityTask, StartedWorkflowTask } from '../../history/run/history-replies.ts';
import type * as wire from '../../wire/generated/peer/started_task.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { CompleteWithin } from '../../wire/as-core.ts';
import { WireError } from '../../wire/wire-error.ts';

export function workflowTaskToWire(task: StartedWorkflowTask): wire.StartedWorkflowTask {
  return { ...task, firstPage: task.firstPage && { items: task.firstPage } };
}

export function workflowTaskFromWire(task: wire.StartedWorkflowTask): CompleteWithin<StartedWorkflowTask> {
  return { ...task, kind: 'workflowTask', firstPage: task.firstPage?.items };
}

export function activityTaskFromWire(task: wire.StartedActivityTask): StartedActivityTask {
  return { ...task, kind: 'activityTask' };
}

type EitherTask = {
  readonly workflowTask: wire.StartedWorkflowTask | undefined;
  readonly activityTask: wire.StartedActivityTask | undefined;
};

export function startedTaskToWire(task: StartedTask): EitherTask {
  switch (task.kind) {
    case 'workflowTask':
      return { workflowTask: workflowTaskToWire(task), activityTask: undefined };
    case 'activityTask':
      return { workflowTask: undefined, activityTask: task };
    default:
      return unreachable(task);
  }
}

export function startedTaskFromWire({ workflowTask, activityTask }: EitherTask): StartedTask {
  if (workflowTask !== undefined) return workflowTaskFromWire(workflowTask);
  if (activityTask !== undefined) return activityTaskFromWire(activityTask);
  throw new WireError('a started task of a kind that this version does not know');
}
