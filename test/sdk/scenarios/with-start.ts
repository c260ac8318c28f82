import { WithStartWorkflowOperation, WorkflowExecutionAlreadyStartedError, WorkflowUpdateFailedError } from '@temporalio/client';
import { expect } from 'vitest';
import { enums, payloadOf } from '../fields.ts';
import type { Run, Scenario, Stage } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { say, talk } from '../talking-workflows.ts';
import { collectSignals, failWith, sleepFor } from '../workflows.ts';

type SignalOptions = { readonly [option: string]: unknown };

/** Signal-with-start and update-with-start under every policy of ids. */
export const withStartScenarios: readonly Scenario[] = [
  {
    name: 'signal with start, terminate existing: the old run is terminated, and the new one has the signal',
    async run(stage) {
      const old = await stage.start(collectSignals, [9]);
      await old.until('WorkflowTaskCompleted');
      const run = await signalWithStart(stage, { workflowIdConflictPolicy: 'TERMINATE_EXISTING' });
      expect(run.runId).not.toBe(old.runId);
      expect(await run.handle.result()).toEqual(['first']);
      const terminated = (await old.history()).only('workflowExecutionTerminatedEventAttributes');
      expect(terminated.reason).toBe('TerminateIfRunning WorkflowIdReusePolicy');
      expect((await run.history()).types.slice(0, 2)).toEqual(['WorkflowExecutionStarted', 'WorkflowExecutionSignaled']);
    },
  },
  {
    name: 'signal with start, reject duplicate: a closed workflow is neither signalled nor started',
    async run(stage) {
      const old = await stage.start(sleepFor, [1]);
      await old.handle.result();
      await expect(signalWithStart(stage, { workflowIdReusePolicy: 'REJECT_DUPLICATE' })).rejects.toBeInstanceOf(
        WorkflowExecutionAlreadyStartedError,
      );
    },
  },
  {
    name: 'signal with start, failed only: after a failure it starts',
    async run(stage) {
      const old = await stage.start(failWith, ['first', 'Broken']);
      await old.handle.result().catch(() => undefined);
      const run = await signalWithStart(stage, { workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' });
      expect(run.runId).not.toBe(old.runId);
      expect(await run.handle.result()).toEqual(['first']);
      await expect(signalWithStart(stage, { workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' })).rejects.toBeInstanceOf(
        WorkflowExecutionAlreadyStartedError,
      );
    },
  },
  {
    name: 'signal with start: memo, attributes and header are those of the run that it starts',
    async run(stage) {
      const request = {
        namespace: stage.namespace,
        workflowId: stage.id,
        workflowType: { name: 'collectSignals' },
        taskQueue: { name: stage.taskQueue },
        input: { payloads: [payloadOf(1)] },
        requestId: crypto.randomUUID(),
        signalName: 'go',
        signalInput: { payloads: [payloadOf('first')] },
        memo: { fields: { note: payloadOf('kept') } },
        searchAttributes: { indexedFields: { SdkInt: payloadOf(3) } },
        header: { fields: { trace: payloadOf('t') } },
        identity: 'raw-client',
      };
      const { runId, started } = await stage.service.signalWithStartWorkflowExecution(request);
      expect(started).toBe(true);
      const run = await stage.observe(stage.id, runId);
      expect(await run.handle.result()).toEqual(['first']);
      const history = await run.history();
      const start = history.only('workflowExecutionStartedEventAttributes');
      expect([Object.keys(start.memo?.fields ?? {}), Object.keys(start.header?.fields ?? {})]).toEqual([['note'], ['trace']]);
      const signal = history.only('workflowExecutionSignaledEventAttributes');
      expect([signal.identity, Object.keys(signal.header?.fields ?? {})]).toEqual(['raw-client', ['trace']]);
      expect((await run.handle.describe()).searchAttributes).toMatchObject({ SdkInt: [3] });
    },
  },
  {
    name: 'update with start, fail: a running workflow keeps its id and sees no update',
    async run(stage) {
      const run = await stage.start(talk, []);
      await run.until('WorkflowTaskCompleted');
      const refused = updateWithStart(stage, 'x', { workflowIdConflictPolicy: 'FAIL' });
      await expect(refused).rejects.toBeInstanceOf(WorkflowExecutionAlreadyStartedError);
      await run.handle.signal('finish');
      expect(await run.handle.result()).toEqual([]);
    },
  },
  {
    name: 'update with start: the workflow is started even if the validator refuses the update',
    async run(stage) {
      await expect(updateWithStart(stage, 'secret')).rejects.toBeInstanceOf(WorkflowUpdateFailedError);
      const run = await stage.observe(stage.id);
      await run.handle.signal('finish');
      expect(await run.handle.result()).toEqual([]);
    },
  },
  {
    name: 'update with start, repeated with its update id: the same answer, and the workflow gets it once',
    async run(stage) {
      const again = { updateId: 'same' };
      expect(await updateWithStart(stage, 'once', {}, again)).toBe('1: once');
      expect(await updateWithStart(stage, 'once', {}, again)).toBe('1: once');
      const run = await stage.observe(stage.id);
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'WorkflowExecutionUpdateAccepted',
        'WorkflowExecutionUpdateCompleted',
      ]);
      await run.handle.signal('finish');
      expect(await run.handle.result()).toEqual(['once']);
    },
  },
  {
    name: 'update with start: a closed workflow starts again, unless its id may be used once',
    async run(stage) {
      const old = await stage.start(sleepFor, [1]);
      await old.handle.result();
      expect(await updateWithStart(stage, 'again')).toBe('1: again');
      const run = await stage.observe(stage.id);
      expect(run.runId).not.toBe(old.runId);
      await run.handle.signal('finish');
      await run.handle.result();
      await expect(updateWithStart(stage, 'never', { workflowIdReusePolicy: 'REJECT_DUPLICATE' })).rejects.toBeInstanceOf(
        WorkflowExecutionAlreadyStartedError,
      );
    },
  },
  {
    name: 'a workflow that replaces another reports its own conflict policy, not that of the first',
    async run(stage) {
      const first = await stage.start(collectSignals, [1], { workflowIdConflictPolicy: 'TERMINATE_EXISTING' });
      const second = await stage.start(collectSignals, [1], { workflowIdConflictPolicy: 'TERMINATE_EXISTING' });
      const third = await stage.start(collectSignals, [1], { workflowIdConflictPolicy: 'USE_EXISTING' });
      expect([second.runId === first.runId, third.runId]).toEqual([false, second.runId]);
      const described = await stage.describe(first)();
      expect(described.workflowExecutionInfo?.status).toBe(enums.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TERMINATED);
      await third.handle.signal('go', 'end');
      expect(await second.handle.result()).toEqual(['end']);
    },
  },
];

async function signalWithStart(stage: Stage, options: SignalOptions): Promise<Run> {
  const handle = await stage.client.workflow.signalWithStart(collectSignals, {
    workflowId: stage.id,
    taskQueue: stage.taskQueue,
    args: [1],
    signal: 'go',
    signalArgs: ['first'],
    ...options,
  });
  return stage.observe(handle.workflowId, handle.signaledRunId);
}

async function updateWithStart(
  stage: Stage,
  text: string,
  options: SignalOptions = {},
  update: { updateId?: string } = {},
): Promise<string> {
  const startWorkflowOperation = new WithStartWorkflowOperation(talk, {
    workflowId: stage.id,
    taskQueue: stage.taskQueue,
    args: [],
    workflowIdConflictPolicy: 'USE_EXISTING',
    ...options,
  });
  startWorkflowOperation.workflowHandle().catch(() => undefined);
  return stage.client.workflow.executeUpdateWithStart(say, { args: [text], startWorkflowOperation, ...update });
}
