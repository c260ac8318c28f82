import { PAGE_EVENTS_MAX } from '../../actors/history/events/history-store.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryPosition } from '../../history/run/history-replies.ts';
import { HistoryEventFilterType, WorkflowExecutionStatus } from '../../wire/generated/lean/enums.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import { hasCode, invalidArgument, statusCode } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inNamespace, methodsOf } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { runKey } from '../validation/names.ts';
import { archivedPage, archivedPlace, orArchived } from './archived-history.ts';
import { asFollowed } from './followed-close.ts';
import { eventPage, onlyBranch, positionNow, storedEvents } from '../pages/history-pages.ts';

const historyWaitMsMax = 20_000;
const historyTailMs = 200;

const noEvents: readonly Uint8Array[] = [];
const noToken = new Uint8Array(0);

export const historyMethods = methodsOf(wire.codecs, {
  /**
   * One page. `wait_new_event` makes a reading endless until the run closes:
   *
   *     token ──┬─ events left in its range ─▶ next page of them
   *             ├─ none left, closed or no wait ─▶ the end (no token)
   *             └─ none left, open, wait ─▶ up to 20 s for another event; none: an empty page and the same token
   */
  GetWorkflowExecutionHistory: inNamespace(async (context, request, call, namespace) => {
    const asked = runKey(namespace.id, request.execution);
    const wait = request.waitNewEvent;
    call.notes.waitsForEvents = wait;
    const archived = archivedPlace(context, request.nextPageToken, asked);
    if (archived !== undefined) return await archivedPage(context, archived.key, archived.place, pageSize(request.maximumPageSize));
    const token = request.nextPageToken.length === 0 ? undefined : pageToken(context, request.nextPageToken, asked, false);
    checkBound('GetWorkflowExecutionHistoryRequest.history_event_filter_type', request.historyEventFilterType);
    const isForClose = request.historyEventFilterType === HistoryEventFilterType.CLOSE_EVENT;
    if (token !== undefined)
      return await (isForClose ? closeEvent(context, call, token.key, wait) : pageFrom(context, call, token, request));
    try {
      if (isForClose) return await closeEvent(context, call, asked, wait);
      return await pageFrom(context, call, await firstReading(context, call, asked), request);
    } catch (error) {
      // Whoever waits for more has it all: what is archived is closed.
      return await orArchived(context, call, asked, { isForClose, eventsMin: pageSize(request.maximumPageSize) }, error);
    }
  }),
  GetWorkflowExecutionHistoryReverse: inNamespace(async (context, request, call, namespace) => {
    const asked = runKey(namespace.id, request.execution);
    const { key, newest, oldest } = await reverseReading(context, call, asked, request.nextPageToken);
    let count = Math.min(pageSize(request.maximumPageSize), newest - oldest + 1);
    let events = await storedEvents(context, call, key, newest - count + 1, newest, count);
    // Cut short by the size of a page: the cut must fall at the old end, so read fewer.
    while (events.length < count) {
      count = Math.ceil(count / 2);
      events = await storedEvents(context, call, key, newest - count + 1, newest, count);
    }
    const next = newest - count;
    return { history: { events: events.toReversed() }, nextPageToken: next < oldest ? noToken : reverseToken(context, key, next, oldest) };
  }),
});

/** Where a reading stands: the first page asks the shard, later ones know it from their token. */
type Reading = {
  readonly key: RunKey;
  readonly nextEventId: number;
  readonly lastEventId: number;
  readonly open: boolean;
  readonly tailEvents: readonly Uint8Array[];
};

async function pageFrom(context: HandlerContext, call: Call, from: Reading, request: wire.GetWorkflowExecutionHistoryRequest) {
  const wait = request.waitNewEvent;
  let reading = from;
  // A worker whose cache missed needs the events of its transient task. A client that follows the run would get them twice.
  if (wait) reading = { ...reading, tailEvents: noEvents };
  if (reading.nextEventId > reading.lastEventId && reading.open && wait) {
    const position = await waitBeyond(context, call, reading.key, reading.lastEventId, false);
    if (position === 'ended' || position.lastEventId <= reading.lastEventId) return answer(noEvents, waitingToken(context, reading));
    if (isDeleted(position)) return answer(position.tailEvents, noToken);
    reading = { ...reading, lastEventId: position.lastEventId, open: !position.closed };
  }
  const { key, nextEventId: firstEventId, lastEventId, tailEvents, open } = reading;
  const range = { key, firstEventId, lastEventId, tailEvents, open, firstPage: undefined, eventsMax: pageSize(request.maximumPageSize) };
  const page = await eventPage(context, call, range);
  const goesOn = page.nextPageToken.length === 0 && reading.open && wait;
  return answer(page.events, goesOn ? waitingToken(context, { ...reading, nextEventId: reading.lastEventId + 1 }) : page.nextPageToken);
}

async function firstReading(context: HandlerContext, call: Call, asked: RunKey): Promise<Reading> {
  const position = await positionNow(context, call, asked);
  return {
    key: position.key,
    nextEventId: position.firstEventId,
    lastEventId: position.lastEventId,
    open: !position.closed,
    tailEvents: showsStoredEventsOnly(call) ? noEvents : position.tailEvents,
  };
}

/** These two show history to people. */
function showsStoredEventsOnly(call: Call): boolean {
  const client = call.header('client-name');
  return client === 'temporal-cli' || client === 'temporal-ui';
}

/** The last event alone, as clients follow it; with wait, only once it is the last for good. */
async function closeEvent(
  context: HandlerContext,
  call: Call,
  asked: RunKey,
  wait: boolean,
): Promise<wire.GetWorkflowExecutionHistoryResponse> {
  // Pins the run first: while this waits, another one may become the current run.
  let position = asked.runId === '' || !wait ? await positionNow(context, call, asked) : undefined;
  const key = position?.key ?? asked;
  if (wait && position?.closed !== true) {
    const waited = await waitBeyond(context, call, key, -1, true);
    if (waited === 'ended' || !waited.closed) {
      return answer(noEvents, waitingToken(context, { key, nextEventId: 1, lastEventId: 0, open: true, tailEvents: noEvents }));
    }
    if (isDeleted(waited)) return answer(asFollowed(call, waited.tailEvents.slice(-1)), noToken);
    position = waited;
  }
  // An open run has no last event yet. Of a paused one the CLI asks for it, and needs some event.
  if (position === undefined || (!position.closed && !(await isPaused(context, call, key)))) return answer(noEvents, noToken);
  const last = position.lastEventId;
  return answer(asFollowed(call, await storedEvents(context, call, key, last, last, 1)), noToken);
}

async function isPaused(context: HandlerContext, call: Call, key: RunKey): Promise<boolean> {
  const { status } = await context.history(call, key, { kind: 'describeWorkflow', key });
  return status === WorkflowExecutionStatus.PAUSED;
}

/** While somebody waited for its end: the position brings what was left to read. */
function isDeleted({ closed, tailEvents }: HistoryPosition): boolean {
  return closed && tailEvents.length > 0;
}

async function waitBeyond(
  context: HandlerContext,
  call: Call,
  key: RunKey,
  eventId: number,
  waitForClose: boolean,
): Promise<HistoryPosition | 'ended'> {
  const deadlineMs = Math.min(context.monoMs() + historyWaitMsMax, call.deadlineMs - historyTailMs);
  return context
    .waitHistory(call, key, { kind: 'getHistoryPosition', key, waitBeyondEventId: eventId, waitForClose }, deadlineMs)
    .catch((error: unknown) => {
      if (hasCode(error, statusCode.deadlineExceeded)) return 'ended';
      throw error;
    });
}

async function reverseReading(context: HandlerContext, call: Call, asked: RunKey, token: Uint8Array) {
  if (token.length > 0) {
    const { key, nextEventId, lastEventId } = pageToken(context, token, asked, true);
    return { key, newest: nextEventId, oldest: lastEventId };
  }
  const position = await positionNow(context, call, asked);
  return { key: position.key, newest: position.lastEventId, oldest: position.firstEventId };
}

function reverseToken(context: HandlerContext, key: RunKey, nextEventId: number, oldest: number): Uint8Array {
  const range = { nextEventId, lastEventId: oldest, open: false, tailEvents: [] };
  return context.tokens.historyPage.sign({ ...key, branchId: onlyBranch, ...range, reverse: true });
}

function waitingToken(context: HandlerContext, { key, nextEventId, lastEventId, open, tailEvents }: Reading): Uint8Array {
  return context.tokens.historyPage.sign({ ...key, branchId: onlyBranch, nextEventId, lastEventId, open, reverse: false, tailEvents });
}

/** A token holds for the run that it was made for, in the direction that it was made for. */
function pageToken(context: HandlerContext, bytes: Uint8Array, asked: RunKey, reverse: boolean): Reading {
  const { namespaceId, workflowId, runId, nextEventId, lastEventId, open, tailEvents, ...token } = context.tokens.historyPage.read(bytes);
  if (namespaceId !== asked.namespaceId || workflowId !== asked.workflowId || token.reverse !== reverse) {
    throw invalidArgument('Invalid NextPageToken.');
  }
  if (asked.runId !== '' && asked.runId !== runId) throw invalidArgument('RunId in the request does not match the NextPageToken.');
  return { key: { namespaceId, workflowId, runId }, nextEventId, lastEventId, open, tailEvents };
}

function pageSize(asked: number): number {
  return asked <= 0 ? PAGE_EVENTS_MAX : Math.min(asked, PAGE_EVENTS_MAX);
}

function answer(events: readonly Uint8Array[], nextPageToken: Uint8Array): wire.GetWorkflowExecutionHistoryResponse {
  return { history: { events }, rawHistory: [], nextPageToken, archived: false };
}
