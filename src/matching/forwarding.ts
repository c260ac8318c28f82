/** From a child partition to its parent, where any task may come: polls wait there, new tasks are tried, the first stored ones are held. */
import { taskTypes } from '../kernel/task-queue.ts';
import { assert } from '../kernel/assert.ts';
import { armQueue, type HostParts, Life, type LoadedQueue, type Offer, type Poll } from './loaded-queue.ts';
import type { Lane, Level } from './lane.ts';
import type { Windows } from './windows.ts';

/** `holdUntilMs`: it may wait there; 0 = it is handed back at once. `lane`: where it waited, and counts as shown; undefined: it is new. */
type AtParent = { readonly offer: Offer; readonly shownMs: number; readonly holdUntilMs: number; readonly lane: Lane<Offer> | undefined };

type ForwardingParts<T> = HostParts<T> & { readonly windows: Windows<T> };

export class Forwarding<T> extends Life<ForwardingParts<T>> {
  /** What the shell still owes an answer to, by correlation. */
  readonly #polls = new Map<number, Poll>();
  readonly #tasks = new Map<number, AtParent>();
  /** The correlations of those tasks whose adds wait for the answer. */
  readonly #newTasks = new Set<number>();
  #lastCorrelation: number;

  constructor(parts: ForwardingParts<T>, firstCorrelation: number) {
    super(parts);
    this.#lastCorrelation = firstCorrelation;
  }

  /** False: there is no parent, it is left alone for now, or enough polls of this queue wait there. */
  forwardPoll(poll: Poll): boolean {
    const { queue } = poll;
    if (!this.#mayForwardPoll(queue) || queue.parent === undefined) return false;
    const correlation = ++this.#lastCorrelation;
    poll.state = 'forwarded';
    poll.forwardCorrelation = correlation;
    queue.forwardedPolls++;
    this.#polls.set(correlation, poll);
    this.parts.deadlines.set(poll, this.deadlineOf(poll));
    const command = { ...poll.command, queue: queue.parent, deadlineMs: poll.deadlineMs, forwardedFrom: queue.queue.partition };
    this.parts.decision.act({ kind: 'forwardPoll', correlation, command });
    return true;
  }

  /** The parent keeps to the poll's own deadline; its answer needs time to get here. */
  deadlineOf(poll: Poll): number {
    return poll.deadlineMs + 2 * this.parts.limits.startGraceMs;
  }

  forwardWaitingPolls(queue: LoadedQueue): void {
    while (queue.waitingPolls.first !== undefined && this.#mayForwardPoll(queue)) {
      const poll = queue.waitingPolls.shift();
      if (poll !== undefined) this.forwardPoll(poll);
    }
  }

  /** The caller is gone. The poll stays known here until the answer comes: it may bring a task. */
  cancelPoll(poll: Poll): void {
    this.parts.decision.act({ kind: 'cancelForwardedPoll', correlation: poll.forwardCorrelation });
    poll.queue.forwardedPolls--;
    this.forwardWaitingPolls(poll.queue);
  }

  pollAnswered(correlation: number): Poll | undefined {
    const poll = this.#polls.get(correlation);
    this.#polls.delete(correlation);
    if (poll?.state === 'forwarded') poll.queue.forwardedPolls--;
    return poll;
  }

  /** Matched there now, or handed back. False: there is no use in trying. */
  forwardNewTask(offer: Offer): boolean {
    const { queue } = offer;
    if (queue.parent === undefined || queue.forwardDueMs !== 0) return false;
    if (this.parts.windows.first(queue) !== undefined || queue.lanes.rest > 0) return false;
    if (this.#newTasks.size >= this.parts.limits.forwardedAddsMax) return false;
    this.#newTasks.add(this.#forwardTask({ offer, shownMs: this.parts.decision.nowMs, holdUntilMs: 0, lane: undefined }));
    return true;
  }

  /** The first stored tasks of each priority, and one of each key, wait at the parent for polls of others; it drops expired ones. */
  offerBacklog(queue: LoadedQueue): void {
    if (queue.parent === undefined || queue.forwardDueMs !== 0) return;
    for (const level of queue.lanes.levels) {
      while (level.offeredTasks < this.parts.limits.offeredTasksMax) {
        const lane = this.parts.windows.firstLane(queue, level);
        if (lane === undefined) break;
        this.#offerFirst(queue, level, lane);
      }
      for (const lane of level.unseen) this.#offerFirst(queue, level, lane);
    }
  }

  #offerFirst(queue: LoadedQueue, level: Level<Offer>, lane: Lane<Offer>): void {
    const offer = lane.offers.first;
    if (offer === undefined) return;
    const { decision, deadlines, limits } = this.parts;
    queue.lanes.remove(offer, lane, true);
    level.atParent(lane);
    // The hold of one that a child has lent is the parent's now.
    deadlines.remove(offer);
    const holdUntilMs = decision.nowMs + limits.offerHoldMs;
    const untilMs = offer.isLent ? Math.min(holdUntilMs, offer.holdUntilMs) : holdUntilMs;
    this.#forwardTask({ offer, shownMs: decision.nowMs, holdUntilMs: untilMs, lane });
  }

  taskAnswered(correlation: number): AtParent | undefined {
    const known = this.#tasks.get(correlation);
    this.#tasks.delete(correlation);
    this.#newTasks.delete(correlation);
    const lane = known?.lane;
    lane?.level.backFromParent(lane);
    return known;
  }

  /** Nobody took it there. Not after a hold of some length: a thousand that end one after the other would keep all from the parent for a minute. */
  handedBack({ offer: { queue }, shownMs, holdUntilMs }: AtParent, outcome: 'noMatch' | 'unavailable'): void {
    const wasHeld = holdUntilMs > 0 && this.parts.decision.nowMs >= shownMs + (holdUntilMs - shownMs) / 2;
    if (outcome === 'unavailable' || !wasHeld) this.pauseForwarding(queue);
  }

  /** After something was handed back: without a pause the two partitions would hand it to and fro as fast as they can. */
  pauseForwarding(queue: LoadedQueue): void {
    if (queue.forwardDueMs !== 0) return;
    queue.forwardDueMs = this.parts.decision.nowMs + this.parts.limits.forwardRetryMs;
    armQueue(this.parts, queue);
  }

  #mayForwardPoll(queue: LoadedQueue): boolean {
    if (queue.parent === undefined || queue.forwardDueMs !== 0) return false;
    return queue.matchesAtParent || queue.forwardedPolls < this.parts.limits.forwardedPollsMax;
  }

  /** Answers the correlation. */
  #forwardTask(atParent: AtParent): number {
    const { offer, holdUntilMs } = atParent;
    const { queue } = offer;
    assert(queue.parent !== undefined, 'a task is offered to a parent');
    const correlation = ++this.#lastCorrelation;
    offer.state = 'forwarded';
    this.#tasks.set(correlation, atParent);
    const kind = taskTypes[queue.queue.taskType].add;
    const command = { kind, queue: queue.parent, task: offer.task, forwardedFrom: queue.queue.partition, holdUntilMs } as const;
    this.parts.decision.act({ kind: 'forwardTask', correlation, command });
    return correlation;
  }
}
