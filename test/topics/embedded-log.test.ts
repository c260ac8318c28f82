import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openSqlite } from '../../src/projections/sqlite/open-sqlite.ts';
import { openEmbeddedLog } from '../../src/topics/embedded/embedded-log.ts';
import { logContract } from '../contract/log-contract.ts';
import { partitionsMin } from '../contract/log-limits.ts';
import { baseOf, LogWriter, readAll, record } from '../contract/log-writer.ts';
import type { AppendOutcome, LogError } from '../../src/ports/log.ts';
import { until } from '../support/event-loop.ts';

const topics = [{ name: 'test.history', partitions: partitionsMin }] as const;
const at = { topic: 'test.history', partition: 0 } as const;

logContract('embedded, in memory', 'in memory', async () => ({
  topic: 'test.history',
  open: () => openEmbeddedLog({ filename: undefined, topics }),
  stop: async () => {},
}));

logContract('embedded, in a file', 'durable', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-log-'));
  return {
    topic: 'test.history',
    open: () => openEmbeddedLog({ filename: join(folder, 'log.sqlite'), topics }),
    stop: () => rm(folder, { recursive: true, force: true }),
  };
});

test('a record that cannot be encoded fails its partition; the others are appended', async () => {
  const log = await openEmbeddedLog({ filename: undefined, topics });
  const unwritable = record(1, { workflowId: 'w'.repeat(70_000) });
  const [bad, good] = [new LogWriter(log, at), new LogWriter(log, { ...at, partition: 1 })];
  const append = (): Promise<readonly AppendOutcome[]> => Promise.all([bad.append(unwritable), good.append(record(1))]);
  const kinds = (outcomes: readonly AppendOutcome[]): readonly string[] => outcomes.map(({ kind }) => kind);
  expect(kinds(await append())).toEqual(['unknown', 'unknown']);
  expect(kinds(await append())).toEqual(['failed', 'appended']);
  expect(await readAll(log, at)).toEqual([]);
  expect(baseOf(await good.append(record(2)))).toBe(1);
  await log.close();
});

test('in memory, reads and trims find their batch among many that are large', async () => {
  const log = await openEmbeddedLog({ filename: undefined, topics });
  const writer = new LogWriter(log, at);
  const value = (sequence: number): Uint8Array => new Uint8Array(sequence === 20 ? 600_000 : 30_000).fill(sequence);
  for (let sequence = 0; sequence < 40; sequence++) await writer.append(record(sequence, { value: value(sequence) }));
  for (const from of [0, 7, 8, 19, 20, 21, 39]) {
    const read = await log.read(at, from, 100_000);
    expect(read.length).toBeGreaterThan(0);
    for (const [i, one] of read.entries()) expect(one).toMatchObject({ offset: from + i, value: value(from + i) });
  }
  await log.truncate(at, 25);
  await expect(log.read(at, 24, 1)).rejects.toMatchObject({ code: 'out-of-range' });
  expect((await readAll(log, at)).map(({ offset }) => offset)).toEqual(Array.from({ length: 15 }, (_, i) => 25 + i));
  await log.close();
});

describe('the file of the embedded log', () => {
  let folder: string;
  let files = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-log-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const fresh = (): string => join(folder, `log-${files++}.sqlite`);

  test('belongs to one opener at a time', async () => {
    const filename = fresh();
    const log = await openEmbeddedLog({ filename, topics });
    await expect(openEmbeddedLog({ filename, topics })).rejects.toMatchObject({ code: 'locked', recoverable: false });
    await expect(openEmbeddedLog({ filename, topics })).rejects.toThrow(/in use by another process/);
    // The loser took nothing away from the winner.
    baseOf(await new LogWriter(log, at).append(record(1)));
    await log.close();
    await (await openEmbeddedLog({ filename, topics })).close();
  });

  test('SIGKILL loses nothing that was acknowledged, tears no batch, and leaves no lock', async () => {
    const filename = fresh();
    let known = 0;
    for (let round = 0; round < 3; round++) {
      const child = appender(filename);
      const acknowledged = acknowledgements(child);
      await acknowledged.atLeast(known + 50);
      if (round === 0) await expect(openEmbeddedLog({ filename, topics })).rejects.toMatchObject({ code: 'locked' });
      child.kill('SIGKILL');
      await once(child, 'exit');
      known = acknowledged.end();
      const log = await openEmbeddedLog({ filename, topics });
      const records = await readAll(log, at);
      expect(records.length).toBeGreaterThanOrEqual(known);
      // Batches of three, numbered by the offset they were meant for: whole, and in place.
      expect(records.length % 3).toBe(0);
      for (const one of records) expect(one.sequence).toBe(one.offset);
      known = records.length;
      await log.close();
    }
  });

  test('a disk that fills up: the append is refused, the log stops, what was acknowledged stays', async () => {
    const filename = fresh();
    const failures: LogError[] = [];
    const pragmas = [['max_page_count', '100']] as const;
    const log = await openEmbeddedLog({ filename, topics, pragmas, onFailure: (error) => failures.push(error) });
    const writer = new LogWriter(log, at);
    const value = new Uint8Array(10_000);
    let acknowledged = 0;
    for (;;) {
      const outcome = await writer.append(record(acknowledged, { value }));
      if (outcome.kind !== 'appended') {
        expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('full') });
        break;
      }
      acknowledged++;
    }
    expect(acknowledged).toBeGreaterThan(1);
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatchObject({ code: 'unavailable', recoverable: false });
    // Not even a small one: nobody knows what works and what does not.
    expect((await writer.append(record(0))).kind).toBe('refused');
    await expect(log.read(at, 0, 1024)).rejects.toThrow(/the log stopped/);
    expect(failures).toHaveLength(1);
    await log.close();
    const again = await openEmbeddedLog({ filename, topics });
    expect((await readAll(again, at)).map(({ sequence }) => sequence)).toEqual(Array.from({ length: acknowledged }, (_, i) => i));
    expect(baseOf(await new LogWriter(again, at).append(record(0)))).toBe(acknowledged);
    await again.close();
  });

  test('a commit that fails is in doubt, is not tried again, and costs nothing that was acknowledged', async () => {
    const filename = fresh();
    // The kernel refuses to let any file grow beyond 1 MiB: the write-ahead log hits that within a commit.
    const child = appender(filename, "trap '' XFSZ; ulimit -f 2048; exec");
    const acknowledged = acknowledgements(child);
    const [code] = await once(child, 'exit');
    expect(code).toBe(3);
    expect(acknowledged.last()).toBe('unknown');
    const log = await openEmbeddedLog({ filename, topics });
    const records = await readAll(log, at);
    expect(records.length).toBeGreaterThanOrEqual(acknowledged.end());
    expect(records.length % 3).toBe(0);
    for (const one of records) expect(one.sequence).toBe(one.offset);
    await log.close();
  });

  test('a batch with a flipped bit is reported, never served', async () => {
    const filename = fresh();
    const log = await openEmbeddedLog({ filename, topics });
    const writer = new LogWriter(log, at);
    for (let i = 0; i < 3; i++) await writer.append(record(i));
    await log.close();
    const db = new DatabaseSync(filename);
    const data = db.prepare('SELECT data FROM journal_1 WHERE base = 1').get()?.['data'];
    if (!(data instanceof Uint8Array)) throw new Error('the batch at offset 1 is a blob');
    data.set([(data.at(-1) ?? 0) ^ 1], data.length - 1);
    db.prepare('UPDATE journal_1 SET data = ? WHERE base = 1').run(data);
    db.close();
    const again = await openEmbeddedLog({ filename, topics });
    await expect(again.read(at, 0, 1_000_000)).rejects.toMatchObject({ code: 'corrupt', message: expect.stringContaining('offset 1') });
    expect((await again.read(at, 2, 1))[0]?.sequence).toBe(2);
    await again.close();
  });

  test('a long journal is trimmed step by step: appends and reads do not wait for its end, and what a process left undone goes later', async () => {
    const filename = fresh();
    const batches = 3_000;
    const log = await openEmbeddedLog({ filename, topics, pragmas: [['synchronous', 'off']] });
    const [long, other] = [new LogWriter(log, at), new LogWriter(log, { ...at, partition: 1 })];
    for (let i = 0; i < batches; i++) baseOf(await long.append(record(i)));
    const order: string[] = [];
    const trimmed = log.truncate(at, batches - 10).then(() => order.push('trimmed'));
    // What is asked for from now on is below the start, whatever is still there of it.
    await expect(log.read(at, 1_000, 1)).rejects.toMatchObject({ code: 'out-of-range' });
    expect((await log.read(at, batches - 10, 1))[0]?.sequence).toBe(batches - 10);
    expect(baseOf(await other.append(record(0)))).toBe(0);
    order.push('appended');
    await trimmed;
    expect(order).toEqual(['appended', 'trimmed']);

    for (let i = batches; i < 2 * batches; i++) baseOf(await long.append(record(i)));
    const begun = log.truncate(at, 2 * batches - 10);
    await log.close();
    await begun;
    const rows = (): number => {
      const db = new DatabaseSync(filename);
      const { count } = db.prepare('SELECT count(*) AS count FROM journal_1').get() ?? {};
      db.close();
      return Number(count);
    };
    expect(rows()).toBeGreaterThan(1_000);
    const again = await openEmbeddedLog({ filename, topics });
    expect(await again.bounds(at)).toEqual({ start: 2 * batches - 10, end: 2 * batches });
    expect((await readAll(again, at)).map(({ sequence }) => sequence)).toEqual(Array.from({ length: 10 }, (_, i) => 2 * batches - 10 + i));
    await again.truncate(at, 2 * batches - 1);
    await again.close();
    expect(rows()).toBe(1);
  });

  /** A journal of 600 batches, of which those from `fromBase` on cannot be dropped. */
  async function stuckAt(fromBase: number): Promise<string> {
    const filename = fresh();
    const log = await openEmbeddedLog({ filename, topics, pragmas: [['synchronous', 'off']] });
    const writer = new LogWriter(log, at);
    for (let i = 0; i < 600; i++) baseOf(await writer.append(record(i)));
    await log.close();
    const db = new DatabaseSync(filename);
    db.exec(
      `CREATE TRIGGER stuck BEFORE DELETE ON journal_1 WHEN old.base >= ${fromBase} BEGIN SELECT RAISE(ABORT, 'no batch goes from here'); END`,
    );
    db.close();
    return filename;
  }

  test.each([
    ['a later step', 300, 500],
    ['the first step', 0, 0],
  ])('%s of a trim fails: the start is where the file has it', async (_which, fromBase, start) => {
    const log = await openEmbeddedLog({ filename: await stuckAt(fromBase), topics });
    await expect(log.truncate(at, 500)).rejects.toThrow('no batch goes from here');
    expect(await log.bounds(at)).toEqual({ start, end: 600 });
    // What was asked for and is gone is no hole.
    if (start > 0) await expect(log.read(at, 100, 1)).rejects.toMatchObject({ code: 'out-of-range' });
    expect((await log.read(at, start, 1))[0]?.sequence).toBe(start);
    await log.close();
  });

  test('a trim that goes on beside another that goes further does not set the start back', async () => {
    const filename = fresh();
    const log = await openEmbeddedLog({ filename, topics, pragmas: [['synchronous', 'off']] });
    const writer = new LogWriter(log, at);
    for (let i = 0; i < 600; i++) baseOf(await writer.append(record(i)));
    // The second is through with its one step when the first takes its last.
    await Promise.all([log.truncate(at, 350), log.truncate(at, 390)]);
    expect(await log.bounds(at)).toEqual({ start: 390, end: 600 });
    await log.close();
    const again = await openEmbeddedLog({ filename, topics });
    expect(await again.bounds(at)).toEqual({ start: 390, end: 600 });
    expect((await readAll(again, at)).map(({ sequence }) => sequence)).toEqual(Array.from({ length: 210 }, (_, i) => 390 + i));
    await again.close();
  });

  test('partition counts are for ever', async () => {
    const filename = fresh();
    await (await openEmbeddedLog({ filename, topics })).close();
    const other = [{ name: 'test.history', partitions: 5 }];
    await expect(openEmbeddedLog({ filename, topics: other })).rejects.toMatchObject({ code: 'misconfigured' });
    await expect(openEmbeddedLog({ filename, topics: other })).rejects.toThrow('created with 48 partitions, asked for are 5');
  });

  test('what is no log is not touched', async () => {
    const filename = fresh();
    const text = 'this is a letter, not a database. '.repeat(100);
    await writeFile(filename, text);
    await expect(openEmbeddedLog({ filename, topics })).rejects.toMatchObject({ code: 'corrupt' });
    await expect(openEmbeddedLog({ filename, topics })).rejects.toThrow('it is not an SQLite database; name another file');
    expect(await readFile(filename, 'utf8')).toBe(text);
    await expect(openEmbeddedLog({ filename: join(folder, 'absent', 'log.sqlite'), topics })).rejects.toThrow(/does its folder exist/);
  });

  test('the database of another program, or the state beside a log, is refused in words and left as it is', async () => {
    const refused = async (filename: string, words: string): Promise<void> => {
      const before = await readFile(filename);
      await expect(openEmbeddedLog({ filename, topics })).rejects.toMatchObject({ code: 'misconfigured' });
      await expect(openEmbeddedLog({ filename, topics })).rejects.toThrow(`${filename} is not a log of Perdure, but ${words}`);
      expect((await readFile(filename)).equals(before)).toBe(true);
    };
    const another = fresh();
    const notes = new DatabaseSync(another);
    notes.exec(`CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')`);
    notes.close();
    await refused(another, 'an SQLite database of another program; name another file');

    const state = `${fresh()}-state`;
    const database = openSqlite({ filename: state });
    await database.bind('c');
    await database.close();
    await refused(state, 'the state that belongs to one; name that log');
  });

  test('a topic that is added while the log closes is refused in words', async () => {
    const log = await openEmbeddedLog({ filename: undefined, topics: [{ name: 'a', partitions: 1 }] });
    const added = ['x', 'y'].map((name) => log.addTopic({ name, partitions: 1, purpose: '' }));
    const outcomes = Promise.allSettled(added);
    await log.close();
    const closed = { status: 'rejected', reason: expect.objectContaining({ name: 'LogError', code: 'closed' }) };
    expect(await outcomes).toEqual([closed, closed]);
  });

  test('closing waits for what is under way, refuses what is not, and does not wait for who has left', async () => {
    const filename = fresh();
    const log = await openEmbeddedLog({ filename, topics });
    const [writer, leaving] = [new LogWriter(log, at), new LogWriter(log, { ...at, partition: 1 })];
    const outcomes = [writer.append(record(1)), writer.append(record(2))];
    await until(() => writer.sealed !== 0);
    leaving.ready();
    leaving.detach();
    await log.close();
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(['appended', 'refused']);
    await log.close();
    const again = await openEmbeddedLog({ filename, topics });
    expect(await again.end(at)).toBe(1);
    await again.close();
  });

  test('pragmas of the operator are applied, all but the lock', async () => {
    const filename = fresh();
    const log = await openEmbeddedLog({ filename, topics, pragmas: [['user_version', '42']] });
    await log.close();
    const db = new DatabaseSync(filename);
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: 42 });
    db.close();
    const refused = (name: string): Promise<unknown> => openEmbeddedLog({ filename, topics, pragmas: [[name, 'normal']] });
    await expect(refused('locking_mode')).rejects.toMatchObject({ code: 'misconfigured' });
    await expect(refused('x = 1; DROP TABLE journal_1; --')).rejects.toMatchObject({ code: 'misconfigured' });
    await (await openEmbeddedLog({ filename, topics })).close();
  });
});

type Appender = ReturnType<typeof spawn>;

/** A process of its own that appends batches of three and says what was acknowledged. */
function appender(filename: string, prefix = 'exec'): Appender {
  const script = fileURLToPath(new URL('./append-forever.ts', import.meta.url));
  return spawn('sh', ['-c', `${prefix} "$0" "$@"`, process.execPath, script, filename], { stdio: ['ignore', 'pipe', 'inherit'] });
}

function acknowledgements(child: Appender): { atLeast(end: number): Promise<void>; end(): number; last(): string } {
  let text = '';
  let wake = (): void => {};
  child.stdout?.on('data', (chunk) => {
    text += String(chunk);
    wake();
  });
  child.once('exit', () => wake());
  const lines = (): readonly string[] => text.split('\n').slice(0, -1);
  const end = (): number => Math.max(0, ...lines().map(Number).filter(Number.isInteger));
  return {
    end,
    last: () => lines().at(-1) ?? '',
    async atLeast(wanted) {
      while (end() < wanted) {
        if (child.exitCode !== null) throw new Error(`the appender ended with ${child.exitCode}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}
