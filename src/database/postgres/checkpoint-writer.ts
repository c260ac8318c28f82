/**
 * Checkpoints, each one transaction: the guard first, so that of two owners one waits for the other and then writes nothing; what is gone;
 * what is new or changed; what is retired last, so that no row of it is left, whatever else the delta says.
 */
import { errorText } from '../../kernel/error-text.ts';
import { begin, commit, inTransaction, rollBack, type Connections, type Session, type Statement } from './connections.ts';
import { arrayOf, Pack, uuidOf, wholeNumber } from './pack.ts';
import { quoted } from './schema-name.ts';
import {
  childStartsTable,
  executionsTable,
  historyTable,
  lettersTable,
  matchingTasksTable,
  runsTable,
  timersTable,
  transferTasksTable,
} from './state-tables.ts';
import { rebuildName } from './reads.ts';
import { runSteps, type Step, Upsert } from './upsert.ts';
import { VisibilityWriter } from './visibility-writer.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { Checkpoint, Fence, JournalId, ListedId, WriteOutcome } from '../../actors/database.ts';
import type { Logger } from '../../observability/logger.ts';
import type { VisibilityRow } from '../../visibility/row.ts';

/** Of what is deleted or noted in one statement. */
const idsPerStatement = 10_000;

export class CheckpointWriter {
  readonly #connections: Connections;
  readonly #statements: ReturnType<typeof statementsFor>;
  readonly #tables: ReturnType<typeof upsertsFor>;
  readonly #visibility: VisibilityWriter;

  constructor(connections: Connections, schema: string, logger: Logger) {
    this.#connections = connections;
    this.#statements = statementsFor(quoted(schema));
    this.#tables = upsertsFor(schema);
    this.#visibility = new VisibilityWriter(schema, logger);
  }

  async write(journal: JournalId, fence: Fence, checkpoint: Checkpoint): Promise<WriteOutcome> {
    // Before anything is waited for: a row that no table takes is told at once, and what becomes of the delta is the caller's.
    const guard = this.#guard(journal, fence, checkpoint);
    const { changes, visibility, retirement } = this.#encoded(journal, checkpoint);
    return await this.#connections.use(async (session) => {
      await session.run(begin);
      try {
        // Nobody's row: the journal is another's by now, or further.
        if ((await session.query(guard.statement, guard.values)).count === 0) {
          await session.run('ROLLBACK');
          return { kind: 'fenced' };
        }
        await runSteps(session, changes);
        await this.#visibility.write(session, visibility);
        await runSteps(session, retirement);
      } catch (error) {
        await rollBack(session, error);
        throw error;
      }
      const lost = await commit(session);
      return lost === undefined ? { kind: 'written' } : { kind: 'unknown', reason: errorText(lost) };
    });
  }

  /** On the disk as well when it is answered: PostgreSQL may crash while we live, and whoever has flushed a row writes it no second time. */
  async flush(
    journal: JournalId,
    fence: Fence,
    rows: readonly VisibilityRow[],
    retired: readonly ListedId[],
  ): Promise<'flushed' | 'fenced'> {
    const encoded = this.#visibility.encode(rows);
    const retirement = chunksOf(retired).map((chunk) => this.#retiredVisibility(chunk));
    const isHeld = await this.#held(journal, fence, async (session) => {
      await runSteps(session, [...encoded, ...retirement]);
    });
    return isHeld ? 'flushed' : 'fenced';
  }

  async rewrite(
    journal: JournalId,
    fence: Fence,
    nextOffset: number,
    rows: readonly VisibilityRow[],
  ): Promise<'flushed' | 'fenced' | 'moved'> {
    const lowering = this.#visibility.lowering(rows);
    const encoded = this.#visibility.encode(rows);
    let isThere = false;
    const isHeld = await this.#held(journal, fence, async (session, at) => {
      isThere = at === nextOffset;
      if (!isThere) return;
      await runSteps(session, [lowering, ...encoded]);
    });
    if (!isHeld) return 'fenced';
    return isThere ? 'flushed' : 'moved';
  }

  async noteRebuild(journal: JournalId, fence: Fence, isDue: boolean): Promise<'noted' | 'fenced'> {
    const { rebuildDue, rebuildOver } = this.#statements;
    const isHeld = await this.#held(journal, fence, async (session) => {
      await session.query(isDue ? rebuildDue : rebuildOver, [rebuildName(journal)]);
    });
    return isHeld ? 'noted' : 'fenced';
  }

  /** In one transaction, if the fence is still the journal's: no restore comes between. */
  async #held(
    { kind, partition }: JournalId,
    fence: Fence,
    work: (session: Session, nextOffset: number) => Promise<void>,
  ): Promise<boolean> {
    return await this.#connections.use((session) =>
      inTransaction(session, async () => {
        const { rows } = await session.query<{ readonly next_offset: number }>(this.#statements.holdFence, [kind, partition, fence]);
        const [held] = rows;
        if (held !== undefined) await work(session, held.next_offset);
        return held !== undefined;
      }),
    );
  }

  #guard({ kind, partition }: JournalId, fence: Fence, { position, base }: Checkpoint): Step {
    const { epoch, sequence, nextOffset, lastOffset, timeMs, schema, counters, trimPoints } = position;
    const numbers = [epoch, sequence, nextOffset, lastOffset, timeMs, schema].map(wholeNumber);
    const points = trimPoints.map((point) => ({
      timeMs: wholeNumber(point.timeMs),
      lastOffset: wholeNumber(point.lastOffset),
      bytes: wholeNumber(point.bytes),
    }));
    const values = [
      kind,
      partition,
      fence,
      ...numbers,
      Uint8Array.from(counters),
      JSON.stringify(points),
      base === undefined ? null : wholeNumber(base),
    ];
    return { statement: this.#statements.guard, values };
  }

  #encoded({ partition }: JournalId, checkpoint: Checkpoint): Encoded {
    const { tasksAtMatching, goneTransferTasks, goneTimers, goneMatchingTasks, goneLetters } = this.#statements;
    if (checkpoint.kind === 'deadLetters') {
      const { letters, goneLetters: ids } = checkpoint.delta;
      const changes = [...ofEach(goneLetters, partition, ids), ...this.#tables.letters.encode(partition, letters)];
      return { changes, visibility: [], retirement: [] };
    }
    if (checkpoint.kind === 'matching') {
      const { tasks, goneTasks } = checkpoint.delta;
      const changes = [...ofEach(goneMatchingTasks, partition, goneTasks), ...this.#tables.matchingTasks.encode(partition, tasks)];
      return { changes, visibility: [], retirement: [] };
    }
    const { delta } = checkpoint;
    const changes = [
      ...ofEach(goneTransferTasks, partition, delta.goneTransferTasks),
      ...ofEach(goneTimers, partition, delta.goneTimers),
      ...ofEach(tasksAtMatching, partition, delta.tasksAtMatching),
      ...this.#tables.runs.encode(partition, delta.runs),
      ...this.#tables.executions.encode(partition, delta.currentRuns),
      ...this.#tables.childStarts.encode(partition, delta.childStarts),
      ...this.#tables.history.encode(partition, delta.history),
      ...this.#tables.transferTasks.encode(partition, delta.transferTasks),
      ...this.#tables.timers.encode(partition, delta.timers),
    ];
    return { changes, visibility: this.#visibility.encode(delta.visibility), retirement: this.#retired(partition, delta.retiredRuns) };
  }

  #retired(partition: number, runs: readonly RunKey[]): readonly Step[] {
    return chunksOf(runs).flatMap((chunk) => {
      const runIds = arrayOf(chunk.map(({ runId }) => uuidOf(runId)));
      const namespaceIds = arrayOf(chunk.map(({ namespaceId }) => uuidOf(namespaceId)));
      const pack = new Pack();
      const starts = chunk.map(({ workflowId }) => pack.addText(workflowId));
      const lengths = starts.map((at, index) => (starts[index + 1] ?? pack.length + 1) - at);
      const pointers = [partition, pack.bytes(), namespaceIds, arrayOf(starts), arrayOf(lengths), runIds];
      return [
        ...this.#statements.retiredByRun.map((statement) => ({ statement, values: [partition, runIds] })),
        this.#retiredVisibility(chunk),
        { statement: this.#statements.retiredPointers, values: pointers },
      ];
    });
  }

  #retiredVisibility(runs: readonly ListedId[]): Step {
    const namespaceIds = arrayOf(runs.map(({ namespaceId }) => uuidOf(namespaceId)));
    return { statement: this.#statements.retiredVisibility, values: [namespaceIds, arrayOf(runs.map(({ runId }) => uuidOf(runId)))] };
  }
}

type Encoded = {
  readonly changes: readonly Step[];
  readonly visibility: ReturnType<VisibilityWriter['encode']>;
  readonly retirement: readonly Step[];
};

function ofEach(statement: Statement, partition: number, taskIds: readonly number[]): readonly Step[] {
  return chunksOf(taskIds).map((chunk) => ({ statement, values: [partition, arrayOf(chunk.map(wholeNumber))] }));
}

function chunksOf<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / idsPerStatement) }, (_, index) =>
    items.slice(index * idsPerStatement, (index + 1) * idsPerStatement),
  );
}

function upsertsFor(schema: string) {
  return {
    runs: new Upsert(schema, runsTable),
    executions: new Upsert(schema, executionsTable),
    childStarts: new Upsert(schema, childStartsTable),
    history: new Upsert(schema, historyTable),
    transferTasks: new Upsert(schema, transferTasksTable),
    timers: new Upsert(schema, timersTable),
    matchingTasks: new Upsert(schema, matchingTasksTable),
    letters: new Upsert(schema, lettersTable),
  };
}

function statementsFor(at: string) {
  const goneTasks = (table: string, id = 'task_id'): Statement => ({
    text: `DELETE FROM ${at}.${table} WHERE partition = $1::integer AND ${id} = ANY($2::bigint[])`,
  });
  return {
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
    goneTransferTasks: goneTasks('transfer_tasks'),
    goneTimers: goneTasks('timers'),
    goneMatchingTasks: goneTasks('matching_tasks'),
    goneLetters: goneTasks('dead_letters', 'message_id'),
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
