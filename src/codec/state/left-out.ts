/**
 * What a stored run leaves to its history:
 *
 *     Activity { attributes { input 2 MiB … }, attempt 7 … }     stored with every heartbeat and every attempt
 *     Activity { event 5, attempt 7 … }                          stored so; the event stands in history, once
 *
 * Small ones stay where they are: to read them takes nothing but the row. All of this holds because what an initiating event says of an
 * entry never changes while the entry is pending; what operators change of it is stored beside it (`operations`).
 */
import { LogError } from '../../ports/log.ts';
import type { EventsLeftOut } from '../../history/shard/state-wire.ts';
import type { EventKind, EventOf } from '../../history/run/events.ts';
import type * as state from '../../wire/generated/state/history.ts';
import { decodeEvent } from '../event-codec.ts';

/** What of an initiating event clients and workflows may make as large as they like, together. */
const payloadBytesMax = 4 * 1024;
/** Limits what a run keeps of them together: two thousand would be a row of 8 MiB, encoded in one piece and written with each attempt of one. */
const smallBytesMax = 256 * 1024;
/** Beyond: what names the event takes hardly less. */
const payloadBytesMaxOfMany = 128;

type Whole<Entry extends { readonly attributes: unknown }> = Entry & { readonly attributes: NonNullable<Entry['attributes']> };

/** Nothing is left out of it. */
export type WholeRun = state.Run & {
  readonly activities: readonly Whole<state.Activity>[];
  readonly children: readonly Whole<state.Child>[];
};

export function leaveOut(run: state.Run): { readonly message: state.Run; readonly bytesLeftOut: number } {
  const bytesMax = smallBytesOf(run) > smallBytesMax ? payloadBytesMaxOfMany : payloadBytesMax;
  const eventsLeftOut: number[] = [];
  let bytesLeftOut = 0;
  const isLarge = (eventId: number, bytes: number): boolean => {
    if (bytes <= bytesMax) return false;
    eventsLeftOut.push(eventId);
    bytesLeftOut += bytes;
    return true;
  };
  const activities = run.activities.map((activity) =>
    isLarge(activity.scheduledEventId, bytesOfActivity(activity)) ? { ...activity, attributes: undefined } : activity,
  );
  const children = run.children.map((child) =>
    isLarge(child.initiatedEventId, bytesOfChild(child)) ? { ...child, attributes: undefined, userMetadata: undefined } : child,
  );
  const externalSignals = run.externalSignals.map((request) =>
    isLarge(request.initiatedEventId, bytesOfSignal(request)) ? { ...request, input: undefined, header: undefined } : request,
  );
  const startedWith = isLarge(startedEventId, bytesOfStarted(run)) ? undefined : run.startedWith;
  const message = eventsLeftOut.length === 0 ? run : { ...run, activities, children, externalSignals, startedWith, eventsLeftOut };
  return { message, bytesLeftOut };
}

const startedEventId = 1;

/** What would stay in the row. */
function smallBytesOf(run: state.Run): number {
  const { activities, children, externalSignals } = run;
  let small = 0;
  const count = (bytes: number): void => void (small += bytes <= payloadBytesMax ? bytes : 0);
  for (const activity of activities) count(bytesOfActivity(activity));
  for (const child of children) count(bytesOfChild(child));
  for (const request of externalSignals) count(bytesOfSignal(request));
  count(bytesOfStarted(run));
  return small;
}

function bytesOfActivity({ attributes }: state.Activity): number {
  return lengthOf(attributes?.input) + lengthOf(attributes?.header);
}

function bytesOfChild({ attributes, userMetadata }: state.Child): number {
  const { input, header, memo, searchAttributes } = attributes ?? {};
  return lengthOf(input) + lengthOf(header) + lengthOf(memo) + lengthOf(searchAttributes) + lengthOf(userMetadata);
}

function bytesOfSignal({ input, header }: state.ExternalRequest): number {
  return lengthOf(input) + lengthOf(header);
}

function bytesOfStarted({ startedWith }: state.Run): number {
  const { input, header, memo, searchAttributes, lastCompletionResult, continuedFailure, cronSchedule, retryPolicy } = startedWith ?? {};
  const payloads = [input, header, memo, searchAttributes, lastCompletionResult, continuedFailure];
  // As characters: it need not be exact.
  const names = (retryPolicy?.nonRetryableErrorTypes ?? []).reduce((sum, name) => sum + name.length, cronSchedule?.length ?? 0);
  return payloads.reduce((sum, payload) => sum + lengthOf(payload), names);
}

function lengthOf(payload: Uint8Array | undefined): number {
  return payload?.length ?? 0;
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
  const startedWith = leftOut.has(startedEventId) ? needed(events, startedEventId, 'workflowExecutionStarted').attributes : run.startedWith;
  return { ...run, activities, children, externalSignals, startedWith };
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
