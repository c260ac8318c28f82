import { expect } from 'vitest';
import type { Run, Scenario, Stage } from '../harness.ts';
import { activity, workflowTask } from '../history.ts';
import { enums, numbersOf, valuesOf } from '../fields.ts';
import { cancelChildOnSignal, childThatContinues, leaveChild, runChild, signalChild, waitForCancel } from '../workflows.ts';

const { ParentClosePolicy, RetryState, StartChildWorkflowExecutionFailedCause } = enums;

/** Up to a child that runs while its parent waits. */
const childRuns = [
  'WorkflowExecutionStarted',
  ...workflowTask,
  'StartChildWorkflowExecutionInitiated',
  'ChildWorkflowExecutionStarted',
  ...workflowTask,
];

export const childScenarios: readonly Scenario[] = [
  {
    name: 'a child completes',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(runChild, [{ workflowId, mode: 'gate' }]);
      await run.until('WorkflowTaskCompleted', 2);
      const child = await stage.observe(workflowId);
      child.gate('child').open('hello from below');
      expect(await run.handle.result()).toBe('ok: "hello from below"');
      const history = await run.history();
      expect(history.types).toEqual([...childRuns, 'ChildWorkflowExecutionCompleted', ...workflowTask, 'WorkflowExecutionCompleted']);
      const initiated = history.only('startChildWorkflowExecutionInitiatedEventAttributes');
      expect(initiated).toMatchObject({
        workflowId,
        workflowType: { name: 'child' },
        taskQueue: { name: stage.taskQueue },
        parentClosePolicy: ParentClosePolicy.PARENT_CLOSE_POLICY_TERMINATE,
      });
      const started = history.only('childWorkflowExecutionStartedEventAttributes');
      expect(started.workflowExecution).toMatchObject({ workflowId, runId: child.runId });
      const completed = history.only('childWorkflowExecutionCompletedEventAttributes');
      expect(numbersOf(started.initiatedEventId, completed.initiatedEventId, completed.startedEventId)).toEqual([5, 5, 6]);
      expect(valuesOf(completed.result)).toEqual(['hello from below']);

      const childHistory = await child.history();
      expect(childHistory.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const childStarted = childHistory.only('workflowExecutionStartedEventAttributes');
      expect(childStarted).toMatchObject({
        parentWorkflowExecution: { workflowId: run.workflowId, runId: run.runId },
        rootWorkflowExecution: { workflowId: run.workflowId, runId: run.runId },
      });
      expect(Number(childStarted.parentInitiatedEventId)).toBe(5);
    },
  },
  {
    name: 'a child fails',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(runChild, [{ workflowId, mode: 'fail' }]);
      expect(await run.handle.result()).toBe('ChildWorkflowFailure < ApplicationFailure');
      await stage.observe(workflowId);
      const history = await run.history();
      expect(history.types.filter((type) => type.startsWith('Child') || type.startsWith('StartChild'))).toEqual([
        'StartChildWorkflowExecutionInitiated',
        'ChildWorkflowExecutionStarted',
        'ChildWorkflowExecutionFailed',
      ]);
      expect(history.only('childWorkflowExecutionFailedEventAttributes')).toMatchObject({
        failure: { message: 'child failed', applicationFailureInfo: { type: 'ChildTrouble' } },
        retryState: RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET,
      });
    },
  },
  {
    name: 'a child is terminated by somebody else',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(runChild, [{ workflowId, mode: 'wait' }]);
      await run.until('WorkflowTaskCompleted', 2);
      await (await stage.observe(workflowId)).handle.terminate('not needed');
      expect(await run.handle.result()).toBe('ChildWorkflowFailure < TerminatedFailure');
      expect((await run.history()).types).toEqual([
        ...childRuns,
        'ChildWorkflowExecutionTerminated',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'a child is deleted by somebody else',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(runChild, [{ workflowId, mode: 'wait' }]);
      await run.until('WorkflowTaskCompleted', 2);
      await stage.service.deleteWorkflowExecution({ namespace: stage.namespace, workflowExecution: { workflowId } });
      expect(await run.handle.result()).toBe('ChildWorkflowFailure < TerminatedFailure');
      expect((await run.history()).types).toEqual([
        ...childRuns,
        'ChildWorkflowExecutionTerminated',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      await expect(stage.observe(workflowId)).rejects.toThrow('workflow not found');
    },
  },
  {
    name: 'a child times out',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(runChild, [{ workflowId, mode: 'wait', options: { workflowRunTimeout: '2s' } }]);
      expect(await run.handle.result()).toBe('ChildWorkflowFailure < TimeoutFailure');
      await stage.observe(workflowId);
      const history = await run.history();
      expect(history.types).toEqual([...childRuns, 'ChildWorkflowExecutionTimedOut', ...workflowTask, 'WorkflowExecutionCompleted']);
      expect(history.only('childWorkflowExecutionTimedOutEventAttributes').retryState).toBe(RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET);
    },
  },
  {
    name: 'a parent cancels its child and waits for it',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(cancelChildOnSignal, [workflowId, 'WAIT_CANCELLATION_COMPLETED']);
      await run.until('WorkflowTaskCompleted', 2);
      const child = await stage.observe(workflowId);
      await child.until('WorkflowTaskCompleted');
      await run.handle.signal('go', 'now');
      expect(await run.handle.result()).toBe('ChildWorkflowFailure < CancelledFailure');
      const history = await run.history();
      const expected = [
        'RequestCancelExternalWorkflowExecutionInitiated',
        'ExternalWorkflowExecutionCancelRequested',
        'ChildWorkflowExecutionCanceled',
      ];
      expect(history.types.slice(0, childRuns.length + 4)).toEqual([...childRuns, 'WorkflowExecutionSignaled', ...workflowTask]);
      expect(history.types.filter((type) => expected.includes(type))).toEqual(expected);
      expect(history.only('requestCancelExternalWorkflowExecutionInitiatedEventAttributes')).toMatchObject({
        workflowExecution: { workflowId },
        childWorkflowOnly: true,
      });
      const childHistory = await child.history();
      expect(childHistory.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionCancelRequested',
        ...workflowTask,
        'WorkflowExecutionCanceled',
      ]);
      const requested = childHistory.only('workflowExecutionCancelRequestedEventAttributes');
      expect(requested.externalWorkflowExecution).toMatchObject({ workflowId: run.workflowId, runId: run.runId });
    },
  },
  {
    name: 'a parent abandons its child',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(cancelChildOnSignal, [workflowId, 'ABANDON']);
      await run.until('WorkflowTaskCompleted', 2);
      const child = await stage.observe(workflowId);
      await child.until('WorkflowTaskCompleted');
      await run.handle.signal('go', 'now');
      expect(await run.handle.result()).toBe('ChildWorkflowFailure < CancelledFailure');
      expect((await run.history()).types).toEqual([
        ...childRuns,
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      // Not canceled; but its parent has closed, and the policy for that was left at terminate.
      await expect(child.handle.result()).rejects.toMatchObject({ cause: { name: 'TerminatedFailure' } });
      expect((await child.history()).types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionTerminated']);
    },
  },
  {
    name: 'a parent that only tries to cancel its child continues at once',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(cancelChildOnSignal, [workflowId, 'TRY_CANCEL']);
      await run.until('WorkflowTaskCompleted', 2);
      const child = await stage.observe(workflowId);
      await child.until('WorkflowTaskCompleted');
      await run.handle.signal('go', 'now');
      expect(await run.handle.result()).toBe('ChildWorkflowFailure < CancelledFailure');
      const history = await run.history();
      expect(history.types).toEqual([
        ...childRuns,
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'RequestCancelExternalWorkflowExecutionInitiated',
        'WorkflowExecutionCompleted',
      ]);
      await expect(child.handle.result()).rejects.toMatchObject({ name: 'WorkflowFailedError' });
    },
  },
  {
    name: 'parent close policy terminate',
    async run(stage) {
      const child = await leftBehind(stage, 'TERMINATE');
      await expect(child.handle.result()).rejects.toMatchObject({ cause: { name: 'TerminatedFailure' } });
      const history = await child.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionTerminated']);
      expect(history.only('workflowExecutionTerminatedEventAttributes').reason).toBe('by parent close policy');
    },
  },
  {
    name: 'parent close policy request cancel',
    async run(stage) {
      const child = await leftBehind(stage, 'REQUEST_CANCEL');
      await expect(child.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      const history = await child.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionCancelRequested',
        ...workflowTask,
        'WorkflowExecutionCanceled',
      ]);
      const requested = history.only('workflowExecutionCancelRequestedEventAttributes');
      expect(requested).toMatchObject({ cause: '', externalWorkflowExecution: { workflowId: stage.id } });
      expect(Number(requested.externalInitiatedEventId)).toBe(0);
    },
  },
  {
    name: 'parent close policy abandon',
    async run(stage) {
      const child = await leftBehind(stage, 'ABANDON');
      expect((await child.handle.describe()).status.name).toBe('RUNNING');
      await child.handle.terminate('by the scenario');
      const history = await child.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionTerminated']);
      expect(history.only('workflowExecutionTerminatedEventAttributes').reason).toBe('by the scenario');
    },
  },
  {
    name: 'a child whose id is taken does not start',
    async run(stage) {
      const workflowId = `${stage.id}-taken`;
      const owner = await stage.start(waitForCancel, [], { workflowId });
      const run = await stage.start(runChild, [{ workflowId, mode: 'complete' }]);
      expect(await run.handle.result()).toBe('WorkflowExecutionAlreadyStartedError');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'StartChildWorkflowExecutionInitiated',
        'StartChildWorkflowExecutionFailed',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      expect(history.only('startChildWorkflowExecutionFailedEventAttributes')).toMatchObject({
        workflowId,
        cause: StartChildWorkflowExecutionFailedCause.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS,
      });
      await owner.handle.terminate();
    },
  },
  {
    name: 'a parent signals its child',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(signalChild, [workflowId]);
      expect(await run.handle.result()).toEqual(['from the parent']);
      const child = await stage.observe(workflowId);
      const history = await run.history();
      expect(history.only('signalExternalWorkflowExecutionInitiatedEventAttributes')).toMatchObject({
        workflowExecution: { workflowId },
        signalName: 'go',
        childWorkflowOnly: true,
      });
      expect(Number(history.only('externalWorkflowExecutionSignaledEventAttributes').initiatedEventId)).toBe(
        history.idOf('SignalExternalWorkflowExecutionInitiated'),
      );
      const signaled = (await child.history()).only('workflowExecutionSignaledEventAttributes');
      expect(signaled.externalWorkflowExecution).toMatchObject({ workflowId: run.workflowId, runId: run.runId });
    },
  },
  {
    name: 'a child that continues as new reports its last run',
    async run(stage) {
      const workflowId = `${stage.id}-child`;
      const run = await stage.start(childThatContinues, [workflowId]);
      expect(await run.handle.result()).toBe('last of {"runs":2}');
      const history = await run.history();
      const { runId } = history.only('childWorkflowExecutionStartedEventAttributes').workflowExecution ?? {};
      const first = await (await stage.observe(workflowId, runId ?? '')).history();
      expect(first.nextRunId).toBeDefined();
      expect(history.types.filter((type) => type.startsWith('Child'))).toEqual([
        'ChildWorkflowExecutionStarted',
        'ChildWorkflowExecutionCompleted',
      ]);
    },
  },
];

/** A child whose parent has just closed. */
async function leftBehind(stage: Stage, policy: Parameters<typeof leaveChild>[1]): Promise<Run> {
  const workflowId = `${stage.id}-child`;
  const run = await stage.start(leaveChild, [workflowId, policy]);
  await run.until('WorkflowTaskCompleted', 2);
  const child = await stage.observe(workflowId);
  await child.until('WorkflowTaskCompleted');
  await run.handle.signal('finish');
  expect(await run.handle.result()).toBe('left');
  expect((await run.history()).types).toEqual([...childRuns, 'WorkflowExecutionSignaled', ...workflowTask, 'WorkflowExecutionCompleted']);
  return child;
}
