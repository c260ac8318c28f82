/** Rows of List and Count. None stops a checkpoint: an attribute that fits no column is left out, and a row that does not fit, alone. */
import { OPEN_SORT_MS, type VisibilityRow } from '../visibility/row.ts';
import { attributeColumns, instantNames } from '../tables/attribute-columns.ts';
import { partColumn } from '../tables/instant-sql.ts';
import { type Stored, storedPart, storedSlot } from '../tables/slot-values.ts';
import { fitsTable, visibilityColumns } from '../tables/visibility-row-columns.ts';
import { isUuidText } from '../tables/condition-sql.ts';
import type { ColumnKind } from '../../filter/condition.ts';
import type { Connection } from './connection.ts';

const systemColumns = ['sort_ms', ...visibilityColumns.map(({ name }) => name)];
const columns = [...systemColumns, ...attributeColumns.map(({ name }) => name), ...instantNames.map(partColumn)];
type Place = { readonly index: number; readonly kind: ColumnKind; readonly partIndex: number | undefined };

const places: ReadonlyMap<string, Place> = new Map(
  attributeColumns.map(({ name, kind }) => {
    const partIndex = kind === 'instant' ? columns.indexOf(partColumn(name)) : undefined;
    return [name, { index: columns.indexOf(name), kind, partIndex }];
  }),
);
const noAttributes: readonly null[] = [...attributeColumns, ...instantNames].map(() => null);

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
  if (!fitsTable(row, isUuidText)) return;
  const { namespaceId, runId } = row;
  const values = systemValues(row);
  const words: (readonly [slot: string, words: readonly string[]])[] = [];
  for (const [name, value] of row.slots) {
    const place = places.get(name);
    const stored = place && storedSlot(place.kind, value);
    if (place === undefined || stored === undefined) continue;
    if (isList(stored)) words.push([name, stored]);
    values[place.index] = isList(stored) ? 1 : typeof stored === 'boolean' ? Number(stored) : stored;
    if (place.partIndex !== undefined) values[place.partIndex] = storedPart(place.kind, value) ?? null;
  }
  const { changes } = connection.statement(putRow).run(...values);
  if (changes === 0) return;
  connection.statement(dropWords).run(runId, namespaceId);
  const put = connection.statement(putWord);
  for (const [slot, found] of words) for (const word of found) put.run(namespaceId, slot, word, runId);
}

/** Replaces a newer row as well. */
export function rewriteVisibility(connection: Connection, row: VisibilityRow): void {
  if (!fitsTable(row, isUuidText)) return;
  connection.statement(lowerVersion).run(row.version, row.namespaceId, row.runId, row.version);
  writeVisibility(connection, row);
}

export function removeVisibility(connection: Connection, namespaceId: string, runId: string): void {
  connection.statement(dropRow).run(namespaceId, runId);
  connection.statement(dropWords).run(runId, namespaceId);
}

function isList(stored: Stored): stored is readonly string[] {
  return typeof stored === 'object';
}

/** Values in the order of `columns`, the attributes still empty. */
function systemValues(row: VisibilityRow): (string | number | bigint | Uint8Array | null)[] {
  return [row.closeTimeMs ?? OPEN_SORT_MS, ...visibilityColumns.map(({ of }) => of(row) ?? null), ...noAttributes];
}
