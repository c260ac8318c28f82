import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { enums, payloadOf, valuesOf } from '../fields.ts';
import { collectSignals, holdWorkflowTask, waitForCancel } from '../workflows.ts';

const notFound = 5;

export const signalScenarios: readonly Scenario[] = [
  {
    name: 'signals reach the workflow in order',
    async run(stage) {
      const run = await stage.start(collectSignals, [2]);
      await run.until('WorkflowTaskCompleted');
      await run.handle.signal('go', 'one');
      await run.until('WorkflowTaskCompleted', 2);
      await run.handle.signal('go', 'two');
      expect(await run.handle.result()).toEqual(['one', 'two']);
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
      const signals = history.all('workflowExecutionSignaledEventAttributes');
      expect(signals.map(({ signalName, input }) => [signalName, ...valuesOf(input)])).toEqual([
        ['go', 'one'],
        ['go', 'two'],
      ]);
      expect(signals[0]).toMatchObject({ externalWorkflowExecution: null, skipGenerateWorkflowTask: false });
      expect(signals[0]?.identity).not.toBe('');
    },
  },
  {
    name: 'signal with start: a new run starts with its signal',
    async run(stage) {
      const options = { workflowId: stage.id, taskQueue: stage.taskQueue, args: [1] as [number], signal: 'go', signalArgs: ['first'] };
      const handle = await stage.client.workflow.signalWithStart(collectSignals, options);
      const run = stage.track(handle, handle.signaledRunId);
      expect(await run.handle.result()).toEqual(['first']);
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'signal with start: a running workflow is only signalled',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      await run.until('WorkflowTaskCompleted');
      const options = { workflowId: stage.id, taskQueue: stage.taskQueue, args: [9] as [number], signal: 'go', signalArgs: ['again'] };
      const handle = await stage.client.workflow.signalWithStart(collectSignals, options);
      expect(handle.signaledRunId).toBe(run.runId);
      expect(await run.handle.result()).toEqual(['again']);
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'a signal that arrives during the last workflow task is not lost',
    async run(stage) {
      const run = await stage.start(holdWorkflowTask, []);
      await run.gate('hold').arrived;
      await run.handle.signal('go', 'meanwhile');
      // The workflow task is running: the signal is kept back, without an event id, until the task ends.
      expect((await run.history()).types).toEqual(['WorkflowExecutionStarted', 'WorkflowTaskScheduled', 'WorkflowTaskStarted']);
      run.gate('hold').open();
      expect(await run.handle.result()).toEqual(['meanwhile']);
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowTaskScheduled',
        'WorkflowTaskStarted',
        'WorkflowTaskFailed',
        'WorkflowExecutionSignaled',
        ...workflowTask,
        'MarkerRecorded',
        'WorkflowExecutionCompleted',
      ]);
      expect(history.only('workflowTaskFailedEventAttributes')).toMatchObject({
        cause: enums.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
        failure: { message: 'UnhandledCommand' },
      });
    },
  },
  {
    name: 'a repeated signal request counts once',
    async run(stage) {
      const run = await stage.start(collectSignals, [2]);
      await run.until('WorkflowTaskCompleted');
      const request = {
        namespace: stage.namespace,
        workflowExecution: { workflowId: run.workflowId },
        signalName: 'go',
        input: { payloads: [payloadOf('once')] },
        requestId: 'the-same',
        identity: 'twice',
      };
      await stage.service.signalWorkflowExecution(request);
      await stage.service.signalWorkflowExecution(request);
      await run.until('WorkflowTaskCompleted', 2);
      await run.handle.signal('go', 'other');
      expect(await run.handle.result()).toEqual(['once', 'other']);
      const signals = (await run.history()).all('workflowExecutionSignaledEventAttributes');
      expect(signals.map(({ identity }) => identity)[0]).toBe('twice');
      expect(signals).toHaveLength(2);
    },
  },
  {
    name: 'signals to unknown and to closed workflows are refused',
    async run(stage) {
      const signal = { signalName: 'go', namespace: stage.namespace };
      await expect(
        stage.service.signalWorkflowExecution({ ...signal, workflowExecution: { workflowId: `${stage.id}-unknown` } }),
      ).rejects.toMatchObject({ code: notFound, details: `workflow not found for ID: ${stage.id}-unknown` });
      const run = await stage.start(waitForCancel, []);
      await run.handle.terminate();
      await expect(
        stage.service.signalWorkflowExecution({ ...signal, workflowExecution: { workflowId: run.workflowId } }),
      ).rejects.toMatchObject({ code: notFound, details: 'workflow execution already completed' });
    },
  },
];
