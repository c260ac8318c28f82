import type { WorkflowTask, StartOfTask } from './state.ts';

type Scheduled = Pick<
  WorkflowTask,
  'kind' | 'scheduledEventId' | 'stamp' | 'attempt' | 'scheduledTimeMs' | 'taskQueue' | 'startToCloseTimeoutMs'
>;

/** A workflow task, of whichever kind, as long as no worker has started it. */
export function scheduledWorkflowTask(scheduled: Scheduled): WorkflowTask {
  return {
    ...scheduled,
    originalScheduledTimeMs: scheduled.scheduledTimeMs,
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

/** The same, once a worker has it. */
export function startedWorkflowTask(task: WorkflowTask, startedEventId: number, startedTimeMs: number, start: StartOfTask): WorkflowTask {
  return {
    ...task,
    startedEventId,
    startedTimeMs,
    requestId: start.requestId,
    identity: start.identity,
    historySizeBytes: start.historySizeBytes,
    suggestContinueAsNewReasons: start.suggestContinueAsNewReasons,
    dispatchTaskId: 0,
    timeoutTaskId: 0,
  };
}
