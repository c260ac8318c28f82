import { describe, expect, test } from 'vitest';
import type { HistoryReply } from '../../src/history/run/history-replies.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import {
  activityRef,
  bytes,
  cancelActivity,
  completeWorkflow,
  continueAsNew,
  key,
  optionsChange,
  refOf,
  scheduleActivity,
  ShardUnderTest,
  startTimer,
  terminateWorkflow,
  updateWorkflow,
} from './shard-under-test.ts';

const paused = 8;
const identity = 'operator';
const one = { activityId: 'a1', activityType: undefined };
const retryPolicy = {
  initialIntervalMs: 60_000,
  backoffCoefficient: 2,
  maximumIntervalMs: 0,
  maximumAttempts: 0,
  nonRetryableErrorTypes: [],
};

function pause(shard: ShardUnderTest, requestId = 'one', reason = 'look first'): HistoryReply | undefined {
  return shard.ask({ kind: 'pauseWorkflow', key, identity, reason, requestId });
}

function unpause(shard: ShardUnderTest): HistoryReply | undefined {
  return shard.ask({ kind: 'unpauseWorkflow', key, identity, reason: 'looked', requestId: 'two' });
}

function types(shard: ShardUnderTest): readonly string[] {
  return shard.history();
}

function pauseInfo(shard: ShardUnderTest): string | undefined {
  const { searchAttributes } = shard.describe();
  const payload = searchAttributes && historyWire.fieldOf(searchAttributes, 'TemporalPauseInfo');
  return payload && historyWire.payloadValue(payload).text;
}

function query(shard: ShardUnderTest): HistoryReply | undefined {
  return shard.request({
    kind: 'queryWorkflow',
    key,
    queryId: 'q',
    query: bytes('query'),
    rejectCondition: 1,
    deadlineMs: shard.nowMs + 10_000,
  });
}

function fail(shard: ShardUnderTest, task: ReturnType<ShardUnderTest['pollActivityTask']>): void {
  const facts = { kind: 'application', type: 'Oops', nonRetryable: false, nextRetryDelayMs: 0, message: 'x' } as const;
  const failure = { facts, bytes: bytes('failure') };
  shard.expectDone({ kind: 'failActivityTask', activity: activityRef(task), failure, lastHeartbeatDetails: undefined, identity });
}

/** A workflow whose first task is over, with what its commands made. */
function running(...commands: readonly WorkflowCommand[]): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), commands);
  return shard;
}

describe('a workflow task', () => {
  test('that waits for a worker fails, and the unpause brings one that is no repetition', () => {
    const shard = new ShardUnderTest();
    shard.start();
    expect(pause(shard)).toEqual({ kind: 'done' });
    expect(types(shard)).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled', 'workflowTaskFailed', 'workflowExecutionPaused']);
    expect(shard.events()[2]?.attributes).toMatchObject({
      cause: 39,
      scheduledEventId: 2,
      startedEventId: 0,
      identity: 'history-service',
    });
    // Workers of today know nothing of it.
    expect(shard.events()[3]?.workerMayIgnore).toBe(true);
    expect(shard.pendingTasks()).toEqual([]);
    expect(shard.describe()).toMatchObject({
      status: paused,
      closeTimeMs: 0,
      pendingWorkflowTask: undefined,
      pause: { timeMs: shard.nowMs, identity, reason: 'look first', requestId: 'one' },
    });
    expect(pauseInfo(shard)).toBe('["Workflow:wf","Reason:look first"]');

    expect(unpause(shard)).toEqual({ kind: 'done' });
    expect(types(shard).slice(4)).toEqual(['workflowExecutionUnpaused', 'workflowTaskScheduled']);
    expect(shard.events()[4]?.workerMayIgnore).toBe(true);
    expect(shard.describe()).toMatchObject({ status: 1, pause: undefined });
    expect(pauseInfo(shard)).toBeUndefined();
    expect(shard.pollWorkflowTask()).toMatchObject({ attempt: 1, scheduledEventId: 6 });
  });

  test('that is with a worker may complete; none follows it, whatever came in meanwhile', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const task = shard.pollWorkflowTask();
    expect(pause(shard)).toEqual({ kind: 'done' });
    shard.signal();
    expect(shard.describe()).toMatchObject({ status: paused, historyLength: 3 });
    shard.complete(task, [startTimer('t', 1000)]);
    expect(types(shard).slice(3)).toEqual([
      'workflowTaskCompleted',
      'timerStarted',
      'workflowExecutionPaused',
      'workflowExecutionSignaled',
    ]);
    expect(shard.pendingTasks()).toEqual([]);
    unpause(shard);
    expect(types(shard).slice(7)).toEqual(['workflowExecutionUnpaused', 'workflowTaskScheduled']);
  });

  test('that is with a worker may fail, or time out; none follows it', () => {
    const failed = new ShardUnderTest();
    failed.start();
    const task = failed.pollWorkflowTask();
    pause(failed);
    failed.expectDone({
      kind: 'failWorkflowTask',
      task: refOf(task),
      cause: 14,
      failure: undefined,
      identity: 'worker',
      binaryChecksum: '',
      jitter: 0.5,
    });
    expect(types(failed).slice(3)).toEqual(['workflowTaskFailed', 'workflowExecutionPaused']);
    expect(failed.describe().pendingWorkflowTask).toBeUndefined();
    unpause(failed);
    expect(failed.pollWorkflowTask()).toMatchObject({ attempt: 1, scheduledEventId: 7 });

    const late = new ShardUnderTest();
    late.start();
    late.pollWorkflowTask();
    pause(late);
    late.advance(10_000);
    late.fireDueTimers();
    expect(types(late).slice(3)).toEqual(['workflowTaskTimedOut', 'workflowExecutionPaused']);
    expect(late.describe().pendingWorkflowTask).toBeUndefined();
  });

  test('that is a repeated attempt ends without a trace', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const task = shard.pollWorkflowTask();
    const failing = { cause: 14, failure: undefined, identity: 'worker', binaryChecksum: '', jitter: 0.5 };
    shard.expectDone({ kind: 'failWorkflowTask', task: refOf(task), ...failing });
    pause(shard);
    expect(types(shard).slice(3)).toEqual(['workflowTaskFailed', 'workflowExecutionPaused']);
    unpause(shard);
    expect(shard.pollWorkflowTask()).toMatchObject({ attempt: 1, scheduledEventId: 7 });
  });

  test('that asks for another one at once is refused, and stays with its worker', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const task = shard.pollWorkflowTask();
    pause(shard);
    const rejection = shard.expectRejected(shard.completion(task, [], { forceCreateNewWorkflowTask: true }));
    expect(rejection).toEqual({
      reason: 'failed-precondition',
      message: 'Workflow is paused and force create new workflow task is not allowed.',
    });
    shard.complete(task, []);
  });

  test('that would close the workflow has not seen its pause', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const task = shard.pollWorkflowTask();
    pause(shard);
    expect(shard.ask(shard.completion(task, [completeWorkflow()]))).toMatchObject({ rejection: { reason: 'unhandled-command' } });
    expect(types(shard).slice(3)).toEqual(['workflowTaskFailed', 'workflowExecutionPaused']);
    expect(shard.pendingTasks()).toEqual([]);
    unpause(shard);
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    expect(shard.describe().status).toBe(2);
  });

  test('that meets pause and unpause while it runs: both stand behind it, and another follows', () => {
    const shard = running(scheduleActivity({}));
    shard.signal();
    const task = shard.pollWorkflowTask();
    pause(shard);
    unpause(shard);
    expect(shard.pendingTasks()).toEqual(['activityTask']);
    shard.complete(task, []);
    expect(types(shard).slice(-3)).toEqual(['workflowExecutionPaused', 'workflowExecutionUnpaused', 'workflowTaskScheduled']);
    expect(shard.describe().status).toBe(1);
    // The activity that was offered again is still the one that waits.
    shard.pollActivityTask();
  });

  test('of a start delay: the unpause does not wait for its end, and its timer finds nothing to do', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { startDelayMs: 60_000 } });
    pause(shard);
    shard.advance(1000);
    unpause(shard);
    expect(types(shard)).toEqual([
      'workflowExecutionStarted',
      'workflowExecutionPaused',
      'workflowExecutionUnpaused',
      'workflowTaskScheduled',
    ]);
    shard.complete(shard.pollWorkflowTask(), []);
    shard.advance(60_000);
    shard.fireDueTimers();
    expect(shard.pendingTasks()).toEqual([]);
  });

  test('that a start delay would bring while it is paused comes with the unpause', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { startDelayMs: 60_000 } });
    pause(shard);
    shard.advance(60_000);
    shard.fireDueTimers();
    expect(shard.pendingTasks()).toEqual([]);
    unpause(shard);
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });
});

test('the same request again is no other pause; a second one is refused, as is an unpause of what runs', () => {
  const shard = running();
  const wake = shard.expectRejected({ kind: 'unpauseWorkflow', key, identity, reason: '', requestId: '' });
  expect(wake).toEqual({ reason: 'failed-precondition', message: 'workflow is not paused.' });
  pause(shard);
  const records = shard.records.length;
  expect(pause(shard)).toEqual({ kind: 'done' });
  expect(shard.records).toHaveLength(records);
  const again = shard.expectRejected({ kind: 'pauseWorkflow', key, identity, reason: '', requestId: 'other' });
  expect(again).toEqual({ reason: 'failed-precondition', message: 'workflow is already paused.' });
  unpause(shard);
  // Without a request id each is another one.
  expect(pause(shard, '', '')).toEqual({ kind: 'done' });
  expect(pauseInfo(shard)).toBe('["Workflow:wf"]');
  expect(shard.expectRejected({ kind: 'pauseWorkflow', key, identity, reason: '', requestId: '' }).reason).toBe('failed-precondition');
  shard.ask(terminateWorkflow());
  expect(shard.expectRejected({ kind: 'pauseWorkflow', key, identity, reason: '', requestId: '' }).reason).toBe('workflow-closed');
});

describe('activities', () => {
  test('that wait for a worker wait for the unpause; the task that was on its way is refused', () => {
    const shard = running(scheduleActivity({}));
    const old = shard.pendingTask('activityTask');
    pause(shard);
    expect(shard.pendingTasks()).toEqual([]);
    const start = { kind: 'startActivityTask', key: old.key, scheduledEventId: old.scheduledEventId, stamp: old.stamp } as const;
    const poll = { pollRequestId: 'poll', identity, workerVersion: undefined };
    expect(shard.expectRejected({ ...start, ...poll }).reason).toBe('task-not-found');
    unpause(shard);
    const task = shard.pollActivityTask();
    expect(task.attempt).toBe(1);
  });

  test('that run go on, and what they answer wakes nobody', () => {
    const shard = running(scheduleActivity({}));
    const task = shard.pollActivityTask();
    pause(shard);
    shard.expectDone({ kind: 'completeActivityTask', activity: activityRef(task), result: bytes('r'), identity });
    expect(types(shard).slice(-2)).toEqual(['activityTaskStarted', 'activityTaskCompleted']);
    expect(shard.pendingTasks()).toEqual([]);
    unpause(shard);
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });

  test('that fail are tried again after the unpause, not before', () => {
    const shard = running(scheduleActivity({ retryPolicy }));
    const task = shard.pollActivityTask();
    pause(shard);
    fail(shard, task);
    shard.advance(30_000);
    unpause(shard);
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
    shard.advance(30_000);
    shard.fireDueTimers();
    expect(shard.pollActivityTask().attempt).toBe(2);
  });

  test('that wait for their next attempt when the workflow is paused have it with the unpause, if its time has come', () => {
    const shard = running(scheduleActivity({ retryPolicy }));
    fail(shard, shard.pollActivityTask());
    pause(shard);
    shard.advance(60_000);
    shard.fireDueTimers();
    expect(shard.pendingTasks()).toEqual([]);
    unpause(shard);
    expect(shard.pollActivityTask().attempt).toBe(2);
  });

  test('that a task schedules which was with a worker wait as well, also those that it would have run itself', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const task = shard.pollWorkflowTask();
    pause(shard);
    const commands = [scheduleActivity({}), scheduleActivity({ activityId: 'a2', requestEagerExecution: true })];
    expect(shard.complete(task, commands).activityTasks).toEqual([]);
    expect(shard.pendingTasks()).toEqual([]);
    unpause(shard);
    expect(shard.pendingTasks()).toEqual(['activityTask', 'activityTask', 'workflowTask']);
  });

  test('time out meanwhile', () => {
    const shard = running(scheduleActivity({ scheduleToCloseTimeoutMs: 5_000 }));
    pause(shard);
    shard.advance(5_000);
    shard.fireDueTimers();
    expect(types(shard).at(-1)).toBe('activityTaskTimedOut');
    expect(shard.pendingTasks()).toEqual([]);
  });

  test('that are paused themselves stay so when the workflow goes on; both pauses show', () => {
    const shard = running(scheduleActivity({}));
    shard.expectDone({ kind: 'pauseActivity', key, target: one, identity, reason: '', requestId: '' });
    expect(pauseInfo(shard)).toBe('["property:activityType=Activity"]');
    pause(shard);
    expect(pauseInfo(shard)).toBe('["Workflow:wf","Reason:look first","property:activityType=Activity"]');
    unpause(shard);
    expect(pauseInfo(shard)).toBe('["property:activityType=Activity"]');
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
    expect(shard.describe().pendingActivities[0]?.state).toBe(4);
  });

  test('of a great many types those that come first are shown: each pause of one writes them all', () => {
    const typed = (at: number) => scheduleActivity({ activityId: `a${at}`, activityType: `${at}-${'x'.repeat(900)}` });
    const shard = running(...Array.from({ length: 20 }, (_, at) => typed(at)));
    for (let at = 0; at < 20; at++) {
      shard.expectDone({ kind: 'pauseActivity', key, target: { ...one, activityId: `a${at}` }, identity, reason: '', requestId: '' });
    }
    pause(shard);
    const shown = JSON.parse(pauseInfo(shard) ?? '') as readonly string[];
    expect(shown.slice(0, 3).map((entry) => entry.slice(0, 24))).toEqual(['Workflow:wf', 'Reason:look first', 'property:activityType=0-']);
    expect(Buffer.byteLength(shown.join(''))).toBeLessThanOrEqual(16 * 1024);
  });

  test.each([[[]], [[completeWorkflow()]]])('a task that cancels paused ones notes it once (%#)', (close) => {
    const ids = ['a1', 'a2', 'a3'];
    const shard = running(...ids.map((activityId) => scheduleActivity({ activityId, activityType: `Type of ${activityId}` })));
    for (const activityId of ids) {
      shard.expectDone({ kind: 'pauseActivity', key, target: { ...one, activityId }, identity, reason: '', requestId: '' });
    }
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [cancelActivity(5), cancelActivity(6), cancelActivity(7), ...close]);
    expect(pauseInfo(shard)).toBeUndefined();
    const facts = shard.records.at(-1)?.runs.flatMap((change) => change.facts.map(({ fact }) => fact.kind)) ?? [];
    expect(facts.filter((kind) => kind === 'pauseInfoChanged')).toHaveLength(1);
  });

  test('one goes out by its own unpause while its workflow is paused, and is not offered again by the unpause of that', () => {
    const shard = running(scheduleActivity({}));
    shard.expectDone({ kind: 'pauseActivity', key, target: one, identity, reason: '', requestId: '' });
    pause(shard);
    const draw = { jitterMs: 0, jitter: 0.5, requestId: '' };
    shard.expectDone({ kind: 'unpauseActivity', key, target: one, resetAttempts: false, resetHeartbeat: false, ...draw });
    expect(pauseInfo(shard)).toBe('["Workflow:wf","Reason:look first"]');
    const task = shard.pendingTask('activityTask');
    unpause(shard);
    expect(shard.pendingTask('activityTask')).toEqual(task);
  });

  test('one with other options waits on', () => {
    const shard = running(scheduleActivity({}));
    pause(shard);
    const change = optionsChange({ fields: ['taskQueue.name'], taskQueue: 'elsewhere' });
    expect(shard.ask({ kind: 'updateActivityOptions', key, target: one, change, requestId: '' })?.kind).toBe('activityOptionsUpdated');
    expect(shard.pendingTasks()).toEqual([]);
    unpause(shard);
    expect(shard.pendingTask('activityTask').taskQueue.name).toBe('elsewhere');
  });

  test('whose poll went away are kept back', () => {
    const shard = running(scheduleActivity({}));
    const { key: taskKey, scheduledEventId } = shard.pollActivityTask('poll');
    pause(shard);
    shard.expectDone({ kind: 'withdrawActivityStart', key: taskKey, scheduledEventId, pollRequestId: 'poll' });
    expect(shard.pendingTasks()).toEqual([]);
    unpause(shard);
    shard.pollActivityTask();
  });

  test('one that ends while it is paused is gone from the search attribute', () => {
    const shard = running(scheduleActivity({}));
    const task = shard.pollActivityTask();
    shard.expectDone({ kind: 'pauseActivity', key, target: one, identity, reason: '', requestId: '' });
    shard.expectDone({ kind: 'completeActivityTask', activity: activityRef(task), result: undefined, identity });
    expect(pauseInfo(shard)).toBeUndefined();
  });

  test('that were never started can be cancelled by the task that was with a worker', () => {
    const shard = running(scheduleActivity({}));
    shard.signal();
    const task = shard.pollWorkflowTask();
    pause(shard);
    shard.complete(task, [cancelActivity(5)]);
    expect(types(shard).at(-1)).toBe('activityTaskCanceled');
    expect(shard.pendingTasks()).toEqual([]);
  });
});

describe('while it is paused', () => {
  test('timers fire, signals and a request to cancel are written, and one task follows the unpause', () => {
    const shard = running(startTimer('t', 1000));
    pause(shard);
    shard.signal();
    shard.advance(1000);
    shard.fireDueTimers();
    const cancel = { firstExecutionRunId: '', cause: '', identity, requestId: 'c', links: [], external: undefined, childOf: undefined };
    shard.expectDone({ kind: 'requestCancelWorkflow', key, ...cancel });
    expect(types(shard).slice(5)).toEqual([
      'workflowExecutionPaused',
      'workflowExecutionSignaled',
      'timerFired',
      'workflowExecutionCancelRequested',
    ]);
    expect(shard.pendingTasks()).toEqual([]);
    unpause(shard);
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });

  test('queries are refused, also one that waits for the task that does not come', () => {
    const shard = new ShardUnderTest();
    shard.start();
    expect(query(shard)).toBeUndefined();
    pause(shard);
    const rejected = { kind: 'queryRejected', status: paused };
    expect(shard.effects).toContainEqual(expect.objectContaining({ kind: 'reply', reply: rejected }));
    expect(query(shard)).toEqual(rejected);
  });

  test('updates are refused', () => {
    const shard = running();
    pause(shard);
    expect(shard.expectRejected(updateWorkflow())).toEqual({
      reason: 'failed-precondition',
      message: 'Workflow is paused. Cannot update the workflow.',
    });
  });

  test('an update that was admitted before goes with the task after the unpause', () => {
    const shard = running();
    expect(shard.ask(updateWorkflow())).toBeUndefined();
    pause(shard);
    // The task that was offered for it is a real one now, which failed.
    expect(types(shard).slice(4)).toEqual(['workflowTaskScheduled', 'workflowTaskFailed', 'workflowExecutionPaused']);
    unpause(shard);
    expect(shard.pollWorkflowTask().updates).toHaveLength(1);
  });

  test('a start that uses the run finds it paused', () => {
    const shard = running();
    pause(shard);
    const start = shard.startCommand({ policies: { reusePolicy: 1, conflictPolicy: 2 } });
    expect(shard.ask(start)).toMatchObject({ kind: 'started', started: false, status: paused });
  });

  test('it can be terminated, and keeps its pause', () => {
    const shard = running(scheduleActivity({}));
    pause(shard);
    shard.expectDone(terminateWorkflow());
    expect(shard.describe()).toMatchObject({ status: 5, pause: { identity } });
    expect(shard.pendingTasks()).toEqual([]);
  });

  test('its time runs out; the run that goes on in its place is not paused', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { cronSchedule: '@every 10s', runTimeoutMs: 5_000 } });
    pause(shard);
    shard.advance(15_000);
    shard.fireDueTimers();
    expect(shard.describe()).toMatchObject({ status: 1, pause: undefined, searchAttributes: undefined });
    shard.advance(5_000);
    shard.fireNextTimer();
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });

  test('it can be reset: the run that goes on is not paused', () => {
    const shard = running(scheduleActivity({}));
    pause(shard);
    shard.reset(4);
    expect(shard.describe()).toMatchObject({ status: 1, pause: undefined });
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });

  test('behind an unpause it is reset as ever, and its pauses are history', () => {
    const shard = running();
    pause(shard);
    unpause(shard);
    shard.complete(shard.pollWorkflowTask(), []);
    shard.reset(9);
    expect(shard.describe()).toMatchObject({ status: 1, pause: undefined });
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });
});

test('a run that continues as new after an unpause is not paused', () => {
  const shard = running();
  pause(shard);
  unpause(shard);
  shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
  expect(shard.describe()).toMatchObject({ status: 1, pause: undefined });
});
