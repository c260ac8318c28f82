/**
 * The rate limit of each fairness key of a queue: one rate for all keys, times the weight of each. Tasks that name no key share one bucket, as in
 * Temporal. A key that was quiet until its bucket is full again is forgotten, for a new bucket is full; past `keyBucketsPerQueueMax`, and where the
 * host has too many, the one of this queue that was used last longest ago.
 */
import type { MatchingLimits } from './limits.ts';
import { fairnessKeyOf } from './lane-name.ts';
import type { MatchingTask } from './tasks.ts';
import { TokenBucket } from './token-bucket.ts';

/** Of all queues of a host. */
export type BucketCount = { count: number };

export class KeyRates {
  perSecond: number;
  readonly #weightOf: (task: MatchingTask) => number;
  readonly #limits: MatchingLimits;
  readonly #ofHost: BucketCount;
  /** By fairness key, the one that was used last at the end. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number, weightOf: (task: MatchingTask) => number, limits: MatchingLimits, ofHost: BucketCount) {
    this.perSecond = perSecond;
    this.#weightOf = weightOf;
    this.#limits = limits;
    this.#ofHost = ofHost;
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
    const key = fairnessKeyOf(task);
    const bucket = this.#bucketOf(task, nowMs);
    bucket.take(nowMs);
    this.#drop(key);
    this.#buckets.set(key, bucket);
    this.#ofHost.count++;
    this.#forget(nowMs);
  }

  /** Its queue leaves memory, or has no such rate any more. */
  clear(): void {
    this.#ofHost.count -= this.#buckets.size;
    this.#buckets.clear();
  }

  #drop(key: string): void {
    if (this.#buckets.delete(key)) this.#ofHost.count--;
  }

  giveBack(task: MatchingTask): void {
    this.#buckets.get(fairnessKeyOf(task))?.giveBack();
  }

  #bucketOf(task: MatchingTask, nowMs: number): TokenBucket {
    const rate = Math.min(this.perSecond * this.#weightOf(task), this.#limits.tasksPerSecondMax);
    const known = this.#buckets.get(fairnessKeyOf(task));
    known?.setRate(rate, nowMs);
    return known ?? new TokenBucket(rate, nowMs);
  }

  #forget(nowMs: number): void {
    for (const [key, bucket] of this.#buckets) {
      const { keyBucketsPerQueueMax, keyBucketsPerHostMax } = this.#limits;
      const isMuch = this.#buckets.size > keyBucketsPerQueueMax || this.#ofHost.count > keyBucketsPerHostMax;
      if (!isMuch && !bucket.isFull(nowMs)) return;
      this.#drop(key);
    }
  }
}
