/**
 * ExecuteMultiOperation: a start and an update of the run that it makes or finds, in one step (update-with-start).
 *
 * Whatever goes wrong is told for each operation: the one that failed has its own error, the other one was aborted for it.
 */
import type { StartWorkflow } from '../../history/commands.ts';
import type { UpdateRefused, UpdateReply } from '../../history/replies.ts';
import { encodeMultiOperationExecutionFailure } from '../../wire/generated/lean/error_details.ts';
import {
  decodeExecuteMultiOperationRequest,
  encodeExecuteMultiOperationResponse,
  type ExecuteMultiOperationRequest,
  type ExecuteMultiOperationResponse,
  type StartWorkflowExecutionRequest,
  type UpdateWorkflowExecutionRequest,
} from '../../wire/generated/lean/workflow_service.ts';
import { historyRejection } from '../errors/rejections.ts';
import { statusCode } from '../errors/status-code.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { startCommand, startResponse } from './start.ts';
import { untilStage, updateAttributes, updateResponse } from './updates.ts';

export function multiOperationMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('ExecuteMultiOperation', decodeExecuteMultiOperationRequest, encodeExecuteMultiOperationResponse, (request, call) =>
      startAndUpdate(context, request, call),
    ),
  ];
}

async function startAndUpdate(
  context: HandlerContext,
  request: ExecuteMultiOperationRequest,
  call: Call,
): Promise<ExecuteMultiOperationResponse> {
  const { startWorkflow, updateWorkflow } = operations(request);
  const namespace = await context.openNamespace(call, request.namespace);
  const start = inOperation('start', () => {
    checkStart(request.namespace, startWorkflow);
    return startCommand(context, startWorkflow, namespace);
  });
  const update = inOperation('update', () => {
    checkUpdate(request.namespace, startWorkflow, updateWorkflow);
    return updateAttributes(context, updateWorkflow, namespace.name);
  });
  const { key } = start;
  const ask = async (): Promise<UpdateReply | UpdateRefused> =>
    await untilStage(context, call, key, update.updateId, async (deadlineMs) => {
      const reply = await context.waitHistory(call, key, { kind: 'startAndUpdate', key, start, update }, deadlineMs);
      if (reply !== 'ended' && reply.kind === 'startRefused') throw failed('start', historyRejection(reply.rejection));
      return reply;
    });
  const reply = await once(ask).catch((error: unknown) => {
    throw failed('update', error);
  });
  const updated = await updateResponse(context, call, key, update.updateId, reply);
  return {
    responses: [
      { startWorkflow: startResponse(start, startedOf(reply, start)), updateWorkflow: undefined },
      { startWorkflow: undefined, updateWorkflow: updated },
    ],
  };
}

/**
 * A workflow that was found open may close before a worker accepts the update. Another one can be started then: once here, and after that by the
 * caller, who is told that he may ask again.
 */
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

/** Its wait was over before its update was accepted: the run is there, and whoever asks again finds it. */
function startedOf({ started, runId }: UpdateReply, { newRunId }: StartWorkflow) {
  return started ?? { kind: 'started' as const, runId, firstExecutionRunId: runId, started: runId === newRunId, status: 1 };
}

type Operations = { readonly startWorkflow: StartWorkflowExecutionRequest; readonly updateWorkflow: UpdateWorkflowExecutionRequest };

function operations({ operations: given }: ExecuteMultiOperationRequest): Operations {
  const [first, second] = given;
  if (given.length !== 2 || first?.startWorkflow === undefined || second?.updateWorkflow === undefined) {
    throw invalidArgument('Operations have to be exactly [Start, Update].');
  }
  return { startWorkflow: first.startWorkflow, updateWorkflow: second.updateWorkflow };
}

function checkStart(namespace: string, request: StartWorkflowExecutionRequest): void {
  checkNamespace(namespace, request.namespace);
  if (request.cronSchedule !== '') throw invalidArgument('CronSchedule is not allowed.');
  if (request.workflowStartDelayMs !== 0) throw invalidArgument('WorkflowStartDelay is not supported.');
  if (request.requestEagerExecution) throw invalidArgument('RequestEagerExecution is not supported.');
}

function checkUpdate(namespace: string, start: StartWorkflowExecutionRequest, request: UpdateWorkflowExecutionRequest): void {
  checkNamespace(namespace, request.namespace);
  const { workflowExecution, firstExecutionRunId } = request;
  if (workflowExecution === undefined) throw invalidArgument('Execution is not set on request.');
  if (workflowExecution.workflowId !== start.workflowId) throw invalidArgument('WorkflowId is not consistent with previous operation(s).');
  if (workflowExecution.runId !== '') throw invalidArgument('RunId is not allowed.');
  if (firstExecutionRunId !== '') throw invalidArgument('FirstExecutionRunId is not allowed.');
}

function checkNamespace(ofRequest: string, ofOperation: string): void {
  if (ofOperation !== '' && ofOperation !== ofRequest) throw invalidArgument("Operation namespace did not match request's namespace.");
}

function inOperation<Result>(operation: 'start' | 'update', run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    throw failed(operation, error);
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

/** What is no refusal (a server that stops, a bug of ours) is passed on as it is: callers ask again. */
function failed(operation: 'start' | 'update', error: unknown, other: typeof aborted | typeof begun = aborted): unknown {
  if (!(error instanceof StatusError) || error.details[0]?.type === failureType) return error;
  const details = error.details.map(({ type, value }) => ({ typeUrl: `${detailTypes}${type}`, value }));
  const own = { code: error.code, message: error.message, details };
  const statuses = operation === 'start' ? [own, other] : [other, own];
  return new StatusError(error.code, 'Update-with-Start could not be executed.', {
    details: [{ type: failureType, value: encodeMultiOperationExecutionFailure({ statuses }) }],
    cause: error,
  });
}

const failureType = 'temporal.api.errordetails.v1.MultiOperationExecutionFailure';
