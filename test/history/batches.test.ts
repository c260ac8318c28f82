/** Batch jobs in a shard: how they get on, what ends them, and that no step counts twice. */
import { expect, test } from 'vitest';
import type { BatchStep } from '../../src/batches/batch.ts';
import type { BatchDescription } from '../../src/history/commands/batch-commands.ts';
import { status } from '../../src/history/generated/enums.ts';
import { aJobKey, startBatch } from './batch-commands.ts';
import { stepOf } from './batch-step.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { taskFailure, taskSubject } from './hand-over/task-failure.ts';
import { ShardUnderTest } from './shard-under-test.ts';

function begun(): ShardUnderTest {
  const shard = new ShardUnderTest();
  expect(shard.ask(startBatch())).toEqual({ kind: 'done' });
  return shard;
}

function described(shard: ShardUnderTest): BatchDescription {
  const reply = shard.ask({ kind: 'describeBatch', key: aJobKey });
  if (reply?.kind !== 'batchDescription') throw new Error(`a job is described, not ${reply?.kind}`);
  return reply;
}

/** As what takes the steps beside the shard tells of the one that is due. */
function take(shard: ShardUnderTest, change: Partial<BatchStep> = {}): void {
  const taskId = shard.nextTimer()?.taskId ?? 0;
  shard.ask({ kind: 'batchStepped', key: described(shard).key, taskId, step: stepOf(described(shard).progress, change) });
}

function dueInMs(shard: ShardUnderTest): number | undefined {
  const next = shard.nextTimer();
  return next && next.fireTimeMs - shard.nowMs;
}

test('a job is due at once, and after each step when that says', () => {
  const shard = begun();
  expect(dueInMs(shard)).toBe(0);
  take(shard, { next: { kind: 'goesOn', pauseMs: 0 } });
  expect(described(shard).progress).toMatchObject({ total: 4, completed: 0, failed: 0 });
  expect(dueInMs(shard)).toBe(0);
  take(shard, { next: { kind: 'goesOn', pauseMs: 700 } });
  expect(described(shard).progress).toMatchObject({ total: 4, completed: 1, failed: 1, position: { after: { runId: 'run-1' } } });
  expect(dueInMs(shard)).toBe(700);
});

test('completed, nothing is due but the end of its retention; whoever was counted first and not met again is closed or gone, and done', () => {
  const shard = begun();
  take(shard);
  take(shard, { completed: 2, next: { kind: 'completed' } });
  expect(described(shard)).toMatchObject({
    status: status.completed,
    closeTimeMs: shard.nowMs,
    progress: { total: 4, completed: 3, failed: 1 },
  });
  expect(dueInMs(shard)).toBe(3_600_000);
  shard.fireNextTimer();
  expect(shard.ask({ kind: 'describeBatch', key: aJobKey })).toMatchObject({
    rejection: { message: 'workflow not found for ID: nightly' },
  });
});

test('one whose step never succeeds fails, says why, and leaves no dead letter; what a late step tells changes nothing', () => {
  const shard = begun();
  take(shard);
  const { taskId } = shard.nextTimer()!;
  const { key } = described(shard);
  shard.expectDone({ kind: 'handOverTask', taskId, category: 'timer', failure: taskFailure, subject: taskSubject });
  expect(described(shard)).toMatchObject({ status: status.failed, closeTimeMs: shard.nowMs });
  const closing = shard.events(key.runId).at(-1)?.attributes;
  const failure = closing !== undefined && 'failure' in closing ? closing.failure : undefined;
  expect(historyWire.schedules.failureMessage(failure ?? new Uint8Array(0))).toBe(taskFailure.errorMessage);
  expect(shard.records.some(({ tasksHandedOver }) => tasksHandedOver !== undefined)).toBe(false);
  expect(dueInMs(shard)).toBe(3_600_000);
  const before = described(shard);
  shard.ask({ kind: 'batchStepped', key, taskId, step: { ...stepOf(before.progress), next: { kind: 'goesOn', pauseMs: 0 } } });
  expect(described(shard).status).toBe(status.failed);
  expect(dueInMs(shard)).toBe(3_600_000);
});

test('there may be more in the end than were counted', () => {
  const shard = begun();
  take(shard);
  take(shard, { completed: 9, failed: 0 });
  expect(described(shard).progress).toMatchObject({ total: 9, completed: 9 });
});

test('a job that cannot go on has failed, and keeps its counts', () => {
  const shard = begun();
  take(shard);
  take(shard);
  take(shard, { completed: 0, failed: 0, next: { kind: 'failed', message: 'no such attribute' } });
  expect(described(shard)).toMatchObject({ status: status.failed, progress: { total: 4, completed: 1, failed: 1 } });
  expect(shard.lastEvent('workflowExecutionFailed', described(shard).key.runId).attributes.failure).toBeDefined();
});

test('stopped, it takes no further step; what its last one did is counted, once', () => {
  const shard = begun();
  take(shard);
  const { key, progress } = described(shard);
  const taskId = shard.nextTimer()?.taskId ?? 0;
  expect(shard.ask({ kind: 'stopBatch', key: aJobKey, reason: 'enough', identity: 'operator' })).toEqual({ kind: 'done' });
  expect(described(shard)).toMatchObject({ status: status.terminated, closeTimeMs: shard.nowMs });
  expect(dueInMs(shard)).toBe(3_600_000);
  const told = { kind: 'batchStepped', key, taskId, step: stepOf(progress) } as const;
  shard.ask(told);
  shard.ask(told);
  expect(described(shard)).toMatchObject({ status: status.terminated, progress: { completed: 1, failed: 1 } });
  expect(dueInMs(shard)).toBe(3_600_000);
  const { reason, identity } = shard.lastEvent('workflowExecutionTerminated', key.runId).attributes;
  expect({ reason, identity }).toEqual({ reason: 'enough', identity: 'operator' });
  expect(shard.ask({ kind: 'stopBatch', key: aJobKey, reason: 'again', identity: '' })).toMatchObject({
    rejection: { reason: 'workflow-closed' },
  });
});

test('a step that is reported twice counts once', () => {
  const shard = begun();
  take(shard);
  const { key, progress } = described(shard);
  const told = { kind: 'batchStepped', key, taskId: shard.nextTimer()?.taskId ?? 0, step: stepOf(progress) } as const;
  shard.ask(told);
  shard.ask(told);
  expect(described(shard).progress).toMatchObject({ steps: 2, completed: 1, failed: 1 });
});

test('its id is taken for as long as it is kept', () => {
  const shard = begun();
  const again = startBatch({ newRunId: '00000000-0000-4000-8000-0000000000fd' });
  const { runId } = described(shard).key;
  expect(shard.ask(again)).toMatchObject({
    rejection: { reason: 'already-started', message: `Workflow execution is already running. WorkflowId: nightly, RunId: ${runId}.` },
  });
  shard.ask({ kind: 'stopBatch', key: aJobKey, reason: 'enough', identity: '' });
  expect(shard.ask(again)).toMatchObject({
    rejection: {
      reason: 'already-started',
      message: `Workflow execution already finished. WorkflowId: nightly, RunId: ${runId}. Workflow Id reuse policy: reject duplicate workflow Id.`,
    },
  });
  shard.fireNextTimer();
  expect(shard.ask(again)).toEqual({ kind: 'done' });
});

test('it is no workflow, for whoever knows its id', () => {
  const shard = begun();
  for (const kind of ['describeWorkflow', 'deleteWorkflow', 'resetStickyTaskQueue'] as const) {
    expect(shard.ask({ kind, key: aJobKey })).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
  }
  expect(described(shard).status).toBe(status.running);
});
