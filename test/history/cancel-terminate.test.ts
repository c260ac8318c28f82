import { describe, expect, test } from 'vitest';
import type { RequestCancelWorkflow, TerminateWorkflow } from '../../src/history/commands/history-commands.ts';
import {
  bytes,
  completeWorkflow,
  continueAsNew,
  key,
  scheduleActivity,
  ShardUnderTest,
  startTimer,
  terminateWorkflow,
} from './shard-under-test.ts';

const otherRun = '00000000-0000-4000-8000-00000000ffff';

function cancel(change: Partial<RequestCancelWorkflow> = {}): RequestCancelWorkflow {
  return {
    kind: 'requestCancelWorkflow',
    key,
    firstExecutionRunId: '',
    cause: 'why',
    identity: 'client',
    requestId: 'r',
    links: [bytes('link')],
    external: undefined,
    childOf: undefined,
    ...change,
  };
}

function terminate(change: Partial<TerminateWorkflow> = {}): TerminateWorkflow {
  return terminateWorkflow({ details: bytes('details'), links: [bytes('link')], ...change });
}

describe('cancel', () => {
  test('is written once, and wakes the workflow', () => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startTimer()]);
    shard.expectDone(cancel());
    shard.expectDone(cancel({ requestId: 'another' }));
    expect(shard.history().slice(5)).toEqual(['workflowExecutionCancelRequested', 'workflowTaskScheduled']);
    expect(shard.lastEvent('workflowExecutionCancelRequested')).toMatchObject({
      links: [bytes('link')],
      attributes: { cause: 'why', identity: 'client', externalWorkflowExecution: undefined },
    });
    expect(shard.describe().cancelRequested).toBe(true);
  });

  test('of a closed workflow is done already', () => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.expectDone(terminate());
    const { length } = shard.history();
    shard.expectDone(cancel());
    // Whoever it was meant for.
    shard.expectDone(cancel({ firstExecutionRunId: otherRun }));
    expect(shard.history()).toHaveLength(length);
  });
});

describe('terminate', () => {
  test('ends everything that was under way', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { runTimeoutMs: 60_000 } });
    shard.complete(shard.pollWorkflowTask(), [startTimer(), scheduleActivity(), scheduleActivity({ activityId: 'a2' })]);
    shard.pollActivityTask();
    shard.signal();
    shard.expectDone(terminate());
    expect(shard.history().at(-1)).toBe('workflowExecutionTerminated');
    expect(shard.lastEvent('workflowExecutionTerminated')).toMatchObject({
      links: [bytes('link')],
      attributes: { reason: 'enough', details: bytes('details'), identity: 'client' },
    });
    expect(shard.pendingTasks()).toEqual([]);
    const { pendingActivities, pendingWorkflowTask, status } = shard.describe();
    expect({ pendingActivities, pendingWorkflowTask, status }).toEqual({
      pendingActivities: [],
      pendingWorkflowTask: undefined,
      status: 5,
    });
    expect(shard.nextTimer()?.fireTimeMs, 'only its retention is left').toBe(shard.nowMs + 72 * 3_600_000);
  });

  test('of a closed workflow is refused', () => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    expect(shard.expectRejected(terminate())).toEqual({ reason: 'workflow-closed', message: 'workflow execution already completed' });
  });
});

describe.each([
  ['cancel', cancel],
  ['terminate', terminate],
] as const)('%s finds its target', (_, command) => {
  test('by the first run of a chain', () => {
    const shard = new ShardUnderTest();
    const first = shard.start();
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    shard.expectDone(command({ firstExecutionRunId: first }));
    expect(shard.describe()).toMatchObject({ firstRunId: first });
    expect(shard.history().length).toBeGreaterThan(1);
  });

  test('not by the first run of another chain', () => {
    const shard = new ShardUnderTest();
    shard.start();
    expect(shard.expectRejected(command({ firstExecutionRunId: otherRun }))).toEqual({
      reason: 'workflow-not-found',
      message: 'workflow execution not found',
    });
  });

  test('not by an unknown run', () => {
    const shard = new ShardUnderTest();
    shard.start();
    expect(shard.expectRejected(command({ key: { ...key, runId: otherRun } }))).toEqual({
      reason: 'workflow-not-found',
      message: `workflow execution not found for workflow ID "wf" and run ID "${otherRun}"`,
    });
  });

  test('not by the run id of another workflow', () => {
    const shard = new ShardUnderTest();
    const runId = shard.start();
    expect(shard.expectRejected(command({ key: { ...key, workflowId: 'other', runId } }))).toMatchObject({ reason: 'workflow-not-found' });
  });
});
