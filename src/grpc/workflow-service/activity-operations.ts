import { type ActivityOptionField, activityOptionFields } from '../../kernel/activity-option-fields.ts';
import type { ActivityOptionsChange, ActivityTarget } from '../../history/commands/operation-commands.ts';
import type { ShownOptions } from '../../history/run/activity-operations.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { ActivityOptions } from '../../wire/generated/lean/activity_options.ts';
import { TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import type { WorkflowExecution } from '../../wire/generated/lean/common.ts';
import { invalidArgument, statusCode, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { methodsOf } from '../method.ts';
import { standaloneActivity } from '../rpcs/missing.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLengths, checkTaskQueue, type EdgeLimits, shardRunKey } from '../validation/names.ts';
import { checkPriority } from '../validation/options.ts';

/** The newer names (…ActivityExecution) are for one activity, by ids; without a workflow id it stands alone, and there are none. */
export const activityOperationMethods = methodsOf(wire.codecs, {
  PauseActivity: pause,
  UnpauseActivity: unpause,
  ResetActivity: reset,
  UpdateActivityOptions: updateOptions,
  PauseActivityExecution: (context, request, call) => pause(context, { ...request, ...ofWorkflow(request, context.limits) }, call),
  UnpauseActivityExecution: (context, request, call) => {
    checkBound('UnpauseActivityExecutionRequest.jitter', request.jitterMs);
    const none = { unpauseAll: undefined, resetAttempts: false, resetHeartbeat: false };
    return unpause(context, { ...request, ...ofWorkflow(request, context.limits), ...none }, call);
  },
  ResetActivityExecution: (context, request, call) => {
    checkBound('ResetActivityExecutionRequest.jitter', request.jitterMs);
    return reset(context, { ...request, ...ofWorkflow(request, context.limits), matchAll: undefined }, call);
  },
  UpdateActivityExecutionOptions: (context, request, call) =>
    updateOptions(context, { ...request, ...ofWorkflow(request, context.limits), matchAll: undefined }, call),
});

type NamedByIds = { readonly workflowId: string; readonly activityId: string; readonly runId: string; readonly requestId: string };

function ofWorkflow(
  { workflowId, runId, activityId, requestId, reason = '' }: NamedByIds & { readonly reason?: string },
  limits: EdgeLimits,
) {
  if (workflowId === '') throw new StatusError(statusCode.unimplemented, standaloneActivity);
  if (activityId === '') throw invalidArgument('activity ID is required');
  checkLengths({ RequestId: requestId, Reason: reason }, limits);
  return { execution: { workflowId, runId }, id: activityId, type: undefined };
}

type Nothing = Record<string, never>;

async function pause(context: HandlerContext, request: wire.PauseActivityRequest, call: Call): Promise<Nothing> {
  const { key, target } = await named(context, request, request, call);
  const { identity, reason, requestId } = request;
  checkLengths({ Reason: reason, RequestId: requestId }, context.limits);
  // An empty request id stays empty: two requests without one are the same request, as in Temporal.
  await context.history(call, key, { kind: 'pauseActivity', key, target, identity, reason, requestId });
  return {};
}

async function unpause(context: HandlerContext, request: wire.UnpauseActivityRequest & Repeatable, call: Call): Promise<Nothing> {
  const { key, target } = await named(context, request, { ...request, all: request.unpauseAll }, call);
  const { resetAttempts, resetHeartbeat, jitterMs, requestId = call.own?.requestId ?? '' } = request;
  checkBound('UnpauseActivityRequest.jitter', jitterMs);
  const jitter = context.ports.random();
  await context.history(call, key, { kind: 'unpauseActivity', key, target, resetAttempts, resetHeartbeat, jitterMs, jitter, requestId });
  return {};
}

async function reset(context: HandlerContext, request: wire.ResetActivityRequest & Repeatable, call: Call): Promise<Nothing> {
  const { key, target } = await named(context, request, { ...request, all: request.matchAll }, call);
  const { resetHeartbeat, keepPaused, restoreOriginalOptions, jitterMs, requestId = call.own?.requestId ?? '' } = request;
  checkBound('ResetActivityRequest.jitter', jitterMs);
  const draw = { jitterMs, jitter: context.ports.random(), requestId };
  await context.history(call, key, { kind: 'resetActivity', key, target, resetHeartbeat, keepPaused, restoreOriginalOptions, ...draw });
  return {};
}

async function updateOptions(
  context: HandlerContext,
  request: wire.UpdateActivityOptionsRequest & Repeatable,
  call: Call,
): Promise<wire.UpdateActivityOptionsResponse> {
  const { key, target } = await named(context, request, { ...request, all: request.matchAll }, call);
  const change = optionsChange(request, context.limits);
  const { requestId = call.own?.requestId ?? '' } = request;
  const { options } = await context.history(call, key, { kind: 'updateActivityOptions', key, target, change, requestId });
  return { activityOptions: changedActivityOptions(options) };
}

/** The older names, which batch jobs use, mostly have no request id. */
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
  checkLengths({ Identity: identity, ActivityId: id ?? '', ActivityType: type ?? '' }, context.limits);
  return { key, target: { activityId: id, activityType: type } };
}

/** The options that are asked for; undefined: those that were scheduled. */
function optionsChange(request: wire.UpdateActivityOptionsRequest, limits: EdgeLimits): ActivityOptionsChange | undefined {
  const { activityOptions: options, updateMask: mask, restoreOriginal } = request;
  checkPriority(options?.priority);
  const fields = mask?.paths.map(optionField) ?? [];
  if (restoreOriginal) {
    if (fields.length > 0) throw invalidArgument('Both UpdateMask and RestoreOriginal are provided');
    return undefined;
  }
  if (options === undefined) throw invalidArgument('ActivityOptions are not provided');
  if (mask === undefined) throw invalidArgument('UpdateMask is not provided');
  const { scheduleToCloseTimeoutMs, scheduleToStartTimeoutMs, startToCloseTimeoutMs, heartbeatTimeoutMs, retryPolicy, priority } = options;
  if (fields.includes('scheduleToCloseTimeout')) checkBound('ActivityOptions.schedule_to_close_timeout', scheduleToCloseTimeoutMs);
  if (fields.includes('scheduleToStartTimeout')) checkBound('ActivityOptions.schedule_to_start_timeout', scheduleToStartTimeoutMs);
  if (fields.includes('startToCloseTimeout')) checkBound('ActivityOptions.start_to_close_timeout', startToCloseTimeoutMs);
  if (fields.includes('heartbeatTimeout')) checkBound('ActivityOptions.heartbeat_timeout', heartbeatTimeoutMs);
  const namesQueue = fields.includes('taskQueue.name');
  if (namesQueue && options.taskQueue === undefined) throw invalidArgument('TaskQueue is not provided');
  if (namesQueue && options.taskQueue !== undefined) checkTaskQueue(options.taskQueue, limits);
  return {
    fields: [...new Set(fields)],
    taskQueue: options.taskQueue?.name ?? '',
    ...{ scheduleToCloseTimeoutMs, scheduleToStartTimeoutMs, startToCloseTimeoutMs, heartbeatTimeoutMs, retryPolicy, priority },
  };
}

/** `retry_policy.initial_interval`, or as JSON has it. Temporal changes nothing for a path that it does not know; that helps nobody. */
function optionField(path: string): ActivityOptionField {
  const field = activityOptionFields.find(path.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase()));
  if (field === undefined) throw invalidArgument(`UpdateMask names no option of an activity: ${path.slice(0, 100)}`);
  return field;
}

/** Options as the answer to their change shows them. */
function changedActivityOptions(options: ShownOptions): ActivityOptions {
  return { ...activityOptions(options), taskQueue: { name: options.taskQueue.name, kind: TaskQueueKind.NORMAL, normalName: '' } };
}

/** Options as descriptions show them. Only activities outside of workflows have a start delay. */
export function activityOptions(options: ShownOptions): ActivityOptions {
  return { ...options, taskQueue: { name: options.taskQueue.name, kind: 0, normalName: options.taskQueue.name }, startDelayMs: 0 };
}
