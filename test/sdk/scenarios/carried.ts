import { Client } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { expect } from 'vitest';
import { enums, payloadOf, valueOf } from '../fields.ts';
import type { Scenario } from '../harness.ts';
import { RawWorker, completeWorkflow } from '../raw-worker.ts';
import { repeatText, sayWhere, upsertEveryType } from '../structured-workflows.ts';
import { callActivity, collectSignals, failWith, waitForFinish } from '../workflows.ts';

const megabyte = 1_000_000;

/** What the server carries without a look at it, and what it does look at. */
export const carriedScenarios: readonly Scenario[] = [
  {
    name: 'search attributes of every type: upserted, removed, shown to the workflow and described',
    async run(stage) {
      const run = await stage.start(upsertEveryType, [], { searchAttributes: { SdkInt: [1] } });
      const expected = { SdkBool: [true], SdkDouble: [2.5], SdkKeywords: ['a', 'b'], SdkText: ['some words'] };
      expect(JSON.parse(await run.handle.result())).toEqual({ ...expected, SdkDatetime: ['1970-01-02T00:00:00.000Z'] });
      const { searchAttributes } = await run.handle.describe();
      expect(searchAttributes).toMatchObject({ ...expected, SdkDatetime: [new Date(86_400_000)] });
      expect(searchAttributes).not.toHaveProperty('SdkInt');
    },
  },
  {
    name: 'a search attribute of the wrong type is refused, at a start and in a workflow task',
    async run(stage) {
      const worker = new RawWorker(stage);
      const wrong = { indexedFields: { SdkInt: payloadOf('seven') } };
      await expect(stage.service.startWorkflowExecution(worker.startRequest({ searchAttributes: wrong }))).rejects.toMatchObject({
        code: 3,
        details: expect.stringContaining('SdkInt'),
      });
      const run = await worker.start();
      const upsert = {
        commandType: enums.CommandType.COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
        upsertWorkflowSearchAttributesCommandAttributes: { searchAttributes: wrong },
      };
      await expect(worker.complete(await worker.poll(), [upsert])).rejects.toMatchObject({ code: 3 });
      expect((await run.history()).types.slice(3)).toEqual(['WorkflowTaskFailed', 'WorkflowTaskScheduled']);
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
    },
  },
  {
    name: 'payloads of a client with its own codec are returned as they are, and the server cannot read them',
    async run(stage) {
      const taskQueue = `${stage.id}-queue`;
      const dataConverter = { payloadCodecs: [new Mask()] };
      const worker = await stage.suite.startWorker(taskQueue, { dataConverter });
      const client = new Client({ connection: stage.client.connection, namespace: stage.namespace, dataConverter });
      try {
        const handle = await client.workflow.start(callActivity, {
          workflowId: stage.id,
          taskQueue,
          args: ['echo', ['secret words'], {}],
          memo: { note: 'secret memo' },
        });
        expect(await handle.result()).toBe('secret words');
        expect((await handle.describe()).memo).toEqual({ note: 'secret memo' });
        const history = await client.workflow.getHandle(stage.id).fetchHistory();
        const bytes = Buffer.from(proto.temporal.api.history.v1.History.encode(history).finish()).toString('latin1');
        expect(bytes).toContain('binary/masked');
        expect(bytes).not.toContain('secret');
      } finally {
        await worker.stop();
      }
    },
  },
  {
    name: 'headers of signals, queries and updates reach the worker',
    async run(stage) {
      const worker = new RawWorker(stage);
      await worker.start();
      const header = { fields: { trace: payloadOf('abc') } };
      const { namespace, service } = stage;
      const workflowExecution = { workflowId: stage.id };
      await service.signalWorkflowExecution({ namespace, workflowExecution, signalName: 's', header });
      const task = await worker.poll();
      const signal = task.history?.events?.find((event) => event.workflowExecutionSignaledEventAttributes);
      expect(valueOf(signal?.workflowExecutionSignaledEventAttributes?.header?.fields?.['trace'])).toBe('abc');
      await worker.complete(task);
      const query = { queryType: 'q', header };
      const answer = service.queryWorkflow({ namespace, execution: workflowExecution, query });
      const asked = await worker.poll();
      expect(valueOf(asked.query?.header?.fields?.['trace'])).toBe('abc');
      await service.respondQueryTaskCompleted({ namespace, taskToken: asked.taskToken ?? new Uint8Array(), completedType: 1 });
      await answer;
      const update = { namespace, workflowExecution, request: { meta: { updateId: 'u' }, input: { name: 'n', header } } };
      const refused = service.updateWorkflowExecution(update);
      refused.catch(() => undefined);
      const [message] = (await worker.poll()).messages ?? [];
      expect(Buffer.from(message?.body?.value ?? []).toString('latin1')).toContain('trace');
      await stage.client.workflow.getHandle(stage.id).terminate();
    },
  },
  {
    name: 'a result of almost a megabyte arrives, an argument beyond the limit is refused',
    async run(stage) {
      const run = await stage.start(repeatText, ['x', 0.8 * megabyte]);
      expect(await run.handle.result()).toHaveLength(0.8 * megabyte);
      const tooLarge = { input: { payloads: [payloadOf('x'.repeat(2.5 * megabyte))] } };
      const request = new RawWorker(stage).startRequest({ workflowId: `${stage.id}-large`, ...tooLarge });
      await expect(stage.service.startWorkflowExecution(request)).rejects.toMatchObject({
        code: 3,
        details: 'Blob data size exceeds limit.',
      });
    },
  },
  {
    name: 'an activity whose result is too large fails, although its worker gets no error',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      await worker.complete(await worker.poll(), [worker.scheduleActivity('big', { retryPolicy: { maximumAttempts: 5 } })]);
      await worker.completeActivity(await worker.pollActivity(), 'x'.repeat(2.5 * megabyte));
      const { failure } = (await run.history()).only('activityTaskFailedEventAttributes');
      expect(failure).toMatchObject({ message: 'Complete result exceeds size limit.', serverFailureInfo: { nonRetryable: true } });
      await worker.complete(await worker.poll(), [completeWorkflow('done')]);
    },
  },
  {
    name: 'a workflow reports its state: its details, handlers and summary',
    async run(stage) {
      const run = await stage.start(sayWhere, [], { staticSummary: 'says where' });
      const metadata = await run.handle.query<{
        currentDetails: string;
        definition: { signalDefinitions: { name: string; description: string }[] };
      }>('__temporal_workflow_metadata');
      expect(metadata.currentDetails).toBe('half way');
      expect(metadata.definition.signalDefinitions).toMatchObject([{ name: 'finish', description: 'ends it' }]);
      await run.handle.signal('finish');
      await run.handle.result();
    },
  },
  {
    name: 'queries of workflows that failed, were canceled and terminated',
    async run(stage) {
      const ends = {
        failed: await stage.start(failWith, ['x', 'Y'], { workflowId: `${stage.id}-failed` }),
        canceled: await stage.start(collectSignals, [1], { workflowId: `${stage.id}-canceled` }),
        terminated: await stage.start(collectSignals, [1], { workflowId: `${stage.id}-terminated` }),
      };
      await ends.terminated.until('WorkflowTaskCompleted');
      await ends.canceled.until('WorkflowTaskCompleted');
      await ends.canceled.handle.cancel();
      await ends.terminated.handle.terminate();
      await expect(ends.failed.handle.result()).rejects.toMatchObject({ cause: { name: 'ApplicationFailure' } });
      await expect(ends.canceled.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      await expect(ends.terminated.handle.result()).rejects.toMatchObject({ cause: { name: 'TerminatedFailure' } });
      for (const { handle } of [ends.canceled, ends.terminated]) expect(await handle.query('seen')).toEqual([]);
      const stack: string = await ends.failed.handle.query('__stack_trace');
      expect(stack).toEqual(expect.any(String));
    },
  },
  {
    name: 'a waiting workflow is described without anything pending, as its own root',
    async run(stage) {
      const run = await stage.start(waitForFinish, [], { workflowId: `${stage.id}-alone`, staticSummary: 'alone' });
      await run.until('WorkflowTaskCompleted');
      const described = await stage.describe(run)();
      expect(described.pendingChildren).toEqual([]);
      expect(described.pendingWorkflowTask).toBeNull();
      expect(described.workflowExecutionInfo).toMatchObject({ parentExecution: null, rootExecution: { workflowId: run.workflowId } });
      await run.handle.signal('finish');
      await run.handle.result();
    },
  },
];

/** Not a cipher, but nothing stays as it was. */
class Mask implements PayloadCodec {
  async encode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => ({
      metadata: { encoding: Buffer.from('binary/masked'), original: payload.metadata?.['encoding'] ?? new Uint8Array() },
      data: masked(payload.data),
    }));
  }

  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      if (Buffer.from(payload.metadata?.['encoding'] ?? []).toString() !== 'binary/masked') return payload;
      return { metadata: { encoding: payload.metadata?.['original'] ?? new Uint8Array() }, data: masked(payload.data) };
    });
  }
}

function masked(data: Uint8Array | null | undefined): Uint8Array {
  return (data ?? new Uint8Array()).map((byte) => byte ^ 0x55);
}
