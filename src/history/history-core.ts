/**
 * The history of one shard: decides commands, evolves records. Pure: no clock, no I/O, no randomness; what it needs of those comes with
 * the command.
 *
 *   handle(command)  ──▶ record + reply + effects + volatile changes        reads only: whatever it throws, nothing has changed
 *   accept(handled)  ──▶ evolve(record), then the volatile changes           live
 *   evolve(record)   ──▶ durable state                                       the only place that changes it, live and in replay
 *
 * Volatile state (who waits, buffered queries, speculative tasks) is lost at a takeover.
 */
import { assert } from '../kernel/assert.ts';
import type { CommandIds, Handled } from '../kernel/handled.ts';
import { canonicalText } from './canonical.ts';
import type { Changes } from './checkpoint/changes.ts';
import { install } from './checkpoint/install.ts';
import type { ShardCheckpoint, ShardCounters, ShardRows, StoredRun, TaskRow } from './checkpoint/rows.ts';
import type { StateWire } from './checkpoint/state-wire.ts';
import { commandKey } from './command-key.ts';
import type { RunKey } from '../kernel/run-key.ts';
import type { HistoryCommand, ParentLink } from './commands.ts';
import { answerWaiters } from './execution/describe.ts';
import { decide, takeFinishedAlong } from './decide.ts';
import { Draft, type ShardParts } from './draft.ts';
import type { HistoryEffect } from './effects.ts';
import { evolve } from './evolve.ts';
import { defaultHistoryLimits, type HistoryLimits } from './limits.ts';
import type { HandOverLines } from './hand-over/hand-over-lines.ts';
import { keepWithinLimits } from './execution/keep-within-limits.ts';
import { type RunSummary, summaryOf } from './execution/summary.ts';
import { releaseQueries } from './query/query.ts';
import type { UnsentTasks } from './redrive/unsent-tasks.ts';
import type { HistoryRecord } from './record.ts';
import { settleLetters } from './redrive/redrive.ts';
import { installLoaded, type Loaded } from './residency/install-loaded.ts';
import type { KnownKeys } from './residency/known-keys.ts';
import { commandLacks, type Lacks, recordLacks } from './residency/lacks.ts';
import { DamagedRows } from './residency/damaged-rows.ts';
import type { HistoryReply, HistoryWire } from './replies.ts';
import { forgetSpeculative, makeSpeculativeReal } from './workflow-task/speculative.ts';
import { Shard } from './shard.ts';
import { listedRow } from './shard-tasks/list-tasks.ts';
import type { ListedTask, ListTasks, TaskPlace } from './shard-tasks/shard-task-commands.ts';
import { executionKey, isRunning } from './state.ts';
import type { TimerTask, TransferTask } from './tasks.ts';
import type { NextTimer } from './timer/timer-queue.ts';
import { TimerWindow } from './timer/timer-window.ts';
import { TransferWindow } from './transfer/transfer-window.ts';
import { endTooLarge } from './execution/too-large.ts';
import { abortUpdates } from './update/end-updates.ts';
import { changeVolatile, emptyVolatile, type Volatile, type VolatileChange } from './volatile.ts';

export type HistoryCoreOptions = {
  readonly wire: HistoryWire;
  readonly limits?: Partial<HistoryLimits>;
  /** Absent: none is archived. */
  readonly archives?: (namespaceId: string) => boolean;
  /** For rows of a database. Absent: there is none, nothing is noted for checkpoints. */
  readonly stateWire?: StateWire;
};

export type HandledHistory = Handled<HistoryRecord, HistoryReply, HistoryEffect> & {
  /** Applied by `accept`. */
  readonly changes: readonly VolatileChange[];
};

export type AboutRun = { readonly namespace: string; readonly workflowType: string; readonly parent: ParentLink | undefined };

const noKey: Partial<RunKey> = {};

export class HistoryCore {
  readonly #wire: HistoryWire;
  readonly #shard: Shard;
  readonly #parts: ShardParts;
  readonly #stateWire: StateWire | undefined;
  readonly #timerWindow: TimerWindow | undefined;
  /** Which tasks for workers are in memory. undefined: all, there is no database. */
  readonly transferWindow: TransferWindow | undefined;
  readonly #volatile: Volatile = emptyVolatile();
  /** Rows of this shard that cannot be read. */
  readonly damaged: DamagedRows;

  constructor({ wire, limits, archives = () => false, stateWire }: HistoryCoreOptions) {
    this.#wire = wire;
    this.#shard = new Shard(stateWire);
    this.#stateWire = stateWire;
    const { changes } = this.#shard;
    if (stateWire !== undefined && changes !== undefined) {
      this.#timerWindow = new TimerWindow(this.#shard, changes, stateWire);
      this.transferWindow = new TransferWindow(this.#shard, changes, stateWire);
    }
    this.damaged = new DamagedRows(this.#shard, stateWire);
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

  /**
   * The record of this command would be larger than the journal takes: what becomes of it instead. undefined: it is refused, and nothing
   * happens.
   */
  tooLarge(command: HistoryCommand, nowMs: number, askId: number): HandledHistory | undefined {
    const draft = this.#draft(nowMs, askId);
    const reply = endTooLarge(draft, command);
    return reply === undefined ? undefined : this.#handled(draft, reply);
  }

  /** What was handled takes effect in memory. */
  accept(handled: HandledHistory): void {
    if (handled.kind === 'commit') this.evolve(handled.record);
    for (const change of handled.changes) changeVolatile(this.#volatile, change);
  }

  evolve(record: HistoryRecord): void {
    evolve(this.#shard, record, this.#wire);
    const { finished } = this.#volatile;
    if (finished.size > 0) for (const taskId of record.finishedTaskIds) finished.delete(taskId);
  }

  /** The caller no longer waits. */
  cancel(askId: number): HandledHistory {
    return { kind: 'wait', barrier: false, effects: [], changes: [{ kind: 'waitEnded', askId }] };
  }

  /** Tasks that have failed for good, on their way to a queue of dead letters. */
  get handOvers(): HandOverLines | undefined {
    return this.#shard.handOvers;
  }

  /** It is executed again for a dead letter, and nothing has come of it yet. */
  isLetter(taskId: number): boolean {
    return this.#shard.letterMarks?.pendingOf(taskId) !== undefined;
  }

  /** In the order in which they were made. */
  pendingTransferTasks(): IterableIterator<TransferTask> {
    return this.#shard.transfers.values();
  }

  transferTask(taskId: number): TransferTask | undefined {
    return this.#shard.transfers.get(taskId);
  }

  timerTask(taskId: number): TimerTask | undefined {
    return this.#shard.timers.get(taskId);
  }

  nextTimer(): NextTimer | undefined {
    return this.#shard.timers.next();
  }

  /** It cannot be decided now: no `nextTimer` before that time. Memory only; at a takeover it is due again. */
  postponeTimer(taskId: number, untilMs: number): void {
    this.#shard.postponeTimer(taskId, untilMs);
  }

  /** Runs whose timers and tasks wait aside, because the shard cannot go on with them. */
  get runsAside(): number {
    return this.#shard.aside.size;
  }

  /** Tasks that are finished but not yet journaled: worth a `flushFinishedTasks` when nothing else is written. */
  get hasFinishedTasks(): boolean {
    return this.#volatile.finished.size > 0;
  }

  /** What must be in memory before this command is handled. */
  keyOf(command: HistoryCommand): RunKey | undefined {
    return commandKey(command, this.#shard);
  }

  /** For log lines: names and ids, no content. */
  idsOf(command: HistoryCommand): CommandIds {
    const { namespaceId, workflowId, runId } = this.keyOf(command) ?? noKey;
    return { command: command.kind, namespaceId, workflowId, runId, taskId: 'taskId' in command ? command.taskId : undefined };
  }

  /** The namespace and workflow id of a run, as far as it is in memory. */
  nameOf(runId: string): { readonly namespaceId: string | undefined; readonly workflowId: string | undefined } {
    const key = this.#shard.runs.get(runId)?.key;
    return { namespaceId: key?.namespaceId, workflowId: key?.workflowId };
  }

  /** Names that a letter of one of its tasks tells; undefined: it is not in memory. */
  aboutRun(runId: string): AboutRun | undefined {
    const run = this.#shard.runs.get(runId);
    return run === undefined ? undefined : { namespace: run.namespace, workflowType: run.start.workflowType, parent: run.start.parent };
  }

  /** What a list shows of the run, as memory has it now; undefined: it is not in memory, or not shown. */
  summaryOf(runId: string): RunSummary | undefined {
    const run = this.#shard.runs.get(runId);
    return run === undefined ? undefined : summaryOf(run);
  }

  /** Of all runs in memory; those that come while it is read are among them, or not. */
  runIds(): IterableIterator<string> {
    return this.#shard.runs.keys();
  }

  get runsInMemory(): number {
    return this.#shard.runs.size;
  }

  /** Not in memory; undefined: nobody has counted them. */
  get runsCold(): number | undefined {
    const { runCount, runs } = this.#shard;
    return runCount === undefined ? undefined : runCount - runs.size;
  }

  /** So many are in the table, before the first record, where its counters do not say it. */
  countRuns(inTable: number): void {
    assert(this.#shard.runCount === undefined, 'runs are counted once');
    this.#shard.runCount = inTable;
  }

  get unsentTasks(): UnsentTasks {
    return this.#shard.unsentTasks;
  }

  get transferTasksInMemory(): number {
    return this.#shard.transfers.size;
  }

  get timersInMemory(): number {
    return this.#shard.timers.size;
  }

  /** Of all runs in memory, likewise. */
  *runKeys(): Generator<RunKey, void> {
    for (const { key } of this.#shard.runs.values()) yield key;
  }

  /** The runs whose tasks wait aside, in memory or not. */
  runsOfTasksAside(): readonly RunKey[] {
    return [...new Map(Array.from(this.#shard.tasksAside.values(), ({ key }) => [key.runId, key])).values()];
  }

  /** In memory. */
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

  /** Likewise before the record is evolved. */
  recordLacks(record: HistoryRecord): Lacks {
    return this.keepsAll ? undefined : recordLacks(this.#shard, record);
  }

  /** Nothing has left memory, or stayed in the table. */
  get keepsAll(): boolean {
    const { residency } = this.#shard;
    return residency === undefined || residency.allHere;
  }

  /** Of a run that a database shows: it is not in memory, and has not ended for good. */
  isCold(key: RunKey): boolean {
    return this.#shard.isRunCold(key);
  }

  /** How many runs have gone whose rows, if they have any, the next checkpoints delete. */
  get retiredWithRows(): number {
    return this.#changes.retiredCount;
  }

  /** Runs that cannot leave memory, because their rows are not what they are. */
  get unwrittenRuns(): number {
    return this.#changes.unwrittenRuns;
  }

  /** A load begins: what `installLoaded` wants to know of it. */
  beginLoad(): number {
    return this.#changes.retirements;
  }

  /**
   * What has come of a load, which must not have been given up meanwhile: whoever gives it up lets the commands of its workflow ids go on, and
   * what it read may be old. `begunAt`: of `beginLoad`. False: runs were deleted since it began, and it may have read one of them. Nothing is
   * installed, it has to be read again.
   */
  installLoaded(loaded: readonly Loaded[], begunAt: number): boolean {
    assert(this.#stateWire !== undefined, 'rows are read with their codec');
    if (this.#changes.retirements !== begunAt) return false;
    const wires = { wire: this.#wire, stateWire: this.#stateWire };
    for (const each of loaded) installLoaded(this.#shard, each, wires);
    return true;
  }

  /**
   * Takes a run out of memory; its tasks stay. False: it is not there, someone waits on it, it was put aside, or its row is not what it is.
   *
   * A run whose messages to other shards are not answered may leave: while a shard is out of reach there may be any number of them, and
   * `runOutboxTask` brings the run back for each try.
   */
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

  /**
   * What the row of a run is worth that was read while no checkpoint has become durable (`checkpointsDurable`): all that there is to say of the
   * run, less than that, or nothing any more.
   */
  rowStanding(runId: string): 'whole' | 'behind' | 'retired' {
    if (this.#shard.isRetired(runId)) return 'retired';
    return this.#changes.isUnwritten(runId) || this.#shard.isBehind(runId) ? 'behind' : 'whole';
  }

  /** There is no row of it in the table; it is not gone, though: there will be one, or must be. */
  isWithoutRow(runId: string): boolean {
    return this.#shard.runs.has(runId) || this.#shard.isBehind(runId);
  }

  get checkpointsDurable(): number {
    return this.#changes.durableCount;
  }

  /** What the runs in memory take there, roughly. */
  get hotBytes(): number {
    return this.#shard.residency?.hot.bytes ?? 0;
  }

  /** When the run was used that is next to leave; Infinity: there is none. */
  get oldestHotMs(): number {
    return this.#shard.residency?.hot.oldestMs ?? Infinity;
  }

  /** The least recently used leave, closed ones first, as far as they may, up to that many bytes. Answers how many bytes left. */
  makeRoom(bytes: number, looksMax: number, isNeeded: (key: RunKey) => boolean): number {
    const before = this.hotBytes;
    this.#shard.residency?.hot.makeRoom(bytes, looksMax, (runId) => {
      const run = this.#shard.runs.get(runId);
      return run !== undefined && !isNeeded(run.key) && this.evict(runId);
    });
    return before - this.hotBytes;
  }

  /** Which workflow ids there may be in memory or in the table. */
  get knownKeys(): KnownKeys {
    const { residency } = this.#shard;
    assert(residency !== undefined, 'without a database all keys are in memory');
    return residency.keys;
  }

  // ── Checkpoints ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The state as it is now is what the next checkpoint brings up to date. At once, after any record; one cut at a time. */
  cut(): void {
    this.#changes.cut();
  }

  /**
   * What has to be written for the cut: rows exactly as they were then, whatever has been evolved since. Encodes one run or task, and more
   * while `goOn` says so. Undefined: call again. Later calls give the same rows, for a write that failed.
   */
  capture(goOn: () => boolean): ShardCheckpoint | undefined {
    return this.#changes.capture(goOn);
  }

  /** What was captured is in the database for good: the next cut may come. */
  durable(): void {
    this.#changes.durable();
  }

  /** Whatever a database says of this task, it has ended: the checkpoint that deletes it is not durable yet. */
  isGone(taskId: number): boolean {
    return this.#changes.isGone(taskId);
  }

  /** Of a row alone: how a list of tasks shows it; undefined: it has ended, or is not wanted. */
  listedRow(row: TaskRow, place: TaskPlace, command: ListTasks): ListedTask | undefined {
    if (this.#stateWire === undefined || this.isGone(row.taskId)) return undefined;
    return listedRow(row, place, command, this.#stateWire);
  }

  /** Into a core that has seen nothing: what checkpoints have written. The journal goes on behind them. */
  install(rows: ShardRows, counters: ShardCounters): void {
    for (const _row of this.installing(rows, counters));
  }

  /** The same with a pause after each row; it is to be gone through to its end. */
  installing(rows: ShardRows, counters: ShardCounters): Generator<undefined, void> {
    assert(this.#stateWire !== undefined, 'rows are read with their codec');
    return install(this.#shard, rows, counters, this.#stateWire);
  }

  /**
   * After `install`: the table has more runs than were given, and those are loaded when they are needed; more tasks for workers, which come in
   * pages. All messages to other shards were given.
   */
  leaveRestInTable(): void {
    assert(this.#shard.residency !== undefined, 'what is not in memory is in a database');
    this.#shard.residency.beginsInPart();
    this.transferWindow?.beginsUnread(this.#shard.taskIdLast);
  }

  /** Which timers are in memory; until it is opened all are. */
  get timerWindow(): TimerWindow {
    assert(this.#timerWindow !== undefined, 'without a database all timers are in memory');
    return this.#timerWindow;
  }

  get #changes(): Changes {
    const { changes } = this.#shard;
    assert(changes !== undefined, 'checkpoints need a database');
    return changes;
  }

  /** Everything durable, in one canonical form: two shards are equal exactly when these texts are. */
  canonicalState(): string {
    return canonicalText(this.#shard);
  }

  /** Everything that is not durable, likewise. */
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
