import { randomUUID } from 'node:crypto';
import { ActivityNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'vitest';
import { encodeTemporalTaskToken } from '../../../src/wire/generated/token/token.ts';
import type { Run, Scenario, Stage } from '../harness.ts';
import { activity, workflowTask } from '../history.ts';
import { enums, numbersOf, payloadOf, valuesOf } from '../fields.ts';
import { callActivity, callLocalActivity, cancelActivityOnSignal, outcomeOfActivity } from '../workflows.ts';

const once = { maximumAttempts: 1 } as const;

/** Activities that somebody else completes, by token or by id, and local ones that no server ever sees. */
export const activityCompletionScenarios: readonly Scenario[] = [
  {
    name: 'an activity is completed by token',
    async run(stage) {
      const { run, token } = await startAsync(stage);
      await stage.client.activity.complete(token, 'from outside');
      expect(await run.handle.result()).toBe('from outside');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      expect(valuesOf(history.only('activityTaskCompletedEventAttributes').result)).toEqual(['from outside']);
      await expect(stage.client.activity.complete(token, 'again')).rejects.toThrow('Not found');
    },
  },
  {
    name: 'an activity is kept alive and completed by id',
    async run(stage) {
      const { run, byId } = await startAsync(stage, { heartbeatTimeout: '5s' });
      await stage.client.activity.heartbeat(byId, 'half way');
      await stage.client.activity.complete(byId, 'by id');
      expect(await run.handle.result()).toBe('by id');
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'an activity is failed by id',
    async run(stage) {
      const { run, byId } = await startAsync(stage, { retry: once });
      await stage.client.activity.fail(byId, ApplicationFailure.create({ message: 'failed from outside', type: 'Outside' }));
      await expect(run.handle.result()).rejects.toThrow('Workflow execution failed');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'ActivityTaskScheduled',
        'ActivityTaskStarted',
        'ActivityTaskFailed',
        ...workflowTask,
        'WorkflowExecutionFailed',
      ]);
      expect(history.only('activityTaskFailedEventAttributes').failure).toMatchObject({
        message: 'failed from outside',
        applicationFailureInfo: { type: 'Outside' },
      });
    },
  },
  {
    name: 'a cancellation is reported by id, and not before it was requested',
    async run(stage) {
      const options = { cancellationType: 'WAIT_CANCELLATION_COMPLETED' } as const;
      const run = await stage.start(cancelActivityOnSignal, ['completeLater', { ...options, activityId: 'outside' }, false]);
      await run.gate('token').opened;
      const byId = { workflowId: run.workflowId, activityId: 'outside' };
      const execution = { namespace: stage.namespace, workflowId: run.workflowId, activityId: 'outside' };
      await expect(stage.service.respondActivityTaskCanceledById(execution)).rejects.toMatchObject({
        code: 3,
        details: 'unable to mark activity as canceled without activity being request canceled first',
      });
      await run.handle.signal('go', 'now');
      await run.until('ActivityTaskCancelRequested');
      await stage.client.activity.reportCancellation(byId, 'stopped outside');
      expect(await run.handle.result()).toBe('ActivityFailure < CancelledFailure');
      const canceled = (await run.history()).only('activityTaskCanceledEventAttributes');
      expect(valuesOf(canceled.details)).toEqual(['stopped outside']);
    },
  },
  {
    name: 'an activity that has not started is completed by id',
    async run(stage) {
      const options = { activityId: 'early', taskQueue: `${stage.id}-nobody` };
      const run = await stage.start(callActivity, ['greet', ['nobody'], options]);
      await run.until('ActivityTaskScheduled');
      await stage.client.activity.complete({ workflowId: run.workflowId, activityId: 'early' }, 'before it began');
      expect(await run.handle.result()).toBe('before it began');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...activity,
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const completed = history.only('activityTaskCompletedEventAttributes');
      expect(numbersOf(completed.scheduledEventId, completed.startedEventId)).toEqual([5, 6]);
    },
  },
  {
    name: 'an unknown activity id is not found',
    async run(stage) {
      const { run, token } = await startAsync(stage);
      const request = {
        namespace: stage.namespace,
        workflowId: run.workflowId,
        activityId: 'unknown',
        result: { payloads: [payloadOf(1)] },
      };
      await expect(stage.service.respondActivityTaskCompletedById(request)).rejects.toMatchObject({
        code: 5,
        details: expect.stringContaining('cannot find pending activity with ActivityID unknown'),
      });
      await stage.client.activity.complete(token, 'done');
      await run.handle.result();
    },
  },
  {
    name: 'a task of another server, by its token, is not found',
    async run(stage) {
      const { namespaceInfo } = await stage.service.describeNamespace({ namespace: stage.namespace });
      const names = { namespaceId: namespaceInfo?.id ?? '', workflowId: 'of-another-server', runId: randomUUID() };
      const token = encodeTemporalTaskToken(names);
      const { activity: tasks } = stage.client;
      await expect(tasks.complete(token, 'done')).rejects.toThrow(ActivityNotFoundError);
      await expect(tasks.fail(token, new Error('failed'))).rejects.toThrow(ActivityNotFoundError);
      await expect(tasks.reportCancellation(token)).rejects.toThrow(ActivityNotFoundError);
      await expect(tasks.heartbeat(token)).rejects.toThrow(ActivityNotFoundError);
    },
  },
  {
    name: 'a local activity is a marker',
    async run(stage) {
      const run = await stage.start(callLocalActivity, ['greet', ['marker'], {}]);
      expect(await run.handle.result()).toBe('ok: "Hello, marker!"');
      const history = await run.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'MarkerRecorded', 'WorkflowExecutionCompleted']);
      const marker = history.only('markerRecordedEventAttributes');
      expect(marker.markerName).toBe('core_local_activity');
      expect(Object.keys(marker.details ?? {}).sort()).toEqual(['data', 'result']);
      expect(Number(marker.workflowTaskCompletedEventId)).toBe(4);
    },
  },
  {
    name: 'a local activity is retried by the worker and fails into a marker',
    async run(stage) {
      const retry = { initialInterval: 10, maximumAttempts: 2 };
      const run = await stage.start(callLocalActivity, ['flaky', [9], { retry }]);
      expect(await run.handle.result()).toBe('ApplicationFailure');
      const history = await run.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'MarkerRecorded', 'WorkflowExecutionCompleted']);
      expect(history.only('markerRecordedEventAttributes').failure).toMatchObject({ message: 'attempt 2 failed' });
    },
  },
  {
    name: 'a long local activity keeps its workflow task alive',
    async run(stage) {
      const run = await stage.start(callLocalActivity, ['waitAtGate', ['long'], {}], { workflowTaskTimeout: '2s' });
      await run.gate('long').arrived;
      await run.until('WorkflowTaskCompleted');
      run.gate('long').open('at last');
      expect(await run.handle.result()).toBe('ok: "at last"');
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        ...workflowTask,
        'MarkerRecorded',
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'a failed activity that the workflow survives',
    async run(stage) {
      const run = await stage.start(outcomeOfActivity, ['failFor', ['broken', 'Broken', false], { retry: once }]);
      expect(await run.handle.result()).toBe('ActivityFailure < ApplicationFailure');
      const { failure } = (await run.history()).only('activityTaskFailedEventAttributes');
      expect(valuesOf(failure?.applicationFailureInfo?.details)).toEqual([{ reason: 'broken' }]);
      expect((await run.history()).only('activityTaskFailedEventAttributes').retryState).toBe(
        enums.RetryState.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED,
      );
    },
  },
];

async function startAsync(stage: Stage, options: Parameters<typeof callActivity>[2] = {}): Promise<AsyncActivity> {
  const run = await stage.start(callActivity, ['completeLater', [], { activityId: 'outside', ...options }]);
  const token = Buffer.from(await run.gate('token').opened, 'base64');
  return { run, token, byId: { workflowId: run.workflowId, activityId: 'outside' } };
}

type AsyncActivity = {
  readonly run: Run<typeof callActivity>;
  readonly token: Uint8Array;
  readonly byId: { readonly workflowId: string; readonly activityId: string };
};
