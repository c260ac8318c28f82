/**
 * What an event does to its run, from history alone: reset, import and rebuild need just this. Facts refine it (evolve-fact.ts).
 *
 * Events that were buffered come through here a second time, when they get their place in history. Removing what is already gone and
 * setting what is already set are therefore no errors here.
 */
import { unreachable } from '../kernel/assert.ts';
import type {
  EventOf,
  HistoryEvent,
  StartChildWorkflowExecutionInitiatedAttributes,
  WorkflowExecutionStartedAttributes,
} from './events.ts';
import { eventTypeNumber } from './events.ts';
import type { RunKey } from './commands.ts';
import type { HistoryWire } from './replies.ts';
import { type Activity, newRun, type Run, status } from './state.ts';
import { mergeFields } from './fields.ts';
import { Pending } from './pending.ts';
import { timeoutType, workflowTaskFailedCause } from './wire-enums.ts';

/** A run begins with its Started event. */
export function beginRun(key: RunKey, namespace: string, started: EventOf<'workflowExecutionStarted'>): Run {
  const a = started.attributes;
  const startTimeMs = started.eventTimeMs;
  const executionTimeMs = startTimeMs + a.firstWorkflowTaskBackoffMs;
  const self = { workflowId: key.workflowId, runId: key.runId };
  const parent = a.parentWorkflowExecution;
  const run = newRun(key, namespace, {
    workflowType: a.workflowType?.name ?? '',
    taskQueue: a.taskQueue ?? { name: '', kind: 1, normalName: '' },
    startTimeMs,
    executionTimeMs,
    executionTimeoutMs: a.workflowExecutionTimeoutMs,
    runTimeoutMs: a.workflowRunTimeoutMs,
    taskTimeoutMs: a.workflowTaskTimeoutMs,
    runExpirationMs: runExpiration(executionTimeMs, a),
    executionExpirationMs: a.workflowExecutionExpirationTimeMs,
    firstRunId: a.firstExecutionRunId,
    originalRunId: a.originalExecutionRunId,
    attempt: a.attempt,
    parent:
      parent === undefined
        ? undefined
        : {
            namespaceId: a.parentWorkflowNamespaceId,
            namespace: a.parentWorkflowNamespace,
            workflowId: parent.workflowId,
            runId: parent.runId,
            initiatedEventId: a.parentInitiatedEventId,
            rootWorkflowId: (a.rootWorkflowExecution ?? self).workflowId,
            rootRunId: (a.rootWorkflowExecution ?? self).runId,
          },
    root: a.rootWorkflowExecution ?? self,
    userMetadata: started.userMetadata,
    priority: a.priority,
    links: started.links,
  });
  run.memo = a.memo;
  run.searchAttributes = a.searchAttributes;
  return run;
}

function runExpiration(executionTimeMs: number, a: WorkflowExecutionStartedAttributes): number {
  const runEnd = a.workflowRunTimeoutMs === 0 ? 0 : executionTimeMs + a.workflowRunTimeoutMs;
  const executionEnd = a.workflowExecutionExpirationTimeMs;
  if (runEnd === 0 || executionEnd === 0) return runEnd + executionEnd;
  return Math.min(runEnd, executionEnd);
}

export function evolveEvent(run: Run, event: HistoryEvent, wire: HistoryWire): void {
  switch (event.type) {
    case 'workflowExecutionStarted':
      return;
    case 'workflowTaskScheduled': {
      const a = event.attributes;
      run.workflowTaskStamp++;
      run.backoffTaskId = 0;
      run.workflowTaskAttempt = a.attempt;
      run.workflowTask = {
        kind: 'normal',
        scheduledEventId: event.eventId,
        stamp: run.workflowTaskStamp,
        attempt: a.attempt,
        scheduledTimeMs: event.eventTimeMs,
        originalScheduledTimeMs: event.eventTimeMs,
        taskQueue: a.taskQueue ?? run.start.taskQueue,
        startToCloseTimeoutMs: a.startToCloseTimeoutMs,
        startedEventId: 0,
        startedTimeMs: 0,
        requestId: '',
        identity: '',
        historySizeBytes: 0,
        suggestContinueAsNewReasons: [],
        dispatchTaskId: 0,
        timeoutTaskId: 0,
      };
      return;
    }
    case 'workflowTaskStarted': {
      const a = event.attributes;
      if (run.workflowTask === undefined) return;
      run.workflowTask = {
        ...run.workflowTask,
        startedEventId: event.eventId,
        startedTimeMs: event.eventTimeMs,
        requestId: a.requestId,
        identity: a.identity,
        historySizeBytes: a.historySizeBytes,
        suggestContinueAsNewReasons: a.suggestContinueAsNewReasons,
        dispatchTaskId: 0,
        timeoutTaskId: 0,
      };
      return;
    }
    case 'workflowTaskCompleted':
      run.previousStartedEventId = event.attributes.startedEventId;
      run.workflowTask = undefined;
      run.workflowTaskAttempt = 1;
      run.closeAttempted = false;
      return;
    case 'workflowTaskFailed':
      endFailedWorkflowTask(run, true);
      run.closeAttempted = event.attributes.cause === workflowTaskFailedCause.unhandledCommand;
      return;
    case 'workflowTaskTimedOut':
      endFailedWorkflowTask(run, event.attributes.timeoutType !== timeoutType.scheduleToStart);
      return;

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

    case 'timerStarted':
      run.timers.set(event.attributes.timerId, {
        timerId: event.attributes.timerId,
        startedEventId: event.eventId,
        fireTimeMs: event.eventTimeMs + event.attributes.startToFireTimeoutMs,
        taskId: 0,
      });
      return;
    case 'timerFired':
    case 'timerCanceled': {
      const { timerId, startedEventId } = event.attributes;
      if (run.timers.get(timerId)?.startedEventId === startedEventId) run.timers.delete(timerId);
      return;
    }

    case 'startChildWorkflowExecutionInitiated':
      beginChild(run, event.eventId, event.attributes, event.userMetadata);
      return;
    case 'childWorkflowExecutionStarted': {
      const { initiatedEventId, workflowExecution } = event.attributes;
      const child = run.children.get(initiatedEventId);
      if (child === undefined) return;
      // eventId is 0 while the event is buffered; the second time it is real.
      run.children.set(initiatedEventId, { ...child, runId: workflowExecution?.runId ?? '', startedEventId: event.eventId, taskId: 0 });
      return;
    }
    case 'startChildWorkflowExecutionFailed':
    case 'childWorkflowExecutionCompleted':
    case 'childWorkflowExecutionFailed':
    case 'childWorkflowExecutionCanceled':
    case 'childWorkflowExecutionTimedOut':
    case 'childWorkflowExecutionTerminated':
      run.children.delete(event.attributes.initiatedEventId);
      return;

    case 'signalExternalWorkflowExecutionInitiated': {
      const a = event.attributes;
      run.externalSignals.set(event.eventId, {
        initiatedEventId: event.eventId,
        namespace: a.namespace,
        namespaceId: a.namespaceId,
        workflowExecution: a.workflowExecution ?? noExecution,
        childWorkflowOnly: a.childWorkflowOnly,
        control: a.control,
        reason: '',
        signalName: a.signalName,
        input: a.input,
        header: a.header,
        workflowTaskCompletedEventId: a.workflowTaskCompletedEventId,
        taskId: 0,
      });
      return;
    }
    case 'externalWorkflowExecutionSignaled':
    case 'signalExternalWorkflowExecutionFailed':
      run.externalSignals.delete(event.attributes.initiatedEventId);
      return;
    case 'requestCancelExternalWorkflowExecutionInitiated': {
      const a = event.attributes;
      run.externalCancels.set(event.eventId, {
        initiatedEventId: event.eventId,
        namespace: a.namespace,
        namespaceId: a.namespaceId,
        workflowExecution: a.workflowExecution ?? noExecution,
        childWorkflowOnly: a.childWorkflowOnly,
        control: a.control,
        reason: a.reason,
        signalName: '',
        input: undefined,
        header: undefined,
        workflowTaskCompletedEventId: a.workflowTaskCompletedEventId,
        taskId: 0,
      });
      return;
    }
    case 'externalWorkflowExecutionCancelRequested':
    case 'requestCancelExternalWorkflowExecutionFailed':
      run.externalCancels.delete(event.attributes.initiatedEventId);
      return;

    case 'workflowExecutionSignaled': {
      const { requestId } = event.attributes;
      // Counted once: when it gets its id.
      if (event.eventId !== 0) run.signalCount++;
      if (requestId !== '') {
        run.signalRequestIds.set(requestId, { requestId, eventId: event.eventId, eventType: eventTypeNumber.workflowExecutionSignaled });
      }
      return;
    }
    case 'workflowExecutionCancelRequested':
      run.cancelRequested = true;
      return;
    case 'workflowExecutionOptionsUpdated': {
      const requestId = event.attributes.attachedRequestId;
      if (requestId !== '') attachRequestId(run, requestId, event.eventId, eventTypeNumber.workflowExecutionOptionsUpdated);
      return;
    }
    case 'markerRecorded':
      return;
    case 'upsertWorkflowSearchAttributes':
      run.searchAttributes = mergeFields(run.searchAttributes, event.attributes.searchAttributes, wire);
      return;
    case 'workflowPropertiesModified':
      run.memo = mergeFields(run.memo, event.attributes.upsertedMemo, wire);
      return;

    case 'workflowExecutionCompleted':
      closeRun(run, status.completed, event.eventTimeMs);
      return;
    case 'workflowExecutionFailed':
      closeRun(run, status.failed, event.eventTimeMs);
      return;
    case 'workflowExecutionCanceled':
      closeRun(run, status.canceled, event.eventTimeMs);
      return;
    case 'workflowExecutionTerminated':
      closeRun(run, status.terminated, event.eventTimeMs);
      return;
    case 'workflowExecutionTimedOut':
      closeRun(run, status.timedOut, event.eventTimeMs);
      return;
    case 'workflowExecutionContinuedAsNew':
      run.successorRunId = event.attributes.newExecutionRunId;
      closeRun(run, status.continuedAsNew, event.eventTimeMs);
      return;
    default:
      return unreachable(event);
  }
}

const noExecution = { workflowId: '', runId: '' };

/**
 * A failed or timed-out attempt on a sticky queue costs only the stickiness; on the normal queue it makes the next one transient.
 * Also for transient attempts, which leave no event.
 */
export function endFailedWorkflowTask(run: Run, incrementAttempt: boolean): void {
  const increment = incrementAttempt && run.sticky === undefined;
  run.sticky = undefined;
  run.workflowTask = undefined;
  run.workflowTaskAttempt = increment ? run.workflowTaskAttempt + 1 : 1;
  run.closeAttempted = false;
}

export function changeActivity(run: Run, scheduledEventId: number, change: (activity: Activity) => Activity): void {
  const activity = run.activities.get(scheduledEventId);
  if (activity === undefined) return;
  const changed = change(activity);
  run.attemptBytes += attemptBytes(changed) - attemptBytes(activity);
  run.activities.set(scheduledEventId, changed);
}

function attemptBytes({ heartbeatDetails, lastFailure }: Activity): number {
  return (heartbeatDetails?.length ?? 0) + (lastFailure?.length ?? 0);
}

function removeActivity(run: Run, scheduledEventId: number): void {
  const activity = run.activities.get(scheduledEventId);
  if (activity === undefined) return;
  run.attemptBytes -= attemptBytes(activity);
  run.activities.delete(scheduledEventId);
  // The id may belong to a newer activity by now.
  if (run.activityIds.get(activity.activityId)?.scheduledEventId === scheduledEventId) run.activityIds.delete(activity.activityId);
}

export function attachRequestId(run: Run, requestId: string, eventId: number, eventType: number): void {
  run.requestIds = [...run.requestIds.filter((entry) => entry.requestId !== requestId), { requestId, eventId, eventType }];
}

function beginChild(
  run: Run,
  initiatedEventId: number,
  attributes: StartChildWorkflowExecutionInitiatedAttributes,
  userMetadata: Uint8Array | undefined,
): void {
  run.children.set(initiatedEventId, { initiatedEventId, attributes, userMetadata, runId: '', startedEventId: 0, taskId: 0 });
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

function closeRun(run: Run, closedAs: number, timeMs: number): void {
  run.status = closedAs;
  run.closeTimeMs = timeMs;
  run.workflowTask = undefined;
  run.workflowTaskAttempt = 1;
  run.closeAttempted = false;
  run.sticky = undefined;
  run.buffered = [];
  run.bufferedBytes = 0;
  run.timeoutTaskId = 0;
  run.backoffTaskId = 0;
  run.attemptBytes = 0;
  run.activities = none.activities;
  run.activityIds = none.activityIds;
  run.timers = none.timers;
  run.children = none.children;
  run.externalSignals = none.externalSignals;
  run.externalCancels = none.externalCancels;
}
