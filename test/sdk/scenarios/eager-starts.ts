import { Client } from '@temporalio/client';
import { expect } from 'vitest';
import { enums } from '../fields.ts';
import type { Scenario } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { completeWorkflow, RawWorker } from '../raw-worker.ts';
import { callActivity } from '../workflows.ts';

const { TimeoutType, WorkflowIdConflictPolicy } = enums;
const notFound = 5;
const second = { seconds: 1 as never };

/** The first workflow task comes with the answer to the start. */
export const eagerStartScenarios: readonly Scenario[] = [
  {
    name: 'a workflow that is started eagerly: no poll gets its first task',
    async run(stage) {
      const taskQueue = `${stage.id}-queue`;
      const worker = await stage.suite.startWorker(taskQueue);
      try {
        const client = new Client({ connection: stage.suite.native, namespace: stage.namespace, identity: 'eager-client' });
        const options = { taskQueue, workflowId: stage.id, args: ['greet', ['eager'], {}], requestEagerStart: true };
        const handle = await client.workflow.start(callActivity.name, options);
        const run = stage.track(handle, handle.firstExecutionRunId);
        expect(handle.eagerlyStarted).toBe(true);
        expect(await handle.result()).toBe('Hello, eager!');
        const history = await run.history();
        expect(history.types.slice(0, 4)).toEqual(['WorkflowExecutionStarted', ...workflowTask]);
        expect(history.only('workflowExecutionStartedEventAttributes').eagerExecutionAccepted).toBe(true);
        const [started] = history.all('workflowTaskStartedEventAttributes');
        // Whom it was started for is who asked for it; with a poll it would be the worker.
        expect(started?.identity).toBe('eager-client');
        expect(history.all('workflowTaskCompletedEventAttributes')[0]?.identity).not.toBe('eager-client');
      } finally {
        await worker.stop();
      }
    },
  },
  {
    name: 'an eager first task: returned again to a repeated request, and given to another worker when it is not answered',
    async run(stage) {
      const worker = new RawWorker(stage);
      const request = worker.startRequest({ requestEagerExecution: true, workflowTaskTimeout: second });
      const answer = await stage.service.startWorkflowExecution(request);
      const run = await stage.observe(stage.id, answer.runId);
      const { eagerWorkflowTask: eager } = answer;
      expect(eager).toMatchObject({ workflowExecution: { workflowId: stage.id, runId: answer.runId }, attempt: 1 });
      expect(eager?.history?.events?.map(({ eventId }) => Number(eventId))).toEqual([1, 2, 3]);
      const again = await stage.service.startWorkflowExecution(request);
      expect(again).toMatchObject({ runId: answer.runId, started: true, eagerWorkflowTask: { attempt: 1 } });
      const { WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING: workflowIdConflictPolicy } = WorkflowIdConflictPolicy;
      const another = await stage.service.startWorkflowExecution({ ...request, requestId: 'another', workflowIdConflictPolicy });
      expect([another.started, another.eagerWorkflowTask ?? undefined]).toEqual([false, undefined]);
      const task = await worker.poll();
      expect(task.attempt).toBe(2);
      const late = await stage.service.startWorkflowExecution(request);
      expect([late.started, late.eagerWorkflowTask ?? undefined]).toEqual([true, undefined]);
      await expect(worker.complete(eager ?? {})).rejects.toMatchObject({ code: notFound });
      await worker.complete(task, [completeWorkflow('done')]);
      const history = await run.history();
      expect(history.types.slice(0, 4)).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowTaskScheduled',
        'WorkflowTaskStarted',
        'WorkflowTaskTimedOut',
      ]);
      expect(history.only('workflowTaskTimedOutEventAttributes').timeoutType).toBe(TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE);
    },
  },
];
