/** What operators' commands do to a pending activity. */
import { unreachable } from '../../kernel/assert.ts';
import type { Fact } from '../record.ts';
import type { Activity } from '../state.ts';
import { answeredBytes, withAnswered } from '../answered-requests.ts';
import type { ActivityOperations, ActivityOptions } from './activity-operations.ts';

export type OperationFact = Extract<
  Fact,
  {
    readonly kind:
      | 'activitiesPaused'
      | 'activityUnpaused'
      | 'activityReset'
      | 'activityOptionsUpdated'
      | 'activityRescheduled'
      | 'requestAnswered';
  }
>;

export function afterOperation(activity: Activity, fact: OperationFact, nowMs: number): Activity {
  switch (fact.kind) {
    case 'activitiesPaused': {
      const { identity, reason, requestId } = fact;
      return withoutTasks(operated(withNewStamp(activity), { pause: { pauseTimeMs: nowMs, identity, reason, requestId } }));
    }
    case 'requestAnswered': {
      const { operation, requestId } = fact;
      return operated(activity, { answered: withAnswered(activity.operations?.answered, { operation, requestId }) });
    }
    case 'activityUnpaused': {
      const unpaused = operated(activity, { pause: undefined });
      const counted = fact.resetAttempts ? fromFirstAttempt(unpaused) : unpaused;
      return fact.resetHeartbeat ? withoutHeartbeat(counted) : counted;
    }
    case 'activityReset':
      return withoutTasks(reset(activity, fact));
    case 'activityOptionsUpdated':
      return withoutTasks(operated(activity, { options: fact.options }));
    case 'activityRescheduled':
      return {
        ...withoutTasks(withNewStamp(activity)),
        inBackoff: true,
        scheduledTimeMs: fact.scheduledTimeMs,
        retryIntervalMs: Math.max(0, fact.scheduledTimeMs - (activity.lastAttemptCompleteTimeMs || nowMs)),
      };
    default:
      return unreachable(fact);
  }
}

function reset(activity: Activity, fact: Extract<Fact, { readonly kind: 'activityReset' }>): Activity {
  const { operations } = activity;
  const changed = operated(activity, {
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

/** As the next attempt finds it. */
export function afterAttempt(activity: Activity, nextAttempt: number): Activity {
  const { operations } = activity;
  if (operations === undefined) return { ...activity, attempt: nextAttempt };
  const next = operated(activity, { attemptsReset: false, resetRequested: false, heartbeatReset: false });
  const counted = { ...next, attempt: operations.attemptsReset ? 1 : nextAttempt };
  return operations.heartbeatReset ? withoutHeartbeat(counted) : counted;
}

export function operationBytes({ pause, options, answered }: ActivityOperations): number {
  const paused = pause === undefined ? 0 : pause.identity.length + pause.reason.length + pause.requestId.length;
  return paused + (options === undefined ? 0 : optionBytes(options)) + answeredBytes(answered);
}

function optionBytes({ taskQueue, priority, errorTypes }: ActivityOptions): number {
  let bytes = taskQueue.name.length + (priority?.length ?? 0);
  for (const type of errorTypes?.types ?? []) bytes += type.length;
  return bytes;
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

/** Tasks that are under way to workers are refused. An attempt that runs needs none. */
function withNewStamp(activity: Activity): Activity {
  return activity.startedTimeMs === 0 ? { ...activity, stamp: activity.stamp + 1 } : activity;
}

function withoutTasks(activity: Activity): Activity {
  return { ...activity, dispatchTaskId: 0, timerTaskId: 0 };
}

/** Its workflow is paused, and no worker has it. */
export function withheld(activity: Activity): Activity {
  return withoutTasks(withNewStamp(activity));
}

function withoutHeartbeat(activity: Activity): Activity {
  return { ...activity, heartbeatDetails: undefined, heartbeatTimeMs: 0 };
}
