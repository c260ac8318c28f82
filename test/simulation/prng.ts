/** Seeded random numbers (sfc32): all that a run draws comes from here, in the order in which it is drawn. */
export class Prng {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 2 ** 32) >>> 0;
    this.#c = 0x9e3779b9;
    this.#d = 1;
    for (let round = 0; round < 15; round++) this.u32();
  }

  u32(): number {
    const t = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + t;
    return t >>> 0;
  }

  fraction(): number {
    return this.u32() / 2 ** 32;
  }

  chance(probability: number): boolean {
    return probability > 0 && this.fraction() < probability;
  }

  /** From `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.int(0, choices.length - 1)];
    if (choice === undefined) throw new Error('nothing to pick from');
    return choice;
  }

  /** Each of them with that probability. */
  subset<T>(choices: readonly T[], probability: number): T[] {
    return choices.filter(() => this.chance(probability));
  }
}
