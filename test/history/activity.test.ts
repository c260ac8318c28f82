import { describe, expect, test } from 'vitest';
import type { HistoryCommand } from '../../src/history/commands/history-commands.ts';
import type { FailureFacts } from '../../src/history/commands/failure.ts';
import type { RetryPolicy } from '../../src/history/generated/public-api.ts';
import { normalisedTimeouts } from '../../src/history/activity/schedule-activity.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { HistoryRecord } from '../../src/history/run/record.ts';
import type { HistoryReply, StartedActivityTask } from '../../src/history/run/history-replies.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { decodeFailure, emptyFailure, encodeFailure, type Failure } from '../../src/wire/generated/lean/failure.ts';
import { activityRef, bytes, cancelActivity, completeWorkflow, key, scheduleActivity, ShardUnderTest } from './shard-under-test.ts';

type Schedule = Parameters<typeof scheduleActivity>[0];

function scheduled(change: Schedule = {}): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity(change)]);
  return shard;
}

function policy(change: Partial<RetryPolicy> = {}): RetryPolicy {
  return {
    initialIntervalMs: 1000,
    backoffCoefficient: 2,
    maximumIntervalMs: 0,
    maximumAttempts: 0,
    nonRetryableErrorTypes: [],
    ...change,
  };
}

function fail(shard: ShardUnderTest, task: StartedActivityTask, change: Partial<FailureFacts> = {}): void {
  const facts: FailureFacts = { kind: 'application', type: 'Oops', nonRetryable: false, nextRetryDelayMs: 0, message: 'oops', ...change };
  const failure = { facts, bytes: failureOf(task.attempt) };
  shard.expectDone({ kind: 'failActivityTask', activity: activityRef(task), failure, lastHeartbeatDetails: undefined, identity: 'worker' });
}

function causeOf(failure: Failure | undefined): Failure | undefined {
  return failure?.cause === undefined ? undefined : decodeFailure(failure.cause);
}

function failureOf(attempt: number): Uint8Array {
  return encodeFailure({ ...emptyFailure(), message: `failure ${attempt}` });
}

const outOfTime = 'Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying';
const gone = {
  reason: 'activity-not-found',
  message: 'invalid activityID or activity already timed out or invoking workflow is completed',
};

describe('timeouts as they will really be', () => {
  const none = { scheduleToCloseTimeoutMs: 0, scheduleToStartTimeoutMs: 0, startToCloseTimeoutMs: 0, heartbeatTimeoutMs: 0 };
  const table = [
    { given: { scheduleToCloseTimeoutMs: 100 }, run: 0, want: [100, 100, 100, 0] },
    { given: { scheduleToCloseTimeoutMs: 100, startToCloseTimeoutMs: 30, scheduleToStartTimeoutMs: 500 }, run: 0, want: [100, 100, 30, 0] },
    { given: { startToCloseTimeoutMs: 30 }, run: 0, want: [0, 0, 30, 0] },
    { given: { startToCloseTimeoutMs: 30 }, run: 90, want: [90, 90, 30, 0] },
    { given: { startToCloseTimeoutMs: 300, scheduleToStartTimeoutMs: 10 }, run: 90, want: [90, 10, 90, 0] },
    { given: { scheduleToCloseTimeoutMs: 100, heartbeatTimeoutMs: 200 }, run: 50, want: [50, 50, 50, 50] },
    { given: { startToCloseTimeoutMs: 30, heartbeatTimeoutMs: 20 }, run: 0, want: [0, 0, 30, 20] },
  ];
  test.each(table)('$given in a run of $run: $want', ({ given, run, want }) => {
    const { scheduleToCloseTimeoutMs, scheduleToStartTimeoutMs, startToCloseTimeoutMs, heartbeatTimeoutMs } = normalisedTimeouts(
      { ...none, ...given },
      run,
    );
    expect([scheduleToCloseTimeoutMs, scheduleToStartTimeoutMs, startToCloseTimeoutMs, heartbeatTimeoutMs]).toEqual(want);
  });

  test('a retry policy is always there', () => {
    const shard = scheduled();
    expect(shard.lastEvent('activityTaskScheduled').attributes.retryPolicy).toEqual(policy({ maximumIntervalMs: 100_000 }));
  });
});

describe('retries', () => {
  test('leave no events, are described, and the last failure goes with the start', () => {
    const shard = scheduled();
    const first = shard.pollActivityTask();
    shard.advance(10);
    fail(shard, first);
    expect(shard.history().at(-1)).toBe('activityTaskScheduled');
    expect(shard.describe().pendingActivities).toMatchObject([
      {
        activityId: 'a1',
        state: 1,
        attempt: 2,
        lastFailure: failureOf(1),
        lastWorkerIdentity: 'worker',
        currentRetryIntervalMs: 1000,
        nextAttemptScheduleTimeMs: shard.nowMs + 1000,
        lastAttemptCompleteTimeMs: shard.nowMs,
      },
    ]);
    expect(shard.pendingTasks(), 'not before the backoff is over').toEqual([]);
    shard.fireNextTimer();
    const second = shard.pollActivityTask();
    expect(second).toMatchObject({ attempt: 2, scheduledTimeMs: first.scheduledTimeMs, currentAttemptScheduledTimeMs: shard.nowMs });
    shard.completeActivity(second);
    expect(shard.lastEvent('activityTaskStarted').attributes).toMatchObject({ attempt: 2, lastFailure: failureOf(1) });
  });

  test.each([
    { attempt: 1, delayMs: 1000 },
    { attempt: 2, delayMs: 2000 },
    { attempt: 3, delayMs: 4000 },
    { attempt: 4, delayMs: 5000 },
    { attempt: 9, delayMs: 5000 },
  ])('after attempt $attempt it waits $delayMs ms', ({ attempt, delayMs }) => {
    const shard = scheduled({ retryPolicy: policy({ maximumIntervalMs: 5000 }) });
    for (let at = 1; at < attempt; at++) {
      fail(shard, shard.pollActivityTask());
      shard.fireNextTimer();
    }
    fail(shard, shard.pollActivityTask());
    expect(shard.nextTimer()?.fireTimeMs).toBe(shard.nowMs + delayMs);
  });

  test('a delay that the failure names is taken, uncapped', () => {
    const shard = scheduled({ retryPolicy: policy({ maximumIntervalMs: 5000 }) });
    fail(shard, shard.pollActivityTask(), { nextRetryDelayMs: 60_000 });
    expect(shard.nextTimer()?.fireTimeMs).toBe(shard.nowMs + 60_000);
  });

  const ends: readonly (readonly [string, Schedule, Partial<FailureFacts>, number])[] = [
    ['a failure that says so', {}, { nonRetryable: true }, 2],
    ['a type that the policy lists', { retryPolicy: policy({ nonRetryableErrorTypes: ['Oops'] }) }, {}, 2],
    ['a cancellation', {}, { kind: 'canceled', type: '' }, 2],
    ['a termination', {}, { kind: 'terminated', type: '' }, 2],
    ['the last attempt', { retryPolicy: policy({ maximumAttempts: 1 }) }, {}, 4],
    ['no time for another attempt', { scheduleToCloseTimeoutMs: 900 }, {}, 3],
  ];
  test.each(ends)('%s ends it', (_, schedule, facts, retryState) => {
    const shard = scheduled(schedule);
    fail(shard, shard.pollActivityTask(), facts);
    expect(shard.history().slice(5)).toEqual(['activityTaskStarted', 'activityTaskFailed', 'workflowTaskScheduled']);
    expect(shard.lastEvent('activityTaskFailed').attributes).toMatchObject({
      scheduledEventId: 5,
      startedEventId: 6,
      retryState,
      failure: failureOf(1),
    });
  });

  test('the old token is worth nothing', () => {
    const shard = scheduled();
    const first = shard.pollActivityTask();
    fail(shard, first);
    const late = { kind: 'completeActivityTask', activity: activityRef(first), result: undefined, identity: 'worker' } as const;
    expect(shard.expectRejected(late)).toEqual(gone);
    shard.fireNextTimer();
    expect(shard.expectRejected(late)).toEqual(gone);
    shard.pollActivityTask();
    expect(shard.expectRejected(late)).toEqual(gone);
  });

  test('copies of the task of an earlier attempt are refused, in the backoff and after it', () => {
    const shard = scheduled();
    const { key: runKey, scheduledEventId, stamp } = shard.pendingTask('activityTask');
    const copy = { kind: 'startActivityTask', key: runKey, scheduledEventId, stamp, identity: 'w', workerVersion: undefined } as const;
    fail(shard, shard.pollActivityTask());
    const notFound = { reason: 'task-not-found', message: 'Activity task not found.' };
    expect(shard.expectRejected({ ...copy, pollRequestId: 'late' })).toEqual(notFound);
    expect(shard.expectRejected({ ...copy, stamp: stamp + 1, pollRequestId: 'early' })).toEqual(notFound);
    shard.fireNextTimer();
    expect(shard.expectRejected({ ...copy, pollRequestId: 'late' })).toEqual(notFound);
    expect(shard.pollActivityTask().attempt).toBe(2);
  });

  test('the same poll again gets the same start, another one none', () => {
    const shard = scheduled();
    const { key: runKey, scheduledEventId, stamp } = shard.pendingTask('activityTask');
    const first = shard.pollActivityTask('poll');
    const copy = { kind: 'startActivityTask', key: runKey, scheduledEventId, stamp, identity: 'w', workerVersion: undefined } as const;
    expect(shard.ask({ ...copy, pollRequestId: 'poll' })).toEqual(first);
    expect(shard.expectRejected({ ...copy, pollRequestId: 'another' })).toMatchObject({ reason: 'task-not-found' });
  });

  test('a large failure is kept only by its message', () => {
    const shard = scheduled();
    const task = shard.pollActivityTask();
    const facts: FailureFacts = { kind: 'application', type: 'Oops', nonRetryable: false, nextRetryDelayMs: 0, message: 'x'.repeat(3000) };
    const failure = { facts, bytes: new Uint8Array(5000) };
    shard.expectDone({ kind: 'failActivityTask', activity: activityRef(task), failure, lastHeartbeatDetails: undefined, identity: 'w' });
    const [pending] = shard.describe().pendingActivities;
    const kept = pending?.lastFailure === undefined ? undefined : decodeFailure(pending.lastFailure);
    expect(kept?.message).toBe('Failure exceeds size limit.');
    expect(causeOf(kept)).toMatchObject({ message: 'x'.repeat(1000), applicationFailureInfo: { type: 'Oops' } });
  });
});

test.each([Number.NaN, -3, Infinity])(
  'a policy of an old journal with coefficient %d retries after its longest interval',
  (coefficient) => {
    const shard = scheduled();
    const attempt = shard.pollActivityTask();
    const old = new HistoryCore({ wire: historyWire });
    for (const record of shard.records) old.evolve(withCoefficient(record, coefficient));
    let reply: HistoryReply | undefined;
    for (let failures = 1; failures <= 2; failures++) {
      const facts: FailureFacts = { kind: 'application', type: 'Oops', nonRetryable: false, nextRetryDelayMs: 0, message: 'oops' };
      const activity = { ...activityRef(attempt), attempt: failures };
      const failure = { facts, bytes: failureOf(failures) };
      const failing = { kind: 'failActivityTask', activity, failure, lastHeartbeatDetails: undefined, identity: 'w' } as const;
      reply = handled(old, failing, shard.nowMs);
      if (failures === 2) break;
      const due = old.shard.timers.next();
      if (due === undefined) throw new Error('no retry is armed');
      shard.nowMs = due.fireTimeMs;
      handled(old, { kind: 'fireTimer', taskId: due.taskId, jitter: 0 }, shard.nowMs);
      const [task] = [...old.shard.transfers.values()];
      if (task?.kind !== 'activityTask') throw new Error('the next attempt is not offered');
      const { key: taskKey, scheduledEventId, stamp } = task;
      const poll = { kind: 'startActivityTask', key: taskKey, scheduledEventId, stamp, pollRequestId: 'p', identity: 'w' } as const;
      handled(old, { ...poll, workerVersion: undefined }, shard.nowMs);
    }
    expect(reply).toEqual({ kind: 'done' });
    const longestMs = 100_000;
    expect((old.shard.timers.next()?.fireTimeMs ?? 0) - shard.nowMs).toBe(longestMs);
  },
);

function withCoefficient(record: HistoryRecord, backoffCoefficient: number): HistoryRecord {
  const runs = record.runs.map((change) => ({
    ...change,
    events: change.events.map((entry) => {
      const { event } = entry;
      if (event.type !== 'activityTaskScheduled' || event.attributes.retryPolicy === undefined) return entry;
      const retryPolicy = { ...event.attributes.retryPolicy, backoffCoefficient };
      return { ...entry, event: { ...event, attributes: { ...event.attributes, retryPolicy } } };
    }),
  }));
  return { ...record, runs };
}

function handled(core: HistoryCore, command: HistoryCommand, nowMs: number): HistoryReply | undefined {
  const answer = core.handle(command, nowMs, 1);
  core.accept(answer);
  return answer.kind === 'wait' ? undefined : answer.reply;
}

describe('timeouts', () => {
  function timedOut(shard: ShardUnderTest) {
    const { attributes } = shard.lastEvent('activityTaskTimedOut');
    const failure = attributes.failure === undefined ? undefined : decodeFailure(attributes.failure);
    const { startedEventId, retryState } = attributes;
    return {
      message: failure?.message,
      type: failure?.timeoutFailureInfo?.timeoutType,
      cause: causeOf(failure)?.message,
      startedEventId,
      retryState,
    };
  }

  test('schedule-to-start: never retried', () => {
    const shard = scheduled({ scheduleToStartTimeoutMs: 2000 });
    shard.advance(2000);
    shard.fireDueTimers();
    expect(shard.history().slice(5)).toEqual(['activityTaskTimedOut', 'workflowTaskScheduled']);
    expect(timedOut(shard)).toEqual({
      message: 'activity ScheduleToStart timeout',
      type: 2,
      cause: undefined,
      startedEventId: 0,
      retryState: 3,
    });
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });

  test('start-to-close: retried', () => {
    const shard = scheduled({ retryPolicy: policy({ maximumAttempts: 2 }) });
    shard.pollActivityTask();
    shard.advance(10_000);
    shard.fireDueTimers();
    expect(shard.describe().pendingActivities).toMatchObject([{ attempt: 2 }]);
    shard.fireNextTimer();
    shard.pollActivityTask();
    shard.advance(10_000);
    shard.fireDueTimers();
    expect(shard.history().slice(5)).toEqual(['activityTaskStarted', 'activityTaskTimedOut', 'workflowTaskScheduled']);
    const message = 'activity StartToClose timeout';
    expect(timedOut(shard)).toEqual({ message, type: 1, cause: message, startedEventId: 6, retryState: 4 });
  });

  test('start-to-close, where the policy lists it: not retried', () => {
    const shard = scheduled({ retryPolicy: policy({ nonRetryableErrorTypes: ['TemporalTimeout:StartToClose'] }) });
    shard.pollActivityTask();
    shard.advance(10_000);
    shard.fireDueTimers();
    expect(timedOut(shard)).toMatchObject({ type: 1, retryState: 2 });
  });

  test('schedule-to-close: of all attempts together', () => {
    const shard = scheduled({ scheduleToCloseTimeoutMs: 5000 });
    shard.advance(3000);
    fail(shard, shard.pollActivityTask());
    shard.fireNextTimer();
    shard.pollActivityTask();
    shard.fireNextTimer();
    expect(shard.history().slice(5)).toEqual(['activityTaskStarted', 'activityTaskTimedOut', 'workflowTaskScheduled']);
    expect(timedOut(shard)).toMatchObject({ message: outOfTime, type: 3, cause: 'failure 1', startedEventId: 6, retryState: 3 });
  });

  test('no time left for another attempt: reported as schedule-to-close', () => {
    const shard = scheduled({
      scheduleToCloseTimeoutMs: 12_000,
      startToCloseTimeoutMs: 10_000,
      retryPolicy: policy({ initialIntervalMs: 5000 }),
    });
    shard.pollActivityTask();
    shard.advance(10_000);
    shard.fireDueTimers();
    expect(timedOut(shard)).toMatchObject({
      message: outOfTime,
      type: 3,
      retryState: 3,
    });
  });

  test('heartbeat: counted from the last one, its details go to the workflow', () => {
    const shard = scheduled({ heartbeatTimeoutMs: 3000, retryPolicy: policy({ maximumAttempts: 1 }) });
    const task = shard.pollActivityTask();
    shard.advance(2000);
    const heartbeat = { kind: 'recordActivityHeartbeat', activity: activityRef(task), details: bytes('beat'), identity: 'worker' } as const;
    expect(shard.ask(heartbeat)).toEqual({ kind: 'heartbeat', cancelRequested: false, activityPaused: false, activityReset: false });
    shard.advance(2999);
    shard.fireDueTimers();
    expect(shard.describe().pendingActivities).toMatchObject([{ attempt: 1, heartbeatDetails: bytes('beat') }]);
    shard.advance(1);
    shard.fireDueTimers();
    expect(timedOut(shard)).toMatchObject({ message: 'activity Heartbeat timeout', type: 4, retryState: 4 });
    const { failure } = shard.lastEvent('activityTaskTimedOut').attributes;
    expect(decodeFailure(failure ?? bytes('')).timeoutFailureInfo?.lastHeartbeatDetails).toEqual(bytes('beat'));
  });

  test('none fires for an activity that is over', () => {
    const shard = scheduled({ scheduleToCloseTimeoutMs: 60_000, heartbeatTimeoutMs: 2000 });
    shard.completeActivity(shard.pollActivityTask());
    expect(shard.nextTimer()).toBeUndefined();
  });
});

describe('heartbeats', () => {
  test('details reach the next attempt', () => {
    const shard = scheduled();
    const task = shard.pollActivityTask();
    shard.ask({ kind: 'recordActivityHeartbeat', activity: activityRef(task), details: bytes('first'), identity: 'worker' });
    const facts: FailureFacts = { kind: 'application', type: '', nonRetryable: false, nextRetryDelayMs: 0, message: '' };
    const failure = { facts, bytes: bytes('f') };
    shard.expectDone({
      kind: 'failActivityTask',
      activity: activityRef(task),
      failure,
      lastHeartbeatDetails: bytes('last'),
      identity: 'w',
    });
    shard.fireNextTimer();
    expect(shard.pollActivityTask().heartbeatDetails).toEqual(bytes('last'));
  });

  test('too large ones fail the activity, and its worker is told to stop', () => {
    const shard = scheduled();
    const task = shard.pollActivityTask();
    const details = new Uint8Array(2 * 1024 * 1024 + 1);
    const reply = shard.ask({ kind: 'recordActivityHeartbeat', activity: activityRef(task), details, identity: 'worker' });
    expect(reply).toEqual({ kind: 'heartbeat', cancelRequested: true, activityPaused: false, activityReset: false });
    const { failure, retryState } = shard.lastEvent('activityTaskFailed').attributes;
    expect(retryState).toBe(2);
    expect(decodeFailure(failure ?? bytes(''))).toMatchObject({
      message: 'Heartbeat details exceed size limit.',
      serverFailureInfo: { nonRetryable: true },
    });
  });

  test('of all activities together, too much ends the workflow', () => {
    const shard = new ShardUnderTest({ mutableStateBytesMax: 100 });
    shard.start();
    const ids = ['a1', 'a2', 'a3'];
    shard.complete(
      shard.pollWorkflowTask(),
      ids.map((activityId) => scheduleActivity({ activityId })),
    );
    const [a1, a2, a3] = ids.map(() => shard.pollActivityTask());
    if (a1 === undefined || a2 === undefined || a3 === undefined) throw new Error('three activities were scheduled');
    const beat = (task: StartedActivityTask): void => {
      shard.ask({ kind: 'recordActivityHeartbeat', activity: activityRef(task), details: new Uint8Array(60), identity: 'worker' });
    };
    beat(a1);
    beat(a1);
    shard.completeActivity(a1);
    beat(a2);
    expect(shard.describe().status, 'later details replace earlier ones, and those of a closed activity do not count').toBe(1);
    beat(a3);
    expect(shard.describe().status).toBe(5);
    expect(shard.lastEvent('workflowExecutionTerminated').attributes.reason).toBe('Workflow mutable state size exceeds limit.');
  });

  test('a gone activity is not found', () => {
    const shard = scheduled();
    const task = shard.pollActivityTask();
    shard.completeActivity(task);
    const heartbeat = { kind: 'recordActivityHeartbeat', activity: activityRef(task), details: undefined, identity: 'worker' } as const;
    expect(shard.expectRejected(heartbeat)).toEqual(gone);
  });
});

describe('cancellation', () => {
  test('before it started: cancelled at once, and the workflow hears of it', () => {
    const shard = scheduled();
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [cancelActivity(5), scheduleActivity({ activityId: 'a2' })]);
    expect(shard.history().slice(-5)).toEqual([
      'workflowTaskCompleted',
      'activityTaskCancelRequested',
      'activityTaskScheduled',
      'activityTaskCanceled',
      'workflowTaskScheduled',
    ]);
    const { attributes } = shard.lastEvent('activityTaskCanceled');
    expect(attributes).toMatchObject({ scheduledEventId: 5, startedEventId: 0 });
    expect(attributes.latestCancelRequestedEventId).toBe(shard.lastEvent('activityTaskCancelRequested').eventId);
    expect(new TextDecoder().decode(attributes.details)).toContain('"ACTIVITY_ID_NOT_STARTED"');
    expect(
      [...shard.core.shard.transfers.values()].filter(({ kind }) => kind === 'activityTask'),
      'its task is gone',
    ).toHaveLength(1);
  });

  test('in backoff: the same', () => {
    const shard = scheduled();
    fail(shard, shard.pollActivityTask());
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [cancelActivity(5)]);
    expect(shard.history().at(-2)).toBe('activityTaskCanceled');
    expect(shard.nextTimer()).toBeUndefined();
  });

  test('while it runs: its heartbeat learns of it, and it may say that it stopped', () => {
    const shard = scheduled();
    const task = shard.pollActivityTask();
    const cancel = { kind: 'cancelActivityTask', activity: activityRef(task), details: bytes('bye'), identity: 'worker' } as const;
    expect(shard.expectRejected(cancel)).toEqual({
      reason: 'invalid-argument',
      message: 'unable to mark activity as canceled without activity being request canceled first',
    });
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [cancelActivity(5)]);
    expect(shard.describe().pendingActivities).toMatchObject([{ state: 3 }]);
    const requestedId = shard.lastEvent('activityTaskCancelRequested').eventId;
    const heartbeat = { kind: 'recordActivityHeartbeat', activity: activityRef(task), details: undefined, identity: 'worker' } as const;
    expect(shard.ask(heartbeat)).toEqual({ kind: 'heartbeat', cancelRequested: true, activityPaused: false, activityReset: false });
    shard.expectDone(cancel);
    expect(shard.lastEvent('activityTaskCanceled').attributes).toMatchObject({
      details: bytes('bye'),
      latestCancelRequestedEventId: requestedId,
      scheduledEventId: 5,
    });
  });

  test('a failure after the request is not retried', () => {
    const shard = scheduled();
    const task = shard.pollActivityTask();
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [cancelActivity(5)]);
    fail(shard, task);
    expect(shard.lastEvent('activityTaskFailed').attributes.retryState).toBe(7);
  });
});

describe('by id', () => {
  const byId = { key, scheduledEventId: 0, activityId: 'a1', attempt: 0 };

  test('may complete what nobody polled for: a start is made up', () => {
    const shard = scheduled();
    shard.expectDone({ kind: 'completeActivityTask', activity: byId, result: bytes('r'), identity: 'person' });
    expect(shard.history().slice(5)).toEqual(['activityTaskStarted', 'activityTaskCompleted', 'workflowTaskScheduled']);
    expect(shard.lastEvent('activityTaskStarted').attributes).toMatchObject({ identity: 'person', attempt: 1 });
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });

  test('but not fail or cancel it', () => {
    const shard = scheduled();
    const failure = undefined;
    expect(
      shard.expectRejected({ kind: 'failActivityTask', activity: byId, failure, lastHeartbeatDetails: undefined, identity: 'p' }),
    ).toEqual(gone);
    expect(shard.expectRejected({ kind: 'cancelActivityTask', activity: byId, details: undefined, identity: 'p' })).toEqual(gone);
  });

  test('an unknown id', () => {
    const shard = scheduled();
    const activity = { ...byId, activityId: 'nope' };
    expect(shard.expectRejected({ kind: 'completeActivityTask', activity, result: undefined, identity: 'p' })).toEqual({
      reason: 'activity-not-found',
      message: 'cannot find pending activity with ActivityID nope, check workflow execution history for more details',
    });
  });
});

describe('eager', () => {
  test('goes back with the answer, started; no queue sees it', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const reply = shard.complete(shard.pollWorkflowTask(), [
      scheduleActivity({ requestEagerExecution: true }),
      scheduleActivity({ activityId: 'a2' }),
    ]);
    expect(reply.activityTasks).toMatchObject([{ activityId: 'a1', attempt: 1, scheduledEventId: 5, startedTimeMs: shard.nowMs }]);
    expect(shard.pendingTasks()).toEqual(['activityTask']);
    const [eager] = reply.activityTasks;
    if (eager === undefined) throw new Error('no eager task');
    shard.completeActivity(eager);
    expect(shard.history().slice(6)).toEqual(['activityTaskStarted', 'activityTaskCompleted', 'workflowTaskScheduled']);
  });

  test('not if it was cancelled in the same breath', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const reply = shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ requestEagerExecution: true }), cancelActivity(5)]);
    expect(reply.activityTasks).toEqual([]);
    expect(shard.history().slice(-2)).toEqual(['activityTaskCanceled', 'workflowTaskScheduled']);
  });
});

test('a start that its poll never got is taken back: the task is offered again, under a new stamp', () => {
  const shard = scheduled();
  const old = shard.pendingTask('activityTask');
  const task = shard.pollActivityTask('poll');
  const withdraw = { kind: 'withdrawActivityStart', key: task.key, scheduledEventId: 5, pollRequestId: 'poll' } as const;
  shard.expectDone({ ...withdraw, pollRequestId: 'another' });
  expect(shard.pendingTasks()).toEqual([]);
  shard.expectDone(withdraw);
  expect(shard.pendingTask('activityTask').stamp).toBe(old.stamp + 1);
  expect(shard.pollActivityTask()).toMatchObject({ attempt: 1 });
});

test('a result that is too large fails the activity for good', () => {
  const shard = scheduled();
  shard.completeActivity(shard.pollActivityTask(), new Uint8Array(2 * 1024 * 1024 + 1));
  const { failure } = shard.lastEvent('activityTaskFailed').attributes;
  expect(decodeFailure(failure ?? bytes(''))).toMatchObject({
    message: 'Complete result exceeds size limit.',
    serverFailureInfo: { nonRetryable: true },
  });
});

test('a late answer learns that the workflow has closed', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity()]);
  const activity = shard.pollActivityTask();
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  const answer = { kind: 'completeActivityTask', activity: activityRef(activity), result: undefined, identity: 'worker' } as const;
  expect(shard.expectRejected(answer)).toMatchObject({ message: 'workflow execution already completed' });
});
