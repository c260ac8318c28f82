import { WorkflowFailedError } from '@temporalio/client';
import { expect, vi } from 'vitest';
import { enums, payloadOf } from '../fields.ts';
import type { Run, Scenario, Stage } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { RawWorker, completeWorkflow } from '../raw-worker.ts';
import { callActivity, cancelActivityOnSignal, collectSignals, go, waitForCancel, waitForFinish } from '../workflows.ts';

/** `temporal.api.enums.v1.BatchOperationState` and, of Temporal's newer names, `BatchOperationType`. */
const states = { running: 1, completed: 2, failed: 3 };
const terminateWorkflows = 13;

/** Jobs over many workflows. The servers let a namespace run 20 of them at a time. */
export const batchScenarios: readonly Scenario[] = [
  {
    name: 'a batch job terminates the workflows that its query finds, and is described and listed',
    run: async (stage) => {
      const runs = await several(stage, () => stage.start(waitForFinish, [], { workflowId: nextId(stage) }));
      const job = await perform(stage, { terminationOperation: { identity: 'operator' } });
      expect(job).toMatchObject({ state: states.completed, operationType: terminateWorkflows, identity: 'operator', reason: 'a batch' });
      expect(countsOf(job)).toEqual([3, 3, 0]);
      expect(job.query).toBe(queryOf(stage));
      for (const run of runs) {
        const { reason } = (await run.history()).only('workflowExecutionTerminatedEventAttributes');
        expect(reason).toBe('a batch');
      }
      const listed = async (): Promise<void> => {
        const { operationInfo } = await stage.service.listBatchOperations({ namespace: stage.namespace });
        const found = operationInfo?.find(({ jobId }) => jobId === jobOf(stage));
        expect(found).toMatchObject({ state: states.completed, operationType: terminateWorkflows, closeTime: expect.anything() });
      };
      await vi.waitFor(listed, { timeout: 60_000, interval: 200 });
    },
  },
  {
    name: 'a batch job signals each workflow once',
    run: async (stage) => {
      const runs = await several(stage, () => stage.start(collectSignals, [1], { workflowId: nextId(stage) }));
      const signalOperation = { signal: go.name, input: { payloads: [payloadOf('all')] }, identity: 'operator' };
      expect(countsOf(await perform(stage, { signalOperation }))).toEqual([3, 3, 0]);
      for (const run of runs) {
        expect(await run.handle.result()).toEqual(['all']);
        expect((await run.history()).only('workflowExecutionSignaledEventAttributes').identity).toBe('operator');
      }
    },
  },
  {
    name: 'a batch job cancels workflows, and leaves closed ones alone',
    run: async (stage) => {
      const [first, ...others] = await several(stage, () => stage.start(waitForCancel, [], { workflowId: nextId(stage) }));
      await first!.handle.terminate();
      await found(stage, 2, `${queryOf(stage)} AND ExecutionStatus = 'Running'`);
      expect(countsOf(await perform(stage, { cancellationOperation: { identity: 'operator' } }))).toEqual([2, 2, 0]);
      for (const run of others) await expect(run.handle.result()).rejects.toThrow(WorkflowFailedError);
      expect((await first!.history()).types.at(-1)).toBe('WorkflowExecutionTerminated');
    },
  },
  {
    name: 'a batch job deletes workflows, open and closed',
    run: async (stage) => {
      const ids = [nextId(stage), nextId(stage), nextId(stage)];
      const handles = await Promise.all(
        ids.map((workflowId) => stage.client.workflow.start(waitForFinish.name, { workflowId, taskQueue: 'nobody', args: [] })),
      );
      await handles[0]!.terminate();
      await found(stage, 2, `${queryOf(stage)} AND ExecutionStatus = 'Running'`);
      await found(stage, 3);
      expect(countsOf(await perform(stage, { deletionOperation: {} }))).toEqual([3, 3, 0]);
      await found(stage, 0);
    },
  },
  {
    name: 'a batch job takes a list of workflows, and counts those that are gone as done',
    run: async (stage) => {
      const run = await stage.start(waitForFinish, [], { workflowId: nextId(stage) });
      const executions = [{ workflowId: run.workflowId, runId: run.runId }, { workflowId: `${stage.id}-of-nobody` }];
      const job = await perform(stage, { terminationOperation: {}, visibilityQuery: '', executions });
      expect(countsOf(job)).toEqual([2, 2, 0]);
      await expect(run.handle.result()).rejects.toThrow(WorkflowFailedError);
    },
  },
  {
    name: 'a batch job resets workflows to their first task, and each continues in a new run',
    run: async (stage) => {
      const runs = await several(stage, () => stage.start(collectSignals, [1], { workflowId: nextId(stage) }));
      for (const run of runs) await run.until('WorkflowTaskCompleted');
      const newOptions = { workflowExecutionOptions: { priority: { priorityKey: 2 } }, updateMask: { paths: ['priority'] } };
      const resetOperation = {
        options: { firstWorkflowTask: {} },
        postResetOperations: [{ updateWorkflowOptions: newOptions }],
        identity: 'operator',
      };
      const visibilityQuery = `${queryOf(stage)} AND ExecutionStatus = 'Running'`;
      expect(countsOf(await perform(stage, { resetOperation, visibilityQuery }))).toEqual([3, 3, 0]);
      for (const run of runs) {
        const next = await stage.observe(run.workflowId);
        expect(next.runId).not.toBe(run.runId);
        await next.handle.signal(go, 'again');
        expect(await next.handle.result()).toEqual(['again']);
        const { types } = await next.history();
        expect(types.slice(3, 5)).toEqual(['WorkflowTaskFailed', 'WorkflowExecutionOptionsUpdated']);
        expect((await stage.describe(next)()).workflowExecutionInfo?.priority?.priorityKey).toBe(2);
      }
    },
  },
  {
    name: 'a batch job resets a workflow to its last task, without its signals',
    run: async (stage) => {
      const worker = new RawWorker(stage);
      const run = await worker.start({ workflowId: nextId(stage) });
      await worker.complete(await worker.poll());
      await run.handle.signal(go, 'kept');
      await worker.complete(await worker.poll());
      await run.handle.signal(go, 'left behind');
      const before = await run.history();
      const signal = 'WorkflowExecutionSignaled';
      const kept = ['WorkflowExecutionStarted', ...workflowTask, signal, 'WorkflowTaskScheduled', 'WorkflowTaskStarted'];
      expect(before.types).toEqual([...kept, 'WorkflowTaskCompleted', signal, 'WorkflowTaskScheduled']);
      const resetType = enums.ResetType.RESET_TYPE_LAST_WORKFLOW_TASK;
      const resetReapplyType = enums.ResetReapplyType.RESET_REAPPLY_TYPE_NONE;
      const resetOperation = { resetType, resetReapplyType, identity: 'operator' };
      const executions = [{ workflowId: run.workflowId, runId: run.runId }];
      expect(countsOf(await perform(stage, { resetOperation, visibilityQuery: '', executions }))).toEqual([1, 1, 0]);
      const next = await stage.observe(run.workflowId);
      expect(next.runId).not.toBe(run.runId);
      const after = await next.history();
      expect(after.types).toEqual([...kept, 'WorkflowTaskFailed', 'WorkflowTaskScheduled']);
      expect(after.events.slice(0, kept.length)).toEqual(before.events.slice(0, kept.length));
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
    },
  },
  {
    name: 'a batch job unpauses activities',
    run: async (stage) => {
      const options = { heartbeatTimeout: '10s', retry: { initialInterval: 1 } } as const;
      const run = await stage.start(cancelActivityOnSignal, ['beatUntilCancelled', options, false], { workflowId: nextId(stage) });
      await run.gate('beating').arrived;
      const execution = { workflowId: run.workflowId, runId: run.runId };
      await stage.service.pauseActivity({ namespace: stage.namespace, execution, type: 'beatUntilCancelled', identity: 'operator' });
      await pending(stage, run, { paused: true });
      const unpauseActivitiesOperation = { matchAll: true, identity: 'operator' };
      const job = await perform(stage, { unpauseActivitiesOperation, visibilityQuery: '', executions: [execution] });
      expect(countsOf(job)).toEqual([1, 1, 0]);
      await pending(stage, run, { paused: false });
      await run.handle.terminate();
    },
  },
  {
    name: 'a batch job changes the options of activities, and resets them',
    run: async (stage) => {
      const options = { startToCloseTimeout: '10s', retry: { initialInterval: '1h' } } as const;
      const run = await stage.start(callActivity, ['flaky', [2], options], { workflowId: nextId(stage) });
      await pending(stage, run, { attempt: 2 });
      const executions = [{ workflowId: run.workflowId, runId: run.runId }];
      const updateActivityOptionsOperation = {
        type: 'flaky',
        activityOptions: { retryPolicy: { initialInterval: { nanos: 1_000_000 } } },
        updateMask: { paths: ['retry_policy.initial_interval'] },
        identity: 'operator',
      };
      await perform(stage, { updateActivityOptionsOperation, visibilityQuery: '', executions });
      const job = await perform(stage, { resetActivitiesOperation: { matchAll: true }, visibilityQuery: '', executions }, 'reset');
      expect(countsOf(job)).toEqual([1, 1, 0]);
      expect(await run.handle.result()).toBe('attempt 2');
    },
  },
  {
    name: 'a batch job has a unique id, and an invalid one is refused with its reason',
    run: async (stage) => {
      await perform(stage, { terminationOperation: {} });
      const again = { ...jobOn(stage), terminationOperation: {} };
      await expect(stage.service.startBatchOperation(again)).rejects.toMatchObject({ code: 6 });
      const other = { ...again, jobId: `${jobOf(stage)}-other` };
      const refusals: readonly (readonly [object, RegExp])[] = [
        [{ visibilityQuery: '()' }, /^invalid visibility query: /],
        [{ visibilityQuery: '' }, /^must provide required parameters: /],
        [{ reason: '' }, /^must provide required parameters: /],
        [{ terminationOperation: null, signalOperation: {} }, /^must provide signal name$/],
        [{ executions: [{ workflowId: 'w' }] }, /^visibility query, executions, and target executions are mutually exclusive$/],
      ];
      for (const [change, details] of refusals) {
        await expect(stage.service.startBatchOperation({ ...other, ...change })).rejects.toMatchObject({
          code: 3,
          details: expect.stringMatching(details) as unknown,
        });
      }
      const { namespace } = stage;
      const nobody = { namespace, jobId: `${stage.id}-nobody`, reason: 'r' };
      await expect(stage.service.describeBatchOperation(nobody)).rejects.toMatchObject({ code: 5 });
      await expect(stage.service.stopBatchOperation(nobody)).rejects.toMatchObject({ code: 5 });
      // It has ended.
      await expect(stage.service.stopBatchOperation({ ...nobody, jobId: jobOf(stage) })).rejects.toMatchObject({ code: 5 });
    },
  },
];

let ids = 0;

function nextId(stage: Stage): string {
  return `${stage.id}-${++ids}`;
}

function queryOf({ id }: Stage): string {
  return `WorkflowId STARTS_WITH '${id}-'`;
}

function jobOf({ id }: Stage): string {
  return `job-${id}`;
}

function jobOn(stage: Stage): {
  readonly namespace: string;
  readonly jobId: string;
  readonly reason: string;
  readonly visibilityQuery: string;
} {
  return { namespace: stage.namespace, jobId: jobOf(stage), reason: 'a batch', visibilityQuery: queryOf(stage) };
}

/** Three of them, once a list finds them. */
async function several<T extends Run>(stage: Stage, start: () => Promise<T>): Promise<readonly T[]> {
  const runs = await Promise.all([start(), start(), start()]);
  await found(stage, runs.length);
  return runs;
}

async function found(stage: Stage, count: number, query = queryOf(stage)): Promise<void> {
  const isSo = async (): Promise<void> => expect((await stage.client.workflow.count(query)).count).toBe(count);
  await vi.waitFor(isSo, { timeout: 60_000, interval: 100 });
}

type Job = Awaited<ReturnType<Stage['service']['describeBatchOperation']>>;

/** To its end. */
async function perform(stage: Stage, operation: object, name = 'job'): Promise<Job> {
  const jobId = name === 'job' ? jobOf(stage) : `${jobOf(stage)}-${name}`;
  const { namespace } = stage;
  await stage.service.startBatchOperation({ ...jobOn(stage), ...operation, jobId });
  const ended = async (): Promise<Job> => {
    const described = await stage.service.describeBatchOperation({ namespace, jobId });
    expect(described.state).not.toBe(states.running);
    return described;
  };
  return vi.waitFor(ended, { timeout: 60_000, interval: 50 });
}

/** In all, done, failed. */
function countsOf(job: Job): readonly number[] {
  return [job.totalOperationCount, job.completeOperationCount, job.failureOperationCount].map(Number);
}

async function pending(stage: Stage, run: Run, expected: object): Promise<void> {
  const isSo = async (): Promise<void> => {
    const { pendingActivities } = await stage.describe(run)();
    expect(pendingActivities?.[0]).toMatchObject(expected);
  };
  await vi.waitFor(isSo, { timeout: 60_000, interval: 50 });
}
