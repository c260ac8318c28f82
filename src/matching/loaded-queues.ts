/**
 * The task-queue partitions that a host has in memory, by how lately they were used.
 *
 *     longest unused ─▶ q1 ─ q2 ─ q3 ─ … ─ qn ◀─ just used        full: an idle one near the front makes room for a new name
 *
 * A name costs nothing: whoever polls made-up ones fills a host in seconds. What they leave behind is idle, and goes first. What they
 * keep busy (open polls, tasks without a worker) fills the host for their own namespace alone: every other one may still have its even
 * share. So a host of n namespaces holds at most 1 + 1/2 + … + 1/n times its limit.
 */
import { LinkedList } from '../kernel/linked-list.ts';
import type { MatchingLimits } from './limits.ts';
import type { LoadedQueue } from './loaded-queue.ts';

export class LoadedQueues {
  readonly #limits: MatchingLimits;
  readonly #byKey = new Map<string, LoadedQueue>();
  readonly #byUse = new LinkedList<LoadedQueue>();
  readonly #countByNamespace = new Map<string, number>();

  constructor(limits: MatchingLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#byKey.size;
  }

  get full(): boolean {
    return this.#byKey.size >= this.#limits.queuesPerHostMax;
  }

  get(key: string): LoadedQueue | undefined {
    return this.#byKey.get(key);
  }

  values(): Iterable<LoadedQueue> {
    return this.#byKey.values();
  }

  add(queue: LoadedQueue, nowMs: number): void {
    const { namespaceId } = queue.queue;
    this.#byKey.set(queue.key, queue);
    this.#countByNamespace.set(namespaceId, (this.#countByNamespace.get(namespaceId) ?? 0) + 1);
    this.#byUse.push(queue);
    queue.lastUseMs = nowMs;
  }

  use(queue: LoadedQueue, nowMs: number): void {
    queue.lastUseMs = nowMs;
    if (queue !== this.#byUse.last) this.#toTheEnd(queue);
  }

  remove(queue: LoadedQueue): void {
    const { namespaceId } = queue.queue;
    this.#byKey.delete(queue.key);
    this.#byUse.remove(queue);
    const left = (this.#countByNamespace.get(namespaceId) ?? 1) - 1;
    if (left === 0) this.#countByNamespace.delete(namespaceId);
    else this.#countByNamespace.set(namespaceId, left);
  }

  /** One that nobody needs in memory. Busy ones that stand before it go to the end, so that a bounded search finds it in the end. */
  longestIdle(): LoadedQueue | undefined {
    for (let looks = 0; looks < this.#limits.evictionLooksMax; looks++) {
      const queue = this.#byUse.first;
      if (queue === undefined || queue.quiet) return queue;
      this.#toTheEnd(queue);
    }
    return undefined;
  }

  /** With no room left: is it less than an even share that this namespace has? */
  belowShare(namespaceId: string): boolean {
    const own = this.#countByNamespace.get(namespaceId) ?? 0;
    const namespaces = this.#countByNamespace.size + (own === 0 ? 1 : 0);
    return own < Math.max(1, Math.floor(this.#limits.queuesPerHostMax / namespaces));
  }

  #toTheEnd(queue: LoadedQueue): void {
    this.#byUse.remove(queue);
    this.#byUse.push(queue);
  }
}
