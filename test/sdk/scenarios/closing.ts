import { TerminatedFailure } from '@temporalio/common';
import { WorkflowContinuedAsNewError, WorkflowFailedError } from '@temporalio/client';
import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { activity, workflowTask } from '../history.ts';
import { enums, millisOf, valuesOf } from '../fields.ts';
import { cleanUpOnCancel, collectSignals, countDown, failWith, surviveCancel, waitForCancel } from '../workflows.ts';

const notFound = 5;

/** How a workflow ends, and what comes after. */
export const closingScenarios: readonly Scenario[] = [
  {
    name: 'a workflow fails',
    async run(stage) {
      const run = await stage.start(failWith, ['it broke', 'Broken']);
      await expect(run.handle.result()).rejects.toBeInstanceOf(WorkflowFailedError);
      const history = await run.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionFailed']);
      const failed = history.only('workflowExecutionFailedEventAttributes');
      expect(failed).toMatchObject({
        retryState: enums.RetryState.RETRY_STATE_RETRY_POLICY_NOT_SET,
        failure: { message: 'it broke', applicationFailureInfo: { type: 'Broken', nonRetryable: true } },
      });
      expect(valuesOf(failed.failure?.applicationFailureInfo?.details)).toEqual(['a detail']);
    },
  },
  {
    name: 'a workflow is canceled once, however often that is requested',
    async run(stage) {
      const run = await stage.start(waitForCancel, []);
      await run.until('WorkflowTaskCompleted');
      await run.handle.cancel();
      await expect(run.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      await run.handle.cancel();
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionCancelRequested',
        ...workflowTask,
        'WorkflowExecutionCanceled',
      ]);
      expect(history.only('workflowExecutionCancelRequestedEventAttributes')).toMatchObject({ externalWorkflowExecution: null });
    },
  },
  {
    name: 'a workflow cleans up before it is canceled',
    async run(stage) {
      const run = await stage.start(cleanUpOnCancel, []);
      await run.until('WorkflowTaskCompleted');
      await run.handle.cancel();
      await expect(run.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionCancelRequested',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCanceled',
      ]);
    },
  },
  {
    name: 'a workflow may survive its cancel request, which is recorded once',
    async run(stage) {
      const run = await stage.start(collectSignals, [1], { workflowId: `${stage.id}-other` });
      await run.until('WorkflowTaskCompleted');
      const survivor = await stage.start(surviveCancel, []);
      await survivor.until('WorkflowTaskCompleted');
      await survivor.handle.cancel();
      expect(await survivor.handle.result()).toBe('survived CancelledFailure');
      expect((await survivor.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionCancelRequested',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      await run.handle.signal('go', 'unharmed');
      expect(await run.handle.result()).toEqual(['unharmed']);
    },
  },
  {
    name: 'a workflow is terminated, once',
    async run(stage) {
      const run = await stage.start(waitForCancel, []);
      await run.until('WorkflowTaskCompleted');
      await run.handle.terminate('out of patience');
      await expect(run.handle.result()).rejects.toMatchObject({ cause: expect.any(TerminatedFailure) });
      const history = await run.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionTerminated']);
      expect(history.only('workflowExecutionTerminatedEventAttributes')).toMatchObject({ reason: 'out of patience' });
      const again = { namespace: stage.namespace, workflowExecution: { workflowId: run.workflowId } };
      await expect(stage.service.terminateWorkflowExecution(again)).rejects.toMatchObject({
        code: notFound,
        details: 'workflow execution already completed',
      });
    },
  },
  {
    name: 'continue as new: a chain of runs with one result',
    async run(stage) {
      const run = await stage.start(countDown, [3], { workflowExecutionTimeout: '1h' });
      expect(await run.handle.result()).toBe('last of {"runs":2}');
      const first = await run.history();
      expect(first.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionContinuedAsNew']);
      const continued = first.only('workflowExecutionContinuedAsNewEventAttributes');
      expect(continued).toMatchObject({
        workflowType: { name: 'countDown' },
        taskQueue: { name: stage.taskQueue },
        // As the command had it; the next run's first event knows better.
        initiator: enums.ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_UNSPECIFIED,
      });
      expect(valuesOf(continued.input)).toEqual([2]);
      // As the command had them, too: the worker's build id goes on, and the pause between two runs is the next run's business.
      expect(continued.inheritBuildId).toBe(true);
      expect(millisOf(continued.backoffStartInterval)).toBe(0);

      const second = await (await stage.observe(run.workflowId, first.nextRunId)).history();
      const started = second.only('workflowExecutionStartedEventAttributes');
      expect(started).toMatchObject({
        continuedExecutionRunId: run.runId,
        firstExecutionRunId: run.runId,
        initiator: enums.ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_WORKFLOW,
        attempt: 1,
      });
      expect(millisOf(started.workflowRunTimeout)).toBe(30_000);
      expect(millisOf(started.workflowExecutionTimeout)).toBe(3_600_000);
      expect(second.types.at(-1)).toBe('WorkflowExecutionContinuedAsNew');

      const doesNotFollow = stage.client.workflow.getHandle(run.workflowId, run.runId, { followRuns: false });
      await expect(doesNotFollow.result()).rejects.toBeInstanceOf(WorkflowContinuedAsNewError);
    },
  },
];
