/**
 * Which of the stored tasks of a lane are offers, and which are in memory at all. Half a second passes until 200,000 tasks are offers, and
 * 1,000,000 of them take a gigabyte: so they become offers some at a time, when the next one is needed, and where there is a database
 * memory holds a window of them.
 *
 *     offers │ rest: in memory │ rest: cold, read when few are left │ rest: newer           (backlog.ts)
 *            └ offeredUpToId   └──────── storedTasksLoaded ◀── loadStoredTasks
 *
 * While rows are awaited polls wait, and what comes new may meet them. With the database away what is in memory goes out, and the read is
 * asked for again.
 */
import { backOffMs } from '../kernel/back-off.ts';
import { coldHint, hasCold, type StoredLane, type StoredQueue } from './stored-lane.ts';
import type { UnreadTask } from './checkpoint/read-rows.ts';
import type { MatchingTask } from './matching-tasks.ts';
import { armQueue, type HostParts, Life, type LoadedQueue, noAsk, Offer } from './loaded-queue.ts';
import { isLaterOffer, type Lane, type Level } from './lane.ts';
import type { StoredTasksCounted } from './matching-commands.ts';
import type { TaskState } from './checkpoint/backlog-wire.ts';

export class Windows<T> extends Life<HostParts<T>> {
  /** Rows have all up to it. */
  #writtenUpToId = 0;
  /** Queues from which something may leave memory; undefined: nothing may. */
  #shedding: Iterator<StoredLane> | undefined = undefined;

  // ── Offers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** All that the journal holds for a queue that comes into memory. */
  addStored(queue: LoadedQueue, { lanes }: StoredQueue): void {
    for (const { name, tasks, cold, newer } of lanes.values()) {
      // The queue was in memory before, and those were finished then: their removal is journaled soon.
      const removed = this.parts.removals.countIn(tasks);
      const rest = tasks.size - removed + (cold === undefined ? 0 : coldHint(cold)) + newer.size;
      if (rest > 0) this.changeRest(queue.lanes.lane(name), rest);
    }
  }

  /** That lane has so many stored tasks more, which are no offers; or fewer. */
  changeRest(lane: Lane<Offer>, count: number): void {
    lane.addRest(count);
    lane.of.stored += count;
    lane.stored += count;
    if (count < 0) this.settle(lane);
  }

  settle(lane: Lane<Offer>): void {
    if (!lane.isInUse) lane.of.settle(lane, this.parts.limits.idleLanesMax);
  }

  /** A new one, stored with the record of this command. True: it is an offer at once; else it is looked at when there is room. */
  admit(queue: LoadedQueue, lane: Lane<Offer>): boolean {
    const { decision, limits } = this.parts;
    const isFull = lane.offers.size >= limits.windowTasksPerLaneMax;
    if (lane.rest === 0 && !isFull && this.parts.backlog.hasRoom(lane.key, decision.spilled.length, decision.spilledBytes)) return true;
    lane.addRest(1);
    // It is in no list yet, and nothing else may happen here for long.
    if (this.#isLow(lane) && queue.restDueMs === 0) this.#lookAgain(queue, decision.nowMs);
    return false;
  }

  /** What came to nothing before is tried once more. */
  lookAgain({ lanes }: LoadedQueue): void {
    for (const lane of lanes.values()) {
      if (lane.rest > 0 && lane.offers.size === 0 && lane.coldRead === undefined) lane.level.starves(lane);
    }
  }

  #lookAgain(queue: LoadedQueue, dueMs: number): void {
    queue.restDueMs = queue.restDueMs === 0 ? dueMs : Math.min(queue.restDueMs, dueMs);
    armQueue(this.parts, queue);
  }

  /** The offer whose turn it is, of the first level that has one; it stays in its list. undefined: there is none in memory. */
  first(queue: LoadedQueue): Offer | undefined {
    for (const level of queue.lanes.levels) {
      const lane = this.firstLane(queue, level);
      if (lane !== undefined) return lane.offers.first;
    }
    return undefined;
  }

  firstLane(queue: LoadedQueue, level: Level<Offer>): Lane<Offer> | undefined {
    level.release(this.parts.decision.nowMs);
    if (level.starved.size > 0 || (level.blocked.size > 0 && !this.#hasManyReads(queue))) this.#feed(queue, level);
    const lane = level.first();
    if (lane === undefined || lane.rest === 0) return lane;
    this.#fill(queue, lane);
    return level.first();
  }

  /** Lanes that have nothing to offer get offers, or ask for their rows: some of them now, the others when the next offer is needed. */
  #feed(queue: LoadedQueue, level: Level<Offer>): void {
    let budget = this.parts.limits.storedTasksPerTurnMax;
    // They have waited for longest: one whose read has just ended would take its place again. And only as many as may be read for: of a thousand that
    // wait for their turn no poll looks at all.
    for (const lane of level.blocked) {
      if (this.#hasManyReads(queue) || (budget <= 0 && level.first() !== undefined)) break;
      level.blocked.delete(lane);
      budget -= this.#feedLane(queue, lane);
    }
    for (const lane of level.starved) {
      if (budget <= 0 && level.first() !== undefined) return;
      budget -= this.#feedLane(queue, lane);
    }
  }

  /** Answers what it took. */
  #feedLane(queue: LoadedQueue, lane: Lane<Offer>): number {
    this.#fill(queue, lane);
    // What this command stores is in memory only behind it.
    const isComing = lane.rest > 0 && lane.offers.size === 0 && this.parts.decision.spilled.length > 0;
    if (isComing) this.#lookAgain(queue, this.parts.decision.nowMs + 1);
    // It has offers, or waits for a read, or comes back when its rows do, or when its queue is looked at again.
    lane.level.starved.delete(lane);
    return 1 + lane.offers.size;
  }

  #fill(queue: LoadedQueue, lane: Lane<Offer>): void {
    if (this.#isRestBefore(lane)) this.#makeOffers(queue, lane);
    if (this.#isLow(lane) && this.#refill(queue, lane) && this.#isRestBefore(lane)) this.#makeOffers(queue, lane);
  }

  #isLow(lane: Lane<Offer>): boolean {
    return lane.rest > 0 && (lane.offers.size <= this.parts.limits.windowTasksPerLaneMax / 4 || this.#isRestBefore(lane));
  }

  #isRestBefore({ offers, offeredUpToId }: Lane<Offer>): boolean {
    return offers.first === undefined || offers.first.order > offeredUpToId;
  }

  #makeOffers(queue: LoadedQueue, lane: Lane<Offer>): void {
    const stored = this.parts.backlog.lanes.get(lane.key);
    let left = this.parts.limits.storedTasksPerTurnMax;
    let later = lane.offers.first;
    for (const { id, task, storedAtMs } of stored?.tasks.values() ?? []) {
      if (id <= lane.offeredUpToId || this.parts.removals.has(id)) continue;
      if (left-- === 0) return;
      const offer = storedOffer(queue, id, task, storedAtMs);
      while (later !== undefined && !isLaterOffer(later, offer)) later = later.next;
      offer.lane = lane;
      queue.lanes.insertBefore(offer, lane, later);
      lane.offeredUpToId = id;
      queue.openOffers++;
      lane.openOffers++;
      lane.addRest(-1);
    }
    if (stored !== undefined) lane.offeredUpToId = Math.max(lane.offeredUpToId, stored.windowUpToId);
    const isComing = stored?.cold !== undefined || this.parts.decision.spilled.length > 0;
    if (!isComing) this.changeRest(lane, -lane.rest);
  }

  // ── Rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** All of the window are offers. True: there are more in it now; else those that are cold are asked for. */
  #refill(queue: LoadedQueue, lane: Lane<Offer>): boolean {
    const stored = this.parts.backlog.lanes.get(lane.key);
    if (stored?.cold === undefined || stored.windowUpToId > lane.offeredUpToId) return false;
    if (!hasCold(stored.cold)) {
      this.parts.backlog.takeNewer(stored, lane.offers.size);
      return true;
    }
    const { decision, limits } = this.parts;
    if (lane.coldRead !== undefined) return false;
    if (this.#hasManyReads(queue)) {
      if (lane.offers.size === 0) lane.level.blocked.add(lane);
      return false;
    }
    if (lane.notBeforeMs > decision.nowMs) return this.#notYet(queue, lane.notBeforeMs);
    // Those of a shard that is not served rest in memory, and a whole backlog would follow them there.
    if (lane.of.stored - lane.of.rest >= limits.heldTasksPerQueueMax) {
      return this.#notYet(queue, decision.nowMs + limits.coldReadRetryFirstMs);
    }
    const read = this.parts.backlog.nextColdRead(stored, lane.offers.size);
    lane.coldRead = read;
    queue.coldReads++;
    const { afterId: afterTaskId, untilId: untilTaskId, max } = read;
    const rowsMin = this.parts.backlog.surelyCold(read);
    decision.act({ kind: 'loadStoredTasks', queue: queue.queue, key: lane.key, afterTaskId, untilTaskId, max, rowsMin });
    return false;
  }

  #hasManyReads({ coldReads }: LoadedQueue): boolean {
    return coldReads >= this.parts.limits.coldReadsPerQueueMax;
  }

  #notYet(queue: LoadedQueue, dueMs: number): false {
    this.#lookAgain(queue, dueMs);
    return false;
  }

  loaded(queue: LoadedQueue, key: string, rows: readonly (TaskState | UnreadTask)[]): void {
    const lane = queue.lanes.find(key);
    const stored = this.parts.backlog.lanes.get(key);
    const read = lane?.coldRead;
    if (lane === undefined || stored === undefined || read === undefined) return;
    this.#readEnds(queue, lane);
    lane.coldReadFailures = 0;
    this.changeRest(lane, -this.parts.backlog.installRead(stored, read, rows));
    this.settle(lane);
  }

  notLoaded(queue: LoadedQueue, key: string): void {
    const { decision, limits } = this.parts;
    const lane = queue.lanes.find(key);
    if (lane?.coldRead === undefined) return;
    this.parts.backlog.notRead(lane.coldRead);
    this.#readEnds(queue, lane);
    lane.notBeforeMs = decision.nowMs + backOffMs(++lane.coldReadFailures, limits.coldReadRetryFirstMs, limits.coldReadRetryMaxMs);
    this.#lookAgain(queue, lane.notBeforeMs);
    this.settle(lane);
  }

  #readEnds(queue: LoadedQueue, lane: Lane<Offer>): void {
    lane.coldRead = undefined;
    queue.coldReads--;
    if (lane.rest > 0 && lane.offers.size === 0) lane.level.starves(lane);
  }

  // ── What leaves memory ────────────────────────────────────────────────────────────────────────────────────────────────────────

  written(upToId: number): void {
    this.#writtenUpToId = upToId;
    this.#shedding = this.parts.backlog.lanes.values();
  }

  get hasToShed(): boolean {
    return this.#shedding !== undefined;
  }

  shedMore(): void {
    let budget = this.parts.limits.shedTasksPerTurnMax;
    while (budget > 0 && this.#shedding !== undefined) {
      const next = this.#shedding.next();
      if (next.done === true) {
        this.#shedding = undefined;
        return;
      }
      const left = this.parts.backlog.shed(next.value, this.#writtenUpToId, budget);
      // There may be more of it; what was written since is looked at again.
      if (left >= budget) this.#shedding = this.parts.backlog.lanes.values();
      budget -= left + 1;
    }
  }
}

/** The journal holds it: nobody waits to hear that it is stored. */
const ofNobody = { arrival: 0, askId: noAsk, isLent: false, isOfChild: false, holdUntilMs: 0 };

function storedOffer(queue: LoadedQueue, id: number, task: MatchingTask, storedAtMs: number): Offer {
  const offer = new Offer(queue, task, { ...ofNobody, order: id, sinceMs: storedAtMs });
  offer.storedId = id;
  return offer;
}

// ── How many are cold ─────────────────────────────────────────────────────────────────────────────────────────────────────────
//
// How many stored tasks of a lane are rows alone: nobody knows after a takeover, which reads the first rows of each lane. They are counted while
// the host serves, some thousands of one lane at a time. Until then a queue tells of those that are known, and of one more.
//
//     window │ counted │ uncounted ─────────────▶        a stretch at a time, whatever is read of the rows meanwhile
//
// Rows of tasks that a fold has removed stand there until the next checkpoint: it is waited for, or they would be counted.

export class ColdCount<T> extends Life<HostParts<T> & { readonly windows: Windows<T> }> {
  /** The lane of which a stretch is being counted. */
  #lane: StoredLane | undefined = undefined;

  /** Something may be counted now that could not be before. */
  goOn(): void {
    if (this.#lane !== undefined) return;
    const stored = this.parts.backlog.toCount;
    const uncounted = stored?.cold?.uncounted;
    if (stored === undefined || uncounted === undefined) return;
    this.#lane = stored;
    const { key } = stored;
    const { queue } = stored.of;
    const { afterId: afterTaskId, untilId: untilTaskId } = uncounted;
    const max = this.parts.limits.countedTasksPerReadMax;
    this.parts.decision.act({ kind: 'countStoredTasks', queue, key, afterTaskId, untilTaskId, max });
  }

  /** `queue`: where it is in memory. */
  counted({ afterTaskId, upToTaskId, count }: StoredTasksCounted, queue: LoadedQueue | undefined): void {
    const stored = this.#lane;
    if (stored === undefined) return;
    this.#lane = undefined;
    const more = this.parts.backlog.counted(stored, { afterId: afterTaskId, untilId: upToTaskId }, count);
    const lane = queue?.lanes.find(stored.key);
    if (lane !== undefined) this.parts.windows.changeRest(lane, more);
    if (lane?.coldRead === undefined) this.parts.backlog.settleCounted(stored);
    this.goOn();
  }
}
