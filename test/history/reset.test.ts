/** A run goes on from an event of another one. What Temporal does in the same place was measured on its server (1.31). */
import { describe, expect, test } from 'vitest';
import type { RunKey } from '../../src/kernel/run-key.ts';
import { callbackState, workflowTaskFailedCause } from '../../src/history/generated/enums.ts';
import type { StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import { decodeFailure } from '../../src/wire/generated/lean/failure.ts';
import {
  bytes,
  completeWorkflow,
  continueAsNew,
  key,
  namespaceId,
  scheduleActivity,
  ShardUnderTest,
  signalAttributes,
  startChild,
  startTimer,
  terminateWorkflow,
} from './shard-under-test.ts';

const childKey: RunKey = { namespaceId, workflowId: 'child', runId: '' };

function started(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  return shard;
}

/** Of any workflow of the shard. */
function poll(shard: ShardUnderTest, workflowId: string): StartedWorkflowTask {
  const task = shard.transfers().find(({ kind, key: of }) => kind === 'workflowTask' && of.workflowId === workflowId);
  if (task?.kind !== 'workflowTask') throw new Error(`no workflow task for ${workflowId}`);
  const { scheduledEventId, stamp, taskQueue } = task;
  const pollRequestId = shard.newRequestId();
  const reply = shard.ask({ kind: 'startWorkflowTask', key: task.key, scheduledEventId, stamp, pollRequestId, identity: 'w', taskQueue });
  if (reply?.kind !== 'workflowTask') throw new Error('not started');
  return reply;
}

describe('an open run', () => {
  test('ends, and another goes on with its first events and its signals', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [startTimer('1', 3_600_000)]);
    shard.signal({ signalName: 'one', requestId: 'signal-1' });
    const base = shard.describe().key.runId;
    const runId = shard.reset(4);
    expect(shard.history(base).slice(-1)).toEqual(['workflowExecutionTerminated']);
    expect(shard.lastEvent('workflowExecutionTerminated', base).attributes).toEqual({
      reason: 'a bad deployment',
      details: undefined,
      identity: 'history-resetter',
    });
    expect(shard.history(runId)).toEqual([
      'workflowExecutionStarted',
      'workflowTaskScheduled',
      'workflowTaskStarted',
      'workflowTaskFailed',
      'workflowExecutionSignaled',
      'workflowTaskScheduled',
    ]);
    expect(shard.events(runId).slice(0, 3)).toEqual(shard.events(base).slice(0, 3));
    const failed = shard.lastEvent('workflowTaskFailed', runId).attributes;
    expect(failed).toMatchObject({
      cause: workflowTaskFailedCause.resetWorkflow,
      baseRunId: base,
      newRunId: runId,
      identity: 'history-service',
    });
    const { message, resetWorkflowFailureInfo } = decodeFailure(failed.failure ?? bytes(''));
    expect([message, resetWorkflowFailureInfo]).toEqual(['a bad deployment', { lastHeartbeatDetails: undefined }]);
    expect(shard.lastEvent('workflowExecutionSignaled', runId).attributes).toMatchObject({ signalName: 'one', requestId: 'signal-1' });
    expect(shard.describe().key.runId).toBe(runId);
    // It can be worked on, and nothing of the old run is left to do.
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    expect(shard.history(runId).at(-1)).toBe('workflowExecutionCompleted');
    expect(shard.pendingTasks()).toEqual([]);
  });

  test('a task that no worker has started is started for the sake of history', () => {
    const shard = started();
    const runId = shard.reset(3);
    expect(shard.history(runId).slice(2)).toEqual(['workflowTaskStarted', 'workflowTaskFailed', 'workflowTaskScheduled']);
    expect(shard.lastEvent('workflowTaskScheduled', runId).attributes.attempt).toBe(1);
    expect(shard.pollWorkflowTask().key.runId).toBe(runId);
    expect(shard.pendingTasks()).toEqual([]);
  });

  test('signals that wait in its buffer are applied again too', () => {
    const shard = started();
    shard.pollWorkflowTask();
    shard.signal({ signalName: 'waits' });
    const base = shard.describe().key.runId;
    const runId = shard.reset(3);
    expect(shard.history(base).slice(3)).toEqual(['workflowTaskFailed', 'workflowExecutionSignaled', 'workflowExecutionTerminated']);
    expect(shard.lastEvent('workflowExecutionSignaled', runId).attributes.signalName).toBe('waits');
  });

  test('a signal that is sent once more, because its answer was lost, arrives once', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask());
    shard.signal({ requestId: 'once' });
    shard.reset(4);
    shard.signal({ requestId: 'once' });
    expect(shard.history().filter((kind) => kind === 'workflowExecutionSignaled')).toHaveLength(1);
  });

  test('or not, as asked', () => {
    const shard = started();
    shard.signal();
    const runId = shard.reset(3, { reappliesSignals: false });
    expect(shard.history(runId)).not.toContain('workflowExecutionSignaled');
  });

  test('its parent hears of the end of the run that goes on', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    shard.pumpOutbox();
    shard.complete(poll(shard, 'wf'));
    const first = shard.describe(childKey).key.runId;
    shard.reset(3, { key: childKey });
    shard.pumpOutbox();
    expect(shard.history().at(-1)).toBe('workflowTaskCompleted');
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    const closed = shard.lastEvent('childWorkflowExecutionCompleted').attributes;
    expect(closed.workflowExecution?.runId).toBe(shard.describe(childKey).key.runId);
    expect(closed.workflowExecution?.runId).not.toBe(first);
  });
});

describe('who has joined an open run behind the event', () => {
  const callbacks = { callbacks: [bytes('')], callbacksMax: 32 };
  const onConflict = { attachRequestId: true, attachCallbacks: true, attachLinks: false, links: [] };
  const policies = { reusePolicy: 1, conflictPolicy: 2 } as const;

  test('hears of the end of the run that goes on', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask());
    const joins = shard.startCommand({ requestId: 'joins', policies, onConflict, callbacks });
    const base = shard.start(joins);
    const runId = shard.reset(4);
    expect(shard.lastEvent('workflowExecutionOptionsUpdated', runId)).toMatchObject({
      workerMayIgnore: true,
      attributes: { attachedRequestId: 'joins' },
    });
    expect(shard.describe().callbacks).toMatchObject([{ state: callbackState.standby }]);
    expect(shard.describe({ ...key, runId: base }).callbacks).toMatchObject([{ state: callbackState.standby }]);
    expect(shard.ask(joins)).toMatchObject({ kind: 'started', runId });
  });

  test('also where that waits in a buffer', () => {
    const shard = started();
    shard.pollWorkflowTask();
    shard.start(shard.startCommand({ requestId: 'joins', policies, onConflict, callbacks }));
    shard.reset(3);
    expect(shard.describe().callbacks).toHaveLength(1);
  });

  test('more request ids than a run may have are not carried along', () => {
    const shard = new ShardUnderTest({ attachedRequestIdsMax: 1 });
    shard.start();
    shard.complete(shard.pollWorkflowTask());
    shard.start(shard.startCommand({ requestId: 'joins', policies, onConflict }));
    const command = shard.resetCommand(4);
    shard.ask({ ...command, laterEvents: [...command.laterEvents, ...command.laterEvents] });
    expect(shard.history().filter((kind) => kind === 'workflowExecutionOptionsUpdated')).toHaveLength(1);
  });
});

describe('a closed run', () => {
  test('stays as it is, but for the name of the run that goes on', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    const base = shard.describe().key;
    const before = shard.events(base.runId);
    const runId = shard.reset(4);
    expect(shard.events(base.runId)).toEqual(before);
    expect(shard.describe(base)).toMatchObject({ status: 2, resetRunId: runId });
    expect(shard.describe()).toMatchObject({ key: { runId }, status: 1 });
  });

  test('the run that is open instead makes way', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    const base = shard.describe().key;
    const other = shard.start();
    const runId = shard.reset(4, { key: base });
    expect(shard.history(other).at(-1)).toBe('workflowExecutionTerminated');
    expect(shard.describe().key.runId).toBe(runId);
  });

  test('and is no part of it: whoever waits for its end hears of that', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    const base = shard.describe().key;
    const other = shard.start({ callbacks: { callbacks: [bytes('')], callbacksMax: 32 } });
    shard.reset(4, { key: base });
    expect(shard.describe({ ...key, runId: other }).callbacks).toMatchObject([{ state: callbackState.scheduled }]);
    expect(shard.describe().callbacks).toEqual([]);
  });

  test('what the runs that continued it received is applied again', () => {
    const shard = started();
    const base = shard.describe().key;
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    shard.signal({ signalName: 'to the next' });
    const next = shard.describe().key.runId;
    const events = shard.events(next);
    const laterEvents = shard.resetCommand(1).laterEvents;
    shard.reset(4, { key: base, laterEvents, readTo: { runId: next, lastEventId: events.length } });
    expect(shard.lastEvent('workflowExecutionSignaled').attributes.signalName).toBe('to the next');
    expect(shard.history(next).at(-1)).toBe('workflowExecutionTerminated');
  });
});

describe('what is pending', () => {
  test('an activity is tried again, with all its time', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ activityId: 'a', scheduleToCloseTimeoutMs: 60_000 })]);
    shard.signal();
    shard.pollActivityTask();
    shard.pollWorkflowTask();
    shard.advance(50_000);
    const runId = shard.reset(8);
    const [activity] = shard.describe().pendingActivities;
    expect(activity).toMatchObject({ activityId: 'a', state: 1, attempt: 1, expirationTimeMs: shard.nowMs + 60_000 });
    const task = shard.pollActivityTask();
    expect(task.key.runId).toBe(runId);
    shard.completeActivity(task);
    expect(shard.history(runId)).toContain('activityTaskCompleted');
  });

  test('a timer fires when it would have fired', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [startTimer('1', 60_000)]);
    shard.signal();
    shard.pollWorkflowTask();
    const firesAt = shard.nowMs + 60_000;
    shard.advance(50_000);
    const runId = shard.reset(8);
    expect(shard.nextTimer()?.fireTimeMs).toBe(firesAt);
    shard.fireNextTimer();
    expect(shard.history(runId)).toContain('timerFired');
  });

  test('a signal to another workflow that was on its way arrives once', () => {
    const shard = started();
    shard.start({ key: childKey });
    const execution = { workflowId: 'child', runId: '' };
    const signal = { namespace: '', namespaceId: '', execution, signalName: 'hello', input: undefined, control: '', header: undefined };
    const attributes = { ...signal, childWorkflowOnly: false };
    shard.complete(poll(shard, 'wf'), [{ type: 'signalExternalWorkflowExecution', userMetadata: undefined, attributes }]);
    shard.signal();
    const task = poll(shard, 'wf');
    const [sent] = shard.transfers().filter(({ kind }) => kind === 'signalExternal');
    if (sent === undefined) throw new Error('the signal is about to be sent');
    shard.carryInVain(sent);
    shard.reset(task.startedEventId + 1);
    shard.pumpOutbox();
    expect(shard.history()).toContain('externalWorkflowExecutionSignaled');
    expect(shard.describe(childKey).historyLength).toBe(3);
  });

  test('timeouts of run and execution start again', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { runTimeoutMs: 20_000, executionTimeoutMs: 60_000 } });
    const begun = shard.nowMs;
    shard.pollWorkflowTask();
    shard.advance(5_000);
    shard.reset(3);
    expect(shard.describe()).toMatchObject({
      startTimeMs: shard.nowMs,
      executionTimeMs: shard.nowMs,
      originalStartTimeMs: begun,
      lastResetTimeMs: shard.nowMs,
      runExpirationTimeMs: shard.nowMs + 20_000,
      executionExpirationTimeMs: shard.nowMs + 60_000,
    });
    shard.advance(20_000);
    shard.fireDueTimers();
    expect(shard.history().at(-1)).toBe('workflowExecutionTimedOut');
  });
});

describe('children', () => {
  function withChild(): ShardUnderTest {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    return shard;
  }

  /** Its first workflow task behind the start of the child is with a worker. */
  function parentKnows(shard: ShardUnderTest): number {
    shard.pumpOutbox();
    return poll(shard, 'wf').startedEventId + 1;
  }

  test('one that runs stays, and the run that goes on hears of its end', () => {
    const shard = withChild();
    const finish = parentKnows(shard);
    const child = shard.describe(childKey).key.runId;
    const runId = shard.reset(finish);
    shard.pumpOutbox();
    expect(shard.describe(childKey)).toMatchObject({ key: { runId: child }, status: 1 });
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    expect(shard.lastEvent('childWorkflowExecutionCompleted', runId).attributes.workflowExecution?.runId).toBe(child);
  });

  test('its end is known to the base run already', () => {
    const shard = withChild();
    const finish = parentKnows(shard);
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    const runId = shard.reset(finish);
    expect(shard.history(runId).slice(finish - 1)).toEqual([
      'workflowTaskFailed',
      'childWorkflowExecutionCompleted',
      'workflowTaskScheduled',
    ]);
    expect(shard.describe().pendingChildren).toEqual([]);
  });

  test('its start is under way: there is one child, whoever gets the answer', () => {
    const shard = withChild();
    shard.signal();
    const task = poll(shard, 'wf');
    const [start] = shard.transfers().filter(({ kind }) => kind === 'startChild');
    if (start === undefined) throw new Error('the child is about to start');
    shard.carryInVain(start);
    const child = shard.describe(childKey).key.runId;
    const runId = shard.reset(task.startedEventId + 1);
    shard.pumpOutbox();
    expect(shard.lastEvent('childWorkflowExecutionStarted', runId).attributes.workflowExecution?.runId).toBe(child);
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    expect(shard.history(runId)).toContain('childWorkflowExecutionCompleted');
  });

  test('it ends with the run that goes on, by its policy', () => {
    const shard = withChild();
    shard.reset(parentKnows(shard));
    shard.ask({ ...terminateWorkflow(), key });
    shard.pumpOutbox();
    expect(shard.history(shard.describe(childKey).key.runId).at(-1)).toBe('workflowExecutionTerminated');
  });

  test('one that is started behind that event makes way when it is started again', () => {
    const shard = withChild();
    parentKnows(shard);
    const child = shard.describe(childKey).key.runId;
    shard.reset(4);
    shard.pumpOutbox();
    expect(shard.describe(childKey)).toMatchObject({ key: { runId: child }, status: 1 });
    shard.complete(poll(shard, 'wf'), [startChild()]);
    shard.pumpOutbox();
    expect(shard.history(child).at(-1)).toBe('workflowExecutionTerminated');
    const again = shard.describe(childKey);
    expect(again).toMatchObject({ status: 1 });
    expect(shard.lastEvent('childWorkflowExecutionStarted').attributes.workflowExecution?.runId).toBe(again.key.runId);
  });

  test('the news of one of another run with the same event id is not for it', () => {
    const shard = withChild();
    parentKnows(shard);
    const child = shard.describe(childKey).key.runId;
    shard.reset(4);
    shard.complete(poll(shard, 'wf'), [startChild({ workflowId: 'second' })]);
    shard.ask({
      kind: 'signalWorkflow',
      key: { ...childKey, runId: child },
      signal: signalAttributes({ requestId: 'wake' }),
      childOf: undefined,
    });
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    expect(shard.history()).not.toContain('childWorkflowExecutionCompleted');
    expect(shard.describe().pendingChildren).toMatchObject([{ workflowId: 'second' }]);
  });

  test('twice reset, it still has its first child', () => {
    const shard = withChild();
    const finish = parentKnows(shard);
    const child = shard.describe(childKey).key.runId;
    shard.reset(finish);
    const last = shard.reset(poll(shard, 'wf').startedEventId + 1);
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    expect(shard.lastEvent('childWorkflowExecutionCompleted', last).attributes.workflowExecution?.runId).toBe(child);
  });
});

describe('a child of the run that is reset once more', () => {
  /** A worker has the task behind the start of the child; the answer to that start has been lost. */
  function startUnderWay(): { readonly shard: ShardUnderTest; readonly base: RunKey; readonly finish: number } {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    shard.signal();
    const finish = poll(shard, 'wf').startedEventId + 1;
    shard.carryInVain(shard.pendingTask('startChild'));
    return { shard, base: shard.describe().key, finish };
  }

  test('is still its child', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    shard.pumpOutbox();
    const finish = poll(shard, 'wf').startedEventId + 1;
    const base = shard.describe().key;
    shard.reset(finish);
    shard.reset(finish, { key: base });
    shard.pumpOutbox();
    expect(shard.describe().pendingChildren).toHaveLength(1);
    expect(shard.describe(childKey).status).toBe(1);
  });

  test('also after more resets than a run remembers', () => {
    const shard = started();
    shard.checks = false;
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    shard.pumpOutbox();
    const finish = poll(shard, 'wf').startedEventId + 1;
    for (let nth = 0; nth < 101; nth++) shard.reset(finish);
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    expect(shard.history()).toContain('childWorkflowExecutionCompleted');
  });

  test('also where its start is under way', () => {
    const { shard, base, finish } = startUnderWay();
    shard.reset(finish);
    shard.reset(finish, { key: base });
    shard.pumpOutbox();
    expect(shard.describe().pendingChildren).toHaveLength(1);
    expect(poll(shard, 'child').attempt).toBe(1);
  });

  test.each(['terminated', 'deleted'] as const)('ends with the run that goes on, when that is %s before it knows of it', (how) => {
    const { shard, finish } = startUnderWay();
    const runId = shard.reset(finish);
    shard.ask(how === 'terminated' ? { ...terminateWorkflow(), key } : { kind: 'deleteWorkflow', key: { ...key, runId } });
    shard.pumpOutbox();
    expect(shard.history(shard.describe(childKey).key.runId).at(-1)).toBe('workflowExecutionTerminated');
  });

  test.each(['terminated', 'deleted'] as const)('that was %s before it had started the child: the child stays', (how) => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    shard.signal();
    const base = shard.describe().key;
    const finish = poll(shard, 'wf').startedEventId + 1;
    shard.ask({ ...terminateWorkflow(), key });
    shard.reset(finish, { key: base });
    if (how === 'deleted') shard.ask({ kind: 'deleteWorkflow', key: base });
    const [, ofNewRun] = shard.transfers().filter(({ kind }) => kind === 'startChild');
    if (ofNewRun === undefined) throw new Error('both ask for the child');
    shard.carry(ofNewRun);
    shard.pumpOutbox();
    expect(shard.describe().pendingChildren).toHaveLength(1);
    expect(shard.describe(childKey).status).toBe(1);
  });
});

test('right behind a failed attempt, where the next one was pending: it is written, and fails too', () => {
  const shard = started();
  const { key: run, scheduledEventId, startedEventId, startedTimeMs, attempt } = shard.pollWorkflowTask();
  const task = { key: run, scheduledEventId, startedEventId, startedTimeMs, attempt };
  shard.expectDone({ kind: 'failWorkflowTask', task, cause: 1, failure: undefined, identity: 'w', binaryChecksum: '', jitter: 0 });
  shard.signal({ signalName: 'one', requestId: 'signal-1' });
  const runId = shard.reset(5);
  expect(shard.history(runId)).toEqual([
    'workflowExecutionStarted',
    ...['workflowTaskScheduled', 'workflowTaskStarted', 'workflowTaskFailed'],
    ...['workflowTaskScheduled', 'workflowTaskStarted', 'workflowTaskFailed'],
    'workflowExecutionSignaled',
    'workflowTaskScheduled',
  ]);
  expect(shard.lastEvent('workflowTaskFailed', runId).attributes).toMatchObject({ cause: workflowTaskFailedCause.resetWorkflow });
  expect(shard.pollWorkflowTask()).toMatchObject({ attempt: 1, startedEventId: 10 });
});

describe('refused, and nothing changes', () => {
  test('at an event that ends no workflow task', () => {
    const shard = started();
    shard.complete(shard.pollWorkflowTask(), [startTimer('1', 3_600_000)]);
    for (const finish of [2, 5]) {
      expect(shard.expectRejected(shard.resetCommand(finish))).toEqual({
        reason: 'invalid-argument',
        message: `Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: ${finish}`,
      });
    }
  });

  test('a workflow that is not there', () => {
    const shard = started();
    const command = { ...shard.resetCommand(3), key: { ...key, runId: '00000000-0000-4000-8000-999999999999' } };
    expect(shard.expectRejected(command).reason).toBe('workflow-not-found');
  });

  test('a history that has grown since it was read', () => {
    const shard = started();
    const command = shard.resetCommand(3);
    shard.signal();
    const before = shard.core.canonicalState();
    expect(shard.ask(command)).toEqual({ kind: 'workflowReset', runId: '' });
    expect(shard.core.canonicalState()).toBe(before);
  });
});

test('whoever repeats the start finds the run that goes on', () => {
  const shard = new ShardUnderTest();
  shard.start({ requestId: 'the-start' });
  const runId = shard.reset(3);
  expect(shard.ask(shard.startCommand({ requestId: 'the-start' }))).toMatchObject({ kind: 'started', runId });
});

test('a run that handed its callbacks on is retired all the same', () => {
  const shard = new ShardUnderTest();
  shard.start({ callbacks: { callbacks: [bytes('')], callbacksMax: 32 }, retentionMs: 1_000 });
  const base = shard.describe().key;
  shard.reset(3);
  shard.advance(1_000);
  shard.fireDueTimers();
  expect(shard.ask({ kind: 'describeWorkflow', key: base })).toMatchObject({ kind: 'rejected' });
  expect(shard.describe().callbacks).toHaveLength(1);
});

test('a reset that is asked again is the one that was, also when its run has continued as new since', () => {
  const shard = new ShardUnderTest();
  const base = shard.start();
  shard.complete(shard.pollWorkflowTask());
  const again = { key: { ...key, runId: base }, requestId: 'the-reset' };
  const runId = shard.reset(4, again);
  shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
  const { key: continued } = shard.describe();
  expect(shard.reset(4, again)).toBe(runId);
  expect(shard.describe()).toMatchObject({ key: continued, status: 1 });
});
