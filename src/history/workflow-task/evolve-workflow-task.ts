/** What events and facts do to the pending workflow task, and to stickiness. */
import { assert, unreachable } from '../../kernel/assert.ts';
import type { HistoryEvent } from '../events.ts';
import type { Fact } from '../record.ts';
import type { Run } from '../state.ts';
import { timeoutType, workflowTaskFailedCause } from '../generated/enums.ts';
import { scheduledWorkflowTask } from './scheduled-task.ts';

type WorkflowTaskEvent = Extract<HistoryEvent, { readonly type: `workflowTask${string}` }>;
type WorkflowTaskFact = Extract<Fact, { readonly kind: `workflowTask${string}` | `sticky${string}` }>;

export function evolveWorkflowTask(run: Run, event: WorkflowTaskEvent): void {
  switch (event.type) {
    case 'workflowTaskScheduled': {
      const a = event.attributes;
      run.workflowTaskStamp++;
      run.backoffTaskId = 0;
      run.workflowTaskAttempt = a.attempt;
      run.workflowTask = scheduledWorkflowTask({
        kind: 'normal',
        scheduledEventId: event.eventId,
        stamp: run.workflowTaskStamp,
        attempt: a.attempt,
        scheduledTimeMs: event.eventTimeMs,
        taskQueue: a.taskQueue ?? run.start.taskQueue,
        startToCloseTimeoutMs: a.startToCloseTimeoutMs,
      });
      return;
    }
    case 'workflowTaskStarted': {
      const a = event.attributes;
      if (run.workflowTask === undefined) return;
      run.workflowTask = {
        ...run.workflowTask,
        startedEventId: event.eventId,
        startedTimeMs: event.eventTimeMs,
        requestId: a.requestId,
        identity: a.identity,
        historySizeBytes: a.historySizeBytes,
        suggestContinueAsNewReasons: a.suggestContinueAsNewReasons,
        dispatchTaskId: 0,
        timeoutTaskId: 0,
      };
      return;
    }
    case 'workflowTaskCompleted':
      run.previousStartedEventId = event.attributes.startedEventId;
      run.workflowTask = undefined;
      run.workflowTaskAttempt = 1;
      run.closeAttempted = false;
      return;
    case 'workflowTaskFailed':
      // What goes on from there is no repetition.
      endFailedWorkflowTask(run, event.attributes.cause !== workflowTaskFailedCause.resetWorkflow);
      run.closeAttempted = event.attributes.cause === workflowTaskFailedCause.unhandledCommand;
      return;
    case 'workflowTaskTimedOut':
      endFailedWorkflowTask(run, event.attributes.timeoutType !== timeoutType.scheduleToStart);
      return;
    default:
      return unreachable(event);
  }
}

export function evolveWorkflowTaskFact(run: Run, fact: WorkflowTaskFact, nowMs: number): void {
  switch (fact.kind) {
    case 'workflowTaskScheduled':
      run.workflowTaskStamp++;
      run.workflowTask = scheduledWorkflowTask({
        kind: 'transient',
        scheduledEventId: fact.scheduledEventId,
        stamp: run.workflowTaskStamp,
        attempt: fact.attempt,
        scheduledTimeMs: nowMs,
        taskQueue: fact.taskQueue,
        startToCloseTimeoutMs: fact.startToCloseTimeoutMs,
      });
      return;
    case 'workflowTaskHeartbeat':
      assert(run.workflowTask !== undefined, 'a heartbeat needs the task that continues it');
      run.workflowTask = { ...run.workflowTask, originalScheduledTimeMs: fact.originalScheduledTimeMs };
      return;
    case 'workflowTaskStarted':
      assert(run.workflowTask !== undefined, 'only a scheduled task can start');
      run.workflowTask = {
        ...run.workflowTask,
        startedEventId: run.workflowTask.scheduledEventId + 1,
        startedTimeMs: nowMs,
        requestId: fact.requestId,
        identity: fact.identity,
        historySizeBytes: fact.historySizeBytes,
        suggestContinueAsNewReasons: fact.suggestContinueAsNewReasons,
        dispatchTaskId: 0,
        timeoutTaskId: 0,
      };
      return;
    case 'workflowTaskFailed':
      endFailedWorkflowTask(run, true);
      run.closeAttempted = fact.unhandledCommand;
      return;
    case 'workflowTaskRequeued':
      assert(run.workflowTask !== undefined, 'only a scheduled task can move');
      run.workflowTaskStamp++;
      run.workflowTask = {
        ...run.workflowTask,
        stamp: run.workflowTaskStamp,
        taskQueue: fact.taskQueue,
        dispatchTaskId: 0,
        timeoutTaskId: 0,
      };
      return;
    case 'stickySet':
      run.sticky = fact.sticky;
      return;
    case 'stickyCleared':
      run.sticky = undefined;
      return;
    default:
      return unreachable(fact);
  }
}

/**
 * A failed or timed-out attempt on a sticky queue costs only the stickiness; on the normal queue it makes the next one transient.
 * Also for transient attempts, which leave no event.
 */
function endFailedWorkflowTask(run: Run, incrementAttempt: boolean): void {
  const increment = incrementAttempt && run.sticky === undefined;
  run.sticky = undefined;
  run.workflowTask = undefined;
  run.workflowTaskAttempt = increment ? run.workflowTaskAttempt + 1 : 1;
  run.closeAttempted = false;
}
