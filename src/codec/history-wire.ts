/** The port through which the history core uses the wire format. */
import type { FailureSpec, HistoryWire, UpdateBrings } from '../history/run/history-replies.ts';
import { callbackUrl } from '../kernel/callback-address.ts';
import { unreachable } from '../kernel/assert.ts';
import { decodeFields, encodeFields, fieldCount, fieldOf, isEmptyPayload, payloadValue } from '../wire/fields.ts';
import { decodeCallback } from '../wire/generated/lean/callback.ts';
import { decodePriority, encodePayloads, encodePriority } from '../wire/generated/lean/common.ts';
import { writeApplicationFailureInfo, writeCanceledFailureInfo, writeServerFailureInfo } from '../wire/generated/lean/failure.ts';
import { writeTerminatedFailureInfo, writeTimeoutFailureInfo } from '../wire/generated/lean/failure.ts';
import { decodeRequest, encodeOutcome, encodeRequest } from '../wire/generated/lean/update.ts';
import { jsonPayload, jsonTextPayload } from '../wire/json-payload.ts';
import { Reader } from '../wire/reader.ts';
import { unlessMalformed } from '../wire/wire-error.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { encodeWith, type Writer } from '../wire/writer.ts';
import * as state from '../wire/generated/state/history.ts';
import { decodeEvent, encodeEvent } from './event-codec.ts';
import { scheduleWire } from './schedule-wire.ts';
import { taskFromMessage } from './state/task-message.ts';

const nothing = new Uint8Array(0);

export const historyWire: HistoryWire = {
  schedules: scheduleWire,
  encodeEvent,
  decodeEvent,

  encodeFailure: (failure) => encodeWith(writeFailure, failure),

  updateIdOf: (request) => decodeRequest(request, ownLimits).meta?.updateId ?? '',

  attachmentOf,

  withoutCallbacks: (request) => {
    const { requestId, callbacks } = attachmentOf(request);
    const isShort = Buffer.byteLength(requestId) <= uncheckedIdBytesMax;
    if (callbacks.length === 0 && isShort) return request;
    return encodeRequest({ ...decodeRequest(request, ownLimits), completionCallbacks: [], requestId: isShort ? requestId : '' });
  },

  encodeFailedUpdate: (failure) => encodeOutcome({ success: undefined, failure: failure ?? nothing }),

  limitCauses,

  encodePayloads: (jsonTexts) => encodePayloads({ payloads: jsonTexts.map((text) => jsonTextPayload(text)) }),

  callbackDestination,

  encodeKeywords: (words) => jsonPayload(words, 'KeywordList'),

  decodeFields,
  encodeFields,
  fieldCount,
  fieldOf,
  decodePriority,
  encodePriority,
  decodeTask: (task) => taskFromMessage(state.decodePendingTask(task, ownLimits)),
  isEmptyPayload,
  payloadValue,
};

const bringsNothing: UpdateBrings = { requestId: '', callbacks: [], links: [] };

/** The longest request id that a worker may bring, as the edge takes them from clients; a longer one would stand in the run for good. */
const uncheckedIdBytesMax = 1_000;

/** A request stands in an event that was committed: whatever it is, the event's fold must not fail. */
function attachmentOf(request: Uint8Array): UpdateBrings {
  const brings = unlessMalformed(() => {
    const { requestId, completionCallbacks: callbacks } = decodeRequest(request, ownLimits);
    return { requestId, callbacks, links: callbacks.flatMap((callback) => decodeCallback(callback).links) };
  });
  return brings ?? bringsNothing;
}

/** What the edge has checked is an address; a malformed one is told by the attempt to call it. */
function callbackDestination(callback: Uint8Array): string {
  const address = callbackUrl(decodeCallback(callback).nexus?.url ?? '');
  return typeof address === 'string' ? '' : address.destination;
}

/** `Failure.cause` */
const causeTag = 34;
/** Where a failure and its cause stand in the bytes of the outermost one. The cause's tag is at `causeAt`, its body from there on. */
type FailureSpan = { readonly start: number; readonly causeAt: number; readonly causeEnd: number; readonly end: number };

/**
 *   failure 0 ─ … ─ failure causesMax−1 ─┬─ failure causesMax ─ … ─ failure n       as it came
 *                                        └─ "(n − causesMax + 1) more causes …"     as it is kept
 */
function limitCauses(failure: Uint8Array, causesMax: number): Uint8Array {
  const spans = readableSpans(failure);
  if (spans.length <= causesMax) return failure;
  const kept = spans.slice(0, causesMax);
  const message = `${spans.length - causesMax + 1} more causes were cut off: failures are kept with at most ${causesMax} of them.`;
  let inner: Uint8Array = encodeWith(writeFailure, { message, cause: undefined, info: { kind: 'server', nonRetryable: false } });
  for (const { start, causeAt, causeEnd, end } of kept.toReversed()) {
    const cause = inner;
    inner = encodeWith((w) => {
      w.raw(failure.subarray(start, causeAt));
      w.bytesAlways(causeTag, cause);
      w.raw(failure.subarray(causeEnd, end));
    }, undefined);
  }
  return inner;
}

/** The core looks into no failure: one that is malformed after all is passed on like any other, and fails nobody's decision. */
function readableSpans(failure: Uint8Array): readonly FailureSpan[] {
  return unlessMalformed(() => failureSpans(failure)) ?? [];
}

/** Spans of the failure and of all its causes but the last, which has no cause itself. */
function failureSpans(failure: Uint8Array): readonly FailureSpan[] {
  const spans: FailureSpan[] = [];
  const r = new Reader(failure, ownLimits);
  for (;;) {
    const start = r.pos;
    const { end } = r;
    let causeAt = -1;
    let causeStart = 0;
    let causeEnd = 0;
    while (r.pos < r.end) {
      const at = r.pos;
      const tag = r.tag();
      if (tag !== causeTag) {
        r.skip(tag);
        continue;
      }
      const outer = r.enter();
      causeAt = at;
      causeStart = r.pos;
      causeEnd = r.end;
      r.pos = r.end;
      r.leave(outer);
    }
    if (causeAt < 0) return spans;
    spans.push({ start, causeAt, causeEnd, end });
    r.pos = causeStart;
    r.end = causeEnd;
  }
}

function writeFailure(w: Writer, { message, cause, info }: FailureSpec): void {
  w.string(10, message);
  // Upstream names itself as the source of timeouts, not of what it says as a server, nor of resets.
  if (info.kind !== 'server' && info.kind !== 'reset') w.string(18, 'Server');
  // A message inside a message is its bytes: the cause goes in as it came.
  if (cause !== undefined) w.bytesAlways(causeTag, cause);
  switch (info.kind) {
    case 'application': {
      const { type, nonRetryable } = info;
      const application = { type, nonRetryable, details: undefined, nextRetryDelayMs: undefined, category: 0 };
      return writeInside(w, 42, () => writeApplicationFailureInfo(w, application));
    }
    case 'timeout': {
      const { timeoutType, lastHeartbeatDetails } = info;
      return writeInside(w, 50, () => writeTimeoutFailureInfo(w, { timeoutType, lastHeartbeatDetails }));
    }
    case 'canceled':
      return writeInside(w, 58, () => writeCanceledFailureInfo(w, { details: info.details, identity: '' }));
    case 'terminated':
      return writeInside(w, 66, () => writeTerminatedFailureInfo(w, { identity: '' }));
    case 'server':
      return writeInside(w, 74, () => writeServerFailureInfo(w, { nonRetryable: info.nonRetryable }));
    case 'reset':
      return writeInside(w, 82, () => {});
    default:
      unreachable(info);
  }
}

function writeInside(w: Writer, tag: number, write: () => void): void {
  const at = w.open(tag);
  write();
  w.close(at);
}
