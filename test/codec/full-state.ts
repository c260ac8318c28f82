/** A run in which nothing has the value that it begins with, and a task of every kind: what the golden rows hold (state-codec.test.ts). */
import type { ActivityOperations } from '../../src/history/run/activity-operations.ts';
import type { WrittenCounters } from '../../src/history/shard/state-wire.ts';
import type { TaskFailure } from '../../src/history/commands/hand-over-commands.ts';
import { taskFailure, unknownSubject } from '../history/hand-over/task-failure.ts';
import type { ParentLink } from '../../src/history/commands/history-commands.ts';
import type { HistoryEvent } from '../../src/history/run/events.ts';
import { Pending } from '../../src/history/run/pending.ts';
import type { Activity, AsideRun, Child, ExternalRequest, Run, UserTimer } from '../../src/history/run/state.ts';
import type { PendingTask, Sender } from '../../src/history/run/tasks.ts';
import { bytes } from '../history/shard-under-test.ts';

const key = { namespaceId: 'ns-id', workflowId: 'wf', runId: 'run' };
const taskQueue = { name: 'queue', kind: 1, normalName: 'normal' };
const timeMs = 1_700_000_000_000;
const retryPolicy = {
  initialIntervalMs: 1_000,
  backoffCoefficient: 1.5,
  maximumIntervalMs: 60_000,
  maximumAttempts: 7,
  nonRetryableErrorTypes: ['Fatal', 'Bad'],
};

const event = {
  eventTimeMs: timeMs + 8,
  version: 3,
  taskId: 4,
  workerMayIgnore: true,
  userMetadata: bytes('event metadata'),
  links: [bytes('event link')],
  eventGroupMarkers: [bytes('marker')],
};

const signaled: HistoryEvent = {
  ...event,
  type: 'workflowExecutionSignaled',
  eventId: 0,
  userMetadata: bytes('signal metadata'),
  links: [bytes('signal link')],
  attributes: {
    signalName: 'signal',
    input: bytes('signal input'),
    identity: 'client',
    header: bytes('signal header'),
    skipGenerateWorkflowTask: true,
    externalWorkflowExecution: { workflowId: 'sender', runId: 'sender-run' },
    requestId: 'buffered-request',
  },
};

export function fullActivity(scheduledEventId: number, activityId: string, input = bytes('activity input')): Activity {
  return {
    scheduledEventId,
    activityId,
    attributes: {
      activityId,
      activityType: { name: 'Activity' },
      taskQueue,
      header: bytes('activity header'),
      input,
      scheduleToCloseTimeoutMs: 40_000,
      scheduleToStartTimeoutMs: 30_000,
      startToCloseTimeoutMs: 20_000,
      heartbeatTimeoutMs: 10_000,
      workflowTaskCompletedEventId: 4,
      retryPolicy,
      useWorkflowBuildId: true,
      priority: bytes('activity priority'),
    },
    firstScheduledTimeMs: timeMs + 20,
    scheduledTimeMs: timeMs + 21,
    attempt: 3,
    stamp: 5,
    inBackoff: true,
    startedTimeMs: timeMs + 22,
    requestId: 'activity-request',
    identity: 'activity worker',
    workerVersion: bytes('worker version'),
    heartbeatDetails: bytes('heartbeat'),
    heartbeatTimeMs: timeMs + 23,
    cancelRequestedEventId: 9,
    lastFailure: bytes('failure'),
    lastWorkerIdentity: 'last worker',
    lastStartedTimeMs: timeMs + 24,
    lastAttemptCompleteTimeMs: timeMs + 25,
    retryIntervalMs: 1_500,
    dispatchTaskId: 26,
    timerTaskId: 27,
    operations: undefined,
  };
}

export const fullOperations: ActivityOperations = {
  pause: { pauseTimeMs: timeMs + 26, identity: 'operator', reason: 'why', requestId: 'pause-request' },
  attemptsReset: true,
  resetRequested: true,
  heartbeatReset: true,
  options: {
    taskQueue,
    scheduleToCloseTimeoutMs: 4_000,
    scheduleToStartTimeoutMs: 3_000,
    startToCloseTimeoutMs: 2_000,
    heartbeatTimeoutMs: 1_000,
    retryPolicy: { ...retryPolicy, nonRetryableErrorTypes: [] },
    priority: bytes('another priority'),
    errorTypes: undefined,
  },
  answered: undefined,
};

const timer: UserTimer = { timerId: 'timer', startedEventId: 6, fireTimeMs: timeMs + 60_000, taskId: 28 };

const child: Child = {
  initiatedEventId: 7,
  attributes: {
    namespace: 'ns',
    workflowId: 'child',
    workflowType: { name: 'ChildType' },
    taskQueue,
    input: bytes('child input'),
    workflowExecutionTimeoutMs: 300_000,
    workflowRunTimeoutMs: 200_000,
    workflowTaskTimeoutMs: 10_000,
    parentClosePolicy: 3,
    control: 'control',
    workflowTaskCompletedEventId: 4,
    workflowIdReusePolicy: 2,
    retryPolicy,
    cronSchedule: '@daily',
    header: bytes('child header'),
    memo: bytes('child memo'),
    searchAttributes: bytes('child attributes'),
    namespaceId: 'ns-id',
    inheritBuildId: true,
    priority: bytes('child priority'),
    timeSkippingConfig: bytes('skipping'),
    timeSkippingStatePropagation: bytes('propagation'),
    versioningOverride: bytes('override'),
  },
  userMetadata: bytes('child metadata'),
  runId: 'child-run',
  startedEventId: 11,
  taskId: 29,
};

function externalRequest(initiatedEventId: number): ExternalRequest {
  return {
    initiatedEventId,
    namespace: 'ns',
    namespaceId: 'ns-id',
    workflowExecution: { workflowId: 'other', runId: 'other-run' },
    childWorkflowOnly: true,
    control: 'control',
    reason: 'reason',
    signalName: 'external',
    input: bytes('external input'),
    header: bytes('external header'),
    workflowTaskCompletedEventId: 4,
    taskId: 30,
  };
}

/** Of a run that goes on from an event of another one. */
export const fullReset: Run['reset'] = {
  requestId: 'reset-request',
  timeMs: timeMs + 6,
  originalStartTimeMs: timeMs - 7,
  bases: [
    { runId: 'base', lastEventId: 9 },
    { runId: 'second-base', lastEventId: 12 },
  ],
};

export const fullSchedule: Run['own'] = {
  archetype: 'schedule',
  definition: bytes('definition'),
  progress: {
    createTimeMs: timeMs,
    updateTimeMs: timeMs + 1,
    conflictToken: 2,
    paused: true,
    notes: 'not now',
    limitedActions: true,
    remainingActions: 3,
    processedToMs: timeMs + 4,
    lastStartId: 5,
    actionCount: 6,
    missedCatchupWindow: 7,
    overlapSkipped: 8,
    bufferDropped: 9,
    buffered: [{ nominalTimeMs: timeMs + 10, actualTimeMs: timeMs + 11, overlapPolicy: 3, manual: true }],
    backfills: [{ fromMs: -1, toMs: timeMs + 12, overlapPolicy: 6 }],
    starting: [{ startId: 13, nominalTimeMs: timeMs + 14, actualTimeMs: timeMs + 15, manual: true, tracked: true, left: true }],
    running: [{ startId: 16, workflowId: 'running', runId: 'running-run' }],
    runningSeenMs: timeMs + 22,
    recentActions: [
      { startId: 17, scheduleTimeMs: timeMs + 18, actualTimeMs: timeMs + 19, workflowId: 'recent', runId: 'recent-run', status: 2 },
    ],
    requestIds: ['first', 'second'],
  },
  lastCompletionResult: bytes('last result'),
  continuedFailure: bytes('last failure'),
  wakeTimeMs: timeMs + 20,
  wakeTaskId: 21,
  letterCheckTaskId: 23,
};
export const fullScheduledBy: Run['scheduledBy'] = { schedule: { ...key, workflowId: 'schedule' }, startId: 22 };

export const fullBatch: Run['own'] = {
  archetype: 'batch',
  definition: bytes('definition'),
  progress: {
    steps: 1,
    total: 2,
    completed: 3,
    failed: 4,
    position: { listed: 5, after: { sortMs: timeMs + 6, startTimeMs: timeMs + 7, runId: 'last-run' } },
  },
  stepTaskId: 8,
};

export function fullRun(): Run {
  const activities: Run['activities'] = new Pending();
  const activityIds: Run['activityIds'] = new Pending();
  // Not in the order of their ids: what is set again, or was buffered, keeps the order in which it came.
  for (const [scheduledEventId, activityId] of [
    [12, 'second'],
    [5, 'first'],
  ] as const) {
    activities.set(scheduledEventId, fullActivity(scheduledEventId, activityId));
    activityIds.set(activityId, { scheduledEventId });
  }
  return {
    key,
    namespace: 'ns',
    start: {
      workflowType: 'Type',
      taskQueue,
      startTimeMs: timeMs,
      executionTimeMs: timeMs + 1,
      executionTimeoutMs: 900_000,
      runTimeoutMs: 800_000,
      taskTimeoutMs: 10_000,
      runExpirationMs: timeMs + 800_001,
      executionExpirationMs: timeMs + 900_001,
      firstRunId: 'first-run',
      originalRunId: 'original-run',
      attempt: 2,
      parent: {
        namespaceId: 'parent-ns-id',
        namespace: 'parent-ns',
        workflowId: 'parent',
        runId: 'parent-run',
        initiatedEventId: 77,
        rootWorkflowId: 'root',
        rootRunId: 'root-run',
      },
      root: { workflowId: 'root', runId: 'root-run' },
      userMetadata: bytes('metadata'),
      priority: bytes('priority'),
      links: [bytes('link'), bytes('another')],
    },
    status: 6,
    closeTimeMs: timeMs + 2,
    successorRunId: 'successor',
    retentionMs: 86_400_000,
    nextEventId: 15,
    historySizeBytes: 2_345,
    stateTransitionCount: 16,
    previousStartedEventId: 3,
    workflowTask: {
      kind: 'transient',
      scheduledEventId: 13,
      stamp: 6,
      attempt: 4,
      scheduledTimeMs: timeMs + 3,
      originalScheduledTimeMs: timeMs + 4,
      taskQueue,
      startToCloseTimeoutMs: 10_000,
      startedEventId: 14,
      startedTimeMs: timeMs + 5,
      requestId: 'task-request',
      identity: 'worker',
      historySizeBytes: 2_222,
      suggestContinueAsNewReasons: [1, 2],
      dispatchTaskId: 31,
      timeoutTaskId: 32,
    },
    workflowTaskAttempt: 4,
    workflowTaskStamp: 6,
    closeAttempted: true,
    sticky: { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 5_000 },
    cancelRequested: true,
    startedWith: undefined,
    memo: bytes('memo'),
    searchAttributes: bytes('attributes'),
    signalCount: 2,
    requestIds: [
      { requestId: 'start-request', eventId: 1, eventType: 1 },
      { requestId: 'attached-request', eventId: 2, eventType: 55 },
    ],
    buffered: [signaled],
    bufferedBytes: 123,
    timeoutTaskId: 33,
    backoffTaskId: 34,
    retentionTaskId: 35,
    preparation: undefined,
    reset: undefined,
    resetRunId: '',
    pause: undefined,
    answered: undefined,
    own: { archetype: 'workflow' },
    scheduledBy: undefined,
    callbacks: [
      {
        callbackId: '0-1-0',
        callback: bytes('callback'),
        attachedBy: 'attached-by',
        registrationTimeMs: 36,
        state: 3,
        attempt: 2,
        lastAttemptTimeMs: 37,
        lastFailure: bytes('callback failure'),
        update: undefined,
        nextAttemptTimeMs: 38,
      },
    ],
    updates: pendingOf([{ updateId: 'update', admittedEventId: 0, acceptedEventId: 39, completedEventId: 40 }], ({ updateId }) => updateId),
    signalRequestIds: pendingOf([{ requestId: 'signal-request', eventId: 8, eventType: 26 }], ({ requestId }) => requestId),
    activities,
    attemptBytes: 32,
    activityIds,
    timers: pendingOf([timer], ({ timerId }) => timerId),
    children: pendingOf([child], ({ initiatedEventId }) => initiatedEventId),
    externalSignals: pendingOf([externalRequest(9)], ({ initiatedEventId }) => initiatedEventId),
    externalCancels: pendingOf([externalRequest(10)], ({ initiatedEventId }) => initiatedEventId),
  };
}

const large = new Uint8Array(4_097).fill(7);
const largeActivity = fullActivity(5, 'first', large);
const largeChild: Child = { ...child, attributes: { ...child.attributes, memo: large }, userMetadata: event.userMetadata };
const largeSignal: ExternalRequest = { ...externalRequest(9), input: large };

/** What it leaves to its history when that is stored beside it. */
export function largeRun(): Run {
  const run = fullRun();
  run.activities.set(5, largeActivity);
  run.children.set(7, largeChild);
  run.externalSignals.set(9, largeSignal);
  return run;
}

export const largeEvents: readonly HistoryEvent[] = [
  { ...event, type: 'activityTaskScheduled', eventId: 5, attributes: largeActivity.attributes },
  { ...event, type: 'startChildWorkflowExecutionInitiated', eventId: 7, attributes: largeChild.attributes },
  { ...event, type: 'signalExternalWorkflowExecutionInitiated', eventId: 9, attributes: largeSignal },
];

export const aside: AsideRun = { failedCommand: 'fireTimer', reason: 'RangeError: planted', timeMs: timeMs + 6 };

export function pendingOf<Key, Value extends object>(values: readonly Value[], keyOf: (value: Value) => Key): Pending<Key, Value> {
  const set = new Pending<Key, Value>();
  for (const value of values) set.set(keyOf(value), value);
  return set;
}

const transfer = { taskId: 101, key, version: 2 };
const worker = { ...transfer, scheduledEventId: 13, stamp: 6, taskQueue, scheduleToStartTimeoutMs: 5_000 };
const target = { namespaceId: 'other-ns-id', workflowId: 'other', runId: 'other-run' };
const timerTask = { taskId: 102, key, fireTimeMs: timeMs + 60_000 };
const attempt = { ...timerTask, scheduledEventId: 5, stamp: 5 };

/** Of a run that is deleted. */
const parent: ParentLink = {
  namespaceId: 'parent-ns-id',
  namespace: 'parent-ns',
  workflowId: 'parent',
  runId: 'parent-run',
  initiatedEventId: 5,
  rootWorkflowId: 'root',
  rootRunId: 'root-run',
};
const start = { workflowType: 'Type', firstRunId: 'first-run', parent, root: { workflowId: 'root', runId: 'root-run' } };
const sender: Sender = { key, namespace: 'ns', start };

/** Of deleted runs. */
export const lastMessages: readonly PendingTask[] = [
  { kind: 'startChild', ...transfer, initiatedEventId: 7, target, parentClosePolicy: 2, sender },
  { kind: 'scheduleChildFirstTask', ...transfer, child: target, sender: { ...sender, start: { ...start, parent: undefined } } },
  { kind: 'notifyParent', ...transfer, outcome: { kind: 'terminated' }, sender },
  { kind: 'closeChild', ...transfer, child: target, initiatedEventId: 7, policy: 3, sender },
];

/** Of callbacks, visibility, archival and schedules' dead letters. */
export const furtherTasks = [
  { kind: 'archiveExecution', ...timerTask },
  { kind: 'letterCheck', ...timerTask },
  { kind: 'callbackBackoff', ...timerTask, callbackId: 'request-0', stamp: 7 },
  { kind: 'invokeCallback', ...transfer, callbackId: 'request-0', stamp: 7, destination: 'https://host:443' },
  { kind: 'upsertVisibility', ...transfer, isClosed: false },
  { kind: 'upsertVisibility', ...transfer, isClosed: true },
] as const satisfies readonly PendingTask[];

export const scheduleTasks = [
  { kind: 'scheduleWake', ...timerTask },
  { kind: 'startAction', ...transfer, startId: 7, target },
  { kind: 'endAction', ...transfer, startId: 7, target, terminates: true },
  { kind: 'endAction', ...transfer, startId: 7, target, terminates: false },
  { kind: 'lookAtAction', ...transfer, startId: 7, target },
  { kind: 'notifySchedule', ...transfer, schedule: target, startId: 7, outcome: { kind: 'completed', result: bytes('result') } },
  { kind: 'notifySchedule', ...transfer, schedule: target, startId: 7, outcome: { kind: 'terminated' }, sender },
] as const satisfies readonly PendingTask[];

export const batchTasks = [{ kind: 'batchStep', ...timerTask }] as const satisfies readonly PendingTask[];

/** The kinds of plain workflows, and each form that a kind has. */
export const fullTasks: readonly PendingTask[] = [
  { kind: 'workflowTask', ...worker },
  { kind: 'activityTask', ...worker },
  { kind: 'startChild', ...transfer, initiatedEventId: 7, target },
  { kind: 'startChild', ...transfer, initiatedEventId: 7, target, parentClosePolicy: 2 },
  { kind: 'scheduleChildFirstTask', ...transfer, child: target },
  { kind: 'signalExternal', ...transfer, initiatedEventId: 9, target },
  { kind: 'cancelExternal', ...transfer, initiatedEventId: 10, target },
  { kind: 'notifyParent', ...transfer, outcome: { kind: 'completed', result: bytes('result') } },
  { kind: 'notifyParent', ...transfer, outcome: { kind: 'completed', result: undefined } },
  { kind: 'notifyParent', ...transfer, outcome: { kind: 'failed', failure: bytes('failure'), retryState: 5 } },
  { kind: 'notifyParent', ...transfer, outcome: { kind: 'canceled', details: bytes('details') } },
  { kind: 'notifyParent', ...transfer, outcome: { kind: 'timedOut', retryState: 3 } },
  { kind: 'notifyParent', ...transfer, outcome: { kind: 'terminated' } },
  { kind: 'closeChild', ...transfer, child: target, initiatedEventId: 7, policy: 1 },
  { kind: 'closeChild', ...transfer, child: target, initiatedEventId: 7, policy: 3 },
  { kind: 'userTimer', ...timerTask, timerId: 'timer', startedEventId: 6 },
  { kind: 'activityTimeout', ...attempt, timeout: 'scheduleToStart' },
  { kind: 'activityTimeout', ...attempt, timeout: 'scheduleToClose' },
  { kind: 'activityTimeout', ...attempt, timeout: 'startToClose' },
  { kind: 'activityTimeout', ...attempt, timeout: 'heartbeat' },
  { kind: 'activityRetry', ...attempt },
  { kind: 'workflowTaskTimeout', ...attempt, timeout: 'scheduleToStart' },
  { kind: 'workflowTaskTimeout', ...attempt, timeout: 'startToClose' },
  { kind: 'firstWorkflowTask', ...timerTask },
  { kind: 'runTimeout', ...timerTask },
  { kind: 'executionTimeout', ...timerTask },
  { kind: 'retention', ...timerTask },
];

export const handedOver = withTask(taskFailure);

function withTask(failure: TaskFailure): WrittenCounters {
  return {
    taskIdLast: 12,
    runs: 0,
    runsBehind: [],
    handOvers: new Map([
      ['visibility', { lastSequence: 2 ** 40, waiting: [] }],
      [
        'transfer',
        {
          lastSequence: 9,
          waiting: [
            {
              category: 'transfer',
              sequence: 9,
              task: {
                kind: 'notifyParent',
                taskId: 11,
                version: 0,
                key: { namespaceId: 'ns-id', workflowId: 'wf', runId: 'run' },
                outcome: { kind: 'terminated' },
              },
              failure,
              subject: unknownSubject,
            },
          ],
        },
      ],
    ]),
  };
}

/** With nothing on its way to a queue. */
export const executedAgain = withLetters(taskFailure);

function withLetters(failure: TaskFailure): WrittenCounters {
  return {
    taskIdLast: 12,
    runs: 0,
    runsBehind: [],
    letterMarks: [
      { letter: { queue: 2, messageId: 2 ** 40, generation: 3 }, taskId: 2 ** 41, outcome: undefined },
      { letter: { queue: 2, messageId: 0, generation: 0 }, taskId: 11, outcome: { kind: 'applied' } },
      { letter: { queue: 1, messageId: 0, generation: 0 }, taskId: 0, outcome: { kind: 'noop', detail: 'the workflow is closed' } },
      { letter: { queue: 1, messageId: 1, generation: 1 }, taskId: 10, outcome: { kind: 'failed', failure } },
    ],
  };
}
