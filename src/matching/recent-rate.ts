/** How many a second there were lately: over the last 30 s, or since the first when that is less. Costs the same however many come. */
const BUCKET_MS = 5_000;
const BUCKETS = 6;

export class RecentRate {
  /** Counts of the last stretches of 5 s; the oldest is overwritten. */
  readonly #counts = Array.from({ length: BUCKETS }, () => 0);
  readonly #sinceMs: number;
  #bucket: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
    this.#bucket = Math.floor(nowMs / BUCKET_MS);
  }

  count(nowMs: number): void {
    this.#turn(nowMs);
    const at = this.#bucket % BUCKETS;
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
  }

  perSecond(nowMs: number): number {
    this.#turn(nowMs);
    const elapsedMs = Math.min(nowMs - this.#sinceMs, BUCKETS * BUCKET_MS);
    const sum = this.#counts.reduce((total, count) => total + count, 0);
    return sum === 0 ? 0 : sum / (Math.max(elapsedMs, 1_000) / 1_000);
  }

  /** A clock that was set back counts into the stretch where it was. */
  #turn(nowMs: number): void {
    const bucket = Math.floor(nowMs / BUCKET_MS);
    if (bucket <= this.#bucket) return;
    const passed = Math.min(bucket - this.#bucket, BUCKETS);
    for (let nth = 1; nth <= passed; nth++) this.#counts[(this.#bucket + nth) % BUCKETS] = 0;
    if (passed === BUCKETS) this.#counts.fill(0);
    this.#bucket = bucket;
  }
}
