/** Events from outside, while a worker has the workflow task: they wait, and they are never lost. */
import { describe, expect, test, vi } from 'vitest';
import { historyWire } from '../../src/codec/history-wire.ts';
import {
  bytes,
  cancelActivity,
  cancelTimer,
  completeWorkflow,
  scheduleActivity,
  ShardUnderTest,
  startTimer,
  terminateWorkflow,
} from './shard-under-test.ts';

/** An activity and a timer are under way, and a worker has the next task. */
function busy() {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity(), startTimer('t1', 1000)]);
  const activity = shard.pollActivityTask();
  shard.signal({ signalName: 'first' });
  const task = shard.pollWorkflowTask();
  return { shard, activity, task, written: shard.history().length };
}

test('they follow the events of the commands, closes of activities behind all others, started before closed', () => {
  const { shard, activity, task, written } = busy();
  shard.completeActivity(activity);
  shard.signal({ signalName: 'second' });
  shard.advance(1000);
  shard.fireDueTimers();
  expect(shard.history(), 'not in history yet').toHaveLength(written);
  shard.complete(task, [scheduleActivity({ activityId: 'a2' })]);
  expect(shard.history().slice(written)).toEqual([
    'workflowTaskCompleted',
    'activityTaskScheduled',
    'activityTaskStarted',
    'workflowExecutionSignaled',
    'timerFired',
    'activityTaskCompleted',
    'workflowTaskScheduled',
  ]);
  const started = shard.lastEvent('activityTaskStarted');
  expect(shard.lastEvent('activityTaskCompleted').attributes).toMatchObject({ scheduledEventId: 5, startedEventId: started.eventId });
  expect(started.eventTimeMs, 'the time of the real start').toBe(activity.startedTimeMs);
});

test('a workflow may not close without having seen them', () => {
  const { shard, task, written } = busy();
  shard.signal({ signalName: 'second' });
  expect(shard.completeBadly(task, [completeWorkflow()])).toEqual({ reason: 'unhandled-command', message: 'UnhandledCommand' });
  expect(shard.history().slice(written)).toEqual(['workflowTaskFailed', 'workflowExecutionSignaled', 'workflowTaskScheduled']);
  expect(shard.lastEvent('workflowTaskFailed').attributes.cause).toBe(1);
  const next = shard.pollWorkflowTask();
  expect(next.attempt, 'a normal task').toBe(1);
  // It would never get to its end if signals kept coming.
  expect(shard.signal({ signalName: 'third' })).toEqual({
    kind: 'rejected',
    rejection: { reason: 'busy-workflow', message: 'workflow operation can not be applied because workflow is closing' },
  });
  shard.complete(next, [completeWorkflow()]);
  expect(shard.describe().status).toBe(2);
});

describe('a timer that has fired meanwhile', () => {
  test('can still be cancelled: then it has not fired', () => {
    const { shard, task, written } = busy();
    shard.advance(1000);
    shard.fireDueTimers();
    shard.complete(task, [cancelTimer('t1'), completeWorkflow()]);
    expect(shard.history().slice(written)).toEqual(['workflowTaskCompleted', 'timerCanceled', 'workflowExecutionCompleted']);
    expect(shard.lastEvent('timerCanceled').attributes).toMatchObject({ timerId: 't1', startedEventId: 6, identity: 'worker' });
  });

  test('lets its id be used again', () => {
    const { shard, task, written } = busy();
    shard.advance(1000);
    shard.fireDueTimers();
    shard.complete(task, [startTimer('t1', 1000)]);
    expect(shard.history().slice(written)).toEqual(['workflowTaskCompleted', 'timerStarted', 'timerFired', 'workflowTaskScheduled']);
    expect(shard.lastEvent('timerFired').attributes.startedEventId).toBe(6);
    shard.advance(1000);
    shard.fireDueTimers();
    expect(shard.lastEvent('timerFired').attributes.startedEventId).toBe(shard.lastEvent('timerStarted').eventId);
  });
});

test('an activity that has closed meanwhile can be asked to cancel: it is written, nothing else', () => {
  const { shard, activity, task, written } = busy();
  shard.completeActivity(activity);
  shard.complete(task, [cancelActivity(5)]);
  expect(shard.history().slice(written)).toEqual([
    'workflowTaskCompleted',
    'activityTaskCancelRequested',
    'activityTaskStarted',
    'activityTaskCompleted',
    'workflowTaskScheduled',
  ]);
});

test.each([
  ['terminated', (shard: ShardUnderTest) => shard.expectDone(terminateWorkflow()), 'workflowExecutionTerminated'],
  [
    'timed out',
    (shard: ShardUnderTest) => {
      shard.advance(600_000);
      shard.fireDueTimers();
    },
    'workflowExecutionTimedOut',
  ],
] as const)('a workflow that is %s keeps them', (_, end, closeKind) => {
  const shard = new ShardUnderTest();
  shard.start({ start: { runTimeoutMs: 600_000, taskTimeoutMs: 120_000 } });
  shard.pollWorkflowTask();
  shard.signal();
  // Time enough for the task's own timeout is not given.
  if (closeKind === 'workflowExecutionTimedOut') {
    shard.advance(120_000);
    shard.fireDueTimers();
    shard.advance(479_000);
    shard.pollWorkflowTask();
    shard.signal();
  }
  const before = shard.history().length;
  end(shard);
  expect(shard.history().slice(before)).toEqual(['workflowTaskFailed', 'workflowExecutionSignaled', closeKind]);
  expect(shard.lastEvent('workflowTaskFailed').attributes).toMatchObject({ cause: 17, identity: 'history-service' });
  expect(shard.pendingTasks()).toEqual([]);
});

test('a task that fails gives them their place, and the next task is a normal one', () => {
  const { shard, task, written } = busy();
  shard.signal();
  const { key: runKey, scheduledEventId, startedEventId, startedTimeMs, attempt } = task;
  const ref = { key: runKey, scheduledEventId, startedEventId, startedTimeMs, attempt };
  shard.expectDone({ kind: 'failWorkflowTask', task: ref, cause: 14, failure: undefined, identity: 'w', binaryChecksum: '', jitter: 0 });
  expect(shard.history().slice(written)).toEqual(['workflowTaskFailed', 'workflowExecutionSignaled', 'workflowTaskScheduled']);
  expect(shard.pollWorkflowTask().attempt).toBe(1);
});

test('too many of them end the task', () => {
  const shard = new ShardUnderTest({ bufferedEventsMax: 3 });
  shard.start();
  shard.pollWorkflowTask();
  for (let signals = 0; signals < 3; signals++) shard.signal();
  expect(shard.history()).toHaveLength(3);
  shard.signal();
  expect(shard.history().slice(3)).toEqual([
    'workflowTaskFailed',
    ...Array<string>(4).fill('workflowExecutionSignaled'),
    'workflowTaskScheduled',
  ]);
  expect(shard.lastEvent('workflowTaskFailed').attributes.cause).toBe(17);
});

test('too many bytes of them too', () => {
  const shard = new ShardUnderTest({ bufferedBytesMax: 1000 });
  shard.start();
  shard.pollWorkflowTask();
  shard.signal({ input: new Uint8Array(700) });
  expect(shard.history()).toHaveLength(3);
  shard.signal({ input: new Uint8Array(700) });
  expect(shard.history()).toHaveLength(7);
});

test('signals: one for one request id, also while it is buffered and after the close', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const task = shard.pollWorkflowTask();
  expect(shard.signal({ requestId: 'r1' })).toEqual({ kind: 'signaled', runId: task.key.runId });
  expect(shard.signal({ requestId: 'r1' })).toMatchObject({ kind: 'signaled' });
  shard.complete(task, []);
  expect(shard.signal({ requestId: 'r1' })).toMatchObject({ kind: 'signaled' });
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  expect(shard.signal({ requestId: 'r1' })).toMatchObject({ kind: 'signaled' });
  expect(shard.history().filter((type) => type === 'workflowExecutionSignaled')).toHaveLength(1);
  expect(shard.signal({ requestId: 'r2' })).toMatchObject({
    rejection: { reason: 'workflow-closed', message: 'workflow execution already completed' },
  });
});

test('signals beyond the limit are refused, buffered ones counted', () => {
  const shard = new ShardUnderTest({ signalsPerRunMax: 2 });
  shard.start();
  shard.signal();
  shard.pollWorkflowTask();
  shard.signal();
  expect(shard.signal()).toMatchObject({
    rejection: { reason: 'invalid-argument', message: 'exceeded workflow execution limit for signal events' },
  });
});

test('a signal carries all that was sent', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const sent = { signalName: 'name', input: bytes('in'), header: bytes('head'), identity: 'me', requestId: 'r', links: [bytes('link')] };
  shard.signal(sent);
  const { links, ...attributes } = sent;
  expect(shard.lastEvent('workflowExecutionSignaled')).toMatchObject({ links, attributes });
});

test('cancelling one activity over and over looks at what is buffered once', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity()]);
  const activity = shard.pollActivityTask();
  shard.signal();
  const task = shard.pollWorkflowTask();
  shard.completeActivity(activity);
  shard.checks = false;
  const buffered = shard.records.at(-1)?.runs[0]?.facts.find(({ fact }) => fact.kind === 'eventBuffered')?.fact;
  if (buffered?.kind !== 'eventBuffered') throw new Error('the close is buffered');
  let looks = 0;
  const { type } = buffered.event;
  Object.defineProperty(buffered.event, 'type', { enumerable: true, get: () => ((looks += 1), type) });
  shard.complete(
    task,
    Array.from({ length: 1_000 }, () => cancelActivity(5)),
  );
  expect(shard.history().filter((kind) => kind === 'activityTaskCancelRequested')).toHaveLength(1_000);
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThan(20);
});

test('what is buffered is known from then on too: an activity cancelled before it started, and again', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity(), scheduleActivity({ activityId: 'a2' })]);
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [cancelActivity(5), cancelActivity(5), cancelActivity(6), cancelActivity(6)]);
  expect(shard.history().slice(-7)).toEqual([
    ...Array.from({ length: 4 }, () => 'activityTaskCancelRequested'),
    'activityTaskCanceled',
    'activityTaskCanceled',
    'workflowTaskScheduled',
  ]);
});

test('timers that had fired are cancelled without weighing the buffered events again', () => {
  const timers = Array.from({ length: 60 }, (_, index) => `t${index}`);
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(
    shard.pollWorkflowTask(),
    timers.map((id) => startTimer(id)),
  );
  shard.signal();
  const task = shard.pollWorkflowTask();
  shard.fireNextTimer();
  shard.checks = false;
  const weighed = vi.spyOn(historyWire, 'encodeEvent');
  try {
    shard.complete(
      task,
      timers.map((id) => cancelTimer(id)),
    );
    expect(weighed.mock.calls.length).toBeLessThan(5 * timers.length);
  } finally {
    weighed.mockRestore();
  }
  expect(shard.history().filter((kind) => kind === 'timerCanceled')).toHaveLength(timers.length);
  expect(shard.history()).not.toContain('timerFired');
});
