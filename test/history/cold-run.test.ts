/** Executions will leave memory one day and come back when a command needs them: nothing in the core may depend on their having stayed. */
import { expect, test } from 'vitest';
import type { HistoryCommand } from '../../src/history/commands.ts';
import { completeWorkflow, key, scheduleActivity, ShardUnderTest, startChild, startTimer } from './shard-under-test.ts';

function busyWorkflow(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity(), startTimer('t1', 60_000), startChild()]);
  shard.pollActivityTask();
  return shard;
}

test('a run comes back exactly as it was', () => {
  const shard = busyWorkflow();
  const before = shard.core.canonicalState();
  const cold = shard.core.evict(key);
  if (cold === undefined) throw new Error('not evicted');
  expect(shard.core.has(key)).toBe(false);
  expect(shard.core.canonicalState()).not.toBe(before);
  // Plain data: it survives any storage.
  shard.core.restore(structuredClone(cold));
  expect(shard.core.canonicalState()).toBe(before);
});

test('a command whose run was evicted is decided after its prefetch, as if nothing had been', () => {
  const shard = busyWorkflow();
  const cold = shard.core.evict(key);
  if (cold === undefined) throw new Error('not evicted');
  const next = shard.core.nextTimer();
  if (next === undefined) throw new Error('its timers stay armed');
  const command: HistoryCommand = { kind: 'fireTimer', taskId: next.taskId, jitter: 0 };
  // The loop's prefetch: what the command is about, loaded if it is not there.
  const needed = shard.core.keyOf(command);
  expect(needed).toMatchObject({ workflowId: 'wf' });
  if (needed !== undefined && !shard.core.has(needed)) shard.core.restore(structuredClone(cold));
  shard.nowMs = next.fireTimeMs;
  shard.ask(command);
  // The activity has timed out and waits for its next attempt.
  expect(shard.describe().pendingActivities).toMatchObject([{ attempt: 2 }]);
  shard.fireNextTimer();
  shard.fireNextTimer();
  expect(shard.history()).toContain('timerFired');
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  expect(shard.describe().status).toBe(2);
});

test('a run on which someone waits stays', () => {
  const shard = busyWorkflow();
  shard.ask({ kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: true });
  expect(shard.core.evict(key)).toBeUndefined();
});
