/**
 * The rate of each fairness key of a queue: one for all, times the key's weight. Tasks without a key share one bucket, as in Temporal. A bucket that
 * is full again is forgotten, for a new one is full. Past `keyBucketsPerQueueMax` the one that was used last longest ago goes, as where the host has
 * too many, unless the namespace has less than its even share: else it would end the rates of others. A queue keeps its last one in any case.
 */
import type { Tally } from '../kernel/tally.ts';
import type { MatchingLimits } from './matching-limits.ts';
import { fairnessKeyOf } from './lane-name.ts';
import type { MatchingTask } from './matching-tasks.ts';
import { TokenBucket } from './token-bucket.ts';

/** Which queue it is, and what it shares with the others of its host: the limits, and the count of buckets by namespace. */
export type KeyRatesOf = {
  readonly namespaceId: string;
  readonly weightOf: (task: MatchingTask) => number;
  readonly limits: MatchingLimits;
  readonly ofHost: Tally;
};

export class KeyRates {
  perSecond: number;
  readonly #of: KeyRatesOf;
  /** Buckets by fairness key, the one that was used last at the end. */
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(perSecond: number, of: KeyRatesOf) {
    this.perSecond = perSecond;
    this.#of = of;
  }

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
    this.#of.ofHost.add(this.#of.namespaceId, 1);
    this.#forget(nowMs);
  }

  /** The queue leaves memory, or has no such rate any more. */
  clear(): void {
    for (const key of this.#buckets.keys()) this.#drop(key);
  }

  #drop(key: string): void {
    if (this.#buckets.delete(key)) this.#of.ofHost.add(this.#of.namespaceId, -1);
  }

  giveBack(task: MatchingTask): void {
    this.#buckets.get(fairnessKeyOf(task))?.giveBack();
  }

  #bucketOf(task: MatchingTask, nowMs: number): TokenBucket {
    const { weightOf, limits } = this.#of;
    const rate = Math.min(this.perSecond * weightOf(task), limits.tasksPerSecondMax);
    const known = this.#buckets.get(fairnessKeyOf(task));
    known?.setRate(rate, nowMs);
    return known ?? new TokenBucket(rate, nowMs);
  }

  #forget(nowMs: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (!this.#hasTooMany() && !bucket.isFull(nowMs)) return;
      this.#drop(key);
    }
  }

  #hasTooMany(): boolean {
    const { namespaceId, ofHost, limits } = this.#of;
    if (this.#buckets.size <= 1) return false;
    if (this.#buckets.size > limits.keyBucketsPerQueueMax) return true;
    return ofHost.total > limits.keyBucketsPerHostMax && !ofHost.isBelowShare(namespaceId, limits.keyBucketsPerHostMax);
  }
}
