import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { enums } from '../fields.ts';
import { RawWorker, completeWorkflow } from '../raw-worker.ts';
import { collectSignals, failWith, sleepFor, waitForCancel } from '../workflows.ts';

const alreadyExists = 6;

/** One workflow id, several starts: who wins. */
export const identityScenarios: readonly Scenario[] = [
  {
    name: 'conflict policy fail: a running workflow keeps its id',
    async run(stage) {
      const run = await stage.start(waitForCancel, []);
      await expect(stage.start(waitForCancel, [])).rejects.toBeInstanceOf(WorkflowExecutionAlreadyStartedError);
      await expect(stage.service.startWorkflowExecution(new RawWorker(stage).startRequest())).rejects.toMatchObject({
        code: alreadyExists,
        details: `Workflow execution is already running. WorkflowId: ${run.workflowId}, RunId: ${run.runId}.`,
      });
      await run.handle.terminate();
    },
  },
  {
    name: 'conflict policy use existing: the caller gets the running workflow',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      await run.until('WorkflowTaskCompleted');
      const same = await stage.start(collectSignals, [5], { workflowIdConflictPolicy: 'USE_EXISTING' });
      expect(same.runId).toBe(run.runId);
      await same.handle.signal('go', 'shared');
      expect(await run.handle.result()).toEqual(['shared']);
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
    name: 'conflict policy use existing: the request id can be attached',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const attaching = worker.startRequest({
        workflowIdConflictPolicy: enums.WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
        onConflictOptions: { attachRequestId: true },
      });
      expect(await stage.service.startWorkflowExecution(attaching)).toMatchObject({ runId: run.runId, started: false });
      // The attached id is known from now on: the same request again changes nothing.
      expect(await stage.service.startWorkflowExecution(attaching)).toMatchObject({ runId: run.runId, started: false });
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowTaskScheduled',
        'WorkflowExecutionOptionsUpdated',
        'WorkflowTaskStarted',
        'WorkflowTaskCompleted',
        'WorkflowExecutionCompleted',
      ]);
      expect(history.only('workflowExecutionOptionsUpdatedEventAttributes').attachedRequestId).toBe(attaching.requestId);
    },
  },
  {
    name: 'conflict policy terminate existing: the old run is terminated',
    async run(stage) {
      const old = await stage.start(waitForCancel, []);
      await old.until('WorkflowTaskCompleted');
      const replacement = await stage.start(sleepFor, [1], { workflowIdConflictPolicy: 'TERMINATE_EXISTING' });
      expect(replacement.runId).not.toBe(old.runId);
      expect(await replacement.handle.result()).toBe('awake');
      const history = await old.history();
      expect(history.types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionTerminated']);
      const terminated = history.only('workflowExecutionTerminatedEventAttributes');
      expect(terminated.reason).toBe('TerminateIfRunning WorkflowIdReusePolicy');
      expect(new TextDecoder().decode(terminated.details?.payloads?.[0]?.data ?? undefined)).toBe(
        `"terminated by new runID: ${replacement.runId}"`,
      );
    },
  },
  {
    name: 'reuse policy allow duplicate: a finished id starts again',
    async run(stage) {
      const first = await stage.start(sleepFor, [1]);
      await first.handle.result();
      const second = await stage.start(sleepFor, [1], { workflowIdReusePolicy: 'ALLOW_DUPLICATE' });
      expect(second.runId).not.toBe(first.runId);
      await second.handle.result();
      const started = (await second.history()).only('workflowExecutionStartedEventAttributes');
      expect(started).toMatchObject({
        originalExecutionRunId: second.runId,
        firstExecutionRunId: second.runId,
        continuedExecutionRunId: '',
      });
    },
  },
  {
    name: 'reuse policy failed only: after a failure, not after a success',
    async run(stage) {
      const reuse = { workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY' } as const;
      const failed = await stage.start(failWith, ['first', 'Broken']);
      await failed.handle.result().catch(() => {});
      const second = await stage.start(sleepFor, [1], reuse);
      await second.handle.result();
      await expect(stage.start(sleepFor, [1], reuse)).rejects.toBeInstanceOf(WorkflowExecutionAlreadyStartedError);
      const { WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY } = enums.WorkflowIdReusePolicy;
      const request = new RawWorker(stage).startRequest({ workflowIdReusePolicy: WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY });
      await expect(stage.service.startWorkflowExecution(request)).rejects.toMatchObject({
        code: alreadyExists,
        details:
          `Workflow execution already finished successfully. WorkflowId: ${stage.id}, RunId: ${second.runId}. ` +
          'Workflow Id reuse policy: allow duplicate workflow Id if last run failed.',
      });
    },
  },
  {
    name: 'reuse policy reject duplicate: an id is used once',
    async run(stage) {
      const run = await stage.start(sleepFor, [1]);
      await run.handle.result();
      const { WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE } = enums.WorkflowIdReusePolicy;
      const request = new RawWorker(stage).startRequest({ workflowIdReusePolicy: WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE });
      await expect(stage.service.startWorkflowExecution(request)).rejects.toMatchObject({
        code: alreadyExists,
        details:
          `Workflow execution already finished. WorkflowId: ${stage.id}, RunId: ${run.runId}. ` +
          'Workflow Id reuse policy: reject duplicate workflow Id.',
      });
    },
  },
  {
    name: 'a repeated start request is the same start, even after the end',
    async run(stage) {
      const worker = new RawWorker(stage);
      const request = worker.startRequest();
      const first = await stage.service.startWorkflowExecution(request);
      const again = await stage.service.startWorkflowExecution(request);
      expect(again).toMatchObject({ runId: first.runId, started: true });
      stage.track(stage.client.workflow.getHandle(stage.id), first.runId);
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
      const afterwards = await stage.service.startWorkflowExecution(request);
      expect(afterwards).toMatchObject({ runId: first.runId, started: true });
    },
  },
  {
    name: 'starts that contradict themselves are refused',
    async run(stage) {
      const worker = new RawWorker(stage);
      const { WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING, WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE } = enums.WorkflowIdReusePolicy;
      const { WORKFLOW_ID_CONFLICT_POLICY_FAIL, WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING } = enums.WorkflowIdConflictPolicy;
      const contradictions = [
        {
          workflowIdReusePolicy: WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING,
          workflowIdConflictPolicy: WORKFLOW_ID_CONFLICT_POLICY_FAIL,
        },
        {
          workflowIdReusePolicy: WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
          workflowIdConflictPolicy: WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
        },
        { workflowType: {} },
        { taskQueue: {} },
        { workflowId: '' },
      ];
      for (const contradiction of contradictions) {
        await expect(stage.service.startWorkflowExecution(worker.startRequest(contradiction))).rejects.toMatchObject({ code: 3 });
      }
    },
  },
];
