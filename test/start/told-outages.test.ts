/** A database that is away is logged in one line every ten seconds, however many ask it; that it answers again, once. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DatabaseError, type Checkpoint, type Database } from '../../src/projections/database-port.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { toldOutages } from '../../src/start/told-outages.ts';
import { emptyDelta, positionAt } from '../contract/database/samples.ts';
import { MemoryDatabase } from '../support/memory-database.ts';

type Line = { readonly level: string; readonly msg: string } & Readonly<Record<string, unknown>>;

let nowMs: number;
let lines: Line[];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  nowMs = 1_000_000;
  lines = [];
});
afterEach(() => {
  vi.useRealTimers();
});

const logger = createLogger({
  level: 'info',
  format: 'json',
  write: (line) => void lines.push(JSON.parse(line) as Line),
  nowMs: () => nowMs,
});
const refused = 'connect ECONNREFUSED';
const journal = { kind: 'history', partition: 0 } as const;
const checkpoint: Checkpoint = { kind: 'history', position: positionAt(1), base: 0, delta: emptyDelta };

function told(fault: (name: keyof Database) => DatabaseError | undefined): Database {
  const memory = new MemoryDatabase();
  const failing = new Proxy(memory as Database, {
    get: (target, name: keyof Database) => {
      const method = target[name];
      if (typeof method !== 'function') return method;
      return (...args: never[]) => {
        const error = name === 'close' ? undefined : fault(name);
        return error === undefined ? (method as (...args: never[]) => unknown).apply(target, args) : Promise.reject(error);
      };
    },
  });
  return toldOutages(failing, logger, () => nowMs);
}

/** Each of 16 shards looks for closed runs and writes rows of List, and somebody lists. */
async function askAll(database: Database): Promise<readonly PromiseSettledResult<unknown>[]> {
  const journals = Array.from({ length: 16 }, (_, partition) => ({ kind: 'history', partition }) as const);
  return await Promise.allSettled([
    ...journals.map((journal) => database.flush(journal, 1, [], [])),
    ...journals.map((journal) => database.dueRuns(journal, 0, 1)),
    database.list({ namespaceId: crypto.randomUUID(), condition: undefined, after: undefined, max: 1 }),
  ]);
}

test('one line for all that ask it, every ten seconds, with how many and why; and one when it answers', async () => {
  let fault: DatabaseError | undefined = new DatabaseError('unavailable', refused);
  const database = told(() => fault);
  for (let half = 0; half < 50; half++) {
    const asked = await askAll(database);
    expect(asked.every(({ status }) => status === 'rejected')).toBe(true);
    nowMs += 500;
    vi.advanceTimersByTime(500);
  }
  expect(lines.map(({ level, msg, partitions, seconds }) => [level, msg, partitions, seconds])).toEqual(
    [1, 11, 21].map((seconds) => ['warn', 'the database is away: workflows in memory continue, others are unavailable', 16, seconds]),
  );
  expect(lines[0]).toMatchObject({ database: database.name, error: refused });
  fault = undefined;
  await askAll(database);
  expect(lines.slice(3)).toMatchObject([{ level: 'info', msg: 'the database answers again', seconds: 25 }]);
  vi.advanceTimersByTime(60_000);
  expect(lines).toHaveLength(4);
  await database.close();
});

test('whoever gave up and asks no more does not hold up that it answers again', async () => {
  let fault: DatabaseError | undefined = new DatabaseError('unavailable', refused);
  const database = told(() => fault);
  await askAll(database);
  nowMs += 1_000;
  vi.advanceTimersByTime(1_000);
  expect(lines.map(({ level }) => level)).toEqual(['warn']);
  fault = undefined;
  for (let partition = 0; partition < 16; partition++) await database.flush({ kind: 'history', partition }, 1, [], []);
  expect(lines.slice(1)).toMatchObject([{ level: 'info', msg: 'the database answers again', partitions: 16 }]);
  await database.close();
});

test('a disk that is full is reported, though everything can be read', async () => {
  const database = told((name) => (name === 'flush' ? new DatabaseError('unavailable', 'disk full') : undefined));
  for (let half = 0; half < 3; half++) {
    await Promise.allSettled([database.flush({ kind: 'history', partition: 0 }, 1, [], [])]);
    await database.cluster();
    nowMs += 500;
    vi.advanceTimersByTime(500);
  }
  expect(lines).toMatchObject([{ level: 'warn', partitions: 1, error: 'disk full' }]);
  await database.close();
});

test('what it refuses is an answer, and told by whoever asked', async () => {
  const database = told(() => new DatabaseError('data', 'invalid byte sequence'));
  for (let half = 0; half < 10; half++) {
    await askAll(database);
    nowMs += 500;
    vi.advanceTimersByTime(500);
  }
  expect(lines).toEqual([]);
  await database.close();
});

test('a List that reads too much is no outage', async () => {
  const database = told((name) => (name === 'list' ? new DatabaseError('overtime', 'the query did not end within 10000 ms') : undefined));
  for (let half = 0; half < 4; half++) {
    await askAll(database);
    nowMs += 500;
    vi.advanceTimersByTime(500);
  }
  expect(lines).toEqual([]);
  await database.close();
});

test('a commit whose outcome nobody knows, again and again, is one outage; a stop is not its end', async () => {
  const memory = new MemoryDatabase();
  memory.write = () => Promise.resolve({ kind: 'unknown', reason: 'disk full' });
  const database = toldOutages(memory, logger, () => nowMs);
  const write = () => Promise.allSettled([database.write(journal, 1, checkpoint)]);
  for (let half = 0; half < 8; half++) {
    await write();
    nowMs += 500;
    vi.advanceTimersByTime(500);
  }
  expect(lines).toMatchObject([{ level: 'warn', partitions: 1, error: 'disk full' }]);
  memory.write = () => Promise.reject(new DatabaseError('closed', 'it is closed'));
  await write();
  expect(lines).toHaveLength(1);
  await database.close();
});
