/**
 * The history of one shard: decides commands, evolves records. Pure: no clock, no I/O, no randomness.
 *
 *   handle(command)  ──▶ record + reply + effects + volatile changes        reads only: whatever it throws, nothing has changed
 *   accept(handled)  ──▶ evolve(record), then the volatile changes           live
 *   evolve(record)   ──▶ durable state                                       the only place that changes it, live and in replay
 */
import { assert } from '../kernel/assert.ts';
import type { CommandIds, Handled } from '../kernel/handled.ts';
import { canonicalText } from './run/canonical.ts';
import { install, installLoaded, type Loaded } from './residency/install.ts';
import type { ShardCounters, ShardRows, StoredRun, TaskRow, WaitingRow } from './shard/rows.ts';
import type { StateWire } from './shard/state-wire.ts';
import { commandKey, commandLacks, decide, endTooLarge } from './command-table.ts';
import type { RunKey } from '../kernel/run-key.ts';
import type { HistoryCommand } from './commands/history-commands.ts';
import { answerWaiters } from './execution/describe.ts';
import { Draft, type ShardParts } from './draft/draft.ts';
import type { HistoryEffect } from './run/effects.ts';
import { evolve } from './evolve/evolve.ts';
import { defaultHistoryLimits, type HistoryLimits } from './run/history-limits.ts';
import { keepWithinLimits } from './keep-within-limits.ts';
import { type RunSummary, summaryOf } from './run/summary.ts';
import { releaseQueries } from './query/query.ts';
import type { UnsentTasks } from './run/unsent-tasks.ts';
import type { HistoryRecord } from './run/record.ts';
import { settleLetters } from './steps/redrive.ts';
import type { Changes } from './shard/changes.ts';
import type { Residency } from './shard/residency.ts';
import { type Lacks, recordLacks } from './residency/lacks.ts';
import type { HistoryReply, HistoryWire } from './run/history-replies.ts';
import { forgetSpeculative, makeSpeculativeReal } from './steps/speculative.ts';
import { Shard } from './shard/shard.ts';
import { listedRow } from './tasks/list-tasks.ts';
import type { ListedTask, ListTasks, TaskPlace } from './commands/shard-task-commands.ts';
import { executionKey, isRunning, type ShardView } from './run/state.ts';
import { TimerWindow } from './residency/timer-window.ts';
import { TransferWindow } from './residency/transfer-window.ts';
import { takeFinishedAlong } from './tasks/finished-tasks.ts';
import { abortUpdates } from './steps/updates.ts';
import { changeVolatile, emptyVolatile, type Volatile, type VolatileChange } from './run/volatile.ts';

export type HistoryCoreOptions = {
  readonly wire: HistoryWire;
  readonly limits?: Partial<HistoryLimits>;
  readonly archives?: (namespaceId: string) => boolean;
  /** Encodes rows of a database. Absent: there is none, nothing is noted for checkpoints. */
  readonly stateWire?: StateWire;
};

export type HandledHistory = Handled<HistoryRecord, HistoryReply, HistoryEffect> & {
  /** Applied by `accept`. */
  readonly changes: readonly VolatileChange[];
};

const noKey: Partial<RunKey> = {};

export class HistoryCore {
  readonly #shard: Shard;
  readonly #parts: ShardParts;
  readonly #stateWire: StateWire | undefined;
  readonly #timerWindow: TimerWindow | undefined;
  /** Which tasks for workers are in memory. undefined: all, there is no database. */
  readonly transferWindow: TransferWindow | undefined;
  readonly #volatile: Volatile = emptyVolatile();

  constructor({ wire, limits, archives = () => false, stateWire }: HistoryCoreOptions) {
    this.#shard = new Shard(stateWire);
    this.#stateWire = stateWire;
    const { changes } = this.#shard;
    if (stateWire !== undefined && changes !== undefined) {
      this.#timerWindow = new TimerWindow(this.#shard, changes, stateWire);
      this.transferWindow = new TransferWindow(this.#shard, changes, stateWire);
    }
    this.#parts = {
      shard: this.#shard,
      volatile: this.#volatile,
      wire,
      limits: { ...defaultHistoryLimits, ...limits },
      archives,
      makeSpeculativeReal,
    };
  }

  handle(command: HistoryCommand, nowMs: number, askId: number): HandledHistory {
    const draft = this.#draft(nowMs, askId);
    const reply = decide(draft, command);
    return this.#handled(draft, reply);
  }

  /** The record of this command would be larger than the journal takes: what becomes of it instead. undefined: it is refused. */
  tooLarge(command: HistoryCommand, nowMs: number, askId: number): HandledHistory | undefined {
    const draft = this.#draft(nowMs, askId);
    const reply = endTooLarge(draft, command);
    return reply === undefined ? undefined : this.#handled(draft, reply);
  }

  accept(handled: HandledHistory): void {
    if (handled.kind === 'commit') this.evolve(handled.record);
    for (const change of handled.changes) changeVolatile(this.#volatile, change);
  }

  evolve(record: HistoryRecord): void {
    evolve(this.#shard, record, this.#parts.wire);
    const { finished } = this.#volatile;
    if (finished.size > 0) for (const taskId of record.finishedTaskIds) finished.delete(taskId);
  }

  cancel(askId: number): HandledHistory {
    return { kind: 'wait', barrier: false, effects: [], changes: [{ kind: 'waitEnded', askId }] };
  }

  get shard(): ShardView {
    return this.#shard;
  }

  get residency(): Residency {
    const { residency } = this.#shard;
    assert(residency !== undefined, 'without a database all is in memory');
    return residency;
  }

  /** The timer cannot be decided now, and is not the next one before that time. Memory only; at a takeover it is due again. */
  postponeTimer(taskId: number, untilMs: number): void {
    this.#shard.postponeTimer(taskId, untilMs);
  }

  /** Tasks that are finished but not yet journaled: worth a `flushFinishedTasks` when nothing else is written. */
  get hasFinishedTasks(): boolean {
    return this.#volatile.finished.size > 0;
  }

  /** What must be in memory before this command is handled. */
  keyOf(command: HistoryCommand): RunKey | undefined {
    return commandKey(command, this.#shard);
  }

  /** Names and ids for log lines, no content. */
  idsOf(command: HistoryCommand): CommandIds {
    const { namespaceId, workflowId, runId } = this.keyOf(command) ?? noKey;
    return { command: command.kind, namespaceId, workflowId, runId, taskId: 'taskId' in command ? command.taskId : undefined };
  }

  /** What a list shows of the run, as memory has it now; undefined: it is not in memory, or not shown. */
  summaryOf(runId: string): RunSummary | undefined {
    const run = this.#shard.runs.get(runId);
    return run === undefined ? undefined : summaryOf(run);
  }

  get unsentTasks(): UnsentTasks {
    return this.#shard.unsentTasks;
  }

  has({ namespaceId, workflowId, runId }: RunKey): boolean {
    const execution = executionKey(namespaceId, workflowId);
    const run = runId === '' ? this.#shard.currentRuns.get(execution) : this.#shard.runs.get(runId);
    return run !== undefined && executionKey(run.key.namespaceId, run.key.workflowId) === execution;
  }

  // ── Executions that are not in memory ──────────────────────────────────────────────────────────────────────────────────────

  /** What must be loaded before the command is decided; ask again when that is installed. undefined: nothing. */
  lacks(command: HistoryCommand): Lacks {
    return this.keepsAll ? undefined : commandLacks(this.#shard, command);
  }

  recordLacks(record: HistoryRecord): Lacks {
    return this.keepsAll ? undefined : recordLacks(this.#shard, record);
  }

  /** Nothing has left memory, or stayed in the table. */
  get keepsAll(): boolean {
    const { residency } = this.#shard;
    return residency === undefined || residency.allHere;
  }

  /** A load begins: what `installLoaded` wants to know of it. */
  beginLoad(): number {
    return this.changes.retirements;
  }

  /** Not of a load that was given up: commands went on since, and it may be old. False: runs were deleted since `begunAt`, so it is to be read again. */
  installLoaded(loaded: readonly Loaded[], begunAt: number): boolean {
    assert(this.#stateWire !== undefined, 'rows are read with their codec');
    if (this.changes.retirements !== begunAt) return false;
    const wires = { wire: this.#parts.wire, stateWire: this.#stateWire };
    for (const each of loaded) installLoaded(this.#shard, each, wires);
    return true;
  }

  /** False: it stays. One whose messages to other shards wait may leave: there may be any number of these, and `runOutboxTask` brings them back. */
  evict(runId: string): boolean {
    const run = this.#shard.runs.get(runId);
    const { waiters, queries, speculative, updates, updateWaits } = this.#volatile;
    if (run === undefined || waiters.has(runId) || queries.has(runId) || speculative.has(runId)) return false;
    if (updates.has(runId) || updateWaits.has(runId)) return false;
    return this.#shard.evict(run);
  }

  /** What the row of a run in memory must say; undefined: it need not be written yet, or is not there. */
  writtenState(runId: string): Uint8Array | undefined {
    const run = this.#shard.runs.get(runId);
    return run === undefined || !this.#shard.isWritten(run) ? undefined : this.#stateWire?.encodeRun(run, undefined).state;
  }

  /** What a row that was read would be if it were written now. Throws where it cannot be read. */
  rewrittenState({ state, events }: StoredRun): Uint8Array {
    assert(this.#stateWire !== undefined, 'rows are read with their codec');
    const { run, aside } = this.#stateWire.decodeRun(state, events);
    return this.#stateWire.encodeRun(run, aside).state;
  }

  /** What a row that was read is worth while no checkpoint becomes durable: all that there is to say of the run, less, or nothing. */
  rowStanding(runId: string): 'whole' | 'behind' | 'retired' {
    if (this.#shard.isRetired(runId)) return 'retired';
    return this.changes.isUnwritten(runId) || this.#shard.isBehind(runId) ? 'behind' : 'whole';
  }

  /** There is no row of it in the table; it is not gone, though: there will be one, or must be. */
  isWithoutRow(runId: string): boolean {
    return this.#shard.runs.has(runId) || this.#shard.isBehind(runId);
  }

  /** The least recently used leave, closed ones first, as far as they may, up to that many bytes. Answers how many bytes left. */
  makeRoom(bytes: number, looksMax: number, isNeeded: (key: RunKey) => boolean): number {
    const { hot } = this.residency;
    const before = hot.bytes;
    hot.makeRoom(bytes, looksMax, (runId) => {
      const run = this.#shard.runs.get(runId);
      return run !== undefined && !isNeeded(run.key) && this.evict(runId);
    });
    return before - hot.bytes;
  }

  // ── Checkpoints ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** What checkpoints have to write, cut by cut. */
  get changes(): Changes {
    const { changes } = this.#shard;
    assert(changes !== undefined, 'checkpoints need a database');
    return changes;
  }

  /** How a list of tasks shows one that is a row alone; undefined: it has ended, or is not wanted. */
  listedRow(row: TaskRow, place: TaskPlace, command: ListTasks): ListedTask | undefined {
    if (this.#stateWire === undefined || this.changes.isGone(row.taskId)) return undefined;
    return listedRow(row, place, command, this.#stateWire);
  }

  /** Into a core that has seen nothing: what checkpoints have written. The journal goes on behind them. */
  install(rows: ShardRows, counters: ShardCounters): void {
    for (const _row of this.installing(rows, counters));
  }

  /** Installs with a pause after each row; the generator is to be gone through to its end. */
  installing(rows: ShardRows, counters: ShardCounters): Generator<undefined, void> {
    assert(this.#stateWire !== undefined, 'rows are read with their codec');
    return install(this.#shard, rows, counters, this.#stateWire);
  }

  /** A record that waits for a run whose row cannot be read, as a checkpoint has written it. Throws when it cannot be read. */
  installWaiting({ runId, index, record }: WaitingRow): void {
    assert(this.#stateWire !== undefined, 'rows are read with their codec');
    this.residency.behind.installRecord(runId, index, this.#stateWire.decodeRecord(record));
  }

  /** After `install`: the table has more runs, which are loaded when needed, and more tasks for workers, which come in pages. */
  leaveRestInTable(): void {
    this.residency.beginsInPart();
    this.transferWindow?.beginsUnread(this.#shard.taskIdLast);
  }

  /** Which timers are in memory; until it is opened all are. */
  get timerWindow(): TimerWindow {
    assert(this.#timerWindow !== undefined, 'without a database all timers are in memory');
    return this.#timerWindow;
  }

  /** Everything durable, in one canonical form: two shards are equal exactly when these texts are. */
  canonicalState(): string {
    return canonicalText(this.#shard);
  }

  canonicalVolatile(): string {
    return canonicalText(this.#volatile);
  }

  #draft(nowMs: number, askId: number): Draft {
    return new Draft(this.#parts, Math.max(nowMs, this.#shard.timeMs), askId);
  }

  #handled(draft: Draft, reply: HistoryReply | undefined): HandledHistory {
    if (draft.isEmpty) {
      const { effects, changes } = draft;
      return reply === undefined
        ? { kind: 'wait', barrier: draft.restsOnState, effects, changes }
        : { kind: 'answer', reply, effects, changes };
    }
    const { volatile } = draft;
    for (const run of draft.runs) keepWithinLimits(run);
    for (const each of draft.runs) {
      const { run, events, forgotten } = each;
      if (events.length > 0) answerWaiters(draft, each);
      if (isRunning(run)) continue;
      if (volatile.queries.size > 0) releaseQueries(draft, run, forgotten);
      abortUpdates(draft, run);
      forgetSpeculative(draft, run);
    }
    takeFinishedAlong(draft);
    settleLetters(draft);
    return { kind: 'commit', record: draft.toRecord(), reply, effects: draft.effects, changes: draft.changes };
  }
}
