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
import type { RunDraft } from '../draft/draft.ts';
import { attributesOf } from '../run/activity-options.ts';
import { dispatchPriority, mergedPriority } from '../commands/priority.ts';
import type { Activity } from '../run/state.ts';

export function dispatchActivity(run: RunDraft, scheduledEventId: number): void {
  const activity = pendingActivity(run, scheduledEventId);
  const { taskQueue, scheduleToStartTimeoutMs, priority } = attributesOf(activity);
  run.addTask({
    kind: 'activityTask',
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
  run.addTask({ kind: 'activityRetry', fireTimeMs: scheduledTimeMs, scheduledEventId, stamp });
}

export function endBackoff(run: RunDraft, scheduledEventId: number): void {
  run.addFact({ kind: 'activityBackoffEnded', scheduledEventId });
  dispatchActivity(run, scheduledEventId);
}

/** The activity's tasks have ended: its next attempt goes out at `scheduledTimeMs`, under a new stamp. */
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

/** One timer for its next deadline. A heartbeat moves that without touching the timer, which is armed again when it fires too early. */
export function armActivityTimer(run: RunDraft, scheduledEventId: number): void {
  const activity = pendingActivity(run, scheduledEventId);
  run.finishTask(activity.timerTaskId);
  const deadline = nextDeadline(activity);
  if (deadline === undefined) return;
  const { atMs: fireTimeMs, timeout } = deadline;
  run.addTask({ kind: 'activityTimeout', fireTimeMs, scheduledEventId, stamp: activity.stamp, timeout });
}
