/**
 * A history shard's state as rows of its database: what a checkpoint is made of, and what a memory is made of again.
 *
 *     HistoryCore   runs, pointers, starts of children, tasks, records that wait ── cut ───┐
 *     HistoryStore  events, as their records are committed ── up to that record ───────────┤
 *     VisibilityRows  what List shows and no flush has written ── at least so far ─────────┴─▶ one delta
 */
import { bytesOf as handedOverBytes } from '../../../history/hand-over/hand-over-lines.ts';
import { assert } from '../../../kernel/assert.ts';
import type { ShardCheckpoint, ShardRows, TransferTaskRow } from '../../../history/checkpoint/rows.ts';
import { stateSchemaLast, type StateWire } from '../../../history/checkpoint/state-wire.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { HistoryRecord } from '../../../history/record.ts';
import { isDispatch } from '../../../history/tasks.ts';
import type { CapturedState, CheckpointedState } from '../../checkpoint/checkpointer.ts';
import { newerSchema, PAGE_ROWS, pages, under } from '../../checkpoint/fenced-rows.ts';
import { type CheckpointPosition, type Database, type Fence, type HistoryRow, type JournalId } from '../../database.ts';
import type { HistoryStore } from '../events/history-store.ts';
import { historyRowOf } from './waiting-records.ts';
import type { LoopTurns } from '../../loop-turns.ts';
import type { VisibilityRow } from '../../../visibility/row.ts';
import type { VisibilityRows } from '../visibility/visibility-rows.ts';

/** What a record costs beside its events: its part of a checkpoint's rows, roughly. */
const RECORD_BYTES = 256;
/** What the id of a task costs there, in a set. */
const TASK_ID_BYTES = 32;
/** What a run takes in memory that cannot leave before it is written, roughly. */
const RUN_BYTES = 2_048;

/** Of events and what else it brings, roughly. Called for each record: cheap. */
export function recordBytes({ runs, retiredRuns, taskIdsAtMatching, tasksHandedOver, lettersBegun }: HistoryRecord): number {
  let bytes =
    RECORD_BYTES * (1 + (retiredRuns?.length ?? 0) + (lettersBegun?.length ?? 0)) + TASK_ID_BYTES * (taskIdsAtMatching?.length ?? 0);
  for (const { events } of runs) for (const event of events) bytes += event.bytes.length;
  if (tasksHandedOver !== undefined) for (const task of tasksHandedOver) bytes += handedOverBytes(task);
  return bytes;
}

export type HistoryCheckpointsOptions = {
  readonly core: HistoryCore;
  readonly store: HistoryStore;
  /** undefined: nobody lists. */
  readonly visibility: VisibilityRows | undefined;
  readonly turns: LoopTurns;
};

export class HistoryCheckpoints implements CheckpointedState {
  readonly #core: HistoryCore;
  readonly #store: HistoryStore;
  readonly #visibility: VisibilityRows | undefined;
  readonly #turns: LoopTurns;
  #captured: ShardCheckpoint | undefined;
  #collecting: Generator<void, void> | undefined;
  #history: HistoryRow[] = [];
  #shown: VisibilityRow[] = [];

  constructor({ core, store, visibility, turns }: HistoryCheckpointsOptions) {
    this.#core = core;
    this.#store = store;
    this.#visibility = visibility;
    this.#turns = turns;
  }

  get unwrittenBytes(): number {
    return this.#store.unwrittenBytes + this.#core.unwrittenRuns * RUN_BYTES;
  }

  cut(): void {
    this.#core.cut();
  }

  cutCommitted(): void {
    this.#store.cut();
    this.#collecting = this.#collect();
  }

  capture(goOn: () => boolean): boolean {
    this.#captured ??= this.#core.capture(goOn);
    if (this.#captured === undefined || this.#visibility?.canBeMade === false) return false;
    for (let next = this.#collecting?.next(); next?.done === false; next = this.#collecting?.next()) if (!goOn()) return false;
    return true;
  }

  /** What commits have brought, with a pause where one is allowed. */
  *#collect(): Generator<void, void> {
    for (const row of this.#store.rowsOfCut()) {
      if (row !== undefined) this.#history.push(row);
      yield;
    }
    for (const row of this.#visibility?.rowsOfCheckpoint() ?? []) {
      this.#shown.push(row);
      yield;
    }
  }

  captured(): CapturedState {
    assert(this.#captured !== undefined, 'a checkpoint is captured before it is written');
    const { delta, waiting, schema, counters, timeMs } = this.#captured;
    const history = waiting.length === 0 ? this.#history : [...this.#history, ...waiting.map(historyRowOf)];
    return { kind: 'history', delta: { ...delta, history, visibility: this.#shown }, schema, counters, timeMs };
  }

  durable(): void {
    this.#core.durable();
    void this.#turns.through(this.#store.stored());
    void this.#turns.through(this.#visibility?.stored() ?? []);
    this.#letGo();
  }

  abandon(): void {
    this.#store.abandonCheckpoints();
    this.#letGo();
  }

  #letGo(): void {
    this.#captured = undefined;
    this.#collecting = undefined;
    this.#history = [];
    this.#shown = [];
  }
}

/** Why this program cannot read the rows of a checkpoint; undefined: it can. */
export function newerState(position: CheckpointPosition): string | undefined {
  return newerSchema(position, stateSchemaLast);
}

/**
 * What a takeover must have of the tasks of a shard, as they are under this fence: messages to other shards, and what waits aside. Its runs are
 * loaded when they are needed, its timers when they are near, and tasks for workers some at a time. Rejects with DatabaseError; `unavailable`, too,
 * when another has restored meanwhile.
 */
export async function shardTasks(
  database: Database,
  wire: StateWire,
  journal: JournalId,
  fence: Fence,
): Promise<Pick<ShardRows, 'transferTasks' | 'timers'>> {
  const transferTasks: TransferTaskRow[] = [];
  const read = (last: TransferTaskRow | undefined) => database.transferTasks(journal, last?.taskId ?? -1, PAGE_ROWS);
  for await (const page of pages(fence, read)) for (const row of page) if (!isForWorker(row, wire)) transferTasks.push(row);
  const aside = await under(fence, database.tasksAside(journal));
  return {
    transferTasks: [...transferTasks, ...aside.transferTasks].sort((one, other) => one.taskId - other.taskId),
    timers: aside.timers,
  };
}

/** Of one that cannot be read nobody knows; whoever installs it is told. */
function isForWorker({ task }: TransferTaskRow, wire: StateWire): boolean {
  try {
    return isDispatch(wire.decodeTask(task));
  } catch {
    return false;
  }
}

/** How many runs are there: read one after another, which takes a second for some hundred thousand. */
export async function runsInTable(database: Pick<Database, 'runIds'>, journal: JournalId, fence: Fence): Promise<number> {
  let runs = 0;
  const read = (last: { readonly runId: string } | undefined) => database.runIds(journal, last?.runId ?? '', PAGE_ROWS);
  for await (const page of pages(fence, read)) runs += page.length;
  return runs;
}
