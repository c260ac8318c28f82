import { describe, expect, test } from 'vitest';
import type { IdPolicies } from '../../src/history/commands/history-commands.ts';
import { encodeCallback } from '../../src/wire/generated/lean/callback.ts';
import {
  attachingUpdate,
  bytes,
  completeWorkflow,
  continueAsNew,
  key,
  protocolMessage,
  ShardUnderTest,
  signalAttributes,
  startTimer,
  terminateWorkflow,
  updateRequest,
  updateWorkflow,
} from './shard-under-test.ts';

type Current = 'none' | 'running' | 'completed' | 'failed' | 'canceled' | 'terminated' | 'timed out';

function shardWith(current: Current): ShardUnderTest {
  const shard = new ShardUnderTest();
  if (current === 'none') return shard;
  shard.start({ start: { runTimeoutMs: 60_000 } });
  if (current === 'running') return shard;
  if (current === 'terminated') {
    shard.expectDone(terminateWorkflow());
    return shard;
  }
  if (current === 'timed out') {
    shard.advance(60_000);
    shard.fireDueTimers();
    return shard;
  }
  const failure = {
    facts: { kind: 'application', type: '', nonRetryable: false, nextRetryDelayMs: 0, message: '' },
    bytes: bytes('f'),
  } as const;
  const close = {
    completed: completeWorkflow(),
    failed: { type: 'failWorkflowExecution', userMetadata: undefined, attributes: { failure } },
    canceled: { type: 'cancelWorkflowExecution', userMetadata: undefined, attributes: { details: undefined } },
  } as const;
  shard.complete(shard.pollWorkflowTask(), [close[current]]);
  return shard;
}

const running = 'Workflow execution is already running. WorkflowId: wf, RunId: RUN.';
const finishedWell =
  'Workflow execution already finished successfully. WorkflowId: wf, RunId: RUN. Workflow Id reuse policy: allow duplicate workflow Id if last run failed.';
const finished = 'Workflow execution already finished. WorkflowId: wf, RunId: RUN. Workflow Id reuse policy: reject duplicate workflow Id.';

describe('a start meets what is there', () => {
  const table: readonly (readonly [current: Current, reusePolicy: 1 | 2 | 3, conflictPolicy: 1 | 2 | 3, outcome: string])[] = [
    ['none', 1, 1, 'new run'],
    ['none', 2, 1, 'new run'],
    ['none', 3, 1, 'new run'],
    ['running', 1, 1, running],
    ['running', 2, 1, running],
    ['running', 3, 1, running],
    ['running', 1, 2, 'existing run'],
    ['running', 3, 2, 'existing run'],
    ['running', 1, 3, 'terminated and new run'],
    ['running', 2, 3, 'terminated and new run'],
    ['completed', 1, 1, 'new run'],
    ['completed', 1, 2, 'new run'],
    ['completed', 1, 3, 'new run'],
    ['completed', 2, 1, finishedWell],
    ['completed', 3, 1, finished],
    ['failed', 1, 1, 'new run'],
    ['failed', 2, 1, 'new run'],
    ['failed', 3, 1, finished],
    ['canceled', 2, 1, 'new run'],
    ['terminated', 2, 1, 'new run'],
    ['terminated', 3, 1, finished],
    ['timed out', 2, 1, 'new run'],
    ['timed out', 3, 1, finished],
  ];
  test.each(table)('%s, reuse policy %d, conflict policy %d: %s', (current, reusePolicy, conflictPolicy, outcome) => {
    const shard = shardWith(current);
    const [before] = shard.runIds();
    const command = shard.startCommand({ policies: { reusePolicy, conflictPolicy } satisfies IdPolicies });
    const reply = shard.ask(command);
    switch (outcome) {
      case 'new run':
        expect(reply).toMatchObject({ kind: 'started', started: true, runId: command.newRunId, status: 1 });
        expect(shard.history(command.newRunId)).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled']);
        return;
      case 'existing run':
        expect(reply).toMatchObject({ kind: 'started', started: false, runId: before, status: 1 });
        return;
      case 'terminated and new run':
        expect(reply).toMatchObject({ kind: 'started', started: true, runId: command.newRunId });
        expect(
          shard.records.at(-1)?.runs.map(({ runId }) => runId),
          'both in one record',
        ).toEqual([before, command.newRunId]);
        expect(shard.lastEvent('workflowExecutionTerminated', before).attributes).toMatchObject({
          reason: 'TerminateIfRunning WorkflowIdReusePolicy',
          identity: 'history-service',
        });
        return;
      default:
        expect(reply).toMatchObject({
          kind: 'rejected',
          rejection: {
            reason: 'already-started',
            message: outcome.replace('RUN', before ?? ''),
            startRequestId: 'request-1',
            runId: before,
            firstExecutionRunId: before,
          },
        });
    }
  });
});

test('a repeated request gets the same run, even when that has closed', () => {
  const shard = new ShardUnderTest();
  const command = shard.startCommand({ policies: { reusePolicy: 3, conflictPolicy: 1 } });
  shard.ask(command);
  const again = { ...command, newRunId: shard.newRunId() };
  expect(shard.ask(again)).toMatchObject({ kind: 'started', started: true, runId: command.newRunId, status: 1 });
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  expect(shard.ask(again)).toMatchObject({ kind: 'started', started: true, runId: command.newRunId, status: 2 });
});

test.each([
  ['refused while a run is open', { reusePolicy: 1, conflictPolicy: 1 }],
  ['to end an open run', { reusePolicy: 1, conflictPolicy: 3 }],
] as const)('a repeated request %s gets the run that it started, though that has continued as new', (_, policies) => {
  const shard = new ShardUnderTest();
  const command = shard.startCommand({ policies });
  shard.ask(command);
  shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
  const again = { ...command, newRunId: shard.newRunId() };
  expect(shard.ask(again), 'the next run is open').toMatchObject({ started: true, runId: command.newRunId, status: 6 });
  shard.advance(1000);
  shard.fireDueTimers();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  expect(shard.ask(again), 'the next run is closed').toMatchObject({ started: true, runId: command.newRunId, status: 6 });
  expect(shard.runIds()).toHaveLength(2);
});

test('a request that attached itself to a run gets that run again, as not started by it', () => {
  const shard = new ShardUnderTest();
  const runId = shard.start();
  const command = shard.startCommand({
    policies: { reusePolicy: 1, conflictPolicy: 2 },
    onConflict: { attachRequestId: true, attachCallbacks: false, attachLinks: true, links: [bytes('link')] },
  });
  expect(shard.ask(command)).toMatchObject({ started: false, runId });
  const updated = shard.lastEvent('workflowExecutionOptionsUpdated');
  expect(updated).toMatchObject({
    workerMayIgnore: true,
    links: [bytes('link')],
    attributes: { attachedRequestId: command.requestId, identity: '' },
  });
  expect(shard.history(), 'it wakes nobody').toEqual([
    'workflowExecutionStarted',
    'workflowTaskScheduled',
    'workflowExecutionOptionsUpdated',
  ]);
  expect(shard.ask({ ...command, policies: { reusePolicy: 1, conflictPolicy: 1 } })).toMatchObject({
    kind: 'started',
    started: false,
    runId,
  });
  expect(shard.describe().requestIds.get(command.requestId)).toEqual({ eventId: 3, eventType: 55, buffered: false });
  expect(shard.events()).toHaveLength(3);
});

test('no more requests than the limit attach themselves to one run', () => {
  const shard = new ShardUnderTest({ attachedRequestIdsMax: 2 });
  const runId = shard.start();
  const attach = (attachRequestId: boolean) =>
    shard.startCommand({
      policies: { reusePolicy: 1, conflictPolicy: 2 },
      onConflict: { attachRequestId, attachCallbacks: false, attachLinks: false, links: [] },
    });
  const first = attach(true);
  for (const command of [first, attach(true), first, attach(false)]) expect(shard.ask(command)).toMatchObject({ runId, started: false });
  expect(shard.expectRejected(attach(true))).toEqual({
    reason: 'failed-precondition',
    message: 'cannot attach more than 2 request ids to a workflow (2 request ids already attached)',
  });
  expect(shard.ask(first), 'one that is attached is known for ever').toMatchObject({ runId, started: false });
});

test('request ids of updates take no room from those that attach themselves', () => {
  const shard = new ShardUnderTest({ attachedRequestIdsMax: 1 });
  const runId = shard.start();
  shard.complete(shard.pollWorkflowTask());
  for (const updateId of ['u1', 'u2']) {
    const request = updateRequest(updateId, { requestId: `of ${updateId}` });
    shard.ask({ ...updateWorkflow(), update: { updateId, request, waitStage: 'accepted' } });
    shard.signal({ requestId: '' });
    const body = { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 7, request } as const;
    shard.complete(shard.pollWorkflowTask(), [protocolMessage('m')], { messages: [{ id: 'm', updateId, body }] });
  }
  const callback = encodeCallback({ nexus: { url: 'http://example.com/', header: new Map() }, links: [] });
  shard.ask({ ...updateWorkflow(), update: attachingUpdate('u1', 'again', [callback]) });
  expect(shard.lastEvent('workflowExecutionOptionsUpdated').attributes.workflowUpdateOptions).toHaveLength(1);
  expect(shard.describe().requestIds.size).toBe(4);
  const attach = shard.startCommand({
    policies: { reusePolicy: 1, conflictPolicy: 2 },
    onConflict: { attachRequestId: true, attachCallbacks: false, attachLinks: false, links: [] },
  });
  expect(shard.ask(attach)).toMatchObject({ runId, started: false });
});

test('the first event carries the start as it was asked for', () => {
  const shard = new ShardUnderTest();
  const runId = shard.start({
    start: {
      memo: undefined,
      header: bytes('header'),
      userMetadata: bytes('summary'),
      links: [bytes('link')],
      priority: Uint8Array.of(8, 2),
    },
  });
  expect(shard.lastEvent('workflowExecutionStarted')).toMatchObject({
    eventId: 1,
    userMetadata: bytes('summary'),
    links: [bytes('link')],
    attributes: {
      workflowType: { name: 'Type' },
      taskQueue: { name: 'queue', kind: 1 },
      input: bytes('input'),
      header: bytes('header'),
      priority: Uint8Array.of(8, 2),
      workflowTaskTimeoutMs: 10_000,
      firstExecutionRunId: runId,
      originalExecutionRunId: runId,
      workflowId: 'wf',
      attempt: 1,
      identity: 'client',
      rootWorkflowExecution: undefined,
    },
  });
  expect(shard.describe()).toMatchObject({ userMetadata: bytes('summary'), root: { workflowId: 'wf', runId } });
});

describe('timeouts of a run', () => {
  const table = [
    { start: {}, run: 0, task: 10_000, expires: 0 },
    { start: { executionTimeoutMs: 60_000 }, run: 60_000, task: 10_000, expires: 60_000 },
    { start: { executionTimeoutMs: 60_000, runTimeoutMs: 90_000 }, run: 60_000, task: 10_000, expires: 60_000 },
    { start: { runTimeoutMs: 5000 }, run: 5000, task: 5000, expires: 5000 },
    { start: { taskTimeoutMs: 500_000 }, run: 0, task: 120_000, expires: 0 },
    { start: { runTimeoutMs: 30_000, startDelayMs: 1000 }, run: 30_000, task: 10_000, expires: 31_000 },
  ] as const;
  test.each(table)('%j', ({ start, run, task, expires }) => {
    const shard = new ShardUnderTest();
    shard.start({ start });
    expect(shard.describe()).toMatchObject({
      runTimeoutMs: run,
      taskTimeoutMs: task,
      runExpirationTimeMs: expires === 0 ? 0 : shard.nowMs + expires,
    });
  });

  test('a run that takes too long is timed out, with the task that is under way', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { runTimeoutMs: 60_000, taskTimeoutMs: 120_000 } });
    shard.pollWorkflowTask();
    shard.signal();
    shard.advance(60_000);
    shard.fireDueTimers();
    expect(shard.history().slice(3)).toEqual(['workflowTaskFailed', 'workflowExecutionSignaled', 'workflowExecutionTimedOut']);
    expect(shard.lastEvent('workflowTaskFailed').attributes.cause, 'FORCE_CLOSE_COMMAND').toBe(17);
    expect(shard.describe().status).toBe(7);
  });
});

test('after a pause of ours, timers beyond the end of the run do not fire any more', () => {
  const shard = new ShardUnderTest();
  shard.start({ start: { runTimeoutMs: 5000 } });
  shard.complete(shard.pollWorkflowTask(), [startTimer('early', 3000), startTimer('late', 8000)]);
  shard.advance(20_000);
  shard.fireDueTimers();
  expect(shard.history().slice(6)).toEqual(['timerFired', 'workflowTaskScheduled', 'workflowExecutionTimedOut']);
  expect(shard.lastEvent('timerFired').attributes.timerId).toBe('early');
});

test('timers that are due together fire together, by time and then by start', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('c', 3000), startTimer('b', 2000), startTimer('a', 2000), startTimer('d', 9000)]);
  shard.advance(3000);
  shard.fireDueTimers();
  const fired = shard.events().filter((event) => event.type === 'timerFired');
  expect(fired.map((event) => event.attributes.timerId)).toEqual(['b', 'a', 'c']);
  expect(shard.history().at(-1)).toBe('workflowTaskScheduled');
  expect(shard.records.at(-1)?.runs[0]?.events, 'in one record').toHaveLength(4);
});

test('with thousands of timers pending, those that are due together still fire together', () => {
  const shard = new ShardUnderTest();
  shard.checks = false;
  shard.start();
  const timers = Array.from({ length: 2000 }, (_, index) => startTimer(`t${index}`, 5000 + 10 * Math.floor(index / 2)));
  shard.complete(shard.pollWorkflowTask(), timers);
  for (let pair = 0; pair < 3; pair++) {
    shard.fireNextTimer();
    const fired = shard.records
      .at(-1)
      ?.runs[0]?.events.flatMap(({ event }) => (event.type === 'timerFired' ? [event.attributes.timerId] : []));
    expect(fired).toEqual([`t${2 * pair}`, `t${2 * pair + 1}`]);
  }
});

describe('start delay', () => {
  function delayed(): ShardUnderTest {
    const shard = new ShardUnderTest();
    shard.start({ start: { startDelayMs: 5000 } });
    return shard;
  }

  test('the first task comes when it is over', () => {
    const shard = delayed();
    expect(shard.describe()).toMatchObject({ executionTimeMs: shard.nowMs + 5000 });
    expect(shard.history()).toEqual(['workflowExecutionStarted']);
    expect(shard.lastEvent('workflowExecutionStarted').attributes.firstWorkflowTaskBackoffMs).toBe(5000);
    shard.fireNextTimer();
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled']);
  });

  test('a signal waits for it', () => {
    const shard = delayed();
    shard.signal();
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowExecutionSignaled']);
    shard.fireNextTimer();
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowExecutionSignaled', 'workflowTaskScheduled']);
  });

  test('a cancellation does not', () => {
    const shard = delayed();
    shard.expectDone({
      kind: 'requestCancelWorkflow',
      key,
      firstExecutionRunId: '',
      cause: '',
      identity: 'c',
      requestId: 'r',
      links: [],
      external: undefined,
      childOf: undefined,
    });
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowExecutionCancelRequested', 'workflowTaskScheduled']);
    expect(shard.nextTimer(), 'the delay is gone').toBeUndefined();
  });

  test('signal-with-start does not either', () => {
    const shard = delayed();
    shard.ask(signalWithStart(shard));
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowExecutionSignaled', 'workflowTaskScheduled']);
  });
});

function signalWithStart(shard: ShardUnderTest, policies: IdPolicies = { reusePolicy: 1, conflictPolicy: 2 }) {
  const { start, newRunId, requestId, namespace } = shard.startCommand();
  const signal = signalAttributes({ requestId: shard.newRequestId() });
  return { kind: 'signalWithStartWorkflow', key, namespace, newRunId, requestId, start, policies, signal } as const;
}

describe('signal-with-start', () => {
  test('starts and signals in one batch', () => {
    const shard = new ShardUnderTest();
    const command = signalWithStart(shard);
    expect(shard.ask(command)).toMatchObject({ started: true, runId: command.newRunId });
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowExecutionSignaled', 'workflowTaskScheduled']);
    expect(shard.records).toHaveLength(1);
  });

  test('signals the run that is there, once for one request', () => {
    const shard = new ShardUnderTest();
    const runId = shard.start();
    const command = signalWithStart(shard);
    expect(shard.ask(command)).toMatchObject({ started: false, runId });
    expect(shard.ask({ ...command, newRunId: shard.newRunId() })).toMatchObject({ started: false, runId });
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled', 'workflowExecutionSignaled']);
  });

  test('a repeat of one that started names the run that is there', () => {
    const shard = new ShardUnderTest();
    const command = signalWithStart(shard);
    shard.ask(command);
    expect(shard.ask({ ...command, newRunId: shard.newRunId() })).toMatchObject({ started: false, runId: command.newRunId });
    expect(shard.events()).toHaveLength(3);
  });

  test('a repeat of one whose run has continued as new does not signal again', () => {
    const shard = new ShardUnderTest();
    const command = signalWithStart(shard);
    shard.ask(command);
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    expect(shard.ask({ ...command, newRunId: shard.newRunId() })).toMatchObject({ started: true, runId: command.newRunId });
    expect(shard.history(shard.describe().key.runId)).toEqual(['workflowExecutionStarted']);
  });

  test.each([
    ['closed', completeWorkflow],
    ['continued as new', continueAsNew],
  ] as const)('a repeat of one that signalled a run which has %s since starts nothing, and signals nobody', (_, end) => {
    const shard = new ShardUnderTest();
    const runId = shard.start();
    const command = signalWithStart(shard);
    shard.ask(command);
    shard.complete(shard.pollWorkflowTask(), [end()]);
    const runs = shard.runIds().map((id) => shard.history(id));
    expect(shard.ask({ ...command, newRunId: shard.newRunId() })).toMatchObject({ started: false, runId });
    expect(shard.runIds().map((id) => shard.history(id))).toEqual(runs);
  });

  test('ends the run that is there, if that is asked for', () => {
    const shard = new ShardUnderTest();
    const old = shard.start();
    const command = signalWithStart(shard, { reusePolicy: 1, conflictPolicy: 3 });
    expect(shard.ask(command)).toMatchObject({ started: true, runId: command.newRunId });
    expect(shard.history(old).at(-1)).toBe('workflowExecutionTerminated');
    expect(shard.history(command.newRunId)).toEqual(['workflowExecutionStarted', 'workflowExecutionSignaled', 'workflowTaskScheduled']);
  });

  test('follows the reuse policy when there is a closed run', () => {
    const shard = shardWith('completed');
    expect(shard.expectRejected(signalWithStart(shard, { reusePolicy: 3, conflictPolicy: 2 }))).toMatchObject({
      reason: 'already-started',
    });
  });
});

describe('where the server has no room for another run', () => {
  const noRoom = 'no room';

  test.each(['none', 'completed', 'failed'] as const)('what would begin one is refused: %s', (current) => {
    const shard = shardWith(current);
    const refused = { reason: 'no-room', message: noRoom };
    expect(shard.expectRejected({ ...shard.startCommand(), noRoom })).toEqual(refused);
    expect(shard.expectRejected({ ...signalWithStart(shard), noRoom })).toEqual(refused);
  });

  test('no run is ended for one that would not begin', () => {
    const shard = shardWith('running');
    const policies = { reusePolicy: 1, conflictPolicy: 3 } as const;
    expect(shard.expectRejected({ ...shard.startCommand({ policies }), noRoom })).toMatchObject({ reason: 'no-room' });
    expect(shard.expectRejected({ ...signalWithStart(shard, policies), noRoom })).toMatchObject({ reason: 'no-room' });
    expect(shard.describe().status).toBe(1);
  });

  test('a run that is open is signalled, and used, and named to who may have no other', () => {
    const shard = new ShardUnderTest();
    const runId = shard.start();
    expect(shard.ask({ ...signalWithStart(shard), noRoom })).toMatchObject({ kind: 'started', started: false, runId });
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled', 'workflowExecutionSignaled']);
    const use = shard.startCommand({ policies: { reusePolicy: 1, conflictPolicy: 2 } });
    expect(shard.ask({ ...use, noRoom })).toMatchObject({ kind: 'started', started: false, runId });
    expect(shard.expectRejected({ ...shard.startCommand(), noRoom })).toMatchObject({ reason: 'already-started', runId });
  });

  test('who asks again, because an answer was lost, is answered again', () => {
    const shard = new ShardUnderTest();
    const start = shard.startCommand();
    shard.ask(start);
    expect(shard.ask({ ...start, newRunId: shard.newRunId(), noRoom })).toMatchObject({ started: true, runId: start.newRunId });
    const other = new ShardUnderTest();
    const both = signalWithStart(other);
    other.ask(both);
    expect(other.ask({ ...both, newRunId: other.newRunId(), noRoom })).toMatchObject({ kind: 'started', runId: both.newRunId });
    expect(other.events()).toHaveLength(3);
  });

  test('what runs goes on: it continues as new', () => {
    const shard = new ShardUnderTest();
    const runId = shard.start();
    expect(shard.ask({ ...signalWithStart(shard), noRoom })).toMatchObject({ runId });
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    expect(shard.describe().key.runId).not.toBe(runId);
  });
});

test('a closed run is forgotten when its retention is over, and its id is free again', () => {
  const shard = new ShardUnderTest();
  const runId = shard.start({ retentionMs: 5000 });
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  shard.advance(4999);
  shard.fireDueTimers();
  expect(shard.describe().key.runId).toBe(runId);
  shard.advance(1);
  shard.fireDueTimers();
  expect(shard.expectRejected({ kind: 'describeWorkflow', key })).toEqual({
    reason: 'workflow-not-found',
    message: 'workflow not found for ID: wf',
  });
  expect(shard.ask(shard.startCommand({ policies: { reusePolicy: 3, conflictPolicy: 1 } }))).toMatchObject({ started: true });
});

test('a start with the run id of a run that was, delivered once more, fails alone: nothing is started twice', () => {
  const shard = new ShardUnderTest();
  const policies = { reusePolicy: 1, conflictPolicy: 3 } as const;
  const first = shard.startCommand({ policies });
  shard.ask(first);
  shard.start({ policies });
  const before = shard.core.canonicalState();
  expect(() => shard.decide(first)).toThrow('has begun before');
  expect(shard.core.canonicalState()).toBe(before);
});
