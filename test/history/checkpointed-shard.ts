/**
 * A shard whose checkpoints go into a table, and what must hold of them:
 *
 *     records ──▶ core ── cut, capture, write ──▶ Table ── install ──▶ equals the records folded up to the cut
 *
 * No framework: the simulation's planted bugs run it as well.
 */
import assert from 'node:assert/strict';
import type { RunKey } from '../../src/kernel/run-key.ts';
import type {
  ChildStartRow,
  RunRow,
  ShardCheckpoint,
  ShardCounters,
  ShardDelta,
  ShardRows,
  TimerRow,
  TransferTaskRow,
} from '../../src/history/shard/rows.ts';
import type { StateWire } from '../../src/history/shard/state-wire.ts';
import { canonicalText } from '../../src/history/run/canonical.ts';
import { evolve } from '../../src/history/evolve/evolve.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { HistoryRecord } from '../../src/history/run/record.ts';
import type { Loaded } from '../../src/history/residency/install.ts';
import type { LoadKey } from '../../src/history/shard/residency.ts';
import { Shard } from '../../src/history/shard/shard.ts';
import { isDispatch } from '../../src/history/run/tasks.ts';
import type { TimerPage } from '../../src/history/shard/rows.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';

/** A database's order within one transaction. */
export type TableOrder = 'rows first' | 'deletes first';

export class Table {
  readonly #runs = new Map<string, RunRow>();
  readonly #currentRuns = new Map<string, RunKey>();
  readonly #childStarts = new Map<string, ChildStartRow>();
  readonly #transferTasks = new Map<number, TransferTaskRow>();
  readonly #timers = new Map<number, TimerRow>();
  #counters: ShardCounters | undefined;

  write({ delta, counters, timeMs }: ShardCheckpoint, order: TableOrder): void {
    // A database takes each key once in a statement.
    unique('runs', [...delta.runs, ...delta.retiredRuns], ({ runId }) => runId);
    unique('pointers', delta.currentRuns, ({ namespaceId, workflowId }) => `${namespaceId}/${workflowId}`);
    unique('child starts', delta.childStarts, ({ parentRunId, initiatedEventId }) => `${parentRunId}/${initiatedEventId}`);
    // Of one that has ended while the table alone had it nobody knows which kind it was.
    const [transfers, timers] = [delta.transferTasks, delta.timers].map((rows) => rows.map(({ taskId }) => taskId));
    unique('rows of tasks', [...(transfers ?? []), ...(timers ?? [])], (taskId) => taskId);
    unique('transfer tasks', [...(transfers ?? []), ...delta.tasksAtMatching, ...delta.goneTransferTasks], (taskId) => taskId);
    unique('timers', [...(timers ?? []), ...delta.goneTimers], (taskId) => taskId);
    if (order === 'deletes first') this.#delete(delta);
    for (const row of delta.runs) this.#runs.set(row.runId, row);
    for (const row of delta.currentRuns) this.#currentRuns.set(`${row.namespaceId}/${row.workflowId}`, row);
    for (const row of delta.childStarts) this.#childStarts.set(`${row.parentRunId}/${row.initiatedEventId}`, row);
    for (const row of delta.transferTasks) this.#transferTasks.set(row.taskId, row);
    for (const row of delta.timers) this.#timers.set(row.taskId, row);
    for (const taskId of delta.tasksAtMatching) {
      const row = this.#transferTasks.get(taskId);
      if (row !== undefined) this.#transferTasks.set(taskId, { ...row, atMatching: true });
    }
    if (order === 'rows first') this.#delete(delta);
    this.#counters = { counters, timeMs };
  }

  #delete({ goneTransferTasks, goneTimers, retiredRuns }: ShardDelta): void {
    for (const taskId of goneTransferTasks) this.#transferTasks.delete(taskId);
    for (const taskId of goneTimers) this.#timers.delete(taskId);
    for (const { namespaceId, workflowId, runId } of retiredRuns) {
      this.#runs.delete(runId);
      if (this.#currentRuns.get(`${namespaceId}/${workflowId}`)?.runId === runId) this.#currentRuns.delete(`${namespaceId}/${workflowId}`);
      for (const [key, start] of this.#childStarts) if (start.runId === runId) this.#childStarts.delete(key);
    }
  }

  get rows(): ShardRows {
    return {
      runs: this.#runs.values(),
      currentRuns: this.#currentRuns.values(),
      transferTasks: [...this.#transferTasks.values()].toSorted((a, b) => a.taskId - b.taskId),
      timers: this.#timers.values(),
    };
  }

  get counters(): ShardCounters | undefined {
    return this.#counters;
  }

  get taskIds(): readonly number[] {
    return [...this.#transferTasks.keys(), ...this.#timers.keys()];
  }

  /** As a database answers: by (fire time, task id), none that is aside. */
  timers({ afterFireTimeMs, afterTaskId, untilMs, max }: TimerPage): readonly TimerRow[] {
    const within = [...this.#timers.values()].filter(
      ({ aside, taskId, fireTimeMs }) =>
        !aside && fireTimeMs <= untilMs && (fireTimeMs > afterFireTimeMs || (fireTimeMs === afterFireTimeMs && taskId > afterTaskId)),
    );
    return within.toSorted((a, b) => a.fireTimeMs - b.fireTimeMs || a.taskId - b.taskId).slice(0, max);
  }

  /** As a database answers: by task id, none that is aside or at matching. */
  transfers(afterTaskId: number, max: number): readonly TransferTaskRow[] {
    const { transferTasks } = this.rows;
    return [...transferTasks].filter(({ aside, atMatching, taskId }) => !aside && !atMatching && taskId > afterTaskId).slice(0, max);
  }

  get transfersInQueue(): readonly TransferTaskRow[] {
    return [...this.rows.transferTasks].filter(({ aside }) => !aside);
  }

  /** What a restart reads, beside what it loads later. */
  get rowsOfRestart(): ShardRows {
    return {
      runs: [],
      currentRuns: [],
      transferTasks: [...this.rows.transferTasks].filter(({ aside, task }) => aside || !isDispatch(stateCodec.decodeTask(task))),
      timers: [...this.#timers.values()].filter(({ aside }) => aside),
    };
  }

  /** As a database answers: by (end, run id). */
  dueRuns(untilMs: number): readonly RunRow[] {
    const due = [...this.#runs.values()].filter(({ forgetMs }) => forgetMs !== undefined && forgetMs <= untilMs);
    return due.toSorted((a, b) => (a.forgetMs ?? 0) - (b.forgetMs ?? 0) || (a.runId < b.runId ? -1 : 1));
  }

  get size(): { readonly [Name in 'runs' | 'currentRuns' | 'childStarts' | 'transferTasks' | 'timers']: number } {
    return {
      runs: this.#runs.size,
      currentRuns: this.#currentRuns.size,
      childStarts: this.#childStarts.size,
      transferTasks: this.#transferTasks.size,
      timers: this.#timers.size,
    };
  }

  /** As a database answers, in the order of the keys. */
  load(keys: readonly LoadKey[]): Loaded[] {
    return keys.map((key): Loaded => {
      const nothing: Loaded = { key, currentRunId: undefined, run: undefined };
      if (key.kind === 'childStart') {
        return { ...nothing, currentRunId: this.#childStarts.get(`${key.parentRunId}/${key.initiatedEventId}`)?.runId };
      }
      const currentRunId = this.#currentRuns.get(`${key.namespaceId}/${key.workflowId}`)?.runId;
      const run = this.#runs.get((key.kind === 'run' ? key.runId : currentRunId) ?? '');
      return run?.workflowId === key.workflowId && run.namespaceId === key.namespaceId
        ? { key, currentRunId, run }
        : { ...nothing, currentRunId };
    });
  }

  /** All that it could be asked for. */
  get keys(): readonly LoadKey[] {
    return [
      ...[...this.#runs.values()].map(({ namespaceId, workflowId, runId }): LoadKey => ({ kind: 'run', namespaceId, workflowId, runId })),
      ...[...this.#currentRuns.values()].map(({ namespaceId, workflowId }): LoadKey => ({ kind: 'current', namespaceId, workflowId })),
      ...[...this.#childStarts.values()].map(({ parentRunId, initiatedEventId }): LoadKey => ({
        kind: 'childStart',
        parentRunId,
        initiatedEventId,
      })),
    ];
  }

  copy(): Table {
    const copy = new Table();
    for (const [key, row] of this.#runs) copy.#runs.set(key, row);
    for (const [key, row] of this.#currentRuns) copy.#currentRuns.set(key, row);
    for (const [key, row] of this.#childStarts) copy.#childStarts.set(key, row);
    for (const [key, row] of this.#transferTasks) copy.#transferTasks.set(key, row);
    for (const [key, row] of this.#timers) copy.#timers.set(key, row);
    copy.#counters = this.#counters;
    return copy;
  }
}

function unique<Row>(what: string, rows: readonly Row[], keyOf: (row: Row) => unknown): void {
  assert.equal(new Set(rows.map(keyOf)).size, rows.length, `${what} stand once in a checkpoint, as rows or among the gone`);
}

/** Rows as a shard, by the same text as the state of a core. */
export function installed(table: Table, wire: StateWire): HistoryCore {
  const core = new HistoryCore({ wire: historyWire, stateWire: wire });
  assert(table.counters !== undefined, 'something was written');
  core.install(table.rows, table.counters);
  return core;
}

/** A core that notes what checkpoints must write, and the records that it has evolved. */
export type Recorded = { readonly core: HistoryCore; readonly records: readonly HistoryRecord[] };

export class Checkpoints {
  readonly #shard: Recorded;
  readonly table = new Table();
  readonly #wire: StateWire;
  readonly #order: TableOrder;
  /** Folded from the records alone, with nothing noted: what must be true of the rows. */
  readonly #folded = new Shard();
  #foldedRecords = 0;
  /** As it was at the cut. */
  #atCut = '';
  #state: 'none' | 'cut' | 'captured' = 'none';
  #checkpoint: ShardCheckpoint | undefined;
  /** Lives on what was written at some time, and on the records behind it. */
  #restarted: { readonly core: HistoryCore; readonly table: Table; records: number } | undefined;
  #recordsAtCut = 0;
  /** Of the table's rows. */
  recordsInTable = 0;
  /** How many were written. */
  count = 0;

  constructor(shard: Recorded, order: TableOrder = 'rows first', wire = stateCodec) {
    this.#shard = shard;
    this.#order = order;
    this.#wire = wire;
  }

  get state(): 'none' | 'cut' | 'captured' {
    return this.#state;
  }

  get folded(): Shard {
    const { records } = this.#shard;
    for (; this.#foldedRecords < records.length; this.#foldedRecords++) {
      const record = records[this.#foldedRecords];
      if (record !== undefined) evolve(this.#folded, record, historyWire);
    }
    return this.#folded;
  }

  cut(): void {
    this.#shard.core.changes.cut();
    this.#atCut = canonicalText(this.folded);
    this.#recordsAtCut = this.#shard.records.length;
    this.#state = 'cut';
    this.checkWindow();
  }

  /** True: all of it. */
  capture(encodedMax: number): boolean {
    let left = encodedMax;
    this.#checkpoint = this.#shard.core.changes.capture(() => --left > 0);
    if (this.#checkpoint === undefined) return false;
    this.#state = 'captured';
    return true;
  }

  /** `lost`: it was written, and nobody knows. */
  write(outcome: 'written' | 'failed' | 'lost'): void {
    const checkpoint = this.#shard.core.changes.capture(() => true);
    assert(checkpoint !== undefined);
    assert.equal(checkpoint, this.#checkpoint, 'what is tried again is the same');
    if (outcome === 'failed') return this.checkWindow();
    this.table.write(checkpoint, this.#order);
    this.recordsInTable = this.#recordsAtCut;
    const core = installed(this.table, this.#wire);
    assert.equal(core.canonicalState(), this.#atCut, 'the rows are the state at the cut');
    if (outcome === 'lost') return this.checkWindow();
    this.#shard.core.changes.durable();
    this.#state = 'none';
    this.count++;
    this.checkWindow();
    // What came back goes on by itself, and writes in its turn.
    this.#restarted ??= { core, table: this.table.copy(), records: this.#recordsAtCut };
  }

  /** The shard has new memory. */
  crashed(): void {
    this.#state = 'none';
    this.#checkpoint = undefined;
  }

  /** A window of tasks, read from the table now, brings nothing to life that has ended. */
  checkWindow(): void {
    const { timers, transfers, tasksAside } = this.folded;
    for (const taskId of this.table.taskIds) {
      const pending = timers.get(taskId) ?? transfers.get(taskId) ?? tasksAside.get(taskId);
      const gone = this.#shard.core.changes.isGone(taskId);
      assert.equal(gone, pending === undefined, `task ${taskId} is ${gone ? 'gone' : 'in a window'} and ${pending?.kind ?? 'ended'}`);
    }
  }

  /** Whatever state the last cut is in: at last all of it is written, and so is what a restarted shard has seen since. */
  finish(): void {
    for (const round of ['what is left', 'all']) {
      if (this.#state === 'none') this.cut();
      while (!this.capture(3)) assert(round !== '');
      this.write('written');
    }
    assert.equal(installed(this.table, this.#wire).canonicalState(), this.#shard.core.canonicalState(), 'all is written');
    const restarted = this.#restarted;
    assert(restarted !== undefined);
    for (const record of this.#shard.records.slice(restarted.records)) restarted.core.evolve(record);
    assert.equal(restarted.core.canonicalState(), this.#shard.core.canonicalState(), 'rows and tail are the state');
    restarted.core.changes.cut();
    const checkpoint = restarted.core.changes.capture(() => true);
    assert(checkpoint !== undefined);
    restarted.table.write(checkpoint, this.#order);
    const again = installed(restarted.table, this.#wire).canonicalState();
    assert.equal(again, this.#shard.core.canonicalState(), 'a restarted shard writes what has changed since');
  }
}
