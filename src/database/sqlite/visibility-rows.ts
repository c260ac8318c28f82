/**
 * Rows of List and Count. Whatever a client stores, a row stops no checkpoint: of an attribute what fits no column is left out, and a row that
 * does not fit at all is left out alone.
 */
import { OPEN_SORT_MS, type ListedRow, type SlotValue, type VisibilityRow } from '../../visibility/row.ts';
import { storable, wordsOf } from '../../visibility/text.ts';
import { attributeColumns } from '../attribute-columns.ts';
import { splitInstant } from '../../kernel/instant.ts';
import { partColumn } from '../instant-sql.ts';
import { optionalBytesOf, optionalWholeOf, textOf, uuidBytes, wholeOf, type SqlRow } from './values.ts';
import type { ColumnKind } from '../../filter/condition.ts';
import type { Connection } from './connection.ts';

const systemColumns = [
  ...['namespace_id', 'run_id', 'sort_ms', 'start_ms', 'version', 'shard', 'status', 'workflow_id', 'workflow_type', 'task_queue'],
  ...['execution_ms', 'close_ms', 'execution_duration_ms', 'history_length', 'history_size_bytes', 'state_transition_count'],
  ...['parent_workflow_id', 'parent_run_id', 'root_workflow_id', 'root_run_id', 'memo', 'search_attributes'],
];
const instants = attributeColumns.filter(({ kind }) => kind === 'instant').map(({ name }) => name);
const columns = [...systemColumns, ...attributeColumns.map(({ name }) => name), ...instants.map(partColumn)];
const places: ReadonlyMap<string, { readonly index: number; readonly kind: ColumnKind }> = new Map(
  attributeColumns.map(({ name, kind }, index) => [name, { index: systemColumns.length + index, kind }]),
);
const partPlaces: ReadonlyMap<string, number> = new Map(
  instants.map((name, index) => [name, systemColumns.length + attributeColumns.length + index]),
);
const noAttributes: readonly null[] = [...attributeColumns, ...instants].map(() => null);

/** An older version of a row never replaces a newer one. */
const putRow = `
  INSERT INTO visibility (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
  ON CONFLICT (namespace_id, run_id) DO UPDATE SET ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}
  WHERE excluded.version >= visibility.version`;
const putWord = 'INSERT OR IGNORE INTO visibility_words (namespace_id, slot, word, run_id) VALUES (?, ?, ?, ?)';
const lowerVersion = 'UPDATE visibility SET version = ? WHERE namespace_id = ? AND run_id = ? AND version > ?';
const dropRow = 'DELETE FROM visibility WHERE namespace_id = ? AND run_id = ?';
const dropWords = 'DELETE FROM visibility_words WHERE run_id = ? AND namespace_id = ?';

export function writeVisibility(connection: Connection, row: VisibilityRow): void {
  if (!fits(row)) return;
  const { namespaceId, runId } = row;
  const values = systemValues(row);
  const words: (readonly [slot: string, words: readonly string[]])[] = [];
  for (const [name, value] of row.slots) {
    const place = places.get(name);
    if (place === undefined) continue;
    const found = wordsIn(place.kind, value);
    if (found !== undefined) words.push([name, found]);
    values[place.index] = found === undefined ? stored(place.kind, value) : 1;
    const partPlace = partPlaces.get(name);
    if (partPlace !== undefined && values[place.index] !== null) values[partPlace] = storedPart(value);
  }
  const { changes } = connection.statement(putRow).run(...values);
  if (changes === 0) return;
  connection.statement(dropWords).run(runId, namespaceId);
  const put = connection.statement(putWord);
  for (const [slot, found] of words) for (const word of found) put.run(namespaceId, slot, word, runId);
}

/** Over a newer one as well. */
export function rewriteVisibility(connection: Connection, row: VisibilityRow): void {
  if (!fits(row)) return;
  connection.statement(lowerVersion).run(row.version, row.namespaceId, row.runId, row.version);
  writeVisibility(connection, row);
}

export function removeVisibility(connection: Connection, namespaceId: string, runId: string): void {
  connection.statement(dropRow).run(namespaceId, runId);
  connection.statement(dropWords).run(runId, namespaceId);
}

function fits(row: VisibilityRow): boolean {
  const { closeTimeMs, executionDurationMs, historyLength, historySizeBytes, stateTransitionCount } = row;
  return (
    uuidBytes(row.namespaceId) !== undefined &&
    uuidBytes(row.runId) !== undefined &&
    [row.shard, row.status, row.startTimeMs, row.executionTimeMs, row.version].every(Number.isSafeInteger) &&
    [closeTimeMs, executionDurationMs, historyLength, historySizeBytes, stateTransitionCount].every(
      (value) => value === undefined || Number.isSafeInteger(value),
    )
  );
}

/** In the order of `columns`, the attributes still empty. */
function systemValues(row: VisibilityRow): (string | number | bigint | Uint8Array | null)[] {
  return [
    row.namespaceId,
    row.runId,
    row.closeTimeMs ?? OPEN_SORT_MS,
    row.startTimeMs,
    row.version,
    row.shard,
    row.status,
    storable(row.workflowId),
    storable(row.workflowType),
    storable(row.taskQueue),
    row.executionTimeMs,
    row.closeTimeMs ?? null,
    row.executionDurationMs ?? null,
    row.historyLength ?? null,
    row.historySizeBytes ?? null,
    row.stateTransitionCount ?? null,
    storable(row.parentWorkflowId) || null,
    storable(row.parentRunId) || null,
    storable(row.rootWorkflowId) || null,
    storable(row.rootRunId) || null,
    row.memo ?? null,
    row.searchAttributes ?? null,
    ...noAttributes,
  ];
}

/** Of a list or a text; undefined: it is neither. An empty list is none. */
function wordsIn(kind: ColumnKind, value: SlotValue): readonly string[] | undefined {
  if (kind === 'text') return typeof value === 'string' ? wordsOf(storable(value)) : undefined;
  if (kind !== 'keywordList' || !Array.isArray(value) || value.length === 0) return undefined;
  return value.map((item) => storable(String(item)));
}

/** null: it fits no column of that kind. */
function stored(kind: ColumnKind, value: SlotValue): string | number | bigint | null {
  switch (kind) {
    case 'keyword':
      return typeof value === 'string' ? storable(value) : null;
    case 'int':
    case 'datetime':
      return isInteger(value) ? value : null;
    case 'instant':
      return typeof value === 'bigint' ? stored('int', splitInstant(value).ms) : null;
    case 'double':
      if (typeof value === 'number') return Number.isFinite(value) ? value : null;
      return isInteger(value) ? Number(value) : null;
    case 'bool':
      return typeof value === 'boolean' ? Number(value) : null;
    case 'text':
    case 'keywordList':
      return null;
  }
}

/** null: nothing beyond its milliseconds, or no instant. */
function storedPart(value: SlotValue): bigint | null {
  return (typeof value === 'bigint' && splitInstant(value).part) || null;
}

function isInteger(value: SlotValue): value is number | bigint {
  return typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value);
}

/** What `listedRow` reads. */
export const listedColumns = systemColumns.filter((name) => name !== 'sort_ms' && name !== 'version').join(', ');

export function listedRow(row: SqlRow): ListedRow {
  const textOrNone = (column: string): string => (row[column] === null ? '' : textOf(row, column));
  return {
    namespaceId: textOf(row, 'namespace_id'),
    runId: textOf(row, 'run_id'),
    shard: wholeOf(row, 'shard'),
    workflowId: textOf(row, 'workflow_id'),
    workflowType: textOf(row, 'workflow_type'),
    taskQueue: textOf(row, 'task_queue'),
    status: wholeOf(row, 'status'),
    startTimeMs: wholeOf(row, 'start_ms'),
    executionTimeMs: wholeOf(row, 'execution_ms'),
    closeTimeMs: optionalWholeOf(row, 'close_ms'),
    executionDurationMs: optionalWholeOf(row, 'execution_duration_ms'),
    historyLength: optionalWholeOf(row, 'history_length'),
    historySizeBytes: optionalWholeOf(row, 'history_size_bytes'),
    stateTransitionCount: optionalWholeOf(row, 'state_transition_count'),
    parentWorkflowId: textOrNone('parent_workflow_id'),
    parentRunId: textOrNone('parent_run_id'),
    rootWorkflowId: textOrNone('root_workflow_id'),
    rootRunId: textOrNone('root_run_id'),
    memo: optionalBytesOf(row, 'memo'),
    searchAttributes: optionalBytesOf(row, 'search_attributes'),
  };
}
