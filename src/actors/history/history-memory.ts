/**
 * One memory of a history shard, from replay to the loss of ownership.
 *
 *     HistoryCore ─▶ record ─▶ committed ─┬─▶ HistoryStore   events, by run
 *          ▲                              ├─▶ TransferQueue  dispatch to matching, outbox to other shards
 *          │                              ├─▶ VisibilityRows what List and Count show of runs ─▶ VisibilityFlusher ─▶ database
 *          │                              ├─▶ Checkpointer   rows of a database, from which it is made again
 *          │                              └─▶ HistoryShell   answers, queries to workers
 *          └── OwnCommands ◀── one OS timer for the earliest of all, answers to the outbox, what could not be decided
 */
import { assert } from '../../kernel/assert.ts';
import type { ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { HistoryCommand, RunKey } from '../../history/commands.ts';
import type { HistoryEffect } from '../../history/effects.ts';
import type { StateWire } from '../../history/checkpoint/state-wire.ts';
import { HistoryCore } from '../../history/history-core.ts';
import type { HistoryLimits } from '../../history/limits.ts';
import type { HistoryRecord } from '../../history/record.ts';
import { executionKey } from '../../history/state.ts';
import type { HistoryReply, HistoryWire } from '../../history/replies.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Checkpointer } from '../checkpoint/checkpointer.ts';
import { inOneLane } from '../checkpoint/one-lane.ts';
import { type CheckpointOptions, checkpointerOf } from '../checkpoint/partition-checkpoints.ts';
import { DatabaseError, type JournalId, type Restored } from '../database.ts';
import { ColdLoads } from './cold-loads.ts';
import { HistoryCheckpoints, newerState, recordBytes, shardTasks } from './history-checkpoints.ts';
import { HistoryShell } from './history-shell.ts';
import { type HotShard, HotState } from './hot-state.ts';
import { KeyFilterBuild } from './key-filter-build.ts';
import { HistoryReadAhead } from './read-ahead.ts';
import { HistoryStore } from './history-store.ts';
import { OwnCommands } from './own-commands.ts';
import { PageReads } from './page-reads.ts';
import { Retirement } from './retirement.ts';
import type { ActorOptions } from '../partition/partition-actor.ts';
import type { CommitSubscriber, PartitionMemory } from '../partition/partition-core.ts';
import { QueryDispatch } from './query-dispatch.ts';
import { DurableRows } from './rows-table.ts';
import { LogError, type RecordPosition } from '../log.ts';
import type { Asker } from '../asks/router.ts';
import type { Tenure } from '../partition/tenure.ts';
import { type ClusterLayout, TransferQueue } from './transfer-queue.ts';
import type { ProcessVisibility } from './process-visibility.ts';
import { VisibilityRows } from './visibility-rows.ts';

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
};

/** In a fold, before each read that brings so many records at the most. */
const FOLD_LOOKS_MAX = 2_000;

type HistoryCheckpointOptions = CheckpointOptions & {
  readonly stateWire: StateWire;
  /** Of all shards of this process; absent: one of its own, with the default limit. */
  readonly hotState?: HotState;
};

/** What this process has folded of the cluster's journal. */
export type Registry = {
  /** False: nothing is folded yet, at a start; `view` is empty. */
  readonly isFolded: boolean;
  /** Another object from time to time: ask anew, do not keep it. */
  readonly view: Pick<ClusterSnapshot, 'position' | 'namespaceById' | 'systemSearchAttributes'>;
};

export class HistoryMemory implements PartitionMemory<HistoryCommand, HistoryReply, HistoryRecord, HistoryEffect> {
  readonly core: HistoryCore;
  readonly shell: HistoryShell;
  readonly subscribers: readonly CommitSubscriber<HistoryRecord>[];
  readonly store: HistoryStore;
  readonly pageReads = new PageReads();
  readonly visibility: VisibilityRows | undefined;
  /** undefined: there is no database. */
  readonly checkpointer: Checkpointer | undefined;
  /** Likewise: what is not in memory is nowhere. */
  readonly prefetch?: ColdLoads;
  readonly readAhead?: HistoryReadAhead;
  readonly #keyFilter: KeyFilterBuild | undefined;
  readonly #hotState: HotState | undefined;
  readonly #hotShard: HotShard;
  readonly #options: HistoryShardOptions;
  readonly #tenure: Tenure<HistoryCommand>;

  constructor(options: HistoryShardOptions, tenure: Tenure<HistoryCommand>) {
    const { wire, limits, shard, registry, router, layout, clock, random, logger, sink } = options;
    const { checkpoints } = options;
    const core = new HistoryCore({ wire, limits, ...(checkpoints === undefined ? {} : { stateWire: checkpoints.stateWire }) });
    const own = new OwnCommands({ core, tenure, clock, random });
    const transfers = new TransferQueue({
      shard: {
        shard,
        pendingTask: (taskId) => core.transferTask(taskId),
        pendingTransferTasks: () => core.pendingTransferTasks(),
        retentionMsOf: (namespaceId) => registry.view.namespaceById(namespaceId)?.retentionMs,
        submit: (command) => void own.submit(command),
        putAside: (task, reason) => own.putAside(task.key, task.kind, task.taskId, reason),
      },
      tenure,
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
      finish: (command) => own.submit(command),
      fail: (askId, failure) => sink.fail(askId, failure),
    });
    const visibility = options.visibility === undefined ? undefined : new VisibilityRows({ shard, core, registry, wire });
    this.#options = options;
    this.#tenure = tenure;
    this.core = core;
    this.visibility = visibility;
    // In a fold what is loaded must stay until it is applied: there room is made between two reads.
    this.#hotShard = {
      get hotBytes() {
        return core.hotBytes;
      },
      get oldestMs() {
        return core.oldestHotMs;
      },
      makeRoom: (bytes, looksMax) => (tenure.active ? core.makeRoom(bytes, looksMax, (key) => this.#isWanted(key)) : 0),
    };
    const journal = journalOf(shard);
    this.store = new HistoryStore(
      options.cacheBytesMax,
      (offset, runId) => readEvents(options, offset, runId),
      checkpoints === undefined ? undefined : (range) => checkpoints.database.history(journal, range),
    );
    const lane = checkpoints === undefined ? undefined : inOneLane(checkpoints.database);
    const checkpointer =
      checkpoints === undefined || lane === undefined
        ? undefined
        : checkpointerOf({
            ...options,
            checkpoints: { ...checkpoints, database: { write: lane.write, position: (of) => checkpoints.database.position(of) } },
            logger: logger.with({ 'shard-id': shard }),
            journal,
            state: new HistoryCheckpoints({ core, store: this.store, visibility }),
            onDurable: () => {
              if (tenure.active) this.#keyFilter?.start();
              this.#hotState?.look();
            },
            onFenced: () => tenure.fenced(),
          });
    this.checkpointer = checkpointer;
    let retirement: Retirement | undefined;
    if (checkpoints !== undefined && checkpointer !== undefined) {
      const { database } = checkpoints;
      const isSuperseded = (): Promise<boolean> => checkpointer.isSuperseded();
      const table = { core, journal, database, fence: () => checkpointer.fence, isSuperseded };
      const told = { clock, logger: logger.with({ 'shard-id': shard }), onFenced: () => tenure.fenced() };
      const hotState = checkpoints.hotState ?? new HotState(clock);
      this.#hotState = hotState;
      this.readAhead = new HistoryReadAhead({
        ...table,
        makeRoom: () => void core.makeRoom(hotState.excessBytes, FOLD_LOOKS_MAX, () => false),
      });
      this.#keyFilter = new KeyFilterBuild({ ...table, ...told });
      this.prefetch = new ColdLoads({
        ...table,
        ...told,
        own: { waits: (command) => own.waits(command), notLoaded: (command, reason) => this.shell.notLoaded(command, reason) },
        onInstalled: () => {
          own.armTimer();
          hotState.look();
        },
      });
      retirement = new Retirement({
        ...table,
        tenure,
        submit: (command) => void own.submit(command),
        logger: logger.with({ 'shard-id': shard }),
      });
    }
    const durable =
      checkpointer === undefined || lane === undefined
        ? undefined
        : new DurableRows({ journal, database: lane, checkpointer, onFenced: () => tenure.fenced() });
    const flusher = visibility === undefined ? undefined : options.visibility?.flusher(journal, visibility, durable);
    const { store, pageReads } = this;
    const [coldLoads, keyFilter] = [this.prefetch, this.#keyFilter];
    this.shell = new HistoryShell({
      store,
      pageReads,
      own,
      transfers,
      queries,
      visibility,
      flusher,
      checkpointer,
      coldLoads,
      retirement,
      keyFilter,
      leaveHotState: () => this.#hotState?.leave(this.#hotShard),
      sink,
    });
    this.subscribers = [
      this.store,
      transfers,
      ...(visibility === undefined ? [] : [visibility]),
      ...(flusher === undefined ? [] : [flusher]),
      { committed: (record, _position, replayed) => void (replayed || tellPutAside(record, core, logger)) },
      // Behind the store, whose events up to a cut belong to it.
      ...(checkpointer === undefined
        ? []
        : [
            {
              committed: (record: HistoryRecord, position: RecordPosition, replayed: boolean) =>
                checkpointer.committed(recordBytes(record), position, replayed),
            },
          ]),
    ];
  }

  async install(restored: Restored): Promise<void> {
    const { checkpoints, shard } = this.#options;
    assert(checkpoints !== undefined && this.checkpointer !== undefined, 'a memory is installed from its database');
    const { fence, position } = restored;
    if (position !== undefined) {
      const newer = newerState(position);
      if (newer !== undefined) throw new DatabaseError('misconfigured', newer);
      const tasks = await shardTasks(checkpoints.database, journalOf(shard), fence);
      this.core.install({ runs: [], currentRuns: [], ...tasks }, position);
      this.core.leaveRestInTable();
    }
    this.checkpointer.installed(restored);
    this.#hotState?.join(this.#hotShard);
    // How many are put aside is told to people, and they are few.
    if ((await this.readAhead?.loadRuns(this.core.runsOfTasksAside())) === 'fenced') {
      throw new DatabaseError('unavailable', 'another has restored this checkpoint since');
    }
  }

  #isWanted({ namespaceId, workflowId }: RunKey): boolean {
    return this.prefetch?.isWanted(executionKey(namespaceId, workflowId)) === true;
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
  const record = codec.decode(stored.value, stored.schema);
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
