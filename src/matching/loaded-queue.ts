/** One task-queue partition in memory: its polls, offers and queries, and who polled it lately. Nothing here survives a takeover. */
import type { Due } from './deadline-heap.ts';
import type { Offer, Poll, WaitingQuery } from './entries.ts';
import { matchingLimits } from './limits.ts';
import { LinkedList, type Linked } from '../kernel/linked-list.ts';
import type { PollerDescription } from './replies.ts';
import { parentPartition, type TaskQueuePartition } from './task-queue.ts';
import type { TokenBucket } from './token-bucket.ts';

type Poller = { readonly identity: string; lastAccessMs: number; rate: number | undefined };

export class LoadedQueue implements Due, Linked<LoadedQueue> {
  readonly node = 'queue';
  readonly key: string;
  readonly queue: TaskQueuePartition;
  readonly parent: TaskQueuePartition | undefined;
  readonly sticky: boolean;

  /** Polls and offers that wait here; both together only while the rate limit, the parent or thousands of expired ones stand between them. */
  readonly waitingPolls = new LinkedList<Poll>();
  readonly offers = new LinkedList<Offer>();
  readonly waitingQueries = new LinkedList<WaitingQuery>();
  /** All open polls by poll request id. */
  readonly polls = new Map<string, Poll>();
  /** Offers that are in the journal, by identity. */
  readonly stored = new Map<string, Offer>();
  /** Queries not answered yet, taken by a poll or not. */
  openQueries = 0;
  /** Offers not done yet, wherever they are. */
  openOffers = 0;
  /** Polls, and stored offers, that are at the parent. */
  forwardedPolls = 0;
  offeredTasks = 0;

  lastUseMs = 0;
  lastPollMs = -Infinity;
  /** A sticky queue whose worker said that it stops; the late polls of that worker do not revive it. */
  shutDown = false;
  shutDownBy = '';
  bucket: TokenBucket | undefined = undefined;
  /** When polls and offers that both wait here are looked at again (a token is there), and when the parent may be asked again; 0 = never. */
  pairingDueMs = 0;
  forwardDueMs = 0;
  dueMs = 0;
  dueOrder = 0;
  heapIndex = -1;
  prev: LoadedQueue | undefined = undefined;
  next: LoadedQueue | undefined = undefined;
  linked = false;
  readonly #pollers = new Map<string, Poller>();

  constructor(key: string, queue: TaskQueuePartition) {
    this.key = key;
    this.queue = queue;
    this.parent = queue.kind === 'sticky' ? undefined : parentPartition(queue);
    this.sticky = queue.kind === 'sticky';
  }

  /** A rate limit holds for the whole queue, so the root alone matches then. */
  get matchesAtParent(): boolean {
    return this.parent !== undefined && this.bucket !== undefined;
  }

  /** Nothing here needs this queue to be in memory, except the memory of its pollers. */
  get idle(): boolean {
    return this.polls.size === 0 && this.openOffers === 0 && this.openQueries === 0 && this.forwardedPolls === 0;
  }

  /** When this queue needs a look, if nothing else happens. */
  nextDueMs(idleMs: number): number {
    let dueMs = this.lastUseMs + idleMs;
    if (this.pairingDueMs !== 0) dueMs = Math.min(dueMs, this.pairingDueMs);
    if (this.forwardDueMs !== 0) dueMs = Math.min(dueMs, this.forwardDueMs);
    return dueMs;
  }

  /** Of a sticky queue: the worker that asks is the one that said that it stops. */
  isShutDownBy(workerInstanceKey: string): boolean {
    return this.shutDown && this.shutDownBy !== '' && this.shutDownBy === workerInstanceKey;
  }

  /** A poll is open, or was within the last `windowMs`. */
  polledWithin(windowMs: number, nowMs: number): boolean {
    return !this.shutDown && (this.polls.size > 0 || nowMs - this.lastPollMs < windowMs);
  }

  pollBegan(identity: string, rate: number | undefined, nowMs: number): void {
    this.lastPollMs = nowMs;
    const poller = this.#pollers.get(identity);
    if (poller !== undefined) {
      poller.lastAccessMs = nowMs;
      if (rate !== undefined) poller.rate = rate;
      return;
    }
    if (this.#pollers.size >= matchingLimits.pollersPerQueueMax) this.#forgetOldestPoller();
    this.#pollers.set(identity, { identity, lastAccessMs: nowMs, rate });
  }

  pollEnded(identity: string, nowMs: number): void {
    this.lastPollMs = nowMs;
    const poller = this.#pollers.get(identity);
    if (poller !== undefined) poller.lastAccessMs = nowMs;
  }

  describePollers(nowMs: number): readonly PollerDescription[] {
    for (const poller of this.#pollers.values()) {
      if (nowMs - poller.lastAccessMs > matchingLimits.pollerMemoryMs) this.#pollers.delete(poller.identity);
    }
    return [...this.#pollers.values()]
      .toSorted((a, b) => b.lastAccessMs - a.lastAccessMs || (a.identity < b.identity ? -1 : 1))
      .map((poller) => ({ identity: poller.identity, lastAccessTimeMs: poller.lastAccessMs, ratePerSecond: poller.rate }));
  }

  #forgetOldestPoller(): void {
    let oldest: Poller | undefined;
    for (const poller of this.#pollers.values()) {
      if (oldest === undefined || poller.lastAccessMs < oldest.lastAccessMs) oldest = poller;
    }
    if (oldest !== undefined) this.#pollers.delete(oldest.identity);
  }
}
