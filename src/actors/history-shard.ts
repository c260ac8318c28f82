/**
 * A history shard: the actor around HistoryCore.
 *
 *     router ─▶ PartitionLoop ─▶ HistoryCore ─▶ record ─▶ committed ─┬─▶ HistoryStore   events, by run
 *                   ▲                                                ├─▶ TransferQueue  dispatch to matching, outbox to other shards
 *                   │                                                └─▶ timer          one OS timer for the earliest of all
 *                   └────────── fireTimer, finishOutboxTask, … ◀─────────────┘
 *
 * All of it but the store's positions is made anew with each memory of the partition; the store is filled by replay as well.
 */
import { assert, unreachable } from '../kernel/assert.ts';
import { matchingPartitionOf, type TaskQueuePartition } from '../matching/task-queue.ts';
import { HistoryCore } from '../history/history-core.ts';
import type { HistoryCommand, TaskQueue } from '../history/commands.ts';
import type { DirectQuery, HistoryEffect } from '../history/effects.ts';
import type { HistoryLimits } from '../history/limits.ts';
import type { HistoryRecord } from '../history/record.ts';
import type { HistoryReply, HistoryWire } from '../history/replies.ts';
import type { QueryResult } from '../matching/tasks.ts';
import type { Logger } from '../observability/logger.ts';
import { isAskFailure, NOBODY } from './asks.ts';
import type { ClaimCodec } from './claim.ts';
import { HistoryStore, type HistoryPage, type PageLimits } from './history-store.ts';
import type { Log, PartitionId } from './log.ts';
import type { RecordCodec } from './partition-core.ts';
import { PartitionLoop, type PartitionShell, type PartitionStatus } from './partition-loop.ts';
import type { Clock, Random, Timer } from './ports.ts';
import type { Asker, Endpoint, ReplySink } from './router.ts';
import { type ClusterLayout, TransferQueue } from './transfer-queue.ts';

export type HistoryShardOptions = {
  /** From 1; owns partition shard − 1 of the topic. */
  readonly shard: number;
  readonly topic: string;
  readonly owner: string;
  readonly log: Log;
  readonly codec: RecordCodec<HistoryRecord>;
  readonly claims: ClaimCodec;
  readonly wire: HistoryWire;
  readonly limits: HistoryLimits;
  readonly cacheBytesMax: number;
  readonly layout: ClusterLayout;
  readonly router: Asker;
  readonly sink: ReplySink<HistoryReply>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly onStatus: (status: PartitionStatus) => void;
};

/** Lazy completions that no record took along are journaled after this pause. */
const FLUSH_DELAY_MS = 1_000;

export class HistoryShard implements Endpoint<HistoryCommand> {
  readonly #options: HistoryShardOptions;
  readonly #partition: PartitionId;
  readonly #loop: PartitionLoop<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect>;
  #memory: HistoryMemory | undefined;

  constructor(options: HistoryShardOptions) {
    this.#options = options;
    this.#partition = { topic: options.topic, partition: options.shard - 1 };
    this.#loop = new PartitionLoop({
      partition: this.#partition,
      log: options.log,
      codec: options.codec,
      claims: options.claims,
      owner: options.owner,
      create: () => this.#create(),
      asks: options.sink,
      clock: options.clock,
      random: options.random,
      logger: options.logger.with({ 'shard-id': options.shard }),
      onStatus: options.onStatus,
    });
  }

  start(): void {
    this.#loop.start();
  }

  drain(): Promise<void> {
    return this.#loop.drain();
  }

  status(): PartitionStatus {
    return this.#loop.status();
  }

  submit(askId: number, command: HistoryCommand): ReturnType<Endpoint<HistoryCommand>['submit']> {
    return this.#loop.submit(askId, command);
  }

  cancel(askId: number): void {
    this.#loop.cancel(askId);
  }

  /** Events that a reply has named: committed, so they need no barrier. Undefined: this process no longer owns the shard. */
  historyPage(
    runId: string,
    firstEventId: number,
    lastEventId: number,
    limits: PageLimits,
  ): HistoryPage | Promise<HistoryPage> | undefined {
    return this.#memory?.store.page(runId, firstEventId, lastEventId, limits);
  }

  #create(): { readonly core: HistoryCore; readonly host: HistoryMemory } {
    const store = new HistoryStore(this.#options.cacheBytesMax, (offset, runId) => this.#reread(offset, runId));
    const core = new HistoryCore({ wire: this.#options.wire, limits: this.#options.limits });
    const host = new HistoryMemory(this.#options, core, store, this.#loop);
    this.#memory = host;
    return { core, host };
  }

  async #reread(offset: number, runId: string): Promise<readonly Uint8Array[]> {
    const [stored] = await this.#options.log.read(this.#partition, offset, 1);
    assert(stored?.offset === offset, `the journal no longer holds record ${offset}`);
    const record = this.#options.codec.decode(stored.value, stored.schema);
    const change = record.runs.find((each) => each.runId === runId);
    return change?.events.map((event) => event.bytes) ?? [];
  }
}

/** What surrounds one memory of the shard, from replay to the loss of ownership. */
class HistoryMemory implements PartitionShell<HistoryReply, HistoryRecord, HistoryEffect> {
  readonly store: HistoryStore;
  readonly #options: HistoryShardOptions;
  readonly #core: HistoryCore;
  readonly #loop: PartitionLoop<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect>;
  readonly #transfers: TransferQueue;
  #active = false;
  #timer: Timer | undefined;
  #armedForMs = Infinity;
  #flush: Timer | undefined;

  constructor(
    options: HistoryShardOptions,
    core: HistoryCore,
    store: HistoryStore,
    loop: PartitionLoop<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect>,
  ) {
    this.store = store;
    this.#options = options;
    this.#core = core;
    this.#loop = loop;
    this.#transfers = new TransferQueue({
      shard: {
        shard: options.shard,
        isPending: (taskId) => core.transferTask(taskId) !== undefined,
        outboxCommand: (taskId) => core.outboxCommand(taskId, options.random.nonce()),
        submit: (command) => this.#submit(command),
      },
      router: options.router,
      layout: options.layout,
      clock: options.clock,
      random: options.random,
      logger: options.logger,
    });
  }

  activated(): void {
    this.#active = true;
    for (const task of [...this.#core.pendingTransferTasks()]) this.#transfers.run(task);
    this.#armTimer();
  }

  deactivated(): void {
    this.#active = false;
    this.#transfers.close();
    this.#timer?.cancel();
    this.#flush?.cancel();
  }

  committed(record: HistoryRecord, offset: number, replayed: boolean): void {
    for (const change of record.runs) {
      const first = change.events[0];
      if (first !== undefined)
        this.store.append(
          change.runId,
          first.event.eventId,
          change.events.map((each) => each.bytes),
          offset,
        );
      if (change.facts.some(({ fact }) => fact.kind === 'runForgotten')) this.store.forget(change.runId);
    }
    if (replayed || !this.#active) return;
    for (const task of record.tasks) if (!('fireTimeMs' in task)) this.#transfers.run(task);
    this.#armTimer();
  }

  answer(askId: number, reply: HistoryReply): void {
    this.#options.sink.answer(askId, reply);
  }

  act(effect: HistoryEffect): void {
    switch (effect.kind) {
      case 'reply':
        return this.answer(effect.askId, effect.reply);
      case 'directQuery':
        return this.#dispatchQuery(effect, effect.taskQueue);
      default:
        return unreachable(effect);
    }
  }

  #submit(command: HistoryCommand): void {
    if (!this.#active) return;
    const failure = this.#loop.submit(NOBODY, command);
    // Full mailbox: the timer or task is still pending in the state, and comes back with the next turn of its own clock.
    if (failure !== undefined)
      this.#options.logger.warn('a command of the shard itself was refused', { command: command.kind, reason: failure.message });
    if (command.kind === 'finishOutboxTask') this.#flushSoon();
  }

  // ── Timers ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #armTimer(): void {
    const next = this.#core.nextTimer();
    const fireTimeMs = next?.fireTimeMs ?? Infinity;
    if (fireTimeMs === this.#armedForMs) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#armedForMs = fireTimeMs;
    if (next === undefined) return;
    this.#timer = this.#options.clock.after(Math.max(0, fireTimeMs - this.#options.clock.wallMs()), () => this.#fire());
  }

  /** One due timer at a time: its record moves the heap on, and the commit of that record arms the next. */
  #fire(): void {
    this.#armedForMs = Infinity;
    const due = this.#core.nextTimer();
    if (due === undefined || due.fireTimeMs > this.#options.clock.wallMs()) return this.#armTimer();
    const { random } = this.#options;
    this.#submit({
      kind: 'fireTimer',
      fireTimeMs: due.fireTimeMs,
      taskId: due.taskId,
      newRunId: random.nonce(),
      jitter: random.fraction(),
    });
  }

  #flushSoon(): void {
    this.#flush ??= this.#options.clock.after(FLUSH_DELAY_MS, () => {
      this.#flush = undefined;
      if (this.#core.hasFinishedTasks) this.#submit({ kind: 'flushFinishedTasks' });
    });
  }

  // ── Queries to a worker ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Sticky queue first; when nobody takes it there in time, any worker, with the whole history. */
  #dispatchQuery(query: DirectQuery, taskQueue: TaskQueue): void {
    const { clock, layout, router, sink } = this.#options;
    const sticky = taskQueue.kind === 2;
    const queue: TaskQueuePartition = {
      namespaceId: query.key.namespaceId,
      name: taskQueue.name,
      taskType: 'workflow',
      partition: 0,
      kind: sticky ? 'sticky' : 'normal',
      version: '',
    };
    const stickyDeadlineMs = clock.wallMs() + query.scheduleToStartTimeoutMs;
    const deadlineMs = sticky ? Math.min(stickyDeadlineMs, query.deadlineMs) : query.deadlineMs;
    const request = {
      kind: 'dispatchQuery',
      queue,
      queryId: query.queryId,
      workflow: {
        key: query.key,
        workflowType: query.workflowType,
        previousStartedEventId: query.previousStartedEventId,
        historyLastEventId: query.lastEventId,
        taskQueueName: query.normalTaskQueue.name,
      },
      query: query.query,
      deadlineMs,
    } as const;
    router.askMatching(matchingPartitionOf(queue, layout.matchingPartitions), request, Infinity, (reply) => {
      if (isAskFailure(reply)) return sink.fail(query.askId, reply);
      if (reply.kind === 'queryAnswer') return this.answer(query.askId, queryReply(reply.result));
      const expired = reply.kind === 'rejected' && reply.rejection.reason === 'query-expired';
      if (sticky && (reply.kind === 'stickyUnavailable' || expired) && clock.wallMs() < query.deadlineMs) {
        this.#submit({ kind: 'resetStickyTaskQueue', key: query.key });
        return this.#dispatchQuery(query, query.normalTaskQueue);
      }
      if (expired) return sink.fail(query.askId, { kind: 'deadline', message: 'query timed out before a worker could process it' });
      const message = reply.kind === 'rejected' ? reply.rejection.message : 'no poller seen for task queue recently, worker may be down';
      this.answer(query.askId, { kind: 'rejected', rejection: { reason: 'failed-precondition', message } });
    });
  }
}

function queryReply(result: QueryResult): HistoryReply {
  if (result.answered) return { kind: 'queryAnswered', answer: result.answer };
  return { kind: 'rejected', rejection: { reason: 'query-failed', message: result.errorMessage, failure: result.failure } };
}
