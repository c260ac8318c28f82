/** What removed search attributes have left in rows of List, and in the words of their lists and texts. */
import { attributeColumns } from '../attribute-columns.ts';
import { partColumn } from '../instant-sql.ts';
import { textOf } from './values.ts';
import type { SlotClearing } from '../../actors/database.ts';
import type { ColumnKind } from '../../filter/condition.ts';
import type { Connection } from './connection.ts';

const slotKinds: ReadonlyMap<string, ColumnKind> = new Map(attributeColumns.map(({ name, kind }) => [name, kind]));

const rowsBehind = 'SELECT run_id FROM visibility WHERE namespace_id = ? AND run_id > ? ORDER BY run_id LIMIT ?';
/** One slot's index would have these rows too, in another order: each stretch would walk what is left of it. */
const byKey = 'visibility INDEXED BY sqlite_autoindex_visibility_1';
const dropWords = 'DELETE FROM visibility_words WHERE run_id = ? AND namespace_id = ? AND slot = ?';

/** Of the next rows, as far as they are of these shards; answers with the last of them, undefined: there are no more. */
export function clearVisibilitySlots(
  connection: Connection,
  shards: readonly number[],
  { namespaceId, slots, afterRunId, max }: SlotClearing,
): string | undefined {
  const rows = connection.statement(rowsBehind).all(namespaceId, afterRunId, max);
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const lastRunId = textOf(last, 'run_id');
  const ofShards = `shard IN (${shards.map(() => '?').join(', ')})`;
  for (const slot of slots) {
    const kind = slotKinds.get(slot);
    if (kind === undefined) continue;
    const cleared = kind === 'instant' ? `${slot} = NULL, ${partColumn(slot)} = NULL` : `${slot} = NULL`;
    const stretch = `namespace_id = ? AND run_id > ? AND run_id <= ? AND ${slot} IS NOT NULL`;
    // Not kept: it is another one for each slot.
    const clear = connection.prepare(`UPDATE ${byKey} SET ${cleared} WHERE ${stretch} AND ${ofShards} RETURNING run_id`);
    for (const row of clear.all(namespaceId, afterRunId, lastRunId, ...shards)) {
      connection.statement(dropWords).run(textOf(row, 'run_id'), namespaceId, slot);
    }
  }
  return rows.length < max ? undefined : lastRunId;
}
