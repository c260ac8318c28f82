/**
 * History events as `temporal.api.history.v1.HistoryEvent` bytes and back.
 *
 * The core's events have one `attributes` property and a `type`; the generated HistoryEvent has one property for each of sixty kinds.
 * Going through that would build a wide object for every event, so the message around the attributes is written here, and the generated
 * code does the attributes.
 */
import { LogError } from '../ports/log.ts';
import type { EventKind, EventOf, HistoryEvent } from '../history/run/events.ts';
import { type AttributesOf, eventTypeNumber } from '../history/generated/public-api.ts';
import { eventAttributes } from '../wire/generated/lean/event-attributes.ts';
import { Reader } from '../wire/reader.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { encodeBriefly, type Writer } from '../wire/writer.ts';

type AttributesCodec<Attributes> = {
  readonly field: number;
  readonly write: (w: Writer, attributes: Attributes) => void;
  readonly read: (r: Reader) => Attributes;
};

const attributeCodecs: { readonly [Kind in EventKind]: AttributesCodec<AttributesOf[Kind]> } = eventAttributes;

const kindOfField: EventKind[] = [];
for (const kind of Object.keys(attributeCodecs) as EventKind[]) kindOfField[attributeCodecs[kind].field] = kind;

/** One event, for a record or for a page of a history: whoever keeps events packs them. */
export function encodeEvent(event: HistoryEvent): Uint8Array {
  return encodeBriefly(writeEvent, event);
}

function writeEvent(w: Writer, event: HistoryEvent): void {
  w.int64(8, event.eventId);
  w.timestampMs(18, event.eventTimeMs);
  w.int32(24, eventTypeNumber[event.type]);
  w.int64(32, event.version);
  w.int64(40, event.taskId);
  writeAttributes(w, event);
  w.bool(2400, event.workerMayIgnore);
  if (event.userMetadata !== undefined) w.bytesAlways(2410, event.userMetadata);
  for (const link of event.links) w.bytesAlways(2418, link);
  for (const marker of event.eventGroupMarkers) w.bytesAlways(2434, marker);
}

function writeAttributes<Kind extends EventKind>(w: Writer, event: EventOf<Kind>): void {
  const codec = attributeCodecs[event.type];
  const at = w.open(codec.field * 8 + 2);
  codec.write(w, event.attributes);
  w.close(at);
}

/** Throws WireError on malformed bytes, LogError `corrupt` on an event that this version does not know. */
export function decodeEvent(bytes: Uint8Array): HistoryEvent {
  const r = new Reader(bytes, ownLimits);
  let eventId = 0;
  let eventTimeMs = 0;
  let eventType = 0;
  let version = 0;
  let taskId = 0;
  let workerMayIgnore = false;
  let userMetadata: Uint8Array | undefined;
  let type: EventKind | undefined;
  let attributes: AttributesOf[EventKind] | undefined;
  const links: Uint8Array[] = [];
  const eventGroupMarkers: Uint8Array[] = [];
  while (r.pos < r.end) {
    const tag = r.tag();
    switch (tag) {
      case 8:
        eventId = r.int64('HistoryEvent.event_id');
        break;
      case 18:
        eventTimeMs = r.timestampMs('HistoryEvent.event_time');
        break;
      case 24:
        eventType = r.int32();
        break;
      case 32:
        version = r.int64('HistoryEvent.version');
        break;
      case 40:
        taskId = r.int64('HistoryEvent.task_id');
        break;
      case 2400:
        workerMayIgnore = r.bool();
        break;
      case 2410:
        userMetadata = r.bytes();
        break;
      case 2418:
        links.push(r.bytes());
        break;
      case 2434:
        eventGroupMarkers.push(r.bytes());
        break;
      default: {
        const kind = (tag & 7) === 2 ? kindOfField[tag >>> 3] : undefined;
        if (kind === undefined) {
          r.skip(tag);
          break;
        }
        const outer = r.enter();
        type = kind;
        attributes = attributeCodecs[kind].read(r);
        r.leave(outer);
      }
    }
  }
  if (type === undefined || attributes === undefined || eventTypeNumber[type] !== eventType) {
    throw new LogError('corrupt', `event ${eventId} has type ${eventType} and ${type ?? 'no known'} attributes`);
  }
  const event = { type, eventId, eventTimeMs, version, taskId, workerMayIgnore, userMetadata, links, eventGroupMarkers, attributes };
  // The compiler cannot see that `type` and `attributes` were chosen together.
  return event as HistoryEvent;
}
