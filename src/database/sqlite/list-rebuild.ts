/** For whoever builds the rows of List again from the runs: what of them is too much, and whether somebody has asked for it. */
import { RUNS_PROBED, type ListedId, type RebuildReason, type StrayRows } from '../../actors/database.ts';
import { runIds } from './state-reads.ts';
import { textOf, wholeOf } from './values.ts';
import type { Connection } from './connection.ts';

const walkSql = `
  SELECT namespace_id, run_id, v.shard = ?1 + 1
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.partition = ?1 AND r.run_id = unhex(v.run_id, '-')) AS is_stray
  FROM visibility v INDEXED BY sqlite_autoindex_visibility_1 WHERE (namespace_id, run_id) > (?2, ?3) ORDER BY namespace_id, run_id LIMIT ?4`;

export function strayRows(connection: Connection, partition: number, after: ListedId | undefined, max: number): StrayRows {
  const strays: ListedId[] = [];
  let last: ListedId | undefined;
  for (const row of connection.statement(walkSql).iterate(partition, after?.namespaceId ?? '', after?.runId ?? '', max)) {
    last = { namespaceId: textOf(row, 'namespace_id'), runId: textOf(row, 'run_id') };
    if (wholeOf(row, 'is_stray') === 1) strays.push(last);
  }
  return { strays, last };
}

const askedSql = 'SELECT 1 FROM perdure WHERE name = ?';
const shownSql = 'SELECT 1 FROM visibility WHERE namespace_id = ? AND run_id = ?';

export function rebuildDue(connection: Connection, partition: number): RebuildReason | undefined {
  if (connection.statement(askedSql).get(nameOf(partition)) !== undefined) return 'asked';
  const probed = runIds(connection, partition, '', RUNS_PROBED, () => {});
  const isShown = ({ namespaceId, runId }: ListedId): boolean => connection.statement(shownSql).get(namespaceId, runId) !== undefined;
  return probed.length > 0 && !probed.some(isShown) ? 'lost' : undefined;
}

const noteSql = "INSERT OR IGNORE INTO perdure (name, value) VALUES (?, 'asked')";
const endSql = 'DELETE FROM perdure WHERE name = ?';

export function noteRebuild(connection: Connection, partition: number, isDue: boolean): void {
  connection.statement(isDue ? noteSql : endSql).run(nameOf(partition));
}

function nameOf(partition: number): string {
  return `list rebuild ${partition}`;
}
