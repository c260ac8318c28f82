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
import { DatabaseError, isOutage, type LoadKey } from '../../database.ts';
import { errorText } from '../../../kernel/error-text.ts';
import type { RunKey } from '../../../kernel/run-key.ts';
import type { HistoryCommand } from '../../../history/commands.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import { deletesUnread } from '../../../history/residency/damaged-rows.ts';
import { executionKey } from '../../../history/state.ts';
import type { Logger } from '../../../observability/logger.ts';
import { NowAndThen } from '../../now-and-then.ts';
import type { LoadTrouble, Prefetch } from '../../partition/prefetch.ts';
import type { Clock, Timer } from '../../ports.ts';
import type { LoadedRun, LoadRuns } from './events-left-out.ts';

/** What the shard's own commands become while they wait for their execution, or cannot be decided without it. */
export interface OwnCommandsInWaiting {
  waits(command: HistoryCommand): void;
  notLoaded(command: HistoryCommand, reason: string): void;
}

export type ColdLoadsOptions = {
  readonly core: HistoryCore;
  readonly load: LoadRuns;
  readonly own: OwnCommandsInWaiting;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something has come into memory: an end of retention may be among it. */
  readonly onInstalled: () => void;
  readonly onFenced: () => void;
};

/** Commands wait so long for their execution. */
const PATIENCE_MS = 5_000;
/** Of one load. */
const KEYS_MAX = 200;
const LOADS_MAX = 2;
/** What was loaded is decoded for so long in one turn of the event loop. */
const INSTALL_SLICE_MS = 4;
const WARN_INTERVAL_MS = 10_000;
/** Of one workflow whose row cannot be read. */
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
  /** Of `retirements`. */
  readonly begunAt: number;
  readonly parts: readonly { readonly want: Want; readonly keys: readonly LoadKey[] }[];
};

/** `key`: as it was asked for. */
type UnreadRun = { readonly key: LoadKey; readonly run: RunKey };

export class ColdLoads implements Prefetch<HistoryCommand> {
  readonly #options: ColdLoadsOptions;
  /** By execution, the longest first: all that commands wait for, asked of the database or not. */
  readonly #wants = new Map<string, Want>();
  #unasked: Want[] = [];
  readonly #loads = new Set<Load>();
  readonly #warnings: NowAndThen;
  /** Workflows whose rows cannot be read, by execution. */
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

  /** With what else is wanted in this turn. */
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
      const keys = load.parts.flatMap((part) => part.keys);
      const rows = await this.#options.load(keys);
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

  /** From that part and row on, for a slice of the event loop at a time; each part is decided before anything can take it away again. */
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
    const runs = loaded.flatMap((each) => runOf(each) ?? []);
    if (deletesUnread(want.command) && runs.length > 0) {
      for (const { key, run } of runs) core.damaged.deleteUnread(key, run);
      logger.warn('a workflow is deleted whose state cannot be read: its parent and its children hear nothing of it', {
        ...core.idsOf(want.command),
        reason,
      });
      return this.#end(want, undefined);
    }
    if (this.#tellsOf(want.execution)) {
      const told = { ...core.idsOf(want.command), reason };
      logger.error('the state of a workflow cannot be read: it stands still; put its row back from a backup, or delete the workflow', told);
    }
    const wayOut = `its row has to be put back from a backup${runs.length > 0 ? unreadWayOut : ''}`;
    this.#end(want, { kind: 'damaged', message: `the state of this workflow in the database cannot be read: ${reason}; ${wayOut}` });
  }

  /** Not at each try: its timers, and workers that poll for it, ask again and again. */
  #tellsOf(execution: string): boolean {
    const { clock } = this.#options;
    let told = this.#told.get(execution);
    if (told === undefined) {
      if (this.#told.size >= TOLD_MAX) this.#told.clear();
      told = new NowAndThen(clock, TELL_INTERVAL_MS);
      this.#told.set(execution, told);
    }
    return told.now();
  }

  #failed(load: Load, error: unknown): void {
    const reason = error instanceof DatabaseError ? error.message : errorText(error);
    if (!isOutage(error) && this.#warnings.now()) {
      const problem = error instanceof Error ? error : new Error(reason);
      this.#options.logger.warn('workflows that are not in memory cannot be loaded; the others go on', {
        error: problem,
        waiting: this.#wants.size,
      });
    }
    for (const { want } of load.parts) if (this.#isWaited(want)) this.#end(want, { kind: 'away', message: unavailable(reason) });
  }

  #fenced(load: Load): void {
    const message = unavailable('another process has restored the checkpoint of this partition');
    for (const { want } of load.parts) if (this.#isWaited(want)) this.#end(want, { kind: 'away', message });
    this.#options.onFenced();
  }

  /** Not given up. */
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

/** Which run a key asked for. undefined: none, or nobody can tell whether the one that was found is its own. */
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
