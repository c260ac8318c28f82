import {
  decodePauseActivityExecutionRequest,
  decodeResetActivityExecutionRequest,
  decodeUnpauseActivityExecutionRequest,
  decodeUpdateActivityExecutionOptionsRequest,
  encodePauseActivityExecutionResponse,
  encodeResetActivityExecutionResponse,
  encodeUnpauseActivityExecutionResponse,
  encodeUpdateActivityExecutionOptionsResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import { statusCode } from '../errors/status-code.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLength, type EdgeLimits } from '../validation/lengths.ts';
import { pause, reset, unpause, updateOptions } from './activity-operations.ts';
import { standaloneActivity } from './refusals.ts';

type Named = {
  readonly workflowId: string;
  readonly activityId: string;
  readonly runId: string;
  readonly requestId: string;
  readonly reason?: string;
};
type Target = {
  readonly execution: { readonly workflowId: string; readonly runId: string };
  readonly id: string;
  readonly type: undefined;
};

/**
 * The same operations under their newer names, which the command line uses: with a workflow id for an activity of that workflow, by its id;
 * without one for an activity that stands alone, of which there are none.
 */
export function activityExecutionOperationMethods(context: HandlerContext): readonly NamedMethod[] {
  const { limits } = context;
  return [
    unary('PauseActivityExecution', decodePauseActivityExecutionRequest, encodePauseActivityExecutionResponse, (request, call) =>
      pause(context, { ...request, ...ofWorkflow(request, limits) }, call),
    ),
    unary('UnpauseActivityExecution', decodeUnpauseActivityExecutionRequest, encodeUnpauseActivityExecutionResponse, (request, call) => {
      checkBound('UnpauseActivityExecutionRequest.jitter', request.jitterMs);
      const none = { unpauseAll: undefined, resetAttempts: false, resetHeartbeat: false };
      return unpause(context, { ...request, ...ofWorkflow(request, limits), ...none }, call);
    }),
    unary('ResetActivityExecution', decodeResetActivityExecutionRequest, encodeResetActivityExecutionResponse, (request, call) => {
      checkBound('ResetActivityExecutionRequest.jitter', request.jitterMs);
      return reset(context, { ...request, ...ofWorkflow(request, limits), matchAll: undefined }, call);
    }),
    unary(
      'UpdateActivityExecutionOptions',
      decodeUpdateActivityExecutionOptionsRequest,
      encodeUpdateActivityExecutionOptionsResponse,
      (request, call) => updateOptions(context, { ...request, ...ofWorkflow(request, limits), matchAll: undefined }, call),
    ),
  ];
}

function ofWorkflow({ workflowId, runId, activityId, requestId, reason = '' }: Named, limits: EdgeLimits): Target {
  if (workflowId === '') throw new StatusError(statusCode.unimplemented, standaloneActivity);
  if (activityId === '') throw invalidArgument('activity ID is required');
  checkLength(requestId, 'RequestId', limits);
  checkLength(reason, 'Reason', limits);
  return { execution: { workflowId, runId }, id: activityId, type: undefined };
}
