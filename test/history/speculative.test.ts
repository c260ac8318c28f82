/**
 * Updates are not built yet; the workflow task that they need is. These tests hold the door open for them: a task that is offered, and
 * then either matters or has never been there.
 */
import { expect, test } from 'vitest';
import { activityRef, completeWorkflow, key, scheduleActivity, ShardUnderTest, startTimer } from './shard-under-test.ts';

function idleWorkflow(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 60_000)]);
  // Its last task is the end of its history: nothing new would be shipped with the next one.
  shard.fireNextTimer();
  shard.complete(shard.pollWorkflowTask());
  return shard;
}

function offer(shard: ShardUnderTest) {
  const offered = shard.core.offerSpeculativeWorkflowTask(key, shard.nowMs);
  if (offered === undefined) throw new Error('no task was offered');
  return offered;
}

function poll(shard: ShardUnderTest, pollRequestId = 'poll') {
  const { scheduledEventId, stamp, taskQueue } = offer(shard);
  const reply = shard.ask({ kind: 'startWorkflowTask', key, scheduledEventId, stamp, pollRequestId, identity: 'worker', taskQueue });
  if (reply?.kind !== 'workflowTask') throw new Error(`no workflow task: ${JSON.stringify(reply)}`);
  return reply;
}

test('offered, answered with nothing to remember: no trace in the journal', () => {
  const shard = idleWorkflow();
  const before = { records: shard.records.length, hash: shard.core.canonicalState(), history: shard.history() };
  const task = poll(shard);
  const { historyLength } = shard.describe();
  expect(task).toMatchObject({ scheduledEventId: historyLength + 1, startedEventId: historyLength + 2, historyLastEventId: historyLength });
  expect(task.tailEvents).toHaveLength(2);
  const reply = shard.complete(task);
  expect(reply.resetHistoryEventId).toBe(task.previousStartedEventId);
  expect({ records: shard.records.length, hash: shard.core.canonicalState(), history: shard.history() }).toEqual(before);
});

test('offered, answered with commands: made real, as if it had been a normal task', () => {
  const shard = idleWorkflow();
  const written = shard.history().length;
  shard.complete(poll(shard), [completeWorkflow()]);
  expect(shard.history().slice(written)).toEqual([
    'workflowTaskScheduled',
    'workflowTaskStarted',
    'workflowTaskCompleted',
    'workflowExecutionCompleted',
  ]);
});

test('offered, then something else happens: it becomes a real task first, and both hold', () => {
  const shard = idleWorkflow();
  const task = poll(shard);
  const written = shard.history().length;
  shard.signal();
  expect(shard.history().slice(written)).toEqual(['workflowTaskScheduled', 'workflowTaskStarted']);
  shard.complete(task, [scheduleActivity()]);
  expect(shard.history().slice(written + 2)).toEqual([
    'workflowTaskCompleted',
    'activityTaskScheduled',
    'workflowExecutionSignaled',
    'workflowTaskScheduled',
  ]);
});

test('offered but not yet started when something else happens: one real task, which a poll can start', () => {
  const shard = idleWorkflow();
  offer(shard);
  shard.signal();
  expect(shard.history().slice(-2)).toEqual(['workflowTaskScheduled', 'workflowExecutionSignaled']);
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  expect(shard.describe().status).toBe(2);
});

test('none is offered while a task is pending, or twice', () => {
  const shard = new ShardUnderTest();
  shard.start();
  expect(shard.core.offerSpeculativeWorkflowTask(key, shard.nowMs)).toBeUndefined();
  const idle = idleWorkflow();
  offer(idle);
  expect(idle.core.offerSpeculativeWorkflowTask(key, idle.nowMs)).toBeUndefined();
});

test('a timer that turns out to be irrelevant does not make it real', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ heartbeatTimeoutMs: 2000, startToCloseTimeoutMs: 60_000 })]);
  const activity = shard.pollActivityTask();
  shard.advance(1500);
  shard.ask({ kind: 'recordActivityHeartbeat', activity: activityRef(activity), details: undefined, identity: 'worker' });
  const task = poll(shard);
  const written = shard.history();
  // The heartbeat has moved the deadline: this timer is armed again, and nothing else comes of it.
  shard.advance(500);
  shard.fireDueTimers();
  expect(shard.history()).toEqual(written);
  expect(shard.describe().pendingWorkflowTask).toBeUndefined();
  expect(shard.ask(shard.completion(task, []))?.kind).toBe('workflowTaskCompleted');
});
