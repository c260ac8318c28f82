/**
 * The offers of a queue that wait, in lanes by priority and fairness key, and whose turn it is.
 *
 *     level 1 ─▶ level 2 ─▶ … level 5        a level has its turn when those before it have nothing to give
 *       │
 *       ├ lane "a"  pass 7.0   ▓▓▓▓▓▓▓▓▓     the lane with the lowest pass is next, and among equals the oldest offer
 *       └ lane "b"  pass 6.5   ▓
 *
 * Each offer that a poll takes moves its lane on by 1 / weight: so lanes that are never empty go by their weights. One that was empty begins where
 * the level is now, and not with what it has not used: nobody saves turns up. Where it is further than that it stays there for a while
 * (`idle`): a key of little weight gains nothing by sending one task at a time.
 *
 * A lane whose key may send nothing for a while (key-rates.ts) is held: it keeps its pass, and has no turn.
 */
import { type HeapNode, IndexedHeap } from '../kernel/indexed-heap.ts';
import { priorityKeyDefault } from '../kernel/priority.ts';
import { type Linked, LinkedList } from '../kernel/linked-list.ts';
import type { ColdRead } from './backlog.ts';
import { isKeyed } from './lane-name.ts';
import { type TaskQueuePartition, type LaneName, laneKey } from '../kernel/task-queue.ts';
import type { MatchingTask } from './matching-tasks.ts';

/** What lanes know of an offer: its task, and its place behind those that were stored, and came, before. */
export interface Placed<Offer> extends Linked<Offer> {
  readonly task: MatchingTask;
  readonly order: number;
  readonly arrival: number;
}

export function isLaterOffer<Offer extends Placed<Offer>>(other: Offer, offer: Offer): boolean {
  return other.order > offer.order || (other.order === offer.order && other.arrival > offer.arrival);
}

export class Lane<Offer extends Placed<Offer>> implements HeapNode {
  readonly of: Lanes<Offer>;
  readonly level: Level<Offer>;
  readonly name: LaneName;
  /** What its rows stand under. */
  readonly key: string;
  /** Offers that wait. */
  readonly offers = new LinkedList<Offer>();
  /** Offers that are not done yet, wherever they are. */
  openOffers = 0;
  /** Stored tasks that are no offers yet, in memory or not, and the last one that is (windows.ts). */
  rest = 0;
  offeredUpToId = 0;
  /** Offers that the journal holds, and the rest. */
  stored = 0;
  /** The read of rows that is under way; how often in a row it has failed, and when it may be tried again; 0 = at any time. */
  coldRead: ColdRead | undefined = undefined;
  coldReadFailures = 0;
  notBeforeMs = 0;
  /** Stored offers that are at the parent. */
  offeredTasks = 0;
  pass = 0;
  /** The lane has no turn before that time; 0 = it is not held. */
  heldUntilMs = 0;
  heapIndex = -1;

  constructor(of: Lanes<Offer>, level: Level<Offer>, key: string, name: LaneName) {
    this.of = of;
    this.level = level;
    this.key = key;
    this.name = name;
  }

  get isInUse(): boolean {
    return this.openOffers > 0 || this.rest > 0 || this.coldRead !== undefined;
  }

  /** The lane has so many stored tasks more that are no offers. */
  addRest(count: number): void {
    this.rest += count;
    this.of.rest += count;
    if (this.rest > 0 && this.offers.size === 0) this.level.starves(this);
  }
}

/** One priority. */
export class Level<Offer extends Placed<Offer>> {
  readonly number: number;
  readonly #ready = new IndexedHeap<Lane<Offer>>(isBeforeLane);
  readonly #held = new IndexedHeap<Lane<Offer>>((one, other) => one.heldUntilMs < other.heldUntilMs);
  /** Lanes that have tasks and no offers. */
  readonly starved = new Set<Lane<Offer>>();
  /** Lanes whose rows the queue has no read left for. */
  readonly blocked = new Set<Lane<Offer>>();
  /** Lanes of a child partition that have offers, none of which is at the parent. */
  readonly unseen = new Set<Lane<Offer>>();
  /** Lanes that hold nothing, the one that has been so for longest first. */
  readonly idle = new Set<Lane<Offer>>();
  /** Stored offers that are at the parent. */
  offeredTasks = 0;
  /** The pass of the lane that had the last turn. */
  #pass = 0;
  #releasedAtMs = -Infinity;

  constructor(number: number) {
    this.number = number;
  }

  /** The lane whose turn it is among those that have offers. */
  first(): Lane<Offer> | undefined {
    return this.#ready.first();
  }

  /** The lane holds something again. */
  begin(lane: Lane<Offer>): void {
    this.idle.delete(lane);
    lane.pass = Math.max(lane.pass, this.#pass);
  }

  insert(lane: Lane<Offer>, offer: Offer): void {
    lane.offers.insert(offer, isLaterOffer);
    this.#placed(lane);
    if (lane.name.shared > 0) this.letGo(lane);
  }

  /** `later`: before this one; undefined: at the end. */
  insertBefore(lane: Lane<Offer>, offer: Offer, later: Offer | undefined): void {
    lane.offers.insertBefore(offer, later);
    if (lane.offers.first === offer) this.#placed(lane);
    if (lane.name.shared > 0) this.letGo(lane);
  }

  #placed(lane: Lane<Offer>): void {
    if (lane.offers.size === 1 && lane.pass < this.#pass) lane.pass = this.#pass;
    this.#place(lane);
    this.starved.delete(lane);
    this.blocked.delete(lane);
    if (lane.offeredTasks === 0) this.unseen.add(lane);
  }

  /** The offer does not wait any more: a poll has it (`taken`), or it is somewhere else. */
  remove(lane: Lane<Offer>, offer: Offer, taken: boolean): void {
    lane.offers.remove(offer);
    if (taken) {
      // One that is shown to the parent out of its turn says nothing of how far the others are.
      if (this.#ready.first() === lane) this.#pass = Math.max(this.#pass, lane.pass);
      lane.pass += this.#turn(lane, offer.task);
    }
    if (lane.offers.size > 0) return this.#place(lane);
    this.#leave(lane);
    this.unseen.delete(lane);
    if (lane.rest > 0) this.starves(lane);
  }

  starves(lane: Lane<Offer>): void {
    if (!this.blocked.has(lane)) this.starved.add(lane);
  }

  /** The task for which the lane had a turn has reached nobody. */
  giveBack(lane: Lane<Offer>, task: MatchingTask): void {
    lane.pass = Math.max(this.#pass, lane.pass - this.#turn(lane, task));
    if (lane.offers.size > 0) this.#place(lane);
  }

  /** A poll has one of its offers that did not wait at that time. */
  charge(lane: Lane<Offer>, task: MatchingTask): void {
    lane.pass += this.#turn(lane, task);
    if (lane.offers.size > 0) this.#place(lane);
  }

  #turn(lane: Lane<Offer>, task: MatchingTask): number {
    return 1 / lane.of.weightOf(task);
  }

  /** The lane has offers, and no turn before that time. */
  hold(lane: Lane<Offer>, untilMs: number): void {
    this.#leave(lane);
    lane.heldUntilMs = untilMs;
    this.#place(lane);
  }

  /** The lane is asked about anew: its key has a token again, or another key is in it. False: it was not held. */
  letGo(lane: Lane<Offer>): boolean {
    if (lane.heldUntilMs === 0) return false;
    this.#leave(lane);
    this.#place(lane);
    return true;
  }

  /** When the first of those that are held has its turn again; undefined: none is held. */
  get heldUntilMs(): number | undefined {
    return this.#held.first()?.heldUntilMs;
  }

  /** Lanes that were held until now have their turns again. */
  release(nowMs: number): void {
    // The clock was set back: what was held by it is asked about anew.
    this.#releaseUntil(nowMs < this.#releasedAtMs ? Infinity : nowMs);
    this.#releasedAtMs = nowMs;
  }

  /** What they are held for has changed. True: some were. */
  releaseAll(): boolean {
    return this.#releaseUntil(Infinity);
  }

  #releaseUntil(untilMs: number): boolean {
    let released = false;
    for (let lane = this.#held.first(); lane !== undefined && lane.heldUntilMs <= untilMs; lane = this.#held.first())
      released = this.letGo(lane);
    return released;
  }

  #place(lane: Lane<Offer>): void {
    (lane.heldUntilMs === 0 ? this.#ready : this.#held).place(lane);
  }

  #leave(lane: Lane<Offer>): void {
    (lane.heldUntilMs === 0 ? this.#ready : this.#held).remove(lane);
    lane.heldUntilMs = 0;
  }

  atParent(lane: Lane<Offer>): void {
    lane.offeredTasks++;
    this.offeredTasks++;
    this.unseen.delete(lane);
  }

  backFromParent(lane: Lane<Offer>): void {
    lane.offeredTasks--;
    this.offeredTasks--;
    if (lane.offeredTasks === 0 && lane.offers.size > 0) this.unseen.add(lane);
  }

  /** Nothing is known of it that matters: it may go. */
  isForgettable(lane: Lane<Offer>): boolean {
    return lane.pass <= this.#pass;
  }
}

function isBeforeLane<Offer extends Placed<Offer>>(one: Lane<Offer>, other: Lane<Offer>): boolean {
  if (one.pass !== other.pass) return one.pass < other.pass;
  const [first, second] = [one.offers.first, other.offers.first];
  return first !== undefined && second !== undefined && isLaterOffer(second, first);
}

export class Lanes<Offer extends Placed<Offer>> {
  readonly #queue: TaskQueuePartition;
  readonly weightOf: (task: MatchingTask) => number;
  readonly #byKey = new Map<string, Lane<Offer>>();
  /** The priorities that were ever used, in their order. */
  readonly levels: Level<Offer>[] = [];
  /** What all lanes have: stored tasks that are no offers yet, and all stored tasks. */
  rest = 0;
  stored = 0;
  /** Offers that wait, of all lanes. */
  size = 0;
  /** Lanes that hold something: all, those of a fairness key or of several keys, and beside these those of a priority. */
  #inUse = 0;
  keyed = 0;
  special = 0;

  constructor(queue: TaskQueuePartition, weightOf: (task: MatchingTask) => number) {
    this.#queue = queue;
    this.weightOf = weightOf;
  }

  values(): Iterable<Lane<Offer>> {
    return this.#byKey.values();
  }

  find(key: string): Lane<Offer> | undefined {
    return this.#byKey.get(key);
  }

  /** The lane of that name, which will hold something now. */
  lane(name: LaneName): Lane<Offer> {
    const key = laneKey(this.#queue, name);
    const known = this.#byKey.get(key);
    if (known?.isInUse === true) return known;
    const lane = known ?? new Lane(this, this.#level(name.level), key, name);
    this.#byKey.set(key, lane);
    lane.level.begin(lane);
    this.#count(name, 1);
    return lane;
  }

  #count(name: LaneName, more: number): void {
    this.#inUse += more;
    if (isKeyed(name)) this.keyed += more;
    if (isKeyed(name) || name.level !== priorityKeyDefault) this.special += more;
  }

  #level(number: number): Level<Offer> {
    const at = this.levels.findIndex((level) => level.number >= number);
    const found = this.levels[at];
    if (found?.number === number) return found;
    const level = new Level<Offer>(number);
    this.levels.splice(at < 0 ? this.levels.length : at, 0, level);
    return level;
  }

  insert(offer: Offer, lane: Lane<Offer>): void {
    lane.level.insert(lane, offer);
    this.size++;
  }

  insertBefore(offer: Offer, lane: Lane<Offer>, later: Offer | undefined): void {
    lane.level.insertBefore(lane, offer, later);
    this.size++;
  }

  remove(offer: Offer, lane: Lane<Offer>, taken: boolean): void {
    lane.level.remove(lane, offer, taken);
    this.size--;
  }

  /** A lane that holds nothing is forgotten when there are too many, or when none of the queue holds anything: then nobody competes. */
  settle(lane: Lane<Offer>, idleMax: number): void {
    if (lane.isInUse || this.#byKey.get(lane.key) !== lane) return;
    const { level } = lane;
    level.starved.delete(lane);
    level.blocked.delete(lane);
    if (!level.idle.has(lane)) this.#count(lane.name, -1);
    if (this.#inUse === 0) return this.#forgetAll();
    level.idle.add(lane);
    for (const longest of level.idle) {
      if (level.idle.size <= idleMax && !level.isForgettable(longest)) return;
      level.idle.delete(longest);
      this.#byKey.delete(longest.key);
    }
  }

  #forgetAll(): void {
    this.#byKey.clear();
    for (const { idle } of this.levels) idle.clear();
  }
}
