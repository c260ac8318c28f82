/** The port through which the history core uses the wire format. */
import type { FailureSpec, HistoryWire } from '../../history/replies.ts';
import { unreachable } from '../../kernel/assert.ts';
import { decodeFields, encodeFields, fieldCount, isEmptyPayload, payloadValue } from '../../wire/fields.ts';
import { decodePriority, encodePayload, encodePayloads } from '../../wire/generated/lean/common.ts';
import {
  writeApplicationFailureInfo,
  writeCanceledFailureInfo,
  writeServerFailureInfo,
  writeTerminatedFailureInfo,
  writeTimeoutFailureInfo,
} from '../../wire/generated/lean/failure.ts';
import { encodeWith, type Writer } from '../../wire/runtime.ts';
import { encodeEvent } from './event-codec.ts';

const utf8 = new TextEncoder();
const jsonMetadata = new Map([['encoding', utf8.encode('json/plain')]]);

export const historyWire: HistoryWire = {
  encodeEvent,

  encodeFailure: (failure) => encodeWith(writeFailure, failure),

  encodePayloads: (jsonTexts) =>
    encodePayloads({
      payloads: jsonTexts.map((text) => encodePayload({ metadata: jsonMetadata, data: utf8.encode(text), externalPayloads: [] })),
    }),

  decodeFields,
  encodeFields,
  fieldCount,
  decodePriority,
  isEmptyPayload,
  payloadValue,
};

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
