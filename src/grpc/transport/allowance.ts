/** So many at once, and then so many a second. Taking is never refused: who has taken too much waits until it is there again. */
export class Allowance {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #atMs = 0;

  constructor(burst: number, perSecond: number) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
  }

  take(count: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#left -= count;
  }

  /** 0: nothing is owed. */
  waitMs(nowMs: number): number {
    this.#refill(nowMs);
    return this.#left >= 0 ? 0 : Math.ceil((-this.#left / this.#perSecond) * 1_000);
  }

  isHalfUsed(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#left < this.#burst / 2;
  }

  #refill(nowMs: number): void {
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#atMs) * this.#perSecond) / 1_000);
    this.#atMs = nowMs;
  }
}
