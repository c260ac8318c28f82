/**
 * The bytes of cached events, many batches in one array: an array apiece costs twice what most batches hold, in objects here and in memory
 * outside of the heap.
 *
 *     slab:  [ batch │ batch │ batch │ room ]      a batch: (length as a varint, event) …
 *
 * Batches leave in the order in which they came, nearly always, and a slab with the last of its batches. Until then it counts whole: one
 * batch that stays where all others were forgotten keeps the array that it is in.
 */
import { packedLength, packInto, unpackedEvents } from './history-rows.ts';

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
  #bytes = 0;

  /** `cacheBytesMax`: of all that is cached. */
  constructor(cacheBytesMax: number) {
    this.#slabBytes = Math.min(SLAB_BYTES_MAX, Math.floor(cacheBytesMax / SLABS_MIN));
  }

  /** Of the slabs that hold anything. */
  get bytes(): number {
    return this.#bytes;
  }

  add(events: readonly Uint8Array[]): PackedEvents {
    const length = packedLength(events);
    const slab = this.#slabFor(length);
    const start = slab.used;
    slab.used = packInto(slab.bytes, start, events);
    slab.batches += 1;
    return { slab, start, end: slab.used };
  }

  drop({ slab }: PackedEvents): void {
    slab.batches -= 1;
    if (slab.batches > 0) return;
    this.#bytes -= slab.bytes.length;
    if (slab === this.#open) this.#open = undefined;
  }

  #slabFor(length: number): Slab {
    const open = this.#open;
    if (open !== undefined && open.bytes.length - open.used >= length) return open;
    // What is large has one for itself: a new one for all would leave much of the open one unused.
    const isLarge = length > this.#slabBytes / 8;
    const slab = { bytes: new Uint8Array(isLarge ? length : this.#slabBytes), used: 0, batches: 0 };
    this.#bytes += slab.bytes.length;
    if (!isLarge) this.#open = slab;
    return slab;
  }
}

/** Those from the index `from` on, `to` not included. */
export function eventsOf({ slab, start, end }: PackedEvents, from = 0, to = Infinity): readonly Uint8Array[] {
  return unpackedEvents(slab.bytes, start, end, from, to) ?? [];
}
