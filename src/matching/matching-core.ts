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
 * One poll and one task must not meet twice. So a poll whose caller is gone while its start is under way keeps its offer until
 * history answers. If it was started, the start is withdrawn and history offers it again (activities), or it is left to its timeout
 * (workflow tasks); if that is not known, the start is withdrawn and the task is offered here again; history refuses one of two copies.
 *
 * This file hands each command to whose life it is about; each of these uses the ones to its right:
 *
 *     start-answers ─▶ polls ─▶ queries
 *                        └────▶ offers ─▶ starts, forwarding ─▶ windows, rate-limit, removals ─▶ host-parts: decision, deadlines, limits
 *     queue-table ─▶ configs, offers, forwarding, windows, removals
 *     cold-count ─▶ windows
 *     configs ─▶ rate-limit
 */
import { assert, unreachable } from '../kernel/assert.ts';
import { Backlog } from './backlog.ts';
import { ColdCount } from './cold-count.ts';
import { Configs } from './configs.ts';
import type { BacklogWire } from './checkpoint/backlog-wire.ts';
import { Changes } from './checkpoint/changes.ts';
import { installCounters, installQueue } from './checkpoint/install.ts';
import { isUnread, readRow, type UnreadTask } from './checkpoint/read-rows.ts';
import type { BacklogCheckpoint, BacklogCounters, LaneRows, TaskRow } from './checkpoint/rows.ts';
import type {
  AddActivityTask,
  AddWorkflowTask,
  DescribeTaskQueue,
  DispatchQuery,
  MatchingCommand,
  PollActivityTask,
  PollWorkflowTask,
  ShutdownWorker,
  StoredTasksLoaded,
  StoredTasksNotLoaded,
} from './commands.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import { Decision, type MatchingHandled } from './decision.ts';
import { Forwarding } from './forwarding.ts';
import type { HostParts } from './host-parts.ts';
import { matchingLimits, type MatchingLimits } from './limits.ts';
import type { DueNode, LoadedQueue } from './loaded-queue.ts';
import { QueueTable, storedIn } from './queue-table.ts';
import { Offers } from './offers.ts';
import { Polls } from './polls.ts';
import { Queries } from './queries.ts';
import { RateLimit } from './rate-limit.ts';
import type { MatchingRecord } from './records.ts';
import { tasksLeft, tooManyQueues } from './rejections.ts';
import { Removals } from './removals.ts';
import type { Done, StickyUnavailable } from './replies.ts';
import { setBack } from './set-back.ts';
import { StartAnswers } from './start-answers.ts';
import type { TaskQueuePartition } from './task-queue.ts';
import { Starts } from './starts.ts';
import type { QueueWithTasks } from './task-queue.ts';
import { Windows } from './windows.ts';

const done: Done = { kind: 'done' };
const stickyUnavailable: StickyUnavailable = { kind: 'stickyUnavailable' };

export type MatchingCoreOptions = {
  /** Correlations count on from it: an answer that was meant for an earlier memory of the partition must meet none of this one's. */
  readonly firstCorrelation: number;
  readonly limits?: Partial<MatchingLimits>;
  /** Of each queue: the root tells the others what operators say. Default: there is the root alone. */
  readonly taskQueuePartitions?: number;
  /** For rows of a database. Absent: there is none, nothing is noted for checkpoints. */
  readonly backlogWire?: BacklogWire;
};

export class MatchingCore<T> {
  readonly #parts: HostParts<T>;
  readonly #decision = new Decision<T>();
  readonly #deadlines = new DeadlineHeap<DueNode>();
  readonly #backlog: Backlog;
  readonly #wire: BacklogWire | undefined;
  /** What checkpoints must write. undefined: there are none. */
  #changes: Changes | undefined;
  readonly #removals: Removals;
  readonly #windows: Windows<T>;
  readonly #forwarding: Forwarding<T>;
  readonly #starts: Starts<T>;
  readonly #offers: Offers<T>;
  readonly #queries: Queries<T>;
  readonly #polls: Polls<T>;
  readonly #startAnswers: StartAnswers<T>;
  readonly #queues: QueueTable<T>;
  readonly #coldCount: ColdCount<T>;
  readonly #configs: Configs<T>;

  constructor(options: MatchingCoreOptions) {
    const limits = { ...matchingLimits, ...options.limits };
    const parts: HostParts<T> = { decision: this.#decision, deadlines: this.#deadlines, limits };
    const backlog = new Backlog(options.backlogWire === undefined ? undefined : limits);
    this.#backlog = backlog;
    this.#wire = options.backlogWire;
    if (options.backlogWire !== undefined) backlog.notes = this.#changes = new Changes(backlog, options.backlogWire);
    const removals = new Removals(limits);
    const rateLimit = new RateLimit(parts);
    const windows = new Windows(parts, backlog, removals);
    const forwarding = new Forwarding(parts, windows, options.firstCorrelation);
    const starts = new Starts(parts, rateLimit, options.firstCorrelation);
    const offers = new Offers(parts, { backlog, removals, windows, rateLimit, forwarding, starts });
    const queries = new Queries(parts);
    const polls = new Polls(parts, { rateLimit, forwarding, starts, offers, queries });
    this.#parts = parts;
    this.#removals = removals;
    this.#windows = windows;
    this.#forwarding = forwarding;
    this.#starts = starts;
    this.#offers = offers;
    this.#queries = queries;
    this.#polls = polls;
    this.#startAnswers = new StartAnswers(parts, { rateLimit, starts, offers, polls });
    this.#coldCount = new ColdCount(parts, backlog, windows);
    const configs = new Configs(parts, backlog, rateLimit, options.taskQueuePartitions ?? 1);
    this.#configs = configs;
    this.#queues = new QueueTable(parts, { backlog, configs, removals, windows, offers, forwarding });
  }

  handle(command: MatchingCommand<T>, nowMs: number, askId: number): MatchingHandled<T> {
    this.#begin(nowMs);
    try {
      this.#decide(command, askId);
    } catch (error) {
      this.#afterError(command, askId, error);
    }
    return this.#end();
  }

  cancel(askId: number, nowMs: number): MatchingHandled<T> {
    this.#begin(nowMs);
    const poll = this.#polls.get(askId);
    try {
      if (poll === undefined) this.#queries.cancel(askId);
      else this.#polls.abandon(poll);
    } catch (error) {
      this.#decision.act({ kind: 'broken', askId: 0, what: 'cancel', queue: poll?.queue.queue, error });
    }
    return this.#end();
  }

  evolve(record: MatchingRecord): void {
    this.#backlog.evolve(record);
  }

  /** When the shell should send `tick`; undefined = nothing is due, ever. */
  nextDeadline(): number | undefined {
    // Whatever the clock says: it may be set back meanwhile.
    if (this.#queues.hasUnloaded || this.#windows.hasToShed) return 0;
    const dueMs = Math.min(this.#deadlines.first()?.dueMs ?? Infinity, this.#removals.dueMs);
    return dueMs === Infinity ? undefined : dueMs;
  }

  /** For tests: equal for equal durable states. `rows`: those of the table, where some tasks may be rows alone. */
  canonicalState(rows: Iterable<TaskRow> = []): string {
    return this.#backlog.canonical(Array.from(rows, ({ task }) => this.#rowsWire.decodeTask(task)));
  }

  /** Of all queues. */
  get storedTasks(): number {
    return this.#backlog.size;
  }

  /** Those of some namespaces, with how many tasks each has, or a few more. */
  storedQueues(isWanted: (namespaceId: string) => boolean): readonly QueueWithTasks[] {
    const queues = [...this.#backlog.queues.values()].filter(({ queue }) => isWanted(queue.namespaceId));
    return queues.map((stored) => ({ queue: stored.queue, stored: storedIn(stored) }));
  }

  /** For people and metrics. */
  counts(): {
    readonly queues: number;
    readonly polls: number;
    readonly storedTasks: number;
    readonly tasksInMemory: number;
    readonly startsUnderWay: number;
  } {
    let polls = 0;
    for (const queue of this.#queues.values()) polls += queue.polls.size;
    const { storedTasks } = this;
    const tasksInMemory = this.#backlog.inMemory;
    return { queues: this.#queues.size, polls, storedTasks, tasksInMemory, startsUnderWay: this.#starts.size };
  }

  // ── Checkpoints ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** How many rows of a queue `install` may take now. */
  get windowTasksMax(): number {
    return this.#backlog.windowTasksMax;
  }

  /** Some queues of a checkpoint, before the first record; behind the last of them its counters. */
  install(queues: Iterable<LaneRows>): readonly UnreadTask[] {
    return Array.from(queues, (rows) => installQueue(this.#backlog, rows, this.#rowsWire)).flat();
  }

  installed(counters: BacklogCounters): void {
    installCounters(this.#backlog, counters, this.#rowsWire);
    this.#windows.written(this.#backlog.lastId);
  }

  /** As the backlog is now, so the rows of the next checkpoint will be. */
  cut(): void {
    this.#noted.cut();
    this.#backlog.cut();
  }

  /** undefined: some of the cut is not encoded yet. */
  capture(goOn: () => boolean): BacklogCheckpoint | undefined {
    return this.#noted.capture(goOn);
  }

  /** The database has the checkpoint for good. */
  durable(): void {
    this.#windows.written(this.#noted.durable());
    this.#backlog.durable();
  }

  /** Written tasks may leave memory, or are to be counted: with the next ticks they do, and are. */
  get hasToTick(): boolean {
    return this.#windows.hasToShed || this.#backlog.toCount !== undefined;
  }

  /** There will be no further checkpoint: nothing is noted for one. */
  abandonCheckpoints(): void {
    this.#backlog.notes = this.#changes = undefined;
  }

  /** Stored tasks, and removals of them, that are in no checkpoint yet. */
  get unwritten(): number {
    return this.#changes?.size ?? 0;
  }

  /** What those take in memory, roughly. */
  get unwrittenBytes(): number {
    return this.#changes?.bytes ?? 0;
  }

  get #noted(): Changes {
    assert(this.#changes !== undefined, 'a core without a database, or whose checkpoints have ended, has none');
    return this.#changes;
  }

  get #rowsWire(): BacklogWire {
    assert(this.#wire !== undefined, 'a core without a database has no rows');
    return this.#wire;
  }

  // ── Commands ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #decide(command: MatchingCommand<T>, askId: number): void {
    switch (command.kind) {
      case 'pollWorkflowTask':
      case 'pollActivityTask':
        return this.#poll(command, askId);
      case 'addWorkflowTask':
      case 'addActivityTask':
        return this.#add(command, askId);
      case 'dispatchQuery':
        return this.#dispatchQuery(command, askId);
      case 'answerQuery':
        return this.#queries.answer(command, askId);
      case 'describeTaskQueue':
        return this.#describe(command, askId);
      case 'updateTaskQueueConfig':
        return this.#reconfigured(command.queue, this.#configs.update(command, askId));
      case 'configurePartition':
        return this.#reconfigured(command.queue, this.#configs.hear(command, askId));
      case 'forgetNamespace':
        return this.#forgetNamespace(command.namespaceId, askId);
      case 'shutdownWorker':
        return this.#shutdownWorker(command, askId);
      case 'taskStartAnswered':
        return this.#startAnswers.settle(command);
      case 'forwardedPollAnswered':
        return this.#polls.parentAnswered(command);
      case 'forwardedTaskAnswered':
        return this.#offers.parentAnswered(command);
      case 'storedTasksLoaded':
        return this.#storedTasksLoaded(command);
      case 'storedTasksNotLoaded':
        return this.#storedTasksNotLoaded(command);
      case 'storedTasksCounted':
        return this.#coldCount.counted(command, this.#queues.find(command.queue));
      case 'tick':
        this.#windows.shedMore();
        this.#coldCount.goOn();
        return this.#queues.loadMore();
      case 'flushRemovals':
        return this.#removals.hasten(this.#decision.nowMs);
      case 'endPolls':
        return this.#polls.endAll(this.#queues.values());
      case 'activate':
        this.#coldCount.goOn();
        this.#configs.tellAll();
        return this.#queues.loadStored();
      default:
        return unreachable(command);
    }
  }

  #poll(command: PollWorkflowTask | PollActivityTask, askId: number): void {
    const queue = this.#queues.load(command.queue);
    if (queue === undefined) this.#decision.reply(askId, tooManyQueues(this.#parts.limits));
    else this.#polls.open(queue, command, askId);
  }

  #add(command: AddWorkflowTask | AddActivityTask, askId: number): void {
    if (command.queue.kind === 'sticky' && !this.#queues.isPolled(command.queue)) return this.#decision.reply(askId, stickyUnavailable);
    const queue = this.#queues.load(command.queue);
    if (queue === undefined) this.#decision.reply(askId, tooManyQueues(this.#parts.limits));
    else this.#offers.add(queue, command, askId);
  }

  #dispatchQuery(command: DispatchQuery, askId: number): void {
    if (command.queue.kind === 'sticky' && !this.#queues.isPolled(command.queue)) return this.#decision.reply(askId, stickyUnavailable);
    const query = this.#queries.open(this.#queues.find(command.queue), command, askId);
    const poll = query?.queue.waitingPolls.shift();
    if (query !== undefined && poll !== undefined) this.#polls.answer(poll, this.#queries.give(query));
  }

  #describe(command: DescribeTaskQueue, askId: number): void {
    this.#decision.barrier = true;
    this.#decision.reply(askId, this.#queues.describe(command.queue));
  }

  #reconfigured(partition: TaskQueuePartition, isNews: boolean): void {
    const queue = isNews ? this.#queues.find(partition) : undefined;
    if (queue !== undefined && this.#configs.apply(queue)) this.#polls.rateChanged(queue);
  }

  /** Offers and reads of its tasks may be under way: whoever removes it polls them away first. */
  #forgetNamespace(namespaceId: string, askId: number): void {
    const left = this.storedQueues((id) => id === namespaceId).reduce((sum, { stored }) => sum + stored, 0);
    if (left > 0) return this.#decision.reply(askId, tasksLeft(left));
    const unread = this.#backlog.unreadOf(namespaceId);
    const { removalsPerRecordMax } = this.#parts.limits;
    for (const id of unread.slice(0, removalsPerRecordMax)) this.#removals.add(id, this.#decision.nowMs);
    this.#removals.hasten(this.#decision.nowMs);
    if (unread.length > removalsPerRecordMax) this.#decision.reply(askId, tasksLeft(unread.length - removalsPerRecordMax));
    else this.#configs.forget(namespaceId, askId);
  }

  #storedTasksLoaded({ queue: partition, key, rows }: StoredTasksLoaded): void {
    const queue = this.#queues.find(partition);
    if (queue === undefined) return;
    const read = rows.map((row) => readRow({ ...row, queue: key }, this.#rowsWire));
    const unread = read.filter(isUnread);
    if (unread.length > 0) this.#decision.act({ kind: 'tasksUnread', unread });
    this.#windows.loaded(queue, key, read);
    this.#coldCount.goOn();
    this.#offers.startWaiting(queue);
    this.#forwarding.offerBacklog(queue);
  }

  #storedTasksNotLoaded({ queue: partition, key }: StoredTasksNotLoaded): void {
    const queue = this.#queues.find(partition);
    if (queue !== undefined) this.#windows.notLoaded(queue, key);
    this.#coldCount.goOn();
  }

  #shutdownWorker({ queue: partition, workerInstanceKey }: ShutdownWorker, askId: number): void {
    const queue = this.#queues.find(partition);
    if (workerInstanceKey !== '') this.#polls.endOfWorker(partition, queue, workerInstanceKey);
    if (queue?.sticky === true) this.#shutDownSticky(queue, workerInstanceKey);
    this.#decision.reply(askId, done);
  }

  #shutDownSticky(queue: LoadedQueue, workerInstanceKey: string): void {
    queue.shutDown = true;
    queue.shutDownBy = workerInstanceKey;
    this.#offers.sendStickyAway(queue);
    this.#queries.sendAway(queue);
  }

  /** The command threw. Its changes to memory stay, its caller gets an error, and the effects that it decided for others still go out. */
  #afterError(command: MatchingCommand<T>, askId: number, error: unknown): void {
    const queue = 'queue' in command ? command.queue : undefined;
    this.#decision.act({ kind: 'broken', askId, what: command.kind, queue, error });
    const poll = this.#polls.get(askId);
    if (poll === undefined) return;
    try {
      this.#polls.abandon(poll);
    } catch {
      this.#polls.forget(poll);
    }
  }

  // ── Before and after each command ─────────────────────────────────────────────────────────────────────────────────────────────

  #begin(nowMs: number): void {
    const stepMs = this.#decision.nowMs - nowMs;
    if (stepMs >= this.#parts.limits.clockStepMsMin) setBack(this.#deadlines, this.#removals, stepMs);
    this.#decision.begin(nowMs);
    let first = this.#deadlines.first();
    // The rest is due still: the next command, or a tick of its own, goes on with it.
    for (let looks = 0; first !== undefined && first.dueMs <= nowMs && looks < this.#parts.limits.duePerCommandMax; looks++) {
      this.#deadlines.remove(first);
      try {
        this.#due(first);
      } catch (error) {
        this.#afterDueError(first, error);
      }
      first = this.#deadlines.first();
    }
  }

  #due(node: DueNode): void {
    switch (node.node) {
      case 'poll':
        return this.#polls.due(node);
      case 'offer':
        return this.#offers.due(node);
      case 'query':
        return this.#queries.expire(node);
      case 'queue':
        return this.#queues.due(node);
      default:
        return unreachable(node);
    }
  }

  #afterDueError(node: DueNode, error: unknown): void {
    const queue = node.node === 'queue' ? node.queue : node.queue.queue;
    this.#decision.act({ kind: 'broken', askId: 0, what: node.node, queue, error });
    if (node.node === 'poll') this.#polls.forget(node);
    else this.#deadlines.set(node, this.#decision.nowMs + this.#parts.limits.brokenRetryMs);
  }

  #end(): MatchingHandled<T> {
    const storesTasks = this.#decision.spilled.length > 0;
    return this.#decision.end(this.#removals.take(this.#decision.nowMs, storesTasks));
  }
}
