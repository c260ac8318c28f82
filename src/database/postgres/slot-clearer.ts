/**
 * What removed search attributes have left in rows of List: a stretch of rows in each transaction.
 *
 * It goes by the primary key, past rows of other namespaces: by the slots' own indexes each stretch would pass all entries that those before it
 * have left dead. The journals are locked as a restore locks them, so that flushes and checkpoints, which write visibility rows in another
 * order, wait for it instead of meeting it in a deadlock.
 */
import { isUuid } from '../../kernel/uuid.ts';
import { heldShards } from '../held-shards.ts';
import { partColumn } from '../instant-sql.ts';
import { inTransaction, type Connections, type Session } from './connections.ts';
import { arrayOf, uuidOf, wholeNumber } from './pack.ts';
import { quoted } from './schema-name.ts';
import { attributeKinds, partDefinitions } from './visibility-table.ts';
import { isLocked } from './postgres-failure.ts';
import type { HeldJournal, SlotClearing, SlotsCleared } from '../../actors/database.ts';

/**
 * For the lock of one journal: a write that hangs holds it until its connection is ended, and who waits for it here keeps all writes of the
 * shards before it waiting too.
 */
const LOCK_WAIT_MS = 250;

const partNames: ReadonlySet<string> = new Set(partDefinitions.map(({ name }) => name));

export class SlotClearer {
  readonly #connections: Connections;
  readonly #at: string;

  constructor(connections: Connections, schema: string) {
    this.#connections = connections;
    this.#at = quoted(schema);
  }

  async clear(held: readonly HeldJournal[], clearing: SlotClearing): Promise<SlotsCleared> {
    try {
      return await this.#clear(held, clearing);
    } catch (error) {
      if (!isLocked(error)) throw error;
      // None were looked at: others have their turns, and it is asked again.
      return { kind: 'cleared', lastRunId: clearing.afterRunId };
    }
  }

  async #clear(held: readonly HeldJournal[], clearing: SlotClearing): Promise<SlotsCleared> {
    return await this.#connections.use((session) =>
      inTransaction(session, async () => {
        await session.run(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
        if (!(await this.#holds(session, held))) return { kind: 'fenced' };
        const lastRunId = await this.#clearStretch(session, heldShards(held), clearing);
        return { kind: 'cleared', lastRunId };
      }),
    );
  }

  async #holds(session: Session, held: readonly HeldJournal[]): Promise<boolean> {
    const text = `SELECT 1 AS held FROM ${this.#at}.journals
WHERE (kind, partition, fence) IN (SELECT * FROM unnest($1::text[], $2::integer[], $3::bigint[]))
ORDER BY kind, partition FOR UPDATE`;
    const kinds = arrayOf(held.map(({ journal }) => journal.kind));
    const partitions = arrayOf(held.map(({ journal }) => wholeNumber(journal.partition)));
    const { count } = await session.query({ text }, [kinds, partitions, arrayOf(held.map(({ fence }) => wholeNumber(fence)))]);
    return count === held.length;
  }

  async #clearStretch(session: Session, shards: readonly number[], clearing: SlotClearing): Promise<string | undefined> {
    const { namespaceId, slots, afterRunId, max } = clearing;
    const columns = slots.filter((slot) => attributeKinds.has(slot)).map((slot) => slot.toLowerCase());
    if (columns.length === 0 || !isUuid(namespaceId)) return undefined;
    const after = afterRunId === '' ? undefined : uuidOf(afterRunId);
    const rowsBehind = `SELECT run_id FROM ${this.#at}.visibility
WHERE $1::uuid IS NULL OR run_id > $1::uuid ORDER BY run_id LIMIT $2::integer`;
    const { rows } = await session.query<{ readonly run_id: string }>({ text: rowsBehind }, [after, wholeNumber(max)]);
    const last = rows.at(-1)?.run_id;
    if (last === undefined) return undefined;
    const cleared = columns.flatMap((column) => (partNames.has(partColumn(column)) ? [column, partColumn(column)] : [column]));
    const clear = `UPDATE ${this.#at}.visibility SET ${cleared.map((column) => `${column} = NULL`).join(', ')}
WHERE ($1::uuid IS NULL OR run_id > $1::uuid) AND run_id <= $2::uuid AND namespace_id = $3::uuid AND shard = ANY($4::integer[])
  AND (${columns.map((column) => `${column} IS NOT NULL`).join(' OR ')})`;
    await session.query({ text: clear }, [after, last, uuidOf(namespaceId), arrayOf(shards)]);
    return rows.length < max ? undefined : last;
  }
}
