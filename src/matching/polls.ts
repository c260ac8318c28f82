/**
 * The life of a poll, from its ask to its one answer.
 *
 *   poll ──▶ a query waits? ───────────▶ answered with it
 *            an offer may go out? ─────▶ its start is asked (start-answers.ts)
 *            waits at the parent, or here, until something comes or its time is over
 */
import type { ForwardedPollAnswered, PollTask } from './matching-commands.ts';
import { type HostParts, Life, type LoadedQueue, Poll } from './loaded-queue.ts';
import type { Offers } from './offers.ts';
import type { Forwarding } from './forwarding.ts';
import type { Queries } from './queries.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Starts } from './starts.ts';
import { tooManyPolls } from './rejections.ts';
import type { EmptyPoll, MatchingReply } from './matching-replies.ts';
import { StoppedWorkers } from './stopped-workers.ts';
import type { TaskQueuePartition } from '../kernel/task-queue.ts';

const emptyPoll: EmptyPoll = { kind: 'emptyPoll' };

type PollsParts<T> = HostParts<T> & {
  readonly rateLimit: RateLimit<T>;
  readonly forwarding: Forwarding<T>;
  readonly starts: Starts<T>;
  readonly offers: Offers<T>;
  readonly queries: Queries<T>;
};

export class Polls<T> extends Life<PollsParts<T>> {
  readonly #stopped = new StoppedWorkers<T>(this.parts);
  readonly #byAsk = new Map<number, Poll>();
  /** The server stops: no poll waits any more. */
  #ending = false;

  get(askId: number): Poll | undefined {
    return this.#byAsk.get(askId);
  }

  // ── From the ask to work ──────────────────────────────────────────────────────────────────────────────────────────────────────

  open(queue: LoadedQueue, command: PollTask, askId: number): void {
    const { decision, deadlines, limits } = this.parts;
    if (this.#ending || this.#comesLate(queue, command) || command.deadlineMs <= decision.nowMs) return decision.reply(askId, emptyPoll);
    const sameRequest = queue.polls.get(command.pollRequestId);
    if (sameRequest !== undefined) return this.#takeOver(sameRequest, command, askId);
    if (queue.polls.size >= limits.pollsPerQueueMax) return decision.reply(askId, tooManyPolls(limits));

    queue.shutDown = false;
    queue.pollBegan(command.identity, command.maxTasksPerSecond, decision.nowMs);
    const { maxTasksPerSecond } = command;
    if (maxTasksPerSecond !== undefined && this.parts.rateLimit.set(queue, maxTasksPerSecond)) this.rateChanged(queue);
    const poll = new Poll(queue, command, askId);
    queue.polls.set(command.pollRequestId, poll);
    this.#byAsk.set(askId, poll);
    deadlines.set(poll, poll.deadlineMs);
    if (!this.#findWork(poll)) queue.waitingPolls.push(poll);
  }

  #comesLate(queue: LoadedQueue, { workerInstanceKey }: Poll['command']): boolean {
    return queue.isShutDownBy(workerInstanceKey) || this.#stopped.has(queue.queue, workerInstanceKey);
  }

  /** A poll that is asked again replaces the earlier one: that caller has given up, and the later one gets the task. */
  #takeOver(poll: Poll, command: PollTask, askId: number): void {
    this.parts.decision.reply(poll.askId, emptyPoll);
    this.#byAsk.delete(poll.askId);
    poll.askId = askId;
    poll.deadlineMs = command.deadlineMs;
    this.#byAsk.set(askId, poll);
    this.parts.deadlines.set(poll, poll.state === 'forwarded' ? this.parts.forwarding.deadlineOf(poll) : poll.deadlineMs);
  }

  rateChanged(queue: LoadedQueue): void {
    this.parts.forwarding.forwardWaitingPolls(queue);
    this.parts.offers.startWaiting(queue);
  }

  /** False: nothing to do here or at the parent; the caller lets the poll wait. */
  #findWork(poll: Poll): boolean {
    const { queue } = poll;
    const query = queue.waitingQueries.first;
    if (query !== undefined) {
      this.answer(poll, this.parts.queries.give(query));
      return true;
    }
    const offer = this.parts.offers.take(queue);
    if (offer !== undefined) {
      this.parts.starts.ask(offer, poll);
      return true;
    }
    return this.parts.forwarding.forwardPoll(poll);
  }

  /** The start that the poll waited for came to nothing. */
  findOtherWork(poll: Poll): void {
    if (this.#comesLate(poll.queue, poll.command)) return this.answer(poll, emptyPoll);
    if (!this.#findWork(poll)) this.#waitAgain(poll);
  }

  #waitAgain(poll: Poll): void {
    if (this.#ending) return this.answer(poll, emptyPoll);
    poll.state = 'waiting';
    poll.queue.waitingPolls.unshift(poll);
  }

  parentAnswered({ correlation, outcome }: ForwardedPollAnswered<T>): void {
    const poll = this.parts.forwarding.pollAnswered(correlation);
    if (poll === undefined) return;
    const { queue } = poll;
    if (poll.state !== 'forwarded') {
      // The poll ended before the parent's answer came: a start is taken back, and a query runs into its deadline.
      if (outcome.kind === 'task') this.parts.starts.takeBack(outcome.origin, poll);
      return;
    }
    if (outcome.kind === 'unavailable') {
      this.parts.deadlines.set(poll, poll.deadlineMs);
      this.#waitAgain(poll);
      this.parts.forwarding.pauseForwarding(queue);
      this.parts.offers.startWaiting(queue);
    } else {
      this.answer(poll, outcome);
      this.parts.forwarding.forwardWaitingPolls(queue);
    }
  }

  // ── End ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  answer(poll: Poll, reply: MatchingReply<T>): void {
    this.parts.decision.reply(poll.askId, reply);
    this.#end(poll);
  }

  due(poll: Poll): void {
    const { decision, deadlines, limits } = this.parts;
    // History usually answers within milliseconds; a workflow task that is started for nobody costs its whole timeout.
    if (poll.state === 'starting' && poll.offer?.state === 'starting' && decision.nowMs < poll.deadlineMs + limits.startGraceMs) {
      deadlines.set(poll, poll.deadlineMs + limits.startGraceMs);
      return;
    }
    this.#endEmpty(poll);
  }

  /** Nobody waits for this poll any more, or its time is over. A start under way is dealt with when history answers. */
  abandon(poll: Poll): void {
    const { offer } = poll;
    const wasForwarded = poll.state === 'forwarded';
    this.#end(poll);
    if (wasForwarded) {
      this.parts.forwarding.cancelPoll(poll);
    } else if (offer?.state === 'retrying') {
      this.parts.deadlines.remove(offer);
      this.parts.starts.withdraw(offer, poll);
      this.parts.offers.offerAgain(offer);
    }
  }

  /** A poll whose start is under way gets its task: else that waits for its timeout. One that history could not answer gives it up. */
  endOfWorker(partition: TaskQueuePartition, queue: LoadedQueue | undefined, workerInstanceKey: string): void {
    this.#stopped.add(partition, workerInstanceKey);
    if (queue === undefined) return;
    for (const state of ['waiting', 'forwarded'] as const) {
      for (const poll of queue.polls.values()) {
        if (poll.command.workerInstanceKey === workerInstanceKey && poll.state === state) this.#endEmpty(poll);
      }
    }
    // Behind the others: what they let go of is for none of these.
    for (const poll of queue.polls.values()) {
      if (poll.command.workerInstanceKey === workerInstanceKey && poll.offer?.state === 'retrying') this.#endEmpty(poll);
    }
  }

  /** The start that the poll waits for is to be asked again. */
  endIfStopped(poll: Poll): void {
    if (this.#comesLate(poll.queue, poll.command)) this.#endEmpty(poll);
  }

  /** Ends polls for good, as the server stops. A forwarded poll is answered by its parent, which ends its polls as well. */
  endAll(queues: Iterable<LoadedQueue>): void {
    this.#ending = true;
    for (const queue of queues) {
      for (const poll of queue.polls.values()) if (poll.state === 'waiting') this.answer(poll, emptyPoll);
    }
  }

  /** The least that must be done for a poll whose caller is gone, when more would throw: no task meets it any more. */
  forget(poll: Poll): void {
    poll.state = 'gone';
    this.#byAsk.delete(poll.askId);
    if (poll.linked) poll.queue.waitingPolls.remove(poll);
  }

  #endEmpty(poll: Poll): void {
    this.parts.decision.reply(poll.askId, emptyPoll);
    this.abandon(poll);
  }

  #end(poll: Poll): void {
    const { queue } = poll;
    poll.state = 'gone';
    this.#byAsk.delete(poll.askId);
    queue.polls.delete(poll.command.pollRequestId);
    queue.pollEnded(poll.command.identity, this.parts.decision.nowMs);
    this.parts.deadlines.remove(poll);
    if (poll.linked) queue.waitingPolls.remove(poll);
  }
}
