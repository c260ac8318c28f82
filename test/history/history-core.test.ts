import { expect, test } from 'vitest';
import { askOf } from '../../src/kernel/handled.ts';
import {
  bytes,
  completeWorkflow,
  key,
  scheduleActivity,
  ShardUnderTest,
  signalAttributes,
  startChild,
  startTimer,
} from './shard-under-test.ts';

test('a record that is refused for its size takes no finished task with it', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild()]);
  shard.carry(shard.pendingTask('startChild'));
  const { taskId } = shard.pendingTask('scheduleChildFirstTask');
  shard.expectDone({ kind: 'finishOutboxTask', taskId, outcome: { kind: 'done' } });
  expect(shard.core.hasFinishedTasks).toBe(true);
  // Decided, and never applied: that is how the partition refuses it.
  const refused = shard.decide({ kind: 'signalWorkflow', key, signal: signalAttributes({ requestId: 'large' }), childOf: undefined });
  expect(refused.kind).toBe('commit');
  expect(shard.core.hasFinishedTasks).toBe(true);
  shard.ask({ kind: 'flushFinishedTasks' });
  expect(shard.pendingTasks()).not.toContain('scheduleChildFirstTask');
  expect(shard.core.hasFinishedTasks).toBe(false);
});

test('a record that is refused leaves everybody waiting, and the next one answers them', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 60_000)]);
  shard.signal();
  shard.ask({ kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: true });
  const poll = shard.lastAskId;
  const queryWorkflow = { kind: 'queryWorkflow', key, queryId: 'q', query: bytes('q'), rejectCondition: 1, deadlineMs: shard.nowMs + 1000 };
  shard.request({ ...queryWorkflow, kind: 'queryWorkflow' });
  const query = shard.lastAskId;
  const task = shard.pollWorkflowTask();
  // Decided, and never accepted: that is how the partition refuses a record for its size.
  const refused = shard.decide(shard.completion(task, [scheduleActivity(), completeWorkflow()]));
  expect(refused.effects.length).toBeGreaterThan(0);
  expect(shard.effects).toEqual([]);
  shard.complete(task, [completeWorkflow()]);
  expect(shard.effects.map(askOf).toSorted((a = 0, b = 0) => a - b)).toEqual([poll, query]);
});

test('a command that throws leaves everybody waiting', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.ask({ kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: true });
  const before = [shard.core.canonicalState(), shard.core.canonicalVolatile()];
  const task = shard.pollWorkflowTask();
  const started = [shard.core.canonicalState(), shard.core.canonicalVolatile()];
  expect(started).not.toEqual(before);
  // No number of the wire: the event cannot be encoded.
  expect(() => shard.ask(shard.completion(task, [startTimer('t1', 2 ** 60), completeWorkflow()]))).toThrow();
  expect([shard.core.canonicalState(), shard.core.canonicalVolatile()]).toEqual(started);
  shard.complete(task, [completeWorkflow()]);
  expect(shard.effects).toHaveLength(1);
});
