/** What events and facts do to the pending activities. */
import { unreachable } from '../../kernel/assert.ts';
import type { HistoryEvent } from '../events.ts';
import type { Fact } from '../record.ts';
import type { Activity, Run } from '../state.ts';
import { afterAttempt, afterOperation, operationBytes, withheld } from './evolve-operation.ts';

type ActivityEvent = Extract<HistoryEvent, { readonly type: `activityTask${string}` }>;
type ActivityFact = Extract<Fact, { readonly kind: `activity${string}` | `activities${string}` | 'requestAnswered' }>;

export function evolveActivity(run: Run, event: ActivityEvent): void {
  switch (event.type) {
    case 'activityTaskScheduled': {
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
      return;
    }
    case 'activityTaskStarted': {
      const a = event.attributes;
      changeActivity(run, a.scheduledEventId, (activity) => ({
        ...activity,
        startedTimeMs: event.eventTimeMs,
        attempt: a.attempt,
        requestId: a.requestId,
        identity: a.identity,
      }));
      return;
    }
    case 'activityTaskCancelRequested':
      changeActivity(run, event.attributes.scheduledEventId, (activity) => ({ ...activity, cancelRequestedEventId: event.eventId }));
      return;
    case 'activityTaskCompleted':
    case 'activityTaskFailed':
    case 'activityTaskTimedOut':
    case 'activityTaskCanceled':
      removeActivity(run, event.attributes.scheduledEventId);
      return;
    default:
      return unreachable(event);
  }
}

export function evolveActivityFact(run: Run, fact: ActivityFact, nowMs: number): void {
  switch (fact.kind) {
    case 'activityStarted':
      changeActivity(run, fact.scheduledEventId, (activity) => ({
        ...activity,
        startedTimeMs: nowMs,
        requestId: fact.requestId,
        identity: fact.identity,
        workerVersion: fact.workerVersion,
        lastStartedTimeMs: nowMs,
        dispatchTaskId: 0,
      }));
      return;
    case 'activityStartWithdrawn':
      changeActivity(run, fact.scheduledEventId, (activity) => ({
        ...afterAttempt(activity, activity.attempt),
        stamp: activity.stamp + 1,
        startedTimeMs: 0,
        requestId: '',
        identity: '',
        workerVersion: undefined,
        scheduledTimeMs: nowMs,
      }));
      return;
    case 'activityHeartbeat':
      changeActivity(run, fact.scheduledEventId, (activity) => ({ ...activity, heartbeatDetails: fact.details, heartbeatTimeMs: nowMs }));
      return;
    case 'activityRetried':
      changeActivity(run, fact.scheduledEventId, (activity) => ({
        ...afterAttempt(activity, activity.attempt + 1),
        stamp: activity.stamp + 1,
        inBackoff: true,
        scheduledTimeMs: nowMs + fact.intervalMs,
        startedTimeMs: 0,
        requestId: '',
        identity: '',
        workerVersion: undefined,
        lastFailure: fact.failure,
        lastWorkerIdentity: activity.identity,
        lastAttemptCompleteTimeMs: nowMs,
        retryIntervalMs: fact.intervalMs,
        dispatchTaskId: 0,
        timerTaskId: 0,
      }));
      return;
    case 'activityBackoffEnded':
      changeActivity(run, fact.scheduledEventId, (activity) => ({ ...activity, inBackoff: false, timerTaskId: 0 }));
      return;
    case 'activitiesPaused':
    case 'requestAnswered':
      for (const id of fact.scheduledEventIds) changeActivity(run, id, (activity) => afterOperation(activity, fact, nowMs));
      return;
    case 'activitiesWithheld':
      for (const id of fact.scheduledEventIds) changeActivity(run, id, withheld);
      return;
    case 'activityUnpaused':
    case 'activityReset':
    case 'activityOptionsUpdated':
    case 'activityRescheduled':
      changeActivity(run, fact.scheduledEventId, (activity) => afterOperation(activity, fact, nowMs));
      return;
    default:
      return unreachable(fact);
  }
}

function changeActivity(run: Run, scheduledEventId: number, change: (activity: Activity) => Activity): void {
  const activity = run.activities.get(scheduledEventId);
  if (activity === undefined) return;
  const changed = change(activity);
  run.attemptBytes += attemptBytes(changed) - attemptBytes(activity);
  run.activities.set(scheduledEventId, changed);
}

function attemptBytes({ heartbeatDetails, lastFailure, operations }: Activity): number {
  return (heartbeatDetails?.length ?? 0) + (lastFailure?.length ?? 0) + (operations === undefined ? 0 : operationBytes(operations));
}

function removeActivity(run: Run, scheduledEventId: number): void {
  const activity = run.activities.get(scheduledEventId);
  if (activity === undefined) return;
  run.attemptBytes -= attemptBytes(activity);
  run.activities.delete(scheduledEventId);
  // The id may belong to a newer activity by now.
  if (run.activityIds.get(activity.activityId)?.scheduledEventId === scheduledEventId) run.activityIds.delete(activity.activityId);
}
