/** Chains of runs: by a retry policy, by a cron schedule, and by both; what passes on from run to run, and what ends them. */
import { expect, test } from 'vitest';
import { answeredRequestsMax } from '../../src/history/run/answered-requests.ts';
import type { SignalWithStartWorkflow, StartAttributes } from '../../src/history/commands/history-commands.ts';
import type { FailureFacts } from '../../src/history/commands/failure.ts';
import type { StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { encodeCallback } from '../../src/wire/generated/lean/callback.ts';
import {
  bytes,
  completeWorkflow,
  continueAsNew,
  failWorkflow,
  fields,
  key,
  ShardUnderTest,
  signalAttributes,
  startChild,
  terminateWorkflow,
} from './shard-under-test.ts';

const inProgress = 1;
const nonRetryableFailure = 2;
const timeout = 3;
const maximumAttemptsReached = 4;
const retryPolicyNotSet = 5;

const policy = {
  initialIntervalMs: 2_000,
  backoffCoefficient: 3,
  maximumIntervalMs: 10_000,
  maximumAttempts: 0,
  nonRetryableErrorTypes: ['Final', 'TemporalTimeout:Heartbeat'],
};
const minute = 60_000;

const failure = historyWire.encodeFailure({ message: 'no', cause: undefined, info: { kind: 'server', nonRetryable: false } });

/** With its first workflow task completed by this command. */
function ended(start: Partial<StartAttributes>, command: WorkflowCommand): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start({ start });
  end(shard, command);
  return shard;
}

/** Waits for the next workflow task if it is in a backoff. */
function end(shard: ShardUnderTest, command: WorkflowCommand): void {
  if (!shard.pendingTasks().includes('workflowTask')) shard.fireNextTimer();
  shard.complete(shard.pollWorkflowTask(), [command]);
}

function startedOf(shard: ShardUnderTest, nth: number) {
  return shard.lastEvent('workflowExecutionStarted', shard.runIds()[nth]).attributes;
}

test('a run that fails is started again as it was, after a pause that grows', () => {
  const memo = fields({ note: '"as started"' });
  const searchAttributes = fields({ CustomKeywordField: '"red"' });
  const shard = new ShardUnderTest();
  const start = { retryPolicy: policy, memo, searchAttributes, header: bytes('header'), links: [bytes('link')], priority: bytes('') };
  const first = shard.start({ start: { ...start, executionTimeoutMs: 90_000, runTimeoutMs: 50_000 } });
  const startMs = shard.nowMs;
  shard.advance(500);
  const upsert = {
    type: 'modifyWorkflowProperties',
    userMetadata: undefined,
    attributes: { upsertedMemo: fields({ note: '2' }) },
  } as const;
  shard.complete(shard.pollWorkflowTask(), [upsert, failWorkflow()]);
  const [, second = ''] = shard.runIds();
  expect(shard.lastEvent('workflowExecutionFailed', first).attributes).toMatchObject({ retryState: inProgress, newExecutionRunId: second });
  expect(startedOf(shard, 1)).toMatchObject({
    ...{ attempt: 2, initiator: 2, continuedExecutionRunId: first, firstExecutionRunId: first, originalExecutionRunId: second },
    ...{ input: bytes('input'), memo, searchAttributes, header: bytes('header'), priority: bytes(''), retryPolicy: policy, identity: '' },
    ...{ continuedFailure: failure, firstWorkflowTaskBackoffMs: 2_000, workflowRunTimeoutMs: 50_000 },
    workflowExecutionExpirationTimeMs: startMs + 90_000,
  });
  expect(shard.lastEvent('workflowExecutionStarted', second).links).toEqual([bytes('link')]);
  expect(shard.describe({ ...key, runId: second })).toMatchObject({ firstRunId: first, runExpirationTimeMs: shard.nowMs + 52_000 });
  expect(shard.history(second)).toEqual(['workflowExecutionStarted']);
  const pauses = [];
  for (let attempt = 2; attempt < 5; attempt++) {
    const endedMs = shard.nowMs;
    end(shard, failWorkflow());
    pauses.push(shard.nowMs - endedMs);
  }
  expect(pauses, 'tripled, and at most 10 s').toEqual([2_000, 6_000, 10_000]);
  expect(startedOf(shard, 4).attempt).toBe(5);
  end(shard, completeWorkflow());
  expect(shard.lastEvent('workflowExecutionCompleted').attributes).toMatchObject({ newExecutionRunId: '' });
  expect(shard.runIds()).toHaveLength(5);
});

test.each<[string, Partial<StartAttributes>, Partial<FailureFacts>, number]>([
  ['no policy', {}, {}, retryPolicyNotSet],
  ['one attempt is no retry', { retryPolicy: { ...policy, maximumAttempts: 1 } }, {}, maximumAttemptsReached],
  ['a failure that says so', { retryPolicy: policy }, { nonRetryable: true }, nonRetryableFailure],
  ['a type that is listed', { retryPolicy: policy }, { type: 'Final' }, nonRetryableFailure],
  ['a cancellation that failed the workflow', { retryPolicy: policy }, { kind: 'canceled', type: '' }, nonRetryableFailure],
  ['a timeout that is listed', { retryPolicy: policy }, { kind: 'timeout', type: 'TemporalTimeout:Heartbeat' }, nonRetryableFailure],
  [
    'a timeout that passes never',
    { retryPolicy: policy },
    { kind: 'timeout', type: 'TemporalTimeout:ScheduleToClose' },
    nonRetryableFailure,
  ],
  ['no time for another', { retryPolicy: policy, executionTimeoutMs: 1_999 }, {}, timeout],
  ['no time for the delay that is asked for', { retryPolicy: policy, executionTimeoutMs: 3_000 }, { nextRetryDelayMs: 3_001 }, timeout],
])('no retry: %s', (_, start, facts, state) => {
  const shard = ended(start, failWorkflow(facts));
  expect(shard.runIds()).toHaveLength(1);
  expect(shard.lastEvent('workflowExecutionFailed').attributes).toMatchObject({ retryState: state, newExecutionRunId: '' });
});

test.each<[string, Partial<StartAttributes>, Partial<FailureFacts>, number]>([
  ['at the very end of the execution', { executionTimeoutMs: 2_000 }, {}, 2_000],
  ['a delay that is asked for', {}, { nextRetryDelayMs: 7_000 }, 7_000],
  ['a delay that is asked for, capped', {}, { nextRetryDelayMs: Number.MAX_SAFE_INTEGER }, 10_000],
  ['a timeout that passes', {}, { kind: 'timeout', type: 'TemporalTimeout:StartToClose' }, 2_000],
  ['an infinite coefficient', { retryPolicy: { ...policy, backoffCoefficient: Infinity } }, {}, 2_000],
  ['runs stay a second apart', { retryPolicy: { ...policy, initialIntervalMs: 5 } }, {}, 1_000],
])('a retry: %s', (_, start, facts, backoffMs) => {
  const shard = ended({ retryPolicy: policy, ...start }, failWorkflow(facts));
  expect(startedOf(shard, 1).firstWorkflowTaskBackoffMs).toBe(backoffMs);
});

test('attempts end, and canceled and terminated runs are never retried', () => {
  const shard = ended({ retryPolicy: { ...policy, maximumAttempts: 2 } }, failWorkflow());
  end(shard, failWorkflow());
  expect(shard.lastEvent('workflowExecutionFailed').attributes).toMatchObject({
    retryState: maximumAttemptsReached,
    newExecutionRunId: '',
  });
  const details = undefined;
  const canceled = ended(
    { retryPolicy: policy, cronSchedule: '* * * * *' },
    { type: 'cancelWorkflowExecution', userMetadata: undefined, attributes: { details } },
  );
  expect(canceled.runIds()).toHaveLength(1);
  const terminated = ended({ retryPolicy: policy, cronSchedule: '* * * * *' }, failWorkflow());
  terminated.expectDone(terminateWorkflow());
  expect(terminated.history()).toEqual(['workflowExecutionStarted', 'workflowExecutionTerminated']);
  expect(terminated.runIds()).toHaveLength(2);
  expect(terminated.nextTimer(), 'nothing but the retention of both').toMatchObject({ taskId: expect.any(Number) as number });
});

test('a run that times out is retried until the execution is', () => {
  const shard = new ShardUnderTest();
  shard.start({ start: { retryPolicy: policy, runTimeoutMs: 10_000, executionTimeoutMs: 25_000 } });
  const startMs = shard.nowMs;
  shard.advance(10_000);
  shard.fireDueTimers();
  const [first, second] = shard.runIds();
  expect(shard.lastEvent('workflowExecutionTimedOut', first).attributes).toEqual({ retryState: inProgress, newExecutionRunId: second });
  const { continuedFailure, attempt } = startedOf(shard, 1);
  const text = Buffer.from(continuedFailure ?? []).toString('latin1');
  expect([attempt, text.includes('workflow timeout')]).toEqual([2, true]);
  shard.advance(2_000);
  shard.fireDueTimers();
  expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled']);
  // The third would begin 6 s later, after the end of the execution.
  shard.advance(10_000);
  shard.fireDueTimers();
  expect(shard.lastEvent('workflowExecutionTimedOut', second).attributes).toEqual({ retryState: timeout, newExecutionRunId: '' });
  expect(shard.nowMs).toBe(startMs + 22_000);
});

test('the end of the execution ends the chain in a backoff', () => {
  const shard = ended({ retryPolicy: policy, executionTimeoutMs: 2_000 }, failWorkflow());
  shard.advance(2_000);
  shard.fireDueTimers();
  expect(shard.lastEvent('workflowExecutionTimedOut').attributes).toEqual({ retryState: timeout, newExecutionRunId: '' });
  expect(shard.runIds()).toHaveLength(2);
});

test('a signal waits for the end of a backoff, a cancellation does not', () => {
  const shard = ended({ retryPolicy: policy }, failWorkflow());
  shard.signal();
  expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowExecutionSignaled']);
  const cancel = { firstExecutionRunId: shard.runIds()[0] ?? '', cause: '', identity: '', requestId: 'r', links: [] } as const;
  shard.expectDone({ kind: 'requestCancelWorkflow', key, ...cancel, external: undefined, childOf: undefined });
  expect(shard.history().slice(2)).toEqual(['workflowExecutionCancelRequested', 'workflowTaskScheduled']);
});

test('the policy of a run that continues as new is what its command says', () => {
  const shard = ended({ retryPolicy: policy, cronSchedule: '@hourly' }, continueAsNew());
  expect(startedOf(shard, 1)).toMatchObject({ retryPolicy: undefined, cronSchedule: '', attempt: 1, initiator: 1 });
  end(shard, continueAsNew({ retryPolicy: { ...policy, initialIntervalMs: 0, maximumIntervalMs: 0 } }));
  expect(startedOf(shard, 2).retryPolicy).toEqual({ ...policy, initialIntervalMs: 1_000, maximumIntervalMs: 100_000 });
  end(shard, failWorkflow());
  expect(startedOf(shard, 3)).toMatchObject({ attempt: 2, initiator: 2, input: bytes('next input') });
});

test('a worker that continues as new as a retry counts the attempts on', () => {
  const shard = ended({ retryPolicy: policy }, continueAsNew({ initiator: 2 }));
  expect(startedOf(shard, 1)).toMatchObject({ attempt: 2, initiator: 2 });
  end(shard, continueAsNew());
  expect(startedOf(shard, 2)).toMatchObject({ attempt: 1, initiator: 1 });
});

// ── Cron ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

test('each run of a schedule begins at its next time, with the last result there was', () => {
  const shard = new ShardUnderTest();
  // 22:13:20.250
  shard.advance(250);
  shard.start({ start: { cronSchedule: '*/5 * * * *', startDelayMs: 0 } });
  expect(startedOf(shard, 0)).toMatchObject({ initiator: 3, attempt: 1, firstWorkflowTaskBackoffMs: 100_000, cronSchedule: '*/5 * * * *' });
  const dueMs = shard.nowMs + 100_000;
  end(shard, completeWorkflow(bytes('one')));
  expect(shard.nowMs).toBe(dueMs);
  expect(startedOf(shard, 1)).toMatchObject({
    ...{ initiator: 3, attempt: 1, lastCompletionResult: bytes('one'), continuedFailure: undefined, firstWorkflowTaskBackoffMs: 300_000 },
    continuedExecutionRunId: shard.runIds()[0],
  });
  // It takes longer than its time: those that it missed are left out.
  shard.fireNextTimer();
  const task = shard.pollWorkflowTask();
  shard.complete(task, [failWorkflow()]);
  expect(shard.lastEvent('workflowExecutionFailed', shard.runIds()[1]).attributes).toMatchObject({
    ...{ retryState: retryPolicyNotSet, newExecutionRunId: shard.runIds()[2] },
  });
  expect(startedOf(shard, 2)).toMatchObject({ lastCompletionResult: bytes('one'), continuedFailure: failure, attempt: 1 });
  end(shard, completeWorkflow(bytes('two')));
  expect(startedOf(shard, 3)).toMatchObject({ lastCompletionResult: bytes('two'), continuedFailure: undefined });
});

test('a run that outlasts its next time leaves it out', () => {
  const shard = new ShardUnderTest();
  shard.start({ start: { cronSchedule: '@every 10s' } });
  shard.fireNextTimer();
  const begunMs = shard.nowMs;
  const task = shard.pollWorkflowTask();
  shard.advance(9_000);
  shard.complete(task, [], { forceCreateNewWorkflowTask: true });
  const next = shard.pollWorkflowTask();
  shard.advance(4_500);
  shard.complete(next, [completeWorkflow()]);
  shard.fireNextTimer();
  expect(shard.nowMs - begunMs, 'in whole seconds from the end').toBe(9_000 + 4_500 + 7_000);
});

test('a schedule with a policy: attempts come first, and each time has its own', () => {
  const shard = ended({ cronSchedule: '* * * * *', retryPolicy: { ...policy, maximumAttempts: 2 } }, failWorkflow());
  end(shard, failWorkflow());
  const third = startedOf(shard, 2);
  expect(startedOf(shard, 1)).toMatchObject({ initiator: 2, attempt: 2 });
  expect(third).toMatchObject({ initiator: 3, attempt: 1, retryPolicy: { maximumAttempts: 2 } });
});

test('out of time, a run of a schedule has a next one; the end of the execution has none', () => {
  const shard = new ShardUnderTest();
  shard.start({ start: { cronSchedule: '@every 60s', runTimeoutMs: 30_000, executionTimeoutMs: 200_000 } });
  const retryStates: number[] = [];
  for (let fired = 0; fired < 10 && shard.describe().status === 1; fired++) {
    if (shard.pendingTasks().includes('workflowTask')) shard.advance(30_000);
    else shard.fireNextTimer();
    shard.fireDueTimers();
  }
  for (const runId of shard.runIds()) retryStates.push(shard.lastEvent('workflowExecutionTimedOut', runId).attributes.retryState);
  expect(retryStates, 'due after 60, 120 and 180 s').toEqual([retryPolicyNotSet, retryPolicyNotSet, timeout]);
});

function signalWithStart(shard: ShardUnderTest): void {
  shard.ask(signalWithStartCommand(shard));
}

function signalWithStartCommand(shard: ShardUnderTest): SignalWithStartWorkflow {
  const { start, newRunId, requestId, namespace } = shard.startCommand();
  const policies = { reusePolicy: 1, conflictPolicy: 2 } as const;
  return { kind: 'signalWithStartWorkflow', key, namespace, newRunId, requestId, start, policies, signal: signalAttributes() };
}

test.each<[string, Partial<StartAttributes>, WorkflowCommand | undefined]>([
  ['a start delay', { startDelayMs: 60_000 }, undefined],
  ['a cron schedule', { cronSchedule: '@hourly' }, undefined],
  ['a cron schedule, between its runs', { cronSchedule: '@hourly' }, completeWorkflow()],
  ['a retry', { retryPolicy: policy }, failWorkflow()],
])('signal-with-start ends the wait for %s', (_, start, command) => {
  const shard = new ShardUnderTest();
  shard.start({ start });
  if (command !== undefined) end(shard, command);
  signalWithStart(shard);
  expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowExecutionSignaled', 'workflowTaskScheduled']);
});

test.each<[string, Partial<StartAttributes>, Parameters<typeof continueAsNew>[0]]>([
  ['with nothing else', {}, {}],
  ['with a retry policy', { retryPolicy: policy }, { retryPolicy: policy }],
  ['with a cron schedule', { cronSchedule: '@hourly' }, { cronSchedule: '@hourly' }],
])('signal-with-start does not end the wait that a workflow has asked for when it continued as new, %s', (_, start, change) => {
  const shard = ended(start, continueAsNew({ ...change, backoffStartIntervalMs: 8_000 }));
  const beganMs = shard.nowMs;
  signalWithStart(shard);
  expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowExecutionSignaled']);
  shard.fireNextTimer();
  expect([shard.nowMs - beganMs, ...shard.history()]).toEqual([
    8_000,
    ...['workflowExecutionStarted', 'workflowExecutionSignaled', 'workflowTaskScheduled'],
  ]);
});

test.each<[string, Partial<StartAttributes>, WorkflowCommand]>([
  ['continued as new', {}, continueAsNew()],
  ['is tried again', { retryPolicy: policy }, failWorkflow()],
  ['goes on by its schedule', { cronSchedule: '@hourly' }, completeWorkflow()],
])('a signal that is sent once more after its workflow %s, because its answer was lost, arrives once', (_, start, command) => {
  const shard = new ShardUnderTest();
  shard.start({ start });
  // Not the first run of the chain, which a signal-with-start would find in any case.
  for (const requestId of ['early', 'once']) {
    shard.signal({ requestId });
    shard.complete(pollOnceItBegins(shard), [command]);
  }
  const before = shard.runIds().map((runId) => shard.history(runId));
  for (const requestId of ['early', 'once']) {
    expect(shard.signal({ requestId })).toEqual({ kind: 'signaled', runId: shard.describe().key.runId });
    const again = { ...signalWithStartCommand(shard), signal: signalAttributes({ requestId }) };
    expect(shard.ask(again)).toMatchObject({ kind: 'started', started: false });
  }
  expect(shard.runIds().map((runId) => shard.history(runId))).toEqual(before);
  // By its run id somebody means this one.
  shard.ask({ kind: 'signalWorkflow', key: shard.describe().key, signal: signalAttributes({ requestId: 'once' }), childOf: undefined });
  expect(shard.history().at(-1)).toBe('workflowExecutionSignaled');
});

test(`the newest ${answeredRequestsMax} signals of the runs before are known, and put out no request of an operator`, () => {
  const shard = new ShardUnderTest();
  shard.start();
  const pause = { kind: 'pauseWorkflow', key, identity: 'i', reason: 'why', requestId: 'pause' } as const;
  shard.expectDone(pause);
  shard.expectDone({ ...pause, kind: 'unpauseWorkflow', requestId: 'unpause' });
  const signal = (n: number) => shard.signal({ requestId: `signal-${n}` });
  for (const first of [0, answeredRequestsMax - 5]) {
    for (let n = first; n < first + answeredRequestsMax; n++) signal(n);
    shard.complete(pollOnceItBegins(shard), [continueAsNew()]);
  }
  const { length } = shard.records;
  shard.expectDone(pause);
  for (let n = answeredRequestsMax - 5; n < 2 * answeredRequestsMax - 5; n++) signal(n);
  expect(shard.records).toHaveLength(length);
  signal(0);
  expect(shard.history().at(-1)).toBe('workflowExecutionSignaled');
});

/** Behind the pause that keeps two runs apart, or until its schedule says. */
function pollOnceItBegins(shard: ShardUnderTest): StartedWorkflowTask {
  while (!shard.pendingTasks().includes('workflowTask')) shard.fireNextTimer();
  return shard.pollWorkflowTask();
}

test('a memo key and a search attribute of a continue-as-new command that are null are not set', () => {
  const memo = fields({ kept: '1', gone: 'null' });
  const shard = ended({}, continueAsNew({ memo, searchAttributes: fields({ CustomKeywordField: '"red"', CustomIntField: 'null' }) }));
  const kept = { memo: fields({ kept: '1' }), searchAttributes: fields({ CustomKeywordField: '"red"' }) };
  expect(startedOf(shard, 1)).toMatchObject(kept);
  expect(shard.describe()).toMatchObject(kept);
  const allNull = ended({}, continueAsNew({ memo: fields({ a: 'null' }), searchAttributes: fields({ CustomIntField: 'null' }) }));
  expect(allNull.describe()).toMatchObject({ memo: undefined, searchAttributes: undefined });
});

// ── Children and callbacks ─────────────────────────────────────────────────────────────────────────────────────────────────────

const childKey = { ...key, workflowId: 'child' };

test('a parent hears of the last run of its child alone, and its close policy is for whichever is open', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild({ retryPolicy: { ...policy, maximumAttempts: 2 }, parentClosePolicy: 1 })]);
  expect(shard.lastEvent('startChildWorkflowExecutionInitiated').attributes.retryPolicy).toEqual({ ...policy, maximumAttempts: 2 });
  shard.pumpOutbox();
  shard.complete(shard.pollWorkflowTask());
  const first = shard.describe(childKey).key.runId;
  end(shard, failWorkflow());
  shard.pumpOutbox();
  const second = shard.describe(childKey).key.runId;
  expect(second).not.toBe(first);
  expect(shard.lastEvent('workflowExecutionStarted', second).attributes).toMatchObject({
    ...{ parentInitiatedEventId: 5, parentWorkflowExecution: { workflowId: 'wf' }, rootWorkflowExecution: { workflowId: 'wf' } },
  });
  expect(shard.history().filter((type) => type.startsWith('childWorkflow'))).toEqual(['childWorkflowExecutionStarted']);
  end(shard, failWorkflow());
  shard.pumpOutbox();
  expect(shard.lastEvent('childWorkflowExecutionFailed').attributes).toMatchObject({
    ...{ workflowExecution: { workflowId: 'child', runId: second }, retryState: maximumAttemptsReached },
  });
});

test('a child on a schedule waits for its time once its parent knows of it, and ends with its parent', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild({ cronSchedule: '@every 60s', parentClosePolicy: 1 })]);
  shard.pumpOutbox();
  expect(shard.history(shard.describe(childKey).key.runId)).toEqual(['workflowExecutionStarted']);
  shard.complete(shard.pollWorkflowTask());
  shard.fireNextTimer();
  end(shard, completeWorkflow(bytes('one')));
  shard.pumpOutbox();
  expect(shard.describe(childKey).status).toBe(1);
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  shard.pumpOutbox();
  expect(shard.lastEvent('workflowExecutionTerminated', shard.describe(childKey).key.runId).attributes.reason).toBe(
    'by parent close policy',
  );
});

test('a child on a schedule that is signalled before its parent knows of it waits all the same', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild({ cronSchedule: '@hourly' })]);
  shard.carryInVain(shard.pendingTask('startChild'));
  shard.ask({ kind: 'signalWorkflow', key: childKey, signal: signalAttributes(), childOf: undefined });
  expect(shard.history(shard.describe(childKey).key.runId)).toEqual(['workflowExecutionStarted', 'workflowExecutionSignaled']);
  shard.pumpOutbox();
  shard.advance(60 * minute);
  shard.fireDueTimers();
  expect(shard.history(shard.describe(childKey).key.runId).at(-1)).toBe('workflowTaskScheduled');
});

const callback = encodeCallback({ nexus: { url: 'http://example.com/', header: new Map() }, links: [] });

test.each([
  ['a retry hands callbacks on', { retryPolicy: policy }, failWorkflow(), [], [callback]],
  ['each run of a schedule calls its own, and the next has none', { cronSchedule: '@hourly' }, completeWorkflow(), ['invokeCallback'], []],
])('%s', (_, start, command, tasks, ofNext) => {
  const shard = new ShardUnderTest();
  shard.start({ callbacks: { callbacks: [callback], callbacksMax: 32 }, start });
  end(shard, command);
  expect(shard.pendingTasks()).toEqual(tasks);
  expect(startedOf(shard, 1).completionCallbacks).toEqual(ofNext);
});

test('a query in a backoff that outlasts its deadline is refused', () => {
  const shard = ended({ retryPolicy: policy }, failWorkflow());
  const query = {
    kind: 'queryWorkflow',
    key,
    queryId: 'q',
    query: bytes('query'),
    rejectCondition: 1,
    deadlineMs: shard.nowMs + 1_000,
  } as const;
  expect(shard.request(query)).toMatchObject({
    rejection: { reason: 'workflow-not-ready', message: 'Workflow task is not scheduled yet.' },
  });
  expect(shard.request({ ...query, deadlineMs: shard.nowMs + 5_000 }), 'it waits for the task').toBeUndefined();
});
