/**
 * Which of the stored tasks of a queue are offers, and which are in memory at all. Half a second passes until 200,000 tasks are offers, and
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
import { type Backlog, coldHint, hasCold, type StoredQueue, type TaskOfRow } from './backlog.ts';
import type { UnreadTask } from './checkpoint/read-rows.ts';
import type { MatchingTask } from './tasks.ts';
import { armQueue, type HostParts } from './host-parts.ts';
import { isLaterOffer, type LoadedQueue, noAsk, Offer } from './loaded-queue.ts';
import type { Removals } from './removals.ts';

export class Windows<T> {
  readonly #parts: HostParts<T>;
  readonly #backlog: Backlog;
  readonly #removals: Removals;
  /** Rows have all up to it. */
  #writtenUpToId = 0;
  /** Queues from which something may leave memory; undefined: nothing may. */
  #shedding: Iterator<StoredQueue> | undefined = undefined;

  constructor(parts: HostParts<T>, backlog: Backlog, removals: Removals) {
    this.#parts = parts;
    this.#backlog = backlog;
    this.#removals = removals;
  }

  // ── Offers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** All that the journal holds for a queue that comes into memory. */
  addStored(queue: LoadedQueue, { tasks, cold, newer }: StoredQueue): void {
    let removed = 0;
    // The queue was in memory before, and those were finished then: their removal is journaled soon.
    for (const id of this.#removals) if (tasks.has(id)) removed++;
    queue.rest = tasks.size - removed + (cold === undefined ? 0 : coldHint(cold)) + newer.size;
    queue.storedTasks += queue.rest;
  }

  /** A new one, stored with the record of this command. True: it is an offer at once; else it is looked at when there is room. */
  admit(queue: LoadedQueue): boolean {
    const { decision, limits } = this.#parts;
    const isFull = queue.offers.size >= limits.windowTasksPerQueueMax;
    if (queue.rest === 0 && !isFull && this.#backlog.hasRoom(queue.key, decision.spilled.length, decision.spilledBytes)) return true;
    queue.rest++;
    // It is in no list yet, and nothing else may happen here for long.
    if (this.#isLow(queue) && queue.restDueMs === 0) this.#lookAgain(queue, decision.nowMs);
    return false;
  }

  #lookAgain(queue: LoadedQueue, dueMs: number): void {
    queue.restDueMs = dueMs;
    armQueue(this.#parts, queue);
  }

  /** The offer whose turn it is; it stays in the list. undefined: there is none in memory. */
  first(queue: LoadedQueue): Offer | undefined {
    if (queue.rest > 0) {
      if (this.#isRestBefore(queue)) this.#makeOffers(queue);
      if (this.#isLow(queue) && this.#refill(queue) && this.#isRestBefore(queue)) this.#makeOffers(queue);
    }
    return queue.offers.first;
  }

  #isLow(queue: LoadedQueue): boolean {
    return queue.rest > 0 && (queue.offers.size <= this.#parts.limits.windowTasksPerQueueMax / 4 || this.#isRestBefore(queue));
  }

  #isRestBefore({ offers, offeredUpToId }: LoadedQueue): boolean {
    return offers.first === undefined || offers.first.order > offeredUpToId;
  }

  #makeOffers(queue: LoadedQueue): void {
    const stored = this.#backlog.queues.get(queue.key);
    let left = this.#parts.limits.storedTasksPerTurnMax;
    let later = queue.offers.first;
    for (const { id, task, storedAtMs } of stored?.tasks.values() ?? []) {
      if (id <= queue.offeredUpToId || this.#removals.has(id)) continue;
      if (left-- === 0) return;
      const offer = storedOffer(queue, id, task, storedAtMs);
      while (later !== undefined && !isLaterOffer(later, offer)) later = later.next;
      queue.offers.insertBefore(offer, later);
      queue.offeredUpToId = id;
      queue.openOffers++;
      queue.rest--;
    }
    if (stored !== undefined) queue.offeredUpToId = Math.max(queue.offeredUpToId, stored.windowUpToId);
    const isComing = stored?.cold !== undefined || this.#parts.decision.spilled.length > 0;
    if (!isComing) this.#forgetRest(queue, queue.rest);
  }

  /** As many are not there. */
  #forgetRest(queue: LoadedQueue, count: number): void {
    queue.rest -= count;
    queue.storedTasks -= count;
  }

  // ── Rows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** All of the window are offers. True: there are more in it now; else those that are cold are asked for. */
  #refill(queue: LoadedQueue): boolean {
    const stored = this.#backlog.queues.get(queue.key);
    if (stored?.cold === undefined || stored.windowUpToId > queue.offeredUpToId) return false;
    if (!hasCold(stored.cold)) {
      this.#backlog.takeNewer(stored, queue.offers.size);
      return true;
    }
    const { decision, limits } = this.#parts;
    if (queue.coldRead !== undefined || queue.restDueMs > decision.nowMs) return false;
    // Those of a shard that is not served rest in memory, and a whole backlog would follow them there.
    if (queue.storedTasks - queue.rest >= limits.heldTasksPerQueueMax) {
      this.#lookAgain(queue, decision.nowMs + limits.coldReadRetryFirstMs);
      return false;
    }
    const read = this.#backlog.nextColdRead(stored, queue.offers.size);
    queue.coldRead = read;
    const { afterId: afterTaskId, untilId: untilTaskId, max } = read;
    const rowsMin = this.#backlog.surelyCold(read);
    decision.act({ kind: 'loadStoredTasks', queue: queue.queue, key: queue.key, afterTaskId, untilTaskId, max, rowsMin });
    return false;
  }

  loaded(queue: LoadedQueue, rows: readonly (TaskOfRow | UnreadTask)[]): void {
    const stored = this.#backlog.queues.get(queue.key);
    const read = queue.coldRead;
    if (stored === undefined || read === undefined) return;
    queue.coldRead = undefined;
    queue.coldReadFailures = 0;
    this.#forgetRest(queue, this.#backlog.installRead(stored, read, rows));
  }

  notLoaded(queue: LoadedQueue): void {
    const { decision, limits } = this.#parts;
    if (queue.coldRead !== undefined) this.#backlog.notRead(queue.coldRead);
    queue.coldRead = undefined;
    this.#lookAgain(queue, decision.nowMs + backOffMs(++queue.coldReadFailures, limits.coldReadRetryFirstMs, limits.coldReadRetryMaxMs));
  }

  // ── What leaves memory ────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Rows have all up to that id. */
  written(upToId: number): void {
    this.#writtenUpToId = upToId;
    this.#shedding = this.#backlog.queues.values();
  }

  get hasToShed(): boolean {
    return this.#shedding !== undefined;
  }

  /** A moment's work. */
  shedMore(): void {
    let budget = this.#parts.limits.shedTasksPerTurnMax;
    while (budget > 0 && this.#shedding !== undefined) {
      const next = this.#shedding.next();
      if (next.done === true) {
        this.#shedding = undefined;
        return;
      }
      const left = this.#backlog.shed(next.value, this.#writtenUpToId, budget);
      // There may be more of it; what was written since is looked at again.
      if (left >= budget) this.#shedding = this.#backlog.queues.values();
      budget -= left + 1;
    }
  }
}

/** The journal holds it: nobody waits to hear that it is stored. */
function storedOffer(queue: LoadedQueue, id: number, task: MatchingTask, storedAtMs: number): Offer {
  const offer = new Offer(queue, task, { order: id, arrival: 0, sinceMs: storedAtMs, askId: noAsk, isLent: false, holdUntilMs: 0 });
  offer.storedId = id;
  return offer;
}
