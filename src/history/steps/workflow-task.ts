/**
 * A workflow task from its scheduling to its start.
 *
 *   scheduled ──(sticky: schedule-to-start timeout)──▶ timed out, again on the normal queue
 *       │
 *       ▼ a worker polls
 *    started ──(start-to-close timeout)──▶ timed out, next attempt
 *       │
 *       ├── completed   complete-workflow-task.ts
 *       └── failed      workflow-task/workflow-task-ends.ts
 *
 * From attempt 2 on a task is *transient*: history shows nothing of it until it completes. It becomes normal again, as attempt 1,
 * when anything else was written since it was scheduled: its event ids would no longer fit.
 */
import { backOffMs } from '../../kernel/back-off.ts';
import { assert } from '../../kernel/assert.ts';
import { flushBuffer } from './buffer.ts';
import { dispatchPriority } from '../commands/priority.ts';
import type { TaskQueue } from '../generated/public-api.ts';
import { type Draft, makeEvent, type RunDraft } from '../draft/draft.ts';
import type { HistoryLimits } from '../run/history-limits.ts';
import type { StartedWorkflowTask } from '../run/history-replies.ts';
import { isRunning, type RunView, type WorkflowTask, type StartOfTask } from '../run/state.ts';
import type { TaskOf } from '../run/tasks.ts';
import { suggestContinueAsNewReason, taskQueueKind } from '../generated/enums.ts';
import { refuseQueries } from './refuse-queries.ts';
import { takeUpdates } from './updates.ts';

export type Scheduling = {
  /** Uniform in [0, 1): spreads the retries of failing workflows. */
  readonly jitter?: number;
  /** This task continues a chain of heartbeats. */
  readonly originalScheduledTimeMs?: number | undefined;
  /** False: it is started in the same record, no queue sees it. */
  readonly dispatch?: boolean;
};

/** The workflow has to see what is written: unless a task is pending already, one is scheduled now. */
export function ensureWorkflowTask(run: RunDraft, scheduling: Scheduling = {}): void {
  if (!isRunning(run.run)) return;
  run.ensureReal();
  if (run.run.workflowTask === undefined) scheduleWorkflowTask(run, scheduling);
}

/** A paused workflow gets no task. */
export function scheduleWorkflowTask(run: RunDraft, scheduling: Scheduling = {}): void {
  assert(run.run.workflowTask === undefined, 'one workflow task at a time');
  if (run.run.pause !== undefined) {
    // The unpause brings one. What came in meanwhile has its place all the same.
    flushBuffer(run);
    refuseQueries(run.draft, run.run.key.runId);
    return;
  }
  // Buffered events get their place before the task, which is then no mere repetition of the last one.
  const fresh = run.run.buffered.length > 0;
  if (fresh) flushBuffer(run);
  const attempt = fresh ? 1 : run.run.workflowTaskAttempt;
  const taskQueue = currentTaskQueue(run.run);
  const startToCloseTimeoutMs = startToCloseTimeout(run, attempt, scheduling.jitter ?? 0);
  if (attempt === 1) run.add('workflowTaskScheduled', { taskQueue, startToCloseTimeoutMs, attempt });
  else run.addFact({ kind: 'workflowTaskScheduled', scheduledEventId: run.run.nextEventId, attempt, taskQueue, startToCloseTimeoutMs });

  const { originalScheduledTimeMs } = scheduling;
  if (originalScheduledTimeMs !== undefined) run.addFact({ kind: 'workflowTaskHeartbeat', originalScheduledTimeMs });
  if (scheduling.dispatch ?? true) dispatchWorkflowTask(run);
}

/** The task goes to its queue; on a sticky queue it does not wait for ever. */
export function dispatchWorkflowTask(run: RunDraft): void {
  const { workflowTask, sticky } = run.run;
  assert(workflowTask !== undefined, 'only a scheduled task is dispatched');
  const isSticky = workflowTask.taskQueue.kind === taskQueueKind.sticky;
  const scheduleToStartTimeoutMs = isSticky ? stickyScheduleToStart(sticky?.scheduleToStartTimeoutMs ?? 0, run.draft.limits) : 0;
  const { scheduledEventId, stamp, taskQueue } = workflowTask;
  const priority = dispatchPriority(run.draft.wire, run.run.start.priority);
  run.addTask({ kind: 'workflowTask', scheduledEventId, stamp, taskQueue, scheduleToStartTimeoutMs, ...priority });
  if (scheduleToStartTimeoutMs > 0) armWorkflowTaskTimeout(run, scheduleToStartTimeoutMs, 'scheduleToStart');
}

/** A task must not wait for ever in the queue of one worker: that worker may be gone. */
export function stickyScheduleToStart(timeoutMs: number, limits: HistoryLimits): number {
  const { stickyScheduleToStartMsDefault, stickyScheduleToStartMsMax } = limits;
  return timeoutMs > 0 ? Math.min(timeoutMs, stickyScheduleToStartMsMax) : stickyScheduleToStartMsDefault;
}

export function armWorkflowTaskTimeout(run: RunDraft, afterMs: number, timeout: 'scheduleToStart' | 'startToClose'): void {
  const workflowTask = run.run.workflowTask;
  assert(workflowTask !== undefined, 'a timeout needs its task');
  const { scheduledEventId, stamp } = workflowTask;
  run.addTask({ kind: 'workflowTaskTimeout', fireTimeMs: run.draft.nowMs + afterMs, scheduledEventId, stamp, timeout });
}

export function clearStickiness(draft: Draft, run: RunView): void {
  if (run.sticky === undefined) return;
  const changing = draft.open(run);
  changing.addFact({ kind: 'stickyCleared' });
  const { workflowTask } = changing.run;
  if (workflowTask !== undefined && workflowTask.startedEventId === 0 && workflowTask.taskQueue.kind === taskQueueKind.sticky) {
    finishWorkflowTaskTasks(changing);
    changing.addFact({ kind: 'workflowTaskRequeued', taskQueue: run.start.taskQueue });
    dispatchWorkflowTask(changing);
  }
}

/** When it times out, as its run says; undefined: not so. */
export function workflowTaskDeadline(
  run: RunView,
  timeout: TaskOf<'workflowTaskTimeout'>['timeout'],
  limits: HistoryLimits,
): number | undefined {
  const { workflowTask, sticky } = run;
  if (workflowTask === undefined) return undefined;
  const { startedEventId, startedTimeMs, startToCloseTimeoutMs, scheduledTimeMs, taskQueue } = workflowTask;
  if (timeout === 'startToClose') return startedEventId === 0 ? undefined : startedTimeMs + startToCloseTimeoutMs;
  if (startedEventId !== 0 || taskQueue.kind !== taskQueueKind.sticky) return undefined;
  return scheduledTimeMs + stickyScheduleToStart(sticky?.scheduleToStartTimeoutMs ?? 0, limits);
}

export function currentTaskQueue(run: RunView): TaskQueue {
  if (run.sticky === undefined) return run.start.taskQueue;
  return { name: run.sticky.taskQueue.name, kind: taskQueueKind.sticky, normalName: run.start.taskQueue.name };
}

/** Retries are slowed down by a longer timeout, not by a pause: workers report only the first failure, later ones time out. */
function startToCloseTimeout(run: RunDraft, attempt: number, jitter: number): number {
  const { workflowTaskBackoffAttempt, workflowTaskBackoffMs, workflowTaskBackoffMsMax } = run.draft.limits;
  const timeoutMs = run.run.start.taskTimeoutMs;
  if (attempt < workflowTaskBackoffAttempt) return timeoutMs;
  const extraMs = backOffMs(attempt - workflowTaskBackoffAttempt + 1, workflowTaskBackoffMs, workflowTaskBackoffMsMax);
  return timeoutMs + Math.ceil(extraMs * (0.8 + 0.2 * jitter));
}

/** Drops a scheduled or started task's dispatch and timeout: every end of a task comes through here. */
export function finishWorkflowTaskTasks(run: RunDraft): void {
  const workflowTask = run.run.workflowTask;
  if (workflowTask === undefined) return;
  run.finishTask(workflowTask.dispatchTaskId);
  run.finishTask(workflowTask.timeoutTaskId);
}

/** Records the start of the scheduled task, whatever its kind. Answers what its worker is given. */
export function writeStarted(run: RunDraft, requestId: string, identity: string): StartedWorkflowTask {
  let workflowTask = run.run.workflowTask;
  assert(workflowTask !== undefined && workflowTask.startedEventId === 0, 'only a scheduled task starts');
  finishWorkflowTaskTasks(run);
  if (workflowTask.kind === 'transient' && workflowTask.scheduledEventId !== run.run.nextEventId) {
    const { taskQueue, startToCloseTimeoutMs } = workflowTask;
    run.add('workflowTaskScheduled', { taskQueue, startToCloseTimeoutMs, attempt: 1 });
    workflowTask = run.run.workflowTask;
    assert(workflowTask !== undefined, 'written just now');
  }
  const { historySizeBytes } = run.run;
  const start = { requestId, identity, historySizeBytes, suggestContinueAsNewReasons: reasonsToContinueAsNew(run.draft, run.run) };
  if (workflowTask.kind === 'normal') run.add('workflowTaskStarted', startedAttributes(workflowTask.scheduledEventId, start));
  else run.addFact({ kind: 'workflowTaskStarted', ...start });
  armWorkflowTaskTimeout(run, workflowTask.startToCloseTimeoutMs, 'startToClose');
  assert(run.run.workflowTask !== undefined, 'started just now');
  return describeStarted(run.draft, run.run, run.run.workflowTask);
}

const noReasons: readonly number[] = [];

export function reasonsToContinueAsNew({ limits }: Draft, run: RunView): readonly number[] {
  const { historyBytesSuggest, historyEventsSuggest, updatesPerRunMax, updatesSuggestRatio } = limits;
  const tooLarge = run.historySizeBytes >= historyBytesSuggest;
  const tooMany = run.nextEventId - 1 >= historyEventsSuggest;
  const tooManyUpdates = run.updates.size >= updatesPerRunMax * updatesSuggestRatio;
  if (!tooLarge && !tooMany && !tooManyUpdates) return noReasons;
  const reasons: number[] = [];
  if (tooLarge) reasons.push(suggestContinueAsNewReason.historySizeTooLarge);
  if (tooMany) reasons.push(suggestContinueAsNewReason.tooManyHistoryEvents);
  if (tooManyUpdates) reasons.push(suggestContinueAsNewReason.tooManyUpdates);
  return reasons;
}

/** The answer to a poll. `run` may be a draft's. */
export function describeStarted(draft: Draft, run: RunView, workflowTask: WorkflowTask, takesUpdates = true): StartedWorkflowTask {
  const unwritten = workflowTask.kind !== 'normal';
  const isSticky = run.sticky !== undefined && workflowTask.taskQueue.kind === taskQueueKind.sticky;
  return {
    kind: 'workflowTask',
    key: run.key,
    workflowType: run.start.workflowType,
    scheduledEventId: workflowTask.scheduledEventId,
    startedEventId: workflowTask.startedEventId,
    previousStartedEventId: run.previousStartedEventId,
    attempt: workflowTask.attempt,
    scheduledTimeMs: workflowTask.scheduledTimeMs,
    startedTimeMs: workflowTask.startedTimeMs,
    taskQueue: run.start.taskQueue,
    historyFirstEventId: isSticky ? run.previousStartedEventId + 1 : 1,
    historyLastEventId: unwritten ? run.nextEventId - 1 : workflowTask.startedEventId,
    tailEvents: unwritten ? encodeTail(draft, run, workflowTask) : [],
    queries: takeQueries(draft, run.key.runId),
    updates: takesUpdates ? takeUpdates(draft, run, workflowTask.startedEventId) : [],
  };
}

/** Scheduled and Started of a task that history does not show (yet), with the ids that they would get. */
export function encodeTail(draft: Draft, run: RunView, workflowTask: WorkflowTask): readonly Uint8Array[] {
  // Ids that no longer continue the stored ones would confuse a worker more than their absence.
  if (workflowTask.scheduledEventId !== run.nextEventId) return [];
  const { scheduledEventId, scheduledTimeMs, startedEventId, startedTimeMs, taskQueue, startToCloseTimeoutMs, attempt } = workflowTask;
  const ofScheduled = { taskQueue, startToCloseTimeoutMs, attempt };
  const scheduled = draft.wire.encodeEvent(makeEvent(scheduledEventId, 'workflowTaskScheduled', ofScheduled, {}, scheduledTimeMs));
  if (startedEventId === 0) return [scheduled];
  const ofStarted = startedAttributes(scheduledEventId, workflowTask);
  return [scheduled, draft.wire.encodeEvent(makeEvent(startedEventId, 'workflowTaskStarted', ofStarted, {}, startedTimeMs))];
}

export function startedAttributes(scheduledEventId: number, start: StartOfTask) {
  return {
    scheduledEventId,
    identity: start.identity,
    requestId: start.requestId,
    suggestContinueAsNew: start.suggestContinueAsNewReasons.length > 0,
    historySizeBytes: start.historySizeBytes,
    workerVersion: undefined,
    buildIdRedirectCounter: 0,
    suggestContinueAsNewReasons: start.suggestContinueAsNewReasons,
    targetWorkerDeploymentVersionChanged: false,
  };
}

const noQueries: ReadonlyMap<string, Uint8Array> = new Map();

function takeQueries(draft: Draft, runId: string): ReadonlyMap<string, Uint8Array> {
  if (draft.volatile.queries.size === 0) return noQueries;
  return new Map(draft.waitingQueries(runId).map(({ queryId, query }) => [queryId, query]));
}
