/** Update-with-start. Whatever goes wrong is told for both operations: the one that failed has its error, the other was aborted for it. */
import type { StartWorkflow } from '../../history/commands/history-commands.ts';
import type { StartReply, UpdateRefused, UpdateReply } from '../../history/run/history-replies.ts';
import { cutToUtf8Bytes } from '../../kernel/utf8.ts';
import { encodeMultiOperationExecutionFailure, type MultiOperationExecutionFailure } from '../../wire/generated/lean/error_details.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import { historyRejection } from '../errors/rejections.ts';
import { invalidArgument, statusCode, StatusError } from '../errors/status-error.ts';
import { methodsOf } from '../method.ts';
import { runKey } from '../validation/names.ts';
import { startCommand, startResponse } from './start.ts';
import { linked, untilDecided, updateAttributes, updateResponse } from './updates.ts';

export const multiOperationMethods = methodsOf(wire.codecs, {
  ExecuteMultiOperation: async (context, request, call) => {
    const { startWorkflow, updateWorkflow } = operations(request);
    const namespace = await context.openNamespace(call, request.namespace);
    const [start, { attributes: update, requestId }] = bothOf(
      () => {
        checkNamespace(request.namespace, startWorkflow.namespace);
        const command = startCommand(context, startWorkflow, namespace);
        checkStart(startWorkflow);
        return command;
      },
      (isStartRight) => {
        checkNamespace(request.namespace, updateWorkflow.namespace);
        runKey(namespace.id, updateWorkflow.workflowExecution);
        const asked = updateAttributes(context, updateWorkflow, namespace.name);
        checkUpdate(updateWorkflow);
        if (isStartRight && updateWorkflow.workflowExecution?.workflowId !== startWorkflow.workflowId)
          throw invalidArgument('WorkflowId is not consistent with previous operation(s).');
        return asked;
      },
    );
    const { key } = start;
    const ask = async (): Promise<UpdateReply | UpdateRefused> =>
      await untilDecided(context, call, key, update.updateId, async (deadlineMs) => {
        const reply = await context.waitHistory(call, key, { kind: 'startAndUpdate', key, start, update }, deadlineMs);
        if (reply !== 'ended' && reply.kind === 'startRefused') throw failed('start', historyRejection(reply.rejection));
        return reply;
      });
    const reply = await once(ask).catch((error: unknown) => {
      throw failed('update', error);
    });
    const updated = await updateResponse(context, call, key, update.updateId, reply);
    const started = startResponse(start, startedOf(reply, start));
    // An update that was over before is all that is found: no link leads to it.
    const isOver = reply.completedEventId !== 0;
    return {
      responses: [
        { startWorkflow: isOver ? { ...started, link: undefined } : started, updateWorkflow: undefined },
        { startWorkflow: undefined, updateWorkflow: isOver ? updated : linked(updated, namespace.name, requestId) },
      ],
    };
  },
});

/** A workflow that was found open may close before a worker accepts the update. Another one is started then, once here, then by the caller. */
async function once(ask: () => Promise<UpdateReply | UpdateRefused>): Promise<UpdateReply> {
  const first = await ask();
  if (first.kind === 'updateStage') return first;
  const second = wasFoundClosing(first) ? await ask() : first;
  if (second.kind === 'updateStage') return second;
  const error = historyRejection(second.rejection);
  if (second.begun) throw failed('update', error, begun);
  throw failed('update', wasFoundClosing(second) ? new StatusError(statusCode.aborted, error.message) : error);
}

function wasFoundClosing({ rejection, begun: isBegun }: UpdateRefused): boolean {
  return !isBegun && rejection.reason === 'workflow-closed';
}

/** Without `started` its wait was over before its update was accepted. A run that was found is not told as one that this start has made. */
function startedOf({ started, runId }: UpdateReply, { newRunId }: StartWorkflow): StartReply {
  const status = started?.status ?? 1;
  if (runId !== newRunId) return { kind: 'started', runId, firstExecutionRunId: '', started: false, status };
  return started ?? { kind: 'started', runId, firstExecutionRunId: runId, started: true, status };
}

type Operations = {
  readonly startWorkflow: wire.StartWorkflowExecutionRequest;
  readonly updateWorkflow: wire.UpdateWorkflowExecutionRequest;
};

function operations({ operations: given }: wire.ExecuteMultiOperationRequest): Operations {
  const [first, second] = given;
  if (given.length !== 2 || first?.startWorkflow === undefined || second?.updateWorkflow === undefined) {
    throw invalidArgument('Operations have to be exactly [Start, Update].');
  }
  return { startWorkflow: first.startWorkflow, updateWorkflow: second.updateWorkflow };
}

function checkStart(request: wire.StartWorkflowExecutionRequest): void {
  if (request.cronSchedule !== '') throw invalidArgument('CronSchedule is not allowed.');
  if (request.requestEagerExecution) throw invalidArgument('RequestEagerExecution is not supported.');
  if (request.workflowStartDelayMs !== 0) throw invalidArgument('WorkflowStartDelay is not supported.');
}

function checkUpdate({ workflowExecution, firstExecutionRunId }: wire.UpdateWorkflowExecutionRequest): void {
  if (firstExecutionRunId !== '') throw invalidArgument('FirstExecutionRunId is not allowed.');
  if (workflowExecution !== undefined && workflowExecution.runId !== '') throw invalidArgument('RunId is not allowed.');
}

function checkNamespace(ofRequest: string, ofOperation: string): void {
  if (ofOperation !== '' && ofOperation !== ofRequest) throw invalidArgument("Operation namespace did not match request's namespace.");
}

/** What is wrong with either is told, also with both. */
function bothOf<Start, Update>(ofStart: () => Start, ofUpdate: (isStartRight: boolean) => Update): readonly [Start, Update] {
  const start = attempt(ofStart);
  const update = attempt(() => ofUpdate(start.ok));
  if (start.ok) {
    if (update.ok) return [start.result, update.result];
    throw failed('update', update.error);
  }
  if (update.ok) throw failed('start', start.error);
  throw failed('start', start.error, update.error instanceof StatusError ? statusOf(update.error) : aborted);
}

type Attempt<Result> = { readonly ok: true; readonly result: Result } | { readonly ok: false; readonly error: unknown };

function attempt<Result>(run: () => Result): Attempt<Result> {
  try {
    return { ok: true, result: run() };
  } catch (error) {
    return { ok: false, error };
  }
}

const detailTypes = 'type.googleapis.com/';
const aborted = {
  code: statusCode.aborted,
  message: 'Operation was aborted.',
  details: [{ typeUrl: `${detailTypes}temporal.api.failure.v1.MultiOperationExecutionAborted`, value: new Uint8Array(0) }],
};

/** The start has made a run, whatever became of the update. */
const begun = { code: statusCode.ok, message: '', details: [] };

/** What is no StatusError (a bug of ours) is passed on as it is; everything else is told for both operations, with its own code. */
function failed(operation: 'start' | 'update', error: unknown, other: OperationStatus = aborted): unknown {
  if (!(error instanceof StatusError) || error.details[0]?.type === failureType) return error;
  const own = statusOf(error);
  const statuses = operation === 'start' ? [own, other] : [other, own];
  return new StatusError(error.code, 'Update-with-Start could not be executed.', {
    details: [{ type: failureType, value: encodeMultiOperationExecutionFailure({ statuses }) }],
    cause: error,
  });
}

type OperationStatus = MultiOperationExecutionFailure['statuses'][number];

function statusOf(error: StatusError): OperationStatus {
  const details = error.details.map(({ type, value }) => ({ typeUrl: `${detailTypes}${type}`, value }));
  return { code: error.code, message: cutToUtf8Bytes(error.message, operationMessageBytesMax), details };
}

/** All of it is one detail of a status, which has no room for the whole of both. */
const operationMessageBytesMax = 1_500;

const failureType = 'temporal.api.errordetails.v1.MultiOperationExecutionFailure';
