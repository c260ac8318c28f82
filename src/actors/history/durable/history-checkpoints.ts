/**
 * A history shard's state as rows of its database: what a checkpoint is made of, and what a memory is made of again.
 *
 *     HistoryCore   runs, pointers, starts of children, tasks, records that wait ── cut ───┐
 *     HistoryStore  events, as their records are committed ── up to that record ───────────┤
 *     VisibilityRows  what List shows and no flush has written ── at least so far ─────────┴─▶ one delta
 */
import { bytesOf as handedOverBytes } from '../../../history/run/hand-over-lines.ts';
import { assert } from '../../../kernel/assert.ts';
import type { ShardCheckpoint, TransferTaskRow, WaitingRow } from '../../../history/shard/rows.ts';
import type { StateWire } from '../../../history/shard/state-wire.ts';
import type { HistoryCore } from '../../../history/history-core.ts';
import type { HistoryRecord } from '../../../history/run/record.ts';
import { isDispatch } from '../../../history/run/tasks.ts';
import type { CapturedState, CheckpointedState } from '../../../projections/checkpoints/checkpointer.ts';
import { PAGE_ROWS, pages, under } from '../../../projections/checkpoints/fenced-rows.ts';
import type { Database, Fence, HistoryRow, JournalId } from '../../../projections/database-port.ts';
import { DatabaseError, WAITING_BRANCH } from '../../../projections/database-port.ts';
import type { HistoryStore } from '../events/history-store.ts';
import type { LoopTurns } from '../../../ports/loop-turns.ts';
import type { VisibilityRow } from '../../../projections/visibility/row.ts';
import type { VisibilityRows } from '../../../projections/list/visibility-rows.ts';
import { errorText } from '../../../kernel/error-text.ts';
import type { RunBehind } from '../../../history/shard/runs-behind.ts';
import type { Logger } from '../../../observability/logger.ts';

/** What a record costs beside its events: its part of a checkpoint's rows, roughly. */
const RECORD_BYTES = 256;
/** What the id of a task costs there, in a set. */
const TASK_ID_BYTES = 32;
/** What a run takes in memory that cannot leave before it is written, roughly. */
const RUN_BYTES = 2_048;

/** Roughly the bytes of a record, with its events. Called for each record: cheap. */
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
  readonly visibility: VisibilityRows | undefined;
  readonly turns: LoopTurns;
};

export class HistoryCheckpoints implements CheckpointedState {
  readonly #options: HistoryCheckpointsOptions;
  #captured: ShardCheckpoint | undefined;
  #collecting: Generator<void, void> | undefined;
  #history: HistoryRow[] = [];
  #shown: VisibilityRow[] = [];

  constructor(options: HistoryCheckpointsOptions) {
    this.#options = options;
  }

  get unwrittenBytes(): number {
    return this.#options.store.unwrittenBytes + this.#options.core.changes.unwrittenRuns * RUN_BYTES;
  }

  cut(): void {
    this.#options.core.changes.cut();
  }

  cutCommitted(): void {
    this.#options.store.cut();
    this.#collecting = this.#collect();
  }

  capture(goOn: () => boolean): boolean {
    this.#captured ??= this.#options.core.changes.capture(goOn);
    if (this.#captured === undefined || this.#options.visibility?.canBeMade === false) return false;
    for (let next = this.#collecting?.next(); next?.done === false; next = this.#collecting?.next()) if (!goOn()) return false;
    return true;
  }

  *#collect(): Generator<void, void> {
    for (const row of this.#options.store.rowsOfCut()) {
      if (row !== undefined) this.#history.push(row);
      yield;
    }
    for (const row of this.#options.visibility?.rowsOfCheckpoint() ?? []) {
      this.#shown.push(row);
      yield;
    }
  }

  captured(): CapturedState {
    assert(this.#captured !== undefined, 'a checkpoint is captured before it is written');
    const { delta, waiting, counters, timeMs } = this.#captured;
    const history = waiting.length === 0 ? this.#history : [...this.#history, ...waiting.map(historyRowOf)];
    return { kind: 'history', delta: { ...delta, history, visibility: this.#shown }, counters, timeMs };
  }

  durable(): void {
    this.#options.core.changes.durable();
    void this.#options.turns.through(this.#options.store.stored());
    void this.#options.turns.through(this.#options.visibility?.stored() ?? []);
    this.#letGo();
  }

  abandon(): void {
    this.#options.store.abandonCheckpoints();
    this.#letGo();
  }

  #letGo(): void {
    this.#captured = undefined;
    this.#collecting = undefined;
    this.#history = [];
    this.#shown = [];
  }
}

/**
 * What a takeover must have of the tasks of a shard, as they are under this fence: messages to other shards, and what waits aside. Its runs are
 * loaded when they are needed, its timers when they are near, and tasks for workers some at a time. Rejects with DatabaseError; `unavailable`, too,
 * when another has restored meanwhile.
 */
export async function shardTasks(
  database: Pick<Database, 'transferTasks' | 'tasksAside'>,
  wire: StateWire,
  journal: JournalId,
  fence: Fence,
) {
  const transferTasks: TransferTaskRow[] = [];
  const read = (last: TransferTaskRow | undefined) => database.transferTasks(journal, last?.taskId ?? -1, PAGE_ROWS);
  for await (const page of pages(fence, read)) for (const row of page) if (!isForWorker(row, wire)) transferTasks.push(row);
  const aside = await under(fence, database.tasksAside(journal));
  // Not as arguments of one call: of these nobody knows how many there are.
  for (const row of aside.transferTasks) transferTasks.push(row);
  return { transferTasks: transferTasks.sort((one, other) => one.taskId - other.taskId), timers: aside.timers };
}

/** False for a task that cannot be read; whoever installs it is told. */
function isForWorker({ task }: TransferTaskRow, wire: StateWire): boolean {
  try {
    return isDispatch(wire.decodeTask(task));
  } catch {
    return false;
  }
}

/** Records that wait for runs whose rows cannot be read (history/shard/runs-behind.ts) stand beside the events of those. */

/** Runs of a shard that may wait for their rows. If there are more, the database is damaged, and not single rows. */
const RUNS_BEHIND_MAX = 1_000;

const TOLD_MAX = 100;
const READ_BYTES = 4 * 1024 * 1024;

function historyRowOf({ runId, index, record }: WaitingRow): HistoryRow {
  return { runId, branch: WAITING_BRANCH, firstEventId: index, lastEventId: index, events: record };
}

/** A record that cannot be read stays away, and its run cannot come back. Rejects with DatabaseError. */
export async function installWaiting(core: HistoryCore, database: Pick<Database, 'history'>, journal: JournalId): Promise<void> {
  for (const { key, records } of core.residency.behind.values()) {
    for (let index = 1; index <= records;) {
      const stretch = { runId: key.runId, branch: WAITING_BRANCH, firstEventId: index, lastEventId: records };
      const rows = await database.history(journal, { ...stretch, bytesMax: READ_BYTES });
      for (const row of rows) installRow(core, row);
      index = Math.max(index, rows.at(-1)?.lastEventId ?? records) + 1;
    }
  }
}

function installRow(core: HistoryCore, { runId, firstEventId, events }: HistoryRow): void {
  try {
    core.installWaiting({ runId, index: firstEventId, record: events });
  } catch {
    // Whoever asks for the run is told.
  }
}

/** Its row cannot be read, for that reason. Throws DatabaseError when there are too many. */
export function leaveBehind(core: HistoryCore, key: RunBehind['key'], error: unknown): void {
  core.residency.behind.add(key, errorText(error));
  if (core.residency.behind.values().length <= RUNS_BEHIND_MAX) return;
  const reason = `the rows of more than ${RUNS_BEHIND_MAX} workflows of one shard cannot be read, the last of them because: ${errorText(error)}`;
  throw new DatabaseError('corrupt', `${reason}; restore a backup of the database that is no older than its journals begin`);
}

export function tellBehind(core: HistoryCore, logger: Logger): void {
  const behind = core.residency.behind.values();
  for (const { key, reason, records } of behind.slice(0, TOLD_MAX)) {
    const { namespaceId, workflowId, runId } = key;
    logger.error(standsStill, { namespaceId, workflowId, runId, reason, recordsWaiting: records });
  }
  if (behind.length > TOLD_MAX)
    logger.error('the states of more workflows of this shard cannot be read', { workflows: behind.length - TOLD_MAX });
}

export function tellUnread(core: HistoryCore, logger: Logger): void {
  const unread = [...core.residency.unread.values()];
  for (const { taskId, kind, error } of unread.slice(0, TOLD_MAX))
    logger.error(taskUnread, { task: kind, taskId, reason: errorText(error) });
  if (unread.length > TOLD_MAX) logger.error('more tasks of workflows of this shard cannot be read', { tasks: unread.length - TOLD_MAX });
}

const taskUnread =
  'a task of a workflow cannot be read: it is not executed, and what depends on it waits; all others continue. Restore its row in the table of ' +
  'timers or of transfer tasks from a backup, and restart the server';

const standsStill =
  'the state of a workflow cannot be read: it makes no progress, and all others continue. Its newer records wait in the database: restore its row ' +
  'in the table of runs from a backup, as it was before the damage, and it continues';
