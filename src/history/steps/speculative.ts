/**
 * Speculative workflow tasks: for updates, so that a rejected one leaves no trace. They live in volatile state only.
 *
 *   offered ──▶ started ──▶ completed with refusals alone ──▶ dropped: the journal never heard of it
 *      │           │
 *      └───────────┴── anything else is written for the run, or time is up ──▶ real: first its Scheduled (and Started), then that
 *                      (looking at the run, to find that there is nothing to write, is not enough)
 *
 * Ids are those that the events would get; the run's next event id does not move. Nobody stores them: matching holds one until a worker polls,
 * and the shell's timers say when it has waited, or been away, for too long (`endSpeculative`).
 */
import type { Draft, RunDraft } from '../draft/draft.ts';
import { dispatchPriority } from '../commands/priority.ts';
import { taskQueueKind } from '../generated/enums.ts';
import { isRunning, type RunView, type WorkflowTask } from '../run/state.ts';
import { scheduledWorkflowTask, startedWorkflowTask } from '../run/scheduled-task.ts';
import {
  armWorkflowTaskTimeout,
  currentTaskQueue,
  dispatchWorkflowTask,
  reasonsToContinueAsNew,
  startedAttributes,
  stickyScheduleToStart,
} from './workflow-task.ts';

/** To a worker that polls, unless a task is pending: updates ride on that. One that waits for its first task has it earlier then. */
export function offerSpeculative(draft: Draft, run: RunView): void {
  const offered = schedule(draft, run);
  if (offered === undefined) return;
  const { scheduledEventId, stamp, scheduledTimeMs, taskQueue } = offered;
  const isSticky = taskQueue.kind === taskQueueKind.sticky;
  const { speculativeScheduleToStartMs } = draft.limits;
  const waitMs = isSticky ? stickyScheduleToStart(run.sticky?.scheduleToStartTimeoutMs ?? 0, draft.limits) : speculativeScheduleToStartMs;
  const expiryTimeMs = draft.nowMs + waitMs;
  const priority = dispatchPriority(draft.wire, run.start.priority);
  const { key } = run;
  draft.effects.push({ kind: 'speculativeOffered', key, scheduledEventId, stamp, scheduledTimeMs, taskQueue, expiryTimeMs, ...priority });
}

/** Back to the worker that has just completed another one. undefined: a task is pending already. */
export function startSpeculativeInline(draft: Draft, run: RunView, requestId: string, identity: string): WorkflowTask | undefined {
  const scheduled = schedule(draft, run);
  return scheduled === undefined ? undefined : startSpeculative(draft, run, scheduled, { requestId, identity });
}

function schedule(draft: Draft, run: RunView): WorkflowTask | undefined {
  if (!isRunning(run) || run.pause !== undefined || run.workflowTask !== undefined) return undefined;
  // A child's first task waits until its parent knows of it; updates wait with it.
  const awaitsParent = run.start.parent !== undefined && run.previousStartedEventId === 0;
  if (awaitsParent || speculativeTask(draft, run.key.runId) !== undefined) return undefined;
  const scheduled = scheduledWorkflowTask({
    kind: 'speculative',
    scheduledEventId: run.nextEventId,
    stamp: run.workflowTaskStamp + 1,
    attempt: 1,
    scheduledTimeMs: draft.nowMs,
    taskQueue: currentTaskQueue(run),
    startToCloseTimeoutMs: run.start.taskTimeoutMs,
  });
  draft.stage({ kind: 'speculativeSet', runId: run.key.runId, workflowTask: scheduled });
  return scheduled;
}

/** The speculative task of the run as this decision leaves it. */
function speculativeTask(draft: Draft, runId: string): WorkflowTask | undefined {
  let task = draft.volatile.speculative.get(runId);
  for (const change of draft.changes) {
    if (change.kind === 'speculativeSet' && change.runId === runId) task = change.workflowTask;
    else if (change.kind === 'speculativeEnded' && change.runId === runId) task = undefined;
  }
  return task;
}

type By = Pick<WorkflowTask, 'requestId' | 'identity'>;

export function startSpeculative(draft: Draft, run: RunView, scheduled: WorkflowTask, by: By): WorkflowTask {
  const { historySizeBytes } = run;
  const start = { ...by, historySizeBytes, suggestContinueAsNewReasons: reasonsToContinueAsNew(draft, run) };
  const started = startedWorkflowTask(scheduled, scheduled.scheduledEventId + 1, draft.nowMs, start);
  draft.stage({ kind: 'speculativeSet', runId: run.key.runId, workflowTask: started });
  const { scheduledEventId, startedTimeMs, startToCloseTimeoutMs } = started;
  draft.effects.push({ kind: 'speculativeStarted', key: run.key, scheduledEventId, startedTimeMs, startToCloseTimeoutMs });
  return started;
}

/** Writes what the task would have written, had it been a normal one. */
export function makeSpeculativeReal(run: RunDraft, speculative: WorkflowTask): void {
  const { taskQueue, startToCloseTimeoutMs, attempt, scheduledTimeMs, startedTimeMs } = speculative;
  run.draft.stage({ kind: 'speculativeEnded', runId: run.run.key.runId });
  // The first task is this one: there is none to wait for.
  run.finishTask(run.run.backoffTaskId);
  const scheduledEventId = run.add('workflowTaskScheduled', { taskQueue, startToCloseTimeoutMs, attempt }, { timeMs: scheduledTimeMs });
  if (speculative.startedEventId === 0) {
    dispatchWorkflowTask(run);
    return;
  }
  run.add('workflowTaskStarted', startedAttributes(scheduledEventId, speculative), { timeMs: startedTimeMs });
  armWorkflowTaskTimeout(run, startedTimeMs + startToCloseTimeoutMs - run.draft.nowMs, 'startToClose');
}

/** The run has closed, perhaps in the decision that offered the task. */
export function forgetSpeculative(draft: Draft, { key: { runId } }: RunView): void {
  if (speculativeTask(draft, runId) !== undefined) draft.stage({ kind: 'speculativeEnded', runId });
}
