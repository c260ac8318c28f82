import type { Random } from '../../src/ports/machine.ts';
import { Prng } from '../simulation/prng.ts';

/** Ids and jitter, the same in every run. */
export class SeededRandom implements Random {
  readonly #prng: Prng;

  constructor(seed = 1) {
    this.#prng = new Prng(seed);
  }

  /** In the shape of a UUID, which an id of a run has to have. */
  nonce(): string {
    const digits = Array.from({ length: 4 }, () => this.#prng.u32().toString(16).padStart(8, '0')).join('');
    return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join('-');
  }

  fraction(): number {
    return this.#prng.fraction();
  }
}
