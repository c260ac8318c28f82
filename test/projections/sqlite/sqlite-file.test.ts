import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openSqlite } from '../../../src/projections/sqlite/open-sqlite.ts';
import { migrations } from '../../../src/projections/sqlite/migrations.ts';
import { sqliteDatabase } from '../../../src/projections/sqlite/sqlite-database.ts';
import { sqliteFailure } from '../../../src/sqlite/sqlite-failure.ts';
import { openEmbeddedLog } from '../../../src/topics/embedded/embedded-log.ts';
import { emptyDelta, positionAt, runRow } from '../../contract/database/samples.ts';
import { until } from '../../support/event-loop.ts';
import { deltaAt, generationsIn, journalUnderTest } from './generations.ts';
import type { Database, JournalId } from '../../../src/projections/database-port.ts';

let folder: string;
let files = 0;
const opened: Database[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-state-'));
});
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const fresh = (): string => join(folder, `x-${files++}.db-state`);
function open(filename: string | undefined): Database {
  const database = openSqlite({ filename });
  opened.push(database);
  return database;
}

describe('what is no state of Perdure is refused in words, and left as it is', () => {
  const refused = async (filename: string, code: string, ...words: readonly string[]): Promise<void> => {
    const before = existsSync(filename) ? hashOf(filename) : undefined;
    const database = open(filename);
    const error: unknown = await database.position(journalUnderTest).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ name: 'DatabaseError', code });
    for (const word of [filename, ...words]) expect(String(error)).toContain(word);
    await expect(database.list({ namespaceId: '', condition: undefined, after: undefined, max: 1 })).rejects.toMatchObject({ code });
    await database.close();
    if (before !== undefined) expect(hashOf(filename)).toBe(before);
  };

  test('a file that is no database', async () => {
    const filename = fresh();
    writeFileSync(filename, 'notes of mine, and long enough to be read as the header of something\n'.repeat(50));
    await refused(filename, 'misconfigured', 'it is not an SQLite database');
  });

  test('the database of another program', async () => {
    const filename = fresh();
    const other = new DatabaseSync(filename);
    other.exec(`CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')`);
    other.close();
    await refused(filename, 'misconfigured', 'another program', 'name another file');
  });

  test('the log beside it', async () => {
    const filename = fresh();
    await (await openEmbeddedLog({ filename, topics: [{ name: 'x.history', partitions: 1 }] })).close();
    await refused(filename, 'misconfigured', 'but a log of one', 'name another file');
  });

  test('one of another version: both numbers are named', async () => {
    const filename = fresh();
    const database = open(filename);
    await database.bind('c');
    await database.close();
    const newer = new DatabaseSync(filename);
    newer.exec(`UPDATE perdure SET value = '99' WHERE name = 'migration'`);
    newer.close();
    await refused(filename, 'misconfigured', 'has schema migration 99', `this one knows ${migrations.length}`, 'restore a backup');
  });

  test('a folder that is not there, and one where a file should be', async () => {
    await refused(join(folder, 'absent', 'x.db-state'), 'unavailable', 'does its folder exist');
    const directory = fresh();
    mkdirSync(directory);
    await expect(open(directory).position(journalUnderTest)).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('what could not be opened is opened by a later call, once it can be', async () => {
    const filename = join(folder, 'later', 'x.db-state');
    const database = open(filename);
    await expect(database.bind('c')).rejects.toMatchObject({ code: 'unavailable' });
    mkdirSync(join(folder, 'later'));
    expect(await database.bind('c')).toBe('c');
  });

  test('damage in its pages', async () => {
    const filename = fresh();
    const database = open(filename);
    const { fence } = await database.restore(journalUnderTest);
    await database.write(journalUnderTest, fence, { kind: 'history', position: positionAt(1), delta: deltaAt(1) });
    await database.close();
    const bytes = readFileSync(filename);
    bytes.fill(0xa5, 8192);
    writeFileSync(filename, bytes);
    const damaged = open(filename);
    await expect(damaged.runs(journalUnderTest, '', 100, Infinity)).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining('is damaged'),
    });
  });

  test('damage in the row of a journal', async () => {
    const filename = fresh();
    const database = open(filename);
    const { fence } = await database.restore(journalUnderTest);
    await database.write(journalUnderTest, fence, { kind: 'history', position: positionAt(1), delta: deltaAt(1) });
    await database.close();
    const db = new DatabaseSync(filename);
    db.exec(`UPDATE journals SET trim_points = x'0203'`);
    db.close();
    await expect(open(filename).restore(journalUnderTest)).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining('the row of a journal is damaged'),
    });
  });

  test('a disk that is full, or read-only, or without the rights', () => {
    const filename = fresh();
    const db = new DatabaseSync(filename);
    db.exec('CREATE TABLE t (x BLOB); PRAGMA max_page_count = 3');
    expect(failureOf(db, 'INSERT INTO t VALUES (zeroblob(100000))', filename)).toEqual({
      kind: 'unavailable',
      message: `${filename} cannot grow: database or disk is full; make room on its disk`,
    });
    db.close();
    const readOnly = new DatabaseSync(filename, { readOnly: true });
    expect(failureOf(readOnly, 'INSERT INTO t VALUES (1)', filename)).toMatchObject({ kind: 'unavailable', message: /is read-only/ });
    readOnly.close();
  });
});

function failureOf(db: DatabaseSync, sql: string, filename: string): unknown {
  try {
    db.exec(sql);
    return undefined;
  } catch (error) {
    return sqliteFailure(error, filename, 'state');
  }
}

describe('the file of the state', () => {
  test('the tables of each migration are as they were released', async () => {
    const filename = fresh();
    const database = open(filename);
    await database.bind('c');
    await database.close();
    const db = new DatabaseSync(filename);
    const found = db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name').all();
    db.close();
    const text = found.map(({ sql }) => `${String(sql).replaceAll(/\s+/g, ' ')};\n`).join('');
    await expect(text).toMatchFileSnapshot(`../../fixtures/sqlite-state-${migrations.length}.sql`);
  });

  test('tables of an earlier version get the steps that they lack, with all that is in them; whoever knows fewer refuses them', async () => {
    const filename = fresh();
    const first = open(filename);
    await first.bind('of-an-earlier-version');
    await first.close();
    const next = [...migrations, `ALTER TABLE runs ADD COLUMN colour TEXT; UPDATE perdure SET value = 'red' WHERE name = 'none'`];
    for (let times = 0; times < 2; times++) {
      const database = openSqlite({ filename, migrations: next });
      expect(await database.cluster()).toBe('of-an-earlier-version');
      await database.close();
    }
    const reached = new DatabaseSync(filename);
    expect(reached.prepare(`SELECT value FROM perdure WHERE name = 'migration'`).get()).toEqual({ value: String(next.length) });
    expect(reached.prepare('SELECT colour FROM runs').all()).toEqual([]);
    reached.close();
    await expect(open(filename).cluster()).rejects.toThrow(`has schema migration ${next.length}, written by another version`);
  });

  test('opened again it is as it was; several that open a new one at once all can', async () => {
    const filename = fresh();
    const all = Array.from({ length: 4 }, () => open(filename));
    expect(await Promise.all(all.map((database, i) => database.bind(`cluster ${i}`)))).toHaveLength(4);
    const owner = await all[0]?.bind('another');
    await Promise.all(all.map((database) => database.close()));
    expect(await open(filename).bind('late')).toBe(owner);
  });

  test('SIGKILL in the middle of writes: the rows are of one checkpoint, and no older one than was acknowledged', async () => {
    const filename = fresh();
    let known = 0;
    for (let round = 0; round < 5; round++) {
      const child = writer(filename);
      const lines = linesOf(child);
      await until(() => lines.last() >= known + 3);
      // Somewhere in a write: each takes some ms.
      await new Promise((resolve) => setTimeout(resolve, round * 3));
      child.kill('SIGKILL');
      await once(child, 'exit');
      known = lines.last();
      const database = open(filename);
      const generations = await generationsIn(database);
      expect(generations).toHaveLength(1);
      expect(generations[0]).toBeGreaterThanOrEqual(known);
      expect(generations[0]).toBeLessThanOrEqual(known + 1);
      known = generations[0] ?? 0;
      await database.close();
    }
  });

  // The cache takes 32 MiB: what is larger is written before the commit.
  test.each([
    ['in the commit', 8, 'unknown'],
    ['before the commit', 48, 'unavailable'],
  ])('a disk that takes no more %s: nothing of the write stays, and the next one that fits is written', async (_, megabytes, outcome) => {
    const filename = fresh();
    const script = fileURLToPath(new URL('./write-until-full.ts', import.meta.url));
    const limited = 'ulimit -f 4096; exec "$@"';
    const args = ['-c', limited, 'bash', process.execPath, script, filename, String(megabytes)];
    const child = spawn('bash', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = linesOf(child);
    expect((await once(child, 'close'))[0]).toBe(0);
    expect(lines.all()).toEqual(['written 1', `${outcome} 1`, 'written 3']);
  });

  test('a commit that failed, and whose file cannot be synced yet: what is cold is read, and nothing rests on it', async () => {
    const script = fileURLToPath(new URL('./read-in-doubt.ts', import.meta.url));
    const args = ['-c', 'ulimit -f 4096; exec "$@"', 'bash', process.execPath, script, fresh()];
    const child = spawn('bash', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = linesOf(child);
    expect((await once(child, 'close'))[0]).toBe(0);
    expect(lines.all()).toEqual([
      'write written',
      'write unknown',
      'load found',
      'position unavailable',
      'load found',
      'position 1',
      'write written',
      'load found',
    ]);
  });

  test('restores that are asked for together are one commit; one whose row is damaged fails alone', async () => {
    const filename = fresh();
    const database = sqliteDatabase({ filename });
    opened.push(database);
    const journals: readonly JournalId[] = (['history', 'matching'] as const).flatMap((kind) =>
      [0, 1, 2, 3].map((partition) => ({ kind, partition })),
    );
    const restoreAll = () => Promise.allSettled(journals.map((journal) => database.restore(journal)));
    await database.bind('c');
    const before = commitsIn(filename);
    const first = await restoreAll();
    expect(commitsIn(filename) - before).toBe(1);
    const fences = first.map((each) => (each.status === 'fulfilled' ? each.value.fence : 0));
    // One after another they are one each.
    for (const journal of journals) await database.restore(journal);
    expect(commitsIn(filename) - before).toBe(1 + 8);

    const position = positionAt(3);
    const { fence } = await database.restore(journals[1]!);
    await database.write(journals[1]!, fence, { kind: 'history', position, delta: emptyDelta });
    const other = new DatabaseSync(filename);
    other.exec(`UPDATE journals SET sequence = 9007199254740993 WHERE kind = 'history' AND partition = 1`);
    other.close();
    const again = await restoreAll();
    expect(again.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, true, true, true, true, true]);
    for (const [nth, each] of again.entries()) {
      if (each.status === 'fulfilled') expect(each.value.fence).toBeGreaterThan(fences[nth] ?? 0);
      else expect(each.reason).toMatchObject({ name: 'DatabaseError' });
    }
  });

  test('the order of what is asked for stays: a write before the second of two restores is not fenced by it', async () => {
    const database = sqliteDatabase({ filename: fresh() });
    opened.push(database);
    const { fence } = await database.restore(journalUnderTest);
    const checkpoint = { kind: 'history', position: positionAt(1), delta: emptyDelta } as const;
    const other = { kind: 'history', partition: 4 } as const;
    const all = [database.restore(other), database.write(journalUnderTest, fence, checkpoint), database.restore(journalUnderTest)] as const;
    const [, written, restored] = await Promise.all(all);
    expect(written).toEqual({ kind: 'written' });
    expect(restored.position?.nextOffset).toBe(1);
  });

  test('another process holds the lock: loads are answered, and the write comes when it lets go', async () => {
    const filename = fresh();
    const database = open(filename);
    const { fence } = await database.restore(journalUnderTest);
    const namespaceId = '22222222-0000-4000-8000-000000000000';
    const cold = runRow({ namespaceId, workflowId: 'cold' });
    const first = { ...emptyDelta, runs: [cold], currentRuns: [cold] };
    await database.write(journalUnderTest, fence, { kind: 'history', position: positionAt(1), delta: first });
    const stranger = new DatabaseSync(filename);
    stranger.exec('BEGIN IMMEDIATE');
    let isWritten = false;
    const write = database.write(journalUnderTest, fence, { kind: 'history', position: positionAt(2), delta: emptyDelta });
    const ended = write.finally(() => void (isWritten = true));
    for (let nth = 0; nth < 5; nth++) {
      const { rows } = await database.load(journalUnderTest, [{ kind: 'current', namespaceId, workflowId: 'cold' }]);
      expect(rows[0]?.currentRunId).toBe(cold.runId);
    }
    expect(isWritten).toBe(false);
    stranger.exec('ROLLBACK');
    stranger.close();
    expect(await ended).toEqual({ kind: 'written' });
  });

  test('a lock that is never let go of: the write says so', async () => {
    const filename = fresh();
    const database = open(filename);
    const { fence } = await database.restore(journalUnderTest);
    const stranger = new DatabaseSync(filename);
    stranger.exec('BEGIN IMMEDIATE');
    const write = database.write(journalUnderTest, fence, { kind: 'history', position: positionAt(1), delta: emptyDelta });
    await expect(write).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('in use by another process') });
    stranger.close();
  });

  test('what a large write leaves of the write-ahead log goes when it starts again', async () => {
    const filename = fresh();
    const database = open(filename);
    const { fence } = await database.restore(journalUnderTest);
    const write = (nth: number, bytes: number) => {
      const runs = Array.from({ length: 8 }, () =>
        runRow({ namespaceId: '22222222-0000-4000-8000-000000000000', state: new Uint8Array(bytes / 8) }),
      );
      return database.write(journalUnderTest, fence, { kind: 'history', position: positionAt(nth), delta: { ...emptyDelta, runs } });
    };
    const mib = 2 ** 20;
    await write(1, 40 * mib);
    expect(statSync(`${filename}-wal`).size).toBeGreaterThan(40 * mib);
    await write(2, 64);
    await write(3, 64);
    expect(statSync(`${filename}-wal`).size).toBeLessThanOrEqual(16 * mib);
  });

  test('two processes: who restores later writes on, the other is fenced and changes nothing more', async () => {
    const filename = fresh();
    const child = writer(filename);
    const lines = linesOf(child);
    await until(() => lines.last() >= 3);
    const database = open(filename);
    const { fence, position } = await database.restore(journalUnderTest);
    const exited = once(child, 'exit');
    const next = (position?.nextOffset ?? 0) + 1;
    const outcome = await database.write(journalUnderTest, fence, { kind: 'history', position: positionAt(next), delta: deltaAt(next) });
    expect(outcome).toEqual({ kind: 'written' });
    expect((await exited)[0]).toBe(3);
    expect(lines.all().at(-1)).toBe('fenced');
    expect(await generationsIn(database)).toEqual([next]);
  });
});

describe.each([
  ['in memory', () => undefined],
  ['on a file', fresh],
])('a large write %s', (_, filename) => {
  test('lets loads and histories through between its chunks', async () => {
    const database = open(filename());
    const { fence } = await database.restore(journalUnderTest);
    const namespaceId = '22222222-0000-4000-8000-000000000000';
    const cold = runRow({ namespaceId, workflowId: 'cold' });
    const first = { ...emptyDelta, runs: [cold], currentRuns: [cold] };
    await database.write(journalUnderTest, fence, { kind: 'history', position: positionAt(1), delta: first });
    // A thread of its own may answer it, which has started then.
    await database.load(journalUnderTest, []);
    const ended: string[] = [];
    const runs = Array.from({ length: 20_000 }, () => runRow({ namespaceId }));
    const write = database
      .write(journalUnderTest, fence, { kind: 'history', position: positionAt(2), delta: { ...emptyDelta, runs } })
      .then(({ kind }) => ended.push(kind));
    const loaded = await database.load(journalUnderTest, [{ kind: 'current', namespaceId, workflowId: 'cold' }]);
    ended.push('load');
    expect(loaded).toMatchObject({ fence, rows: [{ currentRunId: cold.runId, run: { runId: cold.runId } }] });
    await database.history(journalUnderTest, { runId: cold.runId, branch: 0, firstEventId: 1, lastEventId: 1, bytesMax: 1 });
    ended.push('history');
    await write;
    expect(ended).toEqual(['load', 'history', 'written']);
  });
});

function writer(filename: string): ChildProcess {
  return spawn(process.execPath, [fileURLToPath(new URL('./write-forever.ts', import.meta.url)), filename], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function linesOf(child: ChildProcess): { readonly all: () => readonly string[]; readonly last: () => number } {
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  // What stands behind the last newline may be cut off.
  const all = (): readonly string[] => text.split('\n').slice(0, -1);
  return { all, last: () => Number(all().findLast((line) => /^\d+$/.test(line)) ?? 0) };
}

/** Frames of the write-ahead log that end a transaction: they say how large the file is then (sqlite.org/fileformat2.html, 4). */
function commitsIn(filename: string): number {
  const log = readFileSync(`${filename}-wal`);
  const salts = log.subarray(16, 24);
  const frameBytes = 24 + log.readUInt32BE(8);
  let commits = 0;
  for (let at = 32; at + frameBytes <= log.length && log.subarray(at + 8, at + 16).equals(salts); at += frameBytes) {
    if (log.readUInt32BE(at + 4) !== 0) commits += 1;
  }
  return commits;
}

const hashOf = (filename: string): string => createHash('sha1').update(readFileSync(filename)).digest('hex');

test('a file that is moved away while it is used: nothing is written or listed, no new one is made, and it goes on where it is put back', async () => {
  const filename = fresh();
  const database = open(filename);
  const { fence } = await database.restore(journalUnderTest);
  const checkpoint = { kind: 'history', position: positionAt(1), delta: emptyDelta } as const;
  await rename(filename, `${filename}-aside`);
  const said = { code: 'unavailable', message: expect.stringContaining('put it back') };
  await expect(database.write(journalUnderTest, fence, checkpoint)).rejects.toMatchObject(said);
  await expect(database.list({ namespaceId: '', condition: undefined, after: undefined, max: 1 })).rejects.toMatchObject(said);
  expect(existsSync(filename)).toBe(false);
  await rename(`${filename}-aside`, filename);
  expect(await database.write(journalUnderTest, fence, checkpoint)).toEqual({ kind: 'written' });
  expect(await database.list({ namespaceId: '', condition: undefined, after: undefined, max: 1 })).toEqual({ rows: [] });
});

test('a backup that is put in its place while it is used is read by nobody, and it goes on where it is put back', async () => {
  const filename = fresh();
  const database = open(filename);
  const { fence } = await database.restore(journalUnderTest);
  const namespaceId = crypto.randomUUID();
  const runs = Array.from({ length: 200 }, (_, nth) => runRow({ namespaceId, workflowId: `wf-${nth}`, state: Buffer.alloc(1_000, 'o') }));
  const changed = { ...runs[100]!, state: Buffer.alloc(1_000, 'n') };
  const write = async (at: number, base: number, some: typeof runs): Promise<void> => {
    const delta = { ...emptyDelta, runs: some };
    const checkpoint = { kind: 'history', position: positionAt(at), delta, base } as const;
    expect(await database.write(journalUnderTest, fence, checkpoint)).toEqual({ kind: 'written' });
  };
  const other = new DatabaseSync(filename);
  await write(10, 0, runs);
  other.exec(`PRAGMA wal_checkpoint(TRUNCATE); VACUUM INTO '${filename}-backup'`);
  await write(20, positionAt(10).nextOffset, [changed]);
  other.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  other.close();
  // The row of the journal is in the write-ahead log, which the backup would have for its own.
  await write(30, positionAt(20).nextOffset, [runRow({ namespaceId, workflowId: 'another' })]);
  await rename(filename, `${filename}-aside`);
  await rename(`${filename}-backup`, filename);

  const load = () => database.load(journalUnderTest, [{ ...changed, kind: 'run' }]);
  await expect(load()).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('was deleted, moved or replaced') });
  const listed = database.list({ namespaceId, condition: undefined, after: undefined, max: 1 });
  await expect(listed).rejects.toMatchObject({ code: 'unavailable' });
  await rename(`${filename}-aside`, filename);
  const { nextOffset, rows } = await load();
  expect([nextOffset, Buffer.from(rows[0]!.run!.state)]).toEqual([positionAt(30).nextOffset, changed.state]);
});
