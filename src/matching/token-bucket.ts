/** Tasks per second of one queue: a bucket of `max(1, ceil(rate))` tokens, full at first. A rate of 0 lets nothing pass. */
export class TokenBucket {
  rate: number;
  #tokens: number;
  #filledAtMs: number;

  constructor(rate: number, nowMs: number) {
    this.rate = rate;
    this.#tokens = burstOf(rate);
    this.#filledAtMs = nowMs;
  }

  setRate(rate: number, nowMs: number): void {
    if (rate === this.rate) return;
    this.#fill(nowMs);
    this.rate = rate;
    this.#tokens = Math.min(this.#tokens, burstOf(rate));
  }

  isFull(nowMs: number): boolean {
    this.#fill(nowMs);
    return this.#tokens >= burstOf(this.rate);
  }

  take(nowMs: number): boolean {
    this.#fill(nowMs);
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /** The task that the token was taken for turned out to be obsolete. */
  giveBack(): void {
    this.#tokens = Math.min(burstOf(this.rate), this.#tokens + 1);
  }

  /** When `take` may succeed next; Infinity = never, at this rate. */
  nextTokenMs(nowMs: number): number {
    this.#fill(nowMs);
    if (this.#tokens >= 1) return nowMs;
    return this.rate === 0 ? Infinity : nowMs + Math.max(1, Math.ceil(((1 - this.#tokens) * 1000) / this.rate));
  }

  /** A clock that was set back takes no tokens away. */
  #fill(nowMs: number): void {
    const elapsedMs = Math.max(0, nowMs - this.#filledAtMs);
    this.#tokens = Math.min(burstOf(this.rate), this.#tokens + (elapsedMs * this.rate) / 1000);
    this.#filledAtMs = nowMs;
  }
}

function burstOf(rate: number): number {
  return rate === 0 ? 0 : Math.max(1, Math.ceil(rate));
}
