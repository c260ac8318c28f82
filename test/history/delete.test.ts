import { describe, expect, test } from 'vitest';
import type { RunKey } from '../../src/kernel/run-key.ts';
import type { StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import {
  bytes,
  completeWorkflow,
  continueAsNew,
  deleteWorkflow,
  key,
  namespaceId,
  refOf,
  scheduleActivity,
  ShardUnderTest,
  signalAttributes,
  startChild,
  startTimer,
} from './shard-under-test.ts';

const childKey: RunKey = { namespaceId, workflowId: 'child', runId: '' };
const notFound = { reason: 'workflow-not-found', message: `workflow not found for ID: ${key.workflowId}` };

function closed(shard = new ShardUnderTest()): ShardUnderTest {
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  return shard;
}

function isThere(shard: ShardUnderTest, runKey: RunKey = key): boolean {
  return shard.ask({ kind: 'describeWorkflow', key: runKey })?.kind === 'description';
}

/** The child's worker takes its task; the parent's waits. */
function pollChild(shard: ShardUnderTest): StartedWorkflowTask {
  const task = [...shard.core.shard.transfers.values()].find((of) => of.kind === 'workflowTask' && of.key.workflowId === 'child');
  if (task?.kind !== 'workflowTask') throw new Error('the child has no task');
  const { scheduledEventId, stamp, taskQueue } = task;
  const start = { scheduledEventId, stamp, taskQueue, pollRequestId: shard.newRequestId(), identity: 'worker' };
  const reply = shard.ask({ kind: 'startWorkflowTask', key: task.key, ...start });
  if (reply?.kind !== 'workflowTask') throw new Error('not started');
  return reply;
}

describe('a run', () => {
  test('that is open is terminated first, as Temporal does it, and nothing of it stays', () => {
    const shard = new ShardUnderTest();
    const runId = shard.start({ start: { runTimeoutMs: 60_000 } });
    shard.complete(shard.pollWorkflowTask(), [startTimer(), scheduleActivity()]);
    const activity = shard.pollActivityTask();
    shard.signal();
    const task = shard.pollWorkflowTask();
    shard.expectDone(deleteWorkflow());
    expect(shard.events(runId).at(-1)).toMatchObject({
      type: 'workflowExecutionTerminated',
      attributes: { reason: 'Delete workflow execution', identity: 'history-service', details: undefined },
    });
    expect(shard.expectRejected({ kind: 'describeWorkflow', key })).toMatchObject(notFound);
    expect(shard.pendingTasks()).toEqual([]);
    expect(shard.nextTimer()).toBeUndefined();
    const failing = { cause: 1, failure: undefined, identity: '', binaryChecksum: '', jitter: 0 };
    expect(shard.expectRejected({ kind: 'failWorkflowTask', task: refOf(task), ...failing })).toMatchObject({ reason: 'task-not-found' });
    const { scheduledEventId, activityId, attempt } = activity;
    const ref = { key: activity.key, scheduledEventId, activityId, attempt };
    expect(shard.expectRejected({ kind: 'completeActivityTask', activity: ref, result: undefined, identity: '' })).toMatchObject({
      reason: 'activity-not-found',
    });
  });

  test('that is closed goes before its retention ends', () => {
    const shard = closed();
    shard.expectDone(deleteWorkflow());
    expect(isThere(shard)).toBe(false);
    expect(shard.nextTimer()).toBeUndefined();
    expect(shard.records.at(-1)).toMatchObject({ type: 'RunForgotten', tasks: [] });
  });

  test('goes by its run id, and a newer one stays the current one', () => {
    const shard = closed();
    const old = shard.describe().key;
    const runId = shard.start();
    shard.expectDone(deleteWorkflow(old));
    expect(isThere(shard, old)).toBe(false);
    expect(shard.describe().key.runId).toBe(runId);
  });

  test('that is the current one leaves the older ones to whoever knows their run ids', () => {
    const shard = closed();
    const old = shard.describe().key;
    shard.start();
    shard.expectDone(deleteWorkflow());
    expect(isThere(shard)).toBe(false);
    expect(isThere(shard, old)).toBe(true);
  });

  test('that continued as new goes alone', () => {
    const shard = new ShardUnderTest();
    const first = { ...key, runId: shard.start() };
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    shard.expectDone(deleteWorkflow(first));
    expect(isThere(shard, first)).toBe(false);
    expect(shard.describe()).toMatchObject({ status: 1 });
  });

  test('of another workflow id is not found', () => {
    const shard = closed();
    const { runId } = shard.describe().key;
    const message = `workflow execution not found for workflow ID "other" and run ID "${runId}"`;
    expect(shard.expectRejected(deleteWorkflow({ ...key, workflowId: 'other', runId }))).toEqual({ reason: 'workflow-not-found', message });
    expect(isThere(shard)).toBe(true);
  });
});

test('a workflow id is free at once, also where no duplicate is allowed', () => {
  const shard = closed();
  shard.expectDone(deleteWorkflow());
  shard.start({ policies: { reusePolicy: 3, conflictPolicy: 1 } });
  expect(shard.describe()).toMatchObject({ status: 1 });
  expect(shard.expectRejected(shard.startCommand({ policies: { reusePolicy: 3, conflictPolicy: 1 } }))).toMatchObject({
    reason: 'already-started',
  });
});

test('a query that waits for a workflow task is answered: the workflow is gone', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask());
  shard.signal();
  shard.request({ kind: 'queryWorkflow', key, queryId: 'q', query: bytes('query'), rejectCondition: 0, deadlineMs: shard.nowMs + 1_000 });
  const askId = shard.lastAskId;
  shard.effects.length = 0;
  shard.expectDone(deleteWorkflow());
  expect(shard.effects).toMatchObject([{ kind: 'reply', askId, reply: { kind: 'rejected', rejection: { reason: 'workflow-not-found' } } }]);
});

test.each([
  ['the next event', { waitBeyondEventId: 5, waitForClose: false }],
  ['the end', { waitBeyondEventId: -1, waitForClose: true }],
])('who waits for %s hears of it, and gets what nobody can read any more', (_, wait) => {
  const shard = new ShardUnderTest();
  const runId = shard.start();
  shard.complete(shard.pollWorkflowTask());
  shard.signal();
  shard.pollWorkflowTask();
  const lastEventId = shard.events(runId).length;
  const waitBeyondEventId = wait.waitBeyondEventId < 0 ? -1 : lastEventId;
  expect(shard.ask({ kind: 'getHistoryPosition', key, ...wait, waitBeyondEventId })).toBeUndefined();
  const askId = shard.lastAskId;
  shard.effects.length = 0;
  shard.expectDone(deleteWorkflow());
  const tailEvents = shard.records.at(-1)?.runs[0]?.events.map((event) => event.bytes);
  expect(shard.history(runId).slice(lastEventId)).toEqual(['workflowTaskFailed', 'workflowExecutionTerminated']);
  expect(tailEvents).toHaveLength(2);
  const reply = {
    kind: 'historyPosition',
    key: { ...key, runId },
    firstEventId: 1,
    lastEventId: lastEventId + 2,
    closed: true,
    tailEvents,
  };
  expect(shard.effects).toEqual([{ kind: 'reply', askId, reply }]);
});

describe('a parent', () => {
  function withChild(parentClosePolicy = 1): ShardUnderTest {
    const shard = new ShardUnderTest();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startChild({ parentClosePolicy })]);
    return shard;
  }

  test('hears that its child was terminated', () => {
    const shard = withChild();
    shard.pumpOutbox();
    shard.expectDone(deleteWorkflow(childKey));
    expect(shard.pendingTasks().filter((kind) => kind !== 'workflowTask')).toEqual(['notifyParent']);
    shard.pumpOutbox();
    expect(shard.history().at(-1)).toBe('childWorkflowExecutionTerminated');
    expect(shard.describe().pendingChildren).toEqual([]);
  });

  test('that is not in reach when its child closes and is deleted hears how it closed', () => {
    const shard = withChild();
    shard.pumpOutbox();
    shard.complete(pollChild(shard), [completeWorkflow(bytes('of the child'))]);
    shard.expectDone(deleteWorkflow(childKey));
    shard.pumpOutbox();
    expect(shard.lastEvent('childWorkflowExecutionCompleted').attributes).toMatchObject({ result: bytes('of the child') });
  });

  test('that asks again for the child that was deleted meanwhile gets no second one', () => {
    const shard = withChild();
    const start = shard.pendingTask('startChild');
    shard.carryInVain(start);
    const made = shard.describe(childKey).key.runId;
    shard.expectDone(deleteWorkflow(childKey));
    shard.carryInVain(start);
    expect(isThere(shard, childKey)).toBe(false);
    shard.pumpOutbox();
    expect(isThere(shard, childKey)).toBe(false);
    expect(shard.lastEvent('childWorkflowExecutionTerminated').attributes).toMatchObject({ workflowExecution: { runId: made } });
  });

  test.each([
    ['its first run first', (first: RunKey) => [first, childKey]],
    ['its last run first', (first: RunKey) => [childKey, first]],
  ])('that asks again for the child that continued as new and was deleted meanwhile, %s, gets no second one', (_, order) => {
    const shard = withChild();
    const start = shard.pendingTask('startChild');
    shard.carryInVain(start);
    const first = shard.describe(childKey).key;
    const signal = signalAttributes({ requestId: shard.newRequestId() });
    expect(shard.ask({ kind: 'signalWorkflow', key: childKey, signal, childOf: undefined })).toMatchObject({ kind: 'signaled' });
    shard.complete(pollChild(shard), [continueAsNew()]);
    for (const run of order(first)) shard.expectDone(deleteWorkflow(run));
    shard.carryInVain(start);
    expect(isThere(shard, childKey)).toBe(false);
    shard.pumpOutbox();
    expect(isThere(shard, childKey)).toBe(false);
    expect(shard.lastEvent('childWorkflowExecutionStarted').attributes).toMatchObject({ workflowExecution: { runId: first.runId } });
    expect(shard.history().at(-1)).toBe('childWorkflowExecutionTerminated');
    expect(shard.core.canonicalState()).not.toContain(first.runId);
  });

  test.each([
    ['is terminated', 1, { status: 5 }],
    ['is left alone', 2, { status: 1 }],
    ['is asked to cancel', 3, { status: 1, cancelRequested: true }],
  ])('is deleted, and its child %s', (_, policy, expected) => {
    const shard = withChild(policy);
    shard.pumpOutbox();
    shard.expectDone(deleteWorkflow());
    shard.pumpOutbox();
    expect(isThere(shard)).toBe(false);
    const { status } = shard.describe(childKey);
    expect(status).toBe(expected.status);
    const asked = shard.history(shard.describe(childKey).key.runId).includes('workflowExecutionCancelRequested');
    expect(asked).toBe('cancelRequested' in expected);
  });

  test.each([
    ['ends it', 1, 5],
    ['lets it go on', 2, 1],
  ])('that is deleted before it knew of its child %s all the same', (_, policy, status) => {
    const shard = withChild(policy);
    shard.carryInVain(shard.pendingTask('startChild'));
    shard.expectDone(deleteWorkflow());
    shard.pumpOutbox();
    expect(shard.describe(childKey)).toMatchObject({ status });
    if (status === 1) expect(shard.pendingTask('workflowTask').key.workflowId).toBe('child');
    expect(shard.pendingTasks().filter((kind) => kind !== 'workflowTask')).toEqual([]);
  });

  test('whose child is quarantined, closed and deleted hears of it', () => {
    const shard = withChild();
    shard.pumpOutbox();
    shard.complete(pollChild(shard), [completeWorkflow()]);
    const aside = { failedCommand: 'notifyParent', taskId: 0, reason: 'planted' };
    shard.expectDone({ kind: 'putAside', key: shard.describe(childKey).key, ...aside });
    expect(shard.pendingTasks()).not.toContain('notifyParent');
    shard.expectDone(deleteWorkflow(childKey));
    expect(shard.core.shard.aside.size).toBe(0);
    shard.pumpOutbox();
    expect(shard.history()).toContain('childWorkflowExecutionCompleted');
  });
});
