/** The starts that history is asked for: one offer and the poll that holds it, until history's answer parts them. */
import { taskTypes } from '../kernel/task-queue.ts';
import { type HostParts, Life, type Offer, type Poll } from './loaded-queue.ts';
import type { RateLimit } from './rate-limit.ts';
import type { MatchingTask } from './matching-tasks.ts';

type StartsParts<T> = HostParts<T> & { readonly rateLimit: RateLimit<T> };

export class Starts<T> extends Life<StartsParts<T>> {
  /** What the shell still owes an answer to, by correlation. */
  readonly #offers = new Map<number, Offer>();
  #lastCorrelation: number;

  constructor(parts: StartsParts<T>, firstCorrelation: number) {
    super(parts);
    this.#lastCorrelation = firstCorrelation;
  }

  get size(): number {
    return this.#offers.size;
  }

  /** The first try, or another one of the same pair. */
  ask(offer: Offer, poll: Poll): void {
    const correlation = ++this.#lastCorrelation;
    offer.state = 'starting';
    offer.poll = poll;
    poll.state = 'starting';
    poll.offer = offer;
    this.#offers.set(correlation, offer);
    // The withdrawal leaves when its own decision is committed; overtaken by this start, it would take this one back.
    if (poll.hasWithdrawn) this.parts.decision.barrier = true;
    const { pollRequestId, identity, workerVersion } = poll.command;
    const { queue } = poll.queue;
    this.parts.decision.act({ kind: 'startTask', correlation, queue, task: offer.task, pollRequestId, identity, workerVersion });
  }

  /** The offer that this answer is for. Undefined: it was asked before a takeover, or is answered already. */
  answered(correlation: number): Offer | undefined {
    const offer = this.#offers.get(correlation);
    this.#offers.delete(correlation);
    return offer;
  }

  /** The offer is free again, with no try behind it. */
  part(offer: Offer, poll: Poll): void {
    offer.poll = undefined;
    offer.retries = 0;
    poll.offer = undefined;
  }

  /** The task has reached nobody: whoever gets it takes a token of its own. */
  withdraw(offer: Offer, poll: Poll): void {
    this.takeBack(offer.task, poll);
    this.part(offer, poll);
    this.parts.rateLimit.giveBack(offer);
  }

  /** Has history withdraw the start that it recorded, or may have recorded. */
  takeBack(task: MatchingTask, poll: Poll): void {
    if (!taskTypes[poll.queue.queue.taskType].takesBackStarts) return;
    const { historyShard, key, scheduledEventId } = task;
    const { pollRequestId } = poll.command;
    poll.hasWithdrawn = true;
    this.parts.decision.act({ kind: 'withdrawActivityStart', historyShard, key, scheduledEventId, pollRequestId });
  }
}
