/** Reads: a run's description, and where its history stands. */
import { activityType, optionsOf } from '../run/activity-options.ts';
import type { DescribeMutableState, DescribeWorkflow, GetHistoryPosition } from '../commands/history-commands.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import type { RecordedEvent } from '../run/events.ts';
import { findRun, workflowNotFound } from '../run/reject.ts';
import type * as replies from '../run/history-replies.ts';
import { type Activity, type Child, isRunning, type RunView, shownStatus, type WorkflowTask } from '../run/state.ts';
import { type HistoryWaiter, workflowTaskOf } from '../run/volatile.ts';
import { encodeTail } from '../steps/workflow-task.ts';

export function describeWorkflow(draft: Draft, command: DescribeWorkflow): replies.HistoryReply {
  const run = findRun(draft.shard, command.key);
  return run === undefined ? workflowNotFound(command.key) : describe(draft, run);
}

function describe({ shard, volatile }: Draft, run: RunView): replies.Description {
  const { parent, originalRunId: _, links: __, attempt: ___, runExpirationMs, executionExpirationMs, ...start } = run.start;
  const workflowTask = workflowTaskOf(volatile, run);
  return {
    kind: 'description',
    key: run.key,
    ...start,
    status: shownStatus(run),
    closeTimeMs: run.closeTimeMs,
    historyLength: run.nextEventId - 1,
    historySizeBytes: run.historySizeBytes,
    stateTransitionCount: run.stateTransitionCount,
    memo: run.memo,
    searchAttributes: run.searchAttributes,
    parent: parent && { namespaceId: parent.namespaceId, execution: { workflowId: parent.workflowId, runId: parent.runId } },
    executionExpirationTimeMs: executionExpirationMs,
    runExpirationTimeMs: runExpirationMs,
    originalStartTimeMs: run.reset?.originalStartTimeMs ?? start.startTimeMs,
    cancelRequested: run.cancelRequested,
    lastResetTimeMs: run.reset?.timeMs ?? 0,
    resetRunId: run.resetRunId,
    pause: run.pause,
    pendingActivities: [...run.activities.values()].map((activity) => describeActivity(run, activity)),
    pendingChildren: [...run.children.values()].map(describeChild),
    pendingWorkflowTask: workflowTask && {
      started: workflowTask.startedEventId !== 0,
      scheduledTimeMs: workflowTask.scheduledTimeMs,
      originalScheduledTimeMs: workflowTask.originalScheduledTimeMs,
      startedTimeMs: workflowTask.startedTimeMs,
      attempt: workflowTask.attempt,
    },
    callbacks: run.callbacks.map(({ callbackId: _, attachedBy: __, update, ...callback }) => ({
      ...callback,
      updateId: update?.updateId ?? '',
    })),
    aside: shard.aside.get(run.key.runId),
    requestIds: new Map(
      run.requestIds.map(({ requestId, eventId, eventType }) => [requestId, { eventId, eventType, buffered: eventId === 0 }]),
    ),
  };
}

/** `temporal.api.enums.v1.PendingActivityState` */
const pendingState = { scheduled: 1, started: 2, cancelRequested: 3, paused: 4, pauseRequested: 5 } as const;

function describeActivity(run: RunView, activity: Activity): replies.PendingActivityDescription {
  const options = optionsOf(run, activity);
  const { scheduleToCloseTimeoutMs } = options;
  const isStarted = activity.startedTimeMs !== 0;
  const { pause, attemptsReset = false } = activity.operations ?? {};
  const isWaiting = activity.inBackoff && pause === undefined;
  return {
    activityId: activity.activityId,
    activityType: activityType(activity),
    state: stateOf(activity),
    heartbeatDetails: activity.heartbeatDetails,
    lastHeartbeatTimeMs: activity.heartbeatTimeMs,
    lastStartedTimeMs: activity.startedTimeMs,
    attempt: attemptsReset ? 1 : activity.attempt,
    maximumAttempts: options.retryPolicy.maximumAttempts,
    scheduledTimeMs: activity.scheduledTimeMs,
    expirationTimeMs: scheduleToCloseTimeoutMs === 0 ? 0 : activity.firstScheduledTimeMs + scheduleToCloseTimeoutMs,
    lastFailure: activity.lastFailure,
    lastWorkerIdentity: isStarted ? activity.identity : activity.lastWorkerIdentity,
    currentRetryIntervalMs: isWaiting ? activity.retryIntervalMs : 0,
    nextAttemptScheduleTimeMs: isWaiting ? activity.scheduledTimeMs : 0,
    lastAttemptCompleteTimeMs: activity.lastAttemptCompleteTimeMs,
    ...options,
    pause,
  };
}

function stateOf({ cancelRequestedEventId, startedTimeMs, operations }: Activity): number {
  if (cancelRequestedEventId !== 0) return pendingState.cancelRequested;
  const isPaused = operations?.pause !== undefined;
  if (startedTimeMs !== 0) return isPaused ? pendingState.pauseRequested : pendingState.started;
  return isPaused ? pendingState.paused : pendingState.scheduled;
}

function describeChild({ runId, initiatedEventId, attributes }: Child): replies.PendingChildDescription {
  const { workflowId, workflowType, parentClosePolicy } = attributes;
  return { workflowId, runId, workflowType: workflowType?.name ?? '', initiatedEventId, parentClosePolicy };
}

export function describeMutableState(draft: Draft, { key }: DescribeMutableState): replies.HistoryReply {
  const run = findRun(draft.shard, key);
  if (run === undefined) return workflowNotFound(key);
  const { kind: _, ...description } = describe(draft, run);
  return { kind: 'mutableState', description, ...pendingOf(run, workflowTaskOf(draft.volatile, run)) };
}

/** `temporal.server.api.enums.v1.WorkflowTaskType` */
const taskType = { normal: 1, transient: 2, speculative: 3 } as const;

function pendingOf(run: RunView, task: WorkflowTask | undefined): Omit<replies.MutableState, 'kind' | 'description'> {
  return {
    previousStartedEventId: run.previousStartedEventId,
    successorRunId: run.successorRunId,
    attempt: run.start.attempt,
    retryPolicy: run.startedWith?.retryPolicy,
    cronSchedule: run.startedWith?.cronSchedule ?? '',
    signalCount: run.signalCount,
    signalRequestIds: Array.from(run.signalRequestIds.values(), ({ requestId }) => requestId),
    workflowTask: task && {
      type: taskType[task.kind],
      scheduledEventId: task.scheduledEventId,
      startedEventId: task.startedEventId,
      stamp: task.stamp,
      requestId: task.requestId,
      startToCloseTimeoutMs: task.startToCloseTimeoutMs,
      historySizeBytes: task.historySizeBytes,
    },
    stickyTaskQueue: run.sticky?.taskQueue.name ?? '',
    stickyScheduleToStartTimeoutMs: run.sticky?.scheduleToStartTimeoutMs ?? 0,
    activities: Array.from(
      run.activities.values(),
      ({ scheduledEventId, firstScheduledTimeMs, stamp, requestId, cancelRequestedEventId }) => {
        return { scheduledEventId, firstScheduledTimeMs, stamp, requestId, cancelRequestedEventId };
      },
    ),
    timers: Array.from(run.timers.values(), ({ timerId, startedEventId, fireTimeMs }) => ({ timerId, startedEventId, fireTimeMs })),
    childStartedEventIds: Array.from(run.children.values(), ({ startedEventId }) => startedEventId),
    signalInitiatedEventIds: Array.from(run.externalSignals.values(), ({ initiatedEventId }) => initiatedEventId),
    cancelInitiatedEventIds: Array.from(run.externalCancels.values(), ({ initiatedEventId }) => initiatedEventId),
  };
}

/** undefined: the answer comes when there is something new. */
export function getHistoryPosition(draft: Draft, command: GetHistoryPosition): replies.HistoryReply | undefined {
  const run = findRun(draft.shard, command.key);
  if (run === undefined) return workflowNotFound(command.key);
  const { waitBeyondEventId, waitForClose } = command;
  const waiter: HistoryWaiter = { askId: draft.askId, waitBeyondEventId, waitForClose };
  const waits = waitForClose || waitBeyondEventId >= 0;
  if (!waits || isOver(run, waiter)) return positionOf(draft, run);
  draft.stage({ kind: 'historyAwaited', runId: run.key.runId, waiter });
  return undefined;
}

function isOver(run: RunView, waiter: HistoryWaiter): boolean {
  if (!isRunning(run)) return true;
  return !waiter.waitForClose && run.nextEventId - 1 > waiter.waitBeyondEventId;
}

function positionOf(draft: Draft, run: RunView): replies.HistoryPosition {
  const workflowTask = workflowTaskOf(draft.volatile, run);
  const tailEvents = workflowTask === undefined || workflowTask.kind === 'normal' ? [] : encodeTail(draft, run, workflowTask);
  return { kind: 'historyPosition', key: run.key, firstEventId: 1, lastEventId: run.nextEventId - 1, closed: !isRunning(run), tailEvents };
}

/** The run as it will be once the record is evolved. */
export function answerWaiters(draft: Draft, { run, events, forgotten }: RunDraft): void {
  const waiting = draft.volatile.waiters.get(run.key.runId);
  if (waiting === undefined) return;
  for (const waiter of waiting.values()) {
    if (isOver(run, waiter)) draft.answer(waiter.askId, forgotten ? lastPosition(run, events) : positionOf(draft, run));
  }
}

/** Whoever waits for the end hears of it, though nothing of the run can be read any more. */
function lastPosition(run: RunView, events: readonly RecordedEvent[]): replies.HistoryPosition {
  const tailEvents = events.map(({ bytes }) => bytes);
  return { kind: 'historyPosition', key: run.key, firstEventId: 1, lastEventId: run.nextEventId - 1, closed: true, tailEvents };
}
