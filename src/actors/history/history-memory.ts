/**
 * One memory of a history shard, from replay to the loss of ownership.
 *
 *     HistoryCore ─▶ record ─▶ committed ─┬─▶ HistoryStore   events, by run
 *          ▲                              ├─▶ TransferQueue  dispatch to matching, outbox to other shards
 *          │                              ├─▶ VisibilityRows what List and Count show of runs ─▶ VisibilityFlusher ─▶ database
 *          │                              ├─▶ DurableShard   rows of a database, from which it is made again; there is one, or all is in memory
 *          │                              └─▶ HistoryShell   answers, queries to workers
 *          └── OwnCommands ◀── one OS timer for the earliest of all, answers to the outbox, what could not be decided
 */
import { assert } from '../../kernel/assert.ts';
import type { ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { HistoryCommand, OwnHistoryCommand } from '../../history/commands.ts';
import type { HistoryEffect } from '../../history/effects.ts';
import { HistoryCore } from '../../history/history-core.ts';
import type { HistoryLimits } from '../../history/limits.ts';
import type { HistoryRecord } from '../../history/record.ts';
import type { HistoryReply, HistoryWire } from '../../history/replies.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Checkpointer } from '../checkpoint/checkpointer.ts';
import type { JournalId, Restored } from '../database.ts';
import type { AskFailure } from '../asks/asks.ts';
import { AtMatchingNotes } from './at-matching-notes.ts';
import type { ColdLoads } from './durable/cold-loads.ts';
import { DurableShard, type HistoryCheckpointOptions } from './durable/durable-shard.ts';
import { TaskListing } from './durable/task-listing.ts';
import { HistoryShell } from './history-shell.ts';
import type { HistoryReadAhead } from './durable/read-ahead.ts';
import { HistoryStore } from './events/history-store.ts';
import { OwnCommands } from './own-commands.ts';
import { PageReads } from './events/page-reads.ts';
import type { ActorOptions } from '../partition/partition-actor.ts';
import type { CommitSubscriber, PartitionMemory } from '../partition/partition-core.ts';
import { LoopTurns } from '../loop-turns.ts';
import { capturedTasks, type TaskCapture } from './hand-over/task-capture.ts';
import { type SideRunners, SideTasks } from './side-tasks/side-tasks.ts';
import { TaskNamespaces } from './transfer/task-namespaces.ts';
import { type CallbackOptions, CallbackTasks, whyNoCallback } from './side-tasks/callback-tasks.ts';
import { QueryDispatch } from './query-dispatch.ts';
import { SpeculativeTasks } from './speculative-tasks.ts';
import { LogError } from '../log.ts';
import type { Asker } from '../asks/router.ts';
import type { Tenure } from '../partition/tenure.ts';
import { TransferQueue } from './transfer/transfer-queue.ts';
import type { ClusterLayout, TransferRoom } from './transfer/transfer-shard.ts';
import type { ProcessVisibility } from './visibility/process-visibility.ts';
import { rowAnswer } from './visibility/refused-rows.ts';
import { VisibilityRows } from './visibility/visibility-rows.ts';

export type HistoryShardOptions = ActorOptions<HistoryReply, HistoryRecord> & {
  /** From 1; owns partition shard − 1 of the topic. */
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
  /** What becomes of tasks that fail for good; absent: there are no dead letters, and whatever fails is tried for ever. */
  readonly capture?: TaskCapture;
  /** The cluster archives closed histories of namespaces that want it. */
  readonly isArchiving?: boolean;
  /** Of the process: what runs tasks beside their shards. */
  readonly sideRunners?: SideRunners;
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

export class HistoryMemory implements PartitionMemory<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect> {
  readonly core: HistoryCore;
  readonly shell: HistoryShell;
  readonly subscribers: readonly CommitSubscriber<HistoryRecord>[];
  readonly store: HistoryStore;
  readonly pageReads = new PageReads();
  readonly visibility: VisibilityRows | undefined;
  /** undefined: there is no database, and what is not in memory is nowhere. */
  readonly durable: DurableShard | undefined;
  readonly checkpointer: Checkpointer | undefined;
  readonly prefetch: ColdLoads | undefined;
  readonly readAhead: HistoryReadAhead | undefined;
  readonly #tenure: Tenure<HistoryCommand>;

  constructor(options: HistoryShardOptions, tenure: Tenure<HistoryCommand>) {
    const { wire, limits, shard, registry, router, layout, clock, random, logger, sink } = options;
    const { checkpoints, turns = new LoopTurns(clock) } = options;
    const core = new HistoryCore({
      wire,
      limits,
      archives: (namespaceId) => options.isArchiving === true && registry.view.namespaceById(namespaceId)?.archival.isEnabled === true,
      ...(checkpoints === undefined ? {} : { stateWire: checkpoints.stateWire }),
    });
    const { capture } = options;
    const submit = (command: OwnHistoryCommand): AskFailure | undefined => own.submit(command);
    const captured = capturedTasks({ ...options, core, tenure, submit, offsetOf: (runId, eventId) => this.store.offsetOf(runId, eventId) });
    const { failed, handOvers } = captured;
    const namespaces = capture === undefined ? undefined : new TaskNamespaces({ registry, asker: router, clock });
    const side = new SideTasks({
      runners: options.sideRunners ?? {},
      tenure,
      clock,
      logger,
      isPending: (taskId) => core.transferTask(taskId) !== undefined || core.timerTask(taskId) !== undefined,
    });
    const retentionMsOf = (namespaceId: string): number | undefined => registry.view.namespaceById(namespaceId)?.retentionMs;
    const own = new OwnCommands({ core, tenure, failed, side, namespaces, retentionMsOf, clock, random });
    const notes = new AtMatchingNotes({ tenure, submit });
    const transfers = new TransferQueue({
      shard: {
        shard,
        pendingTask: (taskId) => core.transferTask(taskId),
        pendingTransferTasks: () => core.pendingTransferTasks(),
        stored: (taskId) => {
          if (core.transferTask(taskId) === undefined) return;
          notes.add(taskId);
          core.transferWindow?.stored(taskId);
          this.durable?.fewerTransfers();
        },
        unsentTasks: core.unsentTasks,
        room: this.#roomFor(core),
        retentionMsOf,
        writeRow: async ({ taskId, key }) => rowAnswer(taskId, (await flusher?.write(key.runId)) ?? { kind: 'written' }),
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
    const queries = new QueryDispatch({
      clock,
      matchingPartitions: layout.matchingPartitions,
      router,
      finish: submit,
      fail: (askId, failure) => sink.fail(askId, failure),
    });
    const visibility = options.visibility === undefined ? undefined : new VisibilityRows({ shard, core, registry, wire });
    this.#tenure = tenure;
    this.core = core;
    this.visibility = visibility;
    const journal = journalOf(shard);
    this.store = new HistoryStore(
      options.cacheBytesMax,
      (offset, runId) => readEvents(options, offset, runId),
      checkpoints === undefined ? undefined : (range) => checkpoints.database.history(journal, range),
    );
    const { store, pageReads } = this;
    const callbacks =
      options.callbacks === undefined
        ? undefined
        : new CallbackTasks({
            ...options.callbacks,
            store,
            submit: (command) => void submit(command),
            failed: (taskId, tries, failure) => transfers.callbackFailed(taskId, tries, failure),
            random,
          });
    const notLoaded = (command: HistoryCommand, reason: string): void => this.shell.notLoaded(command, reason);
    const durable =
      checkpoints === undefined
        ? undefined
        : new DurableShard({
            ...options,
            checkpoints,
            journal,
            core,
            store,
            visibility,
            own,
            run: (tasks) => transfers.runAll(tasks),
            notLoaded,
            tenure,
            turns,
          });
    // Where there are no dead letters it would be tried for ever, for nothing.
    const rowRefused = capture === undefined ? undefined : (key: RunKey): void => void submit({ kind: 'rowRefused', key });
    const flusher = visibility === undefined ? undefined : options.visibility?.flusher(journal, visibility, durable?.rows, rowRefused);
    const listing = new TaskListing({ core, sink, table: durable?.taskTable });
    this.durable = durable;
    this.checkpointer = durable?.checkpointer;
    this.prefetch = durable?.coldLoads;
    this.readAhead = durable?.readAhead;
    this.shell = new HistoryShell({
      store,
      pageReads,
      own,
      transfers,
      callbacks,
      handOvers,
      queries,
      speculative: new SpeculativeTasks({ shard, router, layout, clock, random, submit: (command) => void submit(command) }),
      visibility,
      flusher,
      durable,
      listing,
      sink,
    });
    this.subscribers = [
      this.store,
      transfers,
      failed,
      ...handOvers,
      ...(visibility === undefined ? [] : [visibility]),
      ...(flusher === undefined ? [] : [flusher]),
      { committed: (record, _position, replayed) => void (replayed || tellPutAside(record, core, logger)) },
      ...(durable === undefined ? [] : [durable]),
    ];
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

  /** All of the journal is here, and it is ours. */
  get active(): boolean {
    return this.#tenure.active;
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
  const record = codec.decode(stored.value, stored.schema, stored);
  const change = record.runs.find((each) => each.runId === runId);
  return change?.events.map((event) => event.bytes) ?? [];
}

function tellPutAside({ runs }: HistoryRecord, core: HistoryCore, logger: Logger): void {
  for (const { runId, facts } of runs) {
    for (const { fact } of facts) {
      if (fact.kind !== 'runPutAside') continue;
      const { failedCommand, taskId, reason } = fact;
      const ids = { ...core.nameOf(runId), runId, failedCommand, taskId, reason };
      logger.error('a workflow was put aside: terminate it, or keep it for a later version', ids);
    }
  }
}
