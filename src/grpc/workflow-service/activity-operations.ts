import { type ActivityOptionField, activityOptionFields } from '../../kernel/activity-option-fields.ts';
import type { ActivityOptionsChange, ActivityTarget } from '../../history/activity/activity-commands.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import {
  decodePauseActivityRequest,
  decodeResetActivityRequest,
  decodeUnpauseActivityRequest,
  decodeUpdateActivityOptionsRequest,
  encodePauseActivityResponse,
  encodeResetActivityResponse,
  encodeUnpauseActivityResponse,
  encodeUpdateActivityOptionsResponse,
  type PauseActivityRequest,
  type ResetActivityRequest,
  type UnpauseActivityRequest,
  type UpdateActivityOptionsRequest,
  type UpdateActivityOptionsResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import type { WorkflowExecution } from '../../wire/generated/lean/common.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { shardRunKey } from '../validation/execution.ts';
import { checkLength, type EdgeLimits } from '../validation/lengths.ts';
import { checkPriority } from '../validation/priority.ts';
import { checkTaskQueue } from '../validation/task-queue.ts';
import { changedActivityOptions } from './activity-options.ts';

/** What operators do to the pending activities of a workflow: to one by its id, to all of a type, or to all. */
export function activityOperationMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('PauseActivity', decodePauseActivityRequest, encodePauseActivityResponse, (request, call) => pause(context, request, call)),
    unary('UnpauseActivity', decodeUnpauseActivityRequest, encodeUnpauseActivityResponse, (request, call) =>
      unpause(context, request, call),
    ),
    unary('ResetActivity', decodeResetActivityRequest, encodeResetActivityResponse, (request, call) => reset(context, request, call)),
    unary('UpdateActivityOptions', decodeUpdateActivityOptionsRequest, encodeUpdateActivityOptionsResponse, (request, call) =>
      updateOptions(context, request, call),
    ),
  ];
}

export async function pause(context: HandlerContext, request: PauseActivityRequest, call: Call): Promise<Record<string, never>> {
  const { key, target } = await named(context, request, request, call);
  const { identity, reason, requestId } = request;
  checkLength(reason, 'Reason', context.limits);
  checkLength(requestId, 'RequestId', context.limits);
  // An empty request id stays empty: two requests without one are the same request, as in Temporal.
  await context.history(call, key, { kind: 'pauseActivity', key, target, identity, reason, requestId });
  return {};
}

export async function unpause(
  context: HandlerContext,
  request: UnpauseActivityRequest & Repeatable,
  call: Call,
): Promise<Record<string, never>> {
  const { key, target } = await named(context, request, { ...request, all: request.unpauseAll }, call);
  const { resetAttempts, resetHeartbeat, jitterMs, requestId = call.ownRequestId ?? '' } = request;
  checkBound('UnpauseActivityRequest.jitter', jitterMs);
  const jitter = context.ports.random();
  await context.history(call, key, { kind: 'unpauseActivity', key, target, resetAttempts, resetHeartbeat, jitterMs, jitter, requestId });
  return {};
}

export async function reset(
  context: HandlerContext,
  request: ResetActivityRequest & Repeatable,
  call: Call,
): Promise<Record<string, never>> {
  const { key, target } = await named(context, request, { ...request, all: request.matchAll }, call);
  const { resetHeartbeat, keepPaused, restoreOriginalOptions, jitterMs, requestId = call.ownRequestId ?? '' } = request;
  checkBound('ResetActivityRequest.jitter', jitterMs);
  const draw = { jitterMs, jitter: context.ports.random(), requestId };
  await context.history(call, key, { kind: 'resetActivity', key, target, resetHeartbeat, keepPaused, restoreOriginalOptions, ...draw });
  return {};
}

export async function updateOptions(
  context: HandlerContext,
  request: UpdateActivityOptionsRequest & Repeatable,
  call: Call,
): Promise<UpdateActivityOptionsResponse> {
  const { key, target } = await named(context, request, { ...request, all: request.matchAll }, call);
  const change = optionsChange(request, context.limits);
  const { requestId = call.ownRequestId ?? '' } = request;
  const { options } = await context.history(call, key, { kind: 'updateActivityOptions', key, target, change, requestId });
  return { activityOptions: changedActivityOptions(options) };
}

/** Under their older names, which batch jobs use, most have no request id. */
type Repeatable = { readonly requestId?: string };

type Named = { readonly namespace: string; readonly execution: WorkflowExecution | undefined; readonly identity: string };
type Target = { readonly id: string | undefined; readonly type: string | undefined; readonly all?: boolean | undefined };

async function named(
  context: HandlerContext,
  { namespace: name, execution, identity }: Named,
  { id, type, all }: Target,
  call: Call,
): Promise<{ readonly key: RunKey; readonly target: ActivityTarget }> {
  const namespace = await context.namespace(call, name);
  const key = shardRunKey(namespace.id, execution ?? { workflowId: '', runId: '' });
  if (id === undefined && type === undefined && all === undefined) {
    throw invalidArgument('Either Activity.Id or Activity.Type should be set on request.');
  }
  checkLength(identity, 'Identity', context.limits);
  checkLength(id ?? '', 'ActivityId', context.limits);
  checkLength(type ?? '', 'ActivityType', context.limits);
  return { key, target: { activityId: id, activityType: type } };
}

/** undefined: back to what was scheduled. */
function optionsChange(request: UpdateActivityOptionsRequest, limits: EdgeLimits): ActivityOptionsChange | undefined {
  const { activityOptions: options, updateMask: mask, restoreOriginal } = request;
  checkPriority(options?.priority);
  const fields = mask?.paths.map(optionField) ?? [];
  if (restoreOriginal) {
    if (fields.length > 0) throw invalidArgument('Both UpdateMask and RestoreOriginal are provided');
    return undefined;
  }
  if (options === undefined) throw invalidArgument('ActivityOptions are not provided');
  if (mask === undefined) throw invalidArgument('UpdateMask is not provided');
  if (fields.includes('scheduleToCloseTimeout')) checkBound('ActivityOptions.schedule_to_close_timeout', options.scheduleToCloseTimeoutMs);
  if (fields.includes('scheduleToStartTimeout')) checkBound('ActivityOptions.schedule_to_start_timeout', options.scheduleToStartTimeoutMs);
  if (fields.includes('startToCloseTimeout')) checkBound('ActivityOptions.start_to_close_timeout', options.startToCloseTimeoutMs);
  if (fields.includes('heartbeatTimeout')) checkBound('ActivityOptions.heartbeat_timeout', options.heartbeatTimeoutMs);
  const namesQueue = fields.includes('taskQueue.name');
  if (namesQueue && options.taskQueue === undefined) throw invalidArgument('TaskQueue is not provided');
  if (namesQueue && options.taskQueue !== undefined) checkTaskQueue(options.taskQueue, limits);
  return {
    fields: [...new Set(fields)],
    taskQueue: options.taskQueue?.name ?? '',
    scheduleToCloseTimeoutMs: options.scheduleToCloseTimeoutMs,
    scheduleToStartTimeoutMs: options.scheduleToStartTimeoutMs,
    startToCloseTimeoutMs: options.startToCloseTimeoutMs,
    heartbeatTimeoutMs: options.heartbeatTimeoutMs,
    retryPolicy: options.retryPolicy,
    priority: options.priority,
  };
}

/** `retry_policy.initial_interval`, or as JSON has it. Temporal changes nothing for a path that it does not know; that helps nobody. */
function optionField(path: string): ActivityOptionField {
  const field = path.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase());
  if (!isOptionField(field)) throw invalidArgument(`UpdateMask names no option of an activity: ${path.slice(0, 100)}`);
  return field;
}

function isOptionField(field: string): field is ActivityOptionField {
  return Object.hasOwn(activityOptionFields, field);
}
