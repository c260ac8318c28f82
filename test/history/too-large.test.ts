/** A record that is larger than the journal takes: the core is asked what becomes of the command instead. */
import { expect, test } from 'vitest';
import type { HistoryCommand } from '../../src/history/commands/history-commands.ts';
import type { HistoryReply } from '../../src/history/run/history-replies.ts';
import { activityRef, key, scheduleActivity, ShardUnderTest, signalAttributes, startChild, startTimer } from './shard-under-test.ts';

const reason = 'Transaction size exceeds limit.';

function expectTerminated(shard: ShardUnderTest, runId?: string): void {
  expect(shard.lastEvent('workflowExecutionTerminated', runId).attributes).toMatchObject({ reason, identity: 'history-service' });
}

function instead(shard: ShardUnderTest, command: HistoryCommand): HistoryReply | undefined {
  expect(shard.decide(command).kind, 'there is a record that can be too large').toBe('commit');
  return shard.tooLarge(command);
}

test('a completion ends the run with the reason of Temporal', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const task = shard.pollWorkflowTask();
  const reply = instead(shard, shard.completion(task, [scheduleActivity()]));
  expect(reply).toEqual({ kind: 'rejected', rejection: { reason: 'invalid-argument', message: reason } });
  expectTerminated(shard);
});

test("an activity's result likewise", () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity()]);
  const activity = activityRef(shard.pollActivityTask());
  expect(instead(shard, { kind: 'completeActivityTask', activity, result: undefined, identity: 'w' })).toMatchObject({ kind: 'rejected' });
  expectTerminated(shard);
});

test('a timer is not fired again', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 1000)]);
  const next = shard.nextTimer();
  if (next === undefined) throw new Error('a timer is armed');
  shard.advance(1000);
  expect(instead(shard, { kind: 'fireTimer', taskId: next.taskId, jitter: 0 })).toEqual({ kind: 'done' });
  expectTerminated(shard);
  expect(shard.nextTimer()?.fireTimeMs, 'only retention is left').toBe(shard.nowMs + 72 * 3_600_000);
});

test('the answer of an outbox task: a child that was started meanwhile is no orphan', () => {
  const shard = new ShardUnderTest();
  const parent = shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild()]);
  const { taskId } = shard.pendingTask('startChild');
  const outbox = shard.outboxMessage(taskId);
  const started = outbox === undefined ? undefined : shard.ask(outbox.command);
  if (started?.kind !== 'started') throw new Error('the child was started');
  const outcome = { kind: 'childStarted', runId: started.runId } as const;
  expect(instead(shard, { kind: 'finishOutboxTask', taskId, outcome })).toEqual({ kind: 'done' });
  expectTerminated(shard, parent);
  shard.pumpOutbox();
  expect(shard.describe({ ...key, workflowId: 'child' }).status).toBe(5);
});

test('what a caller asks from outside is refused', () => {
  const shard = new ShardUnderTest();
  shard.start();
  expect(shard.tooLarge({ kind: 'signalWorkflow', key, signal: signalAttributes(), childOf: undefined })).toBeUndefined();
  expect(shard.tooLarge(shard.startCommand())).toBeUndefined();
  expect(shard.describe().status).toBe(1);
});
