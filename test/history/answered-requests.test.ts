/** Operators' requests whose answers were lost: they come once more, perhaps after somebody else has taken back what they asked for. Signals: chains.test.ts. */
import { describe, expect, test } from 'vitest';
import { answeredRequestsMax } from '../../src/history/run/answered-requests.ts';
import type { HistoryReply } from '../../src/history/run/history-replies.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import {
  activityRef,
  bytes,
  continueAsNew,
  failWorkflow,
  key,
  optionsChange,
  scheduleActivity,
  ShardUnderTest,
} from './shard-under-test.ts';

const identity = 'operator';
const one = { activityId: 'a1', activityType: undefined };
const done = { kind: 'done' };
const retryPolicy = {
  initialIntervalMs: 60_000,
  backoffCoefficient: 2,
  maximumIntervalMs: 0,
  maximumAttempts: 0,
  nonRetryableErrorTypes: ['Fatal'],
};

function running(...commands: readonly WorkflowCommand[]): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), commands.length === 0 ? [scheduleActivity({ retryPolicy })] : commands);
  return shard;
}

function pauseActivity(shard: ShardUnderTest, requestId: string): HistoryReply | undefined {
  return shard.ask({ kind: 'pauseActivity', key, target: one, identity, reason: 'why', requestId });
}

function unpauseActivity(shard: ShardUnderTest, requestId: string): HistoryReply | undefined {
  const flags = { resetAttempts: false, resetHeartbeat: false, jitterMs: 0, jitter: 0.5 };
  return shard.ask({ kind: 'unpauseActivity', key, target: one, ...flags, requestId });
}

function resetActivity(shard: ShardUnderTest, requestId: string): HistoryReply | undefined {
  const flags = { resetHeartbeat: false, keepPaused: false, restoreOriginalOptions: false, jitterMs: 0, jitter: 0.5 };
  return shard.ask({ kind: 'resetActivity', key, target: one, ...flags, requestId });
}

function setHeartbeat(shard: ShardUnderTest, heartbeatTimeoutMs: number, requestId: string): HistoryReply | undefined {
  const change = optionsChange({ fields: ['heartbeatTimeout'], heartbeatTimeoutMs });
  return shard.ask({ kind: 'updateActivityOptions', key, target: one, change, requestId });
}

function pause(shard: ShardUnderTest, requestId: string): HistoryReply | undefined {
  return shard.ask({ kind: 'pauseWorkflow', key, identity, reason: 'why', requestId });
}

function unpause(shard: ShardUnderTest, requestId: string): HistoryReply | undefined {
  return shard.ask({ kind: 'unpauseWorkflow', key, identity, reason: 'why', requestId });
}

function fail(shard: ShardUnderTest, type = 'Oops'): void {
  const facts = { kind: 'application', type, nonRetryable: false, nextRetryDelayMs: 0, message: 'x' } as const;
  const failure = { facts, bytes: bytes('failure') };
  const activity = activityRef(shard.pollActivityTask());
  shard.expectDone({ kind: 'failActivityTask', activity, failure, lastHeartbeatDetails: undefined, identity });
}

function isActivityPaused(shard: ShardUnderTest): boolean {
  return shard.describe().pendingActivities[0]?.pause !== undefined;
}

function isPaused(shard: ShardUnderTest): boolean {
  return shard.describe().status === 8;
}

/** It writes nothing, and is answered like that. */
function expectNothing(shard: ShardUnderTest, ask: () => HistoryReply | undefined, reply: unknown = done): void {
  const { length } = shard.records;
  expect(ask()).toEqual(reply);
  expect(shard.records).toHaveLength(length);
}

describe('an activity', () => {
  test('a late pause does not undo an unpause, nor a late unpause a pause', () => {
    const shard = running();
    expect([pauseActivity(shard, 'A'), unpauseActivity(shard, 'B')]).toEqual([done, done]);
    expectNothing(shard, () => pauseActivity(shard, 'A'));
    expect(isActivityPaused(shard)).toBe(false);
    expect(pauseActivity(shard, 'C')).toEqual(done);
    expectNothing(shard, () => unpauseActivity(shard, 'B'));
    expect(isActivityPaused(shard)).toBe(true);
  });

  test('one request id may pause it, and let it go on', () => {
    const shard = running();
    expect([pauseActivity(shard, 'A'), unpauseActivity(shard, 'A')]).toEqual([done, done]);
    expect(isActivityPaused(shard)).toBe(false);
  });

  test('without an id each request is one of its own', () => {
    const shard = running();
    for (const _ of [1, 2]) {
      expect(pauseActivity(shard, '')).toEqual(done);
      expect(isActivityPaused(shard)).toBe(true);
      unpauseActivity(shard, '');
      expect(isActivityPaused(shard)).toBe(false);
    }
    expect(shard.records.flatMap(({ runs }) => runs.flatMap(({ facts }) => facts)).map(({ fact }) => fact.kind)).not.toContain(
      'requestAnswered',
    );
  });

  test('a late reset does not throw away the attempts since', () => {
    const shard = running();
    fail(shard);
    expect(resetActivity(shard, 'R')).toEqual(done);
    fail(shard);
    expectNothing(shard, () => resetActivity(shard, 'R'));
    expect(shard.describe().pendingActivities[0]).toMatchObject({ attempt: 2 });
    resetActivity(shard, 'another');
    expect(shard.describe().pendingActivities[0]).toMatchObject({ attempt: 1 });
  });

  test('late options do not take back those that came since, and the answer has these', () => {
    const shard = running();
    setHeartbeat(shard, 1_000, 'U');
    const reply = setHeartbeat(shard, 2_000, 'V');
    expect(reply).toMatchObject({ options: { heartbeatTimeoutMs: 2_000 } });
    expectNothing(shard, () => setHeartbeat(shard, 1_000, 'U'), reply);
  });

  test('by its type as by its id', () => {
    const shard = running();
    const { activityType = '' } = shard.describe().pendingActivities[0] ?? {};
    const target = { activityId: undefined, activityType };
    shard.expectDone({ kind: 'pauseActivity', key, target, identity, reason: '', requestId: 'A' });
    unpauseActivity(shard, 'B');
    shard.expectDone({ kind: 'pauseActivity', key, target, identity, reason: '', requestId: 'A' });
    expect(isActivityPaused(shard)).toBe(false);
  });

  test(`of many requests the newest ${answeredRequestsMax} are known`, () => {
    const shard = running();
    for (let n = 0; n <= answeredRequestsMax; n++) unpauseActivity(shard, `unpause-${n}`);
    expectNothing(shard, () => unpauseActivity(shard, 'unpause-1'));
    const { length } = shard.records;
    unpauseActivity(shard, 'unpause-0');
    expect(shard.records).toHaveLength(length + 1);
  });

  test('after further attempts, a reset of the workflow', () => {
    const shard = running();
    pauseActivity(shard, 'A');
    unpauseActivity(shard, 'B');
    fail(shard);
    shard.signal();
    shard.complete(shard.pollWorkflowTask());
    shard.reset(8);
    expectNothing(shard, () => pauseActivity(shard, 'A'));
    expect(isActivityPaused(shard)).toBe(false);
  });

  test('another one under its id has answered nothing yet', () => {
    const shard = running();
    pauseActivity(shard, 'A');
    unpauseActivity(shard, 'B');
    shard.completeActivity(shard.pollActivityTask());
    shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ retryPolicy })]);
    pauseActivity(shard, 'A');
    expect(isActivityPaused(shard)).toBe(true);
  });
});

describe('a workflow', () => {
  test('a late pause does not undo an unpause, nor a late unpause a pause', () => {
    const shard = running();
    expect([pause(shard, 'A'), unpause(shard, 'B')]).toEqual([done, done]);
    expectNothing(shard, () => unpause(shard, 'B'));
    expectNothing(shard, () => pause(shard, 'A'));
    expect(isPaused(shard)).toBe(false);
    expect(pause(shard, 'C')).toEqual(done);
    expectNothing(shard, () => unpause(shard, 'B'));
    expect(isPaused(shard)).toBe(true);
  });

  test.each<[string, (shard: ShardUnderTest) => void]>([
    ['continues as new', (shard) => shard.complete(shard.pollWorkflowTask(), [continueAsNew({})])],
    ['is tried again', (shard) => shard.complete(shard.pollWorkflowTask(), [failWorkflow()])],
    [
      'is reset',
      (shard) => {
        shard.complete(shard.pollWorkflowTask());
        shard.reset(4);
      },
    ],
  ])('a late pause does not stop the run that follows one that %s, nor an unpause let it go on', (_, goOn) => {
    const shard = new ShardUnderTest();
    shard.start({ start: { retryPolicy } });
    pause(shard, 'A');
    unpause(shard, 'B');
    goOn(shard);
    expect(shard.runIds().length).toBe(2);
    expectNothing(shard, () => pause(shard, 'A'));
    expect(isPaused(shard)).toBe(false);
    expect(pause(shard, 'C')).toEqual(done);
    expectNothing(shard, () => unpause(shard, 'B'));
    expect(isPaused(shard)).toBe(true);
  });
});

describe('types of errors among the options', () => {
  const set = (shard: ShardUnderTest, nonRetryableErrorTypes: readonly string[]): HistoryReply | undefined => {
    const change = optionsChange({ fields: ['retryPolicy'], retryPolicy: { ...retryPolicy, nonRetryableErrorTypes } });
    return shard.ask({ kind: 'updateActivityOptions', key, target: one, change, requestId: '' });
  };

  test('those of a whole policy hold, and are shown', () => {
    const shard = running();
    expect(set(shard, ['A'])).toMatchObject({ options: { retryPolicy: { nonRetryableErrorTypes: ['A'] } } });
    expect(shard.describe().pendingActivities[0]?.retryPolicy).toMatchObject({ nonRetryableErrorTypes: ['A'] });
    fail(shard, 'Fatal');
    expect(shard.describe().pendingActivities[0]).toMatchObject({ attempt: 2 });
    shard.fireNextTimer();
    fail(shard, 'A');
    expect(shard.lastEvent('activityTaskFailed').attributes).toMatchObject({ retryState: 2 });
  });

  test('none, too; and a field of the policy leaves them as they are', () => {
    const shard = running();
    set(shard, []);
    const attempts = { ...retryPolicy, maximumAttempts: 9, nonRetryableErrorTypes: ['not', 'named', 'by the mask'] };
    const change = optionsChange({ fields: ['retryPolicy.maximumAttempts'], retryPolicy: attempts });
    shard.ask({ kind: 'updateActivityOptions', key, target: one, change, requestId: '' });
    expect(shard.describe().pendingActivities[0]?.retryPolicy).toMatchObject({ maximumAttempts: 9, nonRetryableErrorTypes: [] });
    fail(shard, 'Fatal');
    expect(shard.describe().pendingActivities[0]).toMatchObject({ attempt: 2 });
  });

  test.each([true, false])('restored, by a reset of the activity: %s, they are those that were scheduled', (byReset) => {
    const shard = running();
    set(shard, ['A']);
    const flags = { resetHeartbeat: false, keepPaused: false, restoreOriginalOptions: true, jitterMs: 0, jitter: 0.5 };
    if (byReset) shard.expectDone({ kind: 'resetActivity', key, target: one, ...flags, requestId: '' });
    else shard.ask({ kind: 'updateActivityOptions', key, target: one, change: undefined, requestId: '' });
    expect(shard.describe().pendingActivities[0]?.retryPolicy).toMatchObject({ nonRetryableErrorTypes: ['Fatal'] });
    fail(shard, 'Fatal');
    expect(shard.lastEvent('activityTaskFailed').attributes).toMatchObject({ retryState: 2 });
  });

  test('one of a timeout that there is not is refused', () => {
    const message = 'Invalid timeout type value: Never.';
    expect(set(running(), ['TemporalTimeout:Never'])).toEqual({
      kind: 'rejected',
      rejection: { reason: 'invalid-argument', message },
    });
  });
});
