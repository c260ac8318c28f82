/**
 * One memory of a history shard, from replay to the loss of ownership.
 *
 *     HistoryCore ─▶ record ─▶ committed ─┬─▶ HistoryStore   events, by run
 *          ▲                              ├─▶ TransferQueue  dispatch to matching, outbox to other shards
 *          │                              ├─▶ VisibilityRows what List and Count show of runs ─▶ VisibilityFlusher ─▶ database
 *          │                              ├─▶ DurableShard   rows of a database, from which it is made again; there is one, or all is in memory
 *          │                              └─▶ its shell      answers, queries to workers
 *          └── OwnCommands ◀── one OS timer for the earliest of all, answers to the outbox, what could not be decided
 */
import { assert, unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import type { ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryCommand, OwnHistoryCommand } from '../../history/commands/history-commands.ts';
import type { DirectQuery } from '../../history/commands/query-commands.ts';
import type { HistoryEffect } from '../../history/run/effects.ts';
import { HistoryCore } from '../../history/history-core.ts';
import type { HistoryLimits } from '../../history/run/history-limits.ts';
import type { HistoryRecord } from '../../history/run/record.ts';
import type { HistoryReply, HistoryWire, StartedWorkflowTask } from '../../history/run/history-replies.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Checkpointer } from '../../projections/checkpoints/checkpointer.ts';
import type { JournalId, Restored } from '../../projections/database-port.ts';
import { type AskFailure, NOBODY } from '../asks/asks.ts';
import type { ReplySink } from '../asks/switchboard.ts';
import { firstTry } from '../asks/tries.ts';
import { AtMatchingNotes } from './at-matching-notes.ts';
import type { ColdLoads, HistoryReadAhead } from './durable/cold-loads.ts';
import { DurableShard, type HistoryCheckpointOptions } from './durable/durable-shard.ts';
import { listTasks } from './durable/task-listing.ts';
import { HistoryStore, PAGE_EVENTS_MAX } from './events/history-store.ts';
import { OwnCommands } from './own-commands.ts';
import { PageReads } from './events/page-reads.ts';
import type { ActorOptions } from '../partition/partition-actor.ts';
import type { CommitSubscriber } from '../../ports/commit-subscriber.ts';
import type { ShellMemory, Tenure } from '../partition/partition-core.ts';
import { LoopTurns } from '../../ports/loop-turns.ts';
import { capturedTasks, type TaskCapture } from './hand-over/task-capture.ts';
import type { TaskHandOver } from './hand-over/hand-over.ts';
import { thrownByTask } from './hand-over/task-failures.ts';
import { type SideRunners, SideTasks } from './side-tasks/side-tasks.ts';
import { TaskNamespaces } from './transfer/task-namespaces.ts';
import { type CallbackOptions, CallbackTasks, whyNoCallback } from './side-tasks/callback-tasks.ts';
import { dispatchQuery, SpeculativeTasks } from './speculative-tasks.ts';
import { LogError } from '../../ports/log.ts';
import type { Asker } from '../asks/router.ts';
import { TransferQueue } from './transfer/transfer-queue.ts';
import type { ClusterLayout, TransferRoom } from './transfer/transfer-shard.ts';
import type { ProcessVisibility } from '../../projections/list/process-visibility.ts';
import type { VisibilityFlusher } from '../../projections/list/visibility-flusher.ts';
import { rowAnswer } from './side-tasks/row-answer.ts';
import { VisibilityRows } from '../../projections/list/visibility-rows.ts';

export type HistoryShardOptions = ActorOptions<HistoryReply, HistoryRecord> & {
  /** The number of the shard, from 1. It owns partition shard − 1 of the topic. */
  readonly shard: number;
  readonly wire: HistoryWire;
  readonly limits: HistoryLimits;
  readonly registry: Registry;
  readonly cacheBytesMax: number;
  readonly layout: ClusterLayout;
  readonly router: Asker;
  /** Where rows for List are written: with checkpoints, into the same database. Absent: nowhere, none are made. */
  readonly visibility?: ProcessVisibility;
  /** State is written to a database, and taken from there; absent: it lives in memory and in the journal. */
  readonly checkpoints?: HistoryCheckpointOptions;
  readonly capture: TaskCapture;
  readonly isArchiving: boolean;
  /** What runs tasks beside the shards, shared by the process. */
  readonly sideRunners: SideRunners;
  /** How completion callbacks are delivered; absent: they are not, and wait. */
  readonly callbacks?: CallbackOptions;
  /** While it is nearly full no workflow is started; absent: nobody watches it. */
  readonly heap?: { readonly nearlyFull: object | undefined };
};

/** What this process has folded of the cluster's journal. */
export type Registry = {
  /** False: nothing is folded yet, at a start; `view` is empty. */
  readonly isFolded: boolean;
  /** Another object from time to time: ask anew, do not keep it. */
  readonly view: Pick<ClusterSnapshot, 'position' | 'namespaceById' | 'registeredNameOf' | 'systemSearchAttributes'>;
};

/** A started workflow task takes the first page of its history along if that is small: the worker then needs no further ask. */
const attachedPage = { eventsMax: PAGE_EVENTS_MAX, bytesMax: 64 * 1024 };

export class HistoryMemory implements ShellMemory<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect> {
  readonly core: HistoryCore;
  readonly shell = this;
  readonly subscribers: readonly CommitSubscriber<HistoryRecord>[];
  readonly store: HistoryStore;
  readonly pageReads = new PageReads();
  readonly visibility: VisibilityRows | undefined;
  readonly flusher: VisibilityFlusher | undefined;
  readonly turns: LoopTurns;
  readonly durable: DurableShard | undefined;
  readonly checkpointer: Checkpointer | undefined;
  readonly prefetch: ColdLoads | undefined;
  readonly readAhead: HistoryReadAhead | undefined;
  readonly #tenure: Tenure<HistoryCommand>;
  readonly #sink: ReplySink<HistoryReply>;
  readonly #own: OwnCommands;
  readonly #transfers: TransferQueue;
  /** undefined: nobody delivers callbacks, and none comes here. */
  readonly #callbacks: CallbackTasks | undefined;
  readonly #handOvers: readonly TaskHandOver[];
  readonly #dispatchQuery: (query: DirectQuery) => void;
  readonly #speculative: SpeculativeTasks;

  constructor(options: HistoryShardOptions, tenure: Tenure<HistoryCommand>) {
    const { wire, limits, shard, registry, router, layout, clock, random, logger, sink, checkpoints } = options;
    const journal = journalOf(shard);
    this.turns = options.turns ?? new LoopTurns(clock);
    this.#tenure = tenure;
    this.#sink = sink;
    const core = new HistoryCore({
      wire,
      limits,
      archives: (namespaceId) => options.isArchiving && registry.view.namespaceById(namespaceId)?.archival.isEnabled === true,
      ...(checkpoints === undefined ? {} : { stateWire: checkpoints.stateWire }),
    });
    this.core = core;
    const submit = (command: OwnHistoryCommand): AskFailure | undefined => own.submit(command);
    const offsetOf = (runId: string, eventId: number): number | undefined => this.store.offsetOf(runId, eventId);
    const { failed, handOvers } = capturedTasks({ ...options, core, tenure, submit, offsetOf });
    this.#handOvers = handOvers;
    const namespaces = new TaskNamespaces({ registry, asker: router, clock });
    const side = new SideTasks({
      runners: options.sideRunners,
      tenure,
      clock,
      logger,
      isPending: (taskId) => core.shard.transfers.get(taskId) !== undefined || core.shard.timers.get(taskId) !== undefined,
    });
    const retentionMsOf = (namespaceId: string): number | undefined => registry.view.namespaceById(namespaceId)?.retentionMs;
    const own = new OwnCommands({ core, tenure, failed, side, namespaces, retentionMsOf, clock, random });
    this.#own = own;
    const notes = new AtMatchingNotes({ tenure, submit });
    const transfers = new TransferQueue({
      shard: {
        shard,
        pendingTask: (taskId) => core.shard.transfers.get(taskId),
        pendingTransferTasks: () => core.shard.transfers.values(),
        stored: (taskId) => {
          if (core.shard.transfers.get(taskId) === undefined) return;
          notes.add(taskId);
          core.transferWindow?.stored(taskId);
          this.durable?.fewerTransfers();
        },
        unsentTasks: core.unsentTasks,
        room: this.#roomFor(core),
        retentionMsOf,
        writeRow: async ({ taskId, key }) => rowAnswer(taskId, (await this.flusher?.write(key.runId)) ?? { kind: 'written' }),
        submit: (command) => void submit(command),
      },
      failed,
      namespaces,
      tenure,
      whyNoCallback: (task) => whyNoCallback(options.callbacks?.deliveries, task),
      router,
      layout,
      clock,
      random,
      logger,
    });
    this.#transfers = transfers;
    const visibility = options.visibility && new VisibilityRows({ shard, core, registry, wire });
    this.visibility = visibility;
    this.store = new HistoryStore(
      options.cacheBytesMax,
      (offset, runId) => readEvents(options, offset, runId),
      checkpoints && ((range) => checkpoints.database.history(journal, range)),
    );
    this.#callbacks =
      options.callbacks &&
      new CallbackTasks({
        ...options.callbacks,
        store: this.store,
        submit: (command) => void submit(command),
        failed: (taskId, tries, failure) => transfers.attemptFailed(taskId, tries, failure),
        random,
      });
    this.durable =
      checkpoints &&
      new DurableShard({
        ...options,
        checkpoints,
        journal,
        core,
        store: this.store,
        visibility,
        own,
        run: (tasks) => transfers.runAll(tasks),
        notLoaded: (command, reason) => this.#notLoaded(command, reason),
        tenure,
        turns: this.turns,
      });
    const rowRefused = (key: RunKey): void => void submit({ kind: 'rowRefused', key });
    this.flusher = visibility && options.visibility?.flusher(journal, visibility, this.durable?.rows, rowRefused);
    this.checkpointer = this.durable?.checkpointer;
    this.prefetch = this.durable?.coldLoads;
    this.readAhead = this.durable?.readAhead;
    const fail = (askId: number, failure: AskFailure): void => sink.fail(askId, failure);
    this.#dispatchQuery = (query) =>
      dispatchQuery(query, { clock, matchingPartitions: layout.matchingPartitions, router, finish: submit, fail });
    this.#speculative = new SpeculativeTasks({ shard, router, layout, clock, random, submit: (command) => void submit(command) });
    const putAside: CommitSubscriber<HistoryRecord> = {
      committed: (record, _position, replayed) => void (replayed || tellPutAside(record, core, logger)),
    };
    this.subscribers = [this.store, transfers, failed, ...handOvers, visibility, this.flusher, putAside, this.durable].filter(
      (subscriber) => subscriber !== undefined,
    );
  }

  /** Whatever makes room brings the next. */
  #roomFor({ transferWindow: window }: HistoryCore): TransferRoom | undefined {
    if (window === undefined) return undefined;
    const thenNext = <Answer>(answer: Answer): Answer => {
      this.durable?.fewerTransfers();
      return answer;
    };
    return {
      delivered: (taskId) => thenNext(window.delivered(taskId)),
      keeps: (taskId) => thenNext(window.keeps(taskId)),
      hasTurn: (taskId) => thenNext(window.hasTurn(taskId)),
      fails: (taskId) => thenNext(window.fails(taskId)),
      get othersWait() {
        return window.othersWait;
      },
    };
  }

  async install(restored: Restored): Promise<void> {
    assert(this.durable !== undefined, 'a memory is installed from its database');
    await this.durable.install(restored);
  }

  get active(): boolean {
    return this.#tenure.active;
  }

  // ── The shell: what leaves once it is committed, and what this memory does by itself ────────────────────────────────────────

  activated(): void {
    this.#transfers.runPending();
    for (const handOver of this.#handOvers) handOver.activated();
    this.#own.armTimer();
    this.flusher?.activated();
    this.durable?.activated();
  }

  accepted(command: HistoryCommand | undefined, record: HistoryRecord | undefined): void {
    if (record !== undefined) {
      this.visibility?.accepted(record);
      this.checkpointer?.accepted();
    }
    this.#own.accepted(command, record !== undefined);
    if (command?.kind === 'fireTimer') this.durable?.timerFired();
    if (command?.kind === 'noteAtMatching') this.durable?.noted(command.taskIds);
  }

  undecided(askId: number, command: HistoryCommand, error: unknown): void {
    switch (command.kind) {
      case 'finishQueryDispatch':
        return this.#sink.fail(command.query.askId, { kind: 'internal', message: errorText(error) });
      case 'runOutboxTask':
      case 'writeRow':
      case 'runCallback':
        return this.#transfers.attemptFailed(command.taskId, command.tries, thrownByTask(error));
      // Its target has answered: it is asked again, and answers the same.
      case 'finishOutboxTask':
        return this.#transfers.attemptFailed(command.taskId, firstTry, thrownByTask(error));
      // A row of List is not worth a workflow that is put aside: it is told of once more when it changes.
      case 'rowRefused':
        return;
      default:
        if (askId === NOBODY) this.#own.undecided(command, error);
        else if (command.kind === 'startWorkflowTask' || command.kind === 'startActivityTask') this.#own.startUndecided(command, error);
    }
  }

  #notLoaded(command: HistoryCommand, reason: string): void {
    if (command.kind === 'finishQueryDispatch') this.#sink.fail(command.query.askId, { kind: 'unavailable', message: reason });
    else if (command.kind === 'runOutboxTask' || command.kind === 'writeRow') this.#transfers.notLoaded(command, reason);
    else this.#own.notLoaded(command);
  }

  deactivated(): void {
    this.pageReads.clear();
    this.#own.close();
    this.#callbacks?.close();
    this.#speculative.close();
    this.durable?.deactivated();
    this.flusher?.close();
  }

  act(effect: HistoryEffect): void {
    switch (effect.kind) {
      case 'reply':
        return this.answer(effect.askId, effect.reply);
      case 'directQuery':
        return this.#dispatchQuery(effect);
      case 'deliver':
        return this.#transfers.deliver(effect);
      case 'rowToWrite':
        return this.#transfers.writeRow(effect);
      case 'taskRowsToList':
        return listTasks(effect, { core: this.core, sink: this.#sink, table: this.durable?.taskTable });
      case 'deliverCallback':
        return this.#callbacks?.deliver(effect);
      case 'speculativeOffered':
      case 'speculativeStarted':
        return this.#speculative.act(effect);
      default:
        return unreachable(effect);
    }
  }

  answer(askId: number, reply: HistoryReply): void {
    this.#sink.answer(askId, this.#withHistory(reply));
  }

  #withHistory(reply: HistoryReply): HistoryReply {
    if (reply.kind === 'workflowTask') return this.#withFirstPage(reply);
    if (reply.kind !== 'workflowTaskCompleted' && reply.kind !== 'started') return reply;
    return reply.workflowTask === undefined ? reply : { ...reply, workflowTask: this.#withFirstPage(reply.workflowTask) };
  }

  #withFirstPage(task: StartedWorkflowTask): StartedWorkflowTask {
    const { key, historyFirstEventId, historyLastEventId } = task;
    if (historyFirstEventId > historyLastEventId) return task;
    const firstPage = this.store.smallPage(key.runId, historyFirstEventId, historyLastEventId, attachedPage);
    return firstPage === undefined ? task : { ...task, firstPage };
  }
}

export function journalOf(shard: number): JournalId {
  return { kind: 'history', partition: shard - 1 };
}

async function readEvents(
  { log, topic, shard, codec }: HistoryShardOptions,
  offset: number,
  runId: string,
): Promise<readonly Uint8Array[]> {
  const [stored] = await log.read({ topic, partition: shard - 1 }, offset, 1);
  // A broker that has just begun to lead may not show yet what it holds.
  if (stored === undefined) throw new LogError('unavailable', `the journal does not show record ${offset} yet`);
  assert(stored.offset === offset, `the journal no longer holds record ${offset}`);
  const { runs } = codec.decode(stored.value, stored.schema, stored);
  return runs.find((each) => each.runId === runId)?.events.map((event) => event.bytes) ?? [];
}

function tellPutAside({ runs }: HistoryRecord, core: HistoryCore, logger: Logger): void {
  for (const { runId, facts } of runs) {
    for (const { fact } of facts) {
      if (fact.kind !== 'runPutAside') continue;
      const { failedCommand, taskId, reason } = fact;
      const ids = { ...core.shard.runs.get(runId)?.key, runId, failedCommand, taskId, reason };
      logger.error('a workflow was quarantined: terminate it, or keep it for a later version', ids);
    }
  }
}
