/**
 * What a stored run leaves to its history:
 *
 *     Activity { attributes { input 2 MiB … }, attempt 7 … }     stored with every heartbeat and every attempt
 *     Activity { event 5, attempt 7 … }                          stored so; the event stands in history, once
 *
 * Small ones stay where they are: to read them takes nothing but the row. All of this holds because what an initiating event says of an
 * entry never changes while the entry is pending; what changes it some day must store it.
 */
import { LogError } from '../../../actors/log.ts';
import type { EventsLeftOut } from '../../../history/checkpoint/state-wire.ts';
import type { EventKind, EventOf } from '../../../history/events.ts';
import type * as state from '../../../wire/generated/state/history.ts';
import { decodeEvent } from '../event-codec.ts';

/** What of an initiating event clients and workflows may make as large as they like, together. */
const payloadBytesMax = 4 * 1024;

type Whole<Entry extends { readonly attributes: unknown }> = Entry & { readonly attributes: NonNullable<Entry['attributes']> };

/** Nothing is left out of it. */
export type WholeRun = state.Run & {
  readonly activities: readonly Whole<state.Activity>[];
  readonly children: readonly Whole<state.Child>[];
};

export function leaveOut(run: state.Run): { readonly message: state.Run; readonly bytesLeftOut: number } {
  const eventsLeftOut: number[] = [];
  let bytesLeftOut = 0;
  const isLarge = (eventId: number, ...payloads: readonly (Uint8Array | undefined)[]): boolean => {
    const bytes = payloadBytes(payloads);
    if (bytes <= payloadBytesMax) return false;
    eventsLeftOut.push(eventId);
    bytesLeftOut += bytes;
    return true;
  };
  const activities = run.activities.map((activity) => {
    const { scheduledEventId, attributes } = activity;
    return isLarge(scheduledEventId, attributes?.input, attributes?.header) ? { ...activity, attributes: undefined } : activity;
  });
  const children = run.children.map((child) => {
    const { initiatedEventId, attributes, userMetadata } = child;
    const { input, header, memo, searchAttributes } = attributes ?? {};
    if (!isLarge(initiatedEventId, input, header, memo, searchAttributes, userMetadata)) return child;
    return { ...child, attributes: undefined, userMetadata: undefined };
  });
  const externalSignals = run.externalSignals.map((request) => {
    const { initiatedEventId, input, header } = request;
    return isLarge(initiatedEventId, input, header) ? { ...request, input: undefined, header: undefined } : request;
  });
  const message = eventsLeftOut.length === 0 ? run : { ...run, activities, children, externalSignals, eventsLeftOut };
  return { message, bytesLeftOut };
}

function payloadBytes(payloads: readonly (Uint8Array | undefined)[]): number {
  let bytes = 0;
  for (const payload of payloads) bytes += payload?.length ?? 0;
  return bytes;
}

/** Throws where an event is not there, or is none of the kind that it must be. */
export function putBack(run: state.Run, events: EventsLeftOut): WholeRun {
  const filled = run.eventsLeftOut.length === 0 ? run : fill(run, events);
  if (!isWhole(filled)) throw new LogError('corrupt', 'an activity or a child lacks what its event says');
  return filled;
}

function fill(run: state.Run, events: EventsLeftOut): state.Run {
  const leftOut = new Set(run.eventsLeftOut);
  const activities = run.activities.map((activity) => {
    if (!leftOut.has(activity.scheduledEventId)) return activity;
    const { attributes } = needed(events, activity.scheduledEventId, 'activityTaskScheduled');
    return { ...activity, attributes };
  });
  const children = run.children.map((child) => {
    if (!leftOut.has(child.initiatedEventId)) return child;
    const { attributes, userMetadata } = needed(events, child.initiatedEventId, 'startChildWorkflowExecutionInitiated');
    return { ...child, attributes, userMetadata };
  });
  const externalSignals = run.externalSignals.map((request) => {
    if (!leftOut.has(request.initiatedEventId)) return request;
    const { input, header } = needed(events, request.initiatedEventId, 'signalExternalWorkflowExecutionInitiated').attributes;
    return { ...request, input, header };
  });
  return { ...run, activities, children, externalSignals };
}

function isWhole(run: state.Run): run is WholeRun {
  return run.activities.every(hasAttributes) && run.children.every(hasAttributes);
}

function hasAttributes({ attributes }: { readonly attributes: unknown }): boolean {
  return attributes !== undefined;
}

function needed<Kind extends EventKind>(events: EventsLeftOut, eventId: number, kind: Kind): EventOf<Kind> {
  const bytes = events.get(eventId);
  if (bytes === undefined) throw new LogError('corrupt', `the run's event ${eventId}, ${kind}, is not at hand`);
  const event = decodeEvent(bytes);
  if (event.type !== kind) throw new LogError('corrupt', `the run's event ${eventId} is ${event.type} where ${kind} must be`);
  return event as EventOf<Kind>;
}
