/**
 * What history made of a start, for the poll and for the offer.
 *
 *              the poll still waits                              its caller is gone
 *   started      answered with the task; the offer is finished     withdrawn (activities); the offer is finished
 *   obsolete     looks for other work; the offer is finished       the offer is finished
 *   refused      looks for other work; the offer rests             the offer rests
 *   unavailable  holds the offer; asked again after a pause        withdrawn (activities); offered again
 */
import { backOffMs } from '../kernel/back-off.ts';
import { unreachable } from '../kernel/assert.ts';
import type { StartOutcome, TaskStartAnswered } from './matching-commands.ts';
import { type HostParts, Life, type Offer, type Poll } from './loaded-queue.ts';
import type { Offers } from './offers.ts';
import type { Polls } from './polls.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Starts } from './starts.ts';

type StartAnswersParts<T> = HostParts<T> & {
  readonly rateLimit: RateLimit<T>;
  readonly starts: Starts<T>;
  readonly offers: Offers<T>;
  readonly polls: Polls<T>;
};

export class StartAnswers<T> extends Life<StartAnswersParts<T>> {
  settle({ correlation, outcome }: TaskStartAnswered<T>): void {
    const offer = this.parts.starts.answered(correlation);
    const poll = offer?.poll;
    if (offer === undefined || poll === undefined) return;
    try {
      this.#decide(offer, poll, outcome);
    } catch (error) {
      this.#afterError(offer, poll, outcome);
      throw error;
    }
  }

  #decide(offer: Offer, poll: Poll, outcome: StartOutcome<T>): void {
    switch (outcome.kind) {
      case 'started':
        return this.#started(offer, poll, outcome.task);
      case 'obsolete':
        this.parts.starts.part(offer, poll);
        this.parts.rateLimit.giveBack(offer);
        this.parts.offers.finish(offer);
        if (poll.state !== 'gone') this.parts.polls.findOtherWork(poll);
        return;
      case 'refused':
        return this.#refused(offer, poll);
      case 'unavailable':
        return this.#unavailable(offer, poll);
      default:
        return unreachable(outcome);
    }
  }

  #started(offer: Offer, poll: Poll, task: T): void {
    if (poll.state === 'gone') {
      // History offers a withdrawn activity again by itself, under a new stamp; this copy is of no more use.
      this.parts.starts.withdraw(offer, poll);
      return this.parts.offers.finish(offer);
    }
    const { pollRequestId } = poll.command;
    offer.queue.countTask(offer, 'dispatched', this.parts.decision.nowMs);
    this.parts.starts.part(offer, poll);
    this.parts.offers.finish(offer);
    const backlogCountHint = offer.queue.lanes.stored;
    this.parts.polls.answer(poll, { kind: 'task', task, origin: offer.task, pollRequestId, backlogCountHint });
  }

  #refused(offer: Offer, poll: Poll): void {
    // An earlier try of the same poll may have started it.
    if (offer.retries > 0) this.parts.starts.withdraw(offer, poll);
    else {
      this.parts.starts.part(offer, poll);
      this.parts.rateLimit.giveBack(offer);
    }
    this.parts.offers.rest(offer);
    if (poll.state !== 'gone') this.parts.polls.findOtherWork(poll);
  }

  #unavailable(offer: Offer, poll: Poll): void {
    if (poll.state === 'gone') {
      this.parts.starts.withdraw(offer, poll);
      return this.parts.offers.offerAgain(offer);
    }
    const { decision, deadlines, limits } = this.parts;
    offer.state = 'retrying';
    deadlines.set(offer, decision.nowMs + backOffMs(++offer.retries, limits.startRetryFirstMs, limits.startRetryMaxMs));
    this.parts.polls.endIfStopped(poll);
  }

  /** Handling the answer threw. Without another try the task would wait for a new owner, and a start that was recorded for its timeout. */
  #afterError(offer: Offer, poll: Poll, outcome: StartOutcome<T>): void {
    const startedAgain = offer.poll !== undefined && offer.poll !== poll;
    if (offer.state !== 'starting' || startedAgain) return;
    this.parts.starts.part(offer, poll);
    this.parts.offers.restFor(offer, this.parts.limits.brokenRetryMs);
    if (outcome.kind === 'started') this.parts.starts.takeBack(offer.task, poll);
  }
}
