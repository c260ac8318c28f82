/**
 * The rows of a large checkpoint, on their way to the thread: as parcels, each packed and copied in a moment. Tens of thousands of rows in one
 * message are copied at a stretch, and hold up the event loop for a tenth of a second.
 *
 *     [ rows ] [ rows ] … [ write ]  ──▶  collected by number, written as one
 */
import type { Checkpoint } from '../database-port.ts';

/** What a checkpoint says beside them. */
export type WithoutRows = Pick<Checkpoint, 'kind' | 'position' | 'base'>;

/** Lists of a delta by name: all of them, or some rows of one. */
export type Rows = Readonly<Record<string, readonly unknown[]>>;

/** What one message takes at the most, beside a row that is larger; about a millisecond. */
const weightMax = 256;
const bytesOfWeight = 1_024;
/** With all its fields a row for people takes as long as this many others. */
const listedWeight = 4;
const listed: ReadonlySet<string> = new Set(['visibility', 'letters']);

/** Whether one message holds the checkpoint. */
export function isSmall({ delta }: Checkpoint): boolean {
  let weight = 0;
  for (const [name, rows] of Object.entries(delta)) {
    for (const row of rows) if ((weight += weightOf(name, row)) >= weightMax) return false;
  }
  return true;
}

export function* parcelsOf(lists: Rows): Generator<Rows, void> {
  for (const [name, rows] of Object.entries(lists)) {
    // Once at least: a list without rows is there as well.
    let from = 0;
    do {
      let until = from;
      for (let weight = 0; until < rows.length && weight < weightMax; until++) weight += weightOf(name, rows[until]);
      yield { [name]: rows.slice(from, until) };
      from = until;
    } while (from < rows.length);
  }
}

/** Collects parcels in the thread. */
export class Parcels {
  readonly #collected = new Map<number, Record<string, unknown[]>>();

  add(write: number, rows: Rows): void {
    const lists = this.#collected.get(write) ?? {};
    this.#collected.set(write, lists);
    for (const [name, some] of Object.entries(rows)) {
      const list = (lists[name] ??= []);
      for (const row of some) list.push(row);
    }
  }

  /** The checkpoint of all rows that have come for that write. */
  checkpoint(write: number, { kind, ...head }: WithoutRows): Checkpoint {
    const delta: Rows = this.#collected.get(write) ?? {};
    this.#collected.delete(write);
    return { ...head, kind, delta } as Checkpoint;
  }
}

function weightOf(list: string, row: unknown): number {
  let bytes = 0;
  if (typeof row === 'object' && row !== null) {
    for (const value of Object.values(row)) if (value instanceof Uint8Array) bytes += value.byteLength;
  }
  return (listed.has(list) ? listedWeight : 1) + bytes / bytesOfWeight;
}
