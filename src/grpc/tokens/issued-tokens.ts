import { timingSafeEqual } from 'node:crypto';

/**
 * The tokens that were signed last. Nearly every task's comes back within moments, to the process that signed it: it is known again by all of its
 * bytes, which costs a tenth of another signature.
 *
 *     place   …  17  │  18  │  19  …      a token's place is the first bytes of its signature; a later one there takes it over
 */
export class IssuedTokens {
  readonly #bytes = Buffer.alloc(places * placeBytes);
  /** 0 = nothing stands there. */
  readonly #lengths = new Uint16Array(places);

  add(token: Uint8Array, signatureAt: number): void {
    if (token.length > placeBytes) return;
    const place = placeOf(token, signatureAt);
    this.#lengths[place] = token.length;
    this.#bytes.set(token, place * placeBytes);
  }

  has(token: Uint8Array, signatureAt: number): boolean {
    const place = placeOf(token, signatureAt);
    if (this.#lengths[place] !== token.length) return false;
    const start = place * placeBytes;
    return timingSafeEqual(this.#bytes.subarray(start, start + token.length), token);
  }

  clear(): void {
    this.#lengths.fill(0);
  }
}

/** A power of two, and as many as a process has tasks with workers at a time, more or less. */
const places = 4096;
/** What is longer, for its workflow id is, is signed once more. */
const placeBytes = 256;

function placeOf(token: Uint8Array, signatureAt: number): number {
  return ((token[signatureAt] as number) | ((token[signatureAt + 1] as number) << 8)) & (places - 1);
}
