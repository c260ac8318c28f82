/** Letters a second: a bucket of tokens that fills with time, and holds those of a tenth of a second. */
export class Pace {
  #rps: number;
  #tokens = 1;
  #lastMs: number;

  /** 0: no limit. */
  constructor(rps: number, nowMs: number) {
    this.#rps = rps;
    this.#lastMs = nowMs;
  }

  change(rps: number, nowMs: number): void {
    this.#fill(nowMs);
    this.#rps = rps;
  }

  /** How many of so many may go now. */
  take(wanted: number, nowMs: number): number {
    if (this.#rps === 0) return wanted;
    this.#fill(nowMs);
    const taken = Math.min(wanted, Math.floor(this.#tokens));
    this.#tokens -= taken;
    return taken;
  }

  waitMs(): number {
    return this.#rps === 0 ? 0 : Math.max(1, Math.ceil(((1 - this.#tokens) * 1_000) / this.#rps));
  }

  #fill(nowMs: number): void {
    const more = ((nowMs - this.#lastMs) * this.#rps) / 1_000;
    this.#lastMs = nowMs;
    this.#tokens = Math.min(this.#tokens + more, Math.max(1, this.#rps / 10));
  }
}
