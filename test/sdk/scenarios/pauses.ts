import type { temporal } from '@temporalio/proto';
import { QueryRejectedError } from '@temporalio/client';
import Long from 'long';
import { expect, vi } from 'vitest';
import { enums } from '../fields.ts';
import type { Run, Scenario, Stage } from '../harness.ts';
import { RawWorker } from '../raw-worker.ts';
import { collectSignals, go, seen, sleepFor } from '../workflows.ts';

type Response = temporal.api.workflowservice.v1.IDescribeWorkflowExecutionResponse;

const status = { running: 1, terminated: 5, paused: 8 };
const causePaused = 39;

/** A workflow stands still, and goes on. */
export const pauseScenarios: readonly Scenario[] = [
  {
    name: 'a workflow is paused before its first task: the task fails with a cause, and the unpause schedules another',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      await pause(stage, run);
      const described = await stage.describe(run)();
      expect(described.workflowExecutionInfo).toMatchObject({ status: status.paused, closeTime: null });
      expect(described.workflowExtendedInfo?.pauseInfo).toMatchObject({ identity: 'operator', reason: 'look first' });
      expect(described.pendingWorkflowTask).toBeNull();
      expect(pauseInfoOf(described)).toEqual([`Workflow:${run.workflowId}`, 'Reason:look first']);
      await unpause(stage, run);
      const after = await stage.describe(run)();
      expect(after.workflowExecutionInfo?.status).toBe(status.running);
      expect(after.workflowExtendedInfo?.pauseInfo).toBeNull();
      expect(pauseInfoOf(after)).toBeUndefined();
      await worker.complete(await worker.poll(), [completeCommand]);
      const history = await run.history();
      expect(history.types).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowTaskScheduled',
        'WorkflowTaskFailed',
        'WorkflowExecutionPaused',
        'WorkflowExecutionUnpaused',
        'WorkflowTaskScheduled',
        'WorkflowTaskStarted',
        'WorkflowTaskCompleted',
        'WorkflowExecutionCompleted',
      ]);
      const failed = history.events[2]?.workflowTaskFailedEventAttributes;
      expect(failed).toMatchObject({ cause: causePaused, identity: 'history-service' });
      expect(history.events[3]?.workflowExecutionPausedEventAttributes).toMatchObject({ identity: 'operator', reason: 'look first' });
    },
  },
  {
    name: 'a task that a worker has when its workflow is paused may complete; no other follows before the unpause',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const task = await worker.poll();
      await pause(stage, run);
      await run.handle.signal(go, 'meanwhile');
      await worker.complete(task, [worker.scheduleActivity('a')]);
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        'WorkflowTaskScheduled',
        'WorkflowTaskStarted',
        'WorkflowTaskCompleted',
        'ActivityTaskScheduled',
        'WorkflowExecutionPaused',
        'WorkflowExecutionSignaled',
      ]);
      expect((await stage.describe(run)()).pendingWorkflowTask).toBeNull();
      await unpause(stage, run);
      expect((await worker.pollActivity()).activityId).toBe('a');
      await worker.complete(await worker.poll(), [completeCommand]);
    },
  },
  {
    name: 'a task cannot close a workflow that was paused meanwhile, nor ask for another task',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const task = await worker.poll();
      await pause(stage, run);
      await expect(worker.complete(task, [], { forceCreateNewWorkflowTask: true })).rejects.toMatchObject({
        details: 'Workflow is paused and force create new workflow task is not allowed.',
      });
      await expect(worker.complete(task, [completeCommand])).rejects.toMatchObject({ details: 'UnhandledCommand' });
      expect((await run.history()).types.slice(3)).toEqual(['WorkflowTaskFailed', 'WorkflowExecutionPaused']);
      await unpause(stage, run);
      const again = await worker.poll();
      expect(again.attempt).toBe(1);
      await worker.complete(again, [completeCommand]);
    },
  },
  {
    name: 'a task that fails while its workflow is paused is not tried again before the unpause',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const task = await worker.poll();
      await pause(stage, run);
      await worker.fail(task, enums.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE);
      expect((await run.history()).types.slice(3)).toEqual(['WorkflowTaskFailed', 'WorkflowExecutionPaused']);
      expect((await stage.describe(run)()).pendingWorkflowTask).toBeNull();
      await unpause(stage, run);
      const again = await worker.poll();
      expect(again).toMatchObject({ attempt: 1 });
      await worker.complete(again, [completeCommand]);
    },
  },
  {
    name: 'signals to a paused workflow are written, and delivered together once it continues',
    async run(stage) {
      const run = await stage.start(collectSignals, [3]);
      await run.until('WorkflowTaskCompleted');
      await pause(stage, run);
      for (const value of ['one', 'two', 'three']) await run.handle.signal(go, value);
      expect((await run.history()).types.slice(4)).toEqual([
        'WorkflowExecutionPaused',
        ...Array<string>(3).fill('WorkflowExecutionSignaled'),
      ]);
      await unpause(stage, run);
      expect(await run.handle.result()).toEqual(['one', 'two', 'three']);
      expect((await run.history()).types.slice(8)).toEqual([
        'WorkflowExecutionUnpaused',
        'WorkflowTaskScheduled',
        'WorkflowTaskStarted',
        'WorkflowTaskCompleted',
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'timers of a paused workflow fire, and it learns of them once it continues',
    async run(stage) {
      const run = await stage.start(sleepFor, [200]);
      await run.until('TimerStarted');
      await pause(stage, run);
      // Not by a long poll: Temporal ends those of a paused workflow at once.
      const isFired = async (): Promise<void> =>
        expect((await run.history()).types.slice(5)).toEqual(['WorkflowExecutionPaused', 'TimerFired']);
      await vi.waitFor(isFired, { timeout: 60_000, interval: 50 });
      await unpause(stage, run);
      expect(await run.handle.result()).toBe('awake');
    },
  },
  {
    name: 'a paused workflow refuses queries and updates, and answers them once it continues',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      await run.until('WorkflowTaskCompleted');
      await pause(stage, run);
      const refused = await run.handle.query(seen).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(QueryRejectedError);
      const update = await run.handle.executeUpdate('ask').catch((error: unknown) => error);
      expect(update).toMatchObject({ cause: { code: 9, details: 'Workflow is paused. Cannot update the workflow.' } });
      await unpause(stage, run);
      expect(await run.handle.query(seen)).toEqual([]);
      await run.handle.signal(go, 'end');
      await run.handle.result();
    },
  },
  {
    name: 'a workflow is paused once, and an activity that runs meanwhile ends normally',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      await worker.complete(await worker.poll(), [worker.scheduleActivity('runs')]);
      const activity = await worker.pollActivity();
      await expect(unpause(stage, run)).rejects.toMatchObject({ code: 9, details: 'workflow is not paused.' });
      await pause(stage, run, 'one');
      await pause(stage, run, 'one');
      await expect(pause(stage, run, 'other')).rejects.toMatchObject({ code: 9, details: 'workflow is already paused.' });
      await worker.completeActivity(activity, 'done');
      expect((await run.history()).types.slice(5)).toEqual(['WorkflowExecutionPaused', 'ActivityTaskStarted', 'ActivityTaskCompleted']);
      await unpause(stage, run);
      await worker.complete(await worker.poll(), [completeCommand]);
      await expect(pause(stage, run)).rejects.toMatchObject({ code: 5, details: 'workflow execution already completed' });
    },
  },
  {
    name: 'a paused workflow is found by its status and by what is paused; after a termination it keeps the details of its pause',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      await pause(stage, run);
      const listed = async (query: string): Promise<readonly unknown[]> => {
        const { executions } = await stage.service.listWorkflowExecutions({ namespace: stage.namespace, query });
        return executions?.map(({ status: shown, closeTime }) => [shown, closeTime]) ?? [];
      };
      const own = `WorkflowId = '${run.workflowId}'`;
      const byStatus = (): Promise<readonly unknown[]> => listed(`ExecutionStatus = 'Paused' AND ${own}`);
      await vi.waitFor(async () => expect(await byStatus()).toEqual([[status.paused, null]]), { timeout: 60_000, interval: 50 });
      expect(await listed(`TemporalPauseInfo = 'Workflow:${run.workflowId}'`)).toEqual([[status.paused, null]]);
      expect(await listed(`ExecutionStatus = 'Running' AND ${own}`)).toEqual([]);
      await run.handle.terminate();
      const described = await stage.describe(run)();
      expect(described.workflowExecutionInfo?.status).toBe(status.terminated);
      expect(described.workflowExtendedInfo?.pauseInfo).toMatchObject({ reason: 'look first' });
      await vi.waitFor(async () => expect(await byStatus()).toEqual([]), { timeout: 60_000, interval: 50 });
    },
  },
  {
    name: 'a paused workflow is reset: the new run is not paused',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      await worker.complete(await worker.poll());
      await pause(stage, run);
      const { runId } = await stage.service.resetWorkflowExecution({
        namespace: stage.namespace,
        workflowExecution: { workflowId: run.workflowId, runId: run.runId },
        workflowTaskFinishEventId: Long.fromNumber(4),
        requestId: crypto.randomUUID(),
        reason: 'goes on',
      });
      const next = await stage.observe(run.workflowId, runId);
      const described = await stage.describe(next)();
      expect(described.workflowExecutionInfo?.status).toBe(status.running);
      expect(described.workflowExtendedInfo?.pauseInfo).toBeNull();
      await worker.complete(await worker.poll(), [completeCommand]);
      expect((await next.history()).types).not.toContain('WorkflowExecutionPaused');
    },
  },
];

const completeCommand = {
  commandType: enums.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
  completeWorkflowExecutionCommandAttributes: {},
};

type Target = { readonly namespace: string; readonly workflowId: string; readonly runId: string };

function targetOf(stage: Stage, { workflowId, runId }: Run): Target {
  return { namespace: stage.namespace, workflowId, runId };
}

async function pause(stage: Stage, run: Run, requestId: string = crypto.randomUUID()): Promise<void> {
  await stage.service.pauseWorkflowExecution({ ...targetOf(stage, run), identity: 'operator', reason: 'look first', requestId });
}

async function unpause(stage: Stage, run: Run): Promise<void> {
  const requestId = crypto.randomUUID();
  await stage.service.unpauseWorkflowExecution({ ...targetOf(stage, run), identity: 'operator', reason: 'looked', requestId });
}

function pauseInfoOf({ workflowExecutionInfo }: Response): unknown {
  const data = workflowExecutionInfo?.searchAttributes?.indexedFields?.['TemporalPauseInfo']?.data;
  return data === undefined || data === null ? undefined : JSON.parse(Buffer.from(data).toString());
}
