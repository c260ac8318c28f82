/** How a run begins, begins again, and closes; what its requests and its workflow task have in common for events and facts. */
import type { FactOf } from '../run/record.ts';
import { taskQueueKind } from '../generated/enums.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { noCallbacks, withAttached } from '../run/callback.ts';
import type { EventOf } from '../run/events.ts';
import { Pending } from '../run/pending.ts';
import { newRun, type Run } from '../run/state.ts';
import { dropTold } from '../run/update-callbacks.ts';

export function runFromStarted(key: RunKey, namespace: string, started: EventOf<'workflowExecutionStarted'>): Run {
  const a = started.attributes;
  const startTimeMs = started.eventTimeMs;
  const executionTimeMs = startTimeMs + a.firstWorkflowTaskBackoffMs;
  const root = a.rootWorkflowExecution ?? { workflowId: key.workflowId, runId: key.runId };
  const parent = a.parentWorkflowExecution;
  const run = newRun(key, namespace, {
    workflowType: a.workflowType?.name ?? '',
    taskQueue: a.taskQueue ?? { name: '', kind: taskQueueKind.normal, normalName: '' },
    startTimeMs,
    executionTimeMs,
    executionTimeoutMs: a.workflowExecutionTimeoutMs,
    runTimeoutMs: a.workflowRunTimeoutMs,
    taskTimeoutMs: a.workflowTaskTimeoutMs,
    runExpirationMs: runExpiration(executionTimeMs, a.workflowRunTimeoutMs, a.workflowExecutionExpirationTimeMs),
    executionExpirationMs: a.workflowExecutionExpirationTimeMs,
    firstRunId: a.firstExecutionRunId,
    originalRunId: a.originalExecutionRunId,
    attempt: a.attempt,
    parent: parent && {
      namespaceId: a.parentWorkflowNamespaceId,
      namespace: a.parentWorkflowNamespace,
      workflowId: parent.workflowId,
      runId: parent.runId,
      initiatedEventId: a.parentInitiatedEventId,
      rootWorkflowId: root.workflowId,
      rootRunId: root.runId,
    },
    root,
    userMetadata: started.userMetadata,
    priority: a.priority,
    links: started.links,
  });
  run.startedWith = a.retryPolicy === undefined && a.cronSchedule === '' ? undefined : a;
  run.memo = a.memo;
  run.searchAttributes = a.searchAttributes;
  run.callbacks = withAttached(noCallbacks, {
    callbacks: a.completionCallbacks,
    attachedBy: '',
    timeMs: startTimeMs,
    idOf: (index) => `${started.version}-${started.eventId}-${index}`,
  });
  return run;
}

/** 0 = never. */
function runExpiration(executionTimeMs: number, runTimeoutMs: number, executionEnd: number): number {
  const runEnd = runTimeoutMs === 0 ? 0 : executionTimeMs + runTimeoutMs;
  if (runEnd === 0 || executionEnd === 0) return runEnd + executionEnd;
  return Math.min(runEnd, executionEnd);
}

/** What clocks measure begins now, but for timers: those are in its history. */
export function beginAgain(run: Run, { requestId, bases }: FactOf<'runReset'>, nowMs: number): void {
  const { start } = run;
  const executionExpirationMs = start.executionTimeoutMs === 0 ? 0 : nowMs + start.executionTimeoutMs;
  run.reset = { requestId, timeMs: nowMs, originalStartTimeMs: start.startTimeMs, bases };
  run.start = {
    ...start,
    startTimeMs: nowMs,
    executionTimeMs: nowMs,
    executionExpirationMs,
    runExpirationMs: runExpiration(nowMs, start.runTimeoutMs, executionExpirationMs),
  };
  dropTold(run);
  for (const activity of [...run.activities.values()]) {
    run.activities.set(activity.scheduledEventId, { ...activity, firstScheduledTimeMs: nowMs, scheduledTimeMs: nowMs });
  }
}

export function attachRequestId(run: Run, requestId: string, eventId: number, eventType: number): void {
  if (run.requestIds.length === 0) {
    run.requestIds = [{ requestId, eventId, eventType }];
    return;
  }
  // An array that is spread into and grows has room for 17: with one entry, 136 bytes of each run.
  run.requestIds = run.requestIds.filter((entry) => entry.requestId !== requestId).concat({ requestId, eventId, eventType });
}

/** One that is the start's already goes on leading to that. */
export function attachRequestOfUpdate(run: Run, requestId: string, eventId: number, eventType: number): void {
  const known = run.requestIds.find((entry) => entry.requestId === requestId);
  if (requestId !== '' && (known === undefined || known.eventType === eventType)) attachRequestId(run, requestId, eventId, eventType);
}

/** Shared by all closed runs: nothing is ever added to them again. */
const none: Pick<Run, 'activities' | 'activityIds' | 'timers' | 'children' | 'externalSignals' | 'externalCancels'> = {
  activities: new Pending(),
  activityIds: new Pending(),
  timers: new Pending(),
  children: new Pending(),
  externalSignals: new Pending(),
  externalCancels: new Pending(),
};

/** `successorRunId`: the run that goes on in its place; '' = none. */
export function markClosed(run: Run, closedAs: number, timeMs: number, successorRunId = ''): void {
  run.status = closedAs;
  run.closeTimeMs = timeMs;
  run.successorRunId = successorRunId;
  run.workflowTask = undefined;
  run.workflowTaskAttempt = 1;
  run.closeAttempted = false;
  run.sticky = undefined;
  run.startedWith = undefined;
  run.buffered = [];
  run.bufferedBytes = 0;
  run.timeoutTaskId = 0;
  run.backoffTaskId = 0;
  run.attemptBytes = 0;
  Object.assign(run, none);
}

/** A failed or timed-out attempt on a sticky queue costs only the stickiness; on the normal queue it makes the next one transient. */
export function endFailedWorkflowTask(run: Run, incrementAttempt: boolean): void {
  const increment = incrementAttempt && run.sticky === undefined;
  run.sticky = undefined;
  run.workflowTask = undefined;
  run.workflowTaskAttempt = increment ? run.workflowTaskAttempt + 1 : 1;
  run.closeAttempted = false;
}
