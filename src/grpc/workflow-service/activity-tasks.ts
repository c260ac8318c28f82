import type { ActivityRef } from '../../history/commands/history-commands.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inNamespace, methodsOf, taskUnary, type Codec, type Handler, type NamedMethod, type RpcName } from '../method.ts';
import type { ActivityTaskToken } from '../../wire/generated/token/token.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLength, type EdgeLimits, shardRunKey } from '../validation/names.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { boundedFailure, opaqueFailure, serverFailure } from './failures.ts';
import { checkPoll, checkPollDeadline, pollDeadline, polledPartition, stampOfPoll } from './polls.ts';
import { activityTaskAnswer, emptyActivityTask } from './task-answers.ts';

/**
 * The activity half of a worker. Every answer comes in two forms, which differ only in how the activity is named:
 *
 *     Respond…(task_token)                               one attempt
 *     Respond…ById(namespace, workflow, run, activity)   whatever attempt there is
 */
export function activityTaskMethods(context: HandlerContext): readonly NamedMethod[] {
  const byToken = <Request extends { readonly namespace: string }, Response>(
    name: RpcName,
    codec: Codec<Request, Response>,
    act: Act<Request, Response>,
  ) =>
    taskUnary(name, context.tokens.activityTask.read, codec, async (request, token, call) =>
      act(context, await named(context, call, request.namespace, token), request, call),
    );
  const others = methodsOf(wire.codecs, {
    PollActivityTaskQueue: async (_, request, call) => {
      checkPollDeadline(context, call);
      const namespace = await context.namespace(call, request.namespace);
      const taskQueue = checkPoll(request, call, context.limits);
      const maxTasksPerSecond = request.taskQueueMetadata?.maxTasksPerSecond?.value;
      if (maxTasksPerSecond !== undefined) checkBound('DoubleValue.value', maxTasksPerSecond);
      const deadlineMs = pollDeadline(context, call);
      if (deadlineMs === undefined) return emptyActivityTask;
      const queue = polledPartition(context, namespace.id, taskQueue, 'activity');
      const reply = await context.waitMatching(call, queue, {
        kind: 'pollActivityTask',
        queue,
        pollRequestId: context.ports.newId(),
        identity: request.identity,
        deadlineMs,
        workerInstanceKey: request.workerInstanceKey,
        maxTasksPerSecond,
        workerVersion: stampOfPoll(request.workerVersionCapabilities),
        forwardedFrom: undefined,
      });
      if (reply === 'ended' || reply.kind === 'emptyPoll') return emptyActivityTask;
      if (reply.task.kind !== 'activityTask') throw new Error(`matching answered an activity poll with ${reply.task.kind}`);
      return activityTaskAnswer(context, reply.task, namespace.name);
    },
    RespondActivityTaskCompletedById: byId(complete),
    RespondActivityTaskFailedById: byId(fail),
    RespondActivityTaskCanceledById: byId(cancel),
    RecordActivityTaskHeartbeatById: byId(heartbeat),
  });
  return [
    byToken('RespondActivityTaskCompleted', wire.codecs.RespondActivityTaskCompleted, complete),
    byToken('RespondActivityTaskFailed', wire.codecs.RespondActivityTaskFailed, fail),
    byToken('RespondActivityTaskCanceled', wire.codecs.RespondActivityTaskCanceled, cancel),
    byToken('RecordActivityTaskHeartbeat', wire.codecs.RecordActivityTaskHeartbeat, heartbeat),
    ...others(context),
  ];
}

type Act<Request, Response> = (context: HandlerContext, activity: ActivityRef, request: Request, call: Call) => Promise<Response>;

function named(
  context: HandlerContext,
  call: Call,
  requestNamespace: string,
  { namespaceId, workflowId, runId, scheduledEventId, activityId, attempt }: ActivityTaskToken,
): ActivityRef | Promise<ActivityRef> {
  const activity = { key: { namespaceId, workflowId, runId }, scheduledEventId, activityId, attempt };
  const namespace = context.namespaceOfToken(call, requestNamespace, namespaceId);
  return namespace instanceof Promise ? namespace.then(() => activity) : activity;
}

type NamedById = { readonly namespace: string; readonly workflowId: string; readonly runId: string; readonly activityId: string };

function byId<Request, Response>(act: Act<Request, Response>): Handler<NamedById & Request, Response> {
  return inNamespace(async (context, request: NamedById & Request, call, { id }) => {
    const { activityId } = request;
    if (activityId === '') throw invalidArgument('ActivityId is not set on request.');
    return act(context, { key: shardRunKey(id, request), scheduledEventId: 0, activityId, attempt: 0 }, request, call);
  });
}

type Nothing = Record<string, never>;
type Result = { readonly result: Uint8Array | undefined; readonly identity: string };

const complete: Act<Result, Nothing> = async (context, activity, { result, identity }, call) => {
  checkLength(identity, 'Identity', context.limits);
  checkOpaque(result, 'payloads');
  if (isOversize(result, context.limits)) await failInstead(context, activity, identity, 'Complete result exceeds size limit.', call);
  else await context.history(call, activity.key, { kind: 'completeActivityTask', activity, result, identity });
  return {};
};

type FailureReport = {
  readonly failure: Uint8Array | undefined;
  readonly lastHeartbeatDetails: Uint8Array | undefined;
  readonly identity: string;
};

/** Parts over the limit are dropped or replaced, and the answer says which. By id, an attempt may fail with any kind of failure. */
const fail: Act<FailureReport, wire.RespondActivityTaskFailedResponse> = async (context, activity, report, call) => {
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
  const kept = detailsDropped ? undefined : lastHeartbeatDetails;
  const failed = { activity, failure: bounded, lastHeartbeatDetails: kept, identity };
  await context.history(call, activity.key, { kind: 'failActivityTask', ...failed });
  return { failures };
};

type Details = { readonly details: Uint8Array | undefined; readonly identity: string };

const cancel: Act<Details, Nothing> = async (context, activity, { details, identity }, call) => {
  checkLength(identity, 'Identity', context.limits);
  checkOpaque(details, 'payloads');
  if (isOversize(details, context.limits)) await failInstead(context, activity, identity, 'Cancel details exceed size limit.', call);
  else await context.history(call, activity.key, { kind: 'cancelActivityTask', activity, details, identity });
  return {};
};

const heartbeat: Act<Details, wire.RecordActivityTaskHeartbeatResponse> = async (context, activity, { details, identity }, call) => {
  checkLength(identity, 'Identity', context.limits);
  checkOpaque(details, 'payloads');
  if (isOversize(details, context.limits)) {
    await failInstead(context, activity, identity, 'Heartbeat details exceed size limit.', call);
    return { cancelRequested: true, activityPaused: false, activityReset: false };
  }
  const reply = await context.history(call, activity.key, { kind: 'recordActivityHeartbeat', activity, details, identity });
  return { cancelRequested: reply.cancelRequested, activityPaused: reply.activityPaused, activityReset: reply.activityReset };
};

/** A worker cannot mend what is too large: its activity fails for good, and its call succeeds. */
async function failInstead(context: HandlerContext, activity: ActivityRef, identity: string, message: string, call: Call): Promise<void> {
  call.notes.oversized = message;
  const failed = { activity, failure: serverFailure(message), lastHeartbeatDetails: undefined, identity };
  await context.history(call, activity.key, { kind: 'failActivityTask', ...failed });
}

function isOversize(bytes: Uint8Array | undefined, { blobBytesMax }: EdgeLimits): boolean {
  return bytes !== undefined && bytes.length > blobBytesMax;
}
