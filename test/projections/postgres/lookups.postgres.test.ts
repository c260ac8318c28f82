/** Rows are found by their keys, whatever PostgreSQL believed of the tables when they were small. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { allPages } from '../../contract/database/database-under-test.ts';
import { queuesWithDamagedNames } from '../sqlite/damaged-queue-names.ts';
import { historyCheckpoint, namespaceId, openedPostgres, runRow, visibilityRow } from './support.ts';
import type { HistoryDelta, JournalId, MatchingQueue, RunRow } from '../../../src/projections/database-port.ts';
import type { LocalPostgres } from '../../postgres/local-postgres.ts';

const journal = { kind: 'history', partition: 0 } as const;
const matching = { kind: 'matching', partition: 0 } as const;

describe.skipIf('missing' in inject('postgres'))('lookups on PostgreSQL', () => {
  let server: LocalPostgres;

  beforeAll(async () => {
    // Nobody looks at the tables but we, when we say so.
    server = await startPostgres({ autovacuum: 'off' });
  });
  afterAll(() => server?.stop());

  test.each(['never', 'while they were small'])(
    'after growing, ANALYZE run %s: as many entries are read as there are keys, not their square',
    async (analyzed) => {
      const options = postgresOptions(server, { connectionsMax: 1 });
      const database = await openedPostgres(options);
      const { fence } = await database.restore(journal);
      const { fence: matchingFence } = await database.restore(matching);
      let offset = 0;
      const write = async (delta: Partial<HistoryDelta>): Promise<void> => {
        expect(await database.write(journal, fence, historyCheckpoint(++offset, delta))).toEqual({ kind: 'written' });
      };
      const comeAndGo = async (count: number): Promise<void> => {
        const runs = Array.from({ length: count }, () => runRow({ forgetMs: 1 }));
        const taskIds = runs.map((_, index) => index);
        const tasks = taskIds.map((taskId) => ({ taskId, task: new Uint8Array(20), aside: taskId % 2 === 0, fireTimeMs: taskId }));
        const transferTasks = tasks.map(({ taskId, task, aside }) => ({ taskId, task, aside, atMatching: taskId % 3 === 0 }));
        await write({ ...everything(runs), transferTasks, timers: tasks });
        const position = historyCheckpoint(++offset, {}).position;
        const delta = { tasks: tasks.map(({ taskId, task }) => ({ taskId, task, queue: 'q' })), goneTasks: [] };
        await database.write(matching, matchingFence, { kind: 'matching', position, delta });
        for (const kind of ['current', 'run'] as const) {
          const loaded = await database.load(
            journal,
            runs.slice(0, 200).map((run) => ({ kind, ...run })),
          );
          expect(loaded.rows.every(({ run }) => run !== undefined)).toBe(true);
        }
        await write({ retiredRuns: runs, goneTransferTasks: taskIds, goneTimers: taskIds });
        await database.write(matching, matchingFence, { kind: 'matching', position, delta: { tasks: [], goneTasks: taskIds } });
      };

      for (let n = 0; n < 8; n++) await comeAndGo(2);
      if (analyzed !== 'never') await server.run('ANALYZE');
      for (let n = 0; n < 8; n++) await comeAndGo(2);
      const rows = 3_000;
      await comeAndGo(rows);
      await database.close();

      const [read] = await server.run(`SELECT
        (SELECT sum(seq_tup_read)::float8 FROM pg_stat_user_tables WHERE schemaname = '${options.topicPrefix}') AS through,
        (SELECT max(idx_tup_read)::float8 FROM pg_stat_user_indexes WHERE schemaname = '${options.topicPrefix}') AS entries,
        (SELECT max(idx_blks_hit)::float8 FROM pg_statio_user_indexes WHERE schemaname = '${options.topicPrefix}') AS pages`);
      expect(Number(read?.['entries'])).toBeGreaterThan(rows);
      for (const what of ['through', 'entries', 'pages']) expect([what, Number(read?.[what]) < rows * 20]).toEqual([what, true]);
    },
  );

  // A shard that moved here: it has no row yet in the statistics, which say what share of the rows the others have.
  test('of a partition that the statistics do not know, 10,000 runs are found, and gone within the time of a statement', async () => {
    const database = await openedPostgres(postgresOptions(server, { timeoutMs: 4_000 }));
    const write = async (partition: number, ...deltas: readonly Partial<HistoryDelta>[]): Promise<JournalId> => {
      const owned = { kind: 'history', partition } as const;
      const { fence } = await database.restore(owned);
      for (const [index, delta] of deltas.entries()) {
        expect(await database.write(owned, fence, historyCheckpoint(index + 1, delta))).toEqual({ kind: 'written' });
      }
      return owned;
    };
    const runsOf = (count: number): RunRow[] => Array.from({ length: count }, () => runRow());
    for (const partition of [1, 2, 3, 4]) await write(partition, everything(runsOf(60)));
    await server.run('VACUUM ANALYZE');
    const runs = runsOf(10_000);
    const unknown = await write(5, everything(runs));
    for (const kind of ['current', 'run'] as const) {
      const loaded = await database.load(
        unknown,
        runs.map((run) => ({ kind, ...run })),
      );
      expect(loaded.rows.filter(({ run }) => run === undefined)).toEqual([]);
    }
    await write(5, { retiredRuns: runs });
    await database.close();
  });

  test('what is below a root is found by its index, and the root by its own id', async () => {
    const options = postgresOptions(server, { connectionsMax: 1 });
    let database = await openedPostgres(options);
    const { fence } = await database.restore(journal);
    const rows = 5_000;
    const own = Array.from({ length: rows }, () => {
      const row = visibilityRow();
      return { ...row, rootWorkflowId: row.workflowId, rootRunId: row.runId };
    });
    const [root] = own;
    if (root === undefined) throw new Error('there is a first row');
    const below = [1, 2].map(() => visibilityRow({ rootWorkflowId: root.workflowId, rootRunId: root.runId }));
    expect(await database.flush(journal, fence, [...own, ...below], [])).toBe('flushed');
    const readSoFar = async (): Promise<number> => {
      // What a connection has read is told when it ends.
      await database.close();
      const read = await server.run(`SELECT
        (SELECT sum(seq_tup_read)::float8 FROM pg_stat_user_tables WHERE schemaname = '${options.topicPrefix}')
          + (SELECT sum(idx_tup_read)::float8 FROM pg_stat_user_indexes WHERE schemaname = '${options.topicPrefix}') AS rows`);
      return Number(read[0]?.['rows']);
    };
    await server.run('ANALYZE');
    const before = await readSoFar();
    database = await openedPostgres(options);
    for (const [name, operand] of [
      ['RootWorkflowId', root.workflowId],
      ['RootRunId', root.runId],
    ] as const) {
      const condition = { kind: 'compare', column: { name, kind: 'keyword' }, operator: '=', operand } as const;
      const { rows: found } = await database.list({ namespaceId: root.namespaceId, condition, after: undefined, max: 1_000 });
      expect(new Set(found.map(({ runId }) => runId))).toEqual(new Set([root, ...below].map(({ runId }) => runId)));
    }
    expect((await readSoFar()) - before).toBeLessThan(100);
  });

  test('a Count by status reads the small index alone', async () => {
    const options = postgresOptions(server, { connectionsMax: 1 });
    const database = await openedPostgres(options);
    const { fence } = await database.restore(journal);
    const rows = Array.from({ length: 5_000 }, (_, index) => visibilityRow({ status: 1 + (index % 3) }));
    expect(await database.flush(journal, fence, rows, [])).toBe('flushed');
    await server.run('VACUUM ANALYZE');
    const condition = { kind: 'isNull', column: { name: 'TemporalNamespaceDivision', kind: 'keyword' }, not: false } as const;
    const counts = await database.count({ namespaceId, condition, byStatus: true });
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(rows.length);
    await database.close();
    const read = await server.run(`SELECT idx_scan::int AS scans, idx_tup_read::int AS entries, idx_tup_fetch::int AS rows
      FROM pg_stat_user_indexes WHERE schemaname = '${options.topicPrefix}' AND indexrelname = 'visibility_counted'`);
    expect(read).toEqual([{ scans: 1, entries: rows.length, rows: 0 }]);
  });

  test('a takeover of task queues reads their first tasks, whatever stands behind them', async () => {
    const options = postgresOptions(server, { connectionsMax: 1 });
    let database = await openedPostgres(options);
    const { fence } = await database.restore(matching);
    const rows = 20_000;
    const tasks = Array.from({ length: rows }, (_, taskId) => ({ taskId, task: new Uint8Array(20), queue: `q${taskId % 5}` }));
    const { position } = historyCheckpoint(1, {});
    await database.write(matching, fence, { kind: 'matching', position, delta: { tasks, goneTasks: [] } });
    // What a connection has read is told when it ends.
    const readSoFar = async (): Promise<number> => {
      await database.close();
      const read = await server.run(`SELECT
        (SELECT sum(seq_tup_read)::float8 FROM pg_stat_user_tables WHERE schemaname = '${options.topicPrefix}')
          + (SELECT sum(idx_tup_read)::float8 FROM pg_stat_user_indexes WHERE schemaname = '${options.topicPrefix}') AS rows`);
      return Number(read[0]?.['rows']);
    };
    const before = await readSoFar();
    database = await openedPostgres(options);
    const page = { afterName: Buffer.from('q0'), tasksMax: 100, tasksOfAllMax: 1_000 };
    const { rows: queues } = await database.matchingQueues(matching, page);
    expect(queues.map(({ queue, lastTaskId, tasks: first }) => [queue, lastTaskId, first.length])).toEqual(
      [1, 2, 3, 4].map((nth) => [`q${nth}`, rows - 5 + nth, 100]),
    );
    const read = (await readSoFar()) - before;
    expect(read).toBeGreaterThan(4 * 100);
    expect(read).toBeLessThan(rows / 10);
  });

  test('queues whose names are damaged are pages of their own, and those between and behind them come', async () => {
    const options = postgresOptions(server, { connectionsMax: 1 });
    const database = await openedPostgres(options);
    const { fence } = await database.restore(matching);
    const { position } = historyCheckpoint(1, {});
    const delta = { tasks: queuesWithDamagedNames.rows, goneTasks: [] };
    expect(await database.write(matching, fence, { kind: 'matching', position, delta })).toEqual({ kind: 'written' });
    for (const [taskId, name] of queuesWithDamagedNames.damaged)
      await server.run(`UPDATE "${options.topicPrefix}".matching_tasks SET queue = '\\x${name}' WHERE task_id = ${taskId}`);
    for (const tasksOfAllMax of [1, 2, 100]) {
      const pages = await allPages<MatchingQueue>(async (last) => {
        const page = { afterName: last?.storedName, tasksMax: 1, tasksOfAllMax };
        return (await database.matchingQueues(matching, page)).rows;
      });
      expect(pages.map(({ queue, tasks }) => [queue, tasks.map(({ taskId }) => taskId)])).toEqual(queuesWithDamagedNames.wanted);
    }
    await database.close();
  });

  test.each(['never', 'behind it'])(
    'what matching has stored costs a takeover nothing, however much it is: ANALYZE run %s',
    async (analyzed) => {
      const options = postgresOptions(server, { connectionsMax: 1 });
      const database = await openedPostgres(options);
      const { fence } = await database.restore(journal);
      const rows = 20_000;
      const transferTasks = Array.from({ length: rows }, (_, taskId) => ({
        taskId,
        task: new Uint8Array(20),
        aside: false,
        atMatching: taskId % 2 === 0,
      }));
      await database.write(journal, fence, historyCheckpoint(1, { transferTasks }));
      // The others are stored later, but for the last one.
      const tasksAtMatching = transferTasks
        .filter(({ taskId, atMatching }) => !atMatching && taskId < rows - 1)
        .map(({ taskId }) => taskId);
      await database.write(journal, fence, historyCheckpoint(2, { tasksAtMatching }));
      await server.run(`VACUUM "${options.topicPrefix}".transfer_tasks`);
      if (analyzed !== 'never') await server.run('ANALYZE');
      const { rows: found } = await database.transferTasks(journal, -1, 1_000);
      expect(found.map(({ taskId }) => taskId)).toEqual([rows - 1]);
      await database.close();
      const [read] = await server.run(`SELECT idx_tup_read::float8 AS entries FROM pg_stat_user_indexes
      WHERE schemaname = '${options.topicPrefix}' AND indexrelname = 'transfer_tasks_waiting'`);
      expect(read?.['entries']).toBeGreaterThan(0);
      expect(read?.['entries'], 'entries of the small index').toBeLessThan(100);
    },
  );
});

/** A row in every table that is known by a run. */
function everything(runs: readonly RunRow[]): Partial<HistoryDelta> {
  return {
    runs,
    currentRuns: runs,
    childStarts: runs.map(({ runId }) => ({ parentRunId: runId, initiatedEventId: 5, runId })),
    history: runs.map(({ runId }) => ({ runId, branch: 0, firstEventId: 1, lastEventId: 3, events: new Uint8Array(20) })),
    visibility: runs.map(({ runId, workflowId }) => visibilityRow({ runId, workflowId })),
  };
}
