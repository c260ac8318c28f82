/**
 * The histories of one shard's runs: which journal record holds which events, and a byte-capped cache of the events themselves.
 *
 *   run ──▶ batches: [1..3 @offset 17] [4 @offset 21] [5..9 @offset 30] …
 *                         │                                │
 *                         ▼                                ▼
 *                    bytes (cached)                  undefined: read record 30 again
 *
 * Events are immutable once committed and are served as the bytes that the journal holds, so a page needs no barrier and no decoding.
 * Over the cap the oldest cached batches lose their bytes first: short workflows are closed by then and seldom read again.
 */
import { assert } from '../../kernel/assert.ts';
import { LinkedList, type Linked } from '../../kernel/linked-list.ts';
import type { HistoryRecord } from '../../history/record.ts';
import type { RecordPosition } from '../log.ts';
import type { CommitSubscriber } from '../partition/partition-core.ts';

/** 256 MiB in all of a server's shards; the composition root divides it. */
export const HISTORY_CACHE_BYTES_MAX = 256 * 1024 * 1024;

/** The events of one journal record. */
type EventBatch = {
  readonly firstEventId: number;
  readonly eventCount: number;
  readonly offset: number;
  /** Undefined: not cached. */
  readonly events: PackedEvents | undefined;
};

type KeptBatch = Linked<KeptBatch> & Omit<EventBatch, 'events'> & { readonly sizeBytes: number; events: PackedEvents | undefined };

/** Events end to end: a typed array apiece would cost more than most events do. */
type PackedEvents = {
  readonly bytes: Uint8Array;
  /** Where each event but the last ends. */
  readonly ends: readonly number[];
};

/** What a cached batch costs beside its bytes: objects and headers, roughly. */
const BATCH_OVERHEAD_BYTES = 300;

/** Of events in one answer, with 4 MiB of them: what a client gets at once. */
export const PAGE_EVENTS_MAX = 256;
export const PAGE_BYTES_MAX = 4 * 1024 * 1024;

export type PageLimits = { readonly eventsMax: number; readonly bytesMax: number };

/** A page that the log must be read for again; `bytes`: what that takes in memory, roughly. */
export type PageInLog = { readonly bytes: number; read(): Promise<readonly Uint8Array[]> };

/** Reads one journal record again and gives the event bytes that it holds of one run. */
export type RereadEvents = (offset: number, runId: string) => Promise<readonly Uint8Array[]>;

export class HistoryStore implements CommitSubscriber<HistoryRecord> {
  readonly #cacheBytesMax: number;
  readonly #reread: RereadEvents;
  readonly #runs = new Map<string, KeptBatch[]>();
  /** Batches with bytes, oldest first. No Set: what was deleted at its front is passed over again by every later look at the front. */
  readonly #cached = new LinkedList<KeptBatch>();
  #cacheBytes = 0;

  constructor(cacheBytesMax: number, reread: RereadEvents) {
    this.#cacheBytesMax = cacheBytesMax;
    this.#reread = reread;
  }

  get cacheBytes(): number {
    return this.#cacheBytes;
  }

  committed(record: HistoryRecord, { offset }: RecordPosition): void {
    for (const { runId, events, facts } of record.runs) {
      const first = events[0];
      if (first !== undefined) {
        this.append(
          runId,
          first.event.eventId,
          events.map((each) => each.bytes),
          offset,
        );
      }
      for (const { fact } of facts) if (fact.kind === 'runForgotten') this.forget(runId);
    }
  }

  append(runId: string, firstEventId: number, events: readonly Uint8Array[], offset: number): void {
    if (events.length === 0) return;
    const packed = pack(events);
    const sizeBytes = packed.bytes.length + BATCH_OVERHEAD_BYTES;
    const links = { prev: undefined, next: undefined, linked: false };
    const batch: KeptBatch = { firstEventId, eventCount: events.length, sizeBytes, offset, events: packed, ...links };
    const batches = this.#runs.get(runId);
    if (batches === undefined) this.#runs.set(runId, [batch]);
    else {
      const last = batches[batches.length - 1];
      assert(
        last !== undefined && last.firstEventId + last.eventCount === firstEventId,
        `run ${runId}: event ${firstEventId} leaves a gap`,
      );
      batches.push(batch);
    }
    this.#cached.push(batch);
    this.#cacheBytes += sizeBytes;
    this.#evict();
  }

  /** The run is gone (retention, deletion). */
  forget(runId: string): void {
    const batches = this.#runs.get(runId);
    if (batches === undefined) return;
    this.#runs.delete(runId);
    for (const batch of batches) this.#drop(batch);
  }

  /** Events `firstEventId … lastEventId`, as many as the limits allow but at least one: at once when cached, else how to get them. */
  page(runId: string, firstEventId: number, lastEventId: number, limits: PageLimits): readonly Uint8Array[] | PageInLog {
    const wanted = this.#batches(runId, firstEventId, lastEventId);
    if (wanted.every(isCached)) return cutPage(wanted, firstEventId, lastEventId, limits);
    const bytes = wanted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    return {
      bytes: Math.min(bytes, limits.bytesMax + (wanted[0]?.sizeBytes ?? 0)),
      read: async () => cutPage(await this.#reload(runId, wanted, limits), firstEventId, lastEventId, limits),
    };
  }

  /** The same, if it is cached and the limit of bytes cuts nothing off. */
  smallPage(runId: string, firstEventId: number, lastEventId: number, limits: PageLimits): readonly Uint8Array[] | undefined {
    const wanted = this.#batches(runId, firstEventId, lastEventId);
    if (!wanted.every(isCached)) return undefined;
    const events = cutPage(wanted, firstEventId, lastEventId, limits);
    const isWhole = events.length === Math.min(lastEventId - firstEventId + 1, limits.eventsMax);
    const isSmall = events.length > 1 || (events[0]?.length ?? 0) <= limits.bytesMax;
    return isWhole && isSmall ? events : undefined;
  }

  #batches(runId: string, firstEventId: number, lastEventId: number): readonly KeptBatch[] {
    const batches = this.#runs.get(runId) ?? [];
    return batches.slice(indexOfEvent(batches, firstEventId), indexOfEvent(batches, lastEventId) + 1);
  }

  async #reload(runId: string, wanted: readonly KeptBatch[], limits: PageLimits): Promise<readonly EventBatch[]> {
    const loaded: EventBatch[] = [];
    let events = 0;
    let bytes = 0;
    for (const batch of wanted) {
      const { firstEventId, eventCount, offset } = batch;
      loaded.push({ firstEventId, eventCount, offset, events: batch.events ?? pack(await this.#reread(offset, runId)) });
      events += eventCount;
      bytes += batch.sizeBytes;
      if (events >= limits.eventsMax + wanted[0]!.eventCount || bytes >= limits.bytesMax + wanted[0]!.sizeBytes) break;
    }
    return loaded;
  }

  #evict(): void {
    while (this.#cacheBytes > this.#cacheBytesMax && this.#cached.first !== undefined) this.#drop(this.#cached.first);
  }

  #drop(batch: KeptBatch): void {
    if (batch.events === undefined) return;
    batch.events = undefined;
    this.#cached.remove(batch);
    this.#cacheBytes -= batch.sizeBytes;
  }
}

function isCached({ events }: EventBatch): boolean {
  return events !== undefined;
}

/** Index of the batch that holds the event, or of the last one when the id lies beyond the end. */
function indexOfEvent(batches: readonly KeptBatch[], eventId: number): number {
  let low = 0;
  let high = batches.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (batches[middle]!.firstEventId <= eventId) low = middle;
    else high = middle - 1;
  }
  return low;
}

function cutPage(batches: readonly EventBatch[], firstEventId: number, lastEventId: number, limits: PageLimits): readonly Uint8Array[] {
  const events: Uint8Array[] = [];
  let bytes = 0;
  let nextEventId = firstEventId;
  for (const batch of batches) {
    const packed = batch.events;
    assert(packed?.ends.length === batch.eventCount - 1, `journal record ${batch.offset} no longer holds its ${batch.eventCount} events`);
    for (let index = Math.max(0, nextEventId - batch.firstEventId); index < batch.eventCount; index++) {
      const event = packed.bytes.subarray(index === 0 ? 0 : packed.ends[index - 1], packed.ends[index]);
      const full = events.length >= limits.eventsMax || (events.length > 0 && bytes + event.length > limits.bytesMax);
      if (nextEventId > lastEventId || full) return events;
      events.push(event);
      bytes += event.length;
      nextEventId++;
    }
  }
  return events;
}

function pack(events: readonly Uint8Array[]): PackedEvents {
  const ends: number[] = [];
  let length = 0;
  for (const [index, event] of events.entries()) {
    if (index > 0) ends.push(length);
    length += event.length;
  }
  const bytes = new Uint8Array(length);
  for (const [index, event] of events.entries()) bytes.set(event, index === 0 ? 0 : ends[index - 1]);
  return { bytes, ends };
}
