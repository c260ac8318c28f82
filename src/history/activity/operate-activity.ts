/**
 * What operators do to pending activities. All that a request names is found and checked before anything is written.
 *
 *     scheduled or in backoff ── pause ──▶ its task and its timers end ── unpause ──▶ dispatched now, or within the jitter
 *     running                 ── pause ──▶ goes on, learns of it by its heartbeats; another attempt waits for the unpause
 *
 * While an activity is paused none of its timeouts counts, as in Temporal; at its unpause those that are over take effect.
 */
import type { Draft, RunDraft } from '../draft/draft.ts';
import { retryIntervalMs } from '../../kernel/retry-policy.ts';
import { findRunning, isRejected, reject, rejectInvalid } from '../run/reject.ts';
import type { HistoryReply, Rejected } from '../run/history-replies.ts';
import type { Activity, RunView } from '../run/state.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type * as commands from '../commands/operation-commands.ts';
import type { ShownOptions } from '../run/activity-operations.ts';
import { hasAnswered, operation } from '../run/answered-requests.ts';
import { activityType, attributesOf, optionsOf, storedOptions } from '../run/activity-options.ts';
import { noteAnswer } from '../steps/note-answers.ts';
import { notePauseInfo } from '../steps/pause-info.ts';
import { areSame, changedOptions } from './change-options.ts';
import { armActivityTimer, endTasks, isPaused, pendingActivity, reschedule } from '../steps/activity-task.ts';
import { withholdUntil } from '../steps/withheld-activities.ts';

type Found = { readonly kind: 'found'; readonly run: RunView; readonly activities: readonly Activity[] };

const noSuchActivity = reject({
  reason: 'activity-not-found',
  message: "Can't find pending activity with such ID. Invalid activityID or activity already completed",
});

export function pauseActivity(draft: Draft, command: commands.PauseActivity): HistoryReply {
  const found = findActivities(draft, command);
  if (found.kind === 'rejected') return found;
  const { identity, reason, requestId } = command;
  if (isRepeated(found, operation.pause, command)) return { kind: 'done' };
  const pausing: number[] = [];
  for (const { scheduledEventId, operations } of found.activities) {
    if (operations?.pause === undefined) pausing.push(scheduledEventId);
    else if (operations.pause.requestId !== requestId) {
      return reject({ reason: 'failed-precondition', message: 'activity is already paused' });
    }
  }
  if (pausing.length === 0) return { kind: 'done' };
  const run = draft.open(found.run);
  for (const scheduledEventId of pausing) endTasks(run, scheduledEventId);
  run.addFact({ kind: 'activitiesPaused', scheduledEventIds: pausing, identity, reason, requestId });
  noteAnswered(run, found, operation.pause, command);
  notePauseInfo(run);
  return { kind: 'done' };
}

export function unpauseActivity(draft: Draft, command: commands.UnpauseActivity): HistoryReply {
  const found = findActivities(draft, command);
  if (found.kind === 'rejected') return found;
  if (isRepeated(found, operation.unpause, command)) return { kind: 'done' };
  const { resetAttempts, resetHeartbeat } = command;
  const run = draft.open(found.run);
  for (const [at, activity] of found.activities.entries()) {
    if (!isPaused(activity)) continue;
    const { scheduledEventId } = activity;
    run.addFact({ kind: 'activityUnpaused', scheduledEventId, resetAttempts, resetHeartbeat });
    if (activity.startedTimeMs === 0) reschedule(run, scheduledEventId, jittered(draft, command, at));
    else armActivityTimer(run, scheduledEventId);
  }
  noteAnswered(run, found, operation.unpause, command);
  notePauseInfo(run);
  return { kind: 'done' };
}

export function resetActivity(draft: Draft, command: commands.ResetActivity): HistoryReply {
  const found = findActivities(draft, command);
  if (found.kind === 'rejected') return found;
  if (isRepeated(found, operation.reset, command)) return { kind: 'done' };
  const { resetHeartbeat, keepPaused, restoreOriginalOptions: restoreOptions } = command;
  const run = draft.open(found.run);
  for (const [at, activity] of found.activities.entries()) {
    if (isAsReset(activity, command)) continue;
    const { scheduledEventId, startedTimeMs } = activity;
    endTasks(run, scheduledEventId);
    run.addFact({ kind: 'activityReset', scheduledEventId, resetHeartbeat, keepPaused, restoreOptions });
    if (startedTimeMs !== 0) armActivityTimer(run, scheduledEventId);
    else if (!isPaused(pendingActivity(run, scheduledEventId))) reschedule(run, scheduledEventId, jittered(draft, command, at));
  }
  noteAnswered(run, found, operation.reset, command);
  notePauseInfo(run);
  return { kind: 'done' };
}

export function updateActivityOptions(draft: Draft, command: commands.UpdateActivityOptions): HistoryReply {
  const found = findActivities(draft, command);
  if (found.kind === 'rejected') return found;
  if (isRepeated(found, operation.updateOptions, command)) return optionsNow(found.run, found.activities.at(-1));
  const { change } = command;
  const updates: { readonly activity: Activity; readonly options: ShownOptions | undefined }[] = [];
  for (const activity of found.activities) {
    const options = change === undefined ? undefined : changedOptions(draft, found.run, activity, change);
    if (typeof options === 'string') return rejectInvalid(options);
    updates.push({ activity, options });
  }
  const run = draft.open(found.run);
  for (const { activity, options } of updates) {
    const { scheduledEventId } = activity;
    const isAsBefore = options === undefined ? activity.operations?.options === undefined : areSame(optionsOf(run.run, activity), options);
    if (isAsBefore) continue;
    endTasks(run, scheduledEventId);
    run.addFact({ kind: 'activityOptionsUpdated', scheduledEventId, options: options && storedOptions(activity, options) });
    const updated = pendingActivity(run, scheduledEventId);
    if (updated.startedTimeMs !== 0) armActivityTimer(run, scheduledEventId);
    else if (!isPaused(updated)) {
      const goesOut = run.run.pause === undefined ? reschedule : withholdUntil;
      goesOut(run, scheduledEventId, timeOfNextAttempt(activity, updated));
    }
  }
  noteAnswered(run, found, operation.updateOptions, command);
  const last = updates.at(-1)?.activity;
  return optionsNow(run.run, last && pendingActivity(run, last.scheduledEventId));
}

function optionsNow(run: RunView, activity: Activity | undefined): HistoryReply {
  return activity === undefined ? noSuchActivity : { kind: 'activityOptionsUpdated', options: optionsOf(run, activity) };
}

type Request = { readonly requestId: string };

/** The answer to the same request was lost: whatever has happened to the activities since, it does nothing. */
function isRepeated({ activities }: Found, asked: number, { requestId }: Request): boolean {
  return activities.some(({ operations }) => hasAnswered(operations?.answered, asked, requestId));
}

function noteAnswered(run: RunDraft, { activities }: Found, asked: number, { requestId }: Request): void {
  const ids = activities.map(({ scheduledEventId }) => scheduledEventId);
  noteAnswer(run, ids, { operation: asked, requestId });
}

/** The first attempt waits for a worker, or runs, and knows already what this would tell it: so a request that is repeated does nothing. */
function isAsReset(activity: Activity, { resetHeartbeat, keepPaused, restoreOriginalOptions }: commands.ResetActivity): boolean {
  const { operations, startedTimeMs, attempt, inBackoff, heartbeatTimeMs } = activity;
  if (isPaused(activity) && !keepPaused) return false;
  if (restoreOriginalOptions && operations?.options !== undefined) return false;
  if (startedTimeMs !== 0) return operations?.resetRequested === true && (!resetHeartbeat || operations.heartbeatReset);
  if (resetHeartbeat && heartbeatTimeMs !== 0) return false;
  return attempt === 1 && (isPaused(activity) || !inBackoff);
}

function findActivities(
  draft: Draft,
  { key, target }: { readonly key: RunKey; readonly target: commands.ActivityTarget },
): Found | Rejected {
  const run = findRunning(draft.shard, key);
  if (isRejected(run)) return run;
  const activities = targeted(run, target);
  return activities.length === 0 ? noSuchActivity : { kind: 'found', run, activities };
}

function targeted(run: RunView, { activityId, activityType: type }: commands.ActivityTarget): readonly Activity[] {
  if (activityId !== undefined) {
    const scheduledEventId = run.activityIds.get(activityId)?.scheduledEventId;
    const activity = scheduledEventId === undefined ? undefined : run.activities.get(scheduledEventId);
    return activity === undefined ? [] : [activity];
  }
  const all = [...run.activities.values()];
  return type === undefined ? all : all.filter((activity) => activityType(activity) === type);
}

/** One draw for all: steps of the golden ratio spread them evenly from there. */
const goldenRatio = 0.618033988749895;

function jittered(draft: Draft, { jitterMs, jitter }: commands.UnpauseActivity | commands.ResetActivity, at: number): number {
  return draft.nowMs + Math.floor(jitterMs * ((jitter + at * goldenRatio) % 1));
}

/** By the policy as it is now, if its interval has changed. One that is due stays so, as does one whose failure has said when. */
function timeOfNextAttempt(before: Activity, updated: Activity): number {
  const { inBackoff, attempt, scheduledTimeMs, lastAttemptCompleteTimeMs } = updated;
  if (!inBackoff || attempt <= 1 || lastAttemptCompleteTimeMs === 0) return scheduledTimeMs;
  const intervalMs = intervalBefore(updated);
  return intervalMs === intervalBefore(before) ? scheduledTimeMs : lastAttemptCompleteTimeMs + intervalMs;
}

function intervalBefore(activity: Activity): number {
  const { retryPolicy } = attributesOf(activity);
  return retryPolicy === undefined ? 0 : retryIntervalMs(retryPolicy, activity.attempt - 1);
}
