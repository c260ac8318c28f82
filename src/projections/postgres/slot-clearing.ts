/**
 * What removed search attributes have left in rows of List: a stretch of rows in each transaction.
 *
 * It goes by the primary key, past rows of other namespaces: by the slots' own indexes each stretch would pass all entries that those before it
 * have left dead. The journals are locked as a restore locks them, so that flushes and checkpoints, which write visibility rows in another
 * order, wait for it instead of meeting it in a deadlock.
 */
import { isUuid } from '../../kernel/uuid.ts';
import { heldShards } from '../tables/state-rows.ts';
import { partColumn } from '../tables/instant-sql.ts';
import { inTransaction, type Connections, type Session } from './connections.ts';
import { arrayOf, uuidOf } from './pack.ts';
import { quoted } from './names.ts';
import { attributeKinds } from '../tables/attribute-columns.ts';
import { partDefinitions } from './visibility-table.ts';
import { isLocked } from './postgres-failure.ts';
import type { Database, HeldJournal, SlotClearing } from '../database-port.ts';

/** For the lock of one journal: a write that hangs holds it, and who waits for it here keeps the writes of all shards before it waiting. */
const LOCK_WAIT_MS = 250;

const partNames: ReadonlySet<string> = new Set(partDefinitions.map(({ name }) => name));

export function slotClearing(connections: Connections, schema: string): Database['clearSlots'] {
  const at = quoted(schema);
  return async (held, clearing) => {
    try {
      return await connections.use((session) =>
        inTransaction(session, async () => {
          await session.run(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
          if (!(await holds(session, at, held))) return { kind: 'fenced' };
          return { kind: 'cleared', lastRunId: await clearStretch(session, at, heldShards(held), clearing) };
        }),
      );
    } catch (error) {
      if (!isLocked(error)) throw error;
      // None were looked at: others have their turns, and it is asked again.
      return { kind: 'cleared', lastRunId: clearing.afterRunId };
    }
  };
}

async function holds(session: Session, at: string, held: readonly HeldJournal[]): Promise<boolean> {
  const text = `SELECT 1 AS held FROM ${at}.journals
WHERE (kind, partition, fence) IN (SELECT * FROM unnest($1::text[], $2::integer[], $3::bigint[]))
ORDER BY kind, partition FOR UPDATE`;
  const kinds = arrayOf(held.map(({ journal }) => journal.kind));
  const partitions = arrayOf(held.map(({ journal }) => journal.partition));
  const { count } = await session.query({ text }, [kinds, partitions, arrayOf(held.map(({ fence }) => fence))]);
  return count === held.length;
}

async function clearStretch(session: Session, at: string, shards: readonly number[], clearing: SlotClearing): Promise<string | undefined> {
  const { namespaceId, slots, afterRunId, max } = clearing;
  const columns = slots.filter((slot) => attributeKinds.has(slot)).map((slot) => slot.toLowerCase());
  if (columns.length === 0 || !isUuid(namespaceId)) return undefined;
  const after = afterRunId === '' ? undefined : uuidOf(afterRunId);
  const rowsBehind = `SELECT run_id FROM ${at}.visibility
WHERE $1::uuid IS NULL OR run_id > $1::uuid ORDER BY run_id LIMIT $2::integer`;
  const { rows } = await session.query<{ readonly run_id: string }>({ text: rowsBehind }, [after, max]);
  const last = rows.at(-1)?.run_id;
  if (last === undefined) return undefined;
  const cleared = columns.flatMap((column) => (partNames.has(partColumn(column)) ? [column, partColumn(column)] : [column]));
  const clear = `UPDATE ${at}.visibility SET ${cleared.map((column) => `${column} = NULL`).join(', ')}
WHERE ($1::uuid IS NULL OR run_id > $1::uuid) AND run_id <= $2::uuid AND namespace_id = $3::uuid AND shard = ANY($4::integer[])
  AND (${columns.map((column) => `${column} IS NOT NULL`).join(' OR ')})`;
  await session.query({ text: clear }, [after, last, uuidOf(namespaceId), arrayOf(shards)]);
  return rows.length < max ? undefined : last;
}
