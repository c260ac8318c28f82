/** Messages of the update protocol (`temporal.api.protocol.v1.Message`). Their bodies are `google.protobuf.Any`. */
import type { SentUpdate } from '../../history/steps/updates.ts';
import type { UpdateMessage } from '../../history/commands/update-commands.ts';
import type { Any } from '../../wire/generated/lean/error_details.ts';
import { decodeAcceptance, decodeRejection, decodeResponse, type Message } from '../../wire/generated/lean/update.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { decodedWithin } from '../validation/request-limits.ts';
import { requestLimits } from '../../wire/wire-limits.ts';

const types = {
  request: 'temporal.api.update.v1.Request',
  acceptance: 'temporal.api.update.v1.Acceptance',
  rejection: 'temporal.api.update.v1.Rejection',
  response: 'temporal.api.update.v1.Response',
} as const;

/** A request to a worker. It is to be seen before whatever comes behind the event in front of the task. */
export function updateRequestMessage({ updateId, request }: SentUpdate, startedEventId: number): Message {
  return {
    id: `${updateId}/request`,
    protocolInstanceId: updateId,
    eventId: startedEventId - 1,
    commandIndex: undefined,
    body: { typeUrl: `type.googleapis.com/${types.request}`, value: request },
  };
}

/** What a worker says of an update. A body that nobody knows refuses the whole request. */
export function updateMessage({ id, protocolInstanceId, body }: Message): UpdateMessage {
  return { id, updateId: protocolInstanceId, body: messageBody(id, body) };
}

function messageBody(id: string, body: Any | undefined): UpdateMessage['body'] {
  if (body === undefined) throw invalidArgument('nil message body');
  const name = body.typeUrl.slice(body.typeUrl.lastIndexOf('/') + 1);
  switch (name) {
    case types.acceptance:
      return acceptance(body.value);
    case types.rejection:
      return rejection(body.value);
    case types.response:
      return response(body.value);
    default:
      if (!isMessageName.test(name)) throw invalidArgument('no message name specified');
      if (!name.includes('.')) throw invalidArgument(`failed to extract protocol type: no . found in "${name}"`);
      throw invalidArgument(`message ${id} has a body of the unknown type ${body.typeUrl}`);
  }
}
const isMessageName = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;

function acceptance(value: Uint8Array): UpdateMessage['body'] {
  const accepted = decodedWithin(requestLimits, decodeAcceptance, value);
  checkOpaque(accepted.acceptedRequest, 'updateRequest');
  return {
    kind: 'acceptance',
    requestMessageId: accepted.acceptedRequestMessageId,
    requestSequencingEventId: accepted.acceptedRequestSequencingEventId,
    request: accepted.acceptedRequest,
  };
}

function rejection(value: Uint8Array): UpdateMessage['body'] {
  const { rejectedRequest, failure } = decodedWithin(requestLimits, decodeRejection, value);
  checkOpaque(failure, 'failure');
  return { kind: 'rejection', hasRequest: rejectedRequest !== undefined, failure };
}

function response(value: Uint8Array): UpdateMessage['body'] {
  const { meta, outcome } = decodedWithin(requestLimits, decodeResponse, value);
  checkOpaque(outcome, 'updateOutcome');
  return { kind: 'response', metaUpdateId: meta?.updateId, identity: meta?.identity ?? '', outcome };
}
