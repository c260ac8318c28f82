/** A List or Count that reads very many rows: others have their turns, and it ends. */
import { expect, onTestFinished, test } from 'vitest';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite-database.ts';
import type { SqliteOptions } from '../../src/database/sqlite/options.ts';
import type { Condition } from '../../src/visibility/condition.ts';
import { closedRow, uuid, visibilityRow } from '../contract/database/samples.ts';

const journal = { kind: 'history', partition: 0 } as const;
const namespaceId = uuid();
/** True of none, and no index knows. */
const condition: Condition = { kind: 'compare', column: { name: 'TaskQueue', kind: 'keyword' }, operator: '=', operand: "nobody's" };

async function filled(options: Partial<SqliteOptions> = {}): Promise<{ readonly database: SqliteDatabase; readonly fence: number }> {
  const database = new SqliteDatabase({ filename: undefined, ...options });
  onTestFinished(() => database.close());
  const { fence } = await database.restore(journal);
  const rows = Array.from({ length: 12_000 }, () => visibilityRow({ namespaceId, runId: uuid() }));
  expect(await database.flush(journal, fence, rows, [])).toBe('flushed');
  return { database, fence };
}

test('windows, writes and other lists do not wait for its end', async () => {
  const { database, fence } = await filled();
  const ended: string[] = [];
  const log = (what: string) => (): void => void ended.push(what);
  const query = { namespaceId, condition, after: undefined, max: 10 };
  await Promise.all([
    database.list(query).then(log('list')),
    database.count({ namespaceId, condition, byStatus: true }).then(log('count')),
    database.timers(journal, { afterFireTimeMs: 0, afterTaskId: 0, untilMs: 1, max: 1 }).then(log('window')),
    database.flush(journal, fence, [visibilityRow({ namespaceId })], []).then(log('flush')),
    database.list({ ...query, condition: undefined }).then(log('short list')),
  ]);
  expect(ended.slice(0, 3)).toEqual(['window', 'flush', 'short list']);
  expect(new Set(ended.slice(3))).toEqual(new Set(['list', 'count']));
});

test('it ends where its time is over, and what is short is answered', async () => {
  const { database } = await filled({ queryTimeoutMs: 0 });
  const query = { namespaceId, condition, after: undefined, max: 10 };
  const tooLong = { name: 'DatabaseError', code: 'overtime', message: 'the query did not end within 0 ms' };
  await expect(database.list(query)).rejects.toMatchObject(tooLong);
  await expect(database.count({ namespaceId, condition, byStatus: false })).rejects.toMatchObject(tooLong);
  expect((await database.list({ ...query, condition: undefined })).rows).toHaveLength(10);
  expect(await database.count({ namespaceId, condition: undefined, byStatus: false })).toEqual([{ status: undefined, count: 12_000 }]);
});

test('a run that closes while a page is read is on it once, and keeps no other from it', async () => {
  const { database, fence } = await filled();
  const rare = (startTimeMs: number) => visibilityRow({ namespaceId, runId: uuid(), taskQueue: "nobody's", startTimeMs });
  const newest = rare(1_780_000_000_000);
  const oldest = rare(5);
  await database.flush(journal, fence, [newest, oldest], []);
  const [{ rows }] = await Promise.all([
    database.list({ namespaceId, condition, after: undefined, max: 2 }),
    database.flush(journal, fence, [closedRow(newest, 1_790_000_000_000)], []),
    database.flush(journal, fence, [closedRow(oldest, 1_600_000_000_000)], []),
  ]);
  expect(rows.map(({ runId, status }) => ({ runId, status }))).toEqual([
    { runId: newest.runId, status: 1 },
    { runId: oldest.runId, status: 2 },
  ]);
});
