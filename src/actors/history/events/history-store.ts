/**
 * The histories of one shard's runs: which journal record holds which events, and a byte-capped cache of the events themselves.
 *
 *   run ──▶ (1..12: rows)  batches: [13..15 @offset 17] [16 @offset 21] [17..21 @offset 30] …
 *                                        │                                  │
 *                                        ▼                                  ▼
 *                                   bytes (cached)                    undefined: read record 30 again
 *
 * Events are immutable once committed and are served as the bytes that the journal holds, so a page needs no barrier and no decoding.
 * Over the cap the oldest cached batches lose their bytes first: short workflows are closed by then and seldom read again.
 *
 * With a database, what no batch holds is in its rows: what a checkpoint has written is never read from the journal again, which may be
 * trimmed behind it, and a batch that is written and not cached need not be known any more. What is not written keeps its bytes for the next
 * checkpoint, and its place in the journal.
 */
import { assert } from '../../../kernel/assert.ts';
import { LinkedList, type Linked } from '../../../kernel/linked-list.ts';
import { firstPlace } from '../../../kernel/sorted-keys.ts';
import type { HistoryRecord } from '../../../history/run/record.ts';
import type { HistoryRange, HistoryRow } from '../../../projections/database-port.ts';
import { LogError, type RecordPosition } from '../../../ports/log.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';
import { EventSlabs, eventsOf, KeptRows, packRows, unpackRow, type PackedEvents } from './history-rows.ts';

type KeptBatch = Linked<KeptBatch> & {
  readonly runId: string;
  readonly firstEventId: number;
  readonly eventCount: number;
  readonly offset: number;
  readonly sizeBytes: number;
  /** Undefined: not cached. */
  events: PackedEvents | undefined;
  /** The cut that it belongs to, counted from 1: rows of the database hold it when that one is durable. */
  readonly cut: number;
};

/** Batches that no checkpoint has written, with their bytes; by run. */
type Unwritten = Map<string, { readonly batch: KeptBatch; readonly events: PackedEvents }[]>;

/** What a batch costs beside its bytes, measured: its two objects, and its place among those of its run and in the map of runs. */
const BATCH_OVERHEAD_BYTES = 240;

/** What rows may take of the cache: who reads old histories leaves room to those that are under way. */
const ROWS_SHARE = 0.5;

/** Events in one page, besides 4 MiB of them: what a client gets at once. */
export const PAGE_EVENTS_MAX = 256;
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;

export type PageLimits = { readonly eventsMax: number; readonly bytesMax: number };

/** A page that the log, or the database, must be read for; `bytes`: what that takes in memory, roughly. */
export type PageToRead = { readonly bytes: number; read(): Promise<readonly Uint8Array[]> };

/** Events of a run that stand neither in the journal nor in the database, where they must. */
export class EventsMissing extends Error {
  override readonly name = 'EventsMissing';

  constructor(runId: string, firstEventId: number) {
    super(`events of run ${runId} from ${firstEventId} on are in neither journal nor database`);
  }
}

/** Reads one journal record again and gives the event bytes that it holds of one run. */
export type RereadEvents = (offset: number, runId: string) => Promise<readonly Uint8Array[]>;

/** Rows of the database that hold any of the events, in order; as many as the limit of bytes allows, but at least one. */
export type ReadRows = (range: HistoryRange) => Promise<readonly HistoryRow[]>;

export class HistoryStore implements CommitSubscriber<HistoryRecord> {
  readonly #cacheBytesMax: number;
  readonly #reread: RereadEvents;
  readonly #readRows: ReadRows | undefined;
  readonly #runs = new Map<string, KeptBatch[]>();
  /** Batches with bytes, oldest first. No Set: what was deleted at its front is passed over again by every later look at the front. */
  readonly #cached = new LinkedList<KeptBatch>();
  readonly #slabs: EventSlabs;
  readonly #rows: KeptRows;
  #unwritten: Unwritten = new Map();
  /** Batches of the cut, until it is durable. */
  #beingWritten: Unwritten = new Map();
  #unwrittenBytes = 0;
  #bytesBeingWritten = 0;
  #isWritten: boolean;
  #cuts = 0;
  /** How many cuts, counted from the first, are durable. */
  #cutsStored = 0;

  constructor(cacheBytesMax: number, reread: RereadEvents, readRows?: ReadRows) {
    this.#cacheBytesMax = cacheBytesMax;
    this.#slabs = new EventSlabs(cacheBytesMax);
    this.#rows = new KeptRows(cacheBytesMax * ROWS_SHARE);
    this.#reread = reread;
    this.#readRows = readRows;
    this.#isWritten = readRows !== undefined;
  }

  get cacheBytes(): number {
    return this.#slabs.bytes + this.#cached.size * BATCH_OVERHEAD_BYTES + this.#rows.bytes;
  }

  /** Bytes of events that wait for a checkpoint. They are in memory, cached or not. */
  get unwrittenBytes(): number {
    return this.#unwrittenBytes + this.#bytesBeingWritten;
  }

  committed(record: HistoryRecord, { offset }: RecordPosition): void {
    for (const { runId, events, facts } of record.runs) {
      const first = events[0];
      if (first !== undefined) {
        const bytes = events.map((each) => each.bytes);
        this.append(runId, first.event.eventId, bytes, offset);
      }
      for (const { fact } of facts) if (fact.kind === 'runForgotten') this.forget(runId);
    }
    if (record.retiredRuns !== undefined) for (const { runId } of record.retiredRuns) this.forget(runId);
  }

  offsetOf(runId: string, eventId: number): number | undefined {
    const batches = this.#runs.get(runId) ?? [];
    return batches.find(({ firstEventId, eventCount }) => eventId >= firstEventId && eventId < firstEventId + eventCount)?.offset;
  }

  append(runId: string, firstEventId: number, events: readonly Uint8Array[], offset: number): void {
    if (events.length === 0) return;
    const packed = this.#slabs.add(events);
    const batch: KeptBatch = {
      runId,
      firstEventId,
      eventCount: events.length,
      sizeBytes: packed.end - packed.start + BATCH_OVERHEAD_BYTES,
      offset,
      events: packed,
      cut: this.#cuts + 1,
      prev: undefined,
      next: undefined,
      linked: false,
    };
    if (this.#isWritten) this.#noteUnwritten(batch, packed);
    const batches = this.#runs.get(runId);
    if (batches === undefined) this.#runs.set(runId, [batch]);
    else {
      const last = batches.at(-1);
      const follows = last !== undefined && last.firstEventId + last.eventCount === firstEventId;
      assert(follows, `run ${runId}: event ${firstEventId} leaves a gap`);
      batches.push(batch);
    }
    this.#cached.push(batch);
    this.#evict();
  }

  forget(runId: string): void {
    this.#rows.forget(runId);
    const batches = this.#runs.get(runId);
    if (batches === undefined) return;
    this.#runs.delete(runId);
    for (const batch of batches) this.#drop(batch);
    for (const { batch } of this.#unwritten.get(runId) ?? []) this.#unwrittenBytes -= batch.sizeBytes;
    this.#unwritten.delete(runId);
  }

  // ── Checkpoints ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What has been committed since the last call belongs to one checkpoint. */
  cut(): void {
    assert(this.#beingWritten.size === 0, 'one cut at a time');
    this.#beingWritten = this.#unwritten;
    this.#bytesBeingWritten = this.#unwrittenBytes;
    this.#unwritten = new Map();
    this.#unwrittenBytes = 0;
    this.#cuts += 1;
  }

  *rowsOfCut(): Generator<HistoryRow | undefined, void> {
    for (const [runId, batches] of this.#beingWritten) {
      const [first] = batches;
      if (first !== undefined) yield* packRows(runId, first.batch.firstEventId, eventsIn(batches));
    }
  }

  /** The cut is durable. What need not be known any more is forgotten by going through the answer, with a pause after each run. */
  stored(): Iterable<undefined> {
    const stored = this.#beingWritten;
    this.#beingWritten = new Map();
    this.#bytesBeingWritten = 0;
    this.#cutsStored = this.#cuts;
    return this.#forgetting(stored);
  }

  *#forgetting(stored: Unwritten): Generator<undefined, void> {
    for (const runId of stored.keys()) {
      this.#forgetStored(runId);
      yield;
    }
  }

  #isStored({ cut }: KeptBatch): boolean {
    return cut <= this.#cutsStored;
  }

  /** There will be no checkpoint any more: what is not written stays in the journal alone. */
  abandonCheckpoints(): void {
    this.#isWritten = false;
    this.#unwritten = new Map();
    this.#unwrittenBytes = 0;
    this.#beingWritten = new Map();
    this.#bytesBeingWritten = 0;
  }

  #noteUnwritten(batch: KeptBatch, events: PackedEvents): void {
    this.#unwrittenBytes += batch.sizeBytes;
    const batches = this.#unwritten.get(batch.runId);
    if (batches === undefined) this.#unwritten.set(batch.runId, [{ batch, events }]);
    else batches.push({ batch, events });
  }

  /** Forgets batches from the first one on, so that the rest is one stretch up to the end. */
  #forgetStored(runId: string): void {
    const batches = this.#runs.get(runId);
    if (batches === undefined) return;
    const kept = batches.findIndex((batch) => batch.events !== undefined || !this.#isStored(batch));
    if (kept < 0) this.#runs.delete(runId);
    else if (kept > 0) batches.splice(0, kept);
  }

  // ── Pages ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Events `firstEventId … lastEventId`, as many as the limits allow but at least one: at once when cached, else how to get them. */
  page(runId: string, firstEventId: number, lastEventId: number, limits: PageLimits): readonly Uint8Array[] | PageToRead {
    const wanted = this.#batches(runId, firstEventId, lastEventId);
    const isWhole = this.#readRows === undefined || holdsFrom(wanted, firstEventId);
    if (isWhole && wanted.every(isCached)) return cutPage(wanted, firstEventId, lastEventId, limits);
    const kept = isWhole ? undefined : this.#keptPage(runId, firstEventId, lastEventId, limits);
    if (kept !== undefined) return kept;
    const bytes = isWhole ? wanted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) : Infinity;
    return {
      bytes: Math.min(bytes, limits.bytesMax + (wanted[0]?.sizeBytes ?? 0)),
      read: () => this.#read(runId, firstEventId, lastEventId, limits),
    };
  }

  /** A page of one row that was read before, if the row holds the whole page or all that is asked. */
  #keptPage(runId: string, firstEventId: number, lastEventId: number, limits: PageLimits): readonly Uint8Array[] | undefined {
    const wanted = Math.min(limits.eventsMax, lastEventId - firstEventId + 1);
    const events = this.#rows.eventsFrom(runId, firstEventId, wanted) ?? [];
    let bytes = 0;
    const count = events.findIndex((event, index) => (bytes += event.length) > limits.bytesMax && index > 0);
    if (count >= 0) return events.slice(0, count);
    return events.length > 0 && events.length === wanted ? events : undefined;
  }

  /** A page that is cached and that the limit of bytes does not cut off. */
  smallPage(runId: string, firstEventId: number, lastEventId: number, limits: PageLimits): readonly Uint8Array[] | undefined {
    const wanted = this.#batches(runId, firstEventId, lastEventId);
    if (!holdsFrom(wanted, firstEventId) || !wanted.every(isCached)) return undefined;
    const events = cutPage(wanted, firstEventId, lastEventId, limits);
    const isWhole = events.length === Math.min(lastEventId - firstEventId + 1, limits.eventsMax);
    const isSmall = events.length > 1 || (events[0]?.length ?? 0) <= limits.bytesMax;
    return isWhole && isSmall ? events : undefined;
  }

  #batches(runId: string, firstEventId: number, lastEventId: number): readonly KeptBatch[] {
    const batches = this.#runs.get(runId) ?? [];
    return batches.slice(indexOfEvent(batches, firstEventId), indexOfEvent(batches, lastEventId) + 1);
  }

  /** Piece by piece, from wherever each is now: meanwhile a checkpoint may become durable, and the journal be trimmed behind it. */
  async #read(runId: string, firstEventId: number, lastEventId: number, limits: PageLimits): Promise<readonly Uint8Array[]> {
    const page: Uint8Array[] = [];
    let bytes = 0;
    while (firstEventId + page.length <= lastEventId) {
      const piece = await this.#readPiece(runId, firstEventId + page.length, lastEventId, limits.bytesMax - bytes);
      if (piece.length === 0) break;
      for (const event of piece) {
        const isFull = page.length >= limits.eventsMax || (page.length > 0 && bytes + event.length > limits.bytesMax);
        if (isFull || firstEventId + page.length > lastEventId) return page;
        page.push(event);
        bytes += event.length;
      }
    }
    return page;
  }

  /** Some events from `eventId` on: of one batch, or of some rows. None: they are not there. */
  async #readPiece(runId: string, eventId: number, lastEventId: number, bytesMax: number): Promise<readonly Uint8Array[]> {
    const batches = this.#runs.get(runId) ?? [];
    const batch = batches[indexOfEvent(batches, eventId)];
    if (batch !== undefined && batch.firstEventId <= eventId) {
      if (batch.firstEventId + batch.eventCount <= eventId) return [];
      const events = await this.#eventsOf(batch);
      if (events !== undefined) return events.slice(eventId - batch.firstEventId);
    }
    const beyond = batches.find((each) => each.firstEventId > eventId && (each.events !== undefined || !this.#isStored(each)));
    const inRows = Math.min(lastEventId, (beyond?.firstEventId ?? Infinity) - 1);
    const events = await this.#eventsInRows({ runId, branch: 0, firstEventId: eventId, lastEventId: inRows, bytesMax });
    if (events.length === 0 && this.#runs.has(runId)) throw new EventsMissing(runId, eventId);
    return events;
  }

  /** undefined: rows have it. */
  async #eventsOf(batch: KeptBatch): Promise<readonly Uint8Array[] | undefined> {
    const { runId, offset, eventCount } = batch;
    if (batch.events !== undefined) return eventsOf(batch.events);
    if (this.#isStored(batch)) return undefined;
    try {
      const events = await this.#reread(offset, runId);
      assert(events.length === eventCount, `journal record ${offset} no longer holds its ${eventCount} events`);
      return events;
    } catch (error) {
      // Read again where it is by now: the checkpoint has become durable, and the journal was trimmed behind it.
      if (error instanceof LogError && error.code === 'out-of-range' && this.#isStored(batch)) return undefined;
      throw error;
    }
  }

  async #eventsInRows(range: HistoryRange): Promise<readonly Uint8Array[]> {
    const kept = this.#rows.eventsFrom(range.runId, range.firstEventId, range.lastEventId - range.firstEventId + 1);
    if (kept !== undefined) return kept;
    const events: Uint8Array[] = [];
    for (const row of (await this.#readRows?.(range)) ?? []) {
      this.#rows.add(row);
      const from = range.firstEventId + events.length - row.firstEventId;
      assert(from >= 0, `rows of run ${range.runId} lack events before ${row.firstEventId}`);
      events.push(...unpackRow(row).slice(from, range.lastEventId - row.firstEventId + 1));
    }
    this.#evict();
    return events;
  }

  #evict(): void {
    while (this.cacheBytes > this.#cacheBytesMax && this.#cached.first !== undefined) this.#drop(this.#cached.first);
  }

  #drop(batch: KeptBatch): void {
    if (batch.events === undefined) return;
    this.#slabs.drop(batch.events);
    batch.events = undefined;
    this.#cached.remove(batch);
    if (this.#isStored(batch)) this.#forgetStored(batch.runId);
  }
}

function isCached({ events }: KeptBatch): boolean {
  return events !== undefined;
}

/** The first of them holds that event, or all that is asked lies behind it. */
function holdsFrom([first]: readonly KeptBatch[], eventId: number): boolean {
  return first !== undefined && first.firstEventId <= eventId;
}

/** Index of the batch that holds the event, or of the last one when the id lies beyond the end. */
function indexOfEvent(batches: readonly KeptBatch[], eventId: number): number {
  return Math.max(0, firstPlace(batches.length, (at) => batches[at]!.firstEventId > eventId) - 1);
}

function cutPage(batches: readonly KeptBatch[], firstEventId: number, lastEventId: number, limits: PageLimits): readonly Uint8Array[] {
  const events: Uint8Array[] = [];
  let bytes = 0;
  let nextEventId = firstEventId;
  for (const batch of batches) {
    const packed = batch.events;
    assert(packed !== undefined, 'a page is cut of what is cached');
    const from = Math.max(0, nextEventId - batch.firstEventId);
    const to = Math.min(lastEventId - batch.firstEventId + 1, from + limits.eventsMax - events.length);
    for (const event of eventsOf(packed, from, to)) {
      if (events.length > 0 && bytes + event.length > limits.bytesMax) return events;
      events.push(event);
      bytes += event.length;
      nextEventId++;
    }
  }
  return events;
}

function* eventsIn(batches: Iterable<{ readonly events: PackedEvents }>): Generator<Uint8Array, void> {
  for (const { events } of batches) yield* eventsOf(events);
}
