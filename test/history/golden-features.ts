/** Programs of single features, and records that few programs write: what the golden journals hold beside golden-programs.ts. */
import type { Fact, HistoryRecord } from '../../src/history/run/record.ts';
import { isTimer } from '../../src/history/run/tasks.ts';
import { overlapPolicy, scheduleLimits } from '../../src/schedules/schedule.ts';
import { jobKeptAs } from '../../src/batches/job-id.ts';
import { encodePriority } from '../../src/wire/generated/lean/common.ts';
import { furtherTasks } from '../codec/full-state.ts';
import { aJobKey, startBatch } from './batch-commands.ts';
import { stepOf } from './batch-step.ts';
import { taskFailure, unknownSubject } from './hand-over/task-failure.ts';
import { createSchedule, patchSchedule } from './schedule-commands.ts';
import {
  attachingUpdate,
  bytes,
  completeWorkflow,
  continueAsNew,
  failWorkflow,
  fields,
  key,
  namespaceId,
  optionsChange,
  protocolMessage,
  scheduleActivity,
  ShardUnderTest,
  updateRequest,
  updateWorkflow,
} from './shard-under-test.ts';

export function updates(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.ask(updateWorkflow());
  const acceptance = { kind: 'acceptance', requestMessageId: 'u1/request', requestSequencingEventId: 2, request: undefined } as const;
  const accepted = { id: 'a', updateId: 'u1', body: acceptance } as const;
  const completed = {
    id: 'r',
    updateId: 'u1',
    body: { kind: 'response', metaUpdateId: 'u1', identity: 'worker', outcome: bytes('outcome') },
  } as const;
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('a')], { messages: [accepted] });
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('r')], { messages: [completed] });
  return shard;
}

/** Two were accepted; the worker of the run that goes on accepts one of them, and refuses the other. */
export function readmissions(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask());
  const acceptanceOf = (updateId: string, request: Uint8Array | undefined) =>
    ({
      id: updateId,
      updateId,
      body: { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 2, request },
    }) as const;
  shard.signal({ requestId: '' });
  const both = ['u1', 'u2'].map((updateId) => acceptanceOf(updateId, updateRequest(updateId)));
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('u1'), protocolMessage('u2')], { messages: both });
  shard.reset(4);
  const refusal = { id: 'u2', updateId: 'u2', body: { kind: 'rejection', hasRequest: false, failure: bytes('no') } } as const;
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('u1')], { messages: [acceptanceOf('u1', undefined), refusal] });
  return shard;
}

/** One is completed; the other one is brought along by a reset, and refused then. */
export function updateCallbacks(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask());
  for (const updateId of ['u1', 'u2']) shard.ask({ ...updateWorkflow(), update: attachingUpdate(updateId, `by ${updateId}`) });
  const acceptanceOf = (updateId: string) =>
    ({
      id: updateId,
      updateId,
      body: { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 2, request: undefined },
    }) as const;
  const completed = {
    id: 'r',
    updateId: 'u1',
    body: { kind: 'response', metaUpdateId: 'u1', identity: 'worker', outcome: bytes('outcome') },
  } as const;
  shard.signal({ requestId: '' });
  const messages = [acceptanceOf('u1'), acceptanceOf('u2'), completed];
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('u1'), protocolMessage('u2'), protocolMessage('r')], { messages });
  shard.ask({ ...updateWorkflow(), update: attachingUpdate('u2', 'again') });
  shard.reset(4);
  const refusal = { id: 'u2', updateId: 'u2', body: { kind: 'rejection', hasRequest: false, failure: bytes('no') } } as const;
  shard.complete(shard.pollWorkflowTask(), [protocolMessage('u1')], { messages: [acceptanceOf('u1'), refusal] });
  return shard;
}

/** One workflow fails and pauses it, the next one completes, another is under way as a cancelled one and its start wait to be told, and is asked for. */
export function schedules(): ShardUnderTest {
  const { bufferAll, cancelOther } = overlapPolicy;
  const shard = new ShardUnderTest();
  const state = { paused: false, notes: 'not yet', limitedActions: true, remainingActions: 9 };
  shard.ask(
    createSchedule({
      retentionMs: 0,
      state,
      memo: fields({ kept: '"memo"' }),
      searchAttributes: fields({ CustomKeywordField: '"red"' }),
      defined: { policies: { overlapPolicy: bufferAll, pauseOnFailure: true } },
    }),
  );
  shard.fireNextTimer();
  shard.pumpOutbox();
  shard.complete(shard.pollWorkflowTask(), [failWorkflow()]);
  shard.pumpOutbox();
  shard.ask(patchSchedule({ unpause: 'again', backfills: [{ fromMs: 0, toMs: 120_000, overlapPolicy: bufferAll }] }));
  shard.pumpOutbox();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  shard.pumpOutbox();
  shard.ask(patchSchedule({ trigger: { timeMs: shard.nowMs, overlapPolicy: cancelOther } }, 'trigger'));
  shard.advance(scheduleLimits.lookAfterMs);
  shard.fireDueTimers();
  return shard;
}

/** One is completed, one has failed, one is stopped, and one goes on. */
export function batches(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.ask(startBatch());
  for (let step = 0; step < 4; step++) shard.fireNextTimer();
  for (const [index, id] of ['failed', 'stopped', 'open'].entries()) {
    const key = { ...aJobKey, workflowId: jobKeptAs(id) };
    shard.ask(startBatch({ key, newRunId: `00000000-0000-4000-8000-00000000000${index}`, total: 2, retentionMs: 0 }));
    const job = shard.ask({ kind: 'describeBatch', key });
    const due = shard.nextTimer();
    if (job?.kind !== 'batchDescription' || due === undefined) throw new Error('the job is due');
    const next =
      id === 'failed' ? ({ kind: 'failed', message: 'no such attribute' } as const) : ({ kind: 'goesOn', pauseMs: 500 } as const);
    shard.ask({ kind: 'batchStepped', key: job.key, taskId: due.taskId, step: stepOf(job.progress, { next }) });
    if (id === 'stopped') shard.ask({ kind: 'stopBatch', key, reason: 'enough', identity: 'operator' });
  }
  return shard;
}

/** With a task that waits, and with one that is with a worker, so that events are buffered. */
export function pauses(): ShardUnderTest {
  const shard = new ShardUnderTest();
  const identity = 'operator';
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity({})]);
  shard.signal();
  shard.ask({ kind: 'pauseWorkflow', key, identity, reason: 'why', requestId: 'pause' });
  shard.ask({ kind: 'unpauseWorkflow', key, identity, reason: 'why not', requestId: 'unpause' });
  const task = shard.pollWorkflowTask();
  const priority = encodePriority({ priorityKey: 2, fairnessKey: 'tenant', fairnessWeight: 0.5 });
  shard.ask({ kind: 'updateWorkflowOptions', key, fields: ['priority'], priority, identity });
  shard.ask({ kind: 'pauseWorkflow', key, identity, reason: '', requestId: '' });
  shard.complete(task, []);
  return shard;
}

export function resets(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.signal({ requestId: '' });
  shard.reset(3);
  return shard;
}

/** A run that is prepared for a reset in parts. */
export function preparations(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.signal({ requestId: '' });
  shard.complete(shard.pollWorkflowTask());
  shard.ask(shard.prepareReset(5, { reason: 'in parts' }));
  return shard;
}

/** Requests of operators, and signals, of which the run that follows is told. */
export function requests(): ShardUnderTest {
  const shard = new ShardUnderTest();
  const identity = 'operator';
  const target = { activityId: 'a1', activityType: undefined };
  const retryPolicy = {
    initialIntervalMs: 60_000,
    backoffCoefficient: 2,
    maximumIntervalMs: 0,
    maximumAttempts: 0,
    nonRetryableErrorTypes: ['Fatal'],
  };
  const jitters = { jitterMs: 0, jitter: 0.5, resetHeartbeat: false };
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ retryPolicy })]);
  shard.ask({ kind: 'pauseActivity', key, target, identity, reason: 'why', requestId: 'A' });
  shard.ask({ kind: 'unpauseActivity', key, target, ...jitters, resetAttempts: false, requestId: 'B' });
  shard.ask({ kind: 'resetActivity', key, target, ...jitters, keepPaused: false, restoreOriginalOptions: false, requestId: 'C' });
  const errorTypes = { ...retryPolicy, nonRetryableErrorTypes: ['E', 'F'] };
  const change = optionsChange({ fields: ['retryPolicy'], retryPolicy: errorTypes });
  shard.ask({ kind: 'updateActivityOptions', key, target, change, requestId: 'D' });
  shard.ask({ kind: 'pauseWorkflow', key, identity, reason: 'why', requestId: 'G' });
  shard.ask({ kind: 'unpauseWorkflow', key, identity, reason: 'why', requestId: 'H' });
  for (const requestId of ['', 'one', 'another']) shard.signal({ requestId });
  shard.complete(shard.pollWorkflowTask(), [continueAsNew({})]);
  return shard;
}

const about = { namespaceId: '', namespace: '', workflowId: '', runId: '', runs: [], tasks: [] };

const handedOverRecord: HistoryRecord = {
  ...about,
  timeMs: 1_700_000_004_000,
  type: 'TaskHandedOver',
  finishedTaskIds: [],
  tasksHandedOver: [
    {
      category: 'transfer',
      sequence: 2 ** 40,
      task: {
        kind: 'notifyParent',
        taskId: 2 ** 41,
        version: 0,
        key: { namespaceId: 'ns-id', workflowId: 'wf', runId: '00000000-0000-4000-8000-000000000001' },
        outcome: { kind: 'completed', result: Uint8Array.of(1, 2, 3) },
      },
      failure: taskFailure,
      subject: unknownSubject,
    },
  ],
};

const acceptedRecord: HistoryRecord = {
  ...about,
  timeMs: 1_700_000_005_000,
  type: 'LettersAccepted',
  finishedTaskIds: [7],
  lettersAccepted: [{ category: 'transfer', sequence: 2 ** 40, messageIds: [0, 41, Number.MAX_SAFE_INTEGER] }],
};

const letter = { queue: 2, messageId: 2 ** 40, generation: 3 };

const begunRecord: HistoryRecord = {
  ...about,
  timeMs: 1_700_000_006_000,
  type: 'LetterExecutionBegun',
  finishedTaskIds: [],
  lettersBegun: [
    {
      letter,
      task: {
        kind: 'userTimer',
        taskId: 2 ** 41,
        fireTimeMs: 1_700_000_006_000,
        key: { namespaceId: 'ns-id', workflowId: 'wf', runId: '00000000-0000-4000-8000-000000000001' },
        timerId: 'timer',
        startedEventId: 5,
      },
    },
  ],
};

const endedRecord: HistoryRecord = {
  ...about,
  timeMs: 1_700_000_007_000,
  type: 'LetterExecuted',
  finishedTaskIds: [7],
  lettersEnded: [
    { letter, outcome: { kind: 'applied' } },
    { letter: { ...letter, generation: 0 }, outcome: { kind: 'noop', detail: 'the workflow is closed' } },
    { letter: { ...letter, messageId: 0 }, outcome: { kind: 'failed', failure: taskFailure } },
  ],
};

const confirmedRecord: HistoryRecord = {
  ...about,
  timeMs: 1_700_000_008_000,
  type: 'LettersConfirmed',
  finishedTaskIds: [],
  lettersConfirmed: [letter, { queue: 1, messageId: 0, generation: 0 }],
};

/** Transfers before timers. */
function asRead(record: HistoryRecord): HistoryRecord {
  return { ...record, tasks: record.tasks.toSorted((one, other) => Number(isTimer(one)) - Number(isTimer(other))) };
}

const furtherTasksRecord: HistoryRecord = asRead({
  ...about,
  timeMs: 1_700_000_006_000,
  type: 'WorkflowExecutionCompleted',
  namespaceId: 'ns-id',
  workflowId: 'wf',
  runId: 'run',
  tasks: furtherTasks,
  finishedTaskIds: [],
});

const operatorsFacts: readonly Fact[] = [
  { kind: 'activitiesPaused', scheduledEventIds: [5, 2 ** 40], identity: 'operator', reason: 'why', requestId: 'request' },
  { kind: 'activityUnpaused', scheduledEventId: 5, resetAttempts: true, resetHeartbeat: false },
  { kind: 'activityUnpaused', scheduledEventId: 5, resetAttempts: false, resetHeartbeat: true },
  { kind: 'activityReset', scheduledEventId: 5, resetHeartbeat: true, keepPaused: false, restoreOptions: false },
  { kind: 'activityReset', scheduledEventId: 5, resetHeartbeat: false, keepPaused: true, restoreOptions: false },
  { kind: 'activityReset', scheduledEventId: 5, resetHeartbeat: false, keepPaused: false, restoreOptions: true },
  { kind: 'activityOptionsUpdated', scheduledEventId: 5, options: undefined },
  {
    kind: 'activityOptionsUpdated',
    scheduledEventId: 6,
    options: {
      taskQueue: { name: 'queue', kind: 1, normalName: '' },
      scheduleToCloseTimeoutMs: 4_000,
      scheduleToStartTimeoutMs: 3_000,
      startToCloseTimeoutMs: 2_000,
      heartbeatTimeoutMs: 1_000,
      retryPolicy: {
        initialIntervalMs: 500,
        backoffCoefficient: 1.5,
        maximumIntervalMs: 50_000,
        maximumAttempts: 7,
        nonRetryableErrorTypes: [],
      },
      priority: Uint8Array.of(8, 3),
      errorTypes: undefined,
    },
  },
  { kind: 'activityRescheduled', scheduledEventId: 6, scheduledTimeMs: 1_700_000_009_000 },
  { kind: 'callbackAttempted', callbackId: 'request-0', state: 3, failure: bytes('failure'), nextAttemptTimeMs: 1_700_000_010_000 },
];

const activitiesRecord: HistoryRecord = {
  ...about,
  timeMs: 1_700_000_009_000,
  type: 'ActivitiesPaused',
  namespaceId: 'ns-id',
  workflowId: 'wf',
  runId: 'run',
  runs: [{ runId: 'run', events: [], facts: operatorsFacts.map((fact) => ({ afterEvents: 0, fact })) }],
  finishedTaskIds: [7],
};

const retiredRecord: HistoryRecord = {
  ...about,
  timeMs: 1_700_000_003_000,
  type: 'RunsRetired',
  finishedTaskIds: [],
  retiredRuns: ['one', 'other'].map((workflowId, nth) => ({
    namespaceId,
    workflowId,
    runId: `00000000-0000-4000-8000-00000000000${nth + 1}`,
  })),
};

const atMatchingRecord: HistoryRecord = {
  ...about,
  timeMs: 1_700_000_003_000,
  type: 'TasksAtMatching',
  finishedTaskIds: [8],
  taskIdsAtMatching: [5, 7, Number.MAX_SAFE_INTEGER],
};

/** Of no one program: what few records hold. */
export const rareRecords: readonly HistoryRecord[] = [
  retiredRecord,
  atMatchingRecord,
  handedOverRecord,
  acceptedRecord,
  begunRecord,
  endedRecord,
  confirmedRecord,
  furtherTasksRecord,
  activitiesRecord,
];
