/**
 * The end of a workflow, or of an update of one, as the request that a completion callback makes (Nexus specification, "Callback URLs").
 *
 *     completed ─▶ Nexus-Operation-State: succeeded   body: the data of the first payload of the result, Content-Type by its encoding
 *     canceled  ─▶                        canceled    body: a Nexus Failure in JSON
 *     any other ─▶                        failed      likewise
 *
 * An update has succeeded or failed; one that was rejected, or whose workflow has closed before it was completed, has failed.
 *
 * Temporal's server sends the same, so whoever takes completions from it takes these.
 */
import { EventType } from '../wire/generated/lean/enums.ts';
import { type Callback, decodeCallback } from '../wire/generated/lean/callback.ts';
import { decodePayload, decodePayloads } from '../wire/generated/lean/common.ts';
import { decodeHistoryEvent, type HistoryEvent } from '../wire/generated/lean/history.ts';
import { Undecodable } from '../kernel/undecodable.ts';
import { decodeOutcome } from '../wire/generated/lean/update.ts';
import type { CallbackDelivery, CallbackOfUpdate } from '../ports/callback-deliveries.ts';
import { nexusFailure, type NexusFailure } from './nexus-failure.ts';

/** Not by `import`, as in http-sender.ts. */
const { validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http');

/** A delivery whose event has been read: temporal.api.history.v1.HistoryEvent, empty where `update` tells its end. */
export type Completion = Omit<CallbackDelivery, 'namespaceId' | 'closeEvent'> & { readonly closeEvent: Uint8Array };

export type CompletionRequest = {
  readonly url: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
};

const USER_AGENT = 'perdure';
/** Servers take 8 KiB of a header and more. */
const CONTENT_HEADER_CHARS_MAX = 4 * 1024;

export async function completionRequest(completion: Completion): Promise<CompletionRequest> {
  const { nexus }: Callback = decodeCallback(completion.callback);
  if (nexus === undefined) throw new Undecodable('the callback is not one of Nexus');
  const event = decodeHistoryEvent(completion.closeEvent);
  const { update } = completion;
  const { state, contentHeaders, body } = await (update === undefined ? contentOf(event) : contentOfUpdate(event, update));
  const headers = new Map([['user-agent', USER_AGENT]]);
  headers.set('nexus-operation-start-time', new Date(completion.startTimeMs).toUTCString());
  headers.set('nexus-operation-close-time', timestamp(update?.failed?.timeMs ?? event.eventTimeMs));
  headers.set('nexus-link', startLink(completion));
  headers.set('nexus-operation-state', state);
  for (const [name, value] of contentHeaders) headers.set(name, value);
  // What the caller wants to be sent goes last, so that it counts.
  for (const [name, value] of nexus.header) if (!ownHeaders.test(name.toLowerCase())) headers.set(name.toLowerCase(), value);
  return { url: nexus.url, headers, body };
}

/** What HTTP itself needs of a request is not the caller's to say. */
const ownHeaders =
  /^(connection|content-length|expect|host|keep-alive|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade)$/;

type Content = {
  readonly state: 'succeeded' | 'failed' | 'canceled';
  readonly contentHeaders: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
};

async function contentOf(event: HistoryEvent): Promise<Content> {
  switch (event.eventType) {
    case EventType.WORKFLOW_EXECUTION_COMPLETED:
      return succeeded(event.workflowExecutionCompletedEventAttributes?.result);
    case EventType.WORKFLOW_EXECUTION_FAILED: {
      const failure = event.workflowExecutionFailedEventAttributes?.failure;
      return unsuccessful('failed', await nexusFailure(failure ?? new Uint8Array()));
    }
    case EventType.WORKFLOW_EXECUTION_CANCELED: {
      const details = event.workflowExecutionCanceledEventAttributes?.details;
      return unsuccessful('canceled', ownFailure('operation canceled', { canceledFailureInfo: detailsOf(details) }));
    }
    case EventType.WORKFLOW_EXECUTION_TERMINATED:
      return unsuccessful('failed', ownFailure('operation terminated', { terminatedFailureInfo: {} }));
    case EventType.WORKFLOW_EXECUTION_TIMED_OUT:
      return unsuccessful('failed', ownFailure('operation exceeded internal timeout', { timeoutFailureInfo: {} }));
    default:
      throw new Undecodable(`a workflow does not close with an event of type ${event.eventType}`);
  }
}

async function contentOfUpdate(event: HistoryEvent, { failed }: CallbackOfUpdate): Promise<Content> {
  if (failed !== undefined) return unsuccessful('failed', await nexusFailure(failed.failure));
  if (event.eventType !== EventType.WORKFLOW_EXECUTION_UPDATE_COMPLETED)
    throw new Undecodable(`an update does not end with an event of type ${event.eventType}`);
  const { success, failure } = decodeOutcome(event.workflowExecutionUpdateCompletedEventAttributes?.outcome ?? new Uint8Array());
  return failure === undefined ? succeeded(success) : unsuccessful('failed', await nexusFailure(failure));
}

function unsuccessful(state: 'failed' | 'canceled', failure: NexusFailure): Content {
  const contentHeaders = new Map([['content-type', 'application/json']]);
  return { state, contentHeaders, body: Buffer.from(JSON.stringify(failure)) };
}

function ownFailure(message: string, details: NexusFailure['details']): NexusFailure {
  return { message, metadata: { type: 'temporal.api.failure.v1.Failure' }, details };
}

function detailsOf(payloads: Uint8Array | undefined): Readonly<Record<string, unknown>> {
  if (payloads === undefined) return {};
  const details = decodePayloads(payloads).payloads.map((payload) => {
    const { metadata, data } = decodePayload(payload);
    const names = [...metadata].map(([name, value]): [string, string] => [name, base64(value)]);
    return { metadata: Object.fromEntries(names), ...(data.length === 0 ? {} : { data: base64(data) }) };
  });
  return { details: { payloads: details } };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** The first of several results is told. */
function succeeded(result: Uint8Array | undefined): Content {
  const first = result === undefined ? undefined : decodePayloads(result).payloads[0];
  if (first === undefined) return { state: 'succeeded', contentHeaders: new Map(), body: new Uint8Array() };
  const { metadata, data } = decodePayload(first);
  const contentHeaders = headersOf(metadata);
  if (contentHeaders !== undefined) return { state: 'succeeded', contentHeaders, body: data };
  return { state: 'succeeded', contentHeaders: new Map([['content-type', 'application/x-temporal-payload']]), body: first };
}

/** undefined: headers cannot say what it is, and the whole payload is sent. */
function headersOf(metadata: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, string> | undefined {
  const headers = headersFor(metadata);
  return headers !== undefined && canBeSent(headers) ? headers : undefined;
}

/** What a worker says of a result is any text, and one that HTTP does not carry would fail at each attempt, for ever. */
function canBeSent(headers: ReadonlyMap<string, string>): boolean {
  let chars = 0;
  for (const [name, value] of headers) {
    chars += name.length + value.length;
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      return false;
    }
  }
  return chars <= CONTENT_HEADER_CHARS_MAX;
}

function headersFor(metadata: ReadonlyMap<string, Uint8Array>): ReadonlyMap<string, string> | undefined {
  const texts = new Map([...metadata].map(([name, value]): [string, string] => [name, Buffer.from(value).toString('utf8')]));
  const encoding = texts.get('encoding') ?? '';
  const messageType = texts.get('messageType') ?? '';
  const ofType = (type: string, size: number): ReadonlyMap<string, string> | undefined =>
    texts.size === size && (size === 1 || messageType !== '') ? new Map(type === '' ? [] : [['content-type', type]]) : undefined;
  switch (encoding) {
    case 'unknown/nexus-content':
      return new Map([...texts].filter(([name]) => name !== 'encoding').map(([name, value]) => [`content-${name.toLowerCase()}`, value]));
    case 'json/protobuf':
      return ofType(`application/json; format=protobuf; message-type=${JSON.stringify(messageType)}`, 2);
    case 'binary/protobuf':
      return ofType(`application/x-protobuf; message-type=${JSON.stringify(messageType)}`, 2);
    case 'json/plain':
      return ofType('application/json', 1);
    case 'binary/plain':
      return ofType('application/octet-stream', 1);
    case 'binary/null':
      return ofType('', 1);
    default:
      return undefined;
  }
}

/** RFC 3339, without a fraction that says nothing. */
function timestamp(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('.000Z', 'Z');
}

/** Points at the event that brought the callback, or, since that may have been buffered, at the request. */
function startLink({ namespace, workflowId, runId, attachedBy, update }: Completion): string {
  const path = [namespace, 'workflows', workflowId, runId].map(encodeURIComponent).join('/');
  const query =
    attachedBy === ''
      ? 'eventID=1&eventType=WorkflowExecutionStarted&referenceType=EventReference'
      : `eventType=${attachedWith(update)}&referenceType=RequestIdReference&requestID=${encodeURIComponent(attachedBy)}`;
  return `<temporal:///namespaces/${path}/history?${query}>; type="temporal.api.common.v1.Link.WorkflowEvent"`;
}

function attachedWith(update: CallbackOfUpdate | undefined): string {
  switch (update?.attachedWith) {
    case EventType.WORKFLOW_EXECUTION_UPDATE_ADMITTED:
      return 'WorkflowExecutionUpdateAdmitted';
    case EventType.WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
      return 'WorkflowExecutionUpdateAccepted';
    default:
      return 'WorkflowExecutionOptionsUpdated';
  }
}
