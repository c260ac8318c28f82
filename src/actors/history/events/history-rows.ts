/**
 * Events as rows of a checkpoint, and back: each behind its length, as a varint.
 *
 *     one run, since the last checkpoint:  [1..3] [4] [5..9]  ─▶  a row 1..9, or several where they are large
 */
import { DatabaseError, type HistoryRow } from '../../database.ts';

/** A row is written and read whole: larger ones are begun anew. A single event may be larger. */
const ROW_BYTES_MAX = 4 * 1024 * 1024;
const ROW_EVENTS_MAX = 10_000;

/** 2^28 bytes: more than any event may have. */
const LENGTH_BYTES_MAX = 4;

/** So many events are looked at in a moment. */
const PAUSE_EVENTS = 500;

/** Of one run, without a gap. undefined: there may be a pause, for a run may have brought a hundred thousand of them. */
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
  return { runId, branch: 0, firstEventId, lastEventId: firstEventId + events.length - 1, events: packed(events, length) };
}

/** Events of a row, from the first. */
export function unpackRow({ runId, firstEventId, lastEventId, events: bytes }: HistoryRow): readonly Uint8Array[] {
  const events = unpackedEvents(bytes, 0, bytes.length, 0, Infinity);
  if (events?.length !== lastEventId - firstEventId + 1) throw damaged(runId, firstEventId, lastEventId);
  return events;
}

/** Those from the index `from` on, `to` not included, of what was packed at `start … end`. undefined: nothing was packed there. */
export function unpackedEvents(bytes: Uint8Array, start: number, end: number, from: number, to: number): readonly Uint8Array[] | undefined {
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

function damaged(runId: string, firstEventId: number, lastEventId: number): DatabaseError {
  return new DatabaseError('corrupt', `the row of events ${firstEventId} to ${lastEventId} of run ${runId} does not hold them`);
}

function packed(events: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  packInto(bytes, 0, events);
  return bytes;
}

/** From `start` on. Answers where they end. */
export function packInto(bytes: Uint8Array, start: number, events: readonly Uint8Array[]): number {
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

export function packedLength(events: readonly Uint8Array[]): number {
  let length = 0;
  for (const event of events) length += sizeOf(event);
  return length;
}

function sizeOf({ length }: Uint8Array): number {
  return length + (length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x20_0000 ? 3 : LENGTH_BYTES_MAX);
}
