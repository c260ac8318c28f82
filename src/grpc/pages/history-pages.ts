import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryPosition } from '../../history/run/history-replies.ts';
import { PAGE_BYTES_MAX } from '../../actors/history/events/history-store.ts';
import { notFound } from '../errors/details.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';

export const onlyBranch = '0';

export type EventPage = { readonly events: readonly Uint8Array[]; readonly nextPageToken: Uint8Array };

const noEvents: EventPage = { events: [], nextPageToken: new Uint8Array(0) };

export type EventRange = {
  readonly key: RunKey;
  readonly firstEventId: number;
  /** An id below that of the first event: there are no stored events at all. */
  readonly lastEventId: number;
  readonly tailEvents: readonly Uint8Array[];
  readonly open: boolean;
  readonly firstPage: readonly Uint8Array[] | undefined;
  readonly eventsMax: number;
};

/**
 * The first page of a range, and the token for the rest. Pages are the stored bytes as they are.
 *
 *     firstEventId … 256 events or 4 MiB … │ next page … │ … lastEventId, tail events
 *
 * The answer is no promise when the first page came along with the range, as with nearly every task.
 */
export function eventPage(context: HandlerContext, call: Call, range: EventRange): EventPage | Promise<EventPage> {
  if (range.firstEventId > range.lastEventId) {
    return range.tailEvents.length === 0 ? noEvents : { events: range.tailEvents, nextPageToken: noEvents.nextPageToken };
  }
  if (range.firstPage !== undefined) return pageOf(context, range, range.firstPage);
  const { key, firstEventId, lastEventId, eventsMax } = range;
  return storedEvents(context, call, key, firstEventId, lastEventId, eventsMax).then((stored) => pageOf(context, range, stored));
}

export function positionNow(context: HandlerContext, call: Call, key: RunKey): Promise<HistoryPosition> {
  return context.history(call, key, { kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: false });
}

/** At least one event: a position named them, so a run without them was forgotten in between. */
export async function storedEvents(
  context: HandlerContext,
  call: Call,
  key: RunKey,
  firstEventId: number,
  lastEventId: number,
  eventsMax: number,
): Promise<readonly Uint8Array[]> {
  const range = { firstEventId, lastEventId, eventsMax, bytesMax: PAGE_BYTES_MAX };
  const { events } = await context.history(call, key, { kind: 'readHistory', key, ...range });
  if (events.length === 0) throw notFound(`workflow execution not found for workflow ID "${key.workflowId}" and run ID "${key.runId}"`);
  return events;
}

function pageOf(context: HandlerContext, range: EventRange, stored: readonly Uint8Array[]): EventPage {
  const nextEventId = range.firstEventId + stored.length;
  if (nextEventId > range.lastEventId) {
    return { events: range.tailEvents.length === 0 ? stored : [...stored, ...range.tailEvents], nextPageToken: noEvents.nextPageToken };
  }
  const { key, lastEventId, open, tailEvents } = range;
  const place = { branchId: onlyBranch, nextEventId, lastEventId, open, reverse: false, tailEvents };
  const nextPageToken = context.tokens.historyPage.sign({ ...key, ...place });
  return { events: stored, nextPageToken };
}
