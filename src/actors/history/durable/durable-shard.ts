/**
 * What one memory of a history shard has of its database.
 *
 *     restored ─▶ install ─▶ HistoryReadAhead  what a fold changes ───────┐
 *                            ColdLoads         what commands need ────────┤
 *                            KeyFilterBuild    which workflow ids there are ─▶ HistoryCore ─▶ Checkpointer ─┐
 *                            retireDueRuns     what is over ──────────────┤    rows of List ─▶ durableRows ──┴─▶ one lane of writes
 *                            RowPages          timers that are near, ────┤
 *                                              tasks that are tried ─────┘                          ListRebuild ─┘
 *                            HotState          what leaves memory
 */
import { assert } from '../../../kernel/assert.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import type { HistoryCommand, RetireRuns } from '../../../history/commands/history-commands.ts';
import type { TimerPage, TimerRow, TransferTaskRow } from '../../../history/shard/rows.ts';
import type { StateWire } from '../../../history/shard/state-wire.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { HistoryRecord } from '../../../history/run/record.ts';
import { executionKey } from '../../../history/run/state.ts';
import { defaultTimerWindowLimits, type TimerWindowLimits } from '../../../history/residency/timer-window.ts';
import { defaultTransferWindowLimits } from '../../../history/residency/transfer-window.ts';
import type { TransferPage, TransferWindow, TransferWindowLimits } from '../../../history/residency/transfer-window.ts';
import type { PendingTransfer } from '../../../history/run/tasks.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Checkpointer } from '../../../projections/checkpoints/checkpointer.ts';
import { checkPosition, installingCounters } from '../../../projections/checkpoints/damaged-journal.ts';
import { inOneLane } from '../../../projections/checkpoints/one-lane.ts';
import { checkpointerOf, type CheckpointOptions } from '../../../projections/checkpoints/partition-checkpoints.ts';
import { DatabaseError, isOutage, type JournalId, type Restored } from '../../../projections/database-port.ts';
import type { Log, RecordPosition } from '../../../ports/log.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import { oneAtATime, type OneAtATime } from '../../../kernel/one-at-a-time.ts';
import type { LoopTurns } from '../../../ports/loop-turns.ts';
import type { ClockAndLogger } from '../../../ports/machine.ts';
import { ColdLoads, HistoryReadAhead } from './cold-loads.ts';
import { loadsOf } from './events-left-out.ts';
import { HistoryCheckpoints, installWaiting, recordBytes, shardTasks, tellBehind, tellUnread } from './history-checkpoints.ts';
import { EvictionCheck, EVICTIONS_PER_CHECK } from './eviction-check.ts';
import type { HistoryStore } from '../events/history-store.ts';
import { HotState, type HotShard } from './hot-state.ts';
import { KeyFilterBuild } from './key-filter-build.ts';
import type { OwnCommands } from '../own-commands.ts';
import { durableRows, type RowsTable } from '../../../projections/list/rows-table.ts';
import { ListRebuild } from '../../../projections/list/list-rebuild.ts';
import { ShardTable } from '../../../projections/checkpoints/shard-table.ts';
import type { TaskTable } from './task-listing.ts';
import { RowPages } from './row-pages.ts';
import type { VisibilityRows } from '../../../projections/list/visibility-rows.ts';
import { asError } from '../../../kernel/error-text.ts';

export type HistoryCheckpointOptions = CheckpointOptions & {
  readonly stateWire: StateWire;
  /** One in so many workflows that may leave memory is compared with its row first; absent: 1,000. */
  readonly evictionsPerCheck?: number;
  /** Shared by all shards of this process; absent: nothing leaves memory for want of room. */
  readonly hotState?: HotState;
  /** Lets all shards of this process read in the background one at a time; absent: they do not wait for each other. */
  readonly backgroundReads?: OneAtATime;
  readonly timerWindow?: Partial<TimerWindowLimits>;
  readonly transferWindow?: Partial<TransferWindowLimits>;
};

export type DurableShardOptions = ClockAndLogger & {
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
  readonly notLoaded: (command: HistoryCommand, reason: string) => void;
  readonly tenure: Tenure<HistoryCommand>;
  readonly turns: LoopTurns;
};

const timerLines = {
  rowDamaged: 'a timer in the database cannot be read: it does not fire',
  notRead: 'timers cannot be read from the database; those in memory still fire',
  readAgain: 'timers can be read again',
};
const transferLines = {
  rowDamaged: 'a task in the database cannot be read: no worker gets it',
  notRead: 'tasks for workers cannot be read from the database; those in memory are still dispatched',
  readAgain: 'tasks for workers can be read again',
};

/** Runs that are looked at to make room before each read of a replay. */
const FOLD_LOOKS_MAX = 2_000;

export class DurableShard implements CommitSubscriber<HistoryRecord> {
  readonly checkpointer: Checkpointer;
  readonly coldLoads: ColdLoads;
  readonly readAhead: HistoryReadAhead;
  readonly rows: RowsTable;
  /** undefined: nobody lists. */
  readonly listRebuild: ListRebuild | undefined;
  readonly taskTable: TaskTable;
  readonly runTable: ShardTable<'runIds' | 'dueRuns'>;
  readonly #options: DurableShardOptions;
  readonly #logger: Logger;
  readonly #keyFilter: KeyFilterBuild;
  readonly #timerPages: RowPages<TimerPage, TimerRow>;
  readonly #transferWindow: TransferWindow;
  readonly #transferPages: RowPages<TransferPage, TransferTaskRow>;
  readonly #hotState: HotState;
  readonly #hotShard: HotShard;

  constructor(options: DurableShardOptions) {
    const { checkpoints, journal, core, store, visibility, own, notLoaded, tenure, clock } = options;
    const { database, stateWire, hotState = new HotState(clock, Infinity) } = checkpoints;
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
    const load = loadsOf(table, stateWire);
    this.#options = options;
    this.#logger = logger;
    this.#hotState = hotState;
    this.checkpointer = checkpointer;
    this.rows = durableRows({ journal, database: lane, checkpointer, onFenced: told.onFenced });
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
        return core.residency.hot.bytes;
      },
      get oldestMs() {
        return core.residency.hot.oldestMs;
      },
      makeRoom: (bytes, looksMax) =>
        tenure.active ? core.makeRoom(bytes, looksMax, (key) => isWanted(key) || evictionCheck.keeps(key)) : 0,
    };
  }

  async install(restored: Restored): Promise<void> {
    const { checkpoints, journal, core, turns } = this.#options;
    const { fence, position } = restored;
    if (position !== undefined) {
      checkPosition(journal, position);
      const tasks = await shardTasks(checkpoints.database, checkpoints.stateWire, journal, fence);
      // Rows of tasks that cannot be read are passed over.
      const whole = { runs: [], currentRuns: [], ...tasks };
      await installingCounters(journal, () => turns.through(core.installing(whole, position)));
      core.leaveRestInTable();
      await installWaiting(core, checkpoints.database, journal);
    }
    this.checkpointer.installed(restored);
    this.#hotState.join(this.#hotShard);
    // How many are put aside is told to people, and they are few. Those that are behind may have been mended.
    const aside = new Map(Array.from(core.shard.tasksAside.values(), ({ key }) => [key.runId, key]));
    const keys = [...aside.values(), ...core.residency.behind.values().map(({ key }) => key)];
    if ((await this.readAhead.loadRuns(keys)) === 'fenced') {
      throw new DatabaseError('unavailable', 'another owner has restored this checkpoint since');
    }
  }

  activated(): void {
    const { core, tenure, own } = this.#options;
    tellBehind(core, this.#logger);
    this.#timerPages.activated();
    this.#transferPages.activated();
    tellUnread(core, this.#logger);
    retireDueRuns({ core, table: this.runTable, tenure, submit: (command) => void own.submit(command), logger: this.#logger });
    this.#keyFilter.start();
    this.listRebuild?.activated();
  }

  /** Records that had waited for them have changed what is shown of them. */
  #showComeBack(): void {
    const { core, visibility } = this.#options;
    for (const runId of core.residency.behind.takeComeBack()) {
      this.#logger.info('the state of a workflow can be read again: it continues', { ...core.shard.runs.get(runId)?.key, runId });
      visibility?.show(runId);
    }
  }

  /** Called after the store, whose events up to a cut belong to the checkpoint. */
  committed(record: HistoryRecord, position: RecordPosition, replayed: boolean): void {
    this.checkpointer.committed(recordBytes(record), position, replayed);
  }

  timerFired(): void {
    this.#timerPages.fewer();
  }

  fewerTransfers(): void {
    this.#transferWindow.resume();
    this.#runBrought();
    this.#transferPages.fewer();
  }

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

/**
 * Retires closed runs that are not in memory: those that are have timers (history/execution/retire.ts).
 *
 *     now and then ─▶ what the table shows as due ─▶ what of that is cold ─▶ retireRuns ─▶ a record ─▶ the next checkpoint deletes their rows
 *           ▲                        └ a full page ─ soon ─┐
 *           └──────────────────────────────────────────────┘
 *
 * What is retired and still has its row is shown again, and passed over; past some thousands of those, checkpoints have to delete them first.
 *
 * A run whose messages to other shards are not answered stays in the table. Each try of such a message brings it into memory, and there its timer
 * looks after it.
 */

type RetirementOptions = {
  readonly core: Pick<HistoryCore, 'shard' | 'keepsAll' | 'beginLoad' | 'changes'>;
  readonly table: ShardTable<'dueRuns'>;
  readonly tenure: Pick<Tenure<HistoryCommand>, 'active' | 'after' | 'nowMs' | 'fenced'>;
  readonly submit: (command: RetireRuns) => void;
  readonly logger: Logger;
};

const LOOK_INTERVAL_MS = 30_000;
const LOOK_AGAIN_MS = 1_000;
const RUNS_MAX = 500;
/** Rows of runs that are retired already, which a page may contain: a checkpoint under load may take ten seconds to delete them. */
const PASSED_OVER_MAX = 5_000;

/** Looks for due runs for as long as the shard is ours. */
export function retireDueRuns(options: RetirementOptions, delayMs = LOOK_INTERVAL_MS): void {
  options.tenure.after(delayMs, () => void look(options).then((nextMs) => retireDueRuns(options, nextMs)));
}

/** Never rejects. Answers when to look again. */
async function look({ core, table, tenure, submit, logger }: RetirementOptions): Promise<number> {
  if (core.keepsAll) return LOOK_INTERVAL_MS;
  const begunAt = core.beginLoad();
  const rowsMax = RUNS_MAX + Math.min(core.changes.retiredCount, PASSED_OVER_MAX);
  try {
    const due = await table.read((database, journal) => database.dueRuns(journal, tenure.nowMs(), rowsMax));
    if (!tenure.active) return LOOK_INTERVAL_MS;
    if (due === 'fenced') {
      tenure.fenced();
      return LOOK_INTERVAL_MS;
    }
    // Rows were deleted since, which it may have read.
    if (core.beginLoad() !== begunAt) return LOOK_AGAIN_MS;
    const runs = firstCold(due, core);
    if (runs.length > 0) submit({ kind: 'retireRuns', runs });
    return due.length < rowsMax ? LOOK_INTERVAL_MS : LOOK_AGAIN_MS;
  } catch (error) {
    if (tenure.active && !isOutage(error))
      logger.warn('closed workflows whose retention is over cannot be read now: tried again', { error: asError(error) });
    return LOOK_INTERVAL_MS;
  }
}

function firstCold(due: readonly RunKey[], { shard }: RetirementOptions['core']): readonly RunKey[] {
  const cold = due.filter((key) => shard.isRunCold(key)).slice(0, RUNS_MAX);
  return cold.map(({ namespaceId, workflowId, runId }) => ({ namespaceId, workflowId, runId }));
}
