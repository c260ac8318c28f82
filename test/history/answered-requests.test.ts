/** Operators' requests whose answers were lost: they come once more, perhaps after somebody else has taken back what they asked for. Signals: chains.test.ts. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { answeredRequestsMax, operation } from '../../src/history/answered-requests.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { Fact, HistoryRecord } from '../../src/history/record.ts';
import type { HistoryReply } from '../../src/history/replies.ts';
import type { WorkflowCommand } from '../../src/history/workflow-commands.ts';
import { historyCodec } from '../../src/topics/codec/history-codec.ts';
import { historyWire } from '../../src/topics/codec/history-wire.ts';
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
    expect(shard.records.filter(({ schema }) => schema > 7)).toEqual([]);
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

  test('those that were scheduled are written as ever', () => {
    const shard = running();
    const { length } = shard.records;
    expect(set(shard, ['Fatal'])).toMatchObject({ kind: 'activityOptionsUpdated' });
    expect(shard.records.slice(length).map(({ schema }) => schema)).not.toContain(8);
  });
});

const journal = 'golden/history-journal-v8-requests-zeros.hex';
const signalsJournal = 'golden/history-journal-v8-signals-zeros.hex';

function requests(): readonly HistoryRecord[] {
  const shard = running();
  pauseActivity(shard, 'A');
  unpauseActivity(shard, 'B');
  resetActivity(shard, 'C');
  setHeartbeat(shard, 1_000, 'D');
  const change = optionsChange({ fields: ['retryPolicy'], retryPolicy: { ...retryPolicy, nonRetryableErrorTypes: ['E', 'F'] } });
  shard.ask({ kind: 'updateActivityOptions', key, target: one, change, requestId: '' });
  pause(shard, 'G');
  unpause(shard, 'H');
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [continueAsNew({})]);
  // Runs were not told of the signals of those before them when these were written.
  return shard.records.map((record) => ({
    ...record,
    runs: record.runs.map((run) => ({ ...run, facts: run.facts.filter(({ fact }) => !isSignalAnswered(fact)) })),
  }));
}

function isSignalAnswered(fact: Fact): boolean {
  return fact.kind === 'requestAnswered' && fact.operation === operation.signal;
}

function signals(): readonly HistoryRecord[] {
  const shard = new ShardUnderTest();
  shard.start();
  for (const requestId of ['', 'one', 'another']) shard.signal({ requestId });
  shard.complete(shard.pollWorkflowTask(), [continueAsNew({})]);
  expect(shard.records.at(-1)?.runs.flatMap(({ facts }) => facts.filter(({ fact }) => isSignalAnswered(fact)))).toHaveLength(2);
  return shard.records;
}

test.each([
  [journal, requests, 8],
  [signalsJournal, signals, 1],
] as const)('schema 8 is still read, and means what it meant: %s', async (file, program, ofSchema8) => {
  const records = program();
  const core = new HistoryCore({ wire: historyWire });
  for (const record of records) core.evolve(record);
  const text = records.map((record) => `${record.schema} ${Buffer.from(historyCodec.encode(record).value).toString('hex')}\n`).join('');
  await expect(text).toMatchFileSnapshot(file);
  const read = new HistoryCore({ wire: historyWire });
  for (const line of readFileSync(new URL(file, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')) {
    const [schema = '', value = ''] = line.split(' ');
    read.evolve(historyCodec.decode(Uint8Array.from(Buffer.from(value, 'hex')), Number(schema)));
  }
  expect(read.canonicalState()).toBe(core.canonicalState());
  expect(records.filter(({ schema }) => schema === 8)).toHaveLength(ofSchema8);
});
