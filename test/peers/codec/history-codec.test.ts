import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AskFailure } from '../../../src/actors/asks/asks.ts';
import type { CloseOutcome } from '../../../src/kernel/close-outcome.ts';
import type { HistoryRequest, ParentLink, SignalAttributes, StartAttributes } from '../../../src/history/commands/history-commands.ts';
import type { LetterOutcome } from '../../../src/history/run/letter-marks.ts';
import type { HistoryReply, Rejection } from '../../../src/history/run/history-replies.ts';
import type { UpdateMessage } from '../../../src/history/commands/update-commands.ts';
import { historyAsks } from '../../../src/peers/codec/history-codec.ts';
import { WireError } from '../../../src/wire/wire-error.ts';
import { askFailures } from './arbitrary-ask-failure.ts';
import { startedActivityTask, startedWorkflowTask } from './arbitrary-started-task.ts';
import { opaqueFailure, workflowCommands } from './arbitrary-workflow-command.ts';
import {
  type ByKind,
  bytes,
  count,
  enumValue,
  execution,
  flag,
  fraction,
  letterFailure,
  list,
  mapOf,
  maybeWith,
  moment,
  orNone,
  queryResult,
  record,
  retryPolicy,
  runKey,
  taskQueue,
  text,
  word,
} from './arbitrary.ts';
import { describeCodec, numbersOf, sample } from './round-trip.ts';

const start: fc.Arbitrary<StartAttributes> = record({
  workflowType: text,
  taskQueue,
  input: orNone(bytes),
  header: orNone(bytes),
  memo: orNone(bytes),
  searchAttributes: orNone(bytes),
  executionTimeoutMs: count,
  runTimeoutMs: count,
  taskTimeoutMs: count,
  startDelayMs: count,
  identity: text,
  userMetadata: orNone(bytes),
  links: list(bytes),
  priority: orNone(bytes),
  retryPolicy: orNone(retryPolicy),
  cronSchedule: text,
});

const policy = fc.constantFrom(1 as const, 2 as const, 3 as const);
const policies = record({ reusePolicy: policy, conflictPolicy: policy });

const parentLink: fc.Arbitrary<ParentLink> = record({
  namespaceId: text,
  namespace: text,
  workflowId: text,
  runId: text,
  initiatedEventId: count,
  rootWorkflowId: text,
  rootRunId: text,
});

const signal: fc.Arbitrary<SignalAttributes> = record({
  signalName: text,
  input: orNone(bytes),
  header: orNone(bytes),
  identity: text,
  requestId: text,
  links: list(bytes),
  externalWorkflowExecution: orNone(execution),
});

const task = record({ key: runKey, scheduledEventId: count, startedEventId: count, startedTimeMs: count, attempt: count });
const activity = record({ key: runKey, scheduledEventId: count, activityId: text, attempt: count });

const closeOutcomes: ByKind<CloseOutcome> = {
  completed: record({ kind: fc.constant('completed' as const), result: orNone(bytes) }),
  failed: record({ kind: fc.constant('failed' as const), failure: orNone(bytes), retryState: enumValue }),
  canceled: record({ kind: fc.constant('canceled' as const), details: orNone(bytes) }),
  timedOut: record({ kind: fc.constant('timedOut' as const), retryState: enumValue }),
  terminated: record({ kind: fc.constant('terminated' as const) }),
};

const taskPlace = record({ fireTimeMs: count, taskId: count });
const runKeysPlace = record({ isInTable: flag, afterRunId: text });
const letterName = record({ queue: count, messageId: count, generation: count });

const lazyStart = maybeWith(
  record({
    kind: fc.constant('startWorkflow' as const),
    key: runKey,
    namespace: text,
    newRunId: text,
    requestId: text,
    start,
    policies,
    parent: orNone(parentLink),
    onConflict: orNone(record({ attachRequestId: flag, attachCallbacks: flag, attachLinks: flag, links: list(bytes) })),
  }),
  'retentionMs',
  count,
);
const scheduled = record({ schedule: runKey, startId: count, lastCompletionResult: orNone(bytes), continuedFailure: orNone(bytes) });
const childStart = maybeWith(lazyStart, 'replacesChildrenOf', fc.array(text, { minLength: 1, maxLength: 3 }));
const startWithCallbacks = maybeWith(childStart, 'callbacks', record({ callbacks: list(bytes), callbacksMax: count }));
const startWorkflow = maybeWith(maybeWith(startWithCallbacks, 'scheduled', scheduled), 'eager', fc.constant(true));

const updateAttributes = maybeWith(
  record({ updateId: text, request: bytes, waitStage: word('accepted', 'completed') }),
  'attachment',
  record({ requestId: text, callbacks: list(bytes), callbacksMax: count, updateCallbacksMax: count }),
);

const priorityFields = list(word('priority', 'priority.priorityKey', 'priority.fairnessKey', 'priority.fairnessWeight'));

const updateBodies: ByKind<UpdateMessage['body']> = {
  acceptance: record({
    kind: fc.constant('acceptance' as const),
    requestMessageId: text,
    requestSequencingEventId: count,
    request: orNone(bytes),
  }),
  rejection: record({ kind: fc.constant('rejection' as const), hasRequest: flag, failure: orNone(bytes) }),
  response: record({ kind: fc.constant('response' as const), metaUpdateId: orNone(text), identity: text, outcome: orNone(bytes) }),
};

const activityTarget = record({ activityId: orNone(text), activityType: orNone(text) });
const timeouts = {
  scheduleToCloseTimeoutMs: count,
  scheduleToStartTimeoutMs: count,
  startToCloseTimeoutMs: count,
  heartbeatTimeoutMs: count,
};

const scheduleState = record({ paused: flag, notes: text, limitedActions: flag, remainingActions: count });
const schedulePatch = record({
  trigger: orNone(record({ timeMs: count, overlapPolicy: enumValue })),
  backfills: list(record({ fromMs: count, toMs: count, overlapPolicy: enumValue })),
  pause: text,
  unpause: text,
});
const startingAction = record({ startId: count, nominalTimeMs: count, actualTimeMs: count, manual: flag, tracked: flag, left: flag });
const scheduleProgress = record({
  createTimeMs: count,
  updateTimeMs: count,
  conflictToken: count,
  paused: flag,
  notes: text,
  limitedActions: flag,
  remainingActions: count,
  processedToMs: count,
  lastStartId: count,
  actionCount: count,
  missedCatchupWindow: count,
  overlapSkipped: count,
  bufferDropped: count,
  buffered: list(record({ nominalTimeMs: count, actualTimeMs: count, overlapPolicy: enumValue, manual: flag })),
  backfills: list(record({ fromMs: count, toMs: count, overlapPolicy: enumValue })),
  starting: list(startingAction),
  running: list(record({ startId: count, workflowId: text, runId: text })),
  runningSeenMs: count,
  recentActions: list(
    record({ startId: count, scheduleTimeMs: count, actualTimeMs: count, workflowId: text, runId: text, status: enumValue }),
  ),
  requestIds: list(text),
});

const requests: ByKind<HistoryRequest> = {
  startWorkflow,
  signalWithStartWorkflow: maybeWith(
    record({
      kind: fc.constant('signalWithStartWorkflow' as const),
      key: runKey,
      namespace: text,
      newRunId: text,
      requestId: text,
      start,
      policies,
      signal,
    }),
    'retentionMs',
    count,
  ),
  signalWorkflow: record({ kind: fc.constant('signalWorkflow' as const), key: runKey, signal, childOf: orNone(parentLink) }),
  requestCancelWorkflow: record({
    kind: fc.constant('requestCancelWorkflow' as const),
    key: runKey,
    firstExecutionRunId: text,
    cause: text,
    identity: text,
    requestId: text,
    links: list(bytes),
    external: orNone(record({ initiatedEventId: count, execution })),
    childOf: orNone(parentLink),
  }),
  terminateWorkflow: record({
    kind: fc.constant('terminateWorkflow' as const),
    key: runKey,
    firstExecutionRunId: text,
    reason: text,
    details: orNone(bytes),
    identity: text,
    links: list(bytes),
    childOf: orNone(parentLink),
  }),
  scheduleFirstWorkflowTask: record({ kind: fc.constant('scheduleFirstWorkflowTask' as const), key: runKey }),
  findChild: record({ kind: fc.constant('findChild' as const), key: runKey, parent: parentLink }),
  startWorkflowTask: record({
    kind: fc.constant('startWorkflowTask' as const),
    key: runKey,
    scheduledEventId: count,
    stamp: count,
    pollRequestId: text,
    identity: text,
    taskQueue,
  }),
  completeWorkflowTask: maybeWith(
    record({
      kind: fc.constant('completeWorkflowTask' as const),
      task,
      namespace: text,
      identity: text,
      commands: list(fc.oneof(...workflowCommands)),
      sticky: orNone(record({ taskQueue, scheduleToStartTimeoutMs: count })),
      returnNewWorkflowTask: flag,
      forceCreateNewWorkflowTask: flag,
      queryResults: mapOf(queryResult),
      messages: list(record({ id: text, updateId: text, body: fc.oneof(...Object.values(updateBodies)) })),
      discardsSpeculativeEvents: flag,
      sdkMetadata: orNone(bytes),
      meteringMetadata: orNone(bytes),
      workerVersion: orNone(bytes),
      binaryChecksum: text,
      newRunId: text,
      pollRequestId: text,
      registryPosition: count,
      jitter: fraction,
    }),
    'retentionMs',
    count,
  ),
  failWorkflowTask: record({
    kind: fc.constant('failWorkflowTask' as const),
    task,
    cause: enumValue,
    failure: orNone(opaqueFailure),
    identity: text,
    binaryChecksum: text,
    jitter: fraction,
  }),
  resetStickyTaskQueue: record({ kind: fc.constant('resetStickyTaskQueue' as const), key: runKey }),
  startActivityTask: record({
    kind: fc.constant('startActivityTask' as const),
    key: runKey,
    scheduledEventId: count,
    stamp: count,
    pollRequestId: text,
    identity: text,
    workerVersion: orNone(bytes),
  }),
  withdrawActivityStart: record({
    kind: fc.constant('withdrawActivityStart' as const),
    key: runKey,
    scheduledEventId: count,
    pollRequestId: text,
  }),
  completeActivityTask: record({
    kind: fc.constant('completeActivityTask' as const),
    activity,
    result: orNone(bytes),
    identity: text,
  }),
  failActivityTask: record({
    kind: fc.constant('failActivityTask' as const),
    activity,
    failure: orNone(opaqueFailure),
    lastHeartbeatDetails: orNone(bytes),
    identity: text,
  }),
  cancelActivityTask: record({ kind: fc.constant('cancelActivityTask' as const), activity, details: orNone(bytes), identity: text }),
  recordActivityHeartbeat: record({
    kind: fc.constant('recordActivityHeartbeat' as const),
    activity,
    details: orNone(bytes),
    identity: text,
  }),
  pauseActivity: record({
    kind: fc.constant('pauseActivity' as const),
    key: runKey,
    target: activityTarget,
    identity: text,
    reason: text,
    requestId: text,
  }),
  pauseWorkflow: record({ kind: fc.constant('pauseWorkflow' as const), key: runKey, identity: text, reason: text, requestId: text }),
  unpauseWorkflow: record({ kind: fc.constant('unpauseWorkflow' as const), key: runKey, identity: text, reason: text, requestId: text }),
  updateWorkflowOptions: record({
    kind: fc.constant('updateWorkflowOptions' as const),
    key: runKey,
    fields: priorityFields,
    priority: orNone(bytes),
    identity: text,
  }),
  resetWorkflow: record({
    kind: fc.constant('resetWorkflow' as const),
    key: runKey,
    newRunId: text,
    requestId: text,
    reason: text,
    keptEvents: list(bytes),
    laterEvents: list(bytes),
    readTo: record({ runId: text, lastEventId: count }),
    reappliesSignals: flag,
    priorityChanges: list(record({ fields: priorityFields, priority: orNone(bytes) })),
    isPrepared: flag,
  }),
  prepareReset: record({
    kind: fc.constant('prepareReset' as const),
    key: runKey,
    newRunId: text,
    requestId: text,
    firstEventId: count,
    events: list(bytes),
  }),
  dropReset: record({ kind: fc.constant('dropReset' as const), key: runKey }),
  createSchedule: record({
    kind: fc.constant('createSchedule' as const),
    key: runKey,
    namespace: text,
    newRunId: text,
    requestId: text,
    definition: bytes,
    state: scheduleState,
    patch: orNone(schedulePatch),
    memo: orNone(bytes),
    searchAttributes: orNone(bytes),
    identity: text,
    retentionMs: count,
  }),
  updateSchedule: record({
    kind: fc.constant('updateSchedule' as const),
    key: runKey,
    requestId: text,
    definition: bytes,
    state: scheduleState,
    conflictToken: count,
    memo: orNone(bytes),
    searchAttributes: orNone(bytes),
  }),
  patchSchedule: record({ kind: fc.constant('patchSchedule' as const), key: runKey, requestId: text, patch: schedulePatch }),
  deleteSchedule: record({ kind: fc.constant('deleteSchedule' as const), key: runKey }),
  startBatch: record({
    kind: fc.constant('startBatch' as const),
    key: runKey,
    namespace: text,
    newRunId: text,
    definition: bytes,
    total: count,
    identity: text,
    memo: orNone(bytes),
    searchAttributes: orNone(bytes),
    retentionMs: count,
  }),
  stopBatch: record({ kind: fc.constant('stopBatch' as const), key: runKey, reason: text, identity: text }),
  describeBatch: record({ kind: fc.constant('describeBatch' as const), key: runKey }),
  describeSchedule: record({ kind: fc.constant('describeSchedule' as const), key: runKey }),
  recordActionClosed: record({
    kind: fc.constant('recordActionClosed' as const),
    key: runKey,
    startId: count,
    workflow: execution,
    close: fc.oneof<fc.Arbitrary<CloseOutcome>[]>(...Object.values(closeOutcomes)),
  }),
  unpauseActivity: record({
    kind: fc.constant('unpauseActivity' as const),
    key: runKey,
    target: activityTarget,
    resetAttempts: flag,
    resetHeartbeat: flag,
    jitterMs: count,
    jitter: fraction,
    requestId: text,
  }),
  resetActivity: record({
    kind: fc.constant('resetActivity' as const),
    key: runKey,
    target: activityTarget,
    resetHeartbeat: flag,
    keepPaused: flag,
    restoreOriginalOptions: flag,
    jitterMs: count,
    jitter: fraction,
    requestId: text,
  }),
  updateActivityOptions: record({
    kind: fc.constant('updateActivityOptions' as const),
    requestId: text,
    key: runKey,
    target: activityTarget,
    change: orNone(
      record({
        fields: list(fc.constantFrom('taskQueue.name' as const, 'retryPolicy' as const, 'priority.fairnessWeight' as const)),
        taskQueue: text,
        ...timeouts,
        retryPolicy: orNone(retryPolicy),
        priority: orNone(bytes),
      }),
    ),
  }),
  queryWorkflow: record({
    kind: fc.constant('queryWorkflow' as const),
    key: runKey,
    queryId: text,
    query: bytes,
    rejectCondition: enumValue,
    deadlineMs: moment,
  }),
  deleteWorkflow: fc.oneof(
    record({ kind: fc.constant('deleteWorkflow' as const), key: runKey }),
    record({ kind: fc.constant('deleteWorkflow' as const), key: runKey, isPurge: fc.constant(true as const) }),
  ),
  describeWorkflow: record({ kind: fc.constant('describeWorkflow' as const), key: runKey }),
  describeMutableState: record({ kind: fc.constant('describeMutableState' as const), key: runKey }),
  getHistoryPosition: record({
    kind: fc.constant('getHistoryPosition' as const),
    key: runKey,
    waitBeyondEventId: count,
    waitForClose: flag,
  }),
  readHistory: record({
    kind: fc.constant('readHistory' as const),
    key: runKey,
    firstEventId: count,
    lastEventId: count,
    eventsMax: count,
    bytesMax: count,
  }),
  listRunKeys: record({ kind: fc.constant('listRunKeys' as const), namespaceIds: list(text), from: runKeysPlace }),
  holdRows: record({ kind: fc.constant('holdRows' as const), registryPosition: count }),
  rebuildList: record({ kind: fc.constant('rebuildList' as const) }),
  recordChildClosed: record({
    kind: fc.constant('recordChildClosed' as const),
    parent: parentLink,
    child: execution,
    childFirstRunId: text,
    childNamespace: text,
    childWorkflowType: text,
    close: fc.oneof<fc.Arbitrary<CloseOutcome>[]>(...Object.values(closeOutcomes)),
  }),
  executeLetter: record({
    kind: fc.constant('executeLetter' as const),
    key: runKey,
    letter: letterName,
    resolvedBelow: count,
    task: bytes,
  }),
  confirmLetter: record({ kind: fc.constant('confirmLetter' as const), letter: letterName }),
  withdrawLetter: record({ kind: fc.constant('withdrawLetter' as const), key: runKey, letter: letterName }),
  listLetterMarks: record({ kind: fc.constant('listLetterMarks' as const), queue: count }),
  updateWorkflow: record({
    kind: fc.constant('updateWorkflow' as const),
    key: runKey,
    firstExecutionRunId: text,
    update: updateAttributes,
  }),
  pollUpdate: record({
    kind: fc.constant('pollUpdate' as const),
    key: runKey,
    updateId: text,
    waitStage: word('none', 'accepted', 'completed'),
  }),
  startAndUpdate: record({ kind: fc.constant('startAndUpdate' as const), key: runKey, start: startWorkflow, update: updateAttributes }),
  listTasks: record({ kind: fc.constant('listTasks' as const), category: text, from: taskPlace, to: taskPlace, max: count }),
  removeTask: record({ kind: fc.constant('removeTask' as const), taskId: count, taskType: text, by: text }),
  addTasks: record({ kind: fc.constant('addTasks' as const), key: runKey, tasks: list(bytes) }),
};

type PlainReason = Exclude<Rejection['reason'], 'already-started' | 'query-failed'>;
const plainReasons: { readonly [Reason in PlainReason]: true } = {
  'workflow-not-found': true,
  'workflow-closed': true,
  'task-not-found': true,
  'activity-not-found': true,
  'invalid-argument': true,
  'unhandled-command': true,
  'bad-command': true,
  'failed-precondition': true,
  'schedule-not-found': true,
  'workflow-not-ready': true,
  'no-room': true,
  'busy-workflow': true,
  'query-timed-out': true,
  'too-many-updates': true,
  'update-not-found': true,
};

const letterOutcome = fc.oneof<fc.Arbitrary<LetterOutcome>[]>(
  record({ kind: fc.constant('applied' as const) }),
  record({ kind: fc.constant('noop' as const), detail: text }),
  record({
    kind: fc.constant('failed' as const),
    failure: letterFailure,
  }),
);

const rejection = fc.oneof<fc.Arbitrary<Rejection>[]>(
  record({ reason: word(...(Object.keys(plainReasons) as PlainReason[])), message: text }),
  record({
    reason: fc.constant('already-started' as const),
    message: text,
    startRequestId: text,
    runId: text,
    firstExecutionRunId: text,
  }),
  record({ reason: fc.constant('query-failed' as const), message: text, failure: orNone(bytes) }),
);

const descriptionFields = {
  key: runKey,
  firstRunId: text,
  workflowType: text,
  taskQueue,
  status: enumValue,
  startTimeMs: count,
  executionTimeMs: count,
  closeTimeMs: count,
  historyLength: count,
  historySizeBytes: count,
  stateTransitionCount: count,
  executionTimeoutMs: count,
  runTimeoutMs: count,
  taskTimeoutMs: count,
  memo: orNone(bytes),
  searchAttributes: orNone(bytes),
  parent: orNone(record({ namespaceId: text, execution })),
  root: execution,
  executionExpirationTimeMs: count,
  runExpirationTimeMs: count,
  originalStartTimeMs: count,
  cancelRequested: flag,
  userMetadata: orNone(bytes),
  priority: orNone(bytes),
  lastResetTimeMs: count,
  resetRunId: text,
  pause: orNone(record({ timeMs: count, identity: text, reason: text, requestId: text })),
  pendingActivities: list(
    record({
      activityId: text,
      activityType: text,
      state: enumValue,
      heartbeatDetails: orNone(bytes),
      lastHeartbeatTimeMs: count,
      lastStartedTimeMs: count,
      attempt: count,
      maximumAttempts: count,
      scheduledTimeMs: count,
      expirationTimeMs: count,
      lastFailure: orNone(bytes),
      lastWorkerIdentity: text,
      currentRetryIntervalMs: count,
      taskQueue,
      nextAttemptScheduleTimeMs: count,
      lastAttemptCompleteTimeMs: count,
      scheduleToCloseTimeoutMs: count,
      scheduleToStartTimeoutMs: count,
      startToCloseTimeoutMs: count,
      heartbeatTimeoutMs: count,
      retryPolicy,
      priority: orNone(bytes),
      pause: orNone(record({ pauseTimeMs: count, identity: text, reason: text, requestId: text })),
    }),
  ),
  pendingChildren: list(
    record({ workflowId: text, runId: text, workflowType: text, initiatedEventId: count, parentClosePolicy: enumValue }),
  ),
  pendingWorkflowTask: orNone(
    record({ started: flag, scheduledTimeMs: count, originalScheduledTimeMs: count, startedTimeMs: count, attempt: count }),
  ),
  aside: orNone(record({ failedCommand: text, reason: text, timeMs: count })),
  requestIds: mapOf(record({ eventId: count, eventType: enumValue, buffered: flag })),
  callbacks: list(
    record({
      callback: bytes,
      updateId: text,
      registrationTimeMs: count,
      state: enumValue,
      attempt: count,
      lastAttemptTimeMs: count,
      lastFailure: orNone(bytes),
      nextAttemptTimeMs: count,
    }),
  ),
};

type Answer = HistoryReply | AskFailure;

const started = maybeWith(
  record({
    kind: fc.constant('started' as const),
    runId: text,
    firstExecutionRunId: text,
    started: flag,
    status: enumValue,
  }),
  'workflowTask',
  startedWorkflowTask,
);

const answers: ByKind<Answer> = {
  ...askFailures,
  rejected: record({ kind: fc.constant('rejected' as const), rejection }),
  done: record({ kind: fc.constant('done' as const) }),
  started,
  signaled: record({ kind: fc.constant('signaled' as const), runId: text }),
  childFound: record({ kind: fc.constant('childFound' as const), runId: text }),
  workflowTask: startedWorkflowTask,
  activityTask: startedActivityTask,
  workflowTaskCompleted: record({
    kind: fc.constant('workflowTaskCompleted' as const),
    workflowTask: orNone(startedWorkflowTask),
    activityTasks: list(startedActivityTask),
    resetHistoryEventId: count,
  }),
  heartbeat: record({ kind: fc.constant('heartbeat' as const), cancelRequested: flag, activityPaused: flag, activityReset: flag }),
  scheduleChanged: record({ kind: fc.constant('scheduleChanged' as const), conflictToken: count }),
  scheduleDescription: record({
    kind: fc.constant('scheduleDescription' as const),
    key: runKey,
    definition: bytes,
    progress: scheduleProgress,
    memo: orNone(bytes),
    searchAttributes: orNone(bytes),
    aside: orNone(record({ failedCommand: text, reason: text, timeMs: count })),
  }),
  batchDescription: record({
    kind: fc.constant('batchDescription' as const),
    key: runKey,
    namespace: text,
    definition: bytes,
    progress: record({
      steps: count,
      total: count,
      completed: count,
      failed: count,
      position: record({ listed: count, after: orNone(record({ sortMs: count, startTimeMs: count, runId: text })) }),
    }),
    status: enumValue,
    startTimeMs: count,
    closeTimeMs: count,
  }),
  workflowReset: record({ kind: fc.constant('workflowReset' as const), runId: text }),
  workflowOptionsUpdated: record({ kind: fc.constant('workflowOptionsUpdated' as const), priority: orNone(bytes) }),
  activityOptionsUpdated: record({
    kind: fc.constant('activityOptionsUpdated' as const),
    options: record({ taskQueue, ...timeouts, retryPolicy, priority: orNone(bytes) }),
  }),
  queryAnswered: record({ kind: fc.constant('queryAnswered' as const), answer: orNone(bytes) }),
  queryRejected: record({ kind: fc.constant('queryRejected' as const), status: enumValue }),
  updateStage: record({
    kind: fc.constant('updateStage' as const),
    runId: text,
    stage: word('admitted', 'accepted', 'completed'),
    outcome: orNone(bytes),
    completedEventId: count,
    started: orNone(started),
  }),
  startRefused: record({ kind: fc.constant('startRefused' as const), rejection }),
  updateRefused: record({ kind: fc.constant('updateRefused' as const), rejection, begun: flag }),
  historyPosition: record({
    kind: fc.constant('historyPosition' as const),
    key: runKey,
    firstEventId: count,
    lastEventId: count,
    closed: flag,
    tailEvents: list(bytes),
  }),
  historyPage: record({ kind: fc.constant('historyPage' as const), events: list(bytes) }),
  runKeys: record({ kind: fc.constant('runKeys' as const), keys: list(runKey), next: orNone(runKeysPlace) }),
  rowsHeld: record({ kind: fc.constant('rowsHeld' as const), fence: count }),
  description: record({ kind: fc.constant('description' as const), ...descriptionFields }),
  letterExecuted: record({ kind: fc.constant('letterExecuted' as const), outcome: letterOutcome }),
  lettersUnconfirmed: record({ kind: fc.constant('lettersUnconfirmed' as const), letters: list(letterName) }),
  letterWithdrawn: record({ kind: fc.constant('letterWithdrawn' as const) }),
  letterMarks: record({ kind: fc.constant('letterMarks' as const), pending: list(letterName), ended: list(letterName) }),
  taskList: record({
    kind: fc.constant('taskList' as const),
    tasks: list(record({ fireTimeMs: count, taskId: count, taskType: text, key: runKey, version: count })),
    next: fc.option(taskPlace, { nil: undefined }),
  }),
  mutableState: record({
    kind: fc.constant('mutableState' as const),
    description: record(descriptionFields),
    previousStartedEventId: count,
    successorRunId: text,
    attempt: count,
    retryPolicy: orNone(retryPolicy),
    cronSchedule: text,
    signalCount: count,
    signalRequestIds: list(text),
    workflowTask: orNone(
      record({
        type: enumValue,
        scheduledEventId: count,
        startedEventId: count,
        stamp: count,
        requestId: text,
        startToCloseTimeoutMs: count,
        historySizeBytes: count,
      }),
    ),
    stickyTaskQueue: text,
    stickyScheduleToStartTimeoutMs: count,
    activities: list(
      record({ scheduledEventId: count, firstScheduledTimeMs: count, stamp: count, requestId: text, cancelRequestedEventId: count }),
    ),
    timers: list(record({ timerId: text, startedEventId: count, fireTimeMs: count })),
    childStartedEventIds: list(count),
    signalInitiatedEventIds: list(count),
    cancelInitiatedEventIds: list(count),
  }),
};

describeCodec('asks of a history shard', historyAsks.requests, requests);
describeCodec('answers of a history shard', historyAsks.answers, answers);

test('golden: the numbers of asks and answers', () => {
  expect(numbersOf(historyAsks.requests, requests)).toMatchInlineSnapshot(`
    {
      "addTasks": 29,
      "cancelActivityTask": 16,
      "completeActivityTask": 14,
      "completeWorkflowTask": 9,
      "confirmLetter": 26,
      "createSchedule": 38,
      "deleteSchedule": 41,
      "deleteWorkflow": 23,
      "describeBatch": 46,
      "describeMutableState": 24,
      "describeSchedule": 42,
      "describeWorkflow": 19,
      "dropReset": 51,
      "executeLetter": 25,
      "failActivityTask": 15,
      "failWorkflowTask": 10,
      "findChild": 7,
      "getHistoryPosition": 20,
      "holdRows": 55,
      "listLetterMarks": 53,
      "listRunKeys": 54,
      "listTasks": 27,
      "patchSchedule": 40,
      "pauseActivity": 33,
      "pauseWorkflow": 47,
      "pollUpdate": 31,
      "prepareReset": 50,
      "queryWorkflow": 18,
      "readHistory": 21,
      "rebuildList": 56,
      "recordActionClosed": 43,
      "recordActivityHeartbeat": 17,
      "recordChildClosed": 22,
      "removeTask": 28,
      "requestCancelWorkflow": 4,
      "resetActivity": 35,
      "resetStickyTaskQueue": 11,
      "resetWorkflow": 37,
      "scheduleFirstWorkflowTask": 6,
      "signalWithStartWorkflow": 2,
      "signalWorkflow": 3,
      "startActivityTask": 12,
      "startAndUpdate": 32,
      "startBatch": 44,
      "startWorkflow": 1,
      "startWorkflowTask": 8,
      "stopBatch": 45,
      "terminateWorkflow": 5,
      "unpauseActivity": 34,
      "unpauseWorkflow": 48,
      "updateActivityOptions": 36,
      "updateSchedule": 39,
      "updateWorkflow": 30,
      "updateWorkflowOptions": 49,
      "withdrawActivityStart": 13,
      "withdrawLetter": 52,
    }
  `);
  expect(numbersOf(historyAsks.answers, answers)).toMatchInlineSnapshot(`
    {
      "activityOptionsUpdated": 21,
      "activityTask": 7,
      "batchDescription": 26,
      "busy": 103,
      "childFound": 5,
      "dataLoss": 107,
      "deadline": 102,
      "description": 14,
      "done": 2,
      "heartbeat": 9,
      "historyPage": 13,
      "historyPosition": 12,
      "internal": 105,
      "letterExecuted": 16,
      "letterMarks": 29,
      "letterWithdrawn": 28,
      "lettersUnconfirmed": 17,
      "mutableState": 15,
      "notHere": 106,
      "queryAnswered": 10,
      "queryRejected": 11,
      "rejected": 1,
      "rowsHeld": 31,
      "runKeys": 30,
      "scheduleChanged": 23,
      "scheduleDescription": 24,
      "signaled": 4,
      "startRefused": 20,
      "started": 3,
      "taskList": 18,
      "tooLarge": 104,
      "unavailable": 101,
      "updateRefused": 25,
      "updateStage": 19,
      "workflowOptionsUpdated": 27,
      "workflowReset": 22,
      "workflowTask": 6,
      "workflowTaskCompleted": 8,
    }
  `);
});

test('the deadline of a query is as far away by another clock', () => {
  const sentMs = 1_700_000_000_000;
  const receivedMs = sentMs + 180_000;
  const sent = { ...sample(requests.queryWorkflow), deadlineMs: sentMs + 10_000 };
  expect(historyAsks.requests.decode(historyAsks.requests.encode(sent, sentMs), receivedMs)).toEqual({
    ...sent,
    deadlineMs: receivedMs + 10_000,
  });
});

describe('as large as it may come', () => {
  test('100,001 commands', () => {
    const request = sample(requests.completeWorkflowTask);
    const commands = Array.from({ length: 100_001 }, (_, at) => ({
      type: 'startTimer' as const,
      attributes: { timerId: String(at), startToFireTimeoutMs: at },
      userMetadata: undefined,
    }));
    const read = historyAsks.requests.decode(historyAsks.requests.encode({ ...request, commands }, 0), 0);
    expect(read).toMatchObject({ kind: 'completeWorkflowTask' });
    // Element for element: a difference of two such lists cannot be printed.
    const differs = read.kind === 'completeWorkflowTask' ? commands.find((sent, at) => !isSame(read.commands[at], sent)) : request;
    expect(differs).toBeUndefined();
  });

  test('100,001 events, 8 MiB of them in one', () => {
    const events = Array.from({ length: 100_000 }, (_, at) => Uint8Array.of(at & 255, at >> 8));
    const large = new Uint8Array(8 * 1024 * 1024).fill(7);
    const read = historyAsks.answers.decode(historyAsks.answers.encode({ kind: 'historyPage', events: [...events, large] }));
    expect(read.kind === 'historyPage' && read.events.length).toBe(100_001);
    expect(read.kind === 'historyPage' && read.events.at(-1)?.length).toBe(large.length);
  });

  function isSame(one: unknown, other: unknown): boolean {
    return JSON.stringify(one) === JSON.stringify(other);
  }
});

describe('what is no ask is refused', () => {
  test.each([
    ['without the run that it is about', [0x32, 0], 'OfRun.key is missing'],
    ['with a policy that does not exist', [0x0a, 12, 0x0a, 0, 0x2a, 2, 0x12, 0, 0x32, 4, 0x08, 9, 0x10, 1], 'reuse_policy is 9'],
  ])('%s', (_name, message, reason) => {
    expect(() => historyAsks.requests.decode(Uint8Array.from(message), 0)).toThrow(WireError);
    expect(() => historyAsks.requests.decode(Uint8Array.from(message), 0)).toThrow(reason);
  });

  test('with a word of no meaning', () => {
    const encoded = historyAsks.answers.encode({ kind: 'rejected', rejection: { reason: 'no-room', message: '' } });
    const other = Buffer.from(Buffer.from(encoded).toString('latin1').replace('no-room', 'no-r00m'), 'latin1');
    expect(() => historyAsks.answers.decode(other)).toThrow(new WireError('HistoryRejection.reason is "no-r00m"'));
  });

  test('a time that is no time is not sent', () => {
    const request = sample(requests.readHistory);
    for (const firstEventId of [Number.NaN, 0.5, Infinity, 2 ** 53]) {
      expect(() => historyAsks.requests.encode({ ...request, firstEventId }, 0)).toThrow(WireError);
    }
    // Nothing of it is left for the next one.
    expect(historyAsks.requests.decode(historyAsks.requests.encode(request, 0), 0)).toEqual(request);
  });
});
