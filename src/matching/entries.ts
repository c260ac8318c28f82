/**
 * What waits in a matching host's memory. One object each, of one shape, that sits in a list and in the deadline heap by its own links.
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
import type { DispatchQuery, PollActivityTask, PollWorkflowTask } from './commands.ts';
import type { MatchingTask } from './tasks.ts';
import type { Due } from './deadline-heap.ts';
import type { Linked } from '../kernel/linked-list.ts';
import type { LoadedQueue } from './loaded-queue.ts';

export type DueNode = Poll | Offer | WaitingQuery | LoadedQueue;

/** `askId` of an offer that nobody waits for any more. */
export const noAsk = -1;

export class Poll implements Due, Linked<Poll> {
  readonly node = 'poll';
  readonly queue: LoadedQueue;
  readonly command: PollWorkflowTask | PollActivityTask;
  askId: number;
  deadlineMs: number;
  state: 'waiting' | 'starting' | 'forwarded' | 'gone' = 'waiting';
  offer: Offer | undefined = undefined;
  forwardCorrelation = 0;
  prev: Poll | undefined = undefined;
  next: Poll | undefined = undefined;
  linked = false;
  dueMs = 0;
  dueOrder = 0;
  heapIndex = -1;

  constructor(queue: LoadedQueue, command: PollWorkflowTask | PollActivityTask, askId: number) {
    this.queue = queue;
    this.command = command;
    this.askId = askId;
    this.deadlineMs = command.deadlineMs;
  }
}

export type Arrival = {
  readonly order: number;
  readonly sinceMs: number;
  readonly askId: number;
  readonly fromChild: boolean;
  readonly holdUntilMs: number;
};

export class Offer implements Due, Linked<Offer> {
  readonly node = 'offer';
  readonly queue: LoadedQueue;
  readonly task: MatchingTask;
  /** Place in the queue; rises with arrival. */
  order: number;
  /** Id in the journal; 0 = in memory only. */
  storedId = 0;
  /** Arrival, or when it was stored. */
  readonly sinceMs: number;
  /** Whom to tell when the task needs no more care. */
  askId: number;
  /** A child's: matched here or handed back, never stored. */
  readonly fromChild: boolean;
  /** Until when a child's offer is held here; 0 = handed back at once. */
  readonly holdUntilMs: number;
  state: 'waiting' | 'starting' | 'retrying' | 'resting' | 'forwarded' | 'done' = 'waiting';
  poll: Poll | undefined = undefined;
  /** Starts in a row that history could not answer. */
  retries = 0;
  /** Starts in a row that were refused because the shard is not served. */
  rests = 0;
  prev: Offer | undefined = undefined;
  next: Offer | undefined = undefined;
  linked = false;
  dueMs = 0;
  dueOrder = 0;
  heapIndex = -1;

  constructor(queue: LoadedQueue, task: MatchingTask, arrival: Arrival) {
    this.queue = queue;
    this.task = task;
    this.order = arrival.order;
    this.sinceMs = arrival.sinceMs;
    this.askId = arrival.askId;
    this.fromChild = arrival.fromChild;
    this.holdUntilMs = arrival.holdUntilMs;
  }
}

export class WaitingQuery implements Due, Linked<WaitingQuery> {
  readonly node = 'query';
  readonly queue: LoadedQueue;
  readonly command: DispatchQuery;
  readonly askId: number;
  prev: WaitingQuery | undefined = undefined;
  next: WaitingQuery | undefined = undefined;
  /** True while no poll has taken it. */
  linked = false;
  dueMs = 0;
  dueOrder = 0;
  heapIndex = -1;

  constructor(queue: LoadedQueue, command: DispatchQuery, askId: number) {
    this.queue = queue;
    this.command = command;
    this.askId = askId;
  }
}

/** Equal for two copies of one task. */
export function taskIdentity(task: MatchingTask): string {
  return `${task.key.runId}/${task.scheduledEventId}/${task.stamp}/${task.key.workflowId}`;
}

export function isLaterOffer(other: Offer, offer: Offer): boolean {
  return other.order > offer.order;
}
