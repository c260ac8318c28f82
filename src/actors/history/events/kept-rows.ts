/**
 * Rows of histories as they were read, for whoever asks for the next page of one: a row has up to 10,000 events, and a page may have one. Rows never
 * change. The one that nobody has read from for longest goes first.
 */
import type { HistoryRow } from '../../database.ts';
import { unpackedEvents } from './history-rows.ts';

type KeptRow = HistoryRow & { readonly sizeBytes: number };

/** What a row costs beside its bytes, roughly. */
const ROW_OVERHEAD_BYTES = 400;

export class KeptRows {
  readonly #bytesMax: number;
  /** By run, in the order of their events: a run that is told little at a time has thousands. */
  readonly #ofRuns = new Map<string, KeptRow[]>();
  /** Least recently read first. */
  readonly #rows = new Set<KeptRow>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
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
    this.#bytes += sizeBytes;
    for (const oldest of this.#rows) {
      if (this.#bytes <= this.#bytesMax) return;
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
    this.#bytes -= row.sizeBytes;
  }
}

/** Of the first that begins behind that event. */
function placeBehind(ofRun: readonly KeptRow[], eventId: number): number {
  let low = 0;
  let high = ofRun.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ofRun[middle]!.firstEventId <= eventId) low = middle + 1;
    else high = middle;
  }
  return low;
}
