/**
 * A history shard: the actor around HistoryCore.
 *
 *     router ─▶ PartitionActor ▶ HistoryCore ─▶ record ─▶ committed ─┬─▶ HistoryStore   events, by run
 *                   ▲                                                ├─▶ TransferQueue  dispatch to matching, outbox to other shards
 *                   │                                                └─▶ timer          one OS timer for the earliest of all
 *                   └────────── fireTimer, finishOutboxTask, … ◀─────────────┘
 *
 * All of it but the store's positions is made anew with each memory of the partition; the store is filled by replay as well.
 */
import { errorText } from '../kernel/error-text.ts';
import { assert, unreachable } from '../kernel/assert.ts';
import type { CommandIds } from '../kernel/handled.ts';
import type { ClusterSnapshot } from '../cluster/cluster-state.ts';
import { matchingPartitionOf } from '../matching/task-queue.ts';
import { HistoryCore, type HandledHistory } from '../history/history-core.ts';
import type {
  CompleteWorkflowTask,
  DirectQuery,
  HistoryCommand,
  HistoryRequest,
  QueryDispatchOutcome,
  ReadHistory,
  RunKey,
  StartActivityTask,
  StartWorkflowTask,
} from '../history/commands.ts';
import { commandBytes, finishesWork } from '../history/command-bytes.ts';
import type { HistoryEffect } from '../history/effects.ts';
import type { HistoryLimits } from '../history/limits.ts';
import type { HistoryRecord } from '../history/record.ts';
import type { HistoryReply, HistoryWire, StartedWorkflowTask } from '../history/replies.ts';
import { taskQueueKind } from '../history/generated/enums.ts';
import type { DispatchQuery } from '../matching/commands.ts';
import { type AskFailure, isAskFailure, NOBODY, internalError } from './asks.ts';
import { HistoryStore, PAGE_EVENTS_MAX } from './history-store.ts';
import { LogError } from './log.ts';
import { OWN_COMMAND_ATTEMPTS_MAX, OwnCommands } from './own-commands.ts';
import { PageReads } from './page-reads.ts';
import { PartitionActor, type ActorOptions } from './partition-actor.ts';
import type { CommitSubscriber, PartitionCore, PartitionMemory, PartitionShell } from './partition-core.ts';
import type { Asker, MatchingAnswer } from './router.ts';
import type { Endpoint } from './switchboard.ts';
import type { Tenure } from './tenure.ts';
import { type ClusterLayout, TransferQueue } from './transfer-queue.ts';
import { WallAlarm } from './wall-alarm.ts';

export type HistoryShardOptions = ActorOptions<HistoryReply, HistoryRecord> & {
  /** From 1; owns partition shard − 1 of the topic. */
  readonly shard: number;
  readonly wire: HistoryWire;
  readonly limits: HistoryLimits;
  readonly registry: Registry;
  readonly cacheBytesMax: number;
  readonly layout: ClusterLayout;
  readonly router: Asker;
};

/** What this process has folded of the cluster's journal. */
export type Registry = {
  /** Another object from time to time: ask anew, do not keep it. */
  readonly view: Pick<ClusterSnapshot, 'position' | 'namespaceById' | 'systemSearchAttributes'>;
};

/** Lazy completions that no record took along are journaled after this pause. */
const FLUSH_DELAY_MS = 1_000;
/** Until its run is put aside, a timer that cannot be decided stays out of the way. */
const PUT_ASIDE_GRACE_MS = 60_000;
/** A matching host ends a query at the query's own deadline; this long after it the host is not heard of any more. */
const QUERY_ANSWER_TIMEOUT_MS = 1_000;

/** Of its history, a started workflow task takes the first page along if it is small: a worker's turn then needs no further ask. */
const attachedPage = { eventsMax: PAGE_EVENTS_MAX, bytesMax: 64 * 1024 };

export class HistoryShard implements Endpoint<HistoryRequest> {
  readonly actor: PartitionActor<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect, HistoryMemory>;
  readonly #options: HistoryShardOptions;

  constructor(options: HistoryShardOptions) {
    this.#options = options;
    this.actor = new PartitionActor(options, {
      partition: options.shard - 1,
      logFields: { 'shard-id': options.shard },
      create: (tenure) => new HistoryMemory(options, tenure),
      scale: { bytesOf: commandBytes, finishesWork },
    });
  }

  /** Workflows whose timers and tasks wait aside, because the shard cannot decide what they need: each wants a person. */
  get runsAside(): number {
    return this.actor.memory?.runsAside ?? 0;
  }

  submit(askId: number, request: HistoryRequest): AskFailure | undefined {
    if (request.kind === 'readHistory') return this.#readHistory(askId, request);
    if (request.kind === 'completeWorkflowTask') return this.#completeWorkflowTask(askId, request);
    return this.actor.submit(askId, request);
  }

  cancel(askId: number): void {
    if (this.actor.memory?.pageReads.leave(askId) !== true) this.actor.cancel(askId);
  }

  /** A registry that is behind the asker's would call unknown what its worker rightly uses. */
  #completeWorkflowTask(askId: number, request: CompleteWorkflowTask): AskFailure | undefined {
    const { view } = this.#options.registry;
    if (view.position < request.registryPosition) {
      const message = `the registry is read up to ${view.position} here, and up to ${request.registryPosition} elsewhere`;
      return this.actor.notHere(message);
    }
    const namespace = view.namespaceById(request.task.key.namespaceId);
    const searchAttributeTypes = namespace?.searchAttributeTypes ?? view.systemSearchAttributes;
    return this.actor.submit(askId, { ...request, searchAttributeTypes });
  }

  /** Committed events need no barrier. A shard that is not served refuses: its memory may lack some. */
  #readHistory(askId: number, { key, firstEventId, lastEventId, eventsMax, bytesMax }: ReadHistory): AskFailure | undefined {
    const { memory } = this.actor;
    if (memory?.active !== true) return this.actor.notHere(noHistoryNow);
    const { clock, sink } = this.#options;
    const answer = (events: readonly Uint8Array[]): void => void sink.answer(askId, { kind: 'historyPage', events });
    const page = memory.store.page(key.runId, firstEventId, lastEventId, { eventsMax, bytesMax });
    if ('read' in page) {
      const { bytes } = page;
      memory.pageReads.add(askId, { bytes, read: () => page.read().then(answer, (error: unknown) => this.#notRead(askId, key, error)) });
    } else clock.soon(() => answer(page));
    return undefined;
  }

  #notRead(askId: number, { namespaceId, workflowId, runId }: RunKey, error: unknown): void {
    const { logger, sink } = this.#options;
    if (isOutOfReach(error)) return sink.fail(askId, { kind: 'unavailable', message: noHistoryNow });
    const problem = error instanceof Error ? error : new Error(String(error));
    logger.error('a history could not be read', { namespaceId, workflowId, runId, error: problem });
    sink.fail(askId, internalError(errorText(problem)));
  }
}

/** One memory of the shard, from replay to the loss of ownership: the core with a timer beside it, and the shell around it. */
class HistoryMemory
  implements
    PartitionMemory<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect>,
    PartitionCore<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect>,
    PartitionShell<HistoryCommand, HistoryReply, HistoryEffect>
{
  /** What the loop drives: this, around the pure core. */
  readonly core = this;
  readonly shell = this;
  readonly subscribers: readonly CommitSubscriber<HistoryRecord>[];
  readonly store: HistoryStore;
  readonly pageReads = new PageReads();
  readonly #options: HistoryShardOptions;
  readonly #core: HistoryCore;
  readonly #tenure: Tenure<HistoryCommand>;
  readonly #transfers: TransferQueue;
  readonly #own: OwnCommands;
  readonly #alarm: WallAlarm;
  #flushing = false;

  constructor(options: HistoryShardOptions, tenure: Tenure<HistoryCommand>) {
    const { wire, limits, shard, router, layout, clock, random, logger } = options;
    const core = new HistoryCore({ wire, limits });
    const retentionOf = (namespaceId: string): number | undefined => options.registry.view.namespaceById(namespaceId)?.retentionMs;
    this.#options = options;
    this.#core = core;
    this.#tenure = tenure;
    this.#own = new OwnCommands(clock);
    this.#alarm = new WallAlarm(
      clock,
      () => tenure.nowMs(),
      () => this.#fire(),
    );
    this.store = new HistoryStore(options.cacheBytesMax, (offset, runId) => this.#reread(offset, runId));
    this.#transfers = new TransferQueue({
      shard: {
        shard,
        isPending: (taskId) => core.transferTask(taskId) !== undefined,
        pendingTransferTasks: () => core.pendingTransferTasks(),
        outboxCommand: (taskId) => core.outboxCommand(taskId, random.nonce(), retentionOf),
        submit: (command) => this.#submit(command),
        putAside: (task, reason) => this.#putAside(task.key, task.kind, task.taskId, reason),
      },
      router,
      layout,
      clock,
      random,
      logger,
    });
    this.subscribers = [this.store, this.#transfers, { committed: (record, _, replayed) => replayed || this.#tellPutAside(record) }];
  }

  get active(): boolean {
    return this.#tenure.active;
  }

  get runsAside(): number {
    return this.#core.runsAside;
  }

  // ── The core, watched ──────────────────────────────────────────────────────────────────────────────────────────────────────

  handle(command: HistoryCommand, nowMs: number, askId: number): HandledHistory {
    const handled = this.#core.handle(command, nowMs, askId);
    // It was gone, or the clock went back and it is not due any more: no record will arm the next one.
    if (command.kind === 'fireTimer' && handled.kind !== 'commit') this.#armTimer();
    if (command.kind === 'flushFinishedTasks') this.#flushAgainSoon();
    return handled;
  }

  tooLarge(command: HistoryCommand, nowMs: number, askId: number): HandledHistory | undefined {
    return this.#core.tooLarge(command, nowMs, askId);
  }

  idsOf(command: HistoryCommand): CommandIds {
    return this.#core.idsOf(command);
  }

  /** Timers follow memory, not the log: what is due together is decided together, and goes into one append. */
  accept(handled: HandledHistory): void {
    this.#core.accept(handled);
    if (handled.kind === 'commit' && this.active) this.#armTimer();
  }

  evolve(record: HistoryRecord): void {
    this.#core.evolve(record);
  }

  cancel(askId: number): HandledHistory {
    return this.#core.cancel(askId);
  }

  // ── The shell ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

  activated(): void {
    this.#transfers.runPending();
    this.#armTimer();
  }

  deactivated(): void {
    this.pageReads.clear();
    this.#transfers.close();
    this.#alarm.set(Infinity);
  }

  #tellPutAside(record: HistoryRecord): void {
    for (const { runId, facts } of record.runs) {
      for (const { fact } of facts) {
        if (fact.kind !== 'runPutAside') continue;
        const { failedCommand, taskId, reason } = fact;
        this.#options.logger.error('a workflow was put aside: terminate it, or keep it for a later version', {
          ...this.#core.nameOf(runId),
          runId,
          failedCommand,
          taskId,
          reason,
        });
      }
    }
  }

  async #reread(offset: number, runId: string): Promise<readonly Uint8Array[]> {
    const { log, topic, shard, codec } = this.#options;
    const [stored] = await log.read({ topic, partition: shard - 1 }, offset, 1);
    assert(stored?.offset === offset, `the journal no longer holds record ${offset}`);
    const record = codec.decode(stored.value, stored.schema);
    const change = record.runs.find((each) => each.runId === runId);
    return change?.events.map((event) => event.bytes) ?? [];
  }

  answer(askId: number, reply: HistoryReply): void {
    this.#options.sink.answer(askId, this.#withHistory(reply));
  }

  #withHistory(reply: HistoryReply): HistoryReply {
    if (reply.kind === 'workflowTask') return this.#withFirstPage(reply);
    if (reply.kind !== 'workflowTaskCompleted' || reply.workflowTask === undefined) return reply;
    return { ...reply, workflowTask: this.#withFirstPage(reply.workflowTask) };
  }

  #withFirstPage(task: StartedWorkflowTask): StartedWorkflowTask {
    const { key, historyFirstEventId, historyLastEventId } = task;
    if (historyFirstEventId > historyLastEventId) return task;
    const firstPage = this.store.smallPage(key.runId, historyFirstEventId, historyLastEventId, attachedPage);
    return firstPage === undefined ? task : { ...task, firstPage };
  }

  act(effect: HistoryEffect): void {
    switch (effect.kind) {
      case 'reply':
        return this.answer(effect.askId, effect.reply);
      case 'directQuery':
        return this.#dispatchQuery(effect);
      default:
        return unreachable(effect);
    }
  }

  // ── What cannot be decided ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** Tried again after a pause, and in the end put aside: one workflow must not stop the shard. */
  undecided(askId: number, command: HistoryCommand, reason: string): void {
    if (command.kind === 'finishQueryDispatch') this.#options.sink.fail(command.query.askId, { kind: 'internal', message: reason });
    else if (askId === NOBODY) this.#ownUndecided(command, reason);
    else if (command.kind === 'startWorkflowTask' || command.kind === 'startActivityTask') this.#startUndecided(command, reason);
  }

  /** Matching tries a start again and again, and every poll that it tries with waits for nothing. */
  #startUndecided(command: StartWorkflowTask | StartActivityTask, reason: string): void {
    const key = this.#core.keyOf(command);
    const name = `${command.kind} ${key?.runId} ${command.scheduledEventId}`;
    if (key !== undefined && this.#own.pauseMs(name) === undefined) this.#putAside(key, command.kind, 0, reason);
  }

  #ownUndecided(command: HistoryCommand, reason: string): void {
    const key = command.kind === 'putAside' ? undefined : this.#core.keyOf(command);
    const taskId = 'taskId' in command ? command.taskId : 0;
    const name = `${command.kind} ${taskId === 0 ? (key?.runId ?? '') : taskId}`;
    const pauseMs = this.#own.pauseMs(name, key === undefined ? Infinity : OWN_COMMAND_ATTEMPTS_MAX);
    // A timer's next attempt is made by the alarm, and those that are due meanwhile are not kept waiting.
    if (command.kind === 'fireTimer') {
      this.#core.postponeTimer(taskId, this.#tenure.nowMs() + (pauseMs ?? PUT_ASIDE_GRACE_MS));
      this.#armTimer();
    } else if (pauseMs !== undefined) this.#tenure.after(pauseMs, () => this.#submit(command));
    if (pauseMs === undefined && key !== undefined) this.#putAside(key, command.kind, taskId, reason);
  }

  #putAside(key: RunKey, failedCommand: string, taskId: number, reason: string): void {
    this.#submit({ kind: 'putAside', key, failedCommand, taskId, reason });
  }

  #submit(command: HistoryCommand): AskFailure | undefined {
    const failure = this.#tenure.submit(command);
    if (command.kind === 'finishOutboxTask') this.#flushSoon();
    return failure;
  }

  // ── Timers ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #armTimer(): void {
    this.#alarm.set(this.#core.nextTimer()?.fireTimeMs ?? Infinity);
  }

  /** One due timer at a time: its record moves the heap on, and that arms the next. */
  #fire(): void {
    const due = this.#core.nextTimer();
    if (due === undefined) return;
    const { random } = this.#options;
    const { fireTimeMs, taskId } = due;
    this.#submit({ kind: 'fireTimer', fireTimeMs, taskId, newRunId: random.nonce(), jitter: random.fraction() });
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    this.#tenure.after(FLUSH_DELAY_MS, () => {
      if (this.#core.hasFinishedTasks) this.#submit({ kind: 'flushFinishedTasks' });
      else this.#flushing = false;
    });
  }

  /** Not before it is decided: in doubt that is when the log answers, which may take hours. */
  #flushAgainSoon(): void {
    this.#flushing = false;
    // One record may not hold them all.
    this.#flushSoon();
  }

  // ── Queries to a worker ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Asks a worker, by way of matching. What the answer means, and which queue is tried next, is for the core to decide. */
  #dispatchQuery(query: DirectQuery): void {
    const { clock, layout, router, sink } = this.#options;
    const sticky = query.taskQueue.kind === taskQueueKind.sticky;
    const { namespaceId } = query.key;
    const queue = {
      namespaceId,
      name: query.taskQueue.name,
      taskType: 'workflow',
      partition: 0,
      kind: sticky ? 'sticky' : 'normal',
    } as const;
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
    const answeredByMs = clock.monoMs() + deadlineMs - clock.wallMs() + QUERY_ANSWER_TIMEOUT_MS;
    router.askMatching(matchingPartitionOf(queue, layout.matchingPartitions), request, answeredByMs, (reply) => {
      const outcome = queryDispatchOutcome(reply);
      if (isAskFailure(outcome)) return sink.fail(query.askId, outcome);
      const remainingMs = query.deadlineMs - clock.wallMs();
      const failure = this.#submit({ kind: 'finishQueryDispatch', query, outcome, remainingMs });
      if (failure !== undefined) sink.fail(query.askId, failure);
    });
  }
}

function queryDispatchOutcome(reply: MatchingAnswer<DispatchQuery>): QueryDispatchOutcome | AskFailure {
  switch (reply.kind) {
    case 'queryAnswer':
      return { kind: 'answered', result: reply.result };
    case 'deadline':
      return { kind: 'expired' };
    case 'rejected':
      if (reply.rejection.reason === 'query-expired') return { kind: 'expired' };
      return reply.rejection.reason === 'no-poller' ? { kind: 'noPoller' } : { kind: 'queueFull', message: reply.rejection.message };
    case 'stickyUnavailable':
      return { kind: 'noPoller' };
    case 'notHere':
      // The matching host is not: who asked this shard would take it for the shard's answer.
      return { kind: 'unavailable', message: reply.message };
    default:
      return reply;
  }
}

const noHistoryNow = 'the history of this workflow cannot be read now';

function isOutOfReach(error: unknown): boolean {
  return error instanceof LogError && (error.recoverable || error.code === 'denied' || error.code === 'closed');
}
