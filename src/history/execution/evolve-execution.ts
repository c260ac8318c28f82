/** What events do to the run as a whole: how it begins, what it carries, how it closes. */
import { unreachable } from '../../kernel/assert.ts';
import { noCallbacks, withAttached } from '../callback/callback.ts';
import { attachOptions } from '../callback/update-callbacks.ts';
import type { RunClose } from '../closing-events.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { EventOf, HistoryEvent } from '../events.ts';
import { eventTypeNumber } from '../generated/public-api.ts';
import { mergeFields } from '../fields.ts';
import { Pending } from '../pending.ts';
import type { HistoryWire } from '../replies.ts';
import { status, taskQueueKind } from '../generated/enums.ts';
import { newRun, type Run } from '../state.ts';

type ExecutionEvent =
  | RunClose
  | Extract<
      HistoryEvent,
      {
        readonly type:
          | 'workflowExecutionCancelRequested'
          | 'workflowExecutionOptionsUpdated'
          | 'upsertWorkflowSearchAttributes'
          | 'workflowPropertiesModified';
      }
    >;

/** A run begins with its Started event. */
export function runFromStarted(key: RunKey, namespace: string, started: EventOf<'workflowExecutionStarted'>): Run {
  const a = started.attributes;
  const startTimeMs = started.eventTimeMs;
  const executionTimeMs = startTimeMs + a.firstWorkflowTaskBackoffMs;
  const self = { workflowId: key.workflowId, runId: key.runId };
  const parent = a.parentWorkflowExecution;
  const run = newRun(key, namespace, {
    archetype: 'workflow',
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
export function runExpiration(executionTimeMs: number, runTimeoutMs: number, executionEnd: number): number {
  const runEnd = runTimeoutMs === 0 ? 0 : executionTimeMs + runTimeoutMs;
  if (runEnd === 0 || executionEnd === 0) return runEnd + executionEnd;
  return Math.min(runEnd, executionEnd);
}

export function evolveExecution(run: Run, event: ExecutionEvent, wire: HistoryWire): void {
  switch (event.type) {
    case 'workflowExecutionCancelRequested':
      run.cancelRequested = true;
      return;
    case 'workflowExecutionOptionsUpdated': {
      const { attachedRequestId: requestId, attachedCompletionCallbacks: callbacks, priority } = event.attributes;
      const idOf = (index: number): string => `cb-${requestId}-${index}`;
      run.callbacks = withAttached(run.callbacks, { callbacks, attachedBy: requestId, timeMs: event.eventTimeMs, idOf });
      const type = eventTypeNumber.workflowExecutionOptionsUpdated;
      if (requestId !== '') attachRequestId(run, requestId, event.eventId, type);
      for (const id of attachOptions(run, event)) attachRequestOfUpdate(run, id, event.eventId, type);
      if (priority !== undefined) run.start = { ...run.start, priority: priority.length === 0 ? undefined : priority };
      return;
    }
    case 'upsertWorkflowSearchAttributes':
      run.searchAttributes = mergeFields(run.searchAttributes, event.attributes.searchAttributes, wire);
      return;
    case 'workflowPropertiesModified':
      run.memo = mergeFields(run.memo, event.attributes.upsertedMemo, wire);
      return;

    case 'workflowExecutionCompleted':
      run.successorRunId = event.attributes.newExecutionRunId;
      markClosed(run, status.completed, event.eventTimeMs);
      return;
    case 'workflowExecutionFailed':
      run.successorRunId = event.attributes.newExecutionRunId;
      markClosed(run, status.failed, event.eventTimeMs);
      return;
    case 'workflowExecutionCanceled':
      markClosed(run, status.canceled, event.eventTimeMs);
      return;
    case 'workflowExecutionTerminated':
      markClosed(run, status.terminated, event.eventTimeMs);
      return;
    case 'workflowExecutionTimedOut':
      run.successorRunId = event.attributes.newExecutionRunId;
      markClosed(run, status.timedOut, event.eventTimeMs);
      return;
    case 'workflowExecutionContinuedAsNew':
      run.successorRunId = event.attributes.newExecutionRunId;
      markClosed(run, status.continuedAsNew, event.eventTimeMs);
      return;
    default:
      return unreachable(event);
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

function markClosed(run: Run, closedAs: number, timeMs: number): void {
  run.status = closedAs;
  run.closeTimeMs = timeMs;
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
  run.activities = none.activities;
  run.activityIds = none.activityIds;
  run.timers = none.timers;
  run.children = none.children;
  run.externalSignals = none.externalSignals;
  run.externalCancels = none.externalCancels;
}

/** The search attribute of the workflows whose tasks fail again and again. */
export const reportedProblems = 'TemporalReportedProblems';

export function evolveProblems(run: Run, problems: readonly string[], wire: HistoryWire): void {
  const fields = wire.encodeFields(new Map([[reportedProblems, wire.encodeKeywords(problems)]]));
  run.searchAttributes = mergeFields(run.searchAttributes, fields, wire);
}
