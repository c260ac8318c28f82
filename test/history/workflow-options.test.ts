import { describe, expect, test } from 'vitest';
import type { PriorityPath } from '../../src/history/commands/priority.ts';
import type { HistoryReply } from '../../src/history/run/history-replies.ts';
import { decodePriority, encodePriority } from '../../src/wire/generated/lean/common.ts';
import { continueAsNew, key, scheduleActivity, ShardUnderTest } from './shard-under-test.ts';

const identity = 'operator';

function priority(priorityKey: number, fairnessKey = '', fairnessWeight = 0): Uint8Array {
  return encodePriority({ priorityKey, fairnessKey, fairnessWeight });
}

function update(shard: ShardUnderTest, change: Uint8Array | undefined, ...fields: readonly PriorityPath[]): HistoryReply | undefined {
  return shard.ask({ kind: 'updateWorkflowOptions', key, fields, priority: change, identity });
}

function shown(shard: ShardUnderTest): object | undefined {
  const bytes = shard.describe().priority;
  return bytes === undefined ? undefined : decodePriority(bytes);
}

test('a new priority is an event that wakes nobody; the task that waits is offered once more with it', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const old = shard.pendingTask('workflowTask');
  expect(update(shard, priority(2, 'tenant', 1.5), 'priority')).toEqual({
    kind: 'workflowOptionsUpdated',
    priority: priority(2, 'tenant', 1.5),
  });
  expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled', 'workflowExecutionOptionsUpdated']);
  expect(shard.lastEvent('workflowExecutionOptionsUpdated')).toMatchObject({
    workerMayIgnore: true,
    attributes: { identity, priority: priority(2, 'tenant', 1.5), unsetVersioningOverride: true, attachedRequestId: '' },
  });
  expect(shown(shard)).toEqual({ priorityKey: 2, fairnessKey: 'tenant', fairnessWeight: 1.5 });
  const next = shard.pendingTask('workflowTask');
  expect(next.taskId).toBeGreaterThan(old.taskId);
  expect(next.stamp).toBeGreaterThan(old.stamp);
  expect(next.priority).toEqual({ priorityKey: 2, fairnessKey: 'tenant', fairnessWeight: 1.5 });
  shard.complete(shard.pollWorkflowTask(), []);
  update(shard, priority(3), 'priority');
  expect(shard.pendingTasks()).toEqual([]);
});

describe('a mask', () => {
  test.each([
    ['priority.priorityKey', { priorityKey: 5, fairnessKey: 'old', fairnessWeight: 2 }],
    ['priority.fairnessKey', { priorityKey: 1, fairnessKey: 'new', fairnessWeight: 2 }],
    ['priority.fairnessWeight', { priorityKey: 1, fairnessKey: 'old', fairnessWeight: 7 }],
  ] as const)('%s changes no more than that', (field, expected) => {
    const shard = new ShardUnderTest();
    shard.start({ start: { priority: priority(1, 'old', 2) } });
    update(shard, priority(5, 'new', 7), field);
    expect(shown(shard)).toEqual(expected);
  });

  test('that names nothing, or what is so already, writes nothing', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { priority: priority(1, 'old', 2) } });
    const records = shard.records.length;
    const same = { kind: 'workflowOptionsUpdated', priority: priority(1, 'old', 2) };
    expect(update(shard, priority(5))).toEqual(same);
    expect(update(shard, priority(1, 'old', 2), 'priority')).toEqual(same);
    expect(update(shard, priority(1), 'priority.priorityKey')).toEqual(same);
    expect(shard.records).toHaveLength(records);
  });

  test('without a value takes the priority away', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { priority: priority(1, 'old', 2) } });
    expect(update(shard, undefined, 'priority')).toEqual({ kind: 'workflowOptionsUpdated', priority: undefined });
    expect(shown(shard)).toBeUndefined();
    expect(update(shard, undefined, 'priority')).toEqual({ kind: 'workflowOptionsUpdated', priority: undefined });
    expect(shard.history()).toHaveLength(3);
  });
});

test('while a worker has a task the event waits, and the priority counts at once', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const task = shard.pollWorkflowTask();
  update(shard, priority(2), 'priority');
  expect(shard.describe()).toMatchObject({ historyLength: 3, priority: priority(2) });
  shard.complete(task, [scheduleActivity({ activityId: 'a' })]);
  expect(shard.history().slice(3)).toEqual([
    'workflowTaskCompleted',
    'activityTaskScheduled',
    'workflowExecutionOptionsUpdated',
    'workflowTaskScheduled',
  ]);
  expect(shard.pollActivityTask().priority).toEqual(priority(2));
});

describe('a run that comes after', () => {
  test('by continue-as-new has the priority', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const task = shard.pollWorkflowTask();
    shard.complete(task, []);
    update(shard, priority(2), 'priority');
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    expect(shown(shard)).toMatchObject({ priorityKey: 2 });
  });

  test('by a cron schedule begins as the first one did', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { cronSchedule: '@every 10s', runTimeoutMs: 5_000, priority: priority(4) } });
    update(shard, priority(2), 'priority');
    shard.advance(15_000);
    shard.fireDueTimers();
    expect(shown(shard)).toMatchObject({ priorityKey: 4 });
  });

  test('by a reset has it, whether it came before or after the event that is gone on from', () => {
    for (const isBefore of [true, false]) {
      const shard = new ShardUnderTest();
      shard.start();
      if (isBefore) update(shard, priority(2), 'priority');
      shard.complete(shard.pollWorkflowTask(), []);
      if (!isBefore) update(shard, priority(2), 'priority');
      shard.reset(isBefore ? 5 : 4);
      expect(shown(shard)).toMatchObject({ priorityKey: 2 });
    }
  });
});

test('a workflow that is closed has no options', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.expectDone({
    kind: 'terminateWorkflow',
    key,
    firstExecutionRunId: '',
    reason: '',
    details: undefined,
    identity,
    links: [],
    childOf: undefined,
  });
  const command = { kind: 'updateWorkflowOptions', key, fields: ['priority'], priority: priority(1), identity } as const;
  expect(shard.expectRejected(command).message).toBe('workflow execution already completed');
});

test('a reset brings new options: events behind what is applied again, before any task of the run that goes on', () => {
  const shard = new ShardUnderTest();
  shard.start({ start: { priority: priority(1, 'old', 2) } });
  shard.complete(shard.pollWorkflowTask());
  shard.signal();
  const runId = shard.reset(4, {
    priorityChanges: [
      { fields: ['priority.priorityKey'], priority: priority(5) },
      { fields: ['priority.priorityKey'], priority: priority(5) },
      { fields: ['priority.fairnessKey'], priority: priority(0, 'new') },
    ],
  });
  expect(shard.history(runId).slice(4)).toEqual([
    'workflowExecutionSignaled',
    'workflowExecutionOptionsUpdated',
    'workflowExecutionOptionsUpdated',
    'workflowTaskScheduled',
  ]);
  expect(shard.lastEvent('workflowExecutionOptionsUpdated')).toMatchObject({
    workerMayIgnore: true,
    attributes: { identity: '', priority: priority(5, 'new', 2), unsetVersioningOverride: true },
  });
  expect(shard.pendingTask('workflowTask').priority).toEqual({ priorityKey: 5, fairnessKey: 'new', fairnessWeight: 2 });
  expect(shown(shard)).toEqual({ priorityKey: 5, fairnessKey: 'new', fairnessWeight: 2 });
});

test('an activity that a reset finds pending waits for a worker with the new options', () => {
  const shard = new ShardUnderTest();
  shard.start({ start: { priority: priority(1) } });
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity()]);
  shard.signal();
  shard.pollWorkflowTask();
  shard.reset(8, { priorityChanges: [{ fields: ['priority.priorityKey'], priority: priority(5) }] });
  expect(shard.pendingTask('activityTask').priority).toMatchObject({ priorityKey: 5 });
});
