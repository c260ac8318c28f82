import type { RunKey } from '../../kernel/run-key.ts';
import type { WorkflowExecutionOptions } from '../../wire/generated/lean/workflow.ts';
import {
  decodePauseWorkflowExecutionRequest,
  decodeUnpauseWorkflowExecutionRequest,
  decodeUpdateWorkflowExecutionOptionsRequest,
  encodePauseWorkflowExecutionResponse,
  encodeUnpauseWorkflowExecutionResponse,
  encodeUpdateWorkflowExecutionOptionsResponse,
  type PauseWorkflowExecutionRequest,
  type UpdateWorkflowExecutionOptionsRequest,
  type UpdateWorkflowExecutionOptionsResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { shardRunKey } from '../validation/execution.ts';
import { checkLength, isTooLong } from '../validation/lengths.ts';
import { checkPriority } from '../validation/priority.ts';
import { optionFields } from '../validation/workflow-options.ts';

/** What operators do to a workflow as a whole: it stands still, goes on, has other options. */
export function workflowOperationMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('PauseWorkflowExecution', decodePauseWorkflowExecutionRequest, encodePauseWorkflowExecutionResponse, (request, call) =>
      pause(context, 'pauseWorkflow', request, call),
    ),
    unary('UnpauseWorkflowExecution', decodeUnpauseWorkflowExecutionRequest, encodeUnpauseWorkflowExecutionResponse, (request, call) =>
      pause(context, 'unpauseWorkflow', request, call),
    ),
    unary(
      'UpdateWorkflowExecutionOptions',
      decodeUpdateWorkflowExecutionOptionsRequest,
      encodeUpdateWorkflowExecutionOptionsResponse,
      (request, call) => updateOptions(context, request, call),
    ),
  ];
}

async function pause(
  context: HandlerContext,
  kind: 'pauseWorkflow' | 'unpauseWorkflow',
  request: PauseWorkflowExecutionRequest,
  call: Call,
): Promise<Record<string, never>> {
  const namespace = await context.namespace(call, request.namespace);
  const { workflowId, runId, identity, reason, requestId } = request;
  const key = shardRunKey(namespace.id, { workflowId, runId });
  const { limits } = context;
  if (isTooLong(reason, limits)) throw invalidArgument('reason is too long.');
  if (isTooLong(requestId, limits)) throw invalidArgument('request id is too long.');
  if (isTooLong(identity, limits)) throw invalidArgument('identity is too long.');
  // An empty request id stays empty: two requests without one are two, as in Temporal.
  await context.history(call, key, { kind, key, identity, reason, requestId });
  return {};
}

async function updateOptions(
  context: HandlerContext,
  request: UpdateWorkflowExecutionOptionsRequest,
  call: Call,
): Promise<UpdateWorkflowExecutionOptionsResponse> {
  const namespace = await context.namespace(call, request.namespace);
  const { workflowExecution = { workflowId: '', runId: '' }, workflowExecutionOptions: options, updateMask, identity } = request;
  const key: RunKey = shardRunKey(namespace.id, workflowExecution);
  checkLength(identity, 'Identity', context.limits);
  if (updateMask === undefined) throw invalidArgument('UpdateMask is required');
  if (options === undefined) throw invalidArgument('WorkflowExecutionOptions is required');
  const fields = optionFields(updateMask.paths);
  checkPriority(options.priority);
  const { priority } = await context.history(call, key, {
    kind: 'updateWorkflowOptions',
    key,
    fields,
    priority: options.priority,
    identity,
  });
  // The time of the update is left out by Temporal's frontend too.
  return { workflowExecutionOptions: workflowOptions(priority), updateTimeMs: 0 };
}

function workflowOptions(priority: Uint8Array | undefined): WorkflowExecutionOptions {
  return { versioningOverride: undefined, priority, timeSkippingConfig: undefined };
}
