/**
 * What a reset reads of the histories of its workflow, with little memory: page by page, and the kept events of a long history go to the shard part by
 * part, before anything behind them is read.
 *
 *     base run   1 … 1000 │ 1001 … 2000 │ … finish − 1 ─▶ kept │ finish … last ─┐
 *     the run that continued it                                │ 1 … last ──────┴─▶ signals, updates, attachments, news of children: applied again
 */
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryPosition } from '../../history/replies.ts';
import type { ResetWorkflow } from '../../history/reset/reset-commands.ts';
import { EventType } from '../../wire/generated/lean/enums.ts';
import { decodeHistoryEvent, type HistoryEvent } from '../../wire/generated/lean/history.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { canceled } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Held } from '../held-bytes.ts';
import type { Call } from '../transport/call.ts';
import { Turns } from '../turns.ts';
import { nextRunId, unlessNotFound } from './chain-end.ts';
import { positionNow, storedEvents } from '../pages/history-pages.ts';

/**
 * Kept events that are one record, and one turn of the event loop: some 4 ms. A history of no more is reset by one command. As many are read at once:
 * where the journal is read for them, each page costs the whole record that it stands in.
 */
const resetPartEventsMax = 1_000;
const resetPartBytesMax = 1024 * 1024;
/** Of the events that are applied again, with those that the same record keeps: what they come to is one record of the journal. */
const resetReappliedBytesMax = 6 * 1024 * 1024;

/** The caller waits for this call; what it holds in memory counts. */
export type Reading = { readonly context: HandlerContext; readonly call: Call; readonly held: Held };

/** What the caller may do without. */
export type Reapplied = { readonly signals: boolean; readonly updates: boolean };

export type Kept = {
  readonly base: RunKey;
  readonly newRunId: string;
  /** '' = none: it is for the last command to say. Else the run that an earlier request with this id has made. */
  readonly madeRunId: string;
} & Pick<ResetWorkflow, 'isPrepared' | 'keptEvents'>;

export type Later = Pick<ResetWorkflow, 'laterEvents' | 'readTo'>;

export type Asked = { readonly finishEventId: number; readonly requestId: string };

/** Up to the event that is gone on from. `begins`: the shard prepares a run from now on, which is to be dropped if nobody goes on with it. */
export async function keepEvents(reading: Reading, base: HistoryPosition, asked: Asked, begins: (run: RunKey) => void): Promise<Kept> {
  const { context, call, held } = reading;
  const { key } = base;
  const newRunId = context.ports.newRunId();
  const kept = { base: key, newRunId, madeRunId: '' };
  let part: Uint8Array[] = [];
  let bytes = 0;
  let heldBytes = 0;
  let firstEventId = 1;
  const turns = new Turns();
  /** Answers another run id: the request has its run already. */
  const send = async (): Promise<string> => {
    // Not in the turn that has read it.
    await turns.next();
    const command = { kind: 'prepareReset', key, newRunId, requestId: asked.requestId, firstEventId, events: part } as const;
    const { runId } = await context.history(call, key, command);
    firstEventId += part.length;
    part = [];
    bytes = 0;
    return runId;
  };
  for await (const event of eventsOf(reading, base, 1, asked.finishEventId - 1)) {
    if (part.length === resetPartEventsMax || (part.length > 0 && bytes + event.length > resetPartBytesMax)) {
      if (firstEventId === 1) begins({ ...key, runId: newRunId });
      const runId = await send();
      if (runId !== newRunId) return { ...kept, isPrepared: true, keptEvents: [], madeRunId: runId };
    }
    part.push(event);
    bytes += event.length;
    // Of the largest part.
    if (bytes > heldBytes) held.grow(bytes - heldBytes);
    heldBytes = Math.max(heldBytes, bytes);
  }
  if (firstEventId === 1) return { ...kept, isPrepared: false, keptEvents: part };
  const runId = await send();
  return { ...kept, isPrepared: true, keptEvents: part, madeRunId: runId === newRunId ? '' : runId };
}

/** What came behind the kept events, in this run and in those that continue it. */
export async function laterEvents(
  reading: Reading,
  base: HistoryPosition,
  {
    finishEventId,
    keptEvents,
    reapplied,
  }: { readonly finishEventId: number; readonly keptEvents: Kept['keptEvents']; readonly reapplied: Reapplied },
): Promise<Later> {
  const { context, call, held } = reading;
  const { key } = base;
  const later: Uint8Array[] = [];
  const size = { bytes: keptEvents.reduce((sum, { length }) => sum + length, 0), held };
  let next = '';
  for await (const bytes of eventsOf(reading, base, finishEventId, base.lastEventId)) {
    const event = decodeHistoryEvent(bytes, ownLimits);
    if (isAppliedAgain(event, reapplied) || isOfChild(event)) later.push(count(size, bytes));
    next = nextRunId(event);
  }
  let readTo = { runId: key.runId, lastEventId: base.lastEventId };
  // What a run that is gone by now had been told is gone with it.
  while (next !== '') {
    const run = await positionNow(context, call, { ...key, runId: next }).catch(unlessNotFound);
    if (run === undefined) break;
    next = '';
    for await (const bytes of eventsOf(reading, run, 1, run.lastEventId)) {
      const event = decodeHistoryEvent(bytes, ownLimits);
      if (isAppliedAgain(event, reapplied)) later.push(count(size, bytes));
      next = nextRunId(event);
    }
    readTo = { runId: run.key.runId, lastEventId: run.lastEventId };
  }
  return { laterEvents: later, readTo };
}

async function* eventsOf(
  { context, call }: Reading,
  { key }: HistoryPosition,
  firstEventId: number,
  lastEventId: number,
): AsyncGenerator<Uint8Array> {
  const turns = new Turns();
  for (let nextEventId = firstEventId; nextEventId <= lastEventId;) {
    await turns.next();
    // A chain on a schedule may have a great many runs, and whoever went away wants none of them.
    if (call.cancelled) throw canceled();
    const events = await storedEvents(context, call, key, nextEventId, lastEventId, resetPartEventsMax);
    yield* events;
    nextEventId += events.length;
  }
}

function count(size: { bytes: number; readonly held: Held }, bytes: Uint8Array): Uint8Array {
  size.held.grow(bytes.length);
  size.bytes += bytes.length;
  if (size.bytes <= resetReappliedBytesMax) return bytes;
  throw invalidArgument(`the events to apply again are larger than ${resetReappliedBytesMax} bytes (resetReappliedBytesMax)`);
}

/** Whichever run of the chain has it. */
function isAppliedAgain({ eventType }: HistoryEvent, { signals, updates }: Reapplied): boolean {
  switch (eventType) {
    case EventType.WORKFLOW_EXECUTION_SIGNALED:
      return signals;
    case EventType.WORKFLOW_EXECUTION_UPDATE_ADMITTED:
    case EventType.WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
      return updates;
    default:
      return eventType === EventType.WORKFLOW_EXECUTION_OPTIONS_UPDATED;
  }
}

const childEvents: ReadonlySet<number> = new Set([
  EventType.START_CHILD_WORKFLOW_EXECUTION_FAILED,
  EventType.CHILD_WORKFLOW_EXECUTION_STARTED,
  EventType.CHILD_WORKFLOW_EXECUTION_COMPLETED,
  EventType.CHILD_WORKFLOW_EXECUTION_FAILED,
  EventType.CHILD_WORKFLOW_EXECUTION_CANCELED,
  EventType.CHILD_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.CHILD_WORKFLOW_EXECUTION_TERMINATED,
]);

function isOfChild({ eventType }: HistoryEvent): boolean {
  return childEvents.has(eventType);
}
