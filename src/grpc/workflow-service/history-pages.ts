import type { RunKey } from '../../history/commands.ts';
import { notFound, unavailable } from '../errors/details.ts';
import type { Front } from '../front.ts';

export const pageEventsMax = 256;
/** Of events in one answer; the rest of a message is small. */
export const pageBytesMax = 4 * 1024 * 1024;

/** One branch for each run today. */
export const onlyBranch = '0';

export type EventPage = { readonly events: readonly Uint8Array[]; readonly nextPageToken: Uint8Array };

const noEvents: EventPage = { events: [], nextPageToken: new Uint8Array(0) };

export type EventRange = {
  readonly key: RunKey;
  readonly firstEventId: number;
  /** Below the first: no stored events at all. */
  readonly lastEventId: number;
  /** Follow the last stored event, on the last page. */
  readonly tailEvents: readonly Uint8Array[];
  readonly open: boolean;
  readonly eventsMax: number;
};

/**
 * The first page of a range, and the token for the rest. Pages are the stored bytes as they are.
 *
 *     firstEventId … 256 events or 4 MiB … │ next page … │ … lastEventId, tail events
 *
 * At once when the events are in memory, which is nearly always.
 */
export function eventPage(front: Front, range: EventRange): EventPage | Promise<EventPage> {
  if (range.firstEventId > range.lastEventId) {
    return range.tailEvents.length === 0 ? noEvents : { events: range.tailEvents, nextPageToken: noEvents.nextPageToken };
  }
  const events = storedEvents(front, range.key, range.firstEventId, range.lastEventId, range.eventsMax);
  return events instanceof Promise ? events.then((stored) => pageOf(front, range, stored)) : pageOf(front, range, events);
}

/** At least one event: a position named them, so a run without them was forgotten in between. */
export function storedEvents(
  front: Front,
  key: RunKey,
  firstEventId: number,
  lastEventId: number,
  eventsMax: number,
): readonly Uint8Array[] | Promise<readonly Uint8Array[]> {
  const events = front.ports.historyEvents(key, firstEventId, lastEventId, eventsMax, pageBytesMax);
  return events instanceof Promise ? events.then((stored) => found(key, stored)) : found(key, events);
}

function found(key: RunKey, events: readonly Uint8Array[] | undefined): readonly Uint8Array[] {
  if (events === undefined) throw unavailable('the history of this workflow cannot be read now');
  if (events.length === 0) throw notFound(`workflow execution not found for workflow ID "${key.workflowId}" and run ID "${key.runId}"`);
  return events;
}

function pageOf(front: Front, range: EventRange, stored: readonly Uint8Array[]): EventPage {
  const nextEventId = range.firstEventId + stored.length;
  if (nextEventId > range.lastEventId) {
    return { events: range.tailEvents.length === 0 ? stored : [...stored, ...range.tailEvents], nextPageToken: noEvents.nextPageToken };
  }
  const nextPageToken = front.tokens.historyPage({
    namespaceId: range.key.namespaceId,
    workflowId: range.key.workflowId,
    runId: range.key.runId,
    branchId: onlyBranch,
    nextEventId,
    lastEventId: range.lastEventId,
    open: range.open,
    reverse: false,
    tailEvents: range.tailEvents,
  });
  return { events: stored, nextPageToken };
}
