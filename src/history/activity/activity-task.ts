/**
 * An activity between its command and its end.
 *
 *   scheduled ──▶ started ──▶ completed · failed · timed out · cancelled
 *       ▲            │
 *       └─ backoff ◀─┘  another attempt, under a new stamp: copies of the old task are refused
 *
 * Attempts leave no events. When the activity closes, its Started is written together with the close, with the time of the real start.
 */
import { assert } from '../../kernel/assert.ts';
import type { StartActivityTask, WithdrawActivityStart } from '../commands.ts';
import type { Draft, RunDraft } from '../draft.ts';
import { attributesOf } from './activity-options.ts';
import { dispatchPriority, mergedPriority } from '../priority.ts';
import { findRun, reject, workflowBehind } from '../reject.ts';
import type { HistoryReply, StartedActivityTask } from '../replies.ts';
import { type Activity, isRunning, type RunView } from '../state.ts';

const activityTaskNotFound = reject({ reason: 'task-not-found', message: 'Activity task not found.' });

/** Puts this attempt into its queue and arms its first timeout. */
export function dispatchActivity(run: RunDraft, scheduledEventId: number): void {
  const activity = pendingActivity(run, scheduledEventId);
  const { taskQueue, scheduleToStartTimeoutMs, priority } = attributesOf(activity);
  run.addTask({
    kind: 'activityTask',
    taskId: run.draft.nextTaskId(),
    key: run.run.key,
    version: 0,
    scheduledEventId,
    stamp: activity.stamp,
    taskQueue: taskQueue ?? run.run.start.taskQueue,
    scheduleToStartTimeoutMs,
    ...dispatchPriority(run.draft.wire, mergedPriority(run.run.start.priority, priority)),
  });
  armActivityTimer(run, scheduledEventId);
}

/** While its workflow is paused it waits for the unpause (withheld-activities.ts). */
export function offerActivity(run: RunDraft, scheduledEventId: number): void {
  if (run.run.pause === undefined) dispatchActivity(run, scheduledEventId);
  else armActivityTimer(run, scheduledEventId);
}

export function pendingActivity(run: RunDraft, scheduledEventId: number): Activity {
  const activity = run.run.activities.get(scheduledEventId);
  assert(activity !== undefined, `activity ${scheduledEventId} is not pending`);
  return activity;
}

export function isPaused({ operations }: Activity): boolean {
  return operations?.pause !== undefined;
}

/** What follows gives it others, or sees to it that it needs none. */
export function endTasks(run: RunDraft, scheduledEventId: number): void {
  const activity = pendingActivity(run, scheduledEventId);
  run.finishTask(activity.dispatchTaskId);
  run.finishTask(activity.timerTaskId);
}

/** Arms the end of the backoff, or of the activity's whole time if that comes first. */
export function waitForBackoff(run: RunDraft, scheduledEventId: number): void {
  const activity = pendingActivity(run, scheduledEventId);
  const { firstScheduledTimeMs, scheduledTimeMs, stamp } = activity;
  const { scheduleToCloseTimeoutMs } = attributesOf(activity);
  if (scheduleToCloseTimeoutMs > 0 && firstScheduledTimeMs + scheduleToCloseTimeoutMs < scheduledTimeMs) {
    armActivityTimer(run, scheduledEventId);
    return;
  }
  run.addTask({
    kind: 'activityRetry',
    taskId: run.draft.nextTaskId(),
    fireTimeMs: scheduledTimeMs,
    key: run.run.key,
    scheduledEventId,
    stamp,
  });
}

export function endBackoff(run: RunDraft, scheduledEventId: number): void {
  run.addFact({ kind: 'activityBackoffEnded', scheduledEventId });
  dispatchActivity(run, scheduledEventId);
}

/** Its tasks have ended: the next attempt goes out then, under a new stamp. */
export function reschedule(run: RunDraft, scheduledEventId: number, scheduledTimeMs: number): void {
  run.addFact({ kind: 'activityRescheduled', scheduledEventId, scheduledTimeMs });
  if (scheduledTimeMs <= run.draft.nowMs) endBackoff(run, scheduledEventId);
  else waitForBackoff(run, scheduledEventId);
}

export type ActivityTimeout = 'scheduleToStart' | 'scheduleToClose' | 'startToClose' | 'heartbeat';
export type ActivityDeadline = { readonly timeout: ActivityTimeout; readonly atMs: number };

/** The timeout that comes first, as things stand; undefined also while it is paused. */
export function nextDeadline(activity: Activity): ActivityDeadline | undefined {
  const { scheduleToStartTimeoutMs, scheduleToCloseTimeoutMs, startToCloseTimeoutMs, heartbeatTimeoutMs } = attributesOf(activity);
  if (isPaused(activity)) return undefined;
  let next: ActivityDeadline | undefined;
  const consider = (timeout: ActivityTimeout, timeoutMs: number, fromMs: number): void => {
    if (timeoutMs > 0 && (next === undefined || fromMs + timeoutMs < next.atMs)) next = { timeout, atMs: fromMs + timeoutMs };
  };
  if (activity.startedTimeMs === 0) consider('scheduleToStart', scheduleToStartTimeoutMs, activity.scheduledTimeMs);
  consider('scheduleToClose', scheduleToCloseTimeoutMs, activity.firstScheduledTimeMs);
  if (activity.startedTimeMs !== 0) {
    consider('startToClose', startToCloseTimeoutMs, activity.startedTimeMs);
    consider('heartbeat', heartbeatTimeoutMs, Math.max(activity.startedTimeMs, activity.heartbeatTimeMs));
  }
  return next;
}

/**
 * One timer an activity: its next deadline. A heartbeat moves its deadline without touching the timer; when that fires too early, it
 * is armed again.
 */
export function armActivityTimer(run: RunDraft, scheduledEventId: number): void {
  const activity = pendingActivity(run, scheduledEventId);
  run.finishTask(activity.timerTaskId);
  const deadline = nextDeadline(activity);
  if (deadline === undefined) return;
  run.addTask({
    kind: 'activityTimeout',
    taskId: run.draft.nextTaskId(),
    fireTimeMs: deadline.atMs,
    key: run.run.key,
    scheduledEventId,
    stamp: activity.stamp,
    timeout: deadline.timeout,
  });
}

export function startActivityTask(draft: Draft, command: StartActivityTask): HistoryReply {
  const run = findRun(draft.shard, command.key);
  if (run === undefined && draft.shard.isBehind(command.key.runId)) return workflowBehind;
  if (run === undefined || !isRunning(run) || draft.shard.aside.has(run.key.runId)) return activityTaskNotFound;
  const activity = run.activities.get(command.scheduledEventId);
  if (activity === undefined || activity.stamp !== command.stamp || activity.inBackoff) return activityTaskNotFound;
  if (activity.startedTimeMs !== 0) {
    return activity.requestId === command.pollRequestId ? describeStartedActivity(run, activity) : activityTaskNotFound;
  }
  if (isPaused(activity)) return activityTaskNotFound;
  const starting = draft.open(run);
  writeActivityStarted(starting, command.scheduledEventId, command.pollRequestId, command.identity, command.workerVersion);
  return describeStartedActivity(run, pendingActivity(starting, command.scheduledEventId));
}

export function writeActivityStarted(
  run: RunDraft,
  scheduledEventId: number,
  requestId: string,
  identity: string,
  workerVersion: Uint8Array | undefined,
): void {
  run.finishTask(pendingActivity(run, scheduledEventId).dispatchTaskId);
  run.addFact({ kind: 'activityStarted', scheduledEventId, requestId, identity, workerVersion });
  armActivityTimer(run, scheduledEventId);
}

export function describeStartedActivity(run: RunView, activity: Activity): StartedActivityTask {
  const a = attributesOf(activity);
  assert(a.retryPolicy !== undefined, 'a scheduled activity has a retry policy');
  return {
    kind: 'activityTask',
    key: run.key,
    workflowType: run.start.workflowType,
    activityId: activity.activityId,
    activityType: a.activityType?.name ?? '',
    header: a.header,
    input: a.input,
    heartbeatDetails: activity.heartbeatDetails,
    scheduledEventId: activity.scheduledEventId,
    attempt: activity.attempt,
    scheduledTimeMs: activity.firstScheduledTimeMs,
    currentAttemptScheduledTimeMs: activity.scheduledTimeMs,
    startedTimeMs: activity.startedTimeMs,
    scheduleToCloseTimeoutMs: a.scheduleToCloseTimeoutMs,
    startToCloseTimeoutMs: a.startToCloseTimeoutMs,
    heartbeatTimeoutMs: a.heartbeatTimeoutMs,
    retryPolicy: a.retryPolicy,
    priority: mergedPriority(run.start.priority, a.priority),
  };
}

/** The poll that started it is gone: the task goes back into its queue, under a new stamp. */
export function withdrawActivityStart(draft: Draft, command: WithdrawActivityStart): HistoryReply {
  const run = findRun(draft.shard, command.key);
  const activity = run?.activities.get(command.scheduledEventId);
  if (run === undefined || activity === undefined || activity.startedTimeMs === 0) return { kind: 'done' };
  if (activity.requestId !== command.pollRequestId) return { kind: 'done' };
  const changing = draft.open(run);
  changing.addFact({ kind: 'activityStartWithdrawn', scheduledEventId: command.scheduledEventId });
  if (!isPaused(activity)) offerActivity(changing, command.scheduledEventId);
  return { kind: 'done' };
}
