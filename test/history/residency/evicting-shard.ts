/**
 * Two shards that live through the same program: one keeps all in memory, of the other anything may leave at any time that the table has.
 *
 *     step ─┬─▶ whole     ─▶ replies, records ─┐
 *           └─▶ evicting  ─▶ replies, records ─┴─ equal byte by byte
 *                  └ before each command: some moves of its table and memory, then what the command lacks is loaded
 *
 * No framework: the simulation's planted bugs may run it as well.
 */
import assert from 'node:assert/strict';
import { taskFailure, taskSubject } from '../hand-over/task-failure.ts';
import { canonicalText } from '../../../src/history/run/canonical.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type { HistoryCommand } from '../../../src/history/commands/history-commands.ts';
import type { StateWire } from '../../../src/history/shard/state-wire.ts';
import { type HandledHistory, HistoryCore } from '../../../src/history/history-core.ts';
import type { HistoryLimits } from '../../../src/history/run/history-limits.ts';
import type { HistoryRecord } from '../../../src/history/run/record.ts';
import type { HistoryReply } from '../../../src/history/run/history-replies.ts';
import type { Loaded } from '../../../src/history/residency/install.ts';
import type { LoadKey } from '../../../src/history/shard/residency.ts';
import type { Lacks } from '../../../src/history/residency/lacks.ts';
import { executionKey } from '../../../src/history/run/state.ts';
import type { ShardCounters, TimerPage, TimerRow, TransferTaskRow } from '../../../src/history/shard/rows.ts';
import type { TaskPlace } from '../../../src/history/commands/shard-task-commands.ts';
import type { TimerWindowLimits } from '../../../src/history/residency/timer-window.ts';
import { isDispatch, type TransferTask } from '../../../src/history/run/tasks.ts';
import type { TransferWindow } from '../../../src/history/residency/transfer-window.ts';
import { historyCodec } from '../../../src/codec/history-codec.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { stateCodec } from '../../../src/codec/state-codec.ts';
import { tasksLeave } from '../../support/shard-rows.ts';
import { Checkpoints, installed, type Table } from '../checkpointed-shard.ts';
import { Program, type ProgramStep } from '../random-program.ts';
import { ShardUnderTest } from '../shard-under-test.ts';

export type Move =
  | 'beginLoad'
  | 'endLoad'
  | 'nothing'
  | 'cut'
  | 'capture'
  | 'write'
  | 'lose'
  | 'evict'
  | 'evictOne'
  | 'loadAnyway'
  | 'beginWindow'
  | 'endWindow'
  | 'leaveSome'
  | 'beginTasks'
  | 'endTasks'
  | 'tasksRefused'
  | 'tasksDelivered'
  | 'writeAndEvict';

class HeardShard extends ShardUnderTest {
  readonly heard: string[] = [];
  protected readonly limits: Partial<HistoryLimits>;

  constructor(limits: Partial<HistoryLimits> = {}, stateWire?: StateWire) {
    super(limits, stateWire);
    this.limits = limits;
  }

  /** What is not in its journal is lost. */
  crash(): void {
    this.core = new HistoryCore({ wire: historyWire, limits: this.limits });
    for (const record of this.records) this.core.evolve(record);
  }

  override ask(command: HistoryCommand): HistoryReply | undefined {
    const reply = super.ask(command);
    this.heard.push(`${command.kind}: ${canonicalText(reply)}`);
    return reply;
  }
}

/** Hardly any timer is in memory that need not be. */
const tinyWindow: TimerWindowLimits = {
  aheadMsMax: 3_000,
  timersMax: 4,
  timersLeft: 2,
  timersNearMax: 5,
  pageRows: 3,
  overdueMsMax: 0,
};

/** Nor any task for a worker. */
const tinyRoom = { tasksMax: 0, tasksLeft: 4, pageRows: 2 };

const everything: TimerPage = {
  afterFireTimeMs: Number.MIN_SAFE_INTEGER,
  afterTaskId: -1,
  untilMs: Number.MAX_SAFE_INTEGER,
  max: Infinity,
};

export class EvictingShard extends HeardShard {
  readonly checkpoints: Checkpoints;
  readonly #moves: readonly Move[];
  #moved = 0;
  /** How many runs have left memory, and how many keys were loaded. */
  evicted = 0;
  loaded = 0;
  /** How many timers have left memory. */
  timersLeft = 0;
  /** Read, and on its way. */
  #window: readonly TimerRow[] | undefined;
  /** Timers leave, some at a time. */
  #leaving: Iterator<undefined> | undefined;
  /** How many tasks for workers have left memory, and how many have come back to be tried. */
  tasksLeft = 0;
  tasksBrought = 0;
  #tasks: readonly TransferTaskRow[] | undefined;
  /** By this memory: what matching has, and what was refused and has not had its turn again. */
  readonly #delivered = new Set<number>();
  readonly #inLine = new Set<number>();
  /** Of those that matching has: it has stored them, and the journal does not say so yet. */
  #stored: number[] = [];
  /** Asked of the table, and on its way; with the executions whose commands did not wait for it. */
  #underWay: { readonly rows: readonly Loaded[]; readonly begunAt: number; readonly gaveUp: Set<string> } | undefined;

  constructor(limits: Partial<HistoryLimits> = {}, moves: readonly Move[] = ['nothing']) {
    super(limits, stateCodec);
    this.checks = false;
    this.#moves = moves;
    this.checkpoints = new Checkpoints(this);
    this.core.timerWindow.opens(tinyWindow);
    this.transferWindow.opens(tinyRoom);
  }

  override decide(command: HistoryCommand): HandledHistory {
    this.#move(this.#moves[this.#moved++ % this.#moves.length] ?? 'nothing');
    // What has left memory has left with the end of its retention, which the other shard sees.
    if (command.kind === 'fireTimer') this.loadDue();
    const key = this.core.keyOf(command);
    if (key !== undefined) this.#underWay?.gaveUp.add(executionKey(key.namespaceId, key.workflowId));
    this.load(command);
    return super.decide(command);
  }

  /** Memory is made again of the table's tasks and the records behind it, with what those change; only sometimes the keys are known. */
  override crash(): void {
    const { checkpoints } = this;
    const { table } = checkpoints;
    this.#underWay = undefined;
    this.#window = undefined;
    this.#tasks = undefined;
    this.#delivered.clear();
    this.#inLine.clear();
    this.#stored = [];
    this.#leaving = undefined;
    this.core = new HistoryCore({ wire: historyWire, limits: this.limits, stateWire: stateCodec });
    this.core.timerWindow.opens(tinyWindow);
    this.transferWindow.opens(tinyRoom);
    if (table.counters !== undefined) {
      restart(this.core, table, table.counters);
    }
    for (const record of this.records.slice(table.counters === undefined ? 0 : checkpoints.recordsInTable)) {
      loadWhatLacks(this.core, table, () => this.core.recordLacks(record));
      this.core.evolve(record);
    }
    checkpoints.crashed();
    if (table.counters === undefined || this.#moved % 2 === 0) return;
    this.core.residency.keys.addKnown(table.keys.flatMap((key) => (key.kind === 'run' ? [key] : [])));
    this.core.residency.keys.rebuilt();
  }

  /** A real shard would wait for its next window, and fire late. */
  override nextTimer(): TaskPlace | undefined {
    this.loadDue();
    const { timerWindow } = this.core;
    for (;;) {
      const next = super.nextTimer();
      const { horizon } = timerWindow;
      const isNear = next !== undefined && (next.fireTimeMs < horizon.fireTimeMs || horizon.fireTimeMs > this.nowMs);
      if (isNear || this.checkpoints.table.timers({ ...everything, ...behind(horizon) }).length === 0) return next;
      this.#endWindow();
      this.#beginWindow(next === undefined ? Number.MAX_SAFE_INTEGER : Math.max(next.fireTimeMs, this.nowMs));
      this.#endWindow();
    }
  }

  /** In the lane of the writes: none is written until `endWindow`. */
  #beginWindow(nowMs = this.nowMs): void {
    this.#window ??= this.checkpoints.table.timers(this.core.timerWindow.begin(nowMs));
  }

  #endWindow(): void {
    const rows = this.#window;
    this.#window = undefined;
    if (rows === undefined) return;
    for (const row of rows) this.core.timerWindow.install(row);
    this.core.timerWindow.end(rows, this.nowMs);
  }

  get transferWindow(): TransferWindow {
    const { transferWindow } = this.core;
    assert(transferWindow !== undefined, 'it has a database');
    return transferWindow;
  }

  /** Whoever takes one takes it by its id, be it in memory or not. */
  override transfers(): readonly TransferTask[] {
    const { core } = this;
    const here = new Map(super.transfers().map((task) => [task.taskId, task]));
    const { tasksAside } = this.checkpoints.folded;
    for (const { taskId, task, aside: waitsAside } of this.checkpoints.table.rows.transferTasks) {
      if (here.has(taskId) || waitsAside || tasksAside.has(taskId) || core.changes.isGone(taskId)) continue;
      here.set(taskId, stateCodec.decodeTask(task) as TransferTask);
    }
    return [...here.values()].toSorted((one, other) => one.taskId - other.taskId);
  }

  #beginTasks(): void {
    this.transferWindow.resume();
    this.#takeBrought();
    if (this.#tasks !== undefined || !this.transferWindow.wants()) return;
    const { afterTaskId, max } = this.transferWindow.begin(this.nowMs);
    this.#tasks = this.checkpoints.table.transfers(afterTaskId, max);
  }

  #endTasks(): void {
    const rows = this.#tasks;
    this.#tasks = undefined;
    if (rows === undefined) return;
    for (const row of rows) this.transferWindow.install(row);
    this.transferWindow.end(rows, this.nowMs);
    this.#takeBrought();
  }

  #takeBrought(): void {
    for (const { taskId } of this.transferWindow.takeBrought()) {
      this.#inLine.delete(taskId);
      this.tasksBrought++;
    }
  }

  /** Whatever was refused, stood in line or was never read: each has its turn, so workers hear of all. */
  expectAllTried(): void {
    const window = this.transferWindow;
    this.#endTasks();
    for (let round = 0, wait = true; wait; round++) {
      assert(round < 10_000, 'the line comes to its end');
      wait = window.othersWait;
      for (const { taskId } of [...this.core.shard.transfers.values()]) {
        if (!this.#inLine.has(taskId) && !this.isNoted(taskId)) this.#deliver(taskId);
      }
      for (const _look of window.leave(() => this.nowMs));
      this.#beginTasks();
      this.#endTasks();
    }
    const unheard = this.transfers().filter((task) => isDispatch(task) && !this.#delivered.has(task.taskId) && !this.isNoted(task.taskId));
    assert.deepEqual(unheard, [], 'every task for a worker was tried');
  }

  /** What matching says of most of those that are tried. */
  #tried(answer: 'tasksRefused' | 'tasksDelivered'): void {
    const before = this.core.shard.transfers.size;
    for (const { taskId } of [...this.core.shard.transfers.values()]) {
      if (taskId % 5 === 0 || this.#inLine.has(taskId) || this.isNoted(taskId)) continue;
      if (answer === 'tasksDelivered') this.#deliver(taskId);
      else if (!this.transferWindow.keeps(taskId) || !this.transferWindow.hasTurn(taskId)) this.#inLine.add(taskId);
    }
    this.tasksLeft += before - this.core.shard.transfers.size;
  }

  #deliver(taskId: number): void {
    const task = this.core.shard.transfers.get(taskId);
    if (task === undefined || !isDispatch(task)) return;
    assert.equal(task.atMatching, undefined, 'nobody offers what matching has stored');
    this.#delivered.add(taskId);
    if (taskId % 4 === 0) return this.transferWindow.delivered(taskId);
    this.transferWindow.stored(taskId);
    this.#stored.push(taskId);
  }

  isNoted(taskId: number): boolean {
    const task = this.checkpoints.folded.transfers.get(taskId);
    return task !== undefined && isDispatch(task) && task.atMatching === true;
  }

  hearStored(): void {
    this.#tried('tasksDelivered');
  }

  /** What its journal is to note. */
  takeStored(): readonly number[] {
    return this.#stored.splice(0);
  }

  #leave(max: number): void {
    const before = this.core.shard.timers.size;
    const tasksBefore = this.core.shard.transfers.size;
    this.core.timerWindow.comeNearer(this.nowMs);
    this.#leaving ??= this.core.timerWindow.leave(() => this.nowMs);
    for (let left = max; left > 0; left--) {
      if (this.#leaving.next().done !== true) continue;
      this.#leaving = undefined;
      break;
    }
    this.timersLeft += before - this.core.shard.timers.size;
    for (const _look of this.transferWindow.leave(() => this.nowMs));
    this.tasksLeft += tasksBefore - this.core.shard.transfers.size;
  }

  /** Closed runs that are due and not in memory. */
  dueCold(nowMs: number): readonly RunKey[] {
    const keys = this.checkpoints.table
      .dueRuns(nowMs)
      .map(({ namespaceId: id, workflowId, runId }) => ({ namespaceId: id, workflowId, runId }));
    return keys.filter((key) => this.core.shard.isRunCold(key));
  }

  loadDue(): void {
    const keys = this.dueCold(this.nowMs).map((key) => ({ kind: 'run' as const, ...key }));
    if (keys.length > 0) assert(this.core.installLoaded(this.checkpoints.table.load(keys), this.core.beginLoad()));
  }

  load(command: HistoryCommand): void {
    this.loaded += loadWhatLacks(this.core, this.checkpoints.table, () => this.core.lacks(command));
  }

  /** In a fold. */
  evolve(record: HistoryRecord): void {
    this.core.evolve(record);
    this.records.push(record);
  }

  /** Every run that may. */
  evict(): void {
    this.#tried('tasksRefused');
    this.#leave(Infinity);
    for (const runId of this.runIds()) if (this.core.evict(runId)) this.evicted++;
  }

  writeAll(): void {
    const { checkpoints } = this;
    this.#endWindow();
    this.#endTasks();
    if (checkpoints.state === 'none') checkpoints.cut();
    while (checkpoints.state === 'cut') checkpoints.capture(Infinity);
    checkpoints.write('written');
  }

  loadAll(): void {
    const { table } = this.checkpoints;
    for (const row of table.timers(everything)) this.core.timerWindow.install(row);
    this.#endTasks();
    for (const row of table.transfersInQueue) this.transferWindow.install(row);
    assert(this.core.installLoaded(table.load(table.keys), this.core.beginLoad()));
  }

  #isCold(key: Exclude<LoadKey, { readonly kind: 'childStart' }>): boolean {
    const { namespaceId: id, workflowId } = key;
    return (
      this.core.lacks({ kind: 'describeWorkflow', key: { namespaceId: id, workflowId, runId: key.kind === 'run' ? key.runId : '' } }) !==
      undefined
    );
  }

  /** False: runs were deleted meanwhile, and it would be asked for again. */
  #endLoad(): void {
    const load = this.#underWay;
    this.#underWay = undefined;
    if (load === undefined) return;
    const waited = load.rows.filter(
      ({ key }) => key.kind !== 'childStart' && !load.gaveUp.has(executionKey(key.namespaceId, key.workflowId)),
    );
    this.core.installLoaded(waited, load.begunAt);
  }

  #move(move: Move): void {
    const { checkpoints } = this;
    switch (move) {
      case 'nothing':
        return;
      case 'cut':
        if (checkpoints.state === 'none') checkpoints.cut();
        return;
      case 'capture':
        if (checkpoints.state === 'cut') checkpoints.capture(2);
        return;
      case 'write':
      case 'lose':
        if (checkpoints.state === 'captured') this.#endWindow();
        if (checkpoints.state === 'captured') this.#endTasks();
        if (checkpoints.state === 'captured') checkpoints.write(move === 'write' ? 'written' : 'lost');
        return;
      case 'evict':
        return this.evict();
      case 'evictOne': {
        const runIds = this.runIds();
        if (this.core.evict(runIds[this.#moved % runIds.length] ?? '')) this.evicted++;
        return;
      }
      case 'beginLoad': {
        const { table } = this.checkpoints;
        // Only what is cold is asked for: of the others the table may have old rows.
        const keys = table.keys.filter((key) => key.kind !== 'childStart' && this.#isCold(key));
        this.#underWay = { rows: table.load(keys), begunAt: this.core.beginLoad(), gaveUp: new Set() };
        return;
      }
      case 'endLoad':
        return this.#endLoad();
      case 'beginWindow':
        return this.#beginWindow();
      case 'endWindow':
        return this.#endWindow();
      case 'leaveSome':
        return this.#leave(2);
      case 'beginTasks':
        return this.#beginTasks();
      case 'endTasks':
        return this.#endTasks();
      case 'tasksRefused':
      case 'tasksDelivered':
        return this.#tried(move);
      case 'loadAnyway':
        return this.loadAll();
      case 'writeAndEvict':
        this.writeAll();
        this.evict();
        if (this.#moved % 3 !== 0) return;
        this.#beginTasks();
        return this.#endTasks();
    }
  }
}

/** As a takeover does: runs that are put aside are in memory from the start. */
function restart(core: HistoryCore, table: Table, counters: ShardCounters): void {
  core.install(table.rowsOfRestart, counters);
  core.leaveRestInTable();
  const aside = new Map(Array.from(core.shard.tasksAside.values(), ({ key }) => [key.runId, key]));
  const keys = Array.from(aside.values(), (key) => ({ kind: 'run' as const, ...key }));
  assert(core.installLoaded(table.load(keys), core.beginLoad()));
}

function behind({ fireTimeMs, taskId }: TaskPlace): Partial<TimerPage> {
  return { afterFireTimeMs: fireTimeMs, afterTaskId: taskId };
}

/** As often as what was loaded names more. */
export function loadWhatLacks(core: HistoryCore, table: Table, lacks: () => Lacks): number {
  let count = 0;
  for (let keys = lacks(); keys !== undefined; keys = lacks()) {
    count += keys.length;
    assert(count < 20, `what was loaded is still lacking: ${JSON.stringify(keys)}`);
    assert(core.installLoaded(table.load(keys), core.beginLoad()));
  }
  return count;
}

export class TwoShards {
  readonly whole: HeardShard;
  readonly evicting: EvictingShard;
  readonly #programs: readonly [Program, Program];
  /** How many runs were retired unread. */
  retired = 0;
  /** How many tasks were noted as stored by matching. */
  noted = 0;
  handedOver = 0;
  #steps = 0;

  constructor(moves: readonly Move[], limits: Partial<HistoryLimits> = {}) {
    this.whole = new HeardShard(limits);
    this.whole.checks = false;
    this.evicting = new EvictingShard(limits, moves);
    this.#programs = [new Program(this.whole), new Program(this.evicting)];
  }

  run(step: ProgramStep): void {
    const { whole, evicting } = this;
    const [recordsBefore, heardBefore] = [whole.records.length, whole.heard.length];
    if (step.do === 'time') this.#retire(step.ms);
    this.#note();
    this.#handOver();
    this.#programs[0].run(step);
    this.#programs[1].run(step);
    assert.deepEqual(evicting.heard.slice(heardBefore), whole.heard.slice(heardBefore), `${step.do}: what callers hear`);
    assert.deepEqual(bytesOf(evicting.records.slice(recordsBefore)), bytesOf(whole.records.slice(recordsBefore)), `${step.do}: records`);
  }

  /** Now and then: some have started since. */
  #note(): void {
    if (++this.#steps % 3 === 0) this.evicting.hearStored();
    if (this.#steps % 3 !== 1) return;
    const taskIds = this.evicting.takeStored();
    if (taskIds.length === 0) return;
    for (const shard of [this.whole, this.evicting]) shard.expectDone({ kind: 'noteAtMatching', taskIds });
    this.evicting.transferWindow.noted(taskIds);
    this.noted += this.whole.records.at(-1)?.taskIdsAtMatching?.length ?? 0;
  }

  /** Some fail for good: of those that are in memory, as what is tried is. Later they are letters. */
  #handOver(): void {
    const { whole, evicting } = this;
    if (this.#steps % 11 === 0) {
      const task = [...evicting.core.shard.transfers.values()].find(({ taskId }) => taskId % 3 === 0 && !this.evicting.isNoted(taskId));
      if (task === undefined) return;
      const { taskId } = task;
      const command: HistoryCommand = { kind: 'handOverTask', taskId, category: 'transfer', failure: taskFailure, subject: taskSubject };
      evicting.expectDone(command);
      // It may have left memory on the way: it stays pending then, as one that finds no room.
      const isHandedOver = evicting.records.at(-1)?.tasksHandedOver?.[0]?.task.taskId === taskId;
      if (isHandedOver) whole.expectDone(command);
      else whole.heard.push(evicting.heard.at(-1) ?? '');
      this.handedOver += isHandedOver ? 1 : 0;
    }
    if (this.#steps % 17 !== 0) return;
    const accepted = evicting.checkpoints.folded.handOvers?.get('transfer')?.waiting.slice(0, 2) ?? [];
    const sequence = accepted.at(-1)?.sequence;
    if (sequence === undefined) return;
    const messageIds = accepted.map((task) => task.sequence);
    for (const shard of [whole, evicting]) shard.expectDone({ kind: 'noteLetters', category: 'transfer', sequence, messageIds });
  }

  /** Time passes: first the table is asked what is due by then. */
  #retire(ms: number): void {
    const { whole, evicting } = this;
    const runs = evicting.dueCold(evicting.nowMs + ms);
    if (runs.length === 0) return;
    for (const shard of [whole, evicting]) {
      shard.advance(ms);
      shard.expectDone({ kind: 'retireRuns', runs });
    }
    this.retired += runs.length;
  }

  /** Both servers die. What comes back is the same, over its rows. */
  crash(): void {
    const { whole, evicting } = this;
    whole.crash();
    evicting.crash();
    const resident = new Set(evicting.core.shard.runs.keys());
    evicting.loadAll();
    assert.equal(evicting.core.canonicalState(), whole.core.canonicalState(), 'what comes back is what was there');
    for (const runId of [...evicting.core.shard.runs.keys()]) if (!resident.has(runId)) evicting.core.evict(runId);
    tasksLeave(evicting.core, evicting.nowMs);
  }

  finish(): void {
    const { whole, evicting } = this;
    evicting.expectAllTried();
    evicting.writeAll();
    evicting.writeAll();
    const state = whole.core.canonicalState();
    assert.equal(installed(evicting.checkpoints.table, stateCodec).canonicalState(), state, 'the rows are the state');
    evicting.loadAll();
    assert.equal(evicting.core.canonicalState(), state, 'memory over the rows is the state');
    this.#refold();
    this.#restart();
  }

  /** With an early table's tasks alone, and what the journal has behind it. */
  #restart(): void {
    const { whole } = this;
    const early = new EvictingShard();
    const [before, behind] = [whole.records.slice(0, whole.records.length / 2), whole.records.slice(whole.records.length / 2)];
    for (const record of before) early.evolve(record);
    early.writeAll();
    const { counters } = early.checkpoints.table;
    assert(counters !== undefined);
    const restarted = new EvictingShard();
    restart(restarted.core, early.checkpoints.table, counters);
    for (const record of behind) {
      loadWhatLacks(restarted.core, early.checkpoints.table, () => restarted.core.recordLacks(record));
      restarted.core.evolve(record);
    }
    const { table } = early.checkpoints;
    for (const row of table.timers(everything)) restarted.core.timerWindow.install(row);
    for (const row of table.transfersInQueue) restarted.transferWindow.install(row);
    assert(restarted.core.installLoaded(table.load(table.keys), restarted.core.beginLoad()));
    assert.equal(restarted.core.canonicalState(), whole.core.canonicalState(), 'a restart loads what the journal goes on with');
    restarted.core.changes.cut();
    const checkpoint = restarted.core.changes.capture(() => true);
    assert(checkpoint !== undefined);
    table.write(checkpoint, 'rows first');
    assert.equal(installed(table, stateCodec).canonicalState(), whole.core.canonicalState(), 'and writes what has changed since');
  }

  /** The journal again, from an early checkpoint on, with everything cold that may be before each record. */
  #refold(): void {
    const folding = new EvictingShard();
    for (const [at, record] of this.whole.records.entries()) {
      loadWhatLacks(folding.core, folding.checkpoints.table, () => folding.core.recordLacks(record));
      folding.evolve(record);
      if (at % 3 !== 0) continue;
      folding.writeAll();
      folding.evict();
    }
    folding.writeAll();
    folding.loadAll();
    assert.equal(folding.core.canonicalState(), this.whole.core.canonicalState(), 'folding loads what a record changes');
  }
}

function bytesOf(records: readonly HistoryRecord[]): readonly string[] {
  return records.map((record) => Buffer.from(historyCodec.encode(record).value).toString('hex'));
}
