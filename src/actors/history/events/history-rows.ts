/**
 * Events as rows of a checkpoint, and back: each behind its length, as a varint.
 *
 *     one run, since the last checkpoint:  [1..3] [4] [5..9]  ─▶  a row 1..9, or several where they are large
 */
import { firstPlace } from '../../../kernel/sorted-keys.ts';
import { DatabaseError, type HistoryRow } from '../../../projections/database-port.ts';

/** A row is written and read whole: larger ones are begun anew. A single event may be larger. */
const ROW_BYTES_MAX = 4 * 1024 * 1024;
const ROW_EVENTS_MAX = 10_000;

/** 2^28 bytes: more than any event may have. */
const LENGTH_BYTES_MAX = 4;

const PAUSE_EVENTS = 500;

/** Packs events of one run without a gap. Yields undefined where a pause is possible: a run may have brought a hundred thousand events. */
export function* packRows(runId: string, firstEventId: number, events: Iterable<Uint8Array>): Generator<HistoryRow | undefined, void> {
  let row: Uint8Array[] = [];
  let bytes = 0;
  let from = firstEventId;
  for (const event of events) {
    const size = sizeOf(event);
    if (row.length >= ROW_EVENTS_MAX || (row.length > 0 && bytes + size > ROW_BYTES_MAX)) {
      yield rowOf(runId, from, row, bytes);
      from += row.length;
      row = [];
      bytes = 0;
    }
    row.push(event);
    bytes += size;
    if (row.length % PAUSE_EVENTS === 0) yield undefined;
  }
  if (row.length > 0) yield rowOf(runId, from, row, bytes);
}

function rowOf(runId: string, firstEventId: number, events: readonly Uint8Array[], length: number): HistoryRow {
  const bytes = new Uint8Array(length);
  packInto(bytes, 0, events);
  return { runId, branch: 0, firstEventId, lastEventId: firstEventId + events.length - 1, events: bytes };
}

export function unpackRow({ runId, firstEventId, lastEventId, events: bytes }: HistoryRow): readonly Uint8Array[] {
  const events = unpackedEvents(bytes, 0, bytes.length, 0, Infinity);
  if (events?.length !== lastEventId - firstEventId + 1) {
    throw new DatabaseError('corrupt', `the row of events ${firstEventId} to ${lastEventId} of run ${runId} does not hold them`);
  }
  return events;
}

/** The events from index `from` up to, but not including, `to` of what was packed at `start … end`; undefined: nothing was packed there. */
function unpackedEvents(bytes: Uint8Array, start: number, end: number, from: number, to: number): readonly Uint8Array[] | undefined {
  const events: Uint8Array[] = [];
  let at = start;
  for (let index = 0; at < end && index < to; index++) {
    let length = 0;
    let shift = 0;
    let byte = 0;
    do {
      byte = bytes[at++] ?? 0;
      length += (byte & 0x7f) * 2 ** shift;
      shift += 7;
    } while (byte >= 0x80 && shift < 7 * LENGTH_BYTES_MAX);
    if (byte >= 0x80 || length > end - at) return undefined;
    if (index >= from) events.push(bytes.subarray(at, at + length));
    at += length;
  }
  return events;
}

/** Packs the events from `start` on, and answers where they end. */
function packInto(bytes: Uint8Array, start: number, events: readonly Uint8Array[]): number {
  let at = start;
  for (const event of events) {
    let rest = event.length;
    for (; rest >= 0x80; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
    bytes[at++] = rest;
    bytes.set(event, at);
    at += event.length;
  }
  return at;
}

function sizeOf({ length }: Uint8Array): number {
  return length + (length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x20_0000 ? 3 : LENGTH_BYTES_MAX);
}

/**
 * The bytes of cached events, many batches in one array: an array apiece costs twice what most batches hold, in objects here and in memory
 * outside of the heap.
 *
 *     slab:  [ batch │ batch │ batch │ room ]      a batch: (length as a varint, event) …
 *
 * Batches leave in the order in which they came, nearly always, and a slab with the last of its batches. Until then it counts whole: one
 * batch that stays where all others were forgotten keeps the array that it is in.
 */

const SLAB_BYTES_MAX = 64 * 1024;
/** A cache that may hold little is not filled by what one slab has room for. */
const SLABS_MIN = 32;

type Slab = { readonly bytes: Uint8Array; used: number; batches: number };

/** The events of one batch. Whoever has it can read it, whether or not its slab still counts. */
export type PackedEvents = { readonly slab: Slab; readonly start: number; readonly end: number };

export class EventSlabs {
  readonly #slabBytes: number;
  /** What comes goes into it, while it fits. */
  #open: Slab | undefined;
  bytes = 0;

  /** `cacheBytesMax`: of all that is cached. */
  constructor(cacheBytesMax: number) {
    this.#slabBytes = Math.min(SLAB_BYTES_MAX, Math.floor(cacheBytesMax / SLABS_MIN));
  }

  add(events: readonly Uint8Array[]): PackedEvents {
    let length = 0;
    for (const event of events) length += sizeOf(event);
    const slab = this.#slabFor(length);
    const start = slab.used;
    slab.used = packInto(slab.bytes, start, events);
    slab.batches += 1;
    return { slab, start, end: slab.used };
  }

  drop({ slab }: PackedEvents): void {
    slab.batches -= 1;
    if (slab.batches > 0) return;
    this.bytes -= slab.bytes.length;
    if (slab === this.#open) this.#open = undefined;
  }

  #slabFor(length: number): Slab {
    const open = this.#open;
    if (open !== undefined && open.bytes.length - open.used >= length) return open;
    // What is large has one for itself: a new one for all would leave much of the open one unused.
    const isLarge = length > this.#slabBytes / 8;
    const slab = { bytes: new Uint8Array(isLarge ? length : this.#slabBytes), used: 0, batches: 0 };
    this.bytes += slab.bytes.length;
    if (!isLarge) this.#open = slab;
    return slab;
  }
}

/** The events from index `from` up to, but not including, `to`. */
export function eventsOf({ slab, start, end }: PackedEvents, from = 0, to = Infinity): readonly Uint8Array[] {
  return unpackedEvents(slab.bytes, start, end, from, to) ?? [];
}

/** Rows as they were read, for the next page: a row has up to 10,000 events, a page perhaps one. The least recently read goes first. */

type KeptRow = HistoryRow & { readonly sizeBytes: number };

/** What a row costs beside its bytes, roughly. */
const ROW_OVERHEAD_BYTES = 400;

export class KeptRows {
  readonly #bytesMax: number;
  /** Rows of each run in the order of their events: a run that is told little at a time has thousands. */
  readonly #ofRuns = new Map<string, KeptRow[]>();
  readonly #rows = new Set<KeptRow>();
  bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(row: HistoryRow): void {
    const sizeBytes = row.events.length + ROW_OVERHEAD_BYTES;
    if (sizeBytes > this.#bytesMax || this.#rowWith(row.runId, row.firstEventId) !== undefined) return;
    // The answer that it came with may hold other rows as well.
    const kept = { ...row, events: row.events.slice(), sizeBytes };
    const ofRun = this.#ofRuns.get(row.runId);
    if (ofRun === undefined) this.#ofRuns.set(row.runId, [kept]);
    else ofRun.splice(placeBehind(ofRun, row.firstEventId), 0, kept);
    this.#rows.add(kept);
    this.bytes += sizeBytes;
    for (const oldest of this.#rows) {
      if (this.bytes <= this.#bytesMax) return;
      this.#remove(oldest);
    }
  }

  forget(runId: string): void {
    for (const row of this.#ofRuns.get(runId) ?? []) this.#drop(row);
    this.#ofRuns.delete(runId);
  }

  /** Events from `eventId` on, of one row; undefined: none is here that holds it. */
  eventsFrom(runId: string, eventId: number, count: number): readonly Uint8Array[] | undefined {
    const row = this.#rowWith(runId, eventId);
    if (row === undefined) return undefined;
    this.#rows.delete(row);
    this.#rows.add(row);
    const from = eventId - row.firstEventId;
    return unpackedEvents(row.events, 0, row.events.length, from, from + count);
  }

  #rowWith(runId: string, eventId: number): KeptRow | undefined {
    const ofRun = this.#ofRuns.get(runId) ?? [];
    const row = ofRun[placeBehind(ofRun, eventId) - 1];
    return row !== undefined && eventId <= row.lastEventId ? row : undefined;
  }

  #remove(row: KeptRow): void {
    const ofRun = this.#ofRuns.get(row.runId) ?? [];
    ofRun.splice(placeBehind(ofRun, row.firstEventId) - 1, 1);
    if (ofRun.length === 0) this.#ofRuns.delete(row.runId);
    this.#drop(row);
  }

  #drop(row: KeptRow): void {
    this.#rows.delete(row);
    this.bytes -= row.sizeBytes;
  }
}

/** The index of the first row that begins behind that event. */
function placeBehind(ofRun: readonly KeptRow[], eventId: number): number {
  return firstPlace(ofRun.length, (at) => ofRun[at]!.firstEventId > eventId);
}
