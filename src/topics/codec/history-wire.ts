/** The port through which the history core uses the wire format. */
import type { FailureSpec, HistoryWire } from '../../history/replies.ts';
import { unreachable } from '../../kernel/assert.ts';
import { decodeSearchAttributes, encodePayload, encodePayloads, encodeSearchAttributes } from '../../wire/generated/lean/common.ts';
import {
  writeApplicationFailureInfo,
  writeCanceledFailureInfo,
  writeServerFailureInfo,
  writeTerminatedFailureInfo,
  writeTimeoutFailureInfo,
} from '../../wire/generated/lean/failure.ts';
import { encodeWith, ownLimits, Reader, type Writer } from '../../wire/runtime.ts';
import { encodeEvent } from './event-codec.ts';

const utf8 = new TextEncoder();
const fromUtf8 = new TextDecoder();
const jsonMetadata = new Map([['encoding', utf8.encode('json/plain')]]);

export const historyWire: HistoryWire = {
  encodeEvent,

  encodeFailure: (failure) => encodeWith(writeFailure, failure),

  encodePayloads: (jsonTexts) =>
    encodePayloads({
      payloads: jsonTexts.map((text) => encodePayload({ metadata: jsonMetadata, data: utf8.encode(text), externalPayloads: [] })),
    }),

  // Memo and SearchAttributes have one and the same form.
  decodeFields: (message) => decodeSearchAttributes(message, ownLimits).indexedFields,
  encodeFields: (fields) => encodeSearchAttributes({ indexedFields: fields }),

  isEmptyPayload(payload) {
    const data = payloadData(payload);
    if (data.length === 0) return true;
    if (data.length > 4) return false;
    const text = fromUtf8.decode(data);
    return text === 'null' || text === '[]';
  },

  searchAttributeProblem(name, payload, type) {
    let value: unknown;
    try {
      value = JSON.parse(fromUtf8.decode(payloadData(payload)));
    } catch {
      return `invalid value for search attribute ${name} of type ${typeNames[type] ?? type}: not JSON`;
    }
    // One value may come as a list of one.
    const single = Array.isArray(value) && value.length === 1 && type !== keywordList ? (value[0] as unknown) : value;
    return isOfType(single, type)
      ? undefined
      : `invalid value for search attribute ${name} of type ${typeNames[type] ?? type}: ${textOf(single)}`;
  },
};

const noData: Uint8Array = new Uint8Array(0);

/** `Payload.data` alone: whatever else a payload holds is none of the core's business, and can be no reason to fail. */
function payloadData(payload: Uint8Array): Uint8Array {
  const r = new Reader(payload, ownLimits);
  let data: Uint8Array = noData;
  while (r.pos < r.end) {
    const tag = r.tag();
    if (tag === 18) data = r.bytes();
    else r.skip(tag);
  }
  return data;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `temporal.api.enums.v1.IndexedValueType` */
const typeNames = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const keywordList = 7;

function isOfType(value: unknown, type: number): boolean {
  switch (type) {
    case 1:
    case 2:
      return typeof value === 'string';
    case 3:
      return Number.isInteger(value);
    case 4:
      return typeof value === 'number';
    case 5:
      return typeof value === 'boolean';
    case 6:
      return typeof value === 'string' && !Number.isNaN(Date.parse(value));
    case keywordList:
      return typeof value === 'string' || (Array.isArray(value) && value.every((item) => typeof item === 'string'));
    default:
      return false;
  }
}

function writeFailure(w: Writer, { message, cause, info }: FailureSpec): void {
  w.string(10, message);
  // Upstream names itself as the source of timeouts, not of what it says as a server.
  if (info.kind !== 'server') w.string(18, 'Server');
  // A message inside a message is its bytes: the cause goes in as it came.
  if (cause !== undefined) w.bytesAlways(34, cause);
  switch (info.kind) {
    case 'application': {
      const at = w.open(42);
      const { type, nonRetryable } = info;
      writeApplicationFailureInfo(w, { type, nonRetryable, details: undefined, nextRetryDelayMs: undefined, category: 0 });
      w.close(at);
      return;
    }
    case 'timeout': {
      const at = w.open(50);
      writeTimeoutFailureInfo(w, { timeoutType: info.timeoutType, lastHeartbeatDetails: info.lastHeartbeatDetails });
      w.close(at);
      return;
    }
    case 'canceled': {
      const at = w.open(58);
      writeCanceledFailureInfo(w, { details: info.details, identity: '' });
      w.close(at);
      return;
    }
    case 'terminated': {
      const at = w.open(66);
      writeTerminatedFailureInfo(w, { identity: '' });
      w.close(at);
      return;
    }
    case 'server': {
      const at = w.open(74);
      writeServerFailureInfo(w, { nonRetryable: info.nonRetryable });
      w.close(at);
      return;
    }
    default:
      unreachable(info);
  }
}
