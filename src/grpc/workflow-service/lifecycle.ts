import {
  decodeDeleteWorkflowExecutionRequest,
  decodeRequestCancelWorkflowExecutionRequest,
  decodeSignalWorkflowExecutionRequest,
  decodeTerminateWorkflowExecutionRequest,
  type DeleteWorkflowExecutionRequest,
  encodeDeleteWorkflowExecutionResponse,
  encodeRequestCancelWorkflowExecutionResponse,
  encodeSignalWorkflowExecutionResponse,
  encodeTerminateWorkflowExecutionResponse,
  type RequestCancelWorkflowExecutionRequest,
  type SignalWorkflowExecutionRequest,
  type SignalWorkflowExecutionResponse,
  type TerminateWorkflowExecutionRequest,
} from '../../wire/generated/lean/workflow_service.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { runKey } from '../validation/execution.ts';
import { checkBlob, checkLength } from '../validation/lengths.ts';
import { checkLinks } from '../validation/start.ts';
import { signaledLink } from './links.ts';

/** What is done to a workflow from outside: signal, request to cancel, terminate, delete. */
export function lifecycleMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('SignalWorkflowExecution', decodeSignalWorkflowExecutionRequest, encodeSignalWorkflowExecutionResponse, (request, call) =>
      signal(context, request, call),
    ),
    unary(
      'RequestCancelWorkflowExecution',
      decodeRequestCancelWorkflowExecutionRequest,
      encodeRequestCancelWorkflowExecutionResponse,
      (request, call) => requestCancel(context, request, call),
    ),
    unary(
      'TerminateWorkflowExecution',
      decodeTerminateWorkflowExecutionRequest,
      encodeTerminateWorkflowExecutionResponse,
      (request, call) => terminate(context, request, call),
    ),
    unary('DeleteWorkflowExecution', decodeDeleteWorkflowExecutionRequest, encodeDeleteWorkflowExecutionResponse, (request, call) =>
      remove(context, request, call),
    ),
  ];
}

async function signal(
  context: HandlerContext,
  request: SignalWorkflowExecutionRequest,
  call: Call,
): Promise<SignalWorkflowExecutionResponse> {
  const namespace = await context.namespace(call, request.namespace);
  const key = runKey(namespace.id, request.workflowExecution);
  if (request.signalName === '') throw invalidArgument('SignalName is not set on request.');
  checkLength(request.signalName, 'SignalName', context.limits);
  checkLength(request.requestId, 'RequestId', context.limits);
  checkLength(request.identity, 'Identity', context.limits);
  checkLinks(request.links);
  checkBlob(request.input, 'payloads', context.limits);
  checkBlob(request.header, 'fields', context.limits);
  const requestId = context.requestId(request.requestId);
  const { runId } = await context.history(call, key, {
    kind: 'signalWorkflow',
    key,
    signal: {
      signalName: request.signalName,
      input: request.input,
      header: request.header,
      identity: request.identity,
      requestId,
      links: request.links,
      externalWorkflowExecution: undefined,
    },
    childOf: undefined,
  });
  return { link: signaledLink({ namespace: namespace.name, workflowId: key.workflowId, runId }, requestId) };
}

async function requestCancel(
  context: HandlerContext,
  request: RequestCancelWorkflowExecutionRequest,
  call: Call,
): Promise<Record<string, never>> {
  const namespace = await context.namespace(call, request.namespace);
  const key = inChain(runKey(namespace.id, request.workflowExecution), request.firstExecutionRunId);
  checkLength(request.requestId, 'RequestId', context.limits);
  checkLength(request.identity, 'Identity', context.limits);
  checkLinks(request.links);
  await context.history(call, key, {
    kind: 'requestCancelWorkflow',
    key,
    firstExecutionRunId: request.firstExecutionRunId,
    cause: request.reason,
    identity: request.identity,
    requestId: context.requestId(request.requestId),
    links: request.links,
    external: undefined,
    childOf: undefined,
  });
  return {};
}

async function terminate(context: HandlerContext, request: TerminateWorkflowExecutionRequest, call: Call): Promise<Record<string, never>> {
  const namespace = await context.namespace(call, request.namespace);
  const key = inChain(runKey(namespace.id, request.workflowExecution), request.firstExecutionRunId);
  checkLength(request.identity, 'Identity', context.limits);
  checkLinks(request.links);
  checkBlob(request.details, 'payloads', context.limits);
  await context.history(call, key, {
    kind: 'terminateWorkflow',
    key,
    firstExecutionRunId: request.firstExecutionRunId,
    reason: request.reason === '' ? 'terminated by user via frontend' : request.reason,
    details: request.details,
    identity: request.identity === '' ? 'frontend-service' : request.identity,
    links: request.links,
    childOf: undefined,
  });
  return {};
}

/** One run, and when it answers, nobody finds the run any more. Temporal accepts the request and does it later. */
async function remove(context: HandlerContext, request: DeleteWorkflowExecutionRequest, call: Call): Promise<Record<string, never>> {
  const namespace = await context.namespace(call, request.namespace);
  const key = runKey(namespace.id, request.workflowExecution);
  await context.history(call, key, { kind: 'deleteWorkflow', key });
  return {};
}

/** The first run of a chain stands for all of it: the current run is meant, whichever run the request names. */
function inChain(key: RunKey, firstExecutionRunId: string): RunKey {
  return firstExecutionRunId === '' ? key : { ...key, runId: '' };
}
