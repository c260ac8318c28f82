import { expect, test } from 'vitest';
import type { PutAside } from '../../src/history/commands/history-commands.ts';
import {
  completeWorkflow,
  key,
  namespaceId,
  refOf,
  scheduleActivity,
  ShardUnderTest,
  startChild,
  startTimer,
  terminateWorkflow,
} from './shard-under-test.ts';

function putAside(shard: ShardUnderTest, change: Partial<PutAside> = {}): void {
  const failing = { failedCommand: 'fireTimer', taskId: 0, reason: 'planted', ...change };
  shard.expectDone({ kind: 'putAside', ...failing, key: shard.describe(change.key ?? key).key });
}

/** With a timer, a child under way and an activity in its queue. */
function busy(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 1000), startChild({ parentClosePolicy: 1 }), scheduleActivity()]);
  return shard;
}

test('its timers and tasks wait, others go on', () => {
  const shard = busy();
  shard.start({ key: { namespaceId, workflowId: 'other', runId: '' }, start: { startDelayMs: 500 } });
  putAside(shard);
  expect(shard.core.shard.aside.size).toBe(1);
  expect(shard.pendingTasks()).toEqual([]);
  shard.advance(600);
  shard.fireDueTimers();
  expect(shard.pendingTasks(), 'of the other one').toEqual(['workflowTask']);
  shard.advance(600_000);
  shard.fireDueTimers();
  expect(shard.history().at(-1)).toBe('activityTaskScheduled');
  expect(shard.describe().aside).toMatchObject({ failedCommand: 'fireTimer', reason: 'planted' });
});

test('what callers do is decided, what follows from it waits too', () => {
  const shard = busy();
  putAside(shard);
  shard.signal();
  expect(shard.history().slice(-2)).toEqual(['workflowExecutionSignaled', 'workflowTaskScheduled']);
  expect(shard.pendingTasks()).toEqual([]);
});

test('a task that matching has already got is not started any more', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const { scheduledEventId, stamp, taskQueue } = shard.pendingTask('workflowTask');
  putAside(shard);
  const start = { key, scheduledEventId, stamp, pollRequestId: 'p', identity: 'w', taskQueue };
  expect(shard.expectRejected({ kind: 'startWorkflowTask', ...start })).toMatchObject({ reason: 'task-not-found' });
});

test('a worker that holds its workflow task may close it: that ends it cleanly', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const task = shard.pollWorkflowTask();
  putAside(shard);
  shard.ask({
    kind: 'failWorkflowTask',
    task: { ...refOf(task), attempt: 9 },
    cause: 1,
    failure: undefined,
    identity: 'w',
    binaryChecksum: '',
    jitter: 0,
  });
  shard.complete(task, [completeWorkflow()]);
  expect(shard.describe()).toMatchObject({ status: 2, aside: undefined });
  expect(shard.core.shard.aside.size).toBe(0);
});

test('terminated, it is taken back: its children end, its parent hears of it, its retention runs out', () => {
  const shard = busy();
  shard.carry(shard.pendingTask('startChild'));
  const child = { namespaceId, workflowId: 'child', runId: '' };
  putAside(shard);
  putAside(shard, { key: child });
  expect(shard.core.shard.aside.size).toBe(2);
  shard.expectDone(terminateWorkflow());
  expect(shard.core.shard.aside.size).toBe(1);
  shard.pumpOutbox();
  expect(shard.describe(child)).toMatchObject({ status: 5, aside: undefined });
  shard.advance(73 * 3_600_000);
  shard.fireDueTimers();
  expect(shard.core.has(key)).toBe(false);
  expect(shard.core.shard.aside.size).toBe(0);
});

test('a closed run may fail too: it is forgotten all the same when its time has come', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  putAside(shard, { failedCommand: 'notifyParent' });
  expect(shard.core.shard.aside.size).toBe(1);
  shard.advance(73 * 3_600_000);
  shard.fireDueTimers();
  expect(shard.core.has(key)).toBe(false);
  expect(shard.core.shard.aside.size).toBe(0);
});

test('unless its retention is what fails', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  putAside(shard, { taskId: shard.nextTimer()?.taskId ?? 0 });
  expect(shard.nextTimer()).toBeUndefined();
});

test('quarantined twice is once, and a run that is gone is not', () => {
  const shard = busy();
  putAside(shard);
  const records = shard.records.length;
  putAside(shard, { reason: 'again' });
  shard.expectDone({ kind: 'putAside', key: { ...key, runId: 'gone' }, failedCommand: 'x', taskId: 0, reason: '' });
  expect(shard.records).toHaveLength(records);
});
