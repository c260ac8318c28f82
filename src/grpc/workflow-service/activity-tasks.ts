import type { ActivityRef } from '../../history/commands.ts';
import {
  decodePollActivityTaskQueueRequest,
  decodeRecordActivityTaskHeartbeatByIdRequest,
  decodeRecordActivityTaskHeartbeatRequest,
  decodeRespondActivityTaskCanceledByIdRequest,
  decodeRespondActivityTaskCanceledRequest,
  decodeRespondActivityTaskCompletedByIdRequest,
  decodeRespondActivityTaskCompletedRequest,
  decodeRespondActivityTaskFailedByIdRequest,
  decodeRespondActivityTaskFailedRequest,
  encodePollActivityTaskQueueResponse,
  encodeRecordActivityTaskHeartbeatByIdResponse,
  encodeRecordActivityTaskHeartbeatResponse,
  encodeRespondActivityTaskCanceledByIdResponse,
  encodeRespondActivityTaskCanceledResponse,
  encodeRespondActivityTaskCompletedByIdResponse,
  encodeRespondActivityTaskCompletedResponse,
  encodeRespondActivityTaskFailedByIdResponse,
  encodeRespondActivityTaskFailedResponse,
  type PollActivityTaskQueueRequest,
  type PollActivityTaskQueueResponse,
  type RecordActivityTaskHeartbeatResponse,
  type RespondActivityTaskFailedResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { taskUnary, unary, type NamedMethod } from '../method.ts';
import type { ActivityTaskToken } from '../tokens/tokens.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { shardRunKey } from '../validation/execution.ts';
import { checkLength, type EdgeLimits } from '../validation/lengths.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { boundedFailure, opaqueFailure, serverFailure } from './failures.ts';
import { checkPoll, checkPollDeadline, pollDeadline, polledPartition } from './polls.ts';
import { activityTaskAnswer, emptyActivityTask } from './task-answers.ts';
import { stampOfPoll } from './worker-version.ts';

/**
 * The activity half of a worker. Every answer comes in two forms, which differ only in how the activity is named:
 *
 *     Respond…(task_token)                               one attempt
 *     Respond…ById(namespace, workflow, run, activity)   whatever attempt there is
 */
export function activityTaskMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('PollActivityTaskQueue', decodePollActivityTaskQueueRequest, encodePollActivityTaskQueueResponse, (request, call) =>
      poll(context, request, call),
    ),
    taskUnary(
      'RespondActivityTaskCompleted',
      (token) => context.tokens.readActivityTask(token),
      decodeRespondActivityTaskCompletedRequest,
      encodeRespondActivityTaskCompletedResponse,
      async (request, token, call) => complete(context, await byToken(context, call, request.namespace, token), request, call),
    ),
    unary(
      'RespondActivityTaskCompletedById',
      decodeRespondActivityTaskCompletedByIdRequest,
      encodeRespondActivityTaskCompletedByIdResponse,
      async (request, call) => complete(context, await byId(context, call, request), request, call),
    ),
    taskUnary(
      'RespondActivityTaskFailed',
      (token) => context.tokens.readActivityTask(token),
      decodeRespondActivityTaskFailedRequest,
      encodeRespondActivityTaskFailedResponse,
      async (request, token, call) => fail(context, await byToken(context, call, request.namespace, token), request, call),
    ),
    unary(
      'RespondActivityTaskFailedById',
      decodeRespondActivityTaskFailedByIdRequest,
      encodeRespondActivityTaskFailedByIdResponse,
      async (request, call) => fail(context, await byId(context, call, request), request, call),
    ),
    taskUnary(
      'RespondActivityTaskCanceled',
      (token) => context.tokens.readActivityTask(token),
      decodeRespondActivityTaskCanceledRequest,
      encodeRespondActivityTaskCanceledResponse,
      async (request, token, call) => cancel(context, await byToken(context, call, request.namespace, token), request, call),
    ),
    unary(
      'RespondActivityTaskCanceledById',
      decodeRespondActivityTaskCanceledByIdRequest,
      encodeRespondActivityTaskCanceledByIdResponse,
      async (request, call) => cancel(context, await byId(context, call, request), request, call),
    ),
    taskUnary(
      'RecordActivityTaskHeartbeat',
      (token) => context.tokens.readActivityTask(token),
      decodeRecordActivityTaskHeartbeatRequest,
      encodeRecordActivityTaskHeartbeatResponse,
      async (request, token, call) => heartbeat(context, await byToken(context, call, request.namespace, token), request, call),
    ),
    unary(
      'RecordActivityTaskHeartbeatById',
      decodeRecordActivityTaskHeartbeatByIdRequest,
      encodeRecordActivityTaskHeartbeatByIdResponse,
      async (request, call) => heartbeat(context, await byId(context, call, request), request, call),
    ),
  ];
}

async function poll(context: HandlerContext, request: PollActivityTaskQueueRequest, call: Call): Promise<PollActivityTaskQueueResponse> {
  checkPollDeadline(context, call);
  const namespace = await context.namespace(call, request.namespace);
  const taskQueue = checkPoll(request, call, context.limits);
  const maxTasksPerSecond = request.taskQueueMetadata?.maxTasksPerSecond?.value;
  if (maxTasksPerSecond !== undefined) checkBound('DoubleValue.value', maxTasksPerSecond);
  const deadlineMs = pollDeadline(context, call);
  if (deadlineMs === undefined) return emptyActivityTask;
  const queue = polledPartition(context, namespace.id, taskQueue, 'activity');
  const reply = await context.waitMatching(
    call,
    queue,
    {
      kind: 'pollActivityTask',
      queue,
      pollRequestId: context.ports.newId(),
      identity: request.identity,
      deadlineMs,
      workerInstanceKey: request.workerInstanceKey,
      maxTasksPerSecond,
      workerVersion: stampOfPoll(request.workerVersionCapabilities),
      forwardedFrom: undefined,
    },
    call.deadlineMs,
  );
  if (reply === 'ended' || reply.kind === 'emptyPoll') return emptyActivityTask;
  if (reply.task.kind !== 'activityTask') throw new Error(`matching answered an activity poll with ${reply.task.kind}`);
  return activityTaskAnswer(context, reply.task, namespace.name);
}

function byToken(
  context: HandlerContext,
  call: Call,
  requestNamespace: string,
  token: ActivityTaskToken,
): ActivityRef | Promise<ActivityRef> {
  const namespace = context.namespaceOfToken(call, requestNamespace, token.namespaceId);
  return namespace instanceof Promise ? namespace.then(() => activityRef(token)) : activityRef(token);
}

function activityRef(token: ActivityTaskToken): ActivityRef {
  return {
    key: { namespaceId: token.namespaceId, workflowId: token.workflowId, runId: token.runId },
    scheduledEventId: token.scheduledEventId,
    activityId: token.activityId,
    attempt: token.attempt,
  };
}

async function byId(
  context: HandlerContext,
  call: Call,
  request: {
    readonly namespace: string;
    readonly workflowId: string;
    readonly runId: string;
    readonly activityId: string;
    readonly identity: string;
  },
): Promise<ActivityRef> {
  const namespace = await context.namespace(call, request.namespace);
  if (request.activityId === '') throw invalidArgument('ActivityId is not set on request.');
  const key = shardRunKey(namespace.id, request);
  return { key, scheduledEventId: 0, activityId: request.activityId, attempt: 0 };
}

type Result = { readonly result: Uint8Array | undefined; readonly identity: string };

async function complete(
  context: HandlerContext,
  activity: ActivityRef,
  { result, identity }: Result,
  call: Call,
): Promise<Record<string, never>> {
  checkLength(identity, 'Identity', context.limits);
  checkOpaque(result, 'payloads');
  if (isOversize(result, context.limits)) await failInstead(context, activity, identity, 'Complete result exceeds size limit.', call);
  else await context.history(call, activity.key, { kind: 'completeActivityTask', activity, result, identity });
  return {};
}

type FailureReport = {
  readonly failure: Uint8Array | undefined;
  readonly lastHeartbeatDetails: Uint8Array | undefined;
  readonly identity: string;
};

/** Parts over the limit are dropped or replaced, and the answer says which. By id, an attempt may fail with any kind of failure. */
async function fail(
  context: HandlerContext,
  activity: ActivityRef,
  report: FailureReport,
  call: Call,
): Promise<RespondActivityTaskFailedResponse> {
  const { lastHeartbeatDetails, identity } = report;
  checkLength(identity, 'Identity', context.limits);
  checkOpaque(lastHeartbeatDetails, 'payloads');
  const failure = report.failure === undefined ? undefined : opaqueFailure(report.failure);
  if (activity.scheduledEventId !== 0 && failure !== undefined && failure.bytes.length > 0 && failure.facts.kind !== 'application') {
    throw invalidArgument('Failure must have ApplicationFailureInfo.');
  }
  const failures: Uint8Array[] = [];
  const detailsDropped = isOversize(lastHeartbeatDetails, context.limits);
  if (detailsDropped) failures.push(serverFailure('Heartbeat details exceed size limit.').bytes);
  const bounded = failure === undefined ? undefined : boundedFailure(failure, 'Failure exceeds size limit.', context.limits);
  if (bounded !== undefined && bounded !== failure) failures.push(bounded.bytes);
  if (failures.length > 0) call.notes.oversized = detailsDropped ? 'heartbeat details' : 'failure';
  await context.history(call, activity.key, {
    kind: 'failActivityTask',
    activity,
    failure: bounded,
    lastHeartbeatDetails: detailsDropped ? undefined : lastHeartbeatDetails,
    identity,
  });
  return { failures };
}

type Details = { readonly details: Uint8Array | undefined; readonly identity: string };

async function cancel(
  context: HandlerContext,
  activity: ActivityRef,
  { details, identity }: Details,
  call: Call,
): Promise<Record<string, never>> {
  checkLength(identity, 'Identity', context.limits);
  checkOpaque(details, 'payloads');
  if (isOversize(details, context.limits)) await failInstead(context, activity, identity, 'Cancel details exceed size limit.', call);
  else await context.history(call, activity.key, { kind: 'cancelActivityTask', activity, details, identity });
  return {};
}

async function heartbeat(
  context: HandlerContext,
  activity: ActivityRef,
  { details, identity }: Details,
  call: Call,
): Promise<RecordActivityTaskHeartbeatResponse> {
  checkLength(identity, 'Identity', context.limits);
  checkOpaque(details, 'payloads');
  if (isOversize(details, context.limits)) {
    await failInstead(context, activity, identity, 'Heartbeat details exceed size limit.', call);
    return { cancelRequested: true, activityPaused: false, activityReset: false };
  }
  const reply = await context.history(call, activity.key, { kind: 'recordActivityHeartbeat', activity, details, identity });
  return { cancelRequested: reply.cancelRequested, activityPaused: reply.activityPaused, activityReset: reply.activityReset };
}

/** A worker cannot mend what is too large: its activity fails for good, and its call succeeds. */
async function failInstead(context: HandlerContext, activity: ActivityRef, identity: string, message: string, call: Call): Promise<void> {
  call.notes.oversized = message;
  await context.history(call, activity.key, {
    kind: 'failActivityTask',
    activity,
    failure: serverFailure(message),
    lastHeartbeatDetails: undefined,
    identity,
  });
}

function isOversize(bytes: Uint8Array | undefined, { blobBytesMax }: EdgeLimits): boolean {
  return bytes !== undefined && bytes.length > blobBytesMax;
}
