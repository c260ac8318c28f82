/**
 * The pure core of one matching host: polls meet tasks.
 *
 *   add ──▶ a poll waits? ──yes──▶ startTask ──▶ history records the start ──▶ poll answered, add answered
 *              │ no
 *              ▼
 *           a child partition tries its parent ──taken──▶ add answered
 *              │ not taken
 *              ▼
 *           spilled: one record, then add answered; offered to later polls, and by a child to its parent
 *
 * A task that meets a waiting poll never touches the journal: its add is answered only when history has recorded the start, so until
 * then history itself keeps it. Polls, queries and the tasks of sticky queues live in memory only.
 *
 * What one poll and one task may not do is meet twice. So a poll whose caller is gone while its start is under way keeps its offer until
 * history answers. If it was started, the start is withdrawn and history offers it again (activities), or it is left to its timeout
 * (workflow tasks); if that is not known, the start is withdrawn and the task is offered here again; history refuses one of two copies.
 */
import { unreachable } from '../kernel/assert.ts';
import { Backlog } from './backlog.ts';
import type {
  AddActivityTask,
  AddWorkflowTask,
  DescribeTaskQueue,
  DispatchQuery,
  ForwardedPollAnswered,
  ForwardedTaskAnswered,
  MatchingCommand,
  PollActivityTask,
  PollWorkflowTask,
  ShutdownWorker,
  StartOutcome,
  TaskStartAnswered,
} from './commands.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import { isLaterOffer, noAsk, Offer, Poll, taskIdentity, type DueNode } from './entries.ts';
import { matchingLimits, type MatchingLimits } from './limits.ts';
import { LoadedQueue } from './loaded-queue.ts';
import { LoadedQueues } from './loaded-queues.ts';
import { ParentLink } from './parent-link.ts';
import { QueryDesk } from './query-desk.ts';
import type { MatchingRecord } from './records.ts';
import { backlogFull, tooManyPolls, tooManyQueues } from './rejections.ts';
import type { Done, EmptyPoll, MatchingReply, NoMatch, StickyUnavailable } from './replies.ts';
import { taskQueuePartitionKey, type TaskQueuePartition } from './task-queue.ts';
import { TokenBucket } from './token-bucket.ts';
import { Decision, type MatchingHandled } from './decision.ts';

const done: Done = { kind: 'done' };
const emptyPoll: EmptyPoll = { kind: 'emptyPoll' };
const noMatch: NoMatch = { kind: 'noMatch' };
const stickyUnavailable: StickyUnavailable = { kind: 'stickyUnavailable' };
const noRemovals: readonly number[] = [];

export class MatchingCore<T> {
  readonly #backlog = new Backlog();

  readonly #queues: LoadedQueues;
  /** Open polls by ask. */
  readonly #asks = new Map<number, Poll>();
  /** What the shell still owes an answer to, by correlation. */
  readonly #starts = new Map<number, Offer>();
  readonly #deadlines = new DeadlineHeap<DueNode>();
  readonly #decision = new Decision<T>();
  readonly #queries: QueryDesk<T>;
  readonly #parent: ParentLink<T>;
  /** The server stops: no poll waits any more. */
  #ending = false;
  #lastCorrelation: number;
  #lastOrder = 0;
  /** Ahead of the backlog's own while a command stores more than one task. */
  #lastStoredId = 0;
  /** Ids of stored tasks that are done and not yet journaled as such. */
  #removals: number[] = [];
  #flushDueMs = 0;

  /** The removals go with this command. */
  #flush = false;

  readonly #limits: MatchingLimits;

  /** Correlations count on from the first: an answer that was meant for an earlier memory of the partition must meet none of this one's. */
  constructor(options: { readonly firstCorrelation: number; readonly limits?: Partial<MatchingLimits> }) {
    this.#lastCorrelation = options.firstCorrelation;
    this.#limits = { ...matchingLimits, ...options.limits };
    this.#queues = new LoadedQueues(this.#limits);
    this.#queries = new QueryDesk(this.#decision, this.#deadlines, this.#limits);
    this.#parent = new ParentLink(this.#decision, this.#deadlines, this.#limits, options.firstCorrelation);
  }

  handle(command: MatchingCommand<T>, nowMs: number, askId: number): MatchingHandled<T> {
    this.#begin(nowMs);
    try {
      this.#decide(command, askId);
    } catch (error) {
      this.#broke(command, askId, error);
    }
    return this.#end();
  }

  #decide(command: MatchingCommand<T>, askId: number): void {
    switch (command.kind) {
      case 'pollWorkflowTask':
      case 'pollActivityTask':
        this.#poll(command, askId);
        break;
      case 'addWorkflowTask':
      case 'addActivityTask':
        this.#add(command, askId);
        break;
      case 'dispatchQuery':
        this.#dispatchQuery(command, askId);
        break;
      case 'answerQuery':
        this.#queries.answer(command, askId);
        break;
      case 'describeTaskQueue':
        this.#describe(command, askId);
        break;
      case 'shutdownWorker':
        this.#shutdownWorker(command, askId);
        break;
      case 'taskStartAnswered':
        this.#taskStartAnswered(command);
        break;
      case 'forwardedPollAnswered':
        this.#forwardedPollAnswered(command);
        break;
      case 'forwardedTaskAnswered':
        this.#forwardedTaskAnswered(command);
        break;
      case 'tick':
        break;
      case 'flushRemovals':
        this.#flush = true;
        break;
      case 'endPolls':
        this.#endPolls();
        break;
      case 'activate':
        for (const stored of this.#backlog.queues.values()) this.#load(stored.queue);
        break;
      default:
        unreachable(command);
    }
  }

  evolve(record: MatchingRecord): void {
    this.#backlog.evolve(record);
  }

  cancel(askId: number, nowMs: number): MatchingHandled<T> {
    this.#begin(nowMs);
    const poll = this.#asks.get(askId);
    try {
      if (poll === undefined) this.#queries.cancel(askId);
      else this.#abandonPoll(poll);
    } catch (error) {
      this.#decision.act({ kind: 'broken', askId: 0, what: 'cancel', queue: poll?.queue.queue, error });
    }
    return this.#end();
  }

  /** When the shell should send `tick`; undefined = nothing is due, ever. */
  nextDeadline(): number | undefined {
    const first = this.#deadlines.first();
    if (first === undefined) return this.#flushDueMs === 0 ? undefined : this.#flushDueMs;
    return this.#flushDueMs === 0 ? first.dueMs : Math.min(first.dueMs, this.#flushDueMs);
  }

  /** For tests and checkpoints: equal for equal durable states. */
  canonicalState(): string {
    return this.#backlog.canonical();
  }

  /** For people and metrics. */
  counts(): { readonly queues: number; readonly polls: number; readonly storedTasks: number; readonly startsUnderWay: number } {
    let polls = 0;
    for (const queue of this.#queues.values()) polls += queue.polls.size;
    return { queues: this.#queues.size, polls, storedTasks: this.#backlog.size, startsUnderWay: this.#starts.size };
  }

  #begin(nowMs: number): void {
    this.#decision.begin(nowMs);
    this.#flush = false;
    let first = this.#deadlines.first();
    // The rest is due still: the next command, or a tick of its own, goes on with it.
    for (let looks = 0; first !== undefined && first.dueMs <= nowMs && looks < this.#limits.duePerCommandMax; looks++) {
      this.#deadlines.remove(first);
      try {
        this.#due(first);
      } catch (error) {
        const queue = first.node === 'queue' ? first.queue : first.queue.queue;
        this.#decision.act({ kind: 'broken', askId: 0, what: first.node, queue, error });
        if (first.node === 'poll') this.#giveUp(first);
        else this.#deadlines.set(first, nowMs + this.#limits.brokenRetryMs);
      }
      first = this.#deadlines.first();
    }
    if (this.#flushDueMs !== 0 && this.#flushDueMs <= nowMs) this.#flush = true;
  }

  /** What it has half done stays so; whoever asked is told, and what was decided for others beside it is done. */
  #broke(command: MatchingCommand<T>, askId: number, error: unknown): void {
    this.#decision.act({ kind: 'broken', askId, what: command.kind, queue: 'queue' in command ? command.queue : undefined, error });
    const poll = this.#asks.get(askId);
    if (poll === undefined) return;
    try {
      this.#abandonPoll(poll);
    } catch {
      this.#giveUp(poll);
    }
  }

  /** No task must meet a poll whose caller is gone, whatever else cannot be done for it. */
  #giveUp(poll: Poll): void {
    poll.state = 'gone';
    this.#asks.delete(poll.askId);
    if (poll.linked) poll.queue.waitingPolls.remove(poll);
  }

  /** Removals travel with whatever is stored, or alone when they have waited long enough. */
  #end(): MatchingHandled<T> {
    const flush = this.#removals.length > 0 && (this.#flush || this.#decision.spilled.length > 0);
    if (!flush) return this.#decision.end(noRemovals);
    const removed = this.#removals.splice(0, this.#limits.removalsPerRecordMax);
    this.#flushDueMs = this.#removals.length > 0 ? this.#decision.nowMs + this.#limits.removalsFlushMs : 0;
    return this.#decision.end(removed);
  }

  // ── Polls ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #poll(command: PollWorkflowTask | PollActivityTask, askId: number): void {
    const queue = this.#load(command.queue);
    if (queue === undefined) return this.#decision.reply(askId, tooManyQueues);
    const ofStoppedWorker = queue.shutDown && queue.shutDownBy !== '' && queue.shutDownBy === command.workerInstanceKey;
    if (this.#ending || ofStoppedWorker || command.deadlineMs <= this.#decision.nowMs) return this.#decision.reply(askId, emptyPoll);
    const sameRequest = queue.polls.get(command.pollRequestId);
    if (sameRequest !== undefined) return this.#takeOver(sameRequest, command, askId);
    if (queue.polls.size >= this.#limits.pollsPerQueueMax) return this.#decision.reply(askId, tooManyPolls);

    queue.shutDown = false;
    queue.notePoll(command.identity, command.maxTasksPerSecond, this.#decision.nowMs);
    if (command.maxTasksPerSecond !== undefined) this.#setRate(queue, command.maxTasksPerSecond);
    const poll = new Poll(queue, command, askId);
    queue.polls.set(command.pollRequestId, poll);
    this.#asks.set(askId, poll);
    this.#deadlines.set(poll, poll.deadlineMs);
    if (!this.#findWork(poll)) queue.waitingPolls.push(poll);
  }

  /** The same poll asked again: the earlier caller has given up, the later one gets whatever comes. */
  #takeOver(poll: Poll, command: PollWorkflowTask | PollActivityTask, askId: number): void {
    this.#decision.reply(poll.askId, emptyPoll);
    this.#asks.delete(poll.askId);
    poll.askId = askId;
    poll.deadlineMs = command.deadlineMs;
    this.#asks.set(askId, poll);
    this.#deadlines.set(poll, poll.state === 'forwarded' ? this.#parent.deadlineOf(poll) : poll.deadlineMs);
  }

  /** False: nothing to do here or at the parent; the caller lets the poll wait. */
  #findWork(poll: Poll): boolean {
    const queue = poll.queue;
    const query = queue.waitingQueries.first;
    if (query !== undefined) {
      this.#answerPoll(poll, this.#queries.give(query));
      return true;
    }
    const offer = this.#takeOffer(queue);
    if (offer !== undefined) {
      this.#start(offer, poll);
      return true;
    }
    return this.#parent.forwardPoll(poll);
  }

  #answerPoll(poll: Poll, reply: MatchingReply<T>): void {
    this.#decision.reply(poll.askId, reply);
    this.#endPoll(poll);
  }

  /** Nobody waits for this poll any more, or its time is over. A start under way is dealt with when history answers. */
  #abandonPoll(poll: Poll): void {
    const offer = poll.offer;
    const wasForwarded = poll.state === 'forwarded';
    this.#endPoll(poll);
    if (wasForwarded) {
      this.#parent.cancelPoll(poll);
    } else if (offer?.state === 'retrying') {
      this.#deadlines.remove(offer);
      this.#withdraw(offer, poll);
      this.#offerAgain(offer);
    }
  }

  #endPoll(poll: Poll): void {
    const queue = poll.queue;
    poll.state = 'gone';
    this.#asks.delete(poll.askId);
    queue.polls.delete(poll.command.pollRequestId);
    queue.notePollEnd(poll.command.identity, this.#decision.nowMs);
    this.#deadlines.remove(poll);
    if (poll.linked) queue.waitingPolls.remove(poll);
  }

  #pollDue(poll: Poll): void {
    // History usually answers within milliseconds; a workflow task that is started for nobody costs its whole timeout.
    if (
      poll.state === 'starting' &&
      poll.offer?.state === 'starting' &&
      this.#decision.nowMs < poll.deadlineMs + this.#limits.startGraceMs
    ) {
      this.#deadlines.set(poll, poll.deadlineMs + this.#limits.startGraceMs);
      return;
    }
    this.#decision.reply(poll.askId, emptyPoll);
    this.#abandonPoll(poll);
  }

  // ── Tasks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #add(command: AddWorkflowTask | AddActivityTask, askId: number): void {
    if (command.queue.kind === 'sticky' && !this.#stickyAvailable(command.queue)) return this.#decision.reply(askId, stickyUnavailable);
    const queue = this.#load(command.queue);
    if (queue === undefined) return this.#decision.reply(askId, tooManyQueues);
    queue.openOffers++;
    const offer = new Offer(queue, command.task, {
      order: ++this.#lastOrder,
      sinceMs: this.#decision.nowMs,
      askId,
      fromChild: command.forwardedFrom !== undefined,
      holdUntilMs: command.holdUntilMs,
    });
    if (isExpired(offer, this.#decision.nowMs)) return this.#finish(offer);
    if (queue.offers.first === undefined) {
      const poll = this.#takePoll(queue);
      if (poll !== undefined) return this.#start(offer, poll);
    }
    if (!offer.fromChild && this.#parent.forwardNewTask(offer)) return;
    this.#keep(offer);
  }

  #stickyAvailable(partition: TaskQueuePartition): boolean {
    const queue = this.#queues.get(taskQueuePartitionKey(partition));
    return queue !== undefined && queue.polledWithin(this.#limits.stickyPollWindowMs, this.#decision.nowMs);
  }

  /** No poll takes it now: memory, the journal, or back to the child that it came from. */
  #keep(offer: Offer): void {
    const queue = offer.queue;
    if (offer.storedId > 0) {
      queue.offers.insert(offer, isLaterOffer);
      offer.state = 'waiting';
      this.#parent.offerBacklog(queue);
    } else if (queue.sticky) {
      if (queue.openOffers > this.#limits.memoryTasksPerQueueMax) return this.#drop(offer, stickyUnavailable);
      // Told at once: how long a worker may take is for history's schedule-to-start timer.
      this.#tell(offer, done);
      queue.offers.insert(offer, isLaterOffer);
      offer.state = 'waiting';
    } else if (offer.fromChild) {
      const room = queue.openOffers - queue.stored.size < this.#limits.memoryTasksPerQueueMax;
      if (offer.holdUntilMs <= this.#decision.nowMs || !room) return this.#drop(offer, noMatch);
      queue.offers.insert(offer, isLaterOffer);
      offer.state = 'waiting';
      this.#deadlines.set(offer, offer.holdUntilMs);
    } else {
      this.#spill(offer);
    }
  }

  #spill(offer: Offer): void {
    const queue = offer.queue;
    const identity = taskIdentity(offer.task);
    if (queue.stored.has(identity)) {
      // The copy's record may not be committed yet, and this answer rests on it.
      this.#decision.barrier = true;
      return this.#drop(offer, done);
    }
    if (queue.stored.size >= this.#limits.storedTasksPerQueueMax) return this.#drop(offer, backlogFull);
    const id = Math.max(this.#lastStoredId, this.#backlog.lastId) + 1;
    this.#lastStoredId = id;
    offer.storedId = id;
    offer.order = ++this.#lastOrder;
    offer.state = 'waiting';
    queue.stored.set(identity, offer);
    queue.offers.push(offer);
    this.#decision.spilled.push({ id, queue: queue.queue, task: offer.task });
    this.#tell(offer, done);
    this.#parent.offerBacklog(queue);
  }

  /** The first offer that may go out now, out of its list. */
  #takeOffer(queue: LoadedQueue): Offer | undefined {
    if (queue.matchesAtParent) return undefined;
    for (;;) {
      const offer = queue.offers.first;
      if (offer === undefined) return undefined;
      if (isExpired(offer, this.#decision.nowMs)) {
        queue.offers.remove(offer);
        this.#finish(offer);
        continue;
      }
      if (!this.#takeToken(queue)) return undefined;
      queue.offers.remove(offer);
      this.#deadlines.remove(offer);
      return offer;
    }
  }

  /** The poll that has waited longest, if a task may go out now, out of its list. */
  #takePoll(queue: LoadedQueue): Poll | undefined {
    if (queue.waitingPolls.first === undefined || queue.matchesAtParent || !this.#takeToken(queue)) return undefined;
    return queue.waitingPolls.shift();
  }

  #pump(queue: LoadedQueue): void {
    while (queue.waitingPolls.first !== undefined) {
      const offer = this.#takeOffer(queue);
      if (offer === undefined) return;
      const poll = queue.waitingPolls.shift();
      if (poll !== undefined) this.#start(offer, poll);
    }
  }

  #start(offer: Offer, poll: Poll): void {
    const correlation = ++this.#lastCorrelation;
    offer.state = 'starting';
    offer.poll = poll;
    poll.state = 'starting';
    poll.offer = offer;
    this.#starts.set(correlation, offer);
    const { pollRequestId, identity, workerVersion } = poll.command;
    this.#decision.act({
      kind: 'startTask',
      correlation,
      queue: poll.queue.queue,
      task: offer.task,
      pollRequestId,
      identity,
      workerVersion,
    });
  }

  #taskStartAnswered({ correlation, outcome }: TaskStartAnswered<T>): void {
    const offer = this.#starts.get(correlation);
    if (offer === undefined) return;
    this.#starts.delete(correlation);
    const poll = offer.poll;
    if (poll === undefined) return;
    try {
      this.#startAnswered(offer, poll, outcome);
    } catch (error) {
      this.#startBroke(offer, poll, outcome);
      throw error;
    }
  }

  /** No answer will come any more: without another try the task would wait for the next owner, and what was started for its timeout. */
  #startBroke(offer: Offer, poll: Poll, outcome: StartOutcome<T>): void {
    const startedAgain = offer.poll !== undefined && offer.poll !== poll;
    if (offer.state !== 'starting' || startedAgain) return;
    this.#part(offer, poll);
    offer.state = 'resting';
    this.#deadlines.set(offer, this.#decision.nowMs + this.#limits.brokenRetryMs);
    if (outcome.kind === 'started' && offer.queue.queue.taskType === 'activity') this.#withdrawStart(offer.task, poll);
  }

  #startAnswered(offer: Offer, poll: Poll, outcome: StartOutcome<T>): void {
    const gone = poll.state === 'gone';
    switch (outcome.kind) {
      case 'started': {
        if (gone) return this.#startedForNobody(offer, poll);
        const { pollRequestId } = poll.command;
        this.#part(offer, poll);
        this.#finish(offer);
        const backlogCountHint = offer.queue.stored.size;
        return this.#answerPoll(poll, { kind: 'task', task: outcome.task, origin: offer.task, pollRequestId, backlogCountHint });
      }
      case 'obsolete':
        this.#part(offer, poll);
        offer.queue.bucket?.giveBack();
        this.#finish(offer);
        if (!gone && !this.#findWork(poll)) this.#waitAgain(poll);
        return;
      case 'refused':
        // An earlier try of the same poll may have started it.
        if (offer.retries > 0) this.#withdraw(offer, poll);
        else this.#part(offer, poll);
        offer.queue.bucket?.giveBack();
        this.#rest(offer);
        if (!gone && !this.#findWork(poll)) this.#waitAgain(poll);
        return;
      case 'unavailable':
        if (gone) {
          this.#withdraw(offer, poll);
          return this.#offerAgain(offer);
        }
        offer.state = 'retrying';
        this.#deadlines.set(
          offer,
          this.#decision.nowMs + Math.min(this.#limits.startRetryMaxMs, this.#limits.startRetryFirstMs * 2 ** offer.retries++),
        );
        return;
      default:
        unreachable(outcome);
    }
  }

  /** History offers a withdrawn activity again by itself, under a new stamp; this copy is of no more use. */
  #startedForNobody(offer: Offer, poll: Poll): void {
    this.#withdraw(offer, poll);
    this.#finish(offer);
  }

  #withdraw(offer: Offer, poll: Poll): void {
    if (offer.queue.queue.taskType === 'activity') this.#withdrawStart(offer.task, poll);
    this.#part(offer, poll);
  }

  #withdrawStart(task: Offer['task'], poll: Poll): void {
    const { historyShard, key, scheduledEventId } = task;
    const { pollRequestId } = poll.command;
    this.#decision.act({ kind: 'withdrawActivityStart', historyShard, key, scheduledEventId, pollRequestId });
  }

  /** Out of the way of other tasks: with the poll held, as many tasks of one dead shard as a queue has polls would stop that queue. */
  #rest(offer: Offer): void {
    offer.state = 'resting';
    this.#deadlines.set(offer, this.#decision.nowMs + Math.min(this.#limits.restMaxMs, this.#limits.restFirstMs * 2 ** offer.rests++));
  }

  #part(offer: Offer, poll: Poll): void {
    offer.poll = undefined;
    offer.retries = 0;
    poll.offer = undefined;
  }

  /** Back from a poll that went away. */
  #offerAgain(offer: Offer): void {
    if (isExpired(offer, this.#decision.nowMs)) return this.#finish(offer);
    const poll = this.#takePoll(offer.queue);
    if (poll !== undefined) this.#start(offer, poll);
    else this.#keep(offer);
  }

  #waitAgain(poll: Poll): void {
    if (this.#ending) return this.#answerPoll(poll, emptyPoll);
    poll.state = 'waiting';
    poll.queue.waitingPolls.unshift(poll);
  }

  #offerDue(offer: Offer): void {
    const poll = offer.poll;
    if (offer.state === 'retrying' && poll !== undefined) return this.#start(offer, poll);
    if (offer.state === 'resting') {
      // Behind all others: at its old place, tasks of a dead shard would be tried again before those that can be started.
      offer.order = ++this.#lastOrder;
      return this.#offerAgain(offer);
    }
    // A child's offer has been held long enough.
    offer.queue.offers.remove(offer);
    this.#drop(offer, noMatch);
  }

  /** Started, obsolete or expired: nobody needs to care for it again. */
  #finish(offer: Offer): void {
    if (offer.storedId > 0) {
      offer.queue.stored.delete(taskIdentity(offer.task));
      this.#removals.push(offer.storedId);
      if (this.#flushDueMs === 0) this.#flushDueMs = this.#decision.nowMs + this.#limits.removalsFlushMs;
    }
    this.#drop(offer, done);
  }

  #drop(offer: Offer, reply: MatchingReply<T>): void {
    offer.state = 'done';
    offer.queue.openOffers--;
    this.#deadlines.remove(offer);
    this.#tell(offer, reply);
  }

  #tell(offer: Offer, reply: MatchingReply<T>): void {
    if (offer.askId === noAsk) return;
    this.#decision.reply(offer.askId, reply);
    offer.askId = noAsk;
  }

  // ── Rate limit ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The last worker that says a limit sets it, for the whole queue. */
  #setRate(queue: LoadedQueue, wantedPerSecond: number): void {
    const tasksPerSecond = Math.min(wantedPerSecond, this.#limits.tasksPerSecondMax);
    if (queue.bucket?.rate === tasksPerSecond) return;
    if (queue.bucket === undefined) queue.bucket = new TokenBucket(tasksPerSecond, this.#decision.nowMs);
    else queue.bucket.setRate(tasksPerSecond, this.#decision.nowMs);
    this.#parent.forwardWaitingPolls(queue);
    this.#pump(queue);
  }

  #takeToken(queue: LoadedQueue): boolean {
    const bucket = queue.bucket;
    if (bucket === undefined || bucket.take(this.#decision.nowMs)) return true;
    const nextMs = bucket.nextTokenMs(this.#decision.nowMs);
    queue.tokenDueMs = nextMs === Infinity ? 0 : nextMs;
    this.#armQueue(queue);
    return false;
  }

  // ── Answers of the parent partition ─────────────────────────────────────────────────────────────────────────────────────────

  #forwardedPollAnswered({ correlation, outcome }: ForwardedPollAnswered<T>): void {
    const poll = this.#parent.pollAnswered(correlation);
    if (poll === undefined) return;
    const queue = poll.queue;
    if (poll.state !== 'forwarded') {
      // Left before the answer came, so the start is as one for nobody; a query runs into its deadline.
      if (outcome.kind === 'task' && queue.queue.taskType === 'activity') this.#withdrawStart(outcome.origin, poll);
      return;
    }
    if (outcome.kind === 'unavailable') {
      this.#deadlines.set(poll, poll.deadlineMs);
      this.#waitAgain(poll);
      this.#parent.leaveAlone(queue);
      this.#pump(queue);
    } else {
      this.#answerPoll(poll, outcome);
      this.#parent.forwardWaitingPolls(queue);
    }
  }

  #forwardedTaskAnswered({ correlation, outcome }: ForwardedTaskAnswered): void {
    const offer = this.#parent.taskAnswered(correlation);
    if (offer === undefined) return;
    if (outcome === 'taken') {
      this.#finish(offer);
      return this.#parent.offerBacklog(offer.queue);
    }
    if (offer.storedId > 0 || outcome === 'unavailable') this.#parent.leaveAlone(offer.queue);
    this.#offerAgain(offer);
  }

  // ── Queues ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Undefined: the host holds as many queues as it may for this namespace. */
  #load(partition: TaskQueuePartition): LoadedQueue | undefined {
    const key = taskQueuePartitionKey(partition);
    const known = this.#queues.get(key);
    if (known !== undefined) {
      this.#queues.use(known, this.#decision.nowMs);
      return known;
    }
    const stored = this.#backlog.queues.get(key);
    if (stored === undefined && !this.#makeRoom(partition.namespaceId)) return undefined;
    const queue = new LoadedQueue(key, partition);
    this.#queues.add(queue, this.#decision.nowMs);
    if (stored !== undefined) {
      for (const { id, task, storedAtMs } of stored.tasks.values()) {
        const order = ++this.#lastOrder;
        const offer = new Offer(queue, task, { order, sinceMs: storedAtMs, askId: noAsk, fromChild: false, holdUntilMs: 0 });
        offer.storedId = id;
        queue.openOffers++;
        queue.stored.set(taskIdentity(task), offer);
        queue.offers.push(offer);
      }
    }
    this.#armQueue(queue);
    this.#parent.offerBacklog(queue);
    return queue;
  }

  #makeRoom(namespaceId: string): boolean {
    while (this.#queues.full) {
      const idle = this.#queues.longestIdle();
      if (idle === undefined) return this.#queues.belowShare(namespaceId);
      this.#unload(idle);
    }
    return true;
  }

  #armQueue(queue: LoadedQueue): void {
    this.#deadlines.set(queue, queue.nextDueMs(this.#limits.queueIdleMs));
  }

  #queueDue(queue: LoadedQueue): void {
    if (queue.tokenDueMs !== 0 && queue.tokenDueMs <= this.#decision.nowMs) {
      queue.tokenDueMs = 0;
      this.#pump(queue);
    }
    if (queue.forwardDueMs !== 0 && queue.forwardDueMs <= this.#decision.nowMs) {
      queue.forwardDueMs = 0;
      this.#parent.forwardWaitingPolls(queue);
      this.#parent.offerBacklog(queue);
    }
    if (queue.lastUseMs + this.#limits.queueIdleMs <= this.#decision.nowMs) {
      if (queue.sticky && queue.polls.size === 0) this.#dropMemoryOffers(queue);
      if (queue.quiet) return this.#unload(queue);
      queue.lastUseMs = this.#decision.nowMs;
    }
    this.#armQueue(queue);
  }

  #unload(queue: LoadedQueue): void {
    this.#deadlines.remove(queue);
    this.#queues.remove(queue);
  }

  #dropMemoryOffers(queue: LoadedQueue): void {
    let offer = queue.offers.shift();
    while (offer !== undefined) {
      this.#drop(offer, stickyUnavailable);
      offer = queue.offers.shift();
    }
  }

  #shutdownWorker(command: ShutdownWorker, askId: number): void {
    const queue = this.#queues.get(taskQueuePartitionKey(command.queue));
    if (queue !== undefined) {
      if (command.workerInstanceKey !== '') this.#endPollsOf(queue, command.workerInstanceKey);
      if (queue.sticky) this.#dropSticky(queue, command.workerInstanceKey);
    }
    this.#decision.reply(askId, done);
  }

  /** A poll whose start is under way is answered with its task: that costs the worker less than a task lost until its timeout. */
  #endPollsOf(queue: LoadedQueue, workerInstanceKey: string): void {
    for (const state of ['waiting', 'forwarded'] as const) {
      for (const poll of queue.polls.values()) {
        if (poll.command.workerInstanceKey !== workerInstanceKey || poll.state !== state) continue;
        this.#decision.reply(poll.askId, emptyPoll);
        this.#abandonPoll(poll);
      }
    }
  }

  /** A forwarded poll is answered by its parent, which ends its polls as well. */
  #endPolls(): void {
    this.#ending = true;
    for (const queue of this.#queues.values()) {
      for (const poll of queue.polls.values()) if (poll.state === 'waiting') this.#answerPoll(poll, emptyPoll);
    }
  }

  #dropSticky(queue: LoadedQueue, workerInstanceKey: string): void {
    queue.shutDown = true;
    queue.shutDownBy = workerInstanceKey;
    this.#dropMemoryOffers(queue);
    this.#queries.sendAway(queue);
  }

  #dispatchQuery(command: DispatchQuery, askId: number): void {
    if (command.queue.kind === 'sticky' && !this.#stickyAvailable(command.queue)) return this.#decision.reply(askId, stickyUnavailable);
    const query = this.#queries.open(this.#queues.get(taskQueuePartitionKey(command.queue)), command, askId);
    const poll = query?.queue.waitingPolls.shift();
    if (query !== undefined && poll !== undefined) this.#answerPoll(poll, this.#queries.give(query));
  }

  #describe(command: DescribeTaskQueue, askId: number): void {
    this.#decision.barrier = true;
    const key = taskQueuePartitionKey(command.queue);
    const queue = this.#queues.get(key) ?? new LoadedQueue(key, command.queue);
    const oldest = queue.stored.values().next().value;
    this.#decision.reply(askId, {
      kind: 'taskQueueDescription',
      pollers: queue.describePollers(this.#decision.nowMs),
      backlogCountHint: queue.stored.size,
      backlogAgeMs: oldest === undefined ? 0 : Math.max(0, this.#decision.nowMs - oldest.sinceMs),
      ackLevel: oldest === undefined ? this.#backlog.lastId : oldest.storedId - 1,
      readLevel: this.#backlog.lastId,
      ratePerSecond: queue.bucket?.rate,
    });
  }

  // ── Deadlines and answers ─────────────────────────────────────────────────────────────────────────────────────────────────────

  #due(node: DueNode): void {
    switch (node.node) {
      case 'poll':
        return this.#pollDue(node);
      case 'offer':
        return this.#offerDue(node);
      case 'query':
        return this.#queries.expire(node);
      case 'queue':
        return this.#queueDue(node);
      default:
        return unreachable(node);
    }
  }
}

function isExpired(offer: Offer, nowMs: number): boolean {
  return offer.task.expiryTimeMs !== 0 && offer.task.expiryTimeMs <= nowMs;
}
