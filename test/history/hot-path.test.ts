import { expect, test } from 'vitest';
import { bytes, completeWorkflow, key, scheduleActivity, ShardUnderTest } from './shard-under-test.ts';

test('a workflow with one activity, from start to end', () => {
  const shard = new ShardUnderTest();
  const runId = shard.start();
  shard.advance(5);
  const first = shard.pollWorkflowTask();
  expect(first).toMatchObject({
    scheduledEventId: 2,
    startedEventId: 3,
    attempt: 1,
    previousStartedEventId: 0,
    historyFirstEventId: 1,
    historyLastEventId: 3,
  });
  shard.complete(first, [scheduleActivity()]);
  const activity = shard.pollActivityTask();
  expect(activity).toMatchObject({
    activityId: 'a1',
    activityType: 'Activity',
    attempt: 1,
    scheduledEventId: 5,
    input: bytes('activity input'),
  });
  const activityStartMs = shard.nowMs;
  shard.advance(7);
  shard.completeActivity(activity);
  const second = shard.pollWorkflowTask();
  expect(second).toMatchObject({
    scheduledEventId: 8,
    startedEventId: 9,
    previousStartedEventId: 3,
    historyFirstEventId: 1,
    historyLastEventId: 9,
  });
  shard.complete(second, [completeWorkflow()]);

  expect(shard.history()).toEqual([
    'workflowExecutionStarted',
    'workflowTaskScheduled',
    'workflowTaskStarted',
    'workflowTaskCompleted',
    'activityTaskScheduled',
    'activityTaskStarted',
    'activityTaskCompleted',
    'workflowTaskScheduled',
    'workflowTaskStarted',
    'workflowTaskCompleted',
    'workflowExecutionCompleted',
  ]);
  expect(shard.events().map((event) => event.eventId)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(shard.lastEvent('activityTaskStarted').eventTimeMs).toBe(activityStartMs);
  expect(shard.lastEvent('activityTaskCompleted').attributes).toMatchObject({
    scheduledEventId: 5,
    startedEventId: 6,
    result: bytes('result'),
  });
  expect(shard.lastEvent('workflowExecutionCompleted').attributes).toMatchObject({
    workflowTaskCompletedEventId: 10,
    result: bytes('done'),
  });
  expect(shard.describe()).toMatchObject({ status: 2, historyLength: 11, key: { ...key, runId } });
  // Nothing of it is left to do but to be forgotten one day.
  expect(shard.pendingTasks()).toEqual([]);
  expect(shard.nextTimer()?.fireTimeMs).toBe(shard.nowMs + 72 * 3_600_000);
});

test('seven commands write seven records', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity()]);
  shard.completeActivity(shard.pollActivityTask());
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  expect(shard.records.map((record) => record.type)).toEqual([
    'WorkflowExecutionStarted',
    'WorkflowTaskStarted',
    'WorkflowTaskCompleted',
    'ActivityStarted',
    'ActivityTaskStarted',
    'WorkflowTaskStarted',
    'WorkflowTaskCompleted',
  ]);
});

test('whoever waits for history is answered by the record that brings it', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const reply = shard.ask({ kind: 'getHistoryPosition', key, waitBeyondEventId: 2, waitForClose: false });
  expect(reply).toBeUndefined();
  const { lastAskId } = shard;
  const closeReply = shard.ask({ kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: true });
  expect(closeReply).toBeUndefined();
  const task = shard.pollWorkflowTask();
  expect(shard.effects).toMatchObject([{ kind: 'reply', askId: lastAskId, reply: { lastEventId: 3, closed: false } }]);
  shard.complete(task, [completeWorkflow()]);
  expect(shard.effects[1]).toMatchObject({ kind: 'reply', askId: lastAskId + 1, reply: { lastEventId: 5, closed: true } });
  expect(shard.effects).toHaveLength(2);
});

test('a wait that is given up gets nothing', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.ask({ kind: 'getHistoryPosition', key, waitBeyondEventId: 2, waitForClose: false });
  shard.cancel(shard.lastAskId);
  shard.pollWorkflowTask();
  expect(shard.effects).toEqual([]);
});
