/** The rows of a checkpoint, inside the transaction that its guard has opened. At each `yield` the thread may answer others. */
import { nameBytes } from '../tables/name-bytes.ts';
import { type ColumnOf, goneOf, lettersTable, putsOf, type TableOf } from '../tables/state-tables.ts';
import { int64, whole } from '../tables/stored-numbers.ts';
import { idBytes } from './values.ts';
import { removeVisibility, rewriteVisibility, writeVisibility } from './visibility-rows.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { CheckpointRows, ListedId } from '../database-port.ts';
import type { VisibilityRow } from '../visibility/row.ts';
import type { Connection } from './connection.ts';

const noteAtMatching = 'UPDATE transfer_tasks SET at_matching = 1 WHERE partition = ? AND task_id = ?';
const dropOfRun = ['runs', 'history', 'child_starts'].map((table) => `DELETE FROM ${table} WHERE partition = ? AND run_id = ?`);
const dropExecution = 'DELETE FROM executions WHERE partition = ? AND namespace_id = ? AND workflow_id = ? AND run_id = ?';

export function* writeRows(connection: Connection, partition: number, checkpoint: CheckpointRows): Generator<void, void> {
  const chunk = new Chunk();
  for (const rows of putsOf(checkpoint, (table, put) => putRows(connection, table, partition, put, chunk))) yield* rows;
  for (const { table, key, ids } of goneOf(checkpoint)) {
    yield* runEach(connection, `DELETE FROM ${table} WHERE partition = ? AND ${key} = ?`, partition, ids, chunk);
  }
  if (checkpoint.kind !== 'history') return;
  const { tasksAtMatching, visibility, retiredRuns } = checkpoint.delta;
  yield* runEach(connection, noteAtMatching, partition, tasksAtMatching, chunk);
  yield* visibilityRows(visibility, (row) => writeVisibility(connection, row), chunk);
  // Last, so that a run that is retired is gone, whatever else the delta says of it.
  yield* visibilityRows(retiredRuns, (run) => retire(connection, partition, run), chunk);
}

export function* writeVisibilityRows(
  connection: Connection,
  rows: readonly VisibilityRow[],
  retired: readonly ListedId[],
): Generator<void, void> {
  const chunk = new Chunk();
  yield* visibilityRows(rows, (row) => writeVisibility(connection, row), chunk);
  yield* visibilityRows(retired, ({ namespaceId, runId }) => removeVisibility(connection, namespaceId, runId), chunk);
}

export function* rewriteVisibilityRows(connection: Connection, rows: readonly VisibilityRow[]): Generator<void, void> {
  yield* visibilityRows(rows, (row) => rewriteVisibility(connection, row), new Chunk());
}

function* visibilityRows<Row>(rows: readonly Row[], write: (row: Row) => void, chunk: Chunk): Generator<void, void> {
  for (const row of rows) {
    write(row);
    if (chunk.isFull(0, visibilityWeight)) yield;
  }
}

function* putRows<Row>(
  connection: Connection,
  table: TableOf<Row>,
  partition: number,
  rows: readonly Row[],
  chunk: Chunk,
): Generator<void, void> {
  if (rows.length === 0) return;
  const statement = connection.statement(upsertSql(table));
  const weight = table.name === lettersTable.name ? letterWeight : 1;
  for (const row of rows) {
    const values = table.columns.map((column) => stored(column, row));
    statement.run(partition, ...values);
    const bytes = values.reduce<number>((sum, value) => sum + (value instanceof Uint8Array ? value.length : 0), 0);
    if (chunk.isFull(bytes, weight)) yield;
  }
}

function upsertSql<Row>({ name, key, columns }: TableOf<Row>): string {
  const names = columns.map((column) => column.name);
  const changed = names.filter((each) => !key.includes(each)).map((each) => `${each} = excluded.${each}`);
  return `INSERT INTO ${name} (partition, ${names.join(', ')}) VALUES (?, ${names.map(() => '?').join(', ')})
  ON CONFLICT (partition, ${key.join(', ')}) DO UPDATE SET ${changed.join(', ')}`;
}

function stored<Row>(column: ColumnOf<Row>, row: Row): string | number | bigint | Uint8Array | null {
  switch (column.type) {
    case 'uuid':
      return idBytes(column.of(row));
    case 'boolean':
      return column.of(row) ? 1 : 0;
    case 'integer':
    case 'bigint': {
      const value = column.of(row);
      return value === undefined ? null : int64(value, column.name);
    }
    default: {
      const value = column.of(row);
      return typeof value === 'string' && column.type === 'bytea' ? nameBytes(value) : (value ?? null);
    }
  }
}

function* runEach(connection: Connection, sql: string, partition: number, ids: readonly number[], chunk: Chunk): Generator<void, void> {
  const statement = connection.statement(sql);
  for (const id of ids) {
    statement.run(partition, whole(id, 'task id'));
    if (chunk.isFull(0)) yield;
  }
}

function retire(connection: Connection, partition: number, run: RunKey): void {
  const runId = idBytes(run.runId);
  for (const drop of dropOfRun) connection.statement(drop).run(partition, runId);
  connection.statement(dropExecution).run(partition, idBytes(run.namespaceId), nameBytes(run.workflowId), runId);
  removeVisibility(connection, run.namespaceId, run.runId);
}

/** How much is written at a stretch: about 2 ms. */
const rowsMax = 200;
const bytesMax = 256 * 1024;
/** With all its indexes a row takes as long as this many others. */
const visibilityWeight = 5;
const letterWeight = 3;

class Chunk {
  #rows = 0;
  #bytes = 0;

  /** Counts what was written; when true, another chunk begins. */
  isFull(bytes: number, rows = 1): boolean {
    this.#rows += rows;
    this.#bytes += bytes;
    if (this.#rows < rowsMax && this.#bytes < bytesMax) return false;
    this.#rows = 0;
    this.#bytes = 0;
    return true;
  }
}
