import type { Namespace } from '../../cluster/cluster-state.ts';
import type { StartCallbacks } from '../../history/commands/callback-commands.ts';
import type { StartWorkflow } from '../../history/commands/history-commands.ts';
import type { StartReply } from '../../history/run/history-replies.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import { WorkflowIdConflictPolicy } from '../../wire/generated/lean/enums.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inOpenNamespace, methodsOf } from '../method.ts';
import { checkBound } from '../validation/bounds.ts';
import { callbacksAndLinks } from '../validation/callbacks.ts';
import { checkBlob, checkOpaque } from '../validation/opaque.ts';
import { isTooLong } from '../validation/names.ts';
import { idPolicies, signalWithStartTexts, startAttributes } from '../validation/start.ts';
import { attachedLink, signaledLink, startedLink } from './links.ts';
import { workflowTaskAnswer } from './task-answers.ts';

export const startMethods = methodsOf(wire.codecs, {
  StartWorkflowExecution: inOpenNamespace(async (context, request, call, namespace) => {
    const command = startCommand(context, request, namespace);
    const reply = await context.history(call, command.key, request.requestEagerExecution ? { ...command, eager: true } : command);
    const response = startResponse(command, reply);
    if (reply.workflowTask === undefined) return response;
    return { ...response, eagerWorkflowTask: await workflowTaskAnswer(context, call, reply.workflowTask, 0) };
  }),
  SignalWithStartWorkflowExecution: inOpenNamespace(async (context, request, call, namespace) => {
    const { signalName, signalInput: input, header, identity, links, workflowId } = request;
    const { limits } = context;
    if (signalName === '') throw invalidArgument('signal not set');
    if (isTooLong(signalName, limits))
      throw invalidArgument(`signal name exceeds maximum allowed length (${Buffer.byteLength(signalName)}/${limits.idBytesMax})`);
    const start = startAttributes(request, namespace, limits, context.nowMs(), signalWithStartTexts);
    checkBlob(input, 'payloads', limits);
    const policies = idPolicies(request.workflowIdReusePolicy, request.workflowIdConflictPolicy, WorkflowIdConflictPolicy.USE_EXISTING);
    checkBound('SignalWithStartWorkflowExecutionRequest.workflow_id_conflict_policy', request.workflowIdConflictPolicy);
    const key = { namespaceId: namespace.id, workflowId, runId: '' };
    const requestId = context.requestId(request.requestId);
    const { runId, started, firstExecutionRunId } = await context.history(call, key, {
      kind: 'signalWithStartWorkflow',
      key,
      namespace: namespace.name,
      newRunId: context.ports.newRunId(),
      requestId,
      start,
      retentionMs: namespace.retentionMs,
      policies,
      signal: { signalName, input, header, identity, requestId, links, externalWorkflowExecution: undefined },
    });
    const signalLink = signaledLink({ namespace: namespace.name, workflowId, runId }, requestId);
    return { runId, started, signalLink, firstExecutionRunId };
  }),
});

export function startCommand(context: HandlerContext, request: wire.StartWorkflowExecutionRequest, namespace: Namespace): StartWorkflow {
  const attributes = startAttributes(request, namespace, context.limits, context.nowMs());
  const { callbacks, links } = callbacksOf(context, request, namespace);
  const policies = idPolicies(request.workflowIdReusePolicy, request.workflowIdConflictPolicy, WorkflowIdConflictPolicy.FAIL);
  checkOpaque(request.eagerWorkerDeploymentOptions, 'deploymentOptions');
  if (request.continuedFailure !== undefined) throw notBuilt('continued_failure');
  if (request.lastCompletionResult !== undefined) throw notBuilt('last_completion_result');
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
  { completionCallbacks, links }: wire.StartWorkflowExecutionRequest,
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
): wire.StartWorkflowExecutionResponse {
  const { runId, started, status, firstExecutionRunId } = reply;
  const run = { namespace, workflowId, runId };
  const isAttached = !started && onConflict?.attachRequestId === true;
  const link = isAttached ? attachedLink(run, requestId) : startedLink(run);
  return { runId, eagerWorkflowTask: undefined, started, link, status, firstExecutionRunId };
}

function onConflict(request: wire.StartWorkflowExecutionRequest, links: readonly Uint8Array[]): StartWorkflow['onConflict'] {
  const options = request.onConflictOptions;
  if (options === undefined) return undefined;
  if (options.attachCompletionCallbacks && !options.attachRequestId) {
    throw invalidArgument('attaching request ID is required for attaching completion callbacks');
  }
  const { attachRequestId, attachCompletionCallbacks: attachCallbacks, attachLinks } = options;
  return { attachRequestId, attachCallbacks, attachLinks, links };
}
