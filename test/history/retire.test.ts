/** What becomes of closed runs when their retention is over, in memory and out of it. */
import { describe, expect, test } from 'vitest';
import type { RunKey } from '../../src/kernel/run-key.ts';
import type { StartAttributes } from '../../src/history/commands/history-commands.ts';
import { EvictingShard } from './residency/evicting-shard.ts';
import { completeWorkflow, failWorkflow, namespaceId, ShardUnderTest, startChild, terminateWorkflow } from './shard-under-test.ts';

const retentionMs = 60_000;

function closeMany<Shard extends ShardUnderTest>(shard: Shard, count: number): readonly RunKey[] {
  return Array.from({ length: count }, (_, nth) => {
    const key = { namespaceId, workflowId: `w${nth}`, runId: '' };
    const runId = shard.start({ key, retentionMs });
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    return { ...key, runId };
  });
}

describe('what a run is kept for', () => {
  const nowMs = 5_000;
  const retryPolicy = {
    initialIntervalMs: 1_000,
    backoffCoefficient: 1,
    maximumIntervalMs: 0,
    maximumAttempts: 0,
    nonRetryableErrorTypes: [],
  };
  const withRetention = { retentionMs: nowMs };

  test.each<readonly [string, Partial<StartAttributes>, (shard: ShardUnderTest) => void]>([
    [
      'on a cron schedule',
      { cronSchedule: '@every 1h' },
      (shard) => {
        shard.fireNextTimer();
        shard.complete(shard.pollWorkflowTask(), [completeWorkflow()], withRetention);
      },
    ],
    ['by a retry policy', { retryPolicy }, (shard) => shard.complete(shard.pollWorkflowTask(), [failWorkflow()], withRetention)],
    [
      'after a timeout',
      { retryPolicy, runTimeoutMs: 1_000 },
      (shard) => {
        shard.retentionMs = nowMs;
        shard.advance(1_000);
        shard.fireDueTimers();
      },
    ],
    [
      'by a reset',
      {},
      (shard) => {
        shard.complete(shard.pollWorkflowTask());
        shard.reset(4, withRetention);
      },
    ],
  ])('is what its namespace says when the run before it ends: %s', (_, start, goOn) => {
    const shard = new ShardUnderTest();
    shard.start({ retentionMs, start });
    goOn(shard);
    shard.advance(3_600_000);
    const { key } = shard.describe();
    shard.expectDone(terminateWorkflow());
    shard.advance(nowMs - 1);
    shard.fireDueTimers();
    expect(shard.core.has(key)).toBe(true);
    shard.advance(1);
    shard.fireDueTimers();
    expect(shard.core.has(key)).toBe(false);
  });
});

describe('in memory', () => {
  test('all that are due go in one record, in the order of their ends, and no more than may', () => {
    const shard = new ShardUnderTest({ runsRetiredTogetherMax: 5 });
    shard.checks = false;
    const keys = closeMany(shard, 12);
    shard.advance(retentionMs);
    const before = shard.records.length;
    shard.fireDueTimers();
    const retired = shard.records.slice(before).map((record) => record.retiredRuns);
    expect(retired).toEqual([keys.slice(0, 5), keys.slice(5, 10), keys.slice(10)]);
    expect(shard.records.at(-1)).toMatchObject({ type: 'RunsRetired', runs: [], tasks: [], finishedTaskIds: [] });
    expect(keys.filter((key) => shard.core.has(key))).toEqual([]);
    expect(shard.core.shard.timers.next()).toBeUndefined();
  });

  test('those that are not due stay, and timers of others are left alone', () => {
    const shard = new ShardUnderTest();
    const [first] = closeMany(shard, 1);
    shard.advance(10);
    shard.start({ key: { namespaceId, workflowId: 'delayed', runId: '' }, start: { startDelayMs: retentionMs - 10 } });
    shard.complete(taskOfLater(shard), [completeWorkflow()]);
    shard.advance(retentionMs - 10);
    shard.fireDueTimers();
    expect(shard.records.flatMap((record) => record.retiredRuns ?? [])).toEqual([first]);
    expect(shard.pendingTask('workflowTask').key.workflowId).toBe('delayed');
    expect(shard.core.has({ namespaceId, workflowId: 'later', runId: '' })).toBe(true);
  });

  test('one whose parent has not heard of its end stays, and the others go', () => {
    const shard = new ShardUnderTest({ retentionMsDefault: retentionMs });
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    shard.carry(shard.pendingTask('startChild'));
    shard.carry(shard.pendingTask('scheduleChildFirstTask'));
    const child = { namespaceId, workflowId: 'child', runId: '' };
    const task = [...shard.core.shard.transfers.values()].find(({ kind, key }) => kind === 'workflowTask' && key.workflowId === 'child');
    if (task?.kind !== 'workflowTask') throw new Error('the child has no task');
    const { scheduledEventId, stamp, taskQueue } = task;
    const started = shard.ask({
      kind: 'startWorkflowTask',
      key: task.key,
      scheduledEventId,
      stamp,
      taskQueue,
      pollRequestId: 'p',
      identity: 'w',
    });
    if (started?.kind !== 'workflowTask') throw new Error('not started');
    shard.complete(started, [completeWorkflow()]);
    shard.complete(shard.pollWorkflowTask(), []);
    const keys = closeMany(shard, 2);
    shard.advance(retentionMs);
    shard.fireDueTimers();
    expect(shard.records.flatMap((record) => record.retiredRuns ?? [])).toEqual(keys);
    expect(shard.core.has(child)).toBe(true);
    shard.pumpOutbox();
    shard.advance(3_600_000);
    shard.fireDueTimers();
    expect(shard.core.has(child)).toBe(false);
  });
});

function taskOfLater(shard: ShardUnderTest) {
  shard.start({ key: { namespaceId, workflowId: 'later', runId: '' }, retentionMs });
  return shard.pollWorkflowTask();
}

describe('in the table', () => {
  test('a run that has left memory has left no timer there; it is retired unread, and its row goes', () => {
    const shard = new EvictingShard();
    const keys = closeMany(shard, 3);
    shard.writeAll();
    shard.evict();
    expect(shard.core.shard.timers.next()).toBeUndefined();
    shard.advance(retentionMs);
    expect(shard.dueCold(shard.nowMs)).toEqual(keys);
    const loaded = shard.loaded;
    shard.expectDone({ kind: 'retireRuns', runs: keys });
    expect(shard.loaded).toBe(loaded);
    expect(shard.records.at(-1)?.retiredRuns).toEqual(keys);
    const [first] = keys;
    expect(shard.expectRejected({ kind: 'describeWorkflow', key: { ...first!, runId: '' } })).toMatchObject({
      reason: 'workflow-not-found',
    });
    shard.writeAll();
    expect(shard.checkpoints.table.size).toMatchObject({ runs: 0, currentRuns: 0 });
    expect(shard.expectRejected({ kind: 'describeWorkflow', key: first! })).toMatchObject({ reason: 'workflow-not-found' });
  });

  test('a newer run of its workflow id stays the current one', () => {
    const shard = new EvictingShard();
    const [old] = closeMany(shard, 1);
    shard.start({ key: { ...old!, runId: '' } });
    shard.writeAll();
    shard.evict();
    shard.advance(retentionMs);
    shard.expectDone({ kind: 'retireRuns', runs: [old!] });
    shard.writeAll();
    shard.evict();
    expect(shard.describe({ ...old!, runId: '' })).toMatchObject({ status: 1 });
  });

  test('one that is back in memory, and not due there, stays; one that is gone writes nothing', () => {
    const shard = new EvictingShard();
    const [key] = closeMany(shard, 1);
    const records = shard.records.length;
    shard.expectDone({ kind: 'retireRuns', runs: [key!, { ...key!, runId: shard.newRunId() }] });
    expect(shard.records).toHaveLength(records);
    shard.advance(retentionMs);
    shard.fireDueTimers();
    shard.expectDone({ kind: 'retireRuns', runs: [key!] });
    expect(shard.records).toHaveLength(records + 1);
  });

  test('one that comes back brings the end of its retention along', () => {
    const shard = new EvictingShard();
    const [key] = closeMany(shard, 1);
    shard.writeAll();
    shard.evict();
    shard.describe(key);
    expect(shard.core.shard.timers.next()).toMatchObject({ fireTimeMs: shard.nowMs + retentionMs });
  });
});
