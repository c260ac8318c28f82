/**
 * The rate limit of each fairness key of a queue: one rate for all keys, times the weight of each. Tasks that name no key share one bucket, as in
 * Temporal. A key that was quiet until its bucket is full again is forgotten, for a new bucket is full; past `keyBucketsPerQueueMax` the one that was
 * used last longest ago.
 */
import type { MatchingLimits } from './limits.ts';
import type { MatchingTask } from './tasks.ts';
import { TokenBucket } from './token-bucket.ts';

export class KeyRates {
  #perSecond: number;
  readonly #weightOf: (task: MatchingTask) => number;
  readonly #limits: MatchingLimits;
  /** By fairness key, the one that was used last at the end. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number, weightOf: (task: MatchingTask) => number, limits: MatchingLimits) {
    this.#perSecond = perSecond;
    this.#weightOf = weightOf;
    this.#limits = limits;
  }

  get perSecond(): number {
    return this.#perSecond;
  }

  set perSecond(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Keys that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  /** When the task may go out; Infinity = never, at this rate. */
  readyMs(task: MatchingTask, nowMs: number): number {
    return this.#bucketOf(task, nowMs).nextTokenMs(nowMs);
  }

  take(task: MatchingTask, nowMs: number): void {
    const key = keyOf(task);
    const bucket = this.#bucketOf(task, nowMs);
    bucket.take(nowMs);
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    this.#forget(nowMs);
  }

  giveBack(task: MatchingTask): void {
    this.#buckets.get(keyOf(task))?.giveBack();
  }

  #bucketOf(task: MatchingTask, nowMs: number): TokenBucket {
    const rate = Math.min(this.#perSecond * this.#weightOf(task), this.#limits.tasksPerSecondMax);
    const known = this.#buckets.get(keyOf(task));
    known?.setRate(rate, nowMs);
    return known ?? new TokenBucket(rate, nowMs);
  }

  #forget(nowMs: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (this.#buckets.size <= this.#limits.keyBucketsPerQueueMax && !bucket.isFull(nowMs)) return;
      this.#buckets.delete(key);
    }
  }
}

function keyOf({ priority }: MatchingTask): string {
  return priority?.fairnessKey ?? '';
}
