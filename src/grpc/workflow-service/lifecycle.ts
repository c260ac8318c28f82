import * as wire from '../../wire/generated/lean/workflow_service.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { inNamespace, methodsOf, type Handler } from '../method.ts';
import { checkLength, checkLengths, isTooLong, runKey, shardRunKey } from '../validation/names.ts';
import { checkBlob } from '../validation/opaque.ts';
import { checkPriority, optionFields } from '../validation/options.ts';
import { checkLinks } from '../validation/start.ts';
import { signaledLink } from './links.ts';

/** What is done to a workflow from outside: it gets a signal, is to cancel itself, ends, is deleted, stands still, goes on, has other options. */
export const lifecycleMethods = methodsOf(wire.codecs, {
  SignalWorkflowExecution: inNamespace(async (context, request, call, namespace) => {
    const key = runKey(namespace.id, request.workflowExecution);
    const { signalName, input, header, identity, links } = request;
    if (signalName === '') throw invalidArgument('SignalName is not set on request.');
    checkLengths({ SignalName: signalName, RequestId: request.requestId, Identity: identity }, context.limits);
    checkLinks(links);
    checkBlob(input, 'payloads', context.limits);
    checkBlob(header, 'fields', context.limits);
    const requestId = context.requestId(request.requestId);
    const signal = { signalName, input, header, identity, requestId, links, externalWorkflowExecution: undefined };
    const { runId } = await context.history(call, key, { kind: 'signalWorkflow', key, signal, childOf: undefined });
    return { link: signaledLink({ namespace: namespace.name, workflowId: key.workflowId, runId }, requestId) };
  }),
  RequestCancelWorkflowExecution: inNamespace(async (context, request, call, namespace) => {
    const { firstExecutionRunId, reason: cause, identity, links } = request;
    const key = inChain(runKey(namespace.id, request.workflowExecution), firstExecutionRunId);
    checkLengths({ RequestId: request.requestId, Identity: identity }, context.limits);
    checkLinks(links);
    const requestId = context.requestId(request.requestId);
    const asked = { firstExecutionRunId, cause, identity, requestId, links, external: undefined, childOf: undefined };
    await context.history(call, key, { kind: 'requestCancelWorkflow', key, ...asked });
    return {};
  }),
  TerminateWorkflowExecution: inNamespace(async (context, request, call, namespace) => {
    const { firstExecutionRunId, details, identity, links } = request;
    const key = inChain(runKey(namespace.id, request.workflowExecution), firstExecutionRunId);
    checkLength(identity, 'Identity', context.limits);
    checkLinks(links);
    checkBlob(details, 'payloads', context.limits);
    await context.history(call, key, {
      kind: 'terminateWorkflow',
      key,
      firstExecutionRunId,
      reason: request.reason === '' ? 'terminated by user via frontend' : request.reason,
      details,
      identity: identity === '' ? 'frontend-service' : identity,
      links,
      childOf: undefined,
    });
    return {};
  }),
  /** One run, and when it answers, nobody finds the run any more. Temporal accepts the request and does it later. */
  DeleteWorkflowExecution: inNamespace(async (context, request, call, { id }) => {
    const key = runKey(id, request.workflowExecution);
    await context.history(call, key, { kind: 'deleteWorkflow', key });
    return {};
  }),
  PauseWorkflowExecution: paused('pauseWorkflow'),
  UnpauseWorkflowExecution: paused('unpauseWorkflow'),
  UpdateWorkflowExecutionOptions: inNamespace(async (context, request, call, { id }) => {
    const { workflowExecution = { workflowId: '', runId: '' }, workflowExecutionOptions: options, updateMask, identity } = request;
    const key = shardRunKey(id, workflowExecution);
    checkLength(identity, 'Identity', context.limits);
    if (updateMask === undefined) throw invalidArgument('UpdateMask is required');
    if (options === undefined) throw invalidArgument('WorkflowExecutionOptions is required');
    const fields = optionFields(updateMask.paths);
    checkPriority(options.priority);
    const command = { kind: 'updateWorkflowOptions', key, fields, priority: options.priority, identity } as const;
    const { priority } = await context.history(call, key, command);
    // The time of the update is left out by Temporal's frontend too.
    return { workflowExecutionOptions: { versioningOverride: undefined, priority, timeSkippingConfig: undefined }, updateTimeMs: 0 };
  }),
});

/** The first run of a chain stands for all of it: the current run is meant, whichever run the request names. */
function inChain(key: RunKey, firstExecutionRunId: string): RunKey {
  return firstExecutionRunId === '' ? key : { ...key, runId: '' };
}

function paused(
  kind: 'pauseWorkflow' | 'unpauseWorkflow',
): Handler<wire.PauseWorkflowExecutionRequest, wire.PauseWorkflowExecutionResponse> {
  return inNamespace(async (context, { workflowId, runId, identity, reason, requestId }, call, namespace) => {
    const key = shardRunKey(namespace.id, { workflowId, runId });
    const { limits } = context;
    if (isTooLong(reason, limits)) throw invalidArgument('reason is too long.');
    if (isTooLong(requestId, limits)) throw invalidArgument('request id is too long.');
    if (isTooLong(identity, limits)) throw invalidArgument('identity is too long.');
    // An empty request id stays empty: two requests without one are two, as in Temporal.
    await context.history(call, key, { kind, key, identity, reason, requestId });
    return {};
  });
}
