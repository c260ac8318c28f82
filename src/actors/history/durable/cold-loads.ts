/**
 * Brings executions into memory for the commands that wait for them.
 *
 *     lacks ─▶ wanted, by execution ── end of the turn ──▶ one load of all that are wanted, two loads at a time ──▶ installed, decided
 *                  ▲      │                                                    │
 *                  │      └ 5 s, or a database that fails ─▶ its commands end  │
 *                  └────────── runs were deleted meanwhile ────────────────────┘
 *
 * While the loads that are under way are not answered, what is wanted besides is told so at once: a database that hangs keeps nobody waiting
 * for longer than the first. What was given up is not installed: commands have gone on without it, and what it read may be old.
 *
 * For one memory: when that is dropped, nothing is installed any more.
 */
import { DatabaseError, isOutage, type LoadKey } from '../../../projections/database-port.ts';
import { asError, errorText } from '../../../kernel/error-text.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import type { HistoryCommand } from '../../../history/commands/history-commands.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import { deletesUnread } from '../../../history/command-table.ts';
import { executionKey } from '../../../history/run/state.ts';
import { NowAndThen } from '../../../ports/now-and-then.ts';
import type { LoadTrouble, Prefetch } from '../../partition/prefetch.ts';
import type { ClockAndLogger, Timer } from '../../../ports/machine.ts';
import type { LoadedRun, LoadRuns } from './events-left-out.ts';
import { assert } from '../../../kernel/assert.ts';
import type { HistoryRecord } from '../../../history/run/record.ts';
import type { Loaded } from '../../../history/residency/install.ts';
import type { ReadAhead } from '../../partition/partition-core.ts';
import type { LoopTurns } from '../../../ports/loop-turns.ts';
import { leaveBehind } from './history-checkpoints.ts';

export interface OwnCommandsInWaiting {
  waits(command: HistoryCommand): void;
  notLoaded(command: HistoryCommand, reason: string): void;
}

export type ColdLoadsOptions = ClockAndLogger & {
  readonly core: HistoryCore;
  readonly load: LoadRuns;
  readonly own: OwnCommandsInWaiting;
  /** Something has come into memory: an end of retention may be among it. */
  readonly onInstalled: () => void;
  readonly onFenced: () => void;
};

const PATIENCE_MS = 5_000;
const KEYS_MAX = 200;
const LOADS_MAX = 2;
/** What was loaded is decoded for so long in one turn of the event loop. */
const INSTALL_SLICE_MS = 4;
const WARN_INTERVAL_MS = 10_000;
const TELL_INTERVAL_MS = 600_000;
const TOLD_MAX = 1_000;

type Want = {
  readonly execution: string;
  /** The first that waits. Others of its execution may lack more: that shows when their turn comes. */
  readonly command: HistoryCommand;
  readonly sinceMs: number;
  readonly done: (trouble?: LoadTrouble) => void;
};

type Load = {
  readonly sentMs: number;
  /** What `core.beginLoad()` answered when the load began. */
  readonly begunAt: number;
  readonly parts: readonly { readonly want: Want; readonly keys: readonly LoadKey[] }[];
};

/** `key`: as it was asked for. */
type UnreadRun = { readonly key: LoadKey; readonly run: RunKey };

export class ColdLoads implements Prefetch<HistoryCommand> {
  readonly #options: ColdLoadsOptions;
  /** All that commands wait for, by execution, the oldest first, whether or not the database was asked. */
  readonly #wants = new Map<string, Want>();
  #unasked: Want[] = [];
  readonly #loads = new Set<Load>();
  readonly #warnings: NowAndThen;
  readonly #told = new Map<string, NowAndThen>();
  #isAsking = false;
  #patience: Timer | undefined;
  #isClosed = false;

  constructor(options: ColdLoadsOptions) {
    this.#options = options;
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
  }

  // ── For the partition loop ─────────────────────────────────────────────────────────────────────────────────────────────────

  lacks(command: HistoryCommand): boolean {
    return this.#options.core.lacks(command) !== undefined;
  }

  keyOf(command: HistoryCommand): string | undefined {
    const key = this.#options.core.keyOf(command);
    return key === undefined ? undefined : executionKey(key.namespaceId, key.workflowId);
  }

  load(execution: string, command: HistoryCommand, done: (trouble?: LoadTrouble) => void): void {
    const { clock } = this.#options;
    const reason = this.#whyNotNow();
    if (reason !== undefined) return clock.soon(() => done({ kind: 'away', message: unavailable(reason) }));
    const want = { execution, command, sinceMs: clock.monoMs(), done };
    this.#wants.set(execution, want);
    this.#unasked.push(want);
    this.#watch();
    this.#askSoon();
  }

  ownWaits(command: HistoryCommand): void {
    this.#options.own.waits(command);
  }

  ownNotLoaded(command: HistoryCommand, reason: string): void {
    this.#options.own.notLoaded(command, reason);
  }

  // ── For the rest of the shard ──────────────────────────────────────────────────────────────────────────────────────────────

  /** Commands wait for something of this execution: what is here of it already is needed as well. */
  isWanted(execution: string): boolean {
    return this.#wants.has(execution);
  }

  close(): void {
    this.#isClosed = true;
    this.#patience?.cancel();
    this.#wants.clear();
    this.#unasked = [];
  }

  // ── Asking ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Asks at the end of this turn, together with what else is wanted in it. */
  #askSoon(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#options.clock.soon(() => {
      this.#isAsking = false;
      this.#ask();
    });
  }

  #ask(): void {
    while (!this.#isClosed && this.#unasked.length > 0 && this.#loads.size < LOADS_MAX) {
      const load = this.#nextLoad();
      if (load.parts.length === 0) continue;
      this.#loads.add(load);
      void this.#send(load);
    }
  }

  #nextLoad(): Load {
    const { core } = this.#options;
    const parts: { want: Want; keys: readonly LoadKey[] }[] = [];
    let count = 0;
    let taken = 0;
    for (const want of this.#unasked) {
      if (count >= KEYS_MAX) break;
      taken += 1;
      if (!this.#isWaited(want)) continue;
      const keys = core.lacks(want.command);
      if (keys === undefined) this.#end(want, undefined);
      else {
        parts.push({ want, keys });
        count += keys.length;
      }
    }
    this.#unasked = this.#unasked.slice(taken);
    return { sentMs: this.#options.clock.monoMs(), begunAt: core.beginLoad(), parts };
  }

  /** Never rejects. */
  async #send(load: Load): Promise<void> {
    try {
      const rows = await this.#options.load(load.parts.flatMap((part) => part.keys));
      if (this.#isClosed) return;
      if (rows === 'fenced') this.#fenced(load);
      else this.#install(load, rows, 0, 0);
    } catch (error) {
      if (!this.#isClosed) this.#failed(load, error);
    }
    this.#loads.delete(load);
    this.#ask();
  }

  // ── What comes of it ───────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Installs from that part and row on, one slice of the event loop at a time. Each part is decided before its state can leave memory again. */
  #install(load: Load, rows: readonly LoadedRun[], firstPart: number, firstRow: number): void {
    const { clock, onInstalled } = this.#options;
    const endMs = clock.monoMs() + INSTALL_SLICE_MS;
    let row = firstRow;
    for (let at = firstPart; at < load.parts.length; at++) {
      const part = load.parts[at]!;
      this.#installPart(load, part, rows.slice(row, row + part.keys.length));
      row += part.keys.length;
      if (clock.monoMs() < endMs) continue;
      const [nextPart, nextRow] = [at + 1, row];
      clock.after(0, () => this.#isClosed || this.#install(load, rows, nextPart, nextRow));
      break;
    }
    onInstalled();
  }

  #installPart({ begunAt }: Load, { want, keys }: Load['parts'][number], rows: readonly LoadedRun[]): void {
    if (!this.#isWaited(want)) return;
    const loaded = rows.map((each, at) => ({ ...each, key: keys[at]! }));
    try {
      if (this.#options.core.installLoaded(loaded, begunAt)) return this.#end(want, undefined);
    } catch (error) {
      return this.#damaged(want, loaded, error);
    }
    this.#unasked.push(want);
    this.#askSoon();
  }

  #damaged(want: Want, loaded: readonly (LoadedRun & { readonly key: LoadKey })[], error: unknown): void {
    const { core, logger } = this.#options;
    const reason = errorText(error);
    const told = { ...core.idsOf(want.command), reason };
    const runs = loaded.flatMap((each) => runOf(each) ?? []);
    if (deletesUnread(want.command) && runs.length > 0) {
      for (const { key, run } of runs) core.residency.deleteUnread(key, run);
      logger.warn('a workflow was deleted although its state cannot be read: its parent and its children are not notified', told);
      return this.#end(want, undefined);
    }
    if (this.#tellsOf(want.execution)) {
      logger.error(
        'the state of a workflow cannot be read: it makes no progress; restore its row from a backup, or delete the workflow',
        told,
      );
    }
    const wayOut = `restore its row from a backup${runs.length > 0 ? unreadWayOut : ''}`;
    this.#end(want, { kind: 'damaged', message: `the state of this workflow in the database cannot be read: ${reason}; ${wayOut}` });
  }

  /** Limits how often a workflow is told of, because its timers and pollers ask again and again. */
  #tellsOf(execution: string): boolean {
    let told = this.#told.get(execution);
    if (told === undefined) {
      if (this.#told.size >= TOLD_MAX) this.#told.clear();
      told = new NowAndThen(this.#options.clock, TELL_INTERVAL_MS);
      this.#told.set(execution, told);
    }
    return told.now();
  }

  #failed(load: Load, error: unknown): void {
    const reason = error instanceof DatabaseError ? error.message : errorText(error);
    if (!isOutage(error) && this.#warnings.now()) {
      const told = { error: asError(error), waiting: this.#wants.size };
      this.#options.logger.warn('workflows that are not in memory cannot be loaded; all others continue', told);
    }
    for (const { want } of load.parts) if (this.#isWaited(want)) this.#end(want, { kind: 'away', message: unavailable(reason) });
  }

  #fenced(load: Load): void {
    const message = unavailable('another process has restored the checkpoint of this partition');
    for (const { want } of load.parts) if (this.#isWaited(want)) this.#end(want, { kind: 'away', message });
    this.#options.onFenced();
  }

  /** True until the want is given up. */
  #isWaited(want: Want): boolean {
    return this.#wants.get(want.execution) === want;
  }

  #end(want: Want, trouble: LoadTrouble | undefined): void {
    this.#wants.delete(want.execution);
    want.done(trouble);
  }

  // ── Patience ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Undefined: there is a load that may answer in time. */
  #whyNotNow(): string | undefined {
    if (this.#isClosed) return 'the partition is no longer owned here';
    if (this.#loads.size < LOADS_MAX) return undefined;
    const overdueMs = this.#options.clock.monoMs() - PATIENCE_MS;
    for (const { sentMs } of this.#loads) if (sentMs > overdueMs) return undefined;
    return noAnswer;
  }

  #watch(): void {
    const { clock } = this.#options;
    const [oldest] = this.#wants.values();
    if (oldest === undefined || this.#patience !== undefined) return;
    this.#patience = clock.after(oldest.sinceMs + PATIENCE_MS - clock.monoMs(), () => {
      this.#patience = undefined;
      this.#giveUp();
      this.#watch();
    });
  }

  #giveUp(): void {
    const overdueMs = this.#options.clock.monoMs() - PATIENCE_MS;
    for (const want of this.#wants.values()) {
      if (want.sinceMs > overdueMs) return;
      this.#end(want, { kind: 'away', message: unavailable(noAnswer) });
    }
  }
}

/** The run that a key asked for; undefined: there is none, or it cannot be told whether the row that was found is its own. */
function runOf({ key, currentRunId, run }: LoadedRun & { readonly key: LoadKey }): UnreadRun | undefined {
  if (key.kind === 'childStart') return undefined;
  const { namespaceId, workflowId } = key;
  if (key.kind === 'run') return { key, run: { namespaceId, workflowId, runId: key.runId } };
  if (currentRunId === undefined || run?.namespaceId !== namespaceId || run.workflowId !== workflowId) return undefined;
  return { key, run: { namespaceId, workflowId, runId: currentRunId } };
}

const unreadWayOut = '; DeleteWorkflowExecution removes the workflow unread (DeleteSchedule a schedule, StopBatchOperation a batch job)';

const noAnswer = `the database has not answered for ${PATIENCE_MS / 1_000} s`;

function unavailable(reason: string): string {
  return `the state of this workflow cannot be read now: ${reason}`;
}

/**
 * Brings in the runs that records of a fold change, before they are applied: folding never waits.
 *
 *     a read of the log ─▶ records ─▶ what they change and do not begin, and memory has not ─▶ loaded, 200 at a time ─▶ all are applied
 *
 * What is loaded is as new as memory: rows are the journal folded up to the checkpoint, nobody else writes them under our fence, and what has
 * left memory since has a row that is what it was. A run whose row cannot be read is left behind: what the journal brings for it waits, and all
 * others go on.
 */

type HistoryReadAheadOptions = {
  readonly core: HistoryCore;
  readonly load: LoadRuns;
  readonly turns: LoopTurns;
  /** All that was read before is applied: what is written may leave memory. */
  readonly makeRoom: () => void;
  readonly onInstalled: () => void;
};

export class HistoryReadAhead implements ReadAhead<HistoryRecord> {
  readonly #options: HistoryReadAheadOptions;

  constructor(options: HistoryReadAheadOptions) {
    this.#options = options;
  }

  /** Also runs that begin among these: the record that begins one may not count, or was applied before and is read once more. */
  load(records: Iterable<HistoryRecord>): Promise<'fenced' | undefined> | undefined {
    const { core, makeRoom } = this.#options;
    makeRoom();
    const lacking = new Map<string, LoadKey>();
    for (const record of records) {
      for (const key of core.recordLacks(record) ?? []) {
        assert(key.kind === 'run', 'records change runs');
        lacking.set(key.runId, key);
      }
    }
    return lacking.size === 0 ? undefined : this.#load([...lacking.values()]);
  }

  async loadRuns(keys: readonly RunKey[]): Promise<'fenced' | undefined> {
    return await this.#load(keys.map((key): LoadKey => ({ kind: 'run', ...key })));
  }

  async #load(keys: readonly LoadKey[]): Promise<'fenced' | undefined> {
    for (let from = 0; from < keys.length; from += KEYS_MAX) {
      if ((await this.#loadSome(keys.slice(from, from + KEYS_MAX))) === 'fenced') return 'fenced';
    }
    return undefined;
  }

  /** Loads again as often as a checkpoint has deleted runs meanwhile, because what was read may be of one of them. */
  async #loadSome(keys: readonly LoadKey[]): Promise<'fenced' | undefined> {
    const { core, load, turns } = this.#options;
    for (;;) {
      const begunAt = core.beginLoad();
      const rows = await load(keys);
      if (rows === 'fenced') return rows;
      await turns.through(this.#installing(rows, keys, begunAt));
      this.#options.onInstalled();
      if (core.beginLoad() === begunAt) return undefined;
    }
  }

  /** Pauses after each run, because two hundred runs may have a hundred megabytes of state. Ends at the first one that may have been deleted. */
  *#installing(rows: readonly LoadedRun[], keys: readonly LoadKey[], begunAt: number): Generator<undefined, void> {
    for (const [at, row] of rows.entries()) {
      if (!this.#install({ ...row, key: keys[at]! }, begunAt)) return;
      yield;
    }
  }

  /** False: runs were deleted since. A row that cannot be read is the trouble of its run alone. */
  #install(loaded: Loaded, begunAt: number): boolean {
    const { core } = this.#options;
    try {
      return core.installLoaded([loaded], begunAt);
    } catch (error) {
      assert(loaded.key.kind === 'run', 'records change runs');
      leaveBehind(core, loaded.key, error);
      return true;
    }
  }
}
