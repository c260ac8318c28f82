/**
 * Speculative workflow tasks: for updates, so that a rejected one leaves no trace. They live in volatile state only.
 *
 *   offered ──▶ started ──▶ completed without anything to remember ──▶ dropped: the journal never heard of it
 *      │           │
 *      └───────────┴── anything else is written for the run ──▶ real: first its Scheduled (and Started), then that
 *                      (looking at the run, to find that there is nothing to write, is not enough)
 *
 * Ids are those that the events would get; the run's next event id does not move.
 */
import type { CompleteWorkflowTask } from '../commands.ts';
import type { Draft, RunDraft } from '../draft.ts';
import { isRunning, type RunView, type WorkflowTask } from '../state.ts';
import { scheduledWorkflowTask } from './scheduled-task.ts';
import { armWorkflowTaskTimeout, currentTaskQueue, dispatchWorkflowTask, startedAttributes } from './workflow-task.ts';

/** The task to be pushed straight to matching; undefined when one is pending already. */
export function offerSpeculative(draft: Draft, run: RunView): WorkflowTask | undefined {
  const { speculative } = draft.volatile;
  if (!isRunning(run) || run.workflowTask !== undefined || run.backoffTaskId !== 0 || speculative.has(run.key.runId)) return undefined;
  const offered = scheduledWorkflowTask({
    kind: 'speculative',
    scheduledEventId: run.nextEventId,
    stamp: run.workflowTaskStamp + 1,
    attempt: 1,
    scheduledTimeMs: draft.nowMs,
    taskQueue: currentTaskQueue(run),
    startToCloseTimeoutMs: run.start.taskTimeoutMs,
  });
  draft.stage({ kind: 'speculativeSet', runId: run.key.runId, workflowTask: offered });
  return offered;
}

/** Writes what the task would have written, had it been a normal one. */
export function makeSpeculativeReal(run: RunDraft, speculative: WorkflowTask): void {
  const { taskQueue, startToCloseTimeoutMs, attempt, scheduledTimeMs, startedTimeMs } = speculative;
  const scheduledEventId = run.add('workflowTaskScheduled', { taskQueue, startToCloseTimeoutMs, attempt }, { timeMs: scheduledTimeMs });
  if (speculative.startedEventId === 0) {
    dispatchWorkflowTask(run);
    return;
  }
  run.add('workflowTaskStarted', { ...startedAttributes(speculative), scheduledEventId }, { timeMs: startedTimeMs });
  armWorkflowTaskTimeout(run, startedTimeMs + startToCloseTimeoutMs - run.draft.nowMs, 'startToClose');
}

/** True: the worker had nothing to say, and no events were shipped with the task that would have to be shipped again. */
export function dropSpeculative(draft: Draft, run: RunView, request: CompleteWorkflowTask): boolean {
  if (request.commands.length > 0 || request.forceCreateNewWorkflowTask) return false;
  // History ends with the last completed task (its Started, then its Completed): nothing new went out.
  if (run.nextEventId > run.previousStartedEventId + 2) return false;
  draft.stage({ kind: 'speculativeEnded', runId: run.key.runId });
  return true;
}
