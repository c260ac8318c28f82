/**
 * The life of an offer: a task that waits for a poll, here or at the parent partition.
 *
 *   add ──▶ expired? ─────────────▶ finished
 *           a poll waits? ────────▶ its start is asked (start-answers.ts)
 *           tried at the parent ──▶ taken there: finished
 *           kept: stored, or in memory (sticky queues), or held for the child that it came from
 *
 * An offer that comes back (its poll went away, or the parent handed it back) takes the same way again, without the parent.
 */
import { unreachable } from '../kernel/assert.ts';
import { backOffMs } from '../kernel/back-off.ts';
import type { AddTask, ForwardedTaskAnswered } from './matching-commands.ts';
import { armQueue, type HostParts, Life, type LoadedQueue, noAsk, Offer } from './loaded-queue.ts';
import { laneFor } from './lane-choice.ts';
import type { Lane } from './lane.ts';
import type { Forwarding } from './forwarding.ts';
import type { RateLimit } from './rate-limit.ts';
import { backlogFull } from './rejections.ts';
import { done, type MatchingReply, type NoMatch, stickyUnavailable, type Stored } from './matching-replies.ts';
import type { Starts } from './starts.ts';
import { isExpired } from './matching-tasks.ts';
import type { Windows } from './windows.ts';

const stored: Stored = { kind: 'stored' };
const noMatch: NoMatch = { kind: 'noMatch', isRefused: false };
const refused: NoMatch = { kind: 'noMatch', isRefused: true };

type OffersParts<T> = HostParts<T> & {
  readonly windows: Windows<T>;
  readonly rateLimit: RateLimit<T>;
  readonly forwarding: Forwarding<T>;
  readonly starts: Starts<T>;
};

export class Offers<T> extends Life<OffersParts<T>> {
  #lastArrival = 0;
  /** The last id given out. Ahead of the backlog's last id while one command stores several tasks. */
  #lastStoredId = 0;

  // ── From arrival to a poll ────────────────────────────────────────────────────────────────────────────────────────────────────

  add(queue: LoadedQueue, command: AddTask, askId: number): void {
    const sinceMs = this.parts.decision.nowMs;
    const isOfChild = command.forwardedFrom !== undefined;
    const isLent = isOfChild || command.holdUntilMs > 0;
    const { holdUntilMs } = command;
    queue.openOffers++;
    const offer = new Offer(queue, command.task, { ...this.#lastPlace(), sinceMs, askId, isLent, isOfChild, holdUntilMs });
    queue.countTask(offer, 'added', sinceMs);
    if (this.#isExpired(offer)) return this.finish(offer);
    if (this.parts.windows.first(queue) === undefined && this.#startWithWaitingPoll(offer)) return;
    if (!isLent && this.parts.forwarding.forwardNewTask(offer)) return;
    this.#keep(offer);
    // Its own are shown when they are stored; nothing else shows what a child has lent.
    if (isOfChild) this.parts.forwarding.offerBacklog(queue);
    // What waits before it may only wait for its key.
    if (queue.keyRates !== undefined) this.startWaiting(queue);
  }

  /** Behind all that have come, stored or not. */
  #lastPlace(): { readonly order: number; readonly arrival: number } {
    return { order: this.#lastId, arrival: ++this.#lastArrival };
  }

  get #lastId(): number {
    return Math.max(this.#lastStoredId, this.parts.backlog.lastId);
  }

  /** Back from a poll that went away, from a rest, or from the parent. */
  offerAgain(offer: Offer): void {
    if (this.#isExpired(offer)) return this.finish(offer);
    const { queue, lane, task } = offer;
    const isNext = queue.waitingPolls.first !== undefined && this.parts.windows.first(queue) === undefined;
    if (isNext && this.#startWithWaitingPoll(offer)) return lane?.level.charge(lane, task);
    this.#keep(offer);
    // Under a rate both polls and better offers may wait here.
    this.startWaiting(queue);
  }

  /** Pairs the polls and offers that both wait here, for as long as tasks may go out. */
  startWaiting(queue: LoadedQueue): void {
    while (queue.waitingPolls.first !== undefined) {
      const offer = this.take(queue);
      if (offer === undefined) return;
      const poll = queue.waitingPolls.shift();
      if (poll !== undefined) this.parts.starts.ask(offer, poll);
    }
  }

  /** The first offer that may go out now, out of its list. */
  take(queue: LoadedQueue): Offer | undefined {
    if (queue.matchesAtParent) return undefined;
    for (let looks = 0; looks < this.parts.limits.expiredPerLookMax; looks++) {
      const first = this.parts.windows.first(queue);
      if (first === undefined) {
        this.parts.rateLimit.awaitKeys(queue);
        return undefined;
      }
      if (this.#isExpired(first)) {
        this.#leave(first, false);
        this.finish(first);
        continue;
      }
      const offer = this.parts.rateLimit.firstReady(first);
      if (offer === undefined) continue;
      if (!this.parts.rateLimit.takeToken(queue, offer.task)) return undefined;
      this.#leave(offer, true);
      this.parts.deadlines.remove(offer);
      return offer;
    }
    // So many that are expired, or held for their keys, are enough for one command. The next tick passes over more, and the poll waits for it.
    queue.pairingDueMs = this.parts.decision.nowMs + 1;
    armQueue(this.parts, queue);
    return undefined;
  }

  /** Starts the task with the poll that has waited longest. False: none waits, or no task may go out now. */
  #startWithWaitingPoll(offer: Offer): boolean {
    const { queue, task } = offer;
    const poll = queue.waitingPolls.first;
    if (poll === undefined || queue.matchesAtParent || !this.parts.rateLimit.takeToken(queue, task)) return false;
    queue.waitingPolls.remove(poll);
    this.parts.starts.ask(offer, poll);
    return true;
  }

  // ── While no poll takes it ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Memory, the journal, or back to the child that it came from. */
  #keep(offer: Offer): void {
    const { queue } = offer;
    if (offer.storedId > 0) {
      this.#wait(offer);
      this.parts.forwarding.offerBacklog(queue);
    } else if (queue.sticky) {
      if (queue.openOffers > this.parts.limits.memoryTasksPerQueueMax) return this.#end(offer, stickyUnavailable);
      // The add is answered at once: history's schedule-to-start timer limits how long the task may wait.
      this.#answerAdd(offer, done);
      this.#wait(offer);
    } else if (offer.isLent) {
      this.#holdForChild(offer);
    } else {
      if (this.#store(offer)) this.#wait(offer);
      this.parts.forwarding.offerBacklog(queue);
    }
  }

  #wait(offer: Offer): void {
    offer.queue.lanes.insert(offer, this.#laneOf(offer));
    offer.state = 'waiting';
  }

  /** The offer does not wait any more. `taken`: it was its lane's turn. */
  #leave(offer: Offer, taken: boolean): void {
    offer.queue.lanes.remove(offer, this.#laneOf(offer), taken);
  }

  /** An offer stays in its lane from the first time that it waits to its end. */
  #laneOf(offer: Offer): Lane<Offer> {
    if (offer.lane === undefined) {
      const { queue, task } = offer;
      offer.lane = queue.lanes.lane(laneFor(queue, task, this.parts.backlog, this.parts.limits));
      offer.lane.openOffers++;
    }
    return offer.lane;
  }

  #holdForChild(offer: Offer): void {
    const { decision, deadlines, limits } = this.parts;
    const { queue } = offer;
    const hasRoom = queue.openOffers - (queue.lanes.stored - queue.lanes.rest) < limits.memoryTasksPerQueueMax;
    if (offer.holdUntilMs <= decision.nowMs || !hasRoom) return this.#end(offer, noMatch);
    this.#wait(offer);
    deadlines.set(offer, offer.holdUntilMs);
  }

  /** Into the journal, with the record of this command. False: it is no offer any more, or not yet. */
  #store(offer: Offer): boolean {
    const { decision, limits } = this.parts;
    const { queue } = offer;
    const earlierId = this.parts.backlog.idOf(queue.key, offer.task);
    if (earlierId !== undefined && !this.parts.removals.has(earlierId)) {
      // The record of the first copy may not be committed yet, and this answer rests on it.
      decision.barrier = true;
      this.#end(offer, stored);
      return false;
    }
    const storedMax = this.parts.backlog.notes === undefined ? limits.storedTasksPerQueueMax : limits.tableTasksPerQueueMax;
    if (queue.lanes.stored >= storedMax) {
      this.#end(offer, backlogFull(storedMax));
      return false;
    }
    const id = this.#lastId + 1;
    this.#lastStoredId = id;
    const lane = this.#laneOf(offer);
    lane.stored++;
    queue.lanes.stored++;
    const isOffer = this.parts.windows.admit(queue, lane);
    if (isOffer) this.#takeStoredPlace(offer, lane, id);
    decision.spill({ id, queue: queue.queue, task: offer.task, shared: lane.name.shared });
    if (isOffer) this.#answerAdd(offer, stored);
    else this.#end(offer, stored);
    return isOffer;
  }

  /** Behind all that are stored already; before others that came since the last of these. */
  #takeStoredPlace(offer: Offer, lane: Lane<Offer>, id: number): void {
    offer.storedId = id;
    offer.order = id;
    offer.arrival = 0;
    lane.offeredUpToId = id;
  }

  parentAnswered({ correlation, outcome }: ForwardedTaskAnswered): void {
    const known = this.parts.forwarding.taskAnswered(correlation);
    if (known === undefined) return;
    const { offer } = known;
    const { queue, lane, task } = offer;
    if (outcome !== 'taken') lane?.level.giveBack(lane, task);
    switch (outcome) {
      case 'taken':
        queue.countTask(offer, 'dispatched', this.parts.decision.nowMs);
        this.finish(offer);
        return this.parts.forwarding.offerBacklog(queue);
      case 'refused':
        this.rest(offer);
        // Its place there is free for the next one.
        return this.parts.forwarding.offerBacklog(queue);
      case 'noMatch':
      case 'unavailable':
        if (known.lane !== undefined || outcome === 'unavailable') this.parts.forwarding.handedBack(known, outcome);
        return this.offerAgain(offer);
      default:
        return unreachable(outcome);
    }
  }

  /**
   * The offer lets its poll go: else the tasks of one shard that is not served, or of workflows that stand still, could hold every poll of a queue.
   * One that only waits for a poll is stored: history would offer it again and again while it rests, and each copy would rest as well. A child's
   * rests there: it shows a few tasks at a time here, and a few that rest here would keep all others from polls.
   */
  rest(offer: Offer): void {
    const { limits } = this.parts;
    const { storedId, queue, isLent } = offer;
    if (offer.isOfChild) return this.#end(offer, refused);
    if (storedId === 0 && !queue.sticky && !isLent && !this.#store(offer)) return this.parts.forwarding.offerBacklog(queue);
    this.restFor(offer, backOffMs(++offer.rests, limits.restFirstMs, limits.restMaxMs));
  }

  restFor(offer: Offer, restMs: number): void {
    offer.state = 'resting';
    this.parts.deadlines.set(offer, this.parts.decision.nowMs + restMs);
  }

  due(offer: Offer): void {
    const { poll } = offer;
    if (offer.state === 'retrying' && poll !== undefined) return this.parts.starts.ask(offer, poll);
    const isHeld = offer.state !== 'resting';
    if (offer.isLent && (isHeld || offer.holdUntilMs <= this.parts.decision.nowMs)) {
      // It has been here long enough: the child has it again, or has given this answer up and sends another copy.
      if (isHeld) this.#leave(offer, false);
      return this.#end(offer, noMatch);
    }
    // Behind all others: at its old place, tasks of a dead shard would be tried again before those that can be started.
    Object.assign(offer, this.#lastPlace());
    this.offerAgain(offer);
  }

  #isExpired({ task }: Offer): boolean {
    return isExpired(task, this.parts.decision.nowMs);
  }

  // ── End ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Started, obsolete or expired: nobody needs to care for it again. */
  finish(offer: Offer): void {
    if (offer.storedId > 0) {
      this.#laneOf(offer).stored--;
      offer.queue.lanes.stored--;
      this.parts.removals.add(offer.storedId, this.parts.decision.nowMs);
    }
    this.#end(offer, done);
  }

  /** All that wait in a sticky queue, where nothing is stored: history offers them on the normal queue. */
  sendStickyAway(queue: LoadedQueue): void {
    for (let offer = this.parts.windows.first(queue); offer !== undefined; offer = this.parts.windows.first(queue)) {
      this.#leave(offer, false);
      this.#end(offer, stickyUnavailable);
    }
  }

  #end(offer: Offer, reply: MatchingReply<T>): void {
    const { lane } = offer;
    offer.state = 'done';
    offer.queue.openOffers--;
    if (lane !== undefined) {
      lane.openOffers--;
      this.parts.windows.settle(lane);
    }
    this.parts.deadlines.remove(offer);
    this.#answerAdd(offer, reply);
  }

  #answerAdd(offer: Offer, reply: MatchingReply<T>): void {
    if (offer.askId === noAsk) return;
    this.parts.decision.reply(offer.askId, reply);
    offer.askId = noAsk;
  }
}
