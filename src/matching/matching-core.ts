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
 * command-table.ts hands each command to whose life it is about; each of these uses the ones to its right:
 *
 *     start-answers ─▶ polls ─▶ queries
 *                        └────▶ offers ─▶ starts, forwarding ─▶ windows, rate-limit ─▶ all: decision, deadlines, limits, backlog, removals
 *     queue-table ─▶ configs, offers, forwarding, windows
 *     cold-count ─▶ windows
 *     configs ─▶ rate-limit
 */
import { assert, unreachable } from '../kernel/assert.ts';
import { Backlog } from './backlog.ts';
import { ColdCount, Windows } from './windows.ts';
import { decide, type Host } from './command-table.ts';
import { Configs } from './configs.ts';
import type { BacklogWire } from './checkpoint/backlog-wire.ts';
import { Changes } from './checkpoint/changes.ts';
import { installCounters, installQueue } from './checkpoint/install.ts';
import type { UnreadTask } from './checkpoint/read-rows.ts';
import type { BacklogCheckpoint, BacklogCounters, LaneRows, TaskRow } from './checkpoint/rows.ts';
import type { MatchingCommand } from './matching-commands.ts';
import { DeadlineHeap } from './deadline-heap.ts';
import { Decision, type MatchingHandled } from './decision.ts';
import { Forwarding } from './forwarding.ts';
import type { HostParts, DueNode } from './loaded-queue.ts';
import { matchingLimits, type MatchingLimits } from './matching-limits.ts';
import { QueueTable } from './queue-table.ts';
import { Offers } from './offers.ts';
import { Polls } from './polls.ts';
import { Queries } from './queries.ts';
import { RateLimit } from './rate-limit.ts';
import type { MatchingRecord } from './matching-records.ts';
import { Removals } from './removals.ts';
import { setBack } from './set-back.ts';
import { StartAnswers } from './start-answers.ts';
import { Starts } from './starts.ts';

export type MatchingCoreOptions = {
  /** Correlations count on from it: an answer that was meant for an earlier memory of the partition must meet none of this one's. */
  readonly firstCorrelation: number;
  readonly limits?: Partial<MatchingLimits>;
  /** How many partitions each queue has: the root tells the others what operators configure. Default: the root alone. */
  readonly taskQueuePartitions?: number;
  /** Encodes rows of a database. Absent: there is none, nothing is noted for checkpoints. */
  readonly backlogWire?: BacklogWire;
};

export class MatchingCore<T> {
  readonly #host: Host<T>;
  /** What checkpoints must write. undefined: there are none. */
  #changes: Changes | undefined;

  constructor({ firstCorrelation, taskQueuePartitions = 1, backlogWire: wire, ...options }: MatchingCoreOptions) {
    const limits = { ...matchingLimits, ...options.limits };
    const backlog = new Backlog(wire === undefined ? undefined : limits);
    if (wire !== undefined) backlog.notes = this.#changes = new Changes(backlog, wire);
    const base: HostParts<T> = { decision: new Decision(), deadlines: new DeadlineHeap(), limits, backlog, removals: new Removals(limits) };
    const parts = { ...base, rateLimit: new RateLimit(base) };
    const windows = new Windows(parts);
    const starts = new Starts(parts, firstCorrelation);
    const forwarding = new Forwarding({ ...parts, windows }, firstCorrelation);
    const offers = new Offers({ ...parts, windows, forwarding, starts });
    const queries = new Queries(parts);
    const polls = new Polls({ ...parts, forwarding, starts, offers, queries });
    const configs = new Configs(parts, taskQueuePartitions);
    this.#host = {
      ...{ ...parts, wire, windows, forwarding, starts, offers, queries, polls, configs },
      startAnswers: new StartAnswers({ ...parts, starts, offers, polls }),
      coldCount: new ColdCount({ ...parts, windows }),
      queues: new QueueTable({ ...parts, configs, windows, offers, forwarding }),
    };
  }

  handle(command: MatchingCommand<T>, nowMs: number, askId: number): MatchingHandled<T> {
    this.#begin(nowMs);
    try {
      decide(this.#host, command, askId);
    } catch (error) {
      this.#afterError(command, askId, error);
    }
    return this.#end();
  }

  cancel(askId: number, nowMs: number): MatchingHandled<T> {
    this.#begin(nowMs);
    const poll = this.#host.polls.get(askId);
    try {
      if (poll === undefined) this.#host.queries.cancel(askId);
      else this.#host.polls.abandon(poll);
    } catch (error) {
      this.#host.decision.act({ kind: 'broken', askId: 0, what: 'cancel', queue: poll?.queue.queue, error });
    }
    return this.#end();
  }

  evolve(record: MatchingRecord): void {
    this.#host.backlog.evolve(record);
  }

  /** When the shell should send `tick`; undefined = nothing is due, ever. */
  nextDeadline(): number | undefined {
    // Whatever the clock says: it may be set back meanwhile.
    if (this.#host.queues.hasUnloaded || this.#host.windows.hasToShed) return 0;
    const dueMs = Math.min(this.#host.deadlines.first()?.dueMs ?? Infinity, this.#host.removals.dueMs);
    return dueMs === Infinity ? undefined : dueMs;
  }

  /** A text for tests, equal for equal durable states. `rows`: those of the table, where some tasks may be rows alone. */
  canonicalState(rows: Iterable<TaskRow> = []): string {
    return this.#host.backlog.canonical(Array.from(rows, ({ task }) => this.#rowsWire.decodeTask(task)));
  }

  get storedTasks(): number {
    return this.#host.backlog.size;
  }

  /** Counts for people and metrics. */
  counts(): Readonly<Record<'queues' | 'polls' | 'storedTasks' | 'tasksInMemory' | 'startsUnderWay', number>> {
    let polls = 0;
    for (const queue of this.#host.queues.values()) polls += queue.polls.size;
    const { storedTasks } = this;
    const tasksInMemory = this.#host.backlog.inMemory;
    return { queues: this.#host.queues.size, polls, storedTasks, tasksInMemory, startsUnderWay: this.#host.starts.size };
  }

  // ── Checkpoints ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** How many rows of a queue `install` may take now. */
  get windowTasksMax(): number {
    return this.#host.backlog.windowTasksMax;
  }

  /** Some queues of a checkpoint, before the first record; behind the last of them its counters. */
  install(queues: Iterable<LaneRows>): readonly UnreadTask[] {
    return Array.from(queues, (rows) => installQueue(this.#host.backlog, rows, this.#rowsWire)).flat();
  }

  installed(counters: BacklogCounters): void {
    installCounters(this.#host.backlog, counters, this.#rowsWire);
    this.#host.windows.written(this.#host.backlog.lastId);
  }

  /** The rows of the next checkpoint will be as the backlog is now. */
  cut(): void {
    this.#noted.cut();
    this.#host.backlog.cut();
  }

  /** undefined: some of the cut is not encoded yet. */
  capture(goOn: () => boolean): BacklogCheckpoint | undefined {
    return this.#noted.capture(goOn);
  }

  durable(): void {
    this.#host.windows.written(this.#noted.durable());
    this.#host.backlog.durable();
  }

  /** Written tasks may leave memory, or are to be counted: with the next ticks they do, and are. */
  get hasToTick(): boolean {
    return this.#host.windows.hasToShed || this.#host.backlog.toCount !== undefined;
  }

  /** There will be no further checkpoint: nothing is noted for one. */
  abandonCheckpoints(): void {
    this.#host.backlog.notes = this.#changes = undefined;
  }

  /** What stored tasks, and removals of them, that are in no checkpoint yet take in memory, roughly. */
  get unwrittenBytes(): number {
    return this.#changes?.bytes ?? 0;
  }

  get #noted(): Changes {
    assert(this.#changes !== undefined, 'a core without a database, or whose checkpoints have ended, has none');
    return this.#changes;
  }

  get #rowsWire(): BacklogWire {
    assert(this.#host.wire !== undefined, 'a core without a database has no rows');
    return this.#host.wire;
  }

  // ── Before and after each command ─────────────────────────────────────────────────────────────────────────────────────────────

  /** The command threw. Its changes to memory stay, its caller gets an error, and the effects that it decided for others still go out. */
  #afterError(command: MatchingCommand<T>, askId: number, error: unknown): void {
    const queue = 'queue' in command ? command.queue : undefined;
    this.#host.decision.act({ kind: 'broken', askId, what: command.kind, queue, error });
    const poll = this.#host.polls.get(askId);
    if (poll === undefined) return;
    try {
      this.#host.polls.abandon(poll);
    } catch {
      this.#host.polls.forget(poll);
    }
  }

  #begin(nowMs: number): void {
    const stepMs = this.#host.decision.nowMs - nowMs;
    if (stepMs >= this.#host.limits.clockStepMsMin) setBack(this.#host.deadlines, this.#host.removals, stepMs);
    this.#host.decision.begin(nowMs);
    let first = this.#host.deadlines.first();
    // The rest is due still: the next command, or a tick of its own, goes on with it.
    for (let looks = 0; first !== undefined && first.dueMs <= nowMs && looks < this.#host.limits.duePerCommandMax; looks++) {
      this.#host.deadlines.remove(first);
      try {
        this.#due(first);
      } catch (error) {
        this.#afterDueError(first, error);
      }
      first = this.#host.deadlines.first();
    }
  }

  #due(node: DueNode): void {
    switch (node.node) {
      case 'poll':
        return this.#host.polls.due(node);
      case 'offer':
        return this.#host.offers.due(node);
      case 'query':
        return this.#host.queries.expire(node);
      case 'queue':
        return this.#host.queues.due(node);
      default:
        return unreachable(node);
    }
  }

  #afterDueError(node: DueNode, error: unknown): void {
    const queue = node.node === 'queue' ? node.queue : node.queue.queue;
    this.#host.decision.act({ kind: 'broken', askId: 0, what: node.node, queue, error });
    if (node.node === 'poll') this.#host.polls.forget(node);
    else this.#host.deadlines.set(node, this.#host.decision.nowMs + this.#host.limits.brokenRetryMs);
  }

  #end(): MatchingHandled<T> {
    const storesTasks = this.#host.decision.spilled.length > 0;
    return this.#host.decision.end(this.#host.removals.take(this.#host.decision.nowMs, storesTasks));
  }
}
