/** Whether a task from outside is for what its run has asked for: were it not, part of the work would be done here and the rest there. */
import { attributesOf } from '../run/activity-options.ts';
import type { HistoryWire } from '../run/history-replies.ts';
import { actionWorkflowId, planOf } from '../run/schedule-plan.ts';
import type { RunView } from '../run/state.ts';
import type { PendingTask } from '../run/tasks.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { shownId } from '../../kernel/shown-id.ts';

type Target = Pick<RunKey, 'namespaceId' | 'workflowId'> & { readonly runId?: string };

/** Undefined: it is, or the run says nothing of it (any more). */
export function targetProblem(run: RunView, task: PendingTask, wire: HistoryWire): string | undefined {
  switch (task.kind) {
    case 'startChild': {
      const child = run.children.get(task.initiatedEventId);
      return child === undefined ? undefined : differs(task.kind, task.target, child.attributes);
    }
    case 'closeChild': {
      const child = run.children.get(task.initiatedEventId);
      return child === undefined ? undefined : differs(task.kind, task.child, { ...child.attributes, runId: child.runId });
    }
    case 'scheduleChildFirstTask': {
      const child = [...run.children.values()].find(({ runId }) => runId === task.child.runId);
      return child === undefined ? undefined : differs(task.kind, task.child, child.attributes);
    }
    case 'signalExternal':
    case 'cancelExternal': {
      const request = (task.kind === 'signalExternal' ? run.externalSignals : run.externalCancels).get(task.initiatedEventId);
      if (request === undefined) return undefined;
      return differs(task.kind, task.target, {
        ...request.workflowExecution,
        namespaceId: request.namespaceId === '' ? run.key.namespaceId : request.namespaceId,
      });
    }
    case 'startAction': {
      const { own, key } = run;
      if (own.archetype !== 'schedule') return undefined;
      const action = own.progress.starting.find(({ startId }) => startId === task.startId);
      if (action === undefined) return undefined;
      const workflowId = actionWorkflowId(planOf(wire, key, own.definition), action.nominalTimeMs);
      return differs(task.kind, task.target, { namespaceId: key.namespaceId, workflowId });
    }
    case 'endAction':
    case 'lookAtAction': {
      if (run.own.archetype !== 'schedule') return undefined;
      const running = run.own.progress.running.find(({ startId }) => startId === task.startId);
      return running === undefined ? undefined : differs(task.kind, task.target, { ...running, namespaceId: run.key.namespaceId });
    }
    case 'notifySchedule': {
      const { scheduledBy } = run;
      return scheduledBy === undefined ? undefined : differs(task.kind, task.schedule, scheduledBy.schedule);
    }
    case 'workflowTask': {
      const { workflowTask } = run;
      return workflowTask?.stamp === task.stamp ? isElsewhere(task.kind, task.taskQueue.name, workflowTask.taskQueue.name) : undefined;
    }
    case 'activityTask': {
      const activity = run.activities.get(task.scheduledEventId);
      if (activity?.stamp !== task.stamp) return undefined;
      return isElsewhere(task.kind, task.taskQueue.name, (attributesOf(activity).taskQueue ?? run.start.taskQueue).name);
    }
    case 'notifyParent':
    case 'invokeCallback':
    case 'upsertVisibility':
    case 'userTimer':
    case 'activityTimeout':
    case 'activityRetry':
    case 'workflowTaskTimeout':
    case 'firstWorkflowTask':
    case 'runTimeout':
    case 'executionTimeout':
    case 'retention':
    case 'archiveExecution':
    case 'letterCheck':
    case 'callbackBackoff':
    case 'scheduleWake':
    case 'batchStep':
      return undefined;
    default:
      return unreachable(task);
  }
}

/** A run id that the run does not know (yet) is not compared. */
function differs(kind: string, said: Target, asked: Target): string | undefined {
  const what = `a ${kind} is for`;
  if (said.namespaceId !== asked.namespaceId) {
    return `${what} namespace ${shownId(said.namespaceId)}, and its run has asked for namespace ${shownId(asked.namespaceId)}`;
  }
  if (said.workflowId !== asked.workflowId) {
    return `${what} workflow ${shownId(said.workflowId)}, and its run has asked for workflow ${shownId(asked.workflowId)}`;
  }
  const { runId = '' } = asked;
  if (runId === '' || said.runId === runId) return undefined;
  return `${what} run ${shownId(said.runId ?? '')}, and its run has asked for run ${shownId(runId)}`;
}

function isElsewhere(kind: string, said: string, asked: string): string | undefined {
  if (said === asked) return undefined;
  return `a ${kind} is for task queue ${shownId(said)}, and its run has it in task queue ${shownId(asked)}`;
}
