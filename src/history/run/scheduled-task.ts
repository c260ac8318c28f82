import type { WorkflowTask } from './state.ts';

type Scheduled = Pick<
  WorkflowTask,
  'kind' | 'scheduledEventId' | 'stamp' | 'attempt' | 'scheduledTimeMs' | 'taskQueue' | 'startToCloseTimeoutMs'
>;

/** A workflow task, of whichever kind, as long as no worker has started it. */
export function scheduledWorkflowTask(scheduled: Scheduled): WorkflowTask {
  const { kind, scheduledEventId, stamp, attempt, scheduledTimeMs, taskQueue, startToCloseTimeoutMs } = scheduled;
  return {
    kind,
    scheduledEventId,
    stamp,
    attempt,
    scheduledTimeMs,
    originalScheduledTimeMs: scheduledTimeMs,
    taskQueue,
    startToCloseTimeoutMs,
    startedEventId: 0,
    startedTimeMs: 0,
    requestId: '',
    identity: '',
    historySizeBytes: 0,
    suggestContinueAsNewReasons: [],
    dispatchTaskId: 0,
    timeoutTaskId: 0,
  };
}
