/** What no worker has started of a paused workflow waits for its unpause, its own, or its reset. Its timeouts count on. */
import type { RunDraft } from '../draft/draft.ts';
import { armActivityTimer, endTasks, isPaused, reschedule } from './activity-task.ts';

export function withholdActivities(run: RunDraft): void {
  const waiting: number[] = [];
  for (const activity of run.run.activities.values()) {
    if (activity.startedTimeMs === 0 && !isPaused(activity)) waiting.push(activity.scheduledEventId);
  }
  if (waiting.length === 0) return;
  for (const scheduledEventId of waiting) endTasks(run, scheduledEventId);
  run.addFact({ kind: 'activitiesWithheld', scheduledEventIds: waiting });
  for (const scheduledEventId of waiting) armActivityTimer(run, scheduledEventId);
}

export function releaseActivities(run: RunDraft): void {
  for (const activity of [...run.run.activities.values()]) {
    const { scheduledEventId, startedTimeMs, scheduledTimeMs, dispatchTaskId } = activity;
    if (startedTimeMs !== 0 || dispatchTaskId !== 0 || isPaused(activity)) continue;
    endTasks(run, scheduledEventId);
    reschedule(run, scheduledEventId, scheduledTimeMs);
  }
}

/** The activity's tasks have ended: it waits on, and its next attempt goes out at `scheduledTimeMs`, or with the unpause if that comes later. */
export function withholdUntil(run: RunDraft, scheduledEventId: number, scheduledTimeMs: number): void {
  run.addFact({ kind: 'activityRescheduled', scheduledEventId, scheduledTimeMs });
  armActivityTimer(run, scheduledEventId);
}
