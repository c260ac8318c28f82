/** What events, attempts and operators do to a pending activity. */
import type { FactOf } from '../run/record.ts';
import type { EventOf } from '../run/events.ts';
import type { Activity, Run } from '../run/state.ts';
import { answeredBytes, withAnswered } from '../run/answered-requests.ts';
import type { ActivityOperations, ActivityOptions } from '../run/activity-operations.ts';

export function beginActivity(run: Run, event: EventOf<'activityTaskScheduled'>): void {
  const a = event.attributes;
  run.activities.set(event.eventId, {
    scheduledEventId: event.eventId,
    activityId: a.activityId,
    attributes: a,
    firstScheduledTimeMs: event.eventTimeMs,
    scheduledTimeMs: event.eventTimeMs,
    attempt: 1,
    stamp: 1,
    inBackoff: false,
    startedTimeMs: 0,
    requestId: '',
    identity: '',
    workerVersion: undefined,
    heartbeatDetails: undefined,
    heartbeatTimeMs: 0,
    cancelRequestedEventId: 0,
    lastFailure: undefined,
    lastWorkerIdentity: '',
    lastStartedTimeMs: 0,
    lastAttemptCompleteTimeMs: 0,
    retryIntervalMs: 0,
    dispatchTaskId: 0,
    timerTaskId: 0,
    operations: undefined,
  });
  run.activityIds.set(a.activityId, { scheduledEventId: event.eventId });
}

export function changeActivity(run: Run, scheduledEventId: number, change: (activity: Activity) => Activity): void {
  const activity = run.activities.get(scheduledEventId);
  if (activity === undefined) return;
  const changed = change(activity);
  run.attemptBytes += attemptBytes(changed) - attemptBytes(activity);
  run.activities.set(scheduledEventId, changed);
}

export function removeActivity(run: Run, scheduledEventId: number): void {
  const activity = run.activities.get(scheduledEventId);
  if (activity === undefined) return;
  run.attemptBytes -= attemptBytes(activity);
  run.activities.delete(scheduledEventId);
  // The id may belong to a newer activity by now.
  if (run.activityIds.get(activity.activityId)?.scheduledEventId === scheduledEventId) run.activityIds.delete(activity.activityId);
}

function attemptBytes({ heartbeatDetails, lastFailure, operations }: Activity): number {
  return (heartbeatDetails?.length ?? 0) + (lastFailure?.length ?? 0) + (operations === undefined ? 0 : operationBytes(operations));
}

function operationBytes({ pause, options, answered }: ActivityOperations): number {
  const paused = pause === undefined ? 0 : pause.identity.length + pause.reason.length + pause.requestId.length;
  return paused + (options === undefined ? 0 : optionBytes(options)) + answeredBytes(answered);
}

function optionBytes({ taskQueue, priority, errorTypes }: ActivityOptions): number {
  let bytes = taskQueue.name.length + (priority?.length ?? 0);
  for (const type of errorTypes?.types ?? []) bytes += type.length;
  return bytes;
}

export function withStart(activity: Activity, { requestId, identity, workerVersion }: FactOf<'activityStarted'>, nowMs: number): Activity {
  return { ...activity, startedTimeMs: nowMs, requestId, identity, workerVersion, lastStartedTimeMs: nowMs, dispatchTaskId: 0 };
}

const unstarted = { startedTimeMs: 0, requestId: '', identity: '', workerVersion: undefined } as const;

export function withoutStart(activity: Activity, nowMs: number): Activity {
  return { ...afterAttempt(activity, activity.attempt), ...unstarted, stamp: activity.stamp + 1, scheduledTimeMs: nowMs };
}

export function afterFailedAttempt(activity: Activity, { intervalMs, failure }: FactOf<'activityRetried'>, nowMs: number): Activity {
  return {
    ...afterAttempt(activity, activity.attempt + 1),
    ...unstarted,
    stamp: activity.stamp + 1,
    inBackoff: true,
    scheduledTimeMs: nowMs + intervalMs,
    lastFailure: failure,
    lastWorkerIdentity: activity.identity,
    lastAttemptCompleteTimeMs: nowMs,
    retryIntervalMs: intervalMs,
    dispatchTaskId: 0,
    timerTaskId: 0,
  };
}

/** The activity as its next attempt finds it. */
function afterAttempt(activity: Activity, nextAttempt: number): Activity {
  const { operations } = activity;
  if (operations === undefined) return { ...activity, attempt: nextAttempt };
  const next = operated(activity, { attemptsReset: false, resetRequested: false, heartbeatReset: false });
  const counted = { ...next, attempt: operations.attemptsReset ? 1 : nextAttempt };
  return operations.heartbeatReset ? withoutHeartbeat(counted) : counted;
}

export function rescheduled(activity: Activity, { scheduledTimeMs }: FactOf<'activityRescheduled'>, nowMs: number): Activity {
  return {
    ...withheld(activity),
    inBackoff: true,
    scheduledTimeMs,
    retryIntervalMs: Math.max(0, scheduledTimeMs - (activity.lastAttemptCompleteTimeMs || nowMs)),
  };
}

/** An activity whose tasks have ended: its workflow or itself is paused, or its next attempt goes out at another time. */
export function withheld(activity: Activity): Activity {
  // What is under way to a worker is refused from here on. An attempt that runs needs no new stamp.
  const stamp = activity.startedTimeMs === 0 ? activity.stamp + 1 : activity.stamp;
  return { ...activity, stamp, dispatchTaskId: 0, timerTaskId: 0 };
}

export function afterPause(activity: Activity, { identity, reason, requestId }: FactOf<'activitiesPaused'>, nowMs: number): Activity {
  return operated(withheld(activity), { pause: { pauseTimeMs: nowMs, identity, reason, requestId } });
}

export function afterUnpause(activity: Activity, { resetAttempts, resetHeartbeat }: FactOf<'activityUnpaused'>): Activity {
  const goesOn = operated(activity, { pause: undefined });
  const counted = resetAttempts ? fromFirstAttempt(goesOn) : goesOn;
  return resetHeartbeat ? withoutHeartbeat(counted) : counted;
}

export function withOptions(activity: Activity, options: ActivityOptions | undefined): Activity {
  return withoutTasks(operated(activity, { options }));
}

export function withAnswer(activity: Activity, { operation, requestId }: FactOf<'requestAnswered'>): Activity {
  return operated(activity, { answered: withAnswered(activity.operations?.answered, { operation, requestId }) });
}

export function afterReset(activity: Activity, fact: FactOf<'activityReset'>): Activity {
  const { operations } = activity;
  const changed = operated(withoutTasks(activity), {
    pause: fact.keepPaused ? operations?.pause : undefined,
    options: fact.restoreOptions ? undefined : operations?.options,
  });
  const first = fromFirstAttempt(changed);
  if (activity.startedTimeMs === 0) return fact.resetHeartbeat ? withoutHeartbeat(first) : first;
  // The attempt that runs may still beat, and end the activity: it loses its details with its end.
  return operated(first, { resetRequested: true, heartbeatReset: fact.resetHeartbeat || operations?.heartbeatReset === true });
}

/** An attempt that runs keeps its number, by which its worker answers. The first one is what it would be: its failure counts, as on Temporal. */
function fromFirstAttempt(activity: Activity): Activity {
  if (activity.startedTimeMs !== 0) return activity.attempt === 1 ? activity : operated(activity, { attemptsReset: true });
  return { ...activity, attempt: 1, lastFailure: undefined };
}

const untouched: ActivityOperations = {
  pause: undefined,
  attemptsReset: false,
  resetRequested: false,
  heartbeatReset: false,
  options: undefined,
  answered: undefined,
};

/** One that nothing is left of takes no room. */
function operated(activity: Activity, change: Partial<ActivityOperations>): Activity {
  const operations = { ...untouched, ...activity.operations, ...change };
  const { pause, attemptsReset, resetRequested, heartbeatReset, options, answered } = operations;
  const isAsBefore = !attemptsReset && !resetRequested && !heartbeatReset;
  const isUntouched = isAsBefore && pause === undefined && options === undefined && answered === undefined;
  return { ...activity, operations: isUntouched ? undefined : operations };
}

function withoutTasks(activity: Activity): Activity {
  return { ...activity, dispatchTaskId: 0, timerTaskId: 0 };
}

function withoutHeartbeat(activity: Activity): Activity {
  return { ...activity, heartbeatDetails: undefined, heartbeatTimeMs: 0 };
}
