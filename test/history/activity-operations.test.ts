import { describe, expect, test } from 'vitest';
import type { ActivityOptionsChange, ActivityTarget } from '../../src/history/commands/operation-commands.ts';
import type { HistoryReply, StartedActivityTask } from '../../src/history/run/history-replies.ts';
import { activityRef, bytes, completeWorkflow, key, optionsChange, scheduleActivity, ShardUnderTest } from './shard-under-test.ts';

const one: ActivityTarget = { activityId: 'a1', activityType: undefined };
const all: ActivityTarget = { activityId: undefined, activityType: undefined };
const identity = 'operator';
const draw = { jitterMs: 0, jitter: 0.5, requestId: '' };
const retryPolicy = {
  initialIntervalMs: 60_000,
  backoffCoefficient: 2,
  maximumIntervalMs: 0,
  maximumAttempts: 2,
  nonRetryableErrorTypes: ['Fatal'],
};
const notThere = {
  reason: 'activity-not-found',
  message: "Can't find pending activity with such ID. Invalid activityID or activity already completed",
};

function scheduled(...changes: Parameters<typeof scheduleActivity>[0][]): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  const commands = (changes.length === 0 ? [{}] : changes).map((change) => scheduleActivity({ retryPolicy, ...change }));
  shard.complete(shard.pollWorkflowTask(), commands);
  return shard;
}

function pause(shard: ShardUnderTest, target = one, requestId = 'one'): HistoryReply | undefined {
  return shard.ask({ kind: 'pauseActivity', key, target, identity, reason: 'why', requestId });
}

type UnpauseFlags = {
  readonly resetAttempts?: boolean;
  readonly resetHeartbeat?: boolean;
  readonly jitterMs?: number;
  readonly requestId?: string;
};

function unpause(shard: ShardUnderTest, change: UnpauseFlags = {}, target = one): void {
  shard.expectDone({ kind: 'unpauseActivity', key, target, resetAttempts: false, resetHeartbeat: false, ...draw, ...change });
}

function unpauseReply(shard: ShardUnderTest): HistoryReply | undefined {
  return shard.ask({ kind: 'unpauseActivity', key, target: one, resetAttempts: false, resetHeartbeat: false, ...draw });
}

type ResetFlags = {
  readonly resetHeartbeat?: boolean;
  readonly keepPaused?: boolean;
  readonly restoreOriginalOptions?: boolean;
  readonly requestId?: string;
};

function reset(shard: ShardUnderTest, flags: ResetFlags = {}): void {
  const none = { resetHeartbeat: false, keepPaused: false, restoreOriginalOptions: false };
  shard.expectDone({ kind: 'resetActivity', key, target: one, ...none, ...draw, ...flags });
}

function update(shard: ShardUnderTest, given: Partial<ActivityOptionsChange> | undefined, requestId = ''): HistoryReply | undefined {
  const change = given === undefined ? undefined : optionsChange(given);
  return shard.ask({ kind: 'updateActivityOptions', key, target: one, change, requestId });
}

function fail(shard: ShardUnderTest, task: StartedActivityTask, type = 'Oops', nextRetryDelayMs = 0): void {
  const facts = { kind: 'application', type, nonRetryable: false, nextRetryDelayMs, message: 'x' } as const;
  const failure = { facts, bytes: bytes('failure') };
  shard.expectDone({ kind: 'failActivityTask', activity: activityRef(task), failure, lastHeartbeatDetails: undefined, identity });
}

function heartbeat(shard: ShardUnderTest, task: StartedActivityTask): HistoryReply | undefined {
  return shard.ask({ kind: 'recordActivityHeartbeat', activity: activityRef(task), details: bytes('beat'), identity });
}

function pending(shard: ShardUnderTest): unknown {
  return shard.describe().pendingActivities[0];
}

describe('pause', () => {
  test('one that waits for a worker: its task goes, no timeout counts, and it waits for the unpause', () => {
    const shard = scheduled({ scheduleToStartTimeoutMs: 1000 });
    expect(pause(shard)).toEqual({ kind: 'done' });
    expect(shard.pendingTasks()).toEqual([]);
    expect(pending(shard)).toMatchObject({ state: 4, attempt: 1, pause: { identity, reason: 'why', pauseTimeMs: shard.nowMs } });
    shard.advance(5000);
    shard.fireDueTimers();
    expect(pending(shard)).toMatchObject({ state: 4 });
    unpause(shard);
    expect(pending(shard)).toMatchObject({ state: 1, pause: undefined });
    expect(shard.pollActivityTask()).toMatchObject({ attempt: 1 });
  });

  test('one that runs: it learns by its heartbeat; its failure is followed by no attempt until the unpause', () => {
    const shard = scheduled();
    const task = shard.pollActivityTask();
    pause(shard);
    expect(pending(shard)).toMatchObject({ state: 5 });
    expect(heartbeat(shard, task)).toMatchObject({ cancelRequested: false, activityPaused: true, activityReset: false });
    fail(shard, task);
    shard.advance(10_000_000);
    shard.fireDueTimers();
    expect(shard.pendingTasks()).toEqual([]);
    expect(pending(shard)).toMatchObject({ state: 4, attempt: 2, lastFailure: bytes('failure'), nextAttemptScheduleTimeMs: 0 });
    unpause(shard);
    const second = shard.pollActivityTask();
    expect(second).toMatchObject({ attempt: 2 });
    shard.completeActivity(second);
    expect(shard.history()).toContain('activityTaskCompleted');
  });

  test('one that runs may complete, or fail for good', () => {
    const shard = scheduled();
    const task = shard.pollActivityTask();
    pause(shard);
    fail(shard, task, 'Fatal');
    expect(shard.history()).toContain('activityTaskFailed');
  });

  test.each([
    ['its only attempt', 1, 0, 4],
    ['the last of two', 2, 0, 4],
    ['its only attempt, paused by its type', 1, 0, 4],
    ['no time for another', 2, 60_000, 3],
  ])('one whose failure no attempt can follow fails, paused or not: %s', (how, maximumAttempts, scheduleToCloseTimeoutMs, retryState) => {
    const shard = scheduled({ retryPolicy: { ...retryPolicy, maximumAttempts }, scheduleToCloseTimeoutMs });
    if (maximumAttempts === 2 && scheduleToCloseTimeoutMs === 0) {
      fail(shard, shard.pollActivityTask());
      shard.fireNextTimer();
    }
    const last = shard.pollActivityTask();
    const activityType = shard.describe().pendingActivities[0]?.activityType;
    pause(shard, how.includes('type') ? { activityId: undefined, activityType } : one);
    shard.advance(10_000);
    fail(shard, last);
    expect(shard.lastEvent('activityTaskFailed').attributes).toMatchObject({ retryState });
    expect(unpauseReply(shard)).toEqual({ kind: 'rejected', rejection: notThere });
  });

  test('by a request that comes twice it is paused once; another request is answered so', () => {
    const shard = scheduled();
    pause(shard);
    const records = shard.records.length;
    expect(pause(shard)).toEqual({ kind: 'done' });
    expect(shard.records).toHaveLength(records);
    const rejection = { reason: 'failed-precondition', message: 'activity is already paused' };
    expect(pause(shard, one, 'other')).toEqual({ kind: 'rejected', rejection });
  });

  test('by type, and all of them', () => {
    const shard = scheduled({ activityId: 'a1' }, { activityId: 'a2' }, { activityId: 'a3', activityType: 'Other' });
    const activityType = shard.describe().pendingActivities[0]?.activityType;
    pause(shard, { activityId: undefined, activityType });
    expect(shard.describe().pendingActivities.map(({ state }) => state)).toEqual([4, 4, 1]);
    unpause(shard, {}, all);
    expect(shard.describe().pendingActivities.map(({ state }) => state)).toEqual([1, 1, 1]);
    expect(shard.pendingTasks()).toHaveLength(3);
  });

  test('a start that is taken back after it waits like any other', () => {
    const shard = scheduled();
    const [task] = shard.transfers();
    if (task?.kind !== 'activityTask') throw new Error('the activity is not queued');
    const start = { key: task.key, scheduledEventId: task.scheduledEventId, pollRequestId: 'poll' };
    shard.ask({ kind: 'startActivityTask', ...start, stamp: task.stamp, identity, workerVersion: undefined });
    pause(shard);
    shard.expectDone({ kind: 'withdrawActivityStart', ...start });
    expect(shard.transfers()).toEqual([]);
    expect(pending(shard)).toMatchObject({ state: 4, attempt: 1 });
    unpause(shard);
    expect(shard.pollActivityTask()).toMatchObject({ attempt: 1 });
  });
});

test('what names no pending activity is refused, and so is a closed workflow', () => {
  const shard = scheduled();
  expect(pause(shard, { activityId: 'unknown', activityType: undefined })).toEqual({ kind: 'rejected', rejection: notThere });
  expect(pause(shard, { activityId: undefined, activityType: 'unknown' })).toEqual({ kind: 'rejected', rejection: notThere });
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  expect(pause(shard)).toMatchObject({ kind: 'rejected', rejection: { reason: 'workflow-closed' } });
});

describe('unpause', () => {
  test('within the jitter', () => {
    const shard = scheduled();
    pause(shard);
    unpause(shard, { jitterMs: 8000 });
    expect(shard.pendingTasks()).toEqual([]);
    expect(pending(shard)).toMatchObject({ state: 1, nextAttemptScheduleTimeMs: shard.nowMs + 4000 });
    shard.advance(4000);
    shard.fireDueTimers();
    expect(shard.pollActivityTask()).toMatchObject({ attempt: 1 });
  });

  test('with attempts reset: those of before do not count', () => {
    const shard = scheduled();
    fail(shard, shard.pollActivityTask());
    pause(shard);
    unpause(shard, { resetAttempts: true });
    expect(shard.pollActivityTask()).toMatchObject({ attempt: 1 });
  });

  test('of what is not paused does nothing', () => {
    const shard = scheduled();
    const records = shard.records.length;
    unpause(shard);
    expect(shard.records).toHaveLength(records);
  });

  test('timeouts that are over take effect then', () => {
    const shard = scheduled({ scheduleToCloseTimeoutMs: 1000 });
    pause(shard);
    shard.advance(5000);
    unpause(shard);
    shard.fireDueTimers();
    expect(shard.history()).toContain('activityTaskTimedOut');
  });
});

test.each([
  [false, 1],
  [true, 2],
])(
  'an attempt that beats is unpaused, its heartbeats reset: %s; without any its deadline counts from its start, as on Temporal',
  (resetHeartbeat, attempt) => {
    const shard = scheduled({ heartbeatTimeoutMs: 3_000, retryPolicy: { ...retryPolicy, initialIntervalMs: 1 } });
    const task = shard.pollActivityTask();
    for (const _ of [1, 2]) {
      shard.advance(2_000);
      heartbeat(shard, task);
    }
    pause(shard);
    unpause(shard, { resetHeartbeat });
    shard.fireDueTimers();
    expect(pending(shard)).toMatchObject({ attempt });
  },
);

describe('reset', () => {
  test('one in a long backoff runs at once, as its first attempt', () => {
    const shard = scheduled();
    fail(shard, shard.pollActivityTask());
    expect(shard.pendingTasks()).toEqual([]);
    reset(shard);
    expect(shard.pollActivityTask()).toMatchObject({ attempt: 1 });
  });

  test('one that runs learns of it; its failure does not count, and its details go with it', () => {
    const shard = scheduled();
    fail(shard, shard.pollActivityTask());
    shard.fireNextTimer();
    const last = shard.pollActivityTask();
    reset(shard, { resetHeartbeat: true });
    expect(heartbeat(shard, last)).toMatchObject({ activityReset: true, activityPaused: false });
    fail(shard, last);
    shard.fireNextTimer();
    const first = shard.pollActivityTask();
    expect(first).toMatchObject({ attempt: 1, heartbeatDetails: undefined });
    expect(heartbeat(shard, first)).toMatchObject({ activityReset: false });
  });

  test('the failure of a first attempt that runs counts: it was the first before, too', () => {
    const shard = scheduled();
    const first = shard.pollActivityTask();
    reset(shard);
    expect(heartbeat(shard, first)).toMatchObject({ activityReset: true });
    fail(shard, first);
    shard.fireNextTimer();
    expect(shard.pollActivityTask()).toMatchObject({ attempt: 2 });
  });

  test.each([true, false])('one that is paused stays so if that is asked: %s', (keepPaused) => {
    const shard = scheduled();
    fail(shard, shard.pollActivityTask());
    pause(shard);
    reset(shard, { keepPaused });
    expect(pending(shard)).toMatchObject({ state: keepPaused ? 4 : 1, attempt: 1 });
    expect(shard.pendingTasks()).toHaveLength(keepPaused ? 0 : 1);
  });
});

describe('options', () => {
  const queued = { fields: ['taskQueue.name'], taskQueue: 'elsewhere' } as const;

  test('a backoff is as long as the new policy says, from the end of the last attempt', () => {
    const shard = scheduled();
    fail(shard, shard.pollActivityTask());
    shard.advance(100);
    update(shard, { fields: ['retryPolicy.initialInterval'], retryPolicy: { ...retryPolicy, initialIntervalMs: 500 } });
    expect(pending(shard)).toMatchObject({ nextAttemptScheduleTimeMs: shard.nowMs + 400, currentRetryIntervalMs: 500 });
    expect(pending(shard)).toMatchObject({ retryPolicy: { ...retryPolicy, initialIntervalMs: 500, maximumIntervalMs: 6_000_000 } });
  });

  test.each<[string, Partial<ActivityOptionsChange>]>([
    ['a heartbeat timeout', { fields: ['heartbeatTimeout'], heartbeatTimeoutMs: 5_000 }],
    ['a task queue', queued],
    ['more attempts', { fields: ['retryPolicy.maximumAttempts'], retryPolicy: { ...retryPolicy, maximumAttempts: 7 } }],
  ])('%s moves no attempt that waits as long as its failure has asked for', (_, change) => {
    const shard = scheduled();
    fail(shard, shard.pollActivityTask(), 'Oops', 120_000);
    const dueMs = shard.nowMs + 120_000;
    shard.advance(100);
    update(shard, change);
    expect(pending(shard)).toMatchObject({ nextAttemptScheduleTimeMs: dueMs, currentRetryIntervalMs: 120_000 });
    update(shard, undefined);
    expect(pending(shard)).toMatchObject({ nextAttemptScheduleTimeMs: dueMs });
    shard.advance(119_900);
    shard.fireDueTimers();
    expect(shard.pollActivityTask()).toMatchObject({ attempt: 2 });
  });

  test('a task goes to the new queue, and back when the options are restored', () => {
    const shard = scheduled();
    expect(update(shard, queued)).toMatchObject({ kind: 'activityOptionsUpdated', options: { taskQueue: { name: 'elsewhere' } } });
    expect(shard.transfers()).toMatchObject([{ kind: 'activityTask', taskQueue: { name: 'elsewhere' } }]);
    expect(update(shard, undefined)).toMatchObject({ options: { taskQueue: { name: 'queue' } } });
    expect(shard.transfers()).toMatchObject([{ kind: 'activityTask', taskQueue: { name: 'queue' } }]);
    update(shard, queued);
    reset(shard, { restoreOriginalOptions: true });
    expect(shard.transfers()).toMatchObject([{ kind: 'activityTask', taskQueue: { name: 'queue' } }]);
  });

  test('a running attempt gets new timers', () => {
    const shard = scheduled({ startToCloseTimeoutMs: 60_000 });
    shard.pollActivityTask();
    update(shard, { fields: ['startToCloseTimeout'], startToCloseTimeoutMs: 1000 });
    shard.advance(1000);
    shard.fireDueTimers();
    expect(pending(shard)).toMatchObject({ state: 1, attempt: 2 });
  });

  test.each<[string, Partial<ActivityOptionsChange>]>([
    ['RetryPolicy is not provided', { fields: ['retryPolicy'] }],
    ['Priority is not provided', { fields: ['priority.priorityKey'] }],
    [
      'BackoffCoefficient cannot be less than 1 on retry policy.',
      { fields: ['retryPolicy.backoffCoefficient'], retryPolicy: { ...retryPolicy, backoffCoefficient: Number.NaN } },
    ],
    ['invalid HeartbeatTimeout: negative duration', { fields: ['heartbeatTimeout'], heartbeatTimeoutMs: -1 }],
    ['missing task queue name', { fields: ['taskQueue.name'] }],
    ['taskQueue length exceeds limit', { fields: ['taskQueue.name'], taskQueue: 'x'.repeat(1001) }],
  ])('%s', (message, change) => {
    const shard = scheduled();
    const records = shard.records.length;
    expect(update(shard, change)).toEqual({ kind: 'rejected', rejection: { reason: 'invalid-argument', message } });
    expect(shard.records).toHaveLength(records);
  });
});
