/** Dead letters on PostgreSQL: who reads them in an incident waits for nobody, and for no more rows than there are to see. */
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { letterRow, positionAt } from '../../contract/database/samples.ts';
import { namespaceId, openedPostgres } from './support.ts';
import type { Condition } from '../../../src/filter/condition.ts';

const queue = { kind: 'deadLetters', partition: 1 } as const;
const page = { condition: undefined, afterMessageId: -1, max: 10, bytesMax: 1_000_000 };

describe.skipIf('missing' in inject('postgres'))('dead letters on PostgreSQL', () => {
  test('are read while all connections for lists are taken by lists that hang', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    const options = postgresOptions(server, { timeoutMs: 60_000 });
    const database = await openedPostgres(options);
    onTestFinished(() => database.close());
    const { fence } = await database.restore(queue);
    const delta = { letters: [letterRow(0)], goneLetters: [] };
    await database.write(queue, fence, { kind: 'deadLetters', position: positionAt(1), delta });
    const locker = await server.connect();
    await locker.query(`BEGIN; LOCK TABLE "${options.topicPrefix}".visibility IN ACCESS EXCLUSIVE MODE`);
    let ended = 0;
    const counts = Array.from({ length: 5 }, async () => {
      await database.count({ namespaceId, condition: undefined, byStatus: false });
      ended++;
    });
    expect((await database.letters(queue, page)).rows.letters).toEqual([letterRow(0)]);
    expect((await database.countLetters(queue, undefined)).rows).toBe(1);
    expect((await database.letterGroups(queue, { condition: undefined, by: 'cause', max: 1 })).rows.length).toBe(1);
    expect(ended).toBe(0);
    await locker.query('ROLLBACK');
    await locker.end();
    await Promise.all(counts);
  });

  test('of one workflow or one fingerprint are found by their index, a page by the ids', async () => {
    const server = await startPostgres({ autovacuum: 'off' });
    onTestFinished(() => server.stop());
    const options = postgresOptions(server);
    const database = await openedPostgres(options);
    onTestFinished(() => database.close());
    const { fence } = await database.restore(queue);
    const letters = Array.from({ length: 20_000 }, (_, id) =>
      letterRow(id, { workflowId: `order-${id % 5_000}`, fingerprint: (id % 5_000).toString(16).padStart(16, '0') }),
    );
    await database.write(queue, fence, { kind: 'deadLetters', position: positionAt(1), delta: { letters, goneLetters: [] } });
    await server.run('ANALYZE');
    const scanned = async (): Promise<unknown> =>
      (
        await server.run(
          `SELECT seq_scan::float8 FROM pg_stat_user_tables WHERE schemaname = '${options.topicPrefix}' AND relname = 'dead_letters'`,
        )
      )[0]?.['seq_scan'];
    const before = await scanned();
    const equals = (name: string, operand: string): Condition => ({
      kind: 'compare',
      column: { name, kind: 'keyword' },
      operator: '=',
      operand,
    });
    for (const condition of [equals('WorkflowId', 'order-77'), equals('Fingerprint', '000000000000004d')]) {
      expect((await database.letters(queue, { ...page, condition })).rows.letters.map(({ messageId }) => messageId)).toEqual([
        77, 5_077, 10_077, 15_077,
      ]);
      expect((await database.countLetters(queue, condition)).rows).toBe(4);
    }
    expect((await database.letters(queue, page)).rows.letters.length).toBe(10);
    expect((await database.letters(queue, { ...page, afterMessageId: 19_995 })).rows.letters.length).toBe(4);
    // What a session has counted is told when it is idle for a second, or ends.
    await database.close();
    expect(await scanned()).toBe(before);
  });
});
