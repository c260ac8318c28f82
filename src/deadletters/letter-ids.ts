/**
 * What became of each message id of a queue. Ids are given in order from 0, without a gap, and for ever; two bits tell what one is:
 *
 *     ids      0 ………… 4095 │ 4096 ………… 8191 │ 8192 …… next
 *     chunk    all purged   │ 1,024 bytes     │ 1,024 bytes         a chunk of one status is no more than that status
 *
 * So a million letters take 250 KB, what became of old ones next to nothing, and the counts are exact without looking at any letter.
 */
import { assert } from '../kernel/assert.ts';

export type LetterStatus = 'open' | 'quarantined' | 'merged' | 'purged';

const statuses: readonly LetterStatus[] = ['open', 'quarantined', 'merged', 'purged'];
const codes: Readonly<Record<LetterStatus, number>> = { open: 0, quarantined: 1, merged: 2, purged: 3 };

export const CHUNK_IDS = 4_096;
const IDS_PER_BYTE = 4;
const CHUNK_BYTES = CHUNK_IDS / IDS_PER_BYTE;

/** A status's code: all ids of the chunk have it. */
type Chunk = number | Uint8Array;

export type LetterIdsSnapshot = { readonly nextId: number; readonly chunks: readonly Chunk[] };

export class LetterIds {
  readonly #chunks: Chunk[] = [];
  /** How many ids of each chunk are in the queue, so that a chunk without any is skipped as a whole. */
  readonly #inQueue: number[] = [];
  readonly #counts = [0, 0, 0, 0];
  #nextId = 0;

  get nextId(): number {
    return this.#nextId;
  }

  count(status: LetterStatus): number {
    return this.#counts[codes[status]] ?? 0;
  }

  /** Undefined: it has not been given. */
  statusOf(id: number): LetterStatus | undefined {
    return id >= 0 && id < this.#nextId ? statuses[this.#codeAt(id)] : undefined;
  }

  /** True if the letter is in the queue and can be read, merged or purged. */
  isLetter(id: number): boolean {
    return id >= 0 && id < this.#nextId && isInQueue(this.#codeAt(id));
  }

  /** The next id is given to a letter. */
  add(): number {
    const id = this.#nextId;
    if (id % CHUNK_IDS === 0) this.#addChunk(new Uint8Array(CHUNK_BYTES));
    this.#nextId += 1;
    this.#counted(Math.floor(id / CHUNK_IDS), codes.open, 1);
    return id;
  }

  /** All ids below `nextId` that were not given are, and were purged: whole chunks at a time. */
  addPurged(nextId: number): void {
    while (this.#nextId < nextId) {
      if (this.#nextId % CHUNK_IDS === 0 && this.#nextId + CHUNK_IDS <= nextId) {
        this.#addChunk(codes.purged);
        this.#nextId += CHUNK_IDS;
        this.#counted(this.#chunks.length - 1, codes.purged, CHUNK_IDS);
      } else this.set(this.add(), 'purged');
    }
  }

  set(id: number, status: LetterStatus): void {
    const before = this.statusOf(id);
    assert(before !== undefined, 'only an id that was given has a status');
    if (before === status) return;
    const at = Math.floor(id / CHUNK_IDS);
    this.#counted(at, codes[before], -1);
    this.#counted(at, codes[status], 1);
    const bytes = this.#bytesOf(at);
    const within = id % CHUNK_IDS;
    const shift = 2 * (within % IDS_PER_BYTE);
    const index = Math.floor(within / IDS_PER_BYTE);
    bytes[index] = ((bytes[index] ?? 0) & ~(3 << shift)) | (codes[status] << shift);
    if (status !== 'open') this.#chunks[at] = this.#whole(at, bytes, codes[status]);
  }

  /** The first letter in the queue from `from` up to `to`, both included; undefined: there is none. */
  firstLetter(from = 0, to = this.#nextId - 1): number | undefined {
    const last = Math.min(to, this.#nextId - 1);
    for (let id = Math.max(0, from); id <= last;) {
      const at = Math.floor(id / CHUNK_IDS);
      if (this.#inQueue[at] === 0) id = (at + 1) * CHUNK_IDS;
      else if (isInQueue(this.#codeAt(id))) return id;
      else id += 1;
    }
    return undefined;
  }

  snapshot(): LetterIdsSnapshot {
    return { nextId: this.#nextId, chunks: this.#chunks.map((chunk) => (typeof chunk === 'number' ? chunk : chunk.slice())) };
  }

  /** Throws what no snapshot can be. */
  static of({ nextId, chunks }: LetterIdsSnapshot): LetterIds {
    const ids = new LetterIds();
    assert(Number.isSafeInteger(nextId) && nextId >= 0, 'the next message id is a whole number');
    assert(chunks.length === Math.ceil(nextId / CHUNK_IDS), `${nextId} message ids have ${Math.ceil(nextId / CHUNK_IDS)} chunks`);
    ids.#nextId = nextId;
    for (const [at, chunk] of chunks.entries()) ids.#install(at, chunk);
    return ids;
  }

  #install(at: number, chunk: Chunk): void {
    const length = Math.min(CHUNK_IDS, this.#nextId - at * CHUNK_IDS);
    if (typeof chunk === 'number') {
      assert(statuses[chunk] !== undefined && length === CHUNK_IDS, 'a chunk of one status is whole');
      this.#addChunk(chunk);
      return this.#counted(at, chunk, length);
    }
    assert(chunk.byteLength === CHUNK_BYTES, `a chunk has ${CHUNK_BYTES} bytes`);
    this.#addChunk(chunk.slice());
    for (let within = 0; within < length; within++) {
      this.#counted(at, this.#codeAt(at * CHUNK_IDS + within), 1);
    }
  }

  #addChunk(chunk: Chunk): void {
    this.#chunks.push(chunk);
    this.#inQueue.push(0);
  }

  #counted(at: number, code: number, more: number): void {
    this.#counts[code] = (this.#counts[code] ?? 0) + more;
    if (isInQueue(code)) this.#inQueue[at] = (this.#inQueue[at] ?? 0) + more;
  }

  #codeAt(id: number): number {
    const chunk = this.#chunks[Math.floor(id / CHUNK_IDS)] ?? 0;
    if (typeof chunk === 'number') return chunk;
    const within = id % CHUNK_IDS;
    return ((chunk[Math.floor(within / IDS_PER_BYTE)] ?? 0) >> (2 * (within % IDS_PER_BYTE))) & 3;
  }

  #bytesOf(at: number): Uint8Array {
    const chunk = this.#chunks[at] ?? 0;
    if (typeof chunk !== 'number') return chunk;
    const bytes = new Uint8Array(CHUNK_BYTES).fill(byteOf(chunk));
    this.#chunks[at] = bytes;
    return bytes;
  }

  /** The code alone, if all of the chunk has it. */
  #whole(at: number, bytes: Uint8Array, code: number): Chunk {
    const byte = byteOf(code);
    const isFull = (at + 1) * CHUNK_IDS <= this.#nextId;
    return isFull && bytes[0] === byte && bytes[CHUNK_BYTES - 1] === byte && bytes.every((each) => each === byte) ? code : bytes;
  }
}

function isInQueue(code: number): boolean {
  return code <= codes.quarantined;
}

function byteOf(code: number): number {
  return code * 0b01_01_01_01;
}
