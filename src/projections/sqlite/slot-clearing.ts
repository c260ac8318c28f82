/** What removed search attributes have left in rows of List, and in the words of their lists and texts. */
import { attributeKinds } from '../tables/attribute-columns.ts';
import { partColumn } from '../tables/instant-sql.ts';
import { textOf } from './values.ts';
import { heldShards } from '../tables/state-rows.ts';
import type { HeldJournal, SlotClearing } from '../database-port.ts';
import type { Connection } from './connection.ts';

const rowsBehind = 'SELECT run_id FROM visibility WHERE namespace_id = ? AND run_id > ? ORDER BY run_id LIMIT ?';
/** A slot's own index has these rows in another order: each stretch would walk what is left of it. */
const byKey = 'visibility INDEXED BY sqlite_autoindex_visibility_1';
const dropWords = 'DELETE FROM visibility_words WHERE run_id = ? AND namespace_id = ? AND slot = ?';

/** Clears slots in the next rows, as far as these shards have them. Answers with the last row looked at; undefined: there are no more. */
export function clearVisibilitySlots(
  connection: Connection,
  held: readonly HeldJournal[],
  { namespaceId, slots, afterRunId, max }: SlotClearing,
): string | undefined {
  const rows = connection.statement(rowsBehind).all(namespaceId, afterRunId, max);
  const last = rows.at(-1);
  if (last === undefined) return undefined;
  const lastRunId = textOf(last, 'run_id');
  const shards = heldShards(held);
  const ofShards = `shard IN (${shards.map(() => '?').join(', ')})`;
  for (const slot of slots) {
    const kind = attributeKinds.get(slot);
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
