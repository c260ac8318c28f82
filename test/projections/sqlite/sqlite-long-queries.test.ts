/** A List or Count that reads very many rows: others have their turns, and it ends. */
import { mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Connection } from '../../../src/projections/sqlite/connection.ts';
import { Moments } from '../../../src/projections/sqlite/moment.ts';
import { sqliteDatabase } from '../../../src/projections/sqlite/sqlite-database.ts';
import type { Database } from '../../../src/projections/database-port.ts';
import type { SqliteOptions } from '../../../src/projections/sqlite/options.ts';
import type { Condition } from '../../../src/filter/condition.ts';
import type { LetterRow } from '../../../src/deadletters/letter-records.ts';
import type { VisibilityRow } from '../../../src/projections/visibility/row.ts';
import { closedRow, letterRow, positionAt, uuid, visibilityRow } from '../../contract/database/samples.ts';

const journal = { kind: 'history', partition: 0 } as const;
const namespaceId = uuid();
/** True of none, and no index knows. */
const condition: Condition = { kind: 'compare', column: { name: 'TaskQueue', kind: 'keyword' }, operator: '=', operand: "nobody's" };

async function filled(
  options: Partial<SqliteOptions> = {},
): Promise<{ readonly database: Database; readonly fence: number; readonly rows: readonly VisibilityRow[] }> {
  const database = sqliteDatabase({ filename: undefined, ...options });
  onTestFinished(() => database.close());
  const { fence } = await database.restore(journal);
  const rows = Array.from({ length: 12_000 }, () => visibilityRow({ namespaceId, runId: uuid() }));
  expect(await database.flush(journal, fence, rows, [])).toBe('flushed');
  return { database, fence, rows };
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

test('a walk over many dead letters is in nobody’s way either', async () => {
  const { database, fence } = await filled();
  const queue = { kind: 'deadLetters', partition: 7 } as const;
  const held = await database.restore(queue);
  const letters = Array.from({ length: 12_000 }, (_, id) => letterRow(id));
  const written = { position: positionAt(1), kind: 'deadLetters', delta: { letters, goneLetters: [] } } as const;
  expect(await database.write(queue, held.fence, written)).toEqual({ kind: 'written' });
  const none: Condition = { kind: 'compare', column: { name: 'Build', kind: 'keyword' }, operator: '=', operand: 'none' };
  const ended: string[] = [];
  const log = (what: string) => (): void => void ended.push(what);
  await Promise.all([
    database.letters(queue, { condition: none, afterMessageId: -1, max: 10, bytesMax: 1_000 }).then(log('page')),
    database.letterIds(queue, { condition: none, afterMessageId: -1, max: 10 }).then(log('ids')),
    database.countLetters(queue, none).then(log('count')),
    database.letterGroups(queue, { condition: undefined, by: 'node', max: 10 }).then(log('groups')),
    database.timers(journal, { afterFireTimeMs: 0, afterTaskId: 0, untilMs: 1, max: 1 }).then(log('window')),
    database.flush(journal, fence, [visibilityRow({ namespaceId })], []).then(log('flush')),
  ]);
  expect(ended.slice(0, 2)).toEqual(['window', 'flush']);
  expect(new Set(ended.slice(2))).toEqual(new Set(['page', 'ids', 'count', 'groups']));
});

test('of a file, dead letters are counted and grouped as they were at one moment', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-letters-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const database = sqliteDatabase({ filename: join(folder, 'x.db-state') });
  onTestFinished(() => database.close());
  const queue = { kind: 'deadLetters', partition: 7 } as const;
  const { fence } = await database.restore(queue);
  const ids = Array.from({ length: 12_000 }, (_, id) => id);
  const write = (nextOffset: number, letters: readonly LetterRow[], goneLetters: readonly number[]) =>
    database.write(queue, fence, { position: positionAt(nextOffset), kind: 'deadLetters', delta: { letters, goneLetters } });
  await write(
    1,
    ids.map((id) => letterRow(id)),
    [],
  );
  const open: Condition = { kind: 'compare', column: { name: 'State', kind: 'keyword' }, operator: '=', operand: 'open' };
  const counting = database.countLetters(queue, open);
  const grouping = database.letterGroups(queue, { condition: open, by: 'node', max: 10 });
  expect(await write(2, [], ids.slice(6_000))).toEqual({ kind: 'written' });
  expect(await counting).toEqual({ fence, nextOffset: 1, rows: 12_000 });
  expect((await grouping).rows.map(({ key, count }) => [key, count])).toEqual([['host:7233', 12_000]]);
  expect(await database.countLetters(queue, open)).toEqual({ fence, nextOffset: 2, rows: 6_000 });
});

test('what is asked while it runs has its turn before its end', async () => {
  const { database } = await filled();
  const query = { namespaceId, condition, after: undefined, max: 10 };
  const ended: string[] = [];
  const log = (what: string) => (): void => void ended.push(what);
  const long = [database.list(query).then(log('list')), database.count({ namespaceId, condition, byStatus: true }).then(log('count'))];
  // As messages come into the thread: in a turn of its event loop.
  await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([...long, database.list({ ...query, condition: undefined }).then(log('short list'))]);
  expect(ended[0]).toBe('short list');
});

test('it ends where the caller has given up', async () => {
  const { database } = await filled();
  const query = { namespaceId, condition, after: undefined, max: 10 };
  const outcomes = [
    database.list({ ...query, asked: 1 }),
    database.count({ ...query, byStatus: true, asked: 2 }),
    database.list({ ...query, asked: 3 }),
  ];
  await Promise.all([database.giveUp(1), database.giveUp(2), database.giveUp(99)]);
  const [list, count, other] = await Promise.allSettled(outcomes);
  const givenUp = { status: 'rejected', reason: { code: 'overtime', message: 'the caller has given up' } };
  expect([list, count]).toMatchObject([givenUp, givenUp]);
  expect(other).toMatchObject({ status: 'fulfilled', value: { rows: [] } });
});

test('a walk over dead letters ends where the caller has given up', async () => {
  const { database } = await filled();
  const queue = { kind: 'deadLetters', partition: 7 } as const;
  const held = await database.restore(queue);
  const letters = Array.from({ length: 12_000 }, (_, id) => letterRow(id));
  await database.write(queue, held.fence, { position: positionAt(1), kind: 'deadLetters', delta: { letters, goneLetters: [] } });
  const open: Condition = { kind: 'compare', column: { name: 'ErrorMessage', kind: 'keyword' }, operator: '=', operand: 'none' };
  const outcomes = [
    database.letters(queue, { condition: open, afterMessageId: -1, max: 10, bytesMax: 1_000, asked: 'a' }),
    database.letterIds(queue, { condition: open, afterMessageId: -1, max: 10, asked: 'b' }),
    database.countLetters(queue, open, 'c'),
    database.letterGroups(queue, { condition: undefined, by: 'cause', max: 10, asked: 'd' }),
    database.countLetters(queue, open, 'e'),
  ];
  await Promise.all(['a', 'b', 'c', 'd', 'nobody'].map((asked) => database.giveUp(asked)));
  const givenUp = { status: 'rejected', reason: { code: 'overtime', message: 'the caller has given up' } };
  expect(await Promise.allSettled(outcomes)).toMatchObject([givenUp, givenUp, givenUp, givenUp, { status: 'fulfilled' }]);
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

function inFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-long-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'x.db-state');
}

/** All rows, and each must be looked at. */
const anybodys: Condition = { kind: 'not', condition };
const ofType: Condition = { kind: 'compare', column: { name: 'WorkflowType', kind: 'keyword' }, operator: '=', operand: 'Order' };

describe.each<[string, () => Partial<SqliteOptions>]>([
  ['in memory', () => ({})],
  ['in a file', () => ({ filename: inFile() })],
])('%s, while a Count goes over many rows', (where, options) => {
  test.each<[string, Condition]>([
    ['in one order', anybodys],
    ['by an index', { kind: 'and', conditions: [ofType, anybodys] }],
  ])('%s, each run is counted once, though it closes', async (_, asked) => {
    const { database, fence, rows } = await filled(options());
    // In every order some of them stand at its beginning, and some at its end.
    const byRun = rows.toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
    const closing = [...byRun.slice(0, 1_500), ...byRun.slice(-1_500)].map((row) => closedRow(row, row.startTimeMs + 60_000));
    const query = { namespaceId, condition: asked, byStatus: true };
    const [counts] = await Promise.all([database.count(query), database.flush(journal, fence, closing, [])]);
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(rows.length);
    // What a file held when it began; in memory each as it was when its turn came.
    if (where === 'in a file') expect(counts).toEqual([{ status: 1, count: rows.length }]);
    const after = new Set(await database.count(query));
    expect(after).toEqual(
      new Set([
        { status: 1, count: 9_000 },
        { status: 2, count: 3_000 },
      ]),
    );
  });
});

/** Whether nobody keeps the write-ahead log from beginning anew. */
function beginsAnew(filename: string): boolean {
  const db = new DatabaseSync(filename);
  const [state] = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
  db.close();
  return state?.['busy'] === 0;
}

test('a Count holds on to what a file held until it ends, or its time is over', async () => {
  const filename = inFile();
  const { database, fence } = await filled({ filename, queryTimeoutMs: 0 });
  // Of what stands in the file already nobody holds anything.
  await database.flush(journal, fence, [visibilityRow({ namespaceId })], []);
  const moment = new Moments({ filename }).present();
  expect(moment?.prepare('SELECT count(*) AS count FROM visibility').get()).toEqual({ count: 12_001 });
  expect(beginsAnew(filename)).toBe(false);
  moment?.close();
  await database.flush(journal, fence, [visibilityRow({ namespaceId })], []);
  await expect(database.count({ namespaceId, condition, byStatus: false })).rejects.toMatchObject({ code: 'overtime' });
  expect(beginsAnew(filename)).toBe(true);
});

test('of many Counts at once few have a connection of their own, and all are answered', async () => {
  const filename = inFile();
  const { rows, database, fence } = await filled({ filename });
  const moments = new Moments({ filename });
  const taken = [1, 2, 3, 4].map(() => moments.present());
  expect(taken).not.toContain(undefined);
  expect(moments.present()).toBeUndefined();
  taken[0]?.close();
  const another = moments.present();
  expect(another).toBeDefined();
  for (const moment of [...taken.slice(1), another]) moment?.close();
  const query = { namespaceId, condition: anybodys, byStatus: true };
  const all = [{ status: 1, count: rows.length }];
  const counts = Array.from({ length: 20 }, () => database.count(query));
  expect(await Promise.all(counts)).toEqual(counts.map(() => all));
  // They have given back what they had: this one sees nothing of what is written meanwhile.
  const closing = rows.map((row) => closedRow(row, row.startTimeMs + 60_000));
  const [seen] = await Promise.all([database.count(query), database.flush(journal, fence, closing, [])]);
  expect(seen).toEqual(all);
});

test('a connection that could not begin its moment is given back', async () => {
  const filename = inFile();
  await filled({ filename });
  const moments = new Moments({ filename });
  const statement = vi.spyOn(Connection.prototype, 'statement');
  onTestFinished(() => statement.mockRestore());
  for (const failing of ['BEGIN', 'SELECT 1 FROM perdure', 'BEGIN', 'SELECT 1 FROM perdure', 'BEGIN']) {
    statement.mockImplementation(function (this: Connection, sql) {
      if (sql === failing) throw new Error('the disk does not answer');
      return this.prepare(sql);
    });
    expect(() => moments.present()).toThrow('the disk does not answer');
  }
  statement.mockRestore();
  const taken = [1, 2, 3, 4].map(() => moments.present());
  expect(taken).not.toContain(undefined);
  for (const moment of taken) moment?.close();
});

test('where the write-ahead log is long no Count keeps it from starting again: it counts by run id', async () => {
  const filename = inFile();
  const { database, fence, rows } = await filled({ filename });
  // As if much had been written while others counted; what stands behind its last frame means nothing.
  truncateSync(`${filename}-wal`, 65 * 1024 * 1024);
  expect(new Moments({ filename }).present()).toBeUndefined();
  const [counts, later] = await Promise.all([
    database.count({ namespaceId, condition: anybodys, byStatus: false }),
    database.flush(journal, fence, [visibilityRow({ namespaceId, runId: 'ffffffff-ffff-7fff-bfff-ffffffffffff' })], []),
  ]);
  expect(later).toBe('flushed');
  expect(counts).toEqual([{ status: undefined, count: rows.length + 1 }]);
});

/** An index alone has what is asked, but for the words of lists, which are sought for each row. */
const costly: Extract<Condition, { kind: 'and' | 'or' }> = {
  kind: 'and',
  conditions: [
    { kind: 'compare', column: { name: 'ExecutionStatus', kind: 'int' }, operator: '=', operand: 1 },
    ...Array.from({ length: 40 }, (_, number): Condition => ({
      kind: 'or',
      conditions: [
        { kind: 'compare', column: { name: 'BuildIds', kind: 'keywordList' }, operator: '!=', operand: `z${number}` },
        { kind: 'compare', column: { name: 'ExecutionStatus', kind: 'int' }, operator: '=', operand: 7 },
      ],
    })),
  ],
};
/** Some thousand of them are in a range, and put in order before they are read. */
const narrowAndCostly: Condition = {
  kind: 'and',
  conditions: [...costly.conditions, { kind: 'compare', column: { name: 'StartTime', kind: 'datetime' }, operator: '>=', operand: 0 }],
};

describe.each<[string, () => Partial<SqliteOptions>]>([
  ['in memory', () => ({})],
  ['in a file', () => ({ filename: inFile() })],
])('%s, while each row of one namespace costs much', (_, options) => {
  test.each<[string, (database: Database) => Promise<unknown>, unknown]>([
    ['a Count', (database) => database.count({ namespaceId, condition: costly, byStatus: true, asked: 1 }), [{ status: 1, count: 12_000 }]],
    [
      'a Count of a range',
      (database) => database.count({ namespaceId, condition: narrowAndCostly, byStatus: false, asked: 1 }),
      [{ status: undefined, count: 12_000 }],
    ],
    [
      'a List of what nothing meets',
      (database) => database.list({ namespaceId, condition: { kind: 'not', condition: costly }, after: undefined, max: 10, asked: 1 }),
      { rows: [] },
    ],
  ])('%s lets lists of others go on, ends as it should, and when it is given up', async (__, ask, expected) => {
    const { database, fence } = await filled({ ...options(), queryTimeoutMs: 600_000 });
    const other = visibilityRow({ namespaceId: uuid() });
    await database.flush(journal, fence, [other], []);
    const listed = { namespaceId: other.namespaceId, condition: undefined, after: undefined, max: 10 };
    let isOver = false;
    const answered = ask(database).finally(() => (isOver = true));
    let lists = 0;
    while (!isOver) {
      expect((await database.list(listed)).rows).toHaveLength(1);
      lists++;
      // As messages come into the thread: in a turn of its event loop.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await answered).toEqual(expected);
    // In one statement it would have been one or two.
    expect(lists).toBeGreaterThan(5);
    const givenUp = ask(database);
    const refused = expect(givenUp).rejects.toMatchObject({ code: 'overtime', message: 'the caller has given up' });
    await database.list(listed);
    await database.giveUp(1);
    await refused;
  });
});
