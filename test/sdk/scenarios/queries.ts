import { QueryNotRegisteredError, QueryRejectedError, WorkflowClient } from '@temporalio/client';
import { expect } from 'vitest';
import type { Scenario } from '../harness.ts';
import { workflowTask } from '../history.ts';
import { enums } from '../fields.ts';
import { RawWorker, completeWorkflow } from '../raw-worker.ts';
import { collectSignals, holdWorkflowTask } from '../workflows.ts';

export const queryScenarios: readonly Scenario[] = [
  {
    name: 'a query sees every acknowledged signal and leaves no event',
    async run(stage) {
      const run = await stage.start(collectSignals, [3]);
      await run.handle.signal('go', 'one');
      await run.handle.signal('go', 'two');
      expect(await run.handle.query('seen')).toEqual(['one', 'two']);
      await run.handle.signal('go', 'three');
      await run.handle.result();
      expect((await run.history()).types.filter((type) => type.includes('Query'))).toEqual([]);
    },
  },
  {
    name: 'a query of an idle workflow goes directly to its sticky worker',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      const before = await run.until('WorkflowTaskCompleted');
      expect(await run.handle.query('seen')).toEqual([]);
      expect((await run.history()).types).toEqual(before.types);
      await run.handle.signal('go', 'end');
      await run.handle.result();
    },
  },
  {
    name: 'a query during a workflow task waits for it',
    async run(stage) {
      const run = await stage.start(holdWorkflowTask, []);
      await run.gate('hold').arrived;
      const answer = run.handle.query('seen');
      run.gate('hold').open();
      expect(await answer).toEqual([]);
      await run.handle.result();
      expect((await run.history()).types).toEqual([
        'WorkflowExecutionStarted',
        ...workflowTask,
        'MarkerRecorded',
        'WorkflowExecutionCompleted',
      ]);
    },
  },
  {
    name: 'a failing and an unknown query leave the workflow alone',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      await expect(run.handle.query('broken')).rejects.toThrow('this query always fails');
      await expect(run.handle.query('no-such-query')).rejects.toBeInstanceOf(QueryNotRegisteredError);
      await run.handle.signal('go', 'fine');
      expect(await run.handle.result()).toEqual(['fine']);
      expect((await run.history()).types.filter((type) => type === 'WorkflowTaskFailed')).toEqual([]);
    },
  },
  {
    name: 'a closed workflow answers queries, unless the caller rejects that',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      await run.handle.signal('go', 'last');
      await run.handle.result();
      expect(await run.handle.query('seen')).toEqual(['last']);
      const query = { namespace: stage.namespace, execution: { workflowId: run.workflowId }, query: { queryType: 'seen' } };
      const { QUERY_REJECT_CONDITION_NOT_OPEN, QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY } = enums.QueryRejectCondition;
      const rejected = await stage.service.queryWorkflow({ ...query, queryRejectCondition: QUERY_REJECT_CONDITION_NOT_OPEN });
      expect(rejected.queryRejected?.status).toBe(enums.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED);
      expect(rejected.queryResult).toBeNull();
      const answered = await stage.service.queryWorkflow({ ...query, queryRejectCondition: QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY });
      expect(answered.queryRejected).toBeNull();
    },
  },
  {
    name: 'a terminated workflow rejects queries that ask for a clean end',
    async run(stage) {
      const run = await stage.start(collectSignals, [1]);
      await run.until('WorkflowTaskCompleted');
      await run.handle.terminate();
      const strict = new WorkflowClient({
        connection: stage.client.connection,
        namespace: stage.namespace,
        queryRejectCondition: 'NOT_COMPLETED_CLEANLY',
      });
      await expect(strict.getHandle(run.workflowId).query('seen')).rejects.toBeInstanceOf(QueryRejectedError);
      expect(await run.handle.query('seen')).toEqual([]);
    },
  },
  {
    name: 'a workflow that ended before its first task has no answer',
    async run(stage) {
      const run = await new RawWorker(stage).start();
      await run.handle.terminate();
      await expect(
        stage.service.queryWorkflow({
          namespace: stage.namespace,
          execution: { workflowId: run.workflowId },
          query: { queryType: 'seen' },
        }),
      ).rejects.toMatchObject({ code: 9, details: 'Workflow execution closed before WorkflowTaskStarted event' });
    },
  },
  {
    name: 'queries are attached to a workflow task and answered with it',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const query = { namespace: stage.namespace, execution: { workflowId: run.workflowId }, query: { queryType: 'attached' } };
      const asked = stage.service.queryWorkflow(query);
      // A query has no acknowledgement; once later calls on the same workflow are answered, it is there.
      await run.handle.describe();
      await run.handle.describe();
      const task = await worker.poll();
      const [id, attached] = Object.entries(task.queries ?? {})[0] ?? [];
      expect(attached?.queryType).toBe('attached');
      expect(task.query).toBeNull();
      const queryResults = { [id ?? '']: { resultType: enums.QueryResultType.QUERY_RESULT_TYPE_ANSWERED, answer: { payloads: [] } } };
      await worker.complete(task, [completeWorkflow('done')], { queryResults });
      expect((await asked).queryRejected).toBeNull();
      expect((await run.history()).types).toEqual(['WorkflowExecutionStarted', ...workflowTask, 'WorkflowExecutionCompleted']);
    },
  },
];
