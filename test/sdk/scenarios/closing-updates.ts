import proto from '@temporalio/proto';
import type { temporal } from '@temporalio/proto';
import Long from 'long';
import { expect, vi } from 'vitest';
import type { Run, Scenario, Stage } from '../harness.ts';
import { enums, payloadOf, valuesOf } from '../fields.ts';
import { completeWorkflow, RawWorker } from '../raw-worker.ts';

type Task = temporal.api.workflowservice.v1.IPollWorkflowTaskQueueResponse;
type Update = temporal.api.workflowservice.v1.IUpdateWorkflowExecutionRequest;

const { Acceptance, Response } = proto.temporal.api.update.v1;
const { MultiOperationExecutionFailure } = proto.temporal.api.errordetails.v1;
const { Status } = proto.google.rpc;
const notFound = 5;
const aborted = 10;
const abortedText = 'workflow update was aborted by closing workflow';

/** Updates that no worker has accepted when their workflow closes. The scenario plays the worker, which does not look at them. */
export const closingUpdateScenarios: readonly Scenario[] = [
  {
    name: 'an update that waits while its workflow closes is aborted',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const task = await worker.poll();
      const update = outcomeOf(stage.service.updateWorkflowExecution(updateOf(run, 'u')));
      await admitted(stage, run, 'u');
      await worker.complete(task, [completeWorkflow('done')]);
      expect(await update).toMatchObject({ code: notFound, details: abortedText });
    },
  },
  {
    name: 'an update that waits while its workflow continues as new is answered by the next run',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const task = await worker.poll();
      const update = stage.service.updateWorkflowExecution(updateOf({ workflowId: run.workflowId, runId: '' }, 'u'));
      await admitted(stage, run, 'u');
      await worker.complete(task, [continueAsNew]);
      const next = await untilTaskWithUpdate(worker);
      await worker.complete(next, [...answers('u'), completeWorkflow('done')], { messages: messagesOf('u') });
      const { outcome, updateRef } = await update;
      expect(valuesOf(outcome?.success)).toEqual([7]);
      expect(updateRef?.workflowExecution?.runId).toBe(next.workflowExecution?.runId);
      expect(updateRef?.workflowExecution?.runId).not.toBe(run.runId);
    },
  },
  {
    name: 'an update with start that finds its workflow closing starts another one',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const task = await worker.poll();
      const both = stage.service.executeMultiOperation(startAndUpdate(worker, run, 'u'));
      await admitted(stage, run, 'u');
      await worker.complete(task, [completeWorkflow('done')]);
      const next = await untilTaskWithUpdate(worker);
      await worker.complete(next, [...answers('u'), completeWorkflow('done')], { messages: messagesOf('u') });
      const [start, update] = (await both).responses ?? [];
      expect(start?.startWorkflow).toMatchObject({ started: true, runId: next.workflowExecution?.runId });
      expect(valuesOf(update?.updateWorkflow?.outcome?.success)).toEqual([7]);
      // It is answered by its id, whatever has become of its workflow.
      const again = await stage.service.executeMultiOperation(startAndUpdate(worker, run, 'u'));
      expect(again.responses?.[0]?.startWorkflow).toMatchObject({ started: false, runId: next.workflowExecution?.runId });
      expect(valuesOf(again.responses?.[1]?.updateWorkflow?.outcome?.success)).toEqual([7]);
      await stage.observe(run.workflowId, next.workflowExecution?.runId ?? '');
    },
  },
  {
    name: 'an update with start whose own workflow closes reports that the start was done',
    async run(stage) {
      const worker = new RawWorker(stage);
      const both = outcomeOf(stage.service.executeMultiOperation(startAndUpdate(worker, { workflowId: stage.id }, 'u')));
      const task = await worker.poll();
      await worker.complete(task, [completeWorkflow('done')]);
      expect(await both).toMatchObject({ code: notFound, details: 'Update-with-Start could not be executed.' });
      expect(statusesOf(await both)).toMatchObject([{ code: 0 }, { code: notFound, message: abortedText }]);
      await stage.observe(stage.id);
    },
  },
  {
    name: 'an update with start whose start is refused reports that the update was aborted',
    async run(stage) {
      const worker = new RawWorker(stage);
      const run = await worker.start();
      const fail = enums.WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_FAIL;
      const both = await outcomeOf(stage.service.executeMultiOperation(startAndUpdate(worker, run, 'u', fail)));
      const alreadyExists = 6;
      expect(both).toMatchObject({ code: alreadyExists, details: 'Update-with-Start could not be executed.' });
      const text = `Workflow execution is already running. WorkflowId: ${run.workflowId}, RunId: ${run.runId}.`;
      expect(statusesOf(both)).toMatchObject([
        { code: alreadyExists, message: text },
        { code: aborted, message: 'Operation was aborted.' },
      ]);
      await run.handle.terminate();
    },
  },
];

function updateOf({ workflowId, runId }: Pick<Run, 'workflowId' | 'runId'>, updateId: string): Update {
  return {
    namespace: 'default',
    workflowExecution: { workflowId, runId },
    request: { meta: { updateId, identity: 'caller' }, input: { name: 'add', args: { payloads: [payloadOf(1)] } } },
  };
}

function startAndUpdate(
  worker: RawWorker,
  { workflowId }: Pick<Run, 'workflowId'>,
  updateId: string,
  policy = enums.WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
): temporal.api.workflowservice.v1.IExecuteMultiOperationRequest {
  const startWorkflow = worker.startRequest({ workflowId, workflowIdConflictPolicy: policy });
  return {
    namespace: startWorkflow.namespace ?? '',
    operations: [{ startWorkflow }, { updateWorkflow: updateOf({ workflowId, runId: '' }, updateId) }],
  };
}

/** It waits, whoever asked for it. */
async function admitted(stage: Stage, { workflowId, runId }: Run, updateId: string): Promise<void> {
  const updateRef = { workflowExecution: { workflowId, runId }, updateId };
  const poll = (): Promise<unknown> => stage.service.pollWorkflowExecutionUpdate({ namespace: stage.namespace, updateRef });
  await vi.waitFor(poll, { timeout: 60_000, interval: 20 });
}

/** The first one may come before the update, whose client asks again. */
async function untilTaskWithUpdate(worker: RawWorker): Promise<Task> {
  for (;;) {
    const task = await worker.poll();
    if (task.messages?.length !== 0) return task;
    await worker.complete(task);
  }
}

const any = (type: string, value: Uint8Array) => ({ type_url: `type.googleapis.com/temporal.api.update.v1.${type}`, value });

function messagesOf(updateId: string): temporal.api.protocol.v1.IMessage[] {
  const acceptance = Acceptance.encode({
    acceptedRequestMessageId: `${updateId}/request`,
    acceptedRequestSequencingEventId: Long.fromNumber(2),
  }).finish();
  const outcome = { success: { payloads: [payloadOf(7)] } };
  const response = Response.encode({ meta: { updateId }, outcome }).finish();
  return [
    { id: `${updateId}/accept`, protocolInstanceId: updateId, body: any('Acceptance', acceptance) },
    { id: `${updateId}/complete`, protocolInstanceId: updateId, body: any('Response', response) },
  ];
}

function answers(updateId: string): temporal.api.command.v1.ICommand[] {
  return [`${updateId}/accept`, `${updateId}/complete`].map((messageId) => ({
    commandType: enums.CommandType.COMMAND_TYPE_PROTOCOL_MESSAGE,
    protocolMessageCommandAttributes: { messageId },
  }));
}

const continueAsNew: temporal.api.command.v1.ICommand = {
  commandType: enums.CommandType.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
  continueAsNewWorkflowExecutionCommandAttributes: {},
};

/** The error, where it is one; nobody has to wait for it at once. */
function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  return call.catch((error: unknown) => error);
}

function statusesOf(error: unknown): readonly object[] {
  const { metadata } = error as { readonly metadata: { get(name: string): readonly Buffer[] } };
  const [detail] = Status.decode(metadata.get('grpc-status-details-bin')[0] ?? Buffer.alloc(0)).details;
  return MultiOperationExecutionFailure.decode(detail?.value ?? Buffer.alloc(0)).statuses;
}
