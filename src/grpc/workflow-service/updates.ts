import type { RunKey } from '../../kernel/run-key.ts';
import type { UpdateReply } from '../../history/run/history-replies.ts';
import type { UpdateAttributes } from '../../history/commands/update-commands.ts';
import { decodeHistoryEvent } from '../../wire/generated/lean/history.ts';
import { UpdateWorkflowExecutionLifecycleStage } from '../../wire/generated/lean/enums.ts';
import { decodeOutcome, decodeRequest, encodeRequest, type Request } from '../../wire/generated/lean/update.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import { permissionDenied, unavailable } from '../errors/details.ts';
import { hasCode, invalidArgument, statusCode } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inNamespace, methodsOf } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { callbacksAndLinks } from '../validation/callbacks.ts';
import { checkLength, checkLengths, runKey, shardRunKey } from '../validation/names.ts';
import { checkBlob } from '../validation/opaque.ts';
import { decodedWithin } from '../validation/request-limits.ts';
import { checkLinks } from '../validation/start.ts';
import { requestLimits } from '../../wire/wire-limits.ts';
import { acceptedLink, runLink } from './links.ts';

/** Whoever waits for longer is told how far the update is, and asks again. A deadline that is over before then is told as such: SDKs end their own waits by it. */
const updateWaitMsMax = 20_000;

export const updateMethods = methodsOf(wire.codecs, {
  UpdateWorkflowExecution: inNamespace(async (context, request, call, namespace) => {
    const key = runKey(namespace.id, request.workflowExecution);
    const { attributes, requestId } = updateAttributes(context, request, namespace.name);
    const { firstExecutionRunId } = request;
    checkLength(firstExecutionRunId, 'FirstExecutionRunId', context.limits);
    const reply = await untilDecided(context, call, key, attributes.updateId, (deadlineMs) =>
      context.waitHistory(call, key, { kind: 'updateWorkflow', key, firstExecutionRunId, update: attributes }, deadlineMs),
    );
    const response = await updateResponse(context, call, key, attributes.updateId, reply);
    return linked(response, namespace.name, requestId);
  }),
  PollWorkflowExecutionUpdate: inNamespace(async (context, request, call, namespace) => {
    if (request.updateRef === undefined) throw invalidArgument('UpdateRef is not set on request.');
    const { updateId, workflowExecution } = request.updateRef;
    if (workflowExecution === undefined) throw invalidArgument('Execution is not set on request.');
    const key = shardRunKey(namespace.id, workflowExecution);
    if (updateId === '') throw invalidArgument('UpdateId is not set on request.');
    checkLength(updateId, 'UpdateId', context.limits);
    const stage = request.waitPolicy?.lifecycleStage ?? UpdateWorkflowExecutionLifecycleStage.UNSPECIFIED;
    checkBound('WaitPolicy.lifecycle_stage', stage);
    const waitStage = polledStages.get(stage) ?? 'none';
    const asked = await inTime(context, call, (deadlineMs) =>
      context.waitHistory(call, key, { kind: 'pollUpdate', key, updateId, waitStage }, deadlineMs),
    );
    const reply = asked ?? (await stageNow(context, call, key, updateId));
    const { outcome, stage: reached, updateRef } = await updateResponse(context, call, key, updateId, reply);
    return { outcome, stage: reached, updateRef };
  }),
});

/** A poll that names no stage, or one that is reached anyhow, is answered at once. */
const polledStages: ReadonlyMap<number, UpdateAttributes['waitStage']> = new Map([
  [UpdateWorkflowExecutionLifecycleStage.ACCEPTED, 'accepted'],
  [UpdateWorkflowExecutionLifecycleStage.COMPLETED, 'completed'],
]);

type AskedUpdate = { readonly attributes: UpdateAttributes; readonly requestId: string };

/** An id is made for an update that has none. The request's own id is for the link that its answer has. */
export function updateAttributes(
  context: HandlerContext,
  { request, waitPolicy }: wire.UpdateWorkflowExecutionRequest,
  namespace: string,
): AskedUpdate {
  const asked = request === undefined ? undefined : decodedWithin(requestLimits, decodeRequest, request);
  if (asked?.meta === undefined) throw invalidArgument('Update meta is not set on request.');
  if (asked.input === undefined) throw invalidArgument('Update input is not set on request.');
  if (asked.input.name === '') throw invalidArgument('Update name is not set on request.');
  const { limits } = context;
  checkLengths(
    { UpdateId: asked.meta.updateId, Identity: asked.meta.identity, UpdateName: asked.input.name, RequestId: asked.requestId },
    limits,
  );
  checkBlob(asked.input.args, 'payloads', limits);
  checkBlob(asked.input.header, 'fields', limits);
  checkLinks(asked.links);
  const stage = waitPolicy?.lifecycleStage ?? UpdateWorkflowExecutionLifecycleStage.UNSPECIFIED;
  checkBound('WaitPolicy.lifecycle_stage', stage);
  if (stage === UpdateWorkflowExecutionLifecycleStage.ADMITTED) {
    throw permissionDenied('UpdateWorkflowExecution issued asynchronously and waiting on update admitted is not supported.');
  }
  const updateId = asked.meta.updateId === '' ? context.ports.newId() : asked.meta.updateId;
  const waitStage = stage === UpdateWorkflowExecutionLifecycleStage.ACCEPTED ? 'accepted' : 'completed';
  const { links, ...attached } = attachmentOf(context, asked, namespace);
  const completionCallbacks = attached.attachment?.callbacks ?? [];
  const encoded = encodeRequest({ ...asked, meta: { ...asked.meta, updateId }, completionCallbacks, links });
  return { attributes: { updateId, request: encoded, waitStage, ...attached }, requestId: asked.requestId };
}

/** The callbacks of an update. What they bring along need not stand in the request's own links too. */
function attachmentOf(
  { ports }: HandlerContext,
  { completionCallbacks, links: ofRequest, requestId }: Request,
  namespace: string,
): Pick<UpdateAttributes, 'attachment'> & { readonly links: readonly Uint8Array[] } {
  if (completionCallbacks.length === 0) return { links: ofRequest };
  const limits = ports.callbacks.limitsOf(namespace);
  const { callbacks, links } = callbacksAndLinks(completionCallbacks, ofRequest, limits);
  if (requestId === '') throw invalidArgument('invalid *update.Request: request_id is required when completion_callbacks are set');
  const { callbacksMax, updateCallbacksMax } = limits;
  return { attachment: { requestId, callbacks, callbacksMax, updateCallbacksMax }, links };
}

/** What becomes of an update that was asked for. One that was not decided in time may come to be: whoever asks again is told. */
export async function untilDecided<Reply>(
  context: HandlerContext,
  call: Call,
  key: RunKey,
  updateId: string,
  ask: (deadlineMs: number) => Promise<Reply | 'ended'>,
): Promise<Reply | UpdateReply> {
  return (await inTime(context, call, ask)) ?? (await stageNow(context, call, key, updateId).catch(asUndecided));
}

/** Gives undefined where the answer takes too long. */
async function inTime<Reply>(
  context: HandlerContext,
  call: Call,
  ask: (deadlineMs: number) => Promise<Reply | 'ended'>,
): Promise<Reply | undefined> {
  const waitEndsMs = context.monoMs() + updateWaitMsMax;
  const reply = await ask(Math.min(waitEndsMs, call.deadlineMs)).catch((error: unknown) => {
    if (!hasCode(error, statusCode.deadlineExceeded) || call.deadlineMs <= waitEndsMs) throw error;
    return undefined;
  });
  if (reply === 'ended') throw unavailable('the server is shutting down');
  return reply;
}

async function stageNow(context: HandlerContext, call: Call, key: RunKey, updateId: string): Promise<UpdateReply> {
  return await context.history(call, key, { kind: 'pollUpdate', key, updateId, waitStage: 'none' });
}

function asUndecided(error: unknown): never {
  const isUnknown = hasCode(error, statusCode.notFound);
  throw isUnknown ? unavailable('the update was not decided in time: ask again') : error;
}

export async function updateResponse(
  context: HandlerContext,
  call: Call,
  { namespaceId, workflowId }: RunKey,
  updateId: string,
  reply: UpdateReply,
): Promise<wire.UpdateWorkflowExecutionResponse> {
  const { runId } = reply;
  const outcome =
    reply.completedEventId === 0 ? reply.outcome : await readOutcome(context, call, { namespaceId, workflowId, runId }, reply);
  return { updateRef: { workflowExecution: { workflowId, runId }, updateId }, outcome, stage: stages[reply.stage], link: undefined };
}

/** The link leads to the event that accepted the update, or to its run, where it has failed or was refused and left no event. */
export function linked(
  response: wire.UpdateWorkflowExecutionResponse,
  namespace: string,
  requestId: string,
): wire.UpdateWorkflowExecutionResponse {
  const { updateRef, outcome, stage } = response;
  const { ACCEPTED, COMPLETED } = UpdateWorkflowExecutionLifecycleStage;
  if (updateRef?.workflowExecution === undefined || (stage !== ACCEPTED && stage !== COMPLETED)) return response;
  const run = { namespace, ...updateRef.workflowExecution };
  if (stage === COMPLETED && outcome !== undefined && decodeOutcome(outcome).failure !== undefined)
    return { ...response, link: runLink(run, 'Update rejected') };
  return { ...response, link: acceptedLink(run, requestId) };
}

const stages: Readonly<Record<UpdateReply['stage'], number>> = {
  admitted: UpdateWorkflowExecutionLifecycleStage.ADMITTED,
  accepted: UpdateWorkflowExecutionLifecycleStage.ACCEPTED,
  completed: UpdateWorkflowExecutionLifecycleStage.COMPLETED,
};

/** The outcome of an update that was completed before: the history alone has it. */
async function readOutcome(context: HandlerContext, call: Call, key: RunKey, { completedEventId }: UpdateReply) {
  const range = { firstEventId: completedEventId, lastEventId: completedEventId, eventsMax: 1, bytesMax: Number.MAX_SAFE_INTEGER };
  const { events } = await context.history(call, key, { kind: 'readHistory', key, ...range });
  const [event] = events;
  if (event === undefined) throw unavailable('the outcome of this update cannot be read now');
  return decodeHistoryEvent(event).workflowExecutionUpdateCompletedEventAttributes?.outcome;
}
