/**
 * Which workflow ids a shard may know: a Bloom filter over (namespace, workflow id). Its "no" is certain, so a new id, or one that nobody has
 * ever used, needs no database, also while that is down. Its "maybe" costs a load. A map of all keys would be exact, and a gigabyte for ten
 * million of them.
 *
 *     8 bits of each key, 12 bits of room for it: 3 of 1,000 unknown keys are taken for known ones
 *
 * Nothing can be taken out.
 */
import { fingerprint32 } from '../../kernel/fingerprint.ts';

const roomBits = 12;
const bitsOfKey = 8;

/** Two hashes of a key, good for any filter. */
export type KeyHash = { readonly at: number; readonly step: number };

export class KeyFilter {
  readonly keysMax: number;
  readonly #words: Uint32Array;
  readonly #bits: number;
  #keys = 0;

  constructor(keysMax: number) {
    this.keysMax = keysMax;
    this.#words = new Uint32Array(Math.ceil((keysMax * roomBits) / 32));
    this.#bits = this.#words.length * 32;
  }

  /** More keys than it has room for: it still knows them all, and takes more and more unknown ones for known. */
  get isCrowded(): boolean {
    return this.#keys > this.keysMax;
  }

  /** How many were added; one that was likely there already does not count. */
  get size(): number {
    return this.#keys;
  }

  add(hash: KeyHash): void {
    let { at, step } = hash;
    let isNew = false;
    for (let bit = 0; bit < bitsOfKey; bit++) {
      const place = at % this.#bits;
      const mask = 1 << (place & 31);
      const word = this.#words[place >>> 5] ?? 0;
      if ((word & mask) === 0) {
        this.#words[place >>> 5] = word | mask;
        isNew = true;
      }
      at = (at + step) >>> 0;
      step = (step + bit) >>> 0;
    }
    if (isNew) this.#keys++;
  }

  /** False: it was never added. */
  mayHave(hash: KeyHash): boolean {
    let { at, step } = hash;
    for (let bit = 0; bit < bitsOfKey; bit++) {
      const place = at % this.#bits;
      if (((this.#words[place >>> 5] ?? 0) & (1 << (place & 31))) === 0) return false;
      at = (at + step) >>> 0;
      step = (step + bit) >>> 0;
    }
    return true;
  }
}

/** Not the hash that chooses the shard: of that all keys of a shard have the same remainder. An odd step, so that it is never 0. */
export function hashOfKey(namespaceId: string, workflowId: string): KeyHash {
  return { at: fingerprint32(`${namespaceId}/${workflowId}`), step: (fingerprint32(`${workflowId}/${namespaceId}`) | 1) >>> 0 };
}
