import type { Namespace } from '../../cluster/cluster-state.ts';
import type { StartCallbacks } from '../../history/callback/callback-commands.ts';
import type { StartWorkflow } from '../../history/commands.ts';
import type { StartReply } from '../../history/replies.ts';
import {
  decodeSignalWithStartWorkflowExecutionRequest,
  decodeStartWorkflowExecutionRequest,
  encodeSignalWithStartWorkflowExecutionResponse,
  encodeStartWorkflowExecutionResponse,
  type SignalWithStartWorkflowExecutionRequest,
  type SignalWithStartWorkflowExecutionResponse,
  type StartWorkflowExecutionRequest,
  type StartWorkflowExecutionResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import { WorkflowIdConflictPolicy } from '../../wire/generated/lean/enums.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { callbacksAndLinks } from '../validation/callbacks.ts';
import { checkBlob, isTooLong } from '../validation/lengths.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { idPolicies, signalWithStartTexts, startAttributes } from '../validation/start.ts';
import { attachedLink, signaledLink, startedLink } from './links.ts';
import { workflowTaskAnswer } from './task-answers.ts';

/** A workflow begins: StartWorkflowExecution and SignalWithStartWorkflowExecution. */
export function startMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('StartWorkflowExecution', decodeStartWorkflowExecutionRequest, encodeStartWorkflowExecutionResponse, (request, call) =>
      start(context, request, call),
    ),
    unary(
      'SignalWithStartWorkflowExecution',
      decodeSignalWithStartWorkflowExecutionRequest,
      encodeSignalWithStartWorkflowExecutionResponse,
      (request, call) => signalWithStart(context, request, call),
    ),
  ];
}

async function start(context: HandlerContext, request: StartWorkflowExecutionRequest, call: Call): Promise<StartWorkflowExecutionResponse> {
  const namespace = await context.openNamespace(call, request.namespace);
  const command = startCommand(context, request, namespace);
  const reply = await context.history(call, command.key, request.requestEagerExecution ? { ...command, eager: true } : command);
  const response = startResponse(command, reply);
  if (reply.workflowTask === undefined) return response;
  return { ...response, eagerWorkflowTask: await workflowTaskAnswer(context, call, reply.workflowTask, 0) };
}

/** Throws what is wrong with the request. */
export function startCommand(context: HandlerContext, request: StartWorkflowExecutionRequest, namespace: Namespace): StartWorkflow {
  const attributes = startAttributes(request, namespace, context.limits, context.nowMs());
  const { callbacks, links } = callbacksOf(context, request, namespace);
  const policies = idPolicies(request.workflowIdReusePolicy, request.workflowIdConflictPolicy, WorkflowIdConflictPolicy.FAIL);
  refuseUnbuiltStart(request);
  return {
    kind: 'startWorkflow',
    key: { namespaceId: namespace.id, workflowId: request.workflowId, runId: '' },
    namespace: namespace.name,
    newRunId: context.ports.newRunId(),
    requestId: context.requestId(request.requestId),
    start: links === attributes.links ? attributes : { ...attributes, links },
    retentionMs: namespace.retentionMs,
    policies,
    parent: undefined,
    onConflict: onConflict(request, links),
    ...(callbacks === undefined ? {} : { callbacks }),
  };
}

function callbacksOf(
  context: HandlerContext,
  { completionCallbacks, links }: StartWorkflowExecutionRequest,
  namespace: Namespace,
): { readonly callbacks: StartCallbacks | undefined; readonly links: readonly Uint8Array[] } {
  if (completionCallbacks.length === 0) return { callbacks: undefined, links };
  const limits = context.ports.callbacks.limitsOf(namespace.name);
  const checked = callbacksAndLinks(completionCallbacks, links, limits);
  return { callbacks: { callbacks: checked.callbacks, callbacksMax: limits.callbacksMax }, links: checked.links };
}

/** Without the first workflow task, which only a start that is alone may have. */
export function startResponse(
  { namespace, key: { workflowId }, requestId, onConflict }: StartWorkflow,
  reply: StartReply,
): StartWorkflowExecutionResponse {
  const { runId, started, status, firstExecutionRunId } = reply;
  const run = { namespace, workflowId, runId };
  const isAttached = !started && onConflict?.attachRequestId === true;
  return {
    runId,
    eagerWorkflowTask: undefined,
    started,
    link: isAttached ? attachedLink(run, requestId) : startedLink(run),
    status,
    firstExecutionRunId,
  };
}

function onConflict(request: StartWorkflowExecutionRequest, links: readonly Uint8Array[]): StartWorkflow['onConflict'] {
  const options = request.onConflictOptions;
  if (options === undefined) return undefined;
  if (options.attachCompletionCallbacks && !options.attachRequestId) {
    throw invalidArgument('attaching request ID is required for attaching completion callbacks');
  }
  const { attachRequestId, attachCompletionCallbacks: attachCallbacks, attachLinks } = options;
  return { attachRequestId, attachCallbacks, attachLinks, links };
}

function refuseUnbuiltStart(request: StartWorkflowExecutionRequest): void {
  checkOpaque(request.eagerWorkerDeploymentOptions, 'deploymentOptions');
  if (request.continuedFailure !== undefined) throw notBuilt('continued_failure');
  if (request.lastCompletionResult !== undefined) throw notBuilt('last_completion_result');
}

async function signalWithStart(
  context: HandlerContext,
  request: SignalWithStartWorkflowExecutionRequest,
  call: Call,
): Promise<SignalWithStartWorkflowExecutionResponse> {
  const namespace = await context.openNamespace(call, request.namespace);
  if (request.signalName === '') throw invalidArgument('signal not set');
  if (isTooLong(request.signalName, context.limits)) {
    throw invalidArgument(
      `signal name exceeds maximum allowed length (${Buffer.byteLength(request.signalName)}/${context.limits.idBytesMax})`,
    );
  }
  const attributes = startAttributes(request, namespace, context.limits, context.nowMs(), signalWithStartTexts);
  checkBlob(request.signalInput, 'payloads', context.limits);
  const policies = idPolicies(request.workflowIdReusePolicy, request.workflowIdConflictPolicy, WorkflowIdConflictPolicy.USE_EXISTING);
  checkBound('SignalWithStartWorkflowExecutionRequest.workflow_id_conflict_policy', request.workflowIdConflictPolicy);
  const key = { namespaceId: namespace.id, workflowId: request.workflowId, runId: '' };
  const requestId = context.requestId(request.requestId);
  const reply = await context.history(call, key, {
    kind: 'signalWithStartWorkflow',
    key,
    namespace: namespace.name,
    newRunId: context.ports.newRunId(),
    requestId,
    start: attributes,
    retentionMs: namespace.retentionMs,
    policies,
    signal: {
      signalName: request.signalName,
      input: request.signalInput,
      header: request.header,
      identity: request.identity,
      requestId,
      links: request.links,
      externalWorkflowExecution: undefined,
    },
  });
  const run = { namespace: namespace.name, workflowId: request.workflowId, runId: reply.runId };
  return {
    runId: reply.runId,
    started: reply.started,
    signalLink: signaledLink(run, requestId),
    firstExecutionRunId: reply.firstExecutionRunId,
  };
}
