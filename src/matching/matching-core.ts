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
import type { Handled } from '../kernel/handled.ts';
import { Backlog } from './backlog.ts';
import type {
  AddActivityTask,
  AddWorkflowTask,
  AnswerQuery,
  DescribeTaskQueue,
  DispatchQuery,
  ForwardedPollAnswered,
  ForwardedTaskAnswered,
  MatchingCommand,
  PollActivityTask,
  PollWorkflowTask,
  ShutdownWorker,
  TaskStartAnswered,
} from './commands.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import type { MatchingEffect } from './effects.ts';
import { isLaterOffer, noAsk, Offer, Poll, taskIdentity, WaitingQuery, type DueNode } from './entries.ts';
import { matchingLimits, type MatchingLimits } from './limits.ts';
import { LoadedQueue } from './loaded-queue.ts';
import type { MatchingRecord, SpilledTask } from './records.ts';
import type { Done, EmptyPoll, MatchingReply, MatchingRejection, NoMatch, StickyUnavailable } from './replies.ts';
import { taskQueuePartitionKey, type TaskQueuePartition } from './task-queue.ts';
import { TokenBucket } from './token-bucket.ts';

type Result<T> = Handled<MatchingRecord, MatchingReply<T>, MatchingEffect<T>>;

const done: Done = { kind: 'done' };
const emptyPoll: EmptyPoll = { kind: 'emptyPoll' };
const noMatch: NoMatch = { kind: 'noMatch' };
const stickyUnavailable: StickyUnavailable = { kind: 'stickyUnavailable' };
const nothing: Result<never> = { kind: 'wait', barrier: false, effects: [] };

export class MatchingCore<T> {
  readonly #backlog = new Backlog();

  readonly #queues = new Map<string, LoadedQueue>();
  /** Who can be cancelled. */
  readonly #asks = new Map<number, Poll | WaitingQuery>();
  readonly #queries = new Map<string, WaitingQuery>();
  /** What the shell still owes an answer to, by correlation. */
  readonly #starts = new Map<number, Offer>();
  readonly #forwardedPolls = new Map<number, Poll>();
  readonly #forwardedTasks = new Map<number, Offer>();
  readonly #deadlines = new DeadlineHeap<DueNode>();
  #lastCorrelation: number;
  #lastOrder = 0;
  /** Ahead of the backlog's own while a command stores more than one task. */
  #lastStoredId = 0;
  /** Ids of stored tasks that are done and not yet journaled as such. */
  #removals: number[] = [];
  #flushDueMs = 0;

  // Of the command being handled.
  #now = 0;
  #effects: MatchingEffect<T>[] = [];
  #spilled: SpilledTask[] = [];
  #barrier = false;
  #flush = false;

  readonly #limits: MatchingLimits;

  /** Correlations count on from the first: an answer that was meant for an earlier memory of the partition must meet none of this one's. */
  constructor(options: { readonly firstCorrelation: number; readonly limits?: Partial<MatchingLimits> }) {
    this.#lastCorrelation = options.firstCorrelation;
    this.#limits = { ...matchingLimits, ...options.limits };
  }

  handle(command: MatchingCommand<T>, nowMs: number, askId: number): Result<T> {
    this.#begin(nowMs);
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
        this.#answerQuery(command, askId);
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
      case 'activate':
        for (const stored of this.#backlog.queues.values()) this.#load(stored.queue);
        break;
      default:
        unreachable(command);
    }
    return this.#end();
  }

  evolve(record: MatchingRecord): void {
    this.#backlog.evolve(record);
  }

  cancel(askId: number, nowMs: number): Result<T> {
    this.#begin(nowMs);
    const waiting = this.#asks.get(askId);
    if (waiting?.node === 'poll') this.#abandonPoll(waiting);
    else if (waiting?.node === 'query') this.#endQuery(waiting);
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
    this.#now = nowMs;
    this.#effects = [];
    this.#barrier = false;
    this.#flush = false;
    let first = this.#deadlines.first();
    while (first !== undefined && first.dueMs <= nowMs) {
      this.#deadlines.remove(first);
      this.#due(first);
      first = this.#deadlines.first();
    }
    if (this.#flushDueMs !== 0 && this.#flushDueMs <= nowMs) this.#flush = true;
  }

  /** The effects of a record wait for its commit; otherwise they go at once, for nothing here rests on this journal. */
  #end(): Result<T> {
    const effects = this.#effects;
    if (this.#spilled.length > 0 || (this.#flush && this.#removals.length > 0)) {
      const spilled = this.#spilled;
      const removed = this.#removals.splice(0, this.#limits.removalsPerRecordMax);
      this.#spilled = [];
      this.#flushDueMs = this.#removals.length > 0 ? this.#now + this.#limits.removalsFlushMs : 0;
      return { kind: 'commit', record: { kind: 'backlogChanged', timeMs: this.#now, spilled, removed }, reply: undefined, effects };
    }
    if (effects.length === 0) return nothing;
    return { kind: 'wait', barrier: this.#barrier, effects };
  }

  // ── Polls ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #poll(command: PollWorkflowTask | PollActivityTask, askId: number): void {
    const queue = this.#load(command.queue);
    if (queue === undefined) return this.#reject(askId, tooManyQueues);
    const ofStoppedWorker = queue.shutDown && queue.shutDownBy !== '' && queue.shutDownBy === command.workerInstanceKey;
    if (ofStoppedWorker || command.deadlineMs <= this.#now) return this.#reply(askId, emptyPoll);
    const sameRequest = queue.polls.get(command.pollRequestId);
    if (sameRequest !== undefined) return this.#takeOver(sameRequest, command, askId);
    if (queue.polls.size >= this.#limits.pollsPerQueueMax) return this.#reject(askId, tooManyPolls);

    queue.shutDown = false;
    queue.notePoll(command.identity, command.maxTasksPerSecond, this.#now);
    if (command.maxTasksPerSecond !== undefined) this.#setRate(queue, command.maxTasksPerSecond);
    const poll = new Poll(queue, command, askId);
    queue.polls.set(command.pollRequestId, poll);
    this.#asks.set(askId, poll);
    this.#deadlines.set(poll, poll.deadlineMs);
    if (!this.#findWork(poll)) queue.waitingPolls.push(poll);
  }

  /** The same poll asked again: the earlier caller has given up, the later one gets whatever comes. */
  #takeOver(poll: Poll, command: PollWorkflowTask | PollActivityTask, askId: number): void {
    this.#reply(poll.askId, emptyPoll);
    this.#asks.delete(poll.askId);
    poll.askId = askId;
    poll.deadlineMs = command.deadlineMs;
    this.#asks.set(askId, poll);
    this.#deadlines.set(poll, poll.state === 'forwarded' ? poll.deadlineMs + 2 * this.#limits.startGraceMs : poll.deadlineMs);
  }

  /** False: nothing to do here or at the parent; the caller lets the poll wait. */
  #findWork(poll: Poll): boolean {
    const queue = poll.queue;
    const query = queue.waitingQueries.first;
    if (query !== undefined) {
      this.#giveQuery(query, poll);
      return true;
    }
    const offer = this.#takeOffer(queue);
    if (offer !== undefined) {
      this.#start(offer, poll);
      return true;
    }
    if (!this.#mayForwardPoll(queue)) return false;
    this.#forwardPoll(poll);
    return true;
  }

  #answerPoll(poll: Poll, reply: MatchingReply<T>): void {
    this.#reply(poll.askId, reply);
    this.#endPoll(poll);
  }

  /** Nobody waits for this poll any more, or its time is over. A start under way is dealt with when history answers. */
  #abandonPoll(poll: Poll): void {
    const offer = poll.offer;
    const wasForwarded = poll.state === 'forwarded';
    this.#endPoll(poll);
    if (wasForwarded) {
      this.#effects.push({ kind: 'cancelForwardedPoll', correlation: poll.correlation });
      poll.queue.forwardedPolls--;
      this.#forwardWaitingPolls(poll.queue);
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
    queue.notePollEnd(poll.command.identity, this.#now);
    this.#deadlines.remove(poll);
    if (poll.linked) queue.waitingPolls.remove(poll);
  }

  #pollDue(poll: Poll): void {
    // History usually answers within milliseconds; a workflow task that is started for nobody costs its whole timeout.
    if (poll.state === 'starting' && poll.offer?.state === 'starting' && this.#now < poll.deadlineMs + this.#limits.startGraceMs) {
      this.#deadlines.set(poll, poll.deadlineMs + this.#limits.startGraceMs);
      return;
    }
    this.#reply(poll.askId, emptyPoll);
    this.#abandonPoll(poll);
  }

  // ── Tasks ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #add(command: AddWorkflowTask | AddActivityTask, askId: number): void {
    if (command.queue.kind === 'sticky' && !this.#stickyAvailable(command.queue)) return this.#reply(askId, stickyUnavailable);
    const queue = this.#load(command.queue);
    if (queue === undefined) return this.#reject(askId, tooManyQueues);
    queue.openOffers++;
    const offer = new Offer(queue, command.task, {
      order: ++this.#lastOrder,
      sinceMs: this.#now,
      askId,
      fromChild: command.forwardedFrom !== undefined,
      holdUntilMs: command.holdUntilMs,
    });
    if (isExpired(offer, this.#now)) return this.#finish(offer);
    if (queue.offers.first === undefined) {
      const poll = this.#takePoll(queue);
      if (poll !== undefined) return this.#start(offer, poll);
    }
    if (!offer.fromChild && this.#mayForwardTask(queue)) return this.#forwardTask(offer, 0);
    this.#keep(offer);
  }

  #stickyAvailable(partition: TaskQueuePartition): boolean {
    const queue = this.#queues.get(taskQueuePartitionKey(partition));
    return queue !== undefined && queue.polledWithin(this.#limits.stickyPollWindowMs, this.#now);
  }

  /** No poll takes it now: memory, the journal, or back to the child that it came from. */
  #keep(offer: Offer): void {
    const queue = offer.queue;
    if (offer.storedId > 0) {
      queue.offers.insert(offer, isLaterOffer);
      offer.state = 'waiting';
      this.#offerBacklog(queue);
    } else if (queue.sticky) {
      if (queue.openOffers > this.#limits.memoryTasksPerQueueMax) return this.#drop(offer, stickyUnavailable);
      // Told at once: how long a worker may take is for history's schedule-to-start timer.
      this.#tell(offer, done);
      queue.offers.insert(offer, isLaterOffer);
      offer.state = 'waiting';
    } else if (offer.fromChild) {
      const room = queue.openOffers - queue.stored.size < this.#limits.memoryTasksPerQueueMax;
      if (offer.holdUntilMs <= this.#now || !room) return this.#drop(offer, noMatch);
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
      this.#barrier = true;
      return this.#drop(offer, done);
    }
    if (queue.stored.size >= this.#limits.storedTasksPerQueueMax) return this.#drop(offer, rejected(backlogFull));
    const id = Math.max(this.#lastStoredId, this.#backlog.lastId) + 1;
    this.#lastStoredId = id;
    offer.storedId = id;
    offer.order = ++this.#lastOrder;
    offer.state = 'waiting';
    queue.stored.set(identity, offer);
    queue.offers.push(offer);
    this.#spilled.push({ id, queue: queue.queue, task: offer.task });
    this.#tell(offer, done);
    this.#offerBacklog(queue);
  }

  /** The first offer that may go out now, out of its list. */
  #takeOffer(queue: LoadedQueue): Offer | undefined {
    if (queue.matchesAtParent) return undefined;
    for (;;) {
      const offer = queue.offers.first;
      if (offer === undefined) return undefined;
      if (isExpired(offer, this.#now)) {
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
    this.#effects.push({
      kind: 'startTask',
      correlation,
      queue: poll.queue.queue,
      task: offer.task,
      pollRequestId,
      identity,
      workerVersion,
    });
  }

  #taskStartAnswered(command: TaskStartAnswered<T>): void {
    const offer = this.#starts.get(command.correlation);
    if (offer === undefined) return;
    this.#starts.delete(command.correlation);
    const poll = offer.poll;
    if (poll === undefined) return;
    const gone = poll.state === 'gone';
    const outcome = command.outcome;
    switch (outcome.kind) {
      case 'started':
        if (gone) return this.#startedForNobody(offer, poll);
        this.#part(offer, poll);
        this.#finish(offer);
        this.#answerPoll(poll, {
          kind: 'task',
          task: outcome.task,
          origin: offer.task,
          pollRequestId: poll.command.pollRequestId,
          backlogCountHint: offer.queue.stored.size,
        });
        return;
      case 'obsolete':
        this.#part(offer, poll);
        offer.queue.bucket?.giveBack();
        this.#finish(offer);
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
          this.#now + Math.min(this.#limits.startRetryMaxMs, this.#limits.startRetryFirstMs * 2 ** offer.retries++),
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
    this.#effects.push({ kind: 'withdrawActivityStart', historyShard, key, scheduledEventId, pollRequestId });
  }

  #part(offer: Offer, poll: Poll): void {
    offer.poll = undefined;
    offer.retries = 0;
    poll.offer = undefined;
  }

  /** Back from a poll that went away. */
  #offerAgain(offer: Offer): void {
    if (isExpired(offer, this.#now)) return this.#finish(offer);
    const poll = this.#takePoll(offer.queue);
    if (poll !== undefined) this.#start(offer, poll);
    else this.#keep(offer);
  }

  #waitAgain(poll: Poll): void {
    poll.state = 'waiting';
    poll.queue.waitingPolls.unshift(poll);
  }

  #offerDue(offer: Offer): void {
    const poll = offer.poll;
    if (offer.state === 'retrying' && poll !== undefined) return this.#start(offer, poll);
    // A child's offer has been held long enough.
    offer.queue.offers.remove(offer);
    this.#drop(offer, noMatch);
  }

  /** Started, obsolete or expired: nobody needs to care for it again. */
  #finish(offer: Offer): void {
    if (offer.storedId > 0) {
      offer.queue.stored.delete(taskIdentity(offer.task));
      this.#removals.push(offer.storedId);
      if (this.#flushDueMs === 0) this.#flushDueMs = this.#now + this.#limits.removalsFlushMs;
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
    this.#reply(offer.askId, reply);
    offer.askId = noAsk;
  }

  // ── Rate limit ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The last worker that says a limit sets it, for the whole queue. */
  #setRate(queue: LoadedQueue, tasksPerSecond: number): void {
    if (queue.bucket?.rate === tasksPerSecond) return;
    if (queue.bucket === undefined) queue.bucket = new TokenBucket(tasksPerSecond, this.#now);
    else queue.bucket.setRate(tasksPerSecond, this.#now);
    this.#forwardWaitingPolls(queue);
    this.#pump(queue);
  }

  #takeToken(queue: LoadedQueue): boolean {
    const bucket = queue.bucket;
    if (bucket === undefined || bucket.take(this.#now)) return true;
    const nextMs = bucket.nextTokenMs(this.#now);
    queue.tokenDueMs = nextMs === Infinity ? 0 : nextMs;
    this.#armQueue(queue);
    return false;
  }

  // ── Parent partition ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  #mayForwardPoll(queue: LoadedQueue): boolean {
    if (queue.parent === undefined || queue.forwardDueMs !== 0) return false;
    return queue.matchesAtParent || queue.forwardedPolls < this.#limits.forwardedPollsMax;
  }

  #forwardPoll(poll: Poll): void {
    const queue = poll.queue;
    if (queue.parent === undefined) return;
    const correlation = ++this.#lastCorrelation;
    poll.state = 'forwarded';
    poll.correlation = correlation;
    queue.forwardedPolls++;
    this.#forwardedPolls.set(correlation, poll);
    // The parent keeps to the poll's own deadline; its answer needs time to get here.
    this.#deadlines.set(poll, poll.deadlineMs + 2 * this.#limits.startGraceMs);
    const command = { ...poll.command, queue: queue.parent, deadlineMs: poll.deadlineMs, forwardedFrom: queue.queue.partition };
    this.#effects.push({ kind: 'forwardPoll', correlation, command });
  }

  #forwardWaitingPolls(queue: LoadedQueue): void {
    while (queue.waitingPolls.first !== undefined && this.#mayForwardPoll(queue)) {
      const poll = queue.waitingPolls.shift();
      if (poll !== undefined) this.#forwardPoll(poll);
    }
  }

  #forwardedPollAnswered(command: ForwardedPollAnswered<T>): void {
    const { correlation, outcome } = command;
    const poll = this.#forwardedPolls.get(correlation);
    if (poll === undefined) return;
    this.#forwardedPolls.delete(correlation);
    const queue = poll.queue;
    if (poll.state !== 'forwarded') {
      // Left before the answer came, so the start is as one for nobody; a query runs into its deadline.
      if (outcome.kind === 'task' && queue.queue.taskType === 'activity') this.#withdrawStart(outcome.origin, poll);
      return;
    }
    queue.forwardedPolls--;
    if (outcome.kind === 'unavailable') {
      this.#waitAgain(poll);
      this.#deadlines.set(poll, poll.deadlineMs);
      this.#leaveParentAlone(queue);
      this.#pump(queue);
    } else {
      this.#answerPoll(poll, outcome);
      this.#forwardWaitingPolls(queue);
    }
  }

  #mayForwardTask(queue: LoadedQueue): boolean {
    if (queue.parent === undefined || queue.forwardDueMs !== 0) return false;
    return queue.offers.first === undefined && this.#forwardedTasks.size < this.#limits.forwardedAddsMax;
  }

  /** `holdUntilMs` 0: matched there now, or handed back. */
  #forwardTask(offer: Offer, holdUntilMs: number): void {
    const queue = offer.queue;
    if (queue.parent === undefined) return;
    const correlation = ++this.#lastCorrelation;
    offer.state = 'forwarded';
    this.#forwardedTasks.set(correlation, offer);
    const kind = queue.queue.taskType === 'workflow' ? 'addWorkflowTask' : 'addActivityTask';
    const command = { kind, queue: queue.parent, task: offer.task, forwardedFrom: queue.queue.partition, holdUntilMs } as const;
    this.#effects.push({ kind: 'forwardTask', correlation, command });
  }

  /** A child's stored tasks wait at the parent as well, the first few: polls may come anywhere else only. */
  #offerBacklog(queue: LoadedQueue): void {
    if (queue.parent === undefined || queue.forwardDueMs !== 0) return;
    while (queue.offeredTasks < this.#limits.offeredTasksMax) {
      const offer = queue.offers.shift();
      if (offer === undefined) return;
      if (isExpired(offer, this.#now)) {
        this.#finish(offer);
        continue;
      }
      queue.offeredTasks++;
      this.#forwardTask(offer, this.#now + this.#limits.offerHoldMs);
    }
  }

  #forwardedTaskAnswered(command: ForwardedTaskAnswered): void {
    const offer = this.#forwardedTasks.get(command.correlation);
    if (offer === undefined) return;
    this.#forwardedTasks.delete(command.correlation);
    const queue = offer.queue;
    const wasStored = offer.storedId > 0;
    if (wasStored) queue.offeredTasks--;
    if (command.outcome === 'taken') {
      this.#finish(offer);
      this.#offerBacklog(queue);
      return;
    }
    // Without this the two partitions would hand a task to and fro as fast as they can.
    if (wasStored || command.outcome === 'unavailable') this.#leaveParentAlone(queue);
    this.#offerAgain(offer);
  }

  #leaveParentAlone(queue: LoadedQueue): void {
    queue.forwardDueMs = this.#now + this.#limits.forwardRetryMs;
    this.#armQueue(queue);
  }

  // ── Queries ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #dispatchQuery(command: DispatchQuery, askId: number): void {
    if (command.queue.kind === 'sticky' && !this.#stickyAvailable(command.queue)) return this.#reply(askId, stickyUnavailable);
    const queue = this.#queues.get(taskQueuePartitionKey(command.queue));
    if (queue === undefined || !queue.polledWithin(this.#limits.queryPollWindowMs, this.#now)) return this.#reject(askId, noPoller);
    if (command.deadlineMs <= this.#now) return this.#reject(askId, queryExpired);
    if (queue.openQueries >= this.#limits.queriesPerQueueMax) return this.#reject(askId, tooManyQueries);
    const earlier = this.#queries.get(command.queryId);
    if (earlier !== undefined) this.#expireQuery(earlier);

    const query = new WaitingQuery(queue, command, askId);
    queue.openQueries++;
    this.#queries.set(command.queryId, query);
    this.#asks.set(askId, query);
    this.#deadlines.set(query, command.deadlineMs);
    queue.waitingQueries.push(query);
    const poll = queue.waitingPolls.shift();
    if (poll !== undefined) this.#giveQuery(query, poll);
  }

  #giveQuery(query: WaitingQuery, poll: Poll): void {
    query.queue.waitingQueries.remove(query);
    const { queryId, query: bytes, workflow } = query.command;
    const { partition } = query.queue.queue;
    this.#answerPoll(poll, { kind: 'queryTask', queryId, query: bytes, workflow, queuePartition: partition, sticky: query.queue.sticky });
  }

  #answerQuery(command: AnswerQuery, askId: number): void {
    const query = this.#queries.get(command.queryId);
    // Waiting ones were given to nobody: whoever answers them has made the token up.
    if (query === undefined || query.linked || query.queue.key !== taskQueuePartitionKey(command.queue)) {
      return this.#reject(askId, queryNotFound);
    }
    this.#endQuery(query);
    this.#reply(query.askId, { kind: 'queryAnswer', result: command.result });
    this.#reply(askId, done);
  }

  #expireQuery(query: WaitingQuery): void {
    this.#endQuery(query);
    this.#reject(query.askId, queryExpired);
  }

  #endQuery(query: WaitingQuery): void {
    query.queue.openQueries--;
    this.#queries.delete(query.command.queryId);
    this.#asks.delete(query.askId);
    this.#deadlines.remove(query);
    if (query.linked) query.queue.waitingQueries.remove(query);
  }

  // ── Queues ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Undefined: the host holds as many queues as it may. */
  #load(partition: TaskQueuePartition): LoadedQueue | undefined {
    const key = taskQueuePartitionKey(partition);
    const known = this.#queues.get(key);
    if (known !== undefined) {
      known.lastUseMs = this.#now;
      return known;
    }
    const stored = this.#backlog.queues.get(key);
    if (this.#queues.size >= this.#limits.queuesPerHostMax && stored === undefined) return undefined;
    const queue = new LoadedQueue(key, partition);
    queue.lastUseMs = this.#now;
    this.#queues.set(key, queue);
    queue.move('demand');
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
    queue.move('loaded');
    this.#armQueue(queue);
    this.#offerBacklog(queue);
    return queue;
  }

  #armQueue(queue: LoadedQueue): void {
    let dueMs = queue.lastUseMs + this.#limits.queueIdleMs;
    if (queue.tokenDueMs !== 0) dueMs = Math.min(dueMs, queue.tokenDueMs);
    if (queue.forwardDueMs !== 0) dueMs = Math.min(dueMs, queue.forwardDueMs);
    this.#deadlines.set(queue, dueMs);
  }

  #queueDue(queue: LoadedQueue): void {
    if (queue.tokenDueMs !== 0 && queue.tokenDueMs <= this.#now) {
      queue.tokenDueMs = 0;
      this.#pump(queue);
    }
    if (queue.forwardDueMs !== 0 && queue.forwardDueMs <= this.#now) {
      queue.forwardDueMs = 0;
      this.#forwardWaitingPolls(queue);
      this.#offerBacklog(queue);
    }
    if (queue.lastUseMs + this.#limits.queueIdleMs <= this.#now) {
      if (queue.sticky && queue.polls.size === 0) this.#dropMemoryOffers(queue);
      if (queue.quiet) return this.#unload(queue);
      queue.lastUseMs = this.#now;
    }
    this.#armQueue(queue);
  }

  #unload(queue: LoadedQueue): void {
    queue.move('idle');
    this.#deadlines.remove(queue);
    this.#queues.delete(queue.key);
    queue.move('released');
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
    this.#reply(askId, done);
  }

  /** A poll whose start is under way is answered with its task: that costs the worker less than a task lost until its timeout. */
  #endPollsOf(queue: LoadedQueue, workerInstanceKey: string): void {
    for (const state of ['waiting', 'forwarded'] as const) {
      for (const poll of queue.polls.values()) {
        if (poll.command.workerInstanceKey !== workerInstanceKey || poll.state !== state) continue;
        this.#reply(poll.askId, emptyPoll);
        this.#abandonPoll(poll);
      }
    }
  }

  #dropSticky(queue: LoadedQueue, workerInstanceKey: string): void {
    queue.shutDown = true;
    queue.shutDownBy = workerInstanceKey;
    this.#dropMemoryOffers(queue);
    let query = queue.waitingQueries.first;
    while (query !== undefined) {
      this.#endQuery(query);
      this.#reply(query.askId, stickyUnavailable);
      query = queue.waitingQueries.first;
    }
  }

  #describe(command: DescribeTaskQueue, askId: number): void {
    this.#barrier = true;
    const key = taskQueuePartitionKey(command.queue);
    const queue = this.#queues.get(key) ?? new LoadedQueue(key, command.queue);
    const oldest = queue.stored.values().next().value;
    this.#reply(askId, {
      kind: 'taskQueueDescription',
      pollers: queue.describePollers(this.#now),
      backlogCountHint: queue.stored.size,
      backlogAgeMs: oldest === undefined ? 0 : Math.max(0, this.#now - oldest.sinceMs),
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
        return this.#expireQuery(node);
      case 'queue':
        return this.#queueDue(node);
      default:
        return unreachable(node);
    }
  }

  #reply(askId: number, reply: MatchingReply<T>): void {
    this.#effects.push({ kind: 'reply', askId, reply });
  }

  #reject(askId: number, rejection: MatchingRejection): void {
    this.#reply(askId, rejected(rejection));
  }
}

function rejected(rejection: MatchingRejection): { readonly kind: 'rejected'; readonly rejection: MatchingRejection } {
  return { kind: 'rejected', rejection };
}

function isExpired(offer: Offer, nowMs: number): boolean {
  return offer.task.expiryTimeMs !== 0 && offer.task.expiryTimeMs <= nowMs;
}

const noPoller: MatchingRejection = { reason: 'no-poller', message: 'no poller seen for task queue recently, worker may be down' };
const queryExpired: MatchingRejection = { reason: 'query-expired', message: 'query timed out before a worker could process it' };
const queryNotFound: MatchingRejection = { reason: 'query-not-found', message: 'query task not found, or already expired' };
const tooManyPolls: MatchingRejection = {
  reason: 'too-many-polls',
  message: `task queue partition has ${matchingLimits.pollsPerQueueMax} open polls, its limit`,
};
const tooManyQueries: MatchingRejection = {
  reason: 'too-many-queries',
  message: `task queue partition has ${matchingLimits.queriesPerQueueMax} open queries, its limit`,
};
const backlogFull: MatchingRejection = {
  reason: 'backlog-full',
  message: `task queue partition has ${matchingLimits.storedTasksPerQueueMax} stored tasks, its limit`,
};
const tooManyQueues: MatchingRejection = {
  reason: 'too-many-queues',
  message: `matching host has ${matchingLimits.queuesPerHostMax} task queue partitions, its limit`,
};
