/**
 * One task-queue partition in memory: its polls, offers and queries, and who polled it lately. Nothing here survives a takeover.
 *
 * Whatever waits is one object of one shape, which sits in a list of its queue and in the deadline heap by its own links.
 *
 *   Poll    waiting ──▶ starting ──▶ gone            waiting: in its queue's list
 *              └──────▶ forwarded ─▶ gone            starting: `offer` is being started for it
 *
 *   Offer   waiting ⇄ starting ──▶ done              waiting: in its queue's list
 *              ⇅         ⇅                           retrying: history could not answer, `poll` still holds it
 *           forwarded  retrying                      forwarded: under way to, or held by, the parent partition
 *              ⇅                                     resting: its shard is not served; no poll waits for it, it is offered again later
 *           resting
 */
import type { Backlog } from './backlog.ts';
import type { DispatchQuery, PollTask } from './matching-commands.ts';
import type { Due, DeadlineHeap } from './deadline-heap.ts';
import type { KeyRates } from './key-rates.ts';
import type { MatchingLimits } from './matching-limits.ts';
import { LinkedList, type Linked } from '../kernel/linked-list.ts';
import { type Lane, Lanes } from './lane.ts';
import type { PollerDescription } from './matching-replies.ts';
import { fairnessWeightOf, levelOf } from './lane-name.ts';
import { RecentRate } from './recent-rate.ts';
import { parentPartition, type TaskQueuePartition } from '../kernel/task-queue.ts';
import type { MatchingTask } from './matching-tasks.ts';
import type { TokenBucket } from './token-bucket.ts';
import type { Decision } from './decision.ts';
import type { Removals } from './removals.ts';

type LevelRates = { readonly added: RecentRate; readonly dispatched: RecentRate };

type Poller = { readonly identity: string; lastAccessMs: number; rate: number | undefined };

/** The place in a list, and in the heap of deadlines. */
class Entry<Self> implements Due, Linked<Self> {
  prev: Self | undefined = undefined;
  next: Self | undefined = undefined;
  linked = false;
  dueMs = 0;
  dueOrder = 0;
  heapIndex = -1;
}

export class LoadedQueue extends Entry<LoadedQueue> {
  readonly node = 'queue';
  readonly key: string;
  readonly queue: TaskQueuePartition;
  readonly parent: TaskQueuePartition | undefined;
  readonly sticky: boolean;

  /** Polls and offers that wait here. Both wait together only while the rate limit, the parent or thousands of expired offers part them. */
  readonly waitingPolls = new LinkedList<Poll>();
  readonly lanes: Lanes<Offer>;
  readonly waitingQueries = new LinkedList<WaitingQuery>();
  /** All open polls by poll request id. */
  readonly polls = new Map<string, Poll>();
  /** Reads of rows that are under way. */
  coldReads = 0;
  /** Queries not answered yet, taken by a poll or not. */
  openQueries = 0;
  /** Offers not done yet, wherever they are. */
  openOffers = 0;
  forwardedPolls = 0;

  /** When the rate limit last held a task up. */
  limitedAtMs = -Infinity;
  lastUseMs = 0;
  lastPollMs = -Infinity;
  /** A sticky queue whose worker said that it stops; the late polls of that worker do not revive it. */
  shutDown = false;
  shutDownBy = '';
  bucket: TokenBucket | undefined = undefined;
  /** undefined: fairness keys have no rate. */
  keyRates: KeyRates | undefined = undefined;
  /** What operators say goes before what the last worker said; undefined: nothing. */
  configuredRate: number | undefined = undefined;
  workerRate: number | undefined = undefined;
  /** Weights of fairness keys, set by operators. */
  weights: ReadonlyMap<string, number> = new Map();
  /** When polls and offers here are paired again (a token is there), other stored tasks looked at, the parent asked again; 0 = never. */
  pairingDueMs = 0;
  restDueMs = 0;
  forwardDueMs = 0;
  readonly #limits: MatchingLimits;
  readonly #pollers = new Map<string, Poller>();
  /** Rates by priority, of those that there were. */
  readonly #rates = new Map<number, LevelRates>();

  constructor(key: string, queue: TaskQueuePartition, limits: MatchingLimits) {
    super();
    this.#limits = limits;
    this.key = key;
    this.queue = queue;
    this.parent = queue.kind === 'sticky' ? undefined : parentPartition(queue);
    this.sticky = queue.kind === 'sticky';
    this.lanes = new Lanes<Offer>(queue, (task) => fairnessWeightOf(task, this.weights));
  }

  /** Rates, priorities and shares are of the whole queue: the root matches. While it is left alone, what has no rate is matched here. */
  get matchesAtParent(): boolean {
    if (this.parent === undefined) return false;
    return this.bucket !== undefined || this.keyRates !== undefined || (this.lanes.special > 0 && this.forwardDueMs === 0);
  }

  /** Nothing here needs this queue to be in memory, except the memory of its pollers. */
  get idle(): boolean {
    const hasStored = this.lanes.rest > 0 || this.coldReads > 0;
    return this.polls.size === 0 && this.openOffers === 0 && !hasStored && this.openQueries === 0 && this.forwardedPolls === 0;
  }

  /** When this queue needs a look, if nothing else happens. */
  nextDueMs(idleMs: number): number {
    let dueMs = this.lastUseMs + idleMs;
    if (this.pairingDueMs !== 0) dueMs = Math.min(dueMs, this.pairingDueMs);
    if (this.forwardDueMs !== 0) dueMs = Math.min(dueMs, this.forwardDueMs);
    if (this.restDueMs !== 0) dueMs = Math.min(dueMs, this.restDueMs);
    return dueMs;
  }

  setBack(byMs: number): void {
    this.lastUseMs -= byMs;
    this.lastPollMs -= byMs;
    this.limitedAtMs -= byMs;
    if (this.pairingDueMs !== 0) this.pairingDueMs -= byMs;
    if (this.forwardDueMs !== 0) this.forwardDueMs -= byMs;
    if (this.restDueMs !== 0) this.restDueMs -= byMs;
    for (const poller of this.#pollers.values()) poller.lastAccessMs -= byMs;
    for (const lane of this.lanes.values()) if (lane.notBeforeMs !== 0) lane.notBeforeMs -= byMs;
  }

  /** Whether the worker that polls a sticky queue is the one that said that it stops. */
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
    if (this.#pollers.size >= this.#limits.pollersPerQueueMax) this.#forgetOldestPoller();
    this.#pollers.set(identity, { identity, lastAccessMs: nowMs, rate });
  }

  pollEnded(identity: string, nowMs: number): void {
    this.lastPollMs = nowMs;
    const poller = this.#pollers.get(identity);
    if (poller !== undefined) poller.lastAccessMs = nowMs;
  }

  /** A task has come here, or has reached a worker: one that is lent is its own partition's. */
  countTask(offer: Offer, what: keyof LevelRates, nowMs: number): void {
    if (offer.isLent) return;
    const level = levelOf(offer.task);
    let rates = this.#rates.get(level);
    if (rates === undefined) {
      rates = { added: new RecentRate(nowMs), dispatched: new RecentRate(nowMs) };
      this.#rates.set(level, rates);
    }
    rates[what].count(nowMs);
  }

  get ratedLevels(): Iterable<number> {
    return this.#rates.keys();
  }

  rateOf(level: number, what: keyof LevelRates, nowMs: number): number {
    return this.#rates.get(level)?.[what].perSecond(nowMs) ?? 0;
  }

  describePollers(nowMs: number): readonly PollerDescription[] {
    for (const poller of this.#pollers.values()) {
      if (nowMs - poller.lastAccessMs > this.#limits.pollerMemoryMs) this.#pollers.delete(poller.identity);
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

export type DueNode = Poll | Offer | WaitingQuery | LoadedQueue;

/** `askId` of an offer that nobody waits for any more. */
export const noAsk = -1;

export class Poll extends Entry<Poll> {
  readonly node = 'poll';
  readonly queue: LoadedQueue;
  readonly command: PollTask;
  askId: number;
  deadlineMs: number;
  state: 'waiting' | 'starting' | 'forwarded' | 'gone' = 'waiting';
  offer: Offer | undefined = undefined;
  /** A start under its request id was withdrawn, or is to be. */
  hasWithdrawn = false;
  forwardCorrelation = 0;

  constructor(queue: LoadedQueue, command: PollTask, askId: number) {
    super();
    this.queue = queue;
    this.command = command;
    this.askId = askId;
    this.deadlineMs = command.deadlineMs;
  }
}

export type Arrival = Pick<Offer, 'order' | 'arrival' | 'sinceMs' | 'askId' | 'isLent' | 'isOfChild' | 'holdUntilMs'>;

export class Offer extends Entry<Offer> {
  readonly node = 'offer';
  readonly queue: LoadedQueue;
  readonly task: MatchingTask;
  /** Where it waits, or did; undefined: it has never waited. */
  lane: Lane<Offer> | undefined = undefined;
  /** Place in its lane: of a stored one its id; of others the last id when they came, and a rising number. So cold ones have a place. */
  order: number;
  arrival: number;
  /** Id in the journal; 0 = in memory only. */
  storedId = 0;
  /** Arrival, or when it was stored. */
  readonly sinceMs: number;
  /** Whom to tell when the task needs no more care. */
  askId: number;
  /** A child's, or one that nobody stores: matched here or handed back. */
  readonly isLent: boolean;
  readonly isOfChild: boolean;
  /** Until when an offer that is lent is held here; 0 = handed back at once. */
  holdUntilMs: number;
  state: 'waiting' | 'starting' | 'retrying' | 'resting' | 'forwarded' | 'done' = 'waiting';
  poll: Poll | undefined = undefined;
  /** Starts in a row that history could not answer. */
  retries = 0;
  /** Starts in a row that were refused: the shard is not served, or the workflow stands still. */
  rests = 0;

  constructor(queue: LoadedQueue, task: MatchingTask, arrival: Arrival) {
    super();
    this.queue = queue;
    this.task = task;
    this.order = arrival.order;
    this.arrival = arrival.arrival;
    this.sinceMs = arrival.sinceMs;
    this.askId = arrival.askId;
    this.isLent = arrival.isLent;
    this.isOfChild = arrival.isOfChild;
    this.holdUntilMs = arrival.holdUntilMs;
  }
}

/** `linked`: no poll has taken it. */
export class WaitingQuery extends Entry<WaitingQuery> {
  readonly node = 'query';
  readonly queue: LoadedQueue;
  readonly command: DispatchQuery;
  readonly askId: number;

  constructor(queue: LoadedQueue, command: DispatchQuery, askId: number) {
    super();
    this.queue = queue;
    this.command = command;
    this.askId = askId;
  }
}

// ── What all lives of a host share ────────────────────────────────────────────────────────────────────────────────────────────

export type HostParts<T> = {
  readonly decision: Decision<T>;
  readonly deadlines: DeadlineHeap<DueNode>;
  readonly limits: MatchingLimits;
  readonly backlog: Backlog;
  readonly removals: Removals;
};

/** One life of a host, with the others that it uses. */
export abstract class Life<Parts> {
  protected readonly parts: Parts;

  constructor(parts: Parts) {
    this.parts = parts;
  }
}

/** Has the queue looked at when its next time comes. */
export function armQueue<T>({ deadlines, limits }: HostParts<T>, queue: LoadedQueue): void {
  deadlines.set(queue, queue.nextDueMs(limits.queueIdleMs));
}
