/**
 * Updates of crash runs: how they are asked for, how a worker plays them, and their events as the checker sees them.
 *
 *     now      ─▶ accepted and completed in one workflow task
 *     later    ─▶ accepted, with a timer ─▶ completed once that has fired
 *     refused  ─▶ refused, however often it is asked for: no event
 *
 * A worker hears of them by messages, or, behind a reset, by events of its history. Each time that one is played it has another outcome.
 */
import { emptyCommand } from '../../src/wire/generated/lean/command.ts';
import { CommandType, UpdateWorkflowExecutionLifecycleStage } from '../../src/wire/generated/lean/enums.ts';
import { decodeFailure, emptyApplicationFailureInfo, emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';
import type { HistoryEvent } from '../../src/wire/generated/lean/history.ts';
import * as wire from '../../src/wire/generated/lean/update.ts';
import type {
  RespondWorkflowTaskCompletedRequest,
  UpdateWorkflowExecutionRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import type { UpdateWorkflowExecutionResponse } from '../../src/wire/generated/lean/workflow_service.ts';
import type { CallOutcome } from '../support/service-client.ts';
import { jsonPayloads, jsonValue } from './json-payloads.ts';
import { cutOffByClose, type ObservedUpdate, type Operation, refusedByWorker, type UpdateAnswer } from './recorded-history.ts';

type Update = Extract<Operation, { readonly f: 'update' }>;
type Commands = RespondWorkflowTaskCompletedRequest['commands'];

const LATER_MS = 100;
const { ADMITTED, ACCEPTED, COMPLETED } = UpdateWorkflowExecutionLifecycleStage;
const stages = new Map<number, UpdateAnswer['stage']>([
  [ADMITTED, 'admitted'],
  [ACCEPTED, 'accepted'],
  [COMPLETED, 'completed'],
]);

// ── Who asks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Of the run that is the current one. */
export function updateRequest(namespace: string, { workflowId, updateId, name }: Update): UpdateWorkflowExecutionRequest {
  return {
    namespace,
    workflowExecution: { workflowId, runId: '' },
    firstExecutionRunId: '',
    waitPolicy: { lifecycleStage: COMPLETED },
    request: wire.encodeRequest({
      ...wire.emptyRequest(),
      meta: { updateId, identity: 'crash-client' },
      input: { header: undefined, name, args: undefined },
    }),
  };
}

export function answerOf({ updateRef, stage, outcome }: UpdateWorkflowExecutionResponse): UpdateAnswer {
  const runId = updateRef?.workflowExecution?.runId ?? '';
  return { runId, stage: stages.get(stage) ?? 'admitted', ...outcomeOf(outcome) };
}

function outcomeOf(outcome: Uint8Array | undefined): { readonly value?: string; readonly failure?: string } {
  if (outcome === undefined) return {};
  const { success, failure } = wire.decodeOutcome(outcome);
  if (failure === undefined) return { value: String(jsonValue(success)) };
  const { message, applicationFailureInfo } = decodeFailure(failure);
  return { failure: applicationFailureInfo?.type ?? message };
}

const [notFound, exhausted, failedPrecondition] = [5, 8, 9];
const abortedByClose = 'workflow update was aborted by closing workflow';

/**
 * What is asked again: an update that is not over, that a paused or closing workflow does not take, or that was cut off by the end of its run, for a
 * reset may have made another one of it, which was told of it.
 */
export function isToBeAskedAgain(outcome: CallOutcome<UpdateWorkflowExecutionResponse>): boolean {
  switch (outcome.kind) {
    case 'unknown':
      return true;
    case 'ok': {
      const { stage, failure } = answerOf(outcome.response);
      return stage !== 'completed' || failure === cutOffByClose;
    }
    case 'fail':
      if (outcome.code === notFound) return outcome.message === abortedByClose;
      return outcome.code === exhausted || outcome.code === failedPrecondition;
  }
}

// ── Who plays the workflow ───────────────────────────────────────────────────────────────────────────────────────────────────────

export type PlayedUpdates = {
  /** Without a close, behind which there are none. */
  readonly commands: Commands;
  readonly messages: readonly wire.Message[];
  /** As they are behind these commands: those that are over, and those that are accepted and are not. */
  readonly completed: number;
  readonly open: number;
};

type Asked = { readonly updateId: string; readonly request: Uint8Array; readonly eventId: number };

/** `outcome`: of all that are completed now. */
export function playUpdates(events: readonly HistoryEvent[], sent: readonly wire.Message[], outcome: string): PlayedUpdates {
  const { waiting, accepted, completed, fired } = updatesIn(events);
  for (const { protocolInstanceId: updateId, eventId = 0, body } of sent)
    if (body !== undefined && !accepted.has(updateId)) waiting.set(updateId, { updateId, request: body.value, eventId });
  const commands: Commands[number][] = [];
  const messages: wire.Message[] = [];
  const say = (message: wire.Message): void => {
    messages.push(message);
    commands.push(placed(message.id));
  };
  const complete = (updateId: string): void => {
    say(response(updateId, outcome));
    completed.add(updateId);
  };
  for (const updateId of accepted) if (fired.has(updateId) && !completed.has(updateId)) complete(updateId);
  for (const asked of waiting.values()) {
    const { updateId } = asked;
    const name = nameOf(asked);
    if (name === 'refused') {
      messages.push(rejection(asked));
      continue;
    }
    say(acceptance(asked));
    accepted.add(updateId);
    if (name === 'later') commands.push(startTimer(updateId));
    else complete(updateId);
  }
  return { commands, messages, completed: completed.size, open: accepted.size - completed.size };
}

/** By their ids. `waiting`: told by history, and not answered yet. `fired`: timers. */
type UpdatesOfHistory = {
  readonly waiting: Map<string, Asked>;
  readonly accepted: Set<string>;
  readonly completed: Set<string>;
  readonly fired: ReadonlySet<string>;
};

function updatesIn(events: readonly HistoryEvent[]): UpdatesOfHistory {
  const waiting = new Map<string, Asked>();
  const [accepted, completed, fired] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const event of events) {
    const request = event.workflowExecutionUpdateAdmittedEventAttributes?.request;
    if (request !== undefined) {
      const updateId = wire.decodeRequest(request).meta?.updateId ?? '';
      waiting.set(updateId, { updateId, request, eventId: event.eventId });
    }
    const acceptedId = event.workflowExecutionUpdateAcceptedEventAttributes?.protocolInstanceId;
    if (acceptedId !== undefined) {
      waiting.delete(acceptedId);
      accepted.add(acceptedId);
    }
    const completedId = event.workflowExecutionUpdateCompletedEventAttributes?.meta?.updateId;
    if (completedId !== undefined) completed.add(completedId);
    if (event.timerFiredEventAttributes !== undefined) fired.add(event.timerFiredEventAttributes.timerId);
  }
  return { waiting, accepted, completed, fired };
}

function nameOf({ request }: Asked): string | undefined {
  return wire.decodeRequest(request).input?.name;
}

/** With the request: a server that was killed meanwhile has forgotten it. */
function acceptance({ updateId, request, eventId }: Asked): wire.Message {
  const value = wire.encodeAcceptance({
    acceptedRequestMessageId: `${updateId}/request`,
    acceptedRequestSequencingEventId: eventId,
    acceptedRequest: request,
  });
  return message(updateId, 'Acceptance', value);
}

function rejection({ updateId, request, eventId }: Asked): wire.Message {
  const value = wire.encodeRejection({
    rejectedRequestMessageId: `${updateId}/request`,
    rejectedRequestSequencingEventId: eventId,
    rejectedRequest: request,
    failure: encodeFailure({
      ...emptyFailure(),
      message: 'no',
      applicationFailureInfo: { ...emptyApplicationFailureInfo(), type: refusedByWorker },
    }),
  });
  return message(updateId, 'Rejection', value);
}

function response(updateId: string, outcome: string): wire.Message {
  const value = wire.encodeResponse({
    meta: { updateId, identity: 'crash-client' },
    outcome: wire.encodeOutcome({ success: jsonPayloads(outcome), failure: undefined }),
  });
  return message(updateId, 'Response', value);
}

function message(updateId: string, type: string, value: Uint8Array): wire.Message {
  const body = { typeUrl: `type.googleapis.com/temporal.api.update.v1.${type}`, value };
  return { id: `${updateId}/${type}`, protocolInstanceId: updateId, eventId: undefined, commandIndex: undefined, body };
}

function placed(messageId: string): Commands[number] {
  return { ...emptyCommand(), commandType: CommandType.PROTOCOL_MESSAGE, protocolMessageCommandAttributes: { messageId } };
}

function startTimer(timerId: string): Commands[number] {
  return {
    ...emptyCommand(),
    commandType: CommandType.START_TIMER,
    startTimerCommandAttributes: { timerId, startToFireTimeoutMs: LATER_MS },
  };
}

// ── What history says ────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function observeUpdate(event: HistoryEvent): { readonly update?: ObservedUpdate } {
  const admitted = event.workflowExecutionUpdateAdmittedEventAttributes?.request;
  if (admitted !== undefined) return { update: { updateId: wire.decodeRequest(admitted).meta?.updateId ?? '' } };
  const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
  if (accepted !== undefined) return { update: { updateId: accepted.protocolInstanceId } };
  const completed = event.workflowExecutionUpdateCompletedEventAttributes;
  if (completed === undefined) return {};
  const { acceptedEventId, meta, outcome } = completed;
  return { update: { updateId: meta?.updateId ?? '', acceptedEventId, ...outcomeOf(outcome) } };
}
