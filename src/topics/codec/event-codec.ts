/**
 * History events as `temporal.api.history.v1.HistoryEvent` bytes and back.
 *
 * The core's events have one `attributes` property and a `type`; the generated HistoryEvent has one property for each of sixty kinds.
 * Going through that would build a wide object for every event, so the message around the attributes is written here, and the generated
 * code does the attributes.
 */
import { LogError } from '../../actors/log.ts';
import { type AttributesOf, type EventKind, type EventOf, eventTypeNumber, type HistoryEvent } from '../../history/events.ts';
import * as wire from '../../wire/generated/lean/history.ts';
import { encodeWith, ownLimits, Reader, type Writer } from '../../wire/runtime.ts';

type AttributesCodec<Attributes> = {
  readonly field: number;
  readonly write: (w: Writer, attributes: Attributes) => void;
  readonly read: (r: Reader) => Attributes;
};

const attributeCodecs: { readonly [Kind in EventKind]: AttributesCodec<AttributesOf[Kind]> } = {
  workflowExecutionStarted: {
    field: 6,
    write: wire.writeWorkflowExecutionStartedEventAttributes,
    read: wire.readWorkflowExecutionStartedEventAttributes,
  },
  workflowExecutionCompleted: {
    field: 7,
    write: wire.writeWorkflowExecutionCompletedEventAttributes,
    read: wire.readWorkflowExecutionCompletedEventAttributes,
  },
  workflowExecutionFailed: {
    field: 8,
    write: wire.writeWorkflowExecutionFailedEventAttributes,
    read: wire.readWorkflowExecutionFailedEventAttributes,
  },
  workflowExecutionTimedOut: {
    field: 9,
    write: wire.writeWorkflowExecutionTimedOutEventAttributes,
    read: wire.readWorkflowExecutionTimedOutEventAttributes,
  },
  workflowTaskScheduled: {
    field: 10,
    write: wire.writeWorkflowTaskScheduledEventAttributes,
    read: wire.readWorkflowTaskScheduledEventAttributes,
  },
  workflowTaskStarted: {
    field: 11,
    write: wire.writeWorkflowTaskStartedEventAttributes,
    read: wire.readWorkflowTaskStartedEventAttributes,
  },
  workflowTaskCompleted: {
    field: 12,
    write: wire.writeWorkflowTaskCompletedEventAttributes,
    read: wire.readWorkflowTaskCompletedEventAttributes,
  },
  workflowTaskTimedOut: {
    field: 13,
    write: wire.writeWorkflowTaskTimedOutEventAttributes,
    read: wire.readWorkflowTaskTimedOutEventAttributes,
  },
  workflowTaskFailed: { field: 14, write: wire.writeWorkflowTaskFailedEventAttributes, read: wire.readWorkflowTaskFailedEventAttributes },
  activityTaskScheduled: {
    field: 15,
    write: wire.writeActivityTaskScheduledEventAttributes,
    read: wire.readActivityTaskScheduledEventAttributes,
  },
  activityTaskStarted: {
    field: 16,
    write: wire.writeActivityTaskStartedEventAttributes,
    read: wire.readActivityTaskStartedEventAttributes,
  },
  activityTaskCompleted: {
    field: 17,
    write: wire.writeActivityTaskCompletedEventAttributes,
    read: wire.readActivityTaskCompletedEventAttributes,
  },
  activityTaskFailed: { field: 18, write: wire.writeActivityTaskFailedEventAttributes, read: wire.readActivityTaskFailedEventAttributes },
  activityTaskTimedOut: {
    field: 19,
    write: wire.writeActivityTaskTimedOutEventAttributes,
    read: wire.readActivityTaskTimedOutEventAttributes,
  },
  activityTaskCancelRequested: {
    field: 22,
    write: wire.writeActivityTaskCancelRequestedEventAttributes,
    read: wire.readActivityTaskCancelRequestedEventAttributes,
  },
  activityTaskCanceled: {
    field: 23,
    write: wire.writeActivityTaskCanceledEventAttributes,
    read: wire.readActivityTaskCanceledEventAttributes,
  },
  timerStarted: { field: 20, write: wire.writeTimerStartedEventAttributes, read: wire.readTimerStartedEventAttributes },
  timerFired: { field: 21, write: wire.writeTimerFiredEventAttributes, read: wire.readTimerFiredEventAttributes },
  timerCanceled: { field: 24, write: wire.writeTimerCanceledEventAttributes, read: wire.readTimerCanceledEventAttributes },
  workflowExecutionCancelRequested: {
    field: 28,
    write: wire.writeWorkflowExecutionCancelRequestedEventAttributes,
    read: wire.readWorkflowExecutionCancelRequestedEventAttributes,
  },
  workflowExecutionCanceled: {
    field: 29,
    write: wire.writeWorkflowExecutionCanceledEventAttributes,
    read: wire.readWorkflowExecutionCanceledEventAttributes,
  },
  requestCancelExternalWorkflowExecutionInitiated: {
    field: 30,
    write: wire.writeRequestCancelExternalWorkflowExecutionInitiatedEventAttributes,
    read: wire.readRequestCancelExternalWorkflowExecutionInitiatedEventAttributes,
  },
  requestCancelExternalWorkflowExecutionFailed: {
    field: 31,
    write: wire.writeRequestCancelExternalWorkflowExecutionFailedEventAttributes,
    read: wire.readRequestCancelExternalWorkflowExecutionFailedEventAttributes,
  },
  externalWorkflowExecutionCancelRequested: {
    field: 32,
    write: wire.writeExternalWorkflowExecutionCancelRequestedEventAttributes,
    read: wire.readExternalWorkflowExecutionCancelRequestedEventAttributes,
  },
  markerRecorded: { field: 25, write: wire.writeMarkerRecordedEventAttributes, read: wire.readMarkerRecordedEventAttributes },
  workflowExecutionSignaled: {
    field: 26,
    write: wire.writeWorkflowExecutionSignaledEventAttributes,
    read: wire.readWorkflowExecutionSignaledEventAttributes,
  },
  workflowExecutionTerminated: {
    field: 27,
    write: wire.writeWorkflowExecutionTerminatedEventAttributes,
    read: wire.readWorkflowExecutionTerminatedEventAttributes,
  },
  workflowExecutionContinuedAsNew: {
    field: 33,
    write: wire.writeWorkflowExecutionContinuedAsNewEventAttributes,
    read: wire.readWorkflowExecutionContinuedAsNewEventAttributes,
  },
  startChildWorkflowExecutionInitiated: {
    field: 34,
    write: wire.writeStartChildWorkflowExecutionInitiatedEventAttributes,
    read: wire.readStartChildWorkflowExecutionInitiatedEventAttributes,
  },
  startChildWorkflowExecutionFailed: {
    field: 35,
    write: wire.writeStartChildWorkflowExecutionFailedEventAttributes,
    read: wire.readStartChildWorkflowExecutionFailedEventAttributes,
  },
  childWorkflowExecutionStarted: {
    field: 36,
    write: wire.writeChildWorkflowExecutionStartedEventAttributes,
    read: wire.readChildWorkflowExecutionStartedEventAttributes,
  },
  childWorkflowExecutionCompleted: {
    field: 37,
    write: wire.writeChildWorkflowExecutionCompletedEventAttributes,
    read: wire.readChildWorkflowExecutionCompletedEventAttributes,
  },
  childWorkflowExecutionFailed: {
    field: 38,
    write: wire.writeChildWorkflowExecutionFailedEventAttributes,
    read: wire.readChildWorkflowExecutionFailedEventAttributes,
  },
  childWorkflowExecutionCanceled: {
    field: 39,
    write: wire.writeChildWorkflowExecutionCanceledEventAttributes,
    read: wire.readChildWorkflowExecutionCanceledEventAttributes,
  },
  childWorkflowExecutionTimedOut: {
    field: 40,
    write: wire.writeChildWorkflowExecutionTimedOutEventAttributes,
    read: wire.readChildWorkflowExecutionTimedOutEventAttributes,
  },
  childWorkflowExecutionTerminated: {
    field: 41,
    write: wire.writeChildWorkflowExecutionTerminatedEventAttributes,
    read: wire.readChildWorkflowExecutionTerminatedEventAttributes,
  },
  signalExternalWorkflowExecutionInitiated: {
    field: 42,
    write: wire.writeSignalExternalWorkflowExecutionInitiatedEventAttributes,
    read: wire.readSignalExternalWorkflowExecutionInitiatedEventAttributes,
  },
  signalExternalWorkflowExecutionFailed: {
    field: 43,
    write: wire.writeSignalExternalWorkflowExecutionFailedEventAttributes,
    read: wire.readSignalExternalWorkflowExecutionFailedEventAttributes,
  },
  externalWorkflowExecutionSignaled: {
    field: 44,
    write: wire.writeExternalWorkflowExecutionSignaledEventAttributes,
    read: wire.readExternalWorkflowExecutionSignaledEventAttributes,
  },
  upsertWorkflowSearchAttributes: {
    field: 45,
    write: wire.writeUpsertWorkflowSearchAttributesEventAttributes,
    read: wire.readUpsertWorkflowSearchAttributesEventAttributes,
  },
  workflowPropertiesModified: {
    field: 51,
    write: wire.writeWorkflowPropertiesModifiedEventAttributes,
    read: wire.readWorkflowPropertiesModifiedEventAttributes,
  },
  workflowExecutionOptionsUpdated: {
    field: 60,
    write: wire.writeWorkflowExecutionOptionsUpdatedEventAttributes,
    read: wire.readWorkflowExecutionOptionsUpdatedEventAttributes,
  },
};

const kindOfField: EventKind[] = [];
for (const kind of Object.keys(attributeCodecs) as EventKind[]) kindOfField[attributeCodecs[kind].field] = kind;

export function encodeEvent(event: HistoryEvent): Uint8Array {
  return encodeWith(writeEvent, event);
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
