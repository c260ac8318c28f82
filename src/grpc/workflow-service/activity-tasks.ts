import type { ActivityRef } from '../../history/commands.ts';
import { isUuid } from '../../kernel/uuid.ts';
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
import type { Front } from '../front.ts';
import { taskUnary, unary, type NamedMethod } from '../method.ts';
import type { ActivityTaskToken } from '../tokens/tokens.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkWorkflowId, runKeyOf } from '../validation/execution.ts';
import { checkLength, type EdgeLimits } from '../validation/lengths.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { boundedFailure, opaqueFailure, serverFailure } from './failures.ts';
import { checkPoll, checkPollDeadline, pollDeadline, polledPartition } from './polls.ts';
import { activityTaskAnswer, emptyActivityTask } from './task-answers.ts';

/**
 * The activity half of a worker. Every answer comes in two forms, which differ only in how the activity is named:
 *
 *     Respond…(task_token)                               one attempt
 *     Respond…ById(namespace, workflow, run, activity)   whatever attempt there is
 */
export function activityTaskMethods(front: Front): readonly NamedMethod[] {
  return [
    unary('PollActivityTaskQueue', decodePollActivityTaskQueueRequest, encodePollActivityTaskQueueResponse, (request, call) =>
      poll(front, request, call),
    ),
    taskUnary(
      'RespondActivityTaskCompleted',
      (token) => front.tokens.readActivityTask(token),
      decodeRespondActivityTaskCompletedRequest,
      encodeRespondActivityTaskCompletedResponse,
      async (request, token, call) => complete(front, await byToken(front, call, request.namespace, token), request, call),
    ),
    unary(
      'RespondActivityTaskCompletedById',
      decodeRespondActivityTaskCompletedByIdRequest,
      encodeRespondActivityTaskCompletedByIdResponse,
      async (request, call) => complete(front, await byId(front, call, request), request, call),
    ),
    taskUnary(
      'RespondActivityTaskFailed',
      (token) => front.tokens.readActivityTask(token),
      decodeRespondActivityTaskFailedRequest,
      encodeRespondActivityTaskFailedResponse,
      async (request, token, call) => fail(front, await byToken(front, call, request.namespace, token), request, call),
    ),
    unary(
      'RespondActivityTaskFailedById',
      decodeRespondActivityTaskFailedByIdRequest,
      encodeRespondActivityTaskFailedByIdResponse,
      async (request, call) => fail(front, await byId(front, call, request), request, call),
    ),
    taskUnary(
      'RespondActivityTaskCanceled',
      (token) => front.tokens.readActivityTask(token),
      decodeRespondActivityTaskCanceledRequest,
      encodeRespondActivityTaskCanceledResponse,
      async (request, token, call) => cancel(front, await byToken(front, call, request.namespace, token), request, call),
    ),
    unary(
      'RespondActivityTaskCanceledById',
      decodeRespondActivityTaskCanceledByIdRequest,
      encodeRespondActivityTaskCanceledByIdResponse,
      async (request, call) => cancel(front, await byId(front, call, request), request, call),
    ),
    taskUnary(
      'RecordActivityTaskHeartbeat',
      (token) => front.tokens.readActivityTask(token),
      decodeRecordActivityTaskHeartbeatRequest,
      encodeRecordActivityTaskHeartbeatResponse,
      async (request, token, call) => heartbeat(front, await byToken(front, call, request.namespace, token), request, call),
    ),
    unary(
      'RecordActivityTaskHeartbeatById',
      decodeRecordActivityTaskHeartbeatByIdRequest,
      encodeRecordActivityTaskHeartbeatByIdResponse,
      async (request, call) => heartbeat(front, await byId(front, call, request), request, call),
    ),
  ];
}

async function poll(front: Front, request: PollActivityTaskQueueRequest, call: Call): Promise<PollActivityTaskQueueResponse> {
  checkPollDeadline(call, front.nowMs());
  const namespace = await front.namespace(call, request.namespace);
  const taskQueue = checkPoll(request, front.limits);
  const maxTasksPerSecond = request.taskQueueMetadata?.maxTasksPerSecond?.value;
  if (maxTasksPerSecond !== undefined) checkBound('DoubleValue.value', maxTasksPerSecond);
  const deadlineMs = pollDeadline(front, call);
  if (deadlineMs === undefined) return emptyActivityTask;
  const queue = polledPartition(front, namespace.id, taskQueue, 'activity');
  const reply = await front.waitMatching(
    call,
    queue,
    {
      kind: 'pollActivityTask',
      queue,
      pollRequestId: front.ports.newId(),
      identity: request.identity,
      deadlineMs,
      workerInstanceKey: request.workerInstanceKey,
      maxTasksPerSecond,
      workerVersion: undefined,
      forwardedFrom: undefined,
    },
    call.deadlineMs,
  );
  if (reply === 'ended' || reply.kind === 'emptyPoll') return emptyActivityTask;
  if (reply.task.kind !== 'activityTask') throw new Error(`matching answered an activity poll with ${reply.task.kind}`);
  return activityTaskAnswer(front, reply.task, namespace.name);
}

async function byToken(front: Front, call: Call, requestNamespace: string, token: ActivityTaskToken): Promise<ActivityRef> {
  await front.namespaceOfToken(call, requestNamespace, token.namespaceId);
  return {
    key: { namespaceId: token.namespaceId, workflowId: token.workflowId, runId: token.runId },
    scheduledEventId: token.scheduledEventId,
    activityId: token.activityId,
    attempt: token.attempt,
  };
}

async function byId(
  front: Front,
  call: Call,
  request: {
    readonly namespace: string;
    readonly workflowId: string;
    readonly runId: string;
    readonly activityId: string;
    readonly identity: string;
  },
): Promise<ActivityRef> {
  const namespace = await front.namespace(call, request.namespace);
  if (request.activityId === '') throw invalidArgument('ActivityId is not set on request.');
  checkWorkflowId(request.workflowId);
  if (request.runId !== '' && !isUuid(request.runId)) throw invalidArgument('RunId is not valid UUID.');
  const key = runKeyOf(namespace.id, request.workflowId, request.runId);
  return { key, scheduledEventId: 0, activityId: request.activityId, attempt: 0 };
}

type Result = { readonly result: Uint8Array | undefined; readonly identity: string };

async function complete(front: Front, activity: ActivityRef, { result, identity }: Result, call: Call): Promise<Record<string, never>> {
  checkLength(identity, 'Identity', front.limits);
  checkOpaque(result, 'payloads');
  if (isOversize(result, front.limits)) await failInstead(front, activity, identity, 'Complete result exceeds size limit.', call);
  else await front.history(call, activity.key, { kind: 'completeActivityTask', activity, result, identity });
  return {};
}

type FailureReport = {
  readonly failure: Uint8Array | undefined;
  readonly lastHeartbeatDetails: Uint8Array | undefined;
  readonly identity: string;
};

/** Parts over the limit are dropped or replaced, and the answer says which. By id, any kind of failure will do. */
async function fail(front: Front, activity: ActivityRef, report: FailureReport, call: Call): Promise<RespondActivityTaskFailedResponse> {
  const { lastHeartbeatDetails, identity } = report;
  checkLength(identity, 'Identity', front.limits);
  checkOpaque(lastHeartbeatDetails, 'payloads');
  const failure = report.failure === undefined ? undefined : opaqueFailure(report.failure);
  if (activity.scheduledEventId !== 0 && failure !== undefined && failure.bytes.length > 0 && failure.facts.kind !== 'application') {
    throw invalidArgument('Failure must have ApplicationFailureInfo.');
  }
  const failures: Uint8Array[] = [];
  const detailsDropped = isOversize(lastHeartbeatDetails, front.limits);
  if (detailsDropped) failures.push(serverFailure('Heartbeat details exceed size limit.').bytes);
  const bounded = failure === undefined ? undefined : boundedFailure(failure, 'Failure exceeds size limit.', front.limits);
  if (bounded !== undefined && bounded !== failure) failures.push(bounded.bytes);
  if (failures.length > 0) call.notes.oversized = detailsDropped ? 'heartbeat details' : 'failure';
  await front.history(call, activity.key, {
    kind: 'failActivityTask',
    activity,
    failure: bounded,
    lastHeartbeatDetails: detailsDropped ? undefined : lastHeartbeatDetails,
    identity,
  });
  return { failures };
}

type Details = { readonly details: Uint8Array | undefined; readonly identity: string };

async function cancel(front: Front, activity: ActivityRef, { details, identity }: Details, call: Call): Promise<Record<string, never>> {
  checkLength(identity, 'Identity', front.limits);
  checkOpaque(details, 'payloads');
  if (isOversize(details, front.limits)) await failInstead(front, activity, identity, 'Cancel details exceed size limit.', call);
  else await front.history(call, activity.key, { kind: 'cancelActivityTask', activity, details, identity });
  return {};
}

async function heartbeat(
  front: Front,
  activity: ActivityRef,
  { details, identity }: Details,
  call: Call,
): Promise<RecordActivityTaskHeartbeatResponse> {
  checkLength(identity, 'Identity', front.limits);
  checkOpaque(details, 'payloads');
  if (isOversize(details, front.limits)) {
    await failInstead(front, activity, identity, 'Heartbeat details exceed size limit.', call);
    return { cancelRequested: true, activityPaused: false, activityReset: false };
  }
  const reply = await front.history(call, activity.key, { kind: 'recordActivityHeartbeat', activity, details, identity });
  return { cancelRequested: reply.cancelRequested, activityPaused: false, activityReset: false };
}

/** A worker cannot mend what is too large: its activity fails for good, and its call succeeds. */
async function failInstead(front: Front, activity: ActivityRef, identity: string, message: string, call: Call): Promise<void> {
  call.notes.oversized = message;
  await front.history(call, activity.key, {
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
