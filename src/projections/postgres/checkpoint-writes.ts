/** Checkpoints, each one transaction: the guard, which stops a second owner; what is gone; what is new; what is retired, last. */
import { errorText } from '../../kernel/error-text.ts';
import { begin, commit, inTransaction, rollBack, type Connections, type Session, type Statement } from './connections.ts';
import { quoted } from './names.ts';
import { whole } from '../tables/stored-numbers.ts';
import { arrayOf, Pack, uuidOf } from './pack.ts';
import { goneOf, putsOf, type TableOf } from '../tables/state-tables.ts';
import { rebuildName } from '../tables/state-rows.ts';
import { runSteps, type Step, upsertFor, upsertSteps } from './upsert.ts';
import { VisibilityWriter } from './visibility-writer.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { Checkpoint, Database, Fence, JournalId, ListedId } from '../database-port.ts';
import type { Logger } from '../../observability/logger.ts';

/** How many ids one statement deletes or notes. */
const idsPerStatement = 10_000;

type CheckpointWrites = Pick<Database, 'write' | 'flush' | 'rewrite' | 'noteRebuild'>;

export function checkpointWrites(connections: Connections, schema: string, logger: Logger): CheckpointWrites {
  const statements = statementsFor(quoted(schema));
  const visibility = new VisibilityWriter(schema, logger);
  /** Works in one transaction if the fence is still the journal's: no restore comes between. */
  const held = async (
    { kind, partition }: JournalId,
    fence: Fence,
    work: (session: Session, nextOffset: number) => Promise<void>,
  ): Promise<boolean> =>
    await connections.use((session) =>
      inTransaction(session, async () => {
        const { rows } = await session.query<{ readonly next_offset: number }>(statements.holdFence, [kind, partition, fence]);
        const [journal] = rows;
        if (journal !== undefined) await work(session, journal.next_offset);
        return journal !== undefined;
      }),
    );
  return {
    write: async (journal, fence, checkpoint) => {
      // Before anything is waited for: a row that no table takes is told at once, and what becomes of the delta is the caller's.
      const guard = guardOf(statements.guard, journal, fence, checkpoint);
      const changes = changesOf(schema, statements, journal.partition, checkpoint);
      const rows = visibility.encode(checkpoint.kind === 'history' ? checkpoint.delta.visibility : []);
      const retirement = checkpoint.kind === 'history' ? retired(statements, journal.partition, checkpoint.delta.retiredRuns) : [];
      return await connections.use(async (session) => {
        await session.run(begin);
        try {
          // Nobody's row: the journal is another's by now, or further.
          if ((await session.query(guard.statement, guard.values)).count === 0) {
            await session.run('ROLLBACK');
            return { kind: 'fenced' };
          }
          await runSteps(session, changes);
          await visibility.write(session, rows);
          await runSteps(session, retirement);
        } catch (error) {
          await rollBack(session, error);
          throw error;
        }
        const lost = await commit(session);
        return lost === undefined ? { kind: 'written' } : { kind: 'unknown', reason: errorText(lost) };
      });
    },
    // On the disk as well when it is answered: PostgreSQL may crash while we live, and whoever has flushed a row writes it no second time.
    flush: async (journal, fence, rows, gone) => {
      const steps = [...visibility.encode(rows), ...chunksOf(gone).map((chunk) => retiredRows(statements, chunk))];
      return (await held(journal, fence, (session) => runSteps(session, steps))) ? 'flushed' : 'fenced';
    },
    rewrite: async (journal, fence, nextOffset, rows) => {
      const steps = [visibility.lowering(rows), ...visibility.encode(rows)];
      let isThere = false;
      const isHeld = await held(journal, fence, async (session, at) => {
        isThere = at === nextOffset;
        if (isThere) await runSteps(session, steps);
      });
      if (!isHeld) return 'fenced';
      return isThere ? 'flushed' : 'moved';
    },
    noteRebuild: async (journal, fence, isDue) => {
      const note = { statement: isDue ? statements.rebuildDue : statements.rebuildOver, values: [rebuildName(journal.partition)] };
      return (await held(journal, fence, (session) => runSteps(session, [note]))) ? 'noted' : 'fenced';
    },
  };
}

type Statements = ReturnType<typeof statementsFor>;

function guardOf(statement: Statement, { kind, partition }: JournalId, fence: Fence, { position, base }: Checkpoint): Step {
  const { epoch, sequence, nextOffset, lastOffset, timeMs, schema, counters, trimPoints } = position;
  const numbers = { epoch, sequence, nextOffset, lastOffset, timeMs, schema };
  for (const each of [numbers, ...trimPoints, { base: base ?? 0 }]) for (const [what, value] of Object.entries(each)) whole(value, what);
  const bytes = [Uint8Array.from(counters), JSON.stringify(trimPoints)];
  return { statement, values: [kind, partition, fence, ...Object.values(numbers), ...bytes, base] };
}

function changesOf(schema: string, { gone, tasksAtMatching }: Statements, partition: number, checkpoint: Checkpoint): readonly Step[] {
  const steps = goneOf(checkpoint).flatMap(({ table, key, ids }) => ofEach(gone(table, key), partition, ids));
  if (checkpoint.kind === 'history') steps.push(...ofEach(tasksAtMatching, partition, checkpoint.delta.tasksAtMatching));
  const put = <Row>(table: TableOf<Row>, rows: readonly Row[]): readonly Step[] =>
    rows.length === 0 ? [] : upsertSteps(upsertFor(schema, table), partition, rows);
  return [...steps, ...putsOf(checkpoint, put).flat()];
}

function retired(statements: Statements, partition: number, runs: readonly RunKey[]): readonly Step[] {
  return chunksOf(runs).flatMap((chunk) => {
    const runIds = arrayOf(chunk.map(({ runId }) => uuidOf(runId)));
    const namespaceIds = arrayOf(chunk.map(({ namespaceId }) => uuidOf(namespaceId)));
    const pack = new Pack();
    const starts = chunk.map(({ workflowId }) => pack.addText(workflowId));
    const lengths = starts.map((at, index) => (starts[index + 1] ?? pack.length + 1) - at);
    const pointers = [partition, pack.bytes(), namespaceIds, arrayOf(starts), arrayOf(lengths), runIds];
    return [
      ...statements.retiredByRun.map((statement) => ({ statement, values: [partition, runIds] })),
      retiredRows(statements, chunk),
      { statement: statements.retiredPointers, values: pointers },
    ];
  });
}

function retiredRows({ retiredVisibility: statement }: Statements, runs: readonly ListedId[]): Step {
  const namespaceIds = arrayOf(runs.map(({ namespaceId }) => uuidOf(namespaceId)));
  return { statement, values: [namespaceIds, arrayOf(runs.map(({ runId }) => uuidOf(runId)))] };
}

function ofEach(statement: Statement, partition: number, taskIds: readonly number[]): readonly Step[] {
  return chunksOf(taskIds).map((chunk) => ({ statement, values: [partition, arrayOf(chunk.map((id) => whole(id, 'task id')))] }));
}

function chunksOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / idsPerStatement) }, (_, index) =>
    items.slice(index * idsPerStatement, (index + 1) * idsPerStatement),
  );
}

function statementsFor(at: string) {
  return {
    gone: (table: string, key: string): Statement => ({
      text: `DELETE FROM ${at}.${table} WHERE partition = $1::integer AND ${key} = ANY($2::bigint[])`,
    }),
    guard: {
      name: 'guard',
      text: `UPDATE ${at}.journals
SET epoch = $4::bigint, sequence = $5::bigint, next_offset = $6::bigint, last_offset = $7::bigint, time_ms = $8::bigint,
  schema = $9::integer, counters = $10::bytea, trim_points = $11::jsonb
WHERE kind = $1 AND partition = $2::integer AND fence = $3::bigint
  AND CASE WHEN epoch IS NULL THEN coalesce($12::bigint, 0) = 0
    ELSE epoch <= $4::bigint AND next_offset <= $6::bigint AND next_offset IN ($6::bigint, coalesce($12::bigint, next_offset)) END`,
    },
    holdFence: {
      name: 'hold fence',
      text: `SELECT coalesce(next_offset, 0) AS next_offset FROM ${at}.journals WHERE kind = $1 AND partition = $2::integer AND fence = $3::bigint FOR SHARE`,
    },
    tasksAtMatching: {
      text: `UPDATE ${at}.transfer_tasks SET at_matching = true WHERE partition = $1::integer AND task_id = ANY($2::bigint[])`,
    },
    rebuildDue: { text: `INSERT INTO ${at}.perdure (name, value) VALUES ($1, 'asked') ON CONFLICT (name) DO NOTHING` },
    rebuildOver: { text: `DELETE FROM ${at}.perdure WHERE name = $1` },
    retiredByRun: ['runs', 'history', 'child_starts'].map((table) => ({
      text: `DELETE FROM ${at}.${table} WHERE partition = $1::integer AND run_id = ANY($2::uuid[])`,
    })),
    retiredVisibility: {
      text: `DELETE FROM ${at}.visibility v USING unnest($1::uuid[], $2::uuid[]) AS r(namespace_id, run_id)
WHERE v.run_id = r.run_id AND (v.namespace_id = r.namespace_id) IS TRUE`,
    },
    // Joined by a column, which OFFSET keeps from becoming a constant: where the statistics do not know a partition yet (its shard moved here, or is
    // new), the planner takes it for empty and compares each of its rows with each that goes (10,000 with 10,000: 17 s).
    retiredPointers: {
      text: `DELETE FROM ${at}.executions e
USING (SELECT r.*, $1::integer AS partition, substring($2::bytea, w_at, w_length) AS workflow_id
  FROM unnest($3::uuid[], $4::integer[], $5::integer[], $6::uuid[]) AS r(namespace_id, w_at, w_length, run_id) OFFSET 0) r
WHERE e.partition = r.partition AND e.namespace_id = r.namespace_id AND e.workflow_id = r.workflow_id AND e.run_id = r.run_id`,
    },
  };
}
