import { expect, test } from 'vitest';
import { key, ShardUnderTest, signalAttributes, startChild } from './shard-under-test.ts';

test('a record that is refused for its size takes no finished task with it', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild()]);
  shard.carry(shard.pendingTask('startChild'));
  const { taskId } = shard.pendingTask('scheduleChildFirstTask');
  shard.expectDone({ kind: 'finishOutboxTask', taskId, outcome: { kind: 'done' } });
  expect(shard.core.hasFinishedTasks).toBe(true);
  // Decided, and never applied: that is how the partition refuses it.
  const refused = shard.core.handle(
    { kind: 'signalWorkflow', key, signal: signalAttributes({ requestId: 'large' }), childOf: undefined },
    shard.nowMs,
    shard.lastAskId + 1,
  );
  expect(refused.kind).toBe('commit');
  expect(shard.core.hasFinishedTasks).toBe(true);
  shard.ask({ kind: 'flushFinishedTasks' });
  expect(shard.pendingTasks()).not.toContain('scheduleChildFirstTask');
  expect(shard.core.hasFinishedTasks).toBe(false);
});
