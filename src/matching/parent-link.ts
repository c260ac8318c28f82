/**
 * The way from a child partition to its parent. Polls wait there, because any task may come there; tasks are tried there before they are
 * stored, and the first stored ones are held there as well.
 */
import type { DeadlineHeap } from './deadline-heap.ts';
import type { DueNode, Offer, Poll } from './entries.ts';
import type { MatchingLimits } from './limits.ts';
import type { LoadedQueue } from './loaded-queue.ts';
import type { Decision } from './decision.ts';

export class ParentLink<T> {
  readonly #decision: Decision<T>;
  readonly #deadlines: DeadlineHeap<DueNode>;
  readonly #limits: MatchingLimits;
  /** What the shell still owes an answer to, by correlation. */
  readonly #polls = new Map<number, Poll>();
  readonly #tasks = new Map<number, Offer>();
  #lastCorrelation: number;

  constructor(decision: Decision<T>, deadlines: DeadlineHeap<DueNode>, limits: MatchingLimits, firstCorrelation: number) {
    this.#decision = decision;
    this.#deadlines = deadlines;
    this.#limits = limits;
    this.#lastCorrelation = firstCorrelation;
  }

  /** False: there is no parent, it is left alone for now, or enough polls of this queue wait there. */
  forwardPoll(poll: Poll): boolean {
    const { queue } = poll;
    if (!this.#mayForwardPoll(queue) || queue.parent === undefined) return false;
    const correlation = ++this.#lastCorrelation;
    poll.state = 'forwarded';
    poll.correlation = correlation;
    queue.forwardedPolls++;
    this.#polls.set(correlation, poll);
    this.#deadlines.set(poll, this.deadlineOf(poll));
    const command = { ...poll.command, queue: queue.parent, deadlineMs: poll.deadlineMs, forwardedFrom: queue.queue.partition };
    this.#decision.act({ kind: 'forwardPoll', correlation, command });
    return true;
  }

  /** The parent keeps to the poll's own deadline; its answer needs time to get here. */
  deadlineOf(poll: Poll): number {
    return poll.deadlineMs + 2 * this.#limits.startGraceMs;
  }

  forwardWaitingPolls(queue: LoadedQueue): void {
    while (queue.waitingPolls.first !== undefined && this.#mayForwardPoll(queue)) {
      const poll = queue.waitingPolls.shift();
      if (poll !== undefined) this.forwardPoll(poll);
    }
  }

  /** Its caller is gone. The poll stays known here until the answer comes: it may bring a task. */
  cancelPoll(poll: Poll): void {
    this.#decision.act({ kind: 'cancelForwardedPoll', correlation: poll.correlation });
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
    if (queue.parent === undefined || queue.forwardDueMs !== 0 || queue.offers.first !== undefined) return false;
    if (this.#tasks.size >= this.#limits.forwardedAddsMax) return false;
    this.#forwardTask(offer, 0);
    return true;
  }

  /** The first few stored tasks wait at the parent: polls may come anywhere else only. An expired one is dropped there. */
  offerBacklog(queue: LoadedQueue): void {
    if (queue.parent === undefined || queue.forwardDueMs !== 0) return;
    while (queue.offeredTasks < this.#limits.offeredTasksMax) {
      const offer = queue.offers.shift();
      if (offer === undefined) return;
      queue.offeredTasks++;
      this.#forwardTask(offer, this.#decision.nowMs + this.#limits.offerHoldMs);
    }
  }

  taskAnswered(correlation: number): Offer | undefined {
    const offer = this.#tasks.get(correlation);
    this.#tasks.delete(correlation);
    if (offer !== undefined && offer.storedId > 0) offer.queue.offeredTasks--;
    return offer;
  }

  /** After something was handed back: without a pause the two partitions would hand it to and fro as fast as they can. */
  leaveAlone(queue: LoadedQueue): void {
    queue.forwardDueMs = this.#decision.nowMs + this.#limits.forwardRetryMs;
    this.#deadlines.set(queue, queue.nextDueMs(this.#limits.queueIdleMs));
  }

  #mayForwardPoll(queue: LoadedQueue): boolean {
    if (queue.parent === undefined || queue.forwardDueMs !== 0) return false;
    return queue.matchesAtParent || queue.forwardedPolls < this.#limits.forwardedPollsMax;
  }

  #forwardTask(offer: Offer, holdUntilMs: number): void {
    const { queue } = offer;
    if (queue.parent === undefined) return;
    const correlation = ++this.#lastCorrelation;
    offer.state = 'forwarded';
    this.#tasks.set(correlation, offer);
    const kind = queue.queue.taskType === 'workflow' ? 'addWorkflowTask' : 'addActivityTask';
    const command = { kind, queue: queue.parent, task: offer.task, forwardedFrom: queue.queue.partition, holdUntilMs } as const;
    this.#decision.act({ kind: 'forwardTask', correlation, command });
  }
}
