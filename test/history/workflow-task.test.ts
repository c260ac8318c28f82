import { describe, expect, test } from 'vitest';
import type { FailWorkflowTask, StartWorkflowTask } from '../../src/history/commands/history-commands.ts';
import type { StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import { decodeEvent } from '../../src/codec/event-codec.ts';
import { bytes, cancelTimer, completeWorkflow, key, refOf, scheduleActivity, ShardUnderTest, startTimer } from './shard-under-test.ts';

const sticky = { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 5000 };

function started(): { readonly shard: ShardUnderTest; readonly task: StartedWorkflowTask } {
  const shard = new ShardUnderTest();
  shard.start();
  return { shard, task: shard.pollWorkflowTask() };
}

/** A workflow whose worker has it in its cache. */
function stuck(): ShardUnderTest {
  const { shard, task } = started();
  shard.complete(task, [startTimer('t1', 60_000)], { sticky });
  return shard;
}

function fail(shard: ShardUnderTest, task: StartedWorkflowTask, cause = 14): void {
  shard.expectDone(failing(task, cause));
}

function failing(task: StartedWorkflowTask, cause = 14): FailWorkflowTask {
  return {
    kind: 'failWorkflowTask',
    task: refOf(task),
    cause,
    failure: { facts: { kind: 'application', type: '', nonRetryable: false, nextRetryDelayMs: 0, message: '' }, bytes: bytes('failure') },
    identity: 'worker',
    binaryChecksum: '',
    jitter: 0.5,
  };
}

describe('who may start a task', () => {
  function poll(shard: ShardUnderTest, change: Partial<StartWorkflowTask> = {}): StartWorkflowTask {
    const { key: runKey, scheduledEventId, stamp, taskQueue } = shard.pendingTask('workflowTask');
    return {
      kind: 'startWorkflowTask',
      key: runKey,
      scheduledEventId,
      stamp,
      pollRequestId: 'poll',
      identity: 'worker',
      taskQueue,
      ...change,
    };
  }
  const notFound = { reason: 'task-not-found', message: 'Workflow task not found.' };

  test('the same poll gets the same answer, another one gets nothing', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const command = poll(shard);
    const first = shard.ask(command);
    const records = shard.records.length;
    expect(shard.ask(command)).toEqual(first);
    expect(shard.records).toHaveLength(records);
    expect(shard.expectRejected({ ...command, pollRequestId: 'another' })).toEqual(notFound);
  });

  test.each([
    ['another event', { scheduledEventId: 7 }],
    ['an old stamp', { stamp: 0 }],
    ['an unknown run', { key: { ...key, runId: '00000000-0000-4000-8000-00000000ffff' } }],
  ] as const)('%s: not found', (_, change) => {
    const shard = new ShardUnderTest();
    shard.start();
    expect(shard.expectRejected(poll(shard, change))).toEqual(notFound);
  });
});

describe('who may complete a task', () => {
  test.each([
    ['another attempt', { attempt: 2 }],
    ['another start', { startedEventId: 9 }],
    ['another scheduling', { scheduledEventId: 9 }],
    ['another start time', { startedTimeMs: 1 }],
  ])('%s: not found', (_, change) => {
    const { shard, task } = started();
    const completion = shard.completion(task, [completeWorkflow()]);
    expect(shard.expectRejected({ ...completion, task: { ...completion.task, ...change } })).toEqual({
      reason: 'task-not-found',
      message: 'Workflow task not found.',
    });
  });

  test('nobody twice', () => {
    const { shard, task } = started();
    shard.complete(task, []);
    expect(shard.expectRejected(shard.completion(task, []))).toMatchObject({ reason: 'task-not-found' });
  });
});

test('a completed task passes on what the worker says of itself', () => {
  const { shard, task } = started();
  shard.complete(task, [], {
    sdkMetadata: bytes('sdk'),
    meteringMetadata: bytes('metering'),
    workerVersion: bytes('version'),
    binaryChecksum: 'sum',
  });
  expect(shard.lastEvent('workflowTaskCompleted').attributes).toMatchObject({
    scheduledEventId: 2,
    startedEventId: 3,
    identity: 'worker',
    sdkMetadata: bytes('sdk'),
    meteringMetadata: bytes('metering'),
    workerVersion: bytes('version'),
    binaryChecksum: 'sum',
  });
});

describe('failure', () => {
  test('the first one is written, the next attempt is transient', () => {
    const { shard, task } = started();
    fail(shard, task);
    expect(shard.history().slice(2)).toEqual(['workflowTaskStarted', 'workflowTaskFailed']);
    expect(shard.lastEvent('workflowTaskFailed').attributes).toMatchObject({
      scheduledEventId: 2,
      startedEventId: 3,
      cause: 14,
      failure: bytes('failure'),
    });
    const second = shard.pollWorkflowTask();
    expect(second).toMatchObject({ attempt: 2, scheduledEventId: 5, startedEventId: 6, historyFirstEventId: 1, historyLastEventId: 4 });
    expect(second.tailEvents.map(decodeEvent)).toMatchObject([
      { eventId: 5, type: 'workflowTaskScheduled', attributes: { attempt: 2 } },
      { eventId: 6, type: 'workflowTaskStarted', attributes: { scheduledEventId: 5 } },
    ]);
    fail(shard, second);
    expect(shard.history(), 'later failures leave no events').toHaveLength(4);
    const third = shard.pollWorkflowTask();
    expect(third).toMatchObject({ attempt: 3, scheduledEventId: 5, startedEventId: 6 });
    shard.advance(50);
    shard.complete(third, [completeWorkflow()]);
    expect(shard.history().slice(4)).toEqual([
      'workflowTaskScheduled',
      'workflowTaskStarted',
      'workflowTaskCompleted',
      'workflowExecutionCompleted',
    ]);
    expect(shard.lastEvent('workflowTaskScheduled')).toMatchObject({ eventTimeMs: third.scheduledTimeMs, attributes: { attempt: 3 } });
    expect(shard.lastEvent('workflowTaskStarted').eventTimeMs).toBe(third.startedTimeMs);
  });

  test('what arrives before a transient task starts makes it a normal one, attempt 1', () => {
    const { shard, task } = started();
    fail(shard, task);
    shard.signal();
    expect(shard.history().slice(4)).toEqual(['workflowExecutionSignaled']);
    const second = shard.pollWorkflowTask();
    expect(second).toMatchObject({ attempt: 1, scheduledEventId: 6, startedEventId: 7, tailEvents: [] });
    expect(shard.history().slice(4)).toEqual(['workflowExecutionSignaled', 'workflowTaskScheduled', 'workflowTaskStarted']);
  });

  test('what arrived while it ran makes the next one normal', () => {
    const { shard, task } = started();
    fail(shard, task);
    const second = shard.pollWorkflowTask();
    shard.signal();
    fail(shard, second);
    expect(shard.history().slice(4)).toEqual(['workflowExecutionSignaled', 'workflowTaskScheduled']);
    expect(shard.pollWorkflowTask()).toMatchObject({ attempt: 1 });
  });

  test('on a sticky queue it costs the stickiness only', () => {
    const shard = stuck();
    shard.signal();
    fail(shard, shard.pollWorkflowTask());
    expect(shard.history().slice(-2)).toEqual(['workflowTaskFailed', 'workflowTaskScheduled']);
    expect(shard.pendingTask('workflowTask').taskQueue).toMatchObject({ name: 'queue', kind: 1 });
    expect(shard.pollWorkflowTask()).toMatchObject({ attempt: 1, historyFirstEventId: 1 });
  });

  test('a history that is too large for the worker ends the workflow', () => {
    const { shard, task } = started();
    fail(shard, task, 36);
    expect(shard.history().slice(3)).toEqual(['workflowTaskFailed', 'workflowExecutionTerminated']);
    expect(shard.lastEvent('workflowExecutionTerminated').attributes.reason).toBe('GrpcMessageTooLarge');
  });
});

describe('start-to-close timeout', () => {
  test('the first one is written, later ones are not', () => {
    const { shard } = started();
    shard.advance(9_999);
    shard.fireDueTimers();
    expect(shard.history()).toHaveLength(3);
    shard.advance(1);
    shard.fireDueTimers();
    expect(shard.lastEvent('workflowTaskTimedOut').attributes).toEqual({ scheduledEventId: 2, startedEventId: 3, timeoutType: 1 });
    expect(shard.history()).toHaveLength(4);
    shard.pollWorkflowTask();
    shard.advance(10_000);
    shard.fireDueTimers();
    expect(shard.history()).toHaveLength(4);
    expect(shard.pollWorkflowTask()).toMatchObject({ attempt: 3 });
  });

  test.each([
    { attempt: 2, timeoutMs: 10_000 },
    { attempt: 3, timeoutMs: 10_000 },
    { attempt: 4, timeoutMs: 14_500 },
    { attempt: 5, timeoutMs: 19_000 },
    { attempt: 6, timeoutMs: 28_000 },
    { attempt: 11, timeoutMs: 550_000 },
    { attempt: 20, timeoutMs: 550_000 },
  ])('attempt $attempt has $timeoutMs ms', ({ attempt, timeoutMs }) => {
    const { shard, task } = started();
    let current = task;
    for (let at = 1; at < attempt; at++) {
      fail(shard, current);
      current = shard.pollWorkflowTask();
    }
    expect(current.attempt).toBe(attempt);
    expect(shard.nextTimer()?.fireTimeMs).toBe(shard.nowMs + timeoutMs);
  });
});

describe('sticky queue', () => {
  test.each([
    ['none', 0, 5000],
    ['one below zero', -1, 5000],
    ['one of a year', 365 * 24 * 3_600_000, 3_600_000],
  ])('a worker that names no bearable wait (%s) does not hold the task for ever', (_, scheduleToStartTimeoutMs, waitsMs) => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [], { sticky: { ...sticky, scheduleToStartTimeoutMs } });
    shard.signal();
    expect(shard.pendingTask('workflowTask')).toMatchObject({ taskQueue: { name: 'sticky' }, scheduleToStartTimeoutMs: waitsMs });
    shard.advance(waitsMs);
    shard.fireDueTimers();
    expect(shard.history().slice(-2)).toEqual(['workflowTaskTimedOut', 'workflowTaskScheduled']);
    expect(shard.pendingTask('workflowTask').taskQueue.name).toBe('queue');
  });

  test('the next task goes there, with the new part of the history only', () => {
    const shard = stuck();
    shard.signal();
    expect(shard.pendingTask('workflowTask')).toMatchObject({
      taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' },
      scheduleToStartTimeoutMs: 5000,
    });
    expect(shard.pollWorkflowTask()).toMatchObject({
      previousStartedEventId: 3,
      historyFirstEventId: 4,
      taskQueue: { name: 'queue', kind: 1 },
    });
  });

  test('a task that nobody takes goes to the normal queue', () => {
    const shard = stuck();
    shard.signal();
    shard.advance(5000);
    shard.fireDueTimers();
    expect(shard.history().slice(-3)).toEqual(['workflowTaskScheduled', 'workflowTaskTimedOut', 'workflowTaskScheduled']);
    expect(shard.lastEvent('workflowTaskTimedOut').attributes).toMatchObject({ startedEventId: 0, timeoutType: 2 });
    expect(shard.pendingTask('workflowTask').taskQueue).toMatchObject({ name: 'queue', kind: 1 });
    expect(shard.pollWorkflowTask()).toMatchObject({ attempt: 1, historyFirstEventId: 1 });
  });

  test('delivery on the normal queue ends the stickiness', () => {
    const shard = stuck();
    shard.signal();
    const { key: runKey, scheduledEventId, stamp } = shard.pendingTask('workflowTask');
    const taskQueue = { name: 'queue', kind: 1, normalName: '' };
    const task = shard.ask({
      kind: 'startWorkflowTask',
      key: runKey,
      scheduledEventId,
      stamp,
      pollRequestId: 'p',
      identity: 'other',
      taskQueue,
    });
    if (task?.kind !== 'workflowTask') throw new Error('no task');
    expect(task.historyFirstEventId).toBe(1);
    shard.complete(task, [], { forceCreateNewWorkflowTask: true });
    expect(shard.pendingTask('workflowTask').taskQueue.kind).toBe(1);
  });

  test('a completion without sticky attributes ends it', () => {
    const shard = stuck();
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), []);
    shard.signal();
    expect(shard.pendingTask('workflowTask').taskQueue.kind).toBe(1);
  });

  test('a reset moves a waiting task, under a new stamp', () => {
    const shard = stuck();
    shard.signal();
    const old = shard.pendingTask('workflowTask');
    const events = shard.history().length;
    shard.expectDone({ kind: 'resetStickyTaskQueue', key });
    const moved = shard.pendingTask('workflowTask');
    expect(moved).toMatchObject({ taskQueue: { kind: 1 }, scheduledEventId: old.scheduledEventId, stamp: old.stamp + 1 });
    expect(shard.history()).toHaveLength(events);
    const stale = { kind: 'startWorkflowTask', key: old.key, scheduledEventId: old.scheduledEventId, stamp: old.stamp } as const;
    const rejection = shard.expectRejected({ ...stale, pollRequestId: 'p', identity: 'w', taskQueue: old.taskQueue });
    expect(rejection).toMatchObject({ reason: 'task-not-found' });
    expect(shard.pollWorkflowTask()).toMatchObject({ historyFirstEventId: 1 });
  });
});

describe('heartbeat', () => {
  test('a completion that asks for another task gets one inline, started', () => {
    const { shard, task } = started();
    shard.advance(5000);
    const reply = shard.complete(task, [], { forceCreateNewWorkflowTask: true, returnNewWorkflowTask: true, sticky });
    expect(reply.workflowTask).toMatchObject({ scheduledEventId: 5, startedEventId: 6, historyFirstEventId: 4, historyLastEventId: 6 });
    expect(shard.pendingTasks(), 'no queue sees it').toEqual([]);
    expect(shard.describe().pendingWorkflowTask).toMatchObject({
      scheduledTimeMs: shard.nowMs,
      originalScheduledTimeMs: task.scheduledTimeMs,
      started: true,
    });
  });

  test('with commands it is progress, and the clock starts again', () => {
    const { shard, task } = started();
    shard.advance(5000);
    shard.complete(task, [startTimer()], { forceCreateNewWorkflowTask: true });
    expect(shard.describe().pendingWorkflowTask).toMatchObject({ originalScheduledTimeMs: shard.nowMs });
  });

  test('after half an hour of heartbeats the task is taken away', () => {
    const { shard, task } = started();
    let current = task;
    for (let minutes = 0; minutes < 30; minutes++) {
      shard.advance(60_000);
      const reply = shard.complete(current, [], { forceCreateNewWorkflowTask: true, returnNewWorkflowTask: true, sticky });
      if (reply.workflowTask === undefined) throw new Error('no inline task');
      current = reply.workflowTask;
    }
    shard.advance(1);
    expect(shard.completeBadly(current, [], { forceCreateNewWorkflowTask: true, sticky })).toEqual({
      reason: 'task-not-found',
      message: 'workflow task heartbeat timeout',
    });
    expect(shard.history().slice(-2)).toEqual(['workflowTaskTimedOut', 'workflowTaskScheduled']);
    expect(shard.pendingTask('workflowTask').taskQueue.kind, 'back on the normal queue').toBe(1);
  });
});

test('a task that comes with the answer shows only what is new to its worker', () => {
  const { shard, task } = started();
  const inline = { forceCreateNewWorkflowTask: true, returnNewWorkflowTask: true };
  expect(shard.complete(task, [scheduleActivity()], inline).workflowTask).toMatchObject({ historyFirstEventId: 4, historyLastEventId: 7 });
});

test('a failure that comes too late learns that the workflow has closed', () => {
  const { shard, task } = started();
  shard.complete(task, [completeWorkflow()]);
  expect(shard.expectRejected(failing(task))).toMatchObject({
    reason: 'workflow-closed',
    message: 'workflow execution already completed',
  });
});

test('a refused command leaves the binary checksum of its worker in the history', () => {
  const { shard, task } = started();
  shard.completeBadly(task, [cancelTimer('nothing')], { binaryChecksum: 'checksum' });
  expect(shard.lastEvent('workflowTaskFailed').attributes).toMatchObject({ binaryChecksum: 'checksum' });
});

test('the answer to a task without news is no task', () => {
  const { shard, task } = started();
  const reply = shard.complete(task, [scheduleActivity()], { returnNewWorkflowTask: true });
  expect(reply.workflowTask).toBeUndefined();
  expect(shard.describe().pendingWorkflowTask).toBeUndefined();
});

test('a history that gets long suggests to continue as new', () => {
  const shard = new ShardUnderTest({ historyEventsSuggest: 6 });
  shard.start();
  shard.complete(shard.pollWorkflowTask(), []);
  shard.signal();
  shard.pollWorkflowTask();
  expect(shard.lastEvent('workflowTaskStarted').attributes).toMatchObject({ suggestContinueAsNew: true, suggestContinueAsNewReasons: [2] });
  const first = shard.events().find((event) => event.type === 'workflowTaskStarted');
  expect(first?.attributes).toMatchObject({ suggestContinueAsNew: false, historySizeBytes: expect.any(Number) as number });
});

test('a history that gets too long ends the workflow', () => {
  const shard = new ShardUnderTest({ historyEventsMax: 8 });
  shard.start();
  for (let signals = 0; signals < 7; signals++) shard.signal();
  expect(shard.history().at(-1)).toBe('workflowExecutionTerminated');
  expect(shard.lastEvent('workflowExecutionTerminated').attributes).toMatchObject({
    reason: 'Workflow history count exceeds limit.',
    identity: 'history-service',
  });
});
