/**
 * What one memory of a history shard has of its database.
 *
 *     restored ─▶ install ─▶ HistoryReadAhead  what a fold changes ───────┐
 *                            ColdLoads         what commands need ────────┤
 *                            KeyFilterBuild    which workflow ids there are ─▶ HistoryCore ─▶ Checkpointer ─┐
 *                            Retirement        what is over ──────────────┤    rows of List ─▶ DurableRows ──┴─▶ one lane of writes
 *                            RowPages          timers that are near, ────┤
 *                                              tasks that are tried ─────┘                          ListRebuild ─┘
 *                            HotState          what leaves memory
 */
import { assert } from '../../../kernel/assert.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import type { HistoryCommand } from '../../../history/commands.ts';
import type { TimerRow, TransferTaskRow } from '../../../history/checkpoint/rows.ts';
import type { StateWire } from '../../../history/checkpoint/state-wire.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { HistoryRecord } from '../../../history/record.ts';
import { executionKey } from '../../../history/state.ts';
import { defaultTimerWindowLimits, type TimerPage, type TimerWindowLimits } from '../../../history/timer/timer-window.ts';
import {
  defaultTransferWindowLimits,
  type TransferPage,
  type TransferWindow,
  type TransferWindowLimits,
} from '../../../history/transfer/transfer-window.ts';
import type { PendingTransfer } from '../../../history/tasks.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Checkpointer } from '../../checkpoint/checkpointer.ts';
import { checkPosition, installingCounters } from '../../checkpoint/damaged-journal.ts';
import { inOneLane } from '../../checkpoint/one-lane.ts';
import { type CheckpointOptions, checkpointerOf } from '../../checkpoint/partition-checkpoints.ts';
import { DatabaseError, type JournalId, type Restored } from '../../database.ts';
import type { Log, RecordPosition } from '../../log.ts';
import type { CommitSubscriber } from '../../partition/partition-core.ts';
import type { Tenure } from '../../partition/tenure.ts';
import { oneAtATime, type OneAtATime } from '../../../kernel/one-at-a-time.ts';
import type { LoopTurns } from '../../loop-turns.ts';
import type { Clock } from '../../ports.ts';
import { ColdLoads } from './cold-loads.ts';
import { loadsOf } from './events-left-out.ts';
import { HistoryCheckpoints, newerState, recordBytes, runsInTable, shardTasks } from './history-checkpoints.ts';
import { EVICTIONS_PER_CHECK, EvictionCheck } from './eviction-check.ts';
import type { HistoryStore } from '../events/history-store.ts';
import { type HotShard, HotState } from './hot-state.ts';
import { KeyFilterBuild } from './key-filter-build.ts';
import type { OwnCommands } from '../own-commands.ts';
import { HistoryReadAhead } from './read-ahead.ts';
import { Retirement } from './retirement.ts';
import { DurableRows } from '../visibility/rows-table.ts';
import { ListRebuild } from '../visibility/list-rebuild.ts';
import { ShardTable } from './shard-table.ts';
import type { TaskTable } from './task-listing.ts';
import { RowPages } from './row-pages.ts';
import type { VisibilityRows } from '../visibility/visibility-rows.ts';
import { installWaiting, tellBehind, tellUnread } from './waiting-records.ts';

export type HistoryCheckpointOptions = CheckpointOptions & {
  readonly stateWire: StateWire;
  /** Of so many workflows that may leave memory one is compared with its row first; absent: 1,000. */
  readonly evictionsPerCheck?: number;
  /** Of all shards of this process; absent: nothing leaves for want of room. */
  readonly hotState?: HotState;
  /** Of all shards of this process, for what each reads in the background; absent: they do not wait for each other. */
  readonly backgroundReads?: OneAtATime;
  readonly timerWindow?: Partial<TimerWindowLimits>;
  readonly transferWindow?: Partial<TransferWindowLimits>;
};

export type DurableShardOptions = {
  readonly checkpoints: HistoryCheckpointOptions;
  readonly journal: JournalId;
  readonly log: Pick<Log, 'truncate'>;
  readonly topic: string;
  readonly core: HistoryCore;
  readonly store: HistoryStore;
  /** undefined: nobody lists. */
  readonly visibility: VisibilityRows | undefined;
  readonly own: OwnCommands;
  /** Tasks for workers that have come into memory: to be tried. */
  readonly run: (tasks: readonly PendingTransfer[]) => void;
  /** One of the shard's own commands, whose workflow is out of reach. */
  readonly notLoaded: (command: HistoryCommand, reason: string) => void;
  readonly tenure: Tenure<HistoryCommand>;
  readonly clock: Clock;
  /** Of all partitions of this process. */
  readonly turns: LoopTurns;
  readonly logger: Logger;
};

const timerLines = {
  rowDamaged: 'a timer in the database cannot be read: it does not fire',
  notRead: 'timers cannot be read from the database; those in memory go on',
  readAgain: 'timers are read again',
};
const transferLines = {
  rowDamaged: 'a task for a worker in the database cannot be read: it is not given out',
  notRead: 'tasks for workers cannot be read from the database; those in memory go on',
  readAgain: 'tasks for workers are read again',
};

/** In a fold, before each read that brings so many records at the most. */
const FOLD_LOOKS_MAX = 2_000;

export class DurableShard implements CommitSubscriber<HistoryRecord> {
  readonly checkpointer: Checkpointer;
  readonly coldLoads: ColdLoads;
  readonly readAhead: HistoryReadAhead;
  /** Where rows of List are written. */
  readonly rows: DurableRows;
  /** undefined: nobody lists. */
  readonly listRebuild: ListRebuild | undefined;
  /** Tasks that are rows alone. */
  readonly taskTable: TaskTable;
  /** Runs that may be rows alone. */
  readonly runTable: Pick<ShardTable<'runIds'>, 'read'>;
  readonly #options: DurableShardOptions;
  readonly #logger: Logger;
  readonly #keyFilter: KeyFilterBuild;
  readonly #retirement: Retirement;
  readonly #timerPages: RowPages<TimerPage, TimerRow>;
  readonly #transferWindow: TransferWindow;
  readonly #transferPages: RowPages<TransferPage, TransferTaskRow>;
  readonly #hotState: HotState;
  readonly #hotShard: HotShard;

  constructor(options: DurableShardOptions) {
    const { checkpoints, journal, core, store, visibility, own, notLoaded, tenure, clock } = options;
    const { database, hotState = new HotState(clock, Infinity) } = checkpoints;
    const logger = options.logger.with({ 'shard-id': journal.partition + 1 });
    const told = { clock, turns: options.turns, logger, onFenced: () => tenure.fenced() };
    const lane = inOneLane(database);
    const checkpointer = checkpointerOf({
      ...options,
      ...told,
      checkpoints: { ...checkpoints, database: { write: lane.write, position: (of) => database.position(of) } },
      state: new HistoryCheckpoints({ core, store, visibility, turns: options.turns }),
      onDurable: () => {
        if (tenure.active) this.#keyFilter.start();
        this.#timerPages.written();
        this.#transferPages.written();
        hotState.look();
      },
    });
    const table = new ShardTable({ journal, database, checkpointer });
    this.runTable = table;
    const load = loadsOf(table, checkpoints.stateWire);
    this.#options = options;
    this.#logger = logger;
    this.#hotState = hotState;
    this.checkpointer = checkpointer;
    this.rows = new DurableRows({ journal, database: lane, checkpointer, onFenced: told.onFenced });
    const { stateWire } = checkpoints;
    this.listRebuild =
      visibility && new ListRebuild({ ...told, journal, core, rows: visibility, stateWire, table, database, lane, checkpointer });
    this.readAhead = new HistoryReadAhead({
      core,
      load,
      turns: options.turns,
      makeRoom: () => void core.makeRoom(hotState.excessBytes, FOLD_LOOKS_MAX, () => false),
      onInstalled: () => this.#showComeBack(),
    });
    this.coldLoads = new ColdLoads({
      ...told,
      core,
      load,
      own: { waits: (command) => own.waits(command), notLoaded },
      onInstalled: () => {
        this.#showComeBack();
        own.armTimer();
        hotState.look();
      },
    });
    this.#keyFilter = new KeyFilterBuild({ ...told, core, table, inTurn: checkpoints.backgroundReads ?? oneAtATime() });
    this.#retirement = new Retirement({ core, table, tenure, submit: (command) => void own.submit(command), logger });
    const evictionCheck = new EvictionCheck({ core, load, logger, every: checkpoints.evictionsPerCheck ?? EVICTIONS_PER_CHECK });
    const paged = { ...told, lane, nowMs: () => tenure.nowMs() };
    const { timerWindow, transferWindow } = core;
    assert(transferWindow !== undefined, 'a shard with a database has windows');
    timerWindow.opens({ ...defaultTimerWindowLimits, ...checkpoints.timerWindow });
    transferWindow.opens({ ...defaultTransferWindowLimits, ...checkpoints.transferWindow });
    this.#transferWindow = transferWindow;
    this.taskTable = {
      timers: (page) => table.read((of, id) => of.timers(id, page)),
      transferTasks: (afterTaskId, max) => table.read((of, id) => of.transferTasks(id, afterTaskId, max)),
      lane,
    };
    this.#timerPages = new RowPages({
      ...paged,
      window: timerWindow,
      read: (page: TimerPage) => this.taskTable.timers(page),
      lines: timerLines,
      onEnded: () => own.armTimer(),
    });
    this.#transferPages = new RowPages({
      ...paged,
      window: transferWindow,
      read: ({ afterTaskId, max }: TransferPage) => this.taskTable.transferTasks(afterTaskId, max),
      lines: transferLines,
      onEnded: () => this.#runBrought(),
    });
    const isWanted = ({ namespaceId, workflowId }: RunKey): boolean => this.coldLoads.isWanted(executionKey(namespaceId, workflowId));
    // In a fold what is loaded must stay until it is applied: there room is made between two reads.
    this.#hotShard = {
      get hotBytes() {
        return core.hotBytes;
      },
      get oldestMs() {
        return core.oldestHotMs;
      },
      makeRoom: (bytes, looksMax) =>
        tenure.active ? core.makeRoom(bytes, looksMax, (key) => isWanted(key) || evictionCheck.keeps(key)) : 0,
    };
  }

  /** As `PartitionMemory` says. */
  async install(restored: Restored): Promise<void> {
    const { checkpoints, journal, core, turns } = this.#options;
    const { fence, position } = restored;
    if (position !== undefined) {
      const newer = newerState(position);
      if (newer !== undefined) throw new DatabaseError('misconfigured', newer);
      checkPosition(journal, position);
      const tasks = await shardTasks(checkpoints.database, checkpoints.stateWire, journal, fence);
      // Rows of tasks that cannot be read are passed over.
      const whole = { runs: [], currentRuns: [], ...tasks };
      await installingCounters(journal, () => turns.through(core.installing(whole, position)));
      core.leaveRestInTable();
      if (core.runsCold === undefined) core.countRuns(await runsInTable(checkpoints.database, journal, fence));
      await installWaiting(core, checkpoints.database, journal);
    }
    this.checkpointer.installed(restored);
    this.#hotState.join(this.#hotShard);
    // How many are put aside is told to people, and they are few. Those that are behind may have been mended.
    const keys = [...core.runsOfTasksAside(), ...core.damaged.runsBehind().map(({ key }) => key)];
    if ((await this.readAhead.loadRuns(keys)) === 'fenced') {
      throw new DatabaseError('unavailable', 'another has restored this checkpoint since');
    }
  }

  activated(): void {
    tellBehind(this.#options.core, this.#logger);
    this.#timerPages.activated();
    this.#transferPages.activated();
    tellUnread(this.#options.core, this.#logger);
    this.#retirement.activated();
    this.#keyFilter.start();
    this.listRebuild?.activated();
  }

  /** Records that had waited for them have changed what is shown of them. */
  #showComeBack(): void {
    const { core, visibility } = this.#options;
    for (const runId of core.damaged.takeComeBack()) {
      this.#logger.info('the state of a workflow can be read again: it goes on', { ...core.nameOf(runId), runId });
      visibility?.show(runId);
    }
  }

  /** Behind the store, whose events up to a cut belong to it. */
  committed(record: HistoryRecord, position: RecordPosition, replayed: boolean): void {
    this.checkpointer.committed(recordBytes(record), position, replayed);
  }

  timerFired(): void {
    this.#timerPages.fewer();
  }

  /** Fewer tasks for workers wait in memory. */
  fewerTransfers(): void {
    this.#transferWindow.resume();
    this.#runBrought();
    this.#transferPages.fewer();
  }

  /** That matching has stored them. */
  noted(taskIds: readonly number[]): void {
    this.#transferWindow.noted(taskIds);
  }

  #runBrought(): void {
    const brought = this.#transferWindow.takeBrought();
    if (brought.length > 0) this.#options.run(brought);
  }

  deactivated(): void {
    this.#timerPages.close();
    this.#transferPages.close();
    this.coldLoads.close();
    this.#keyFilter.close();
    this.listRebuild?.close();
    this.#hotState.leave(this.#hotShard);
    this.checkpointer.stop();
  }
}
