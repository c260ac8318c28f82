/** What becomes of a write, a load and a start when PostgreSQL dies, stops, freezes, or is lost on the way: every wait ends, and with words. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { DatabaseError, type JournalId } from '../../../src/projections/database-port.ts';
import { clearSlots } from '../../../src/projections/list/slot-clearing.ts';
import { systemClock } from '../../../src/ports/system-ports.ts';
import { Connections } from '../../../src/projections/postgres/connections.ts';
import { schemaName } from '../../../src/projections/postgres/names.ts';
import { RevocableReads } from '../../../src/projections/postgres/revocable-reads.ts';
import { visibilityReads } from '../../../src/projections/postgres/visibility-reads.ts';
import type { PostgresDatabase } from '../../../src/projections/postgres/postgres-database.ts';
import { FaultyProxy } from '../../kafka/proxy.ts';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { comparable, historyRow, taskRow, timerRow } from '../../contract/database/samples.ts';
import { failureOf, historyCheckpoint, namespaceId, openedPostgres, runRow, visibilityRow } from './support.ts';
import type { PostgresOptions } from '../../../src/config/postgres-options.ts';
import type { LocalPostgres } from '../../postgres/local-postgres.ts';

const journal = { kind: 'history', partition: 0 } as const;

/** A second checkpoint that adds, changes, deletes and retires; and what is there before it. */
async function checkpointOfAll(database: PostgresDatabase, at: JournalId) {
  const namespace = randomUUID();
  const [retired, kept, fresh] = [
    runRow({ namespaceId: namespace }),
    runRow({ namespaceId: namespace }),
    runRow({ namespaceId: namespace }),
  ];
  const { fence } = await database.restore(at);
  const first = {
    runs: [retired, kept],
    currentRuns: [retired, kept],
    transferTasks: [taskRow(1), taskRow(2)],
    timers: [timerRow(1_000, 3), timerRow(2_000, 4)],
    history: [historyRow(kept.runId, 1, 2), historyRow(retired.runId, 1, 2)],
    visibility: [visibilityRow(retired), visibilityRow(kept)],
  };
  expect(await database.write(at, fence, historyCheckpoint(1, first))).toEqual({ kind: 'written' });
  const checkpoint = historyCheckpoint(2, {
    runs: [{ ...kept, status: 2, forgetMs: 5_000 }, fresh],
    currentRuns: [fresh],
    childStarts: [{ parentRunId: kept.runId, initiatedEventId: 5, runId: fresh.runId }],
    transferTasks: [taskRow(5)],
    timers: [timerRow(3_000, 6)],
    goneTransferTasks: [1],
    goneTimers: [3],
    history: [historyRow(kept.runId, 3, 7), historyRow(fresh.runId, 1, 2)],
    visibility: [visibilityRow({ ...kept, status: 2, version: 2 }), visibilityRow(fresh)],
    retiredRuns: [retired],
  });
  return { before: await rowsOf(database, at, namespace), checkpoint: { ...checkpoint, base: 1 }, namespace };
}

async function rowsOf(database: PostgresDatabase, at: JournalId, namespace: string): Promise<unknown> {
  const { rows: runs } = await database.runs(at, '', 10, Infinity);
  const events = { branch: 0, firstEventId: 1, lastEventId: 100, bytesMax: 100_000 };
  const histories = await Promise.all(runs.map(({ runId }) => database.history(at, { runId, ...events })));
  const { rows: transferTasks } = await database.transferTasks(at, 0, 10);
  const everything = { afterFireTimeMs: 0, afterTaskId: 0, untilMs: 10_000, max: 10 };
  const { rows: timers } = await database.timers(at, everything);
  const { rows: listed } = await database.list({ namespaceId: namespace, condition: undefined, after: undefined, max: 10 });
  return comparable({ runs, histories, transferTasks, timers, listed });
}

describe.skipIf('missing' in inject('postgres'))('PostgreSQL fails', () => {
  let server: LocalPostgres;
  const opened: PostgresDatabase[] = [];

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterEach(async () => {
    server.resume();
    await Promise.all(opened.splice(0).map((database) => database.close()));
  });
  afterAll(() => server?.stop());

  const open = async (options: PostgresOptions): Promise<PostgresDatabase> => {
    const database = await openedPostgres(options);
    opened.push(database);
    return database;
  };

  test('killed with SIGKILL in the middle of writes: what was written is there, and the write that failed is there whole or not at all', async () => {
    const database = await open(postgresOptions(server));
    const { fence } = await database.restore(journal);
    let written = 0;
    const writing = (async (): Promise<string> => {
      for (;;) {
        const runs = Array.from({ length: 200 }, () => runRow());
        const outcome = await database.write(journal, fence, historyCheckpoint(written + 1, { runs }));
        if (outcome.kind !== 'written') return outcome.kind;
        written += 1;
      }
    })();
    const ended = writing.catch(async (error: unknown) => (await failureOf(Promise.reject(error))).code);
    while (written < 5) await pause(1);
    await server.kill9();
    expect(['unavailable', 'unknown']).toContain(await ended);

    await server.restart();
    const { fence: next, position } = await database.restore(journal);
    expect(next).toBeGreaterThan(fence);
    expect([written, written + 1]).toContain(position?.nextOffset);
    expect((await database.runs(journal, '', 100_000, Infinity)).rows.length).toBe((position?.nextOffset ?? 0) * 200);
  });

  test('killed with SIGKILL while its server lives: rows of List that were flushed are there, for nobody writes them again', async () => {
    const database = await open(postgresOptions(server));
    const { fence } = await database.restore(journal);
    for (let round = 0; round < 3; round++) {
      const row = visibilityRow();
      expect(await database.flush(journal, fence, [row], [])).toBe('flushed');
      await server.kill9();
      await server.restart();
      const { rows } = await database.list({ namespaceId, condition: undefined, after: undefined, max: 100 });
      expect(rows.length, `round ${round}`).toBe(round + 1);
    }
  });

  test('it refuses a row in the middle of a write: nothing of the delta is written, and the connection is as before', async () => {
    const database = await open(postgresOptions(server, { connectionsMax: 1 }));
    const { fence } = await database.restore(journal);
    const run = runRow();
    // A whole number, but none that a branch can have.
    const history = [{ runId: run.runId, branch: 2 ** 40, firstEventId: 1, lastEventId: 2, events: new Uint8Array(1) }];
    const refused = await failureOf(database.write(journal, fence, historyCheckpoint(1, { runs: [run], history })));
    expect(refused.code).toBe('data');
    expect(await database.position(journal)).toEqual({ fence, position: undefined });
    expect((await database.runs(journal, '', 10, Infinity)).rows).toEqual([]);
    expect(await database.write(journal, fence, historyCheckpoint(1, { runs: [run] }))).toEqual({ kind: 'written' });
  });

  test('stopped and back: calls are refused meanwhile with the address and what to do, and answered afterwards', async () => {
    const database = await open(postgresOptions(server));
    const { fence } = await database.restore(journal);
    await server.shutDown();
    // The first may be told by the server itself, on its old connection; those after it find nobody.
    await failureOf(database.position(journal));
    const refused = await failureOf(database.position(journal));
    expect(refused).toMatchObject({ code: 'unavailable', recoverable: true });
    expect(refused.message).toContain(`postgres 127.0.0.1:${server.port}/postgres`);
    expect(refused.message).toContain('is it running, and do host and port lead there');
    await server.restart();
    expect(await database.write(journal, fence, historyCheckpoint(1, { runs: [runRow()] }))).toEqual({ kind: 'written' });
  });

  test('frozen: a load, a write, a list and a start end within the timeout; once it goes on, so do they', async () => {
    const options = postgresOptions(server, { timeoutMs: 1_500 });
    const database = await open(options);
    const { fence } = await database.restore(journal);
    server.pause();
    const calls = [
      database.load(journal, [{ kind: 'current', namespaceId, workflowId: 'w' }]),
      database.write(journal, fence, historyCheckpoint(1, { runs: [runRow()] })),
      database.list({ namespaceId, condition: undefined, after: undefined, max: 1 }),
      openedPostgres(options),
    ];
    for (const failure of await Promise.all(calls.map(failureOf))) {
      expect(failure.code).toBe('unavailable');
      expect(failure.message).toContain('did not answer within 1500 ms');
    }
    server.resume();
    expect((await database.position(journal)).position).toBeUndefined();
    expect(await database.write(journal, fence, historyCheckpoint(1, { runs: [runRow()] }))).toEqual({ kind: 'written' });
  });

  test('frozen in a write: who has the connection next is in no transaction of another, so others see what it does', async () => {
    const options = postgresOptions(server, { connectionsMax: 1, timeoutMs: 1_500 });
    const [database, other] = [await open(options), await open(options)];
    const { fence } = await database.restore(journal);
    server.pause();
    const failure = await failureOf(database.write(journal, fence, historyCheckpoint(1, { runs: [runRow()] })));
    expect(failure.code).toBe('unavailable');
    server.resume();
    const raised = await database.restore(journal);
    expect(await other.position(journal)).toEqual(raised);
  });

  test('more callers than connections: killed, frozen or back, each call ends, and none takes a connection away for ever', async () => {
    const database = await open(postgresOptions(server, { connectionsMax: 2, timeoutMs: 1_500 }));
    await database.restore(journal);
    const many = () => Promise.allSettled(Array.from({ length: 20 }, () => database.position(journal)));
    const fates = async () => new Set((await many()).map(({ status }) => status));
    expect(await fates()).toEqual(new Set(['fulfilled']));
    server.pause();
    expect(await fates()).toEqual(new Set(['rejected']));
    server.resume();
    await server.kill9();
    expect(await fates()).toEqual(new Set(['rejected']));
    await server.restart();
    expect(await fates()).toEqual(new Set(['fulfilled']));
    expect(await fates()).toEqual(new Set(['fulfilled']));
  });

  test('it has no connection left: calls say so, with what to do; when there is one again they are answered', async () => {
    const small = await startPostgres({ max_connections: '10' });
    const taken: Awaited<ReturnType<LocalPostgres['connect']>>[] = [];
    try {
      const options = postgresOptions(small, { connectionsMax: 1 });
      await (await openedPostgres(options)).close();
      for (;;) {
        const client = await small.connect().catch(() => undefined);
        if (client === undefined) break;
        taken.push(client);
      }
      const refused = await failureOf(openedPostgres(options));
      expect(refused).toMatchObject({ code: 'unavailable', recoverable: true });
      expect(refused.message).toContain('raise its max_connections, or lower perdure.postgres.pool');
      await Promise.all(taken.splice(0).map((client) => client.end()));
      const database = await open(options);
      const { fence } = await database.restore(journal);
      expect(await database.write(journal, fence, historyCheckpoint(1, { runs: [runRow()] }))).toEqual({ kind: 'written' });
    } finally {
      await Promise.all(taken.map((client) => client.end().catch(() => {})));
      await Promise.all(opened.splice(0).map((database) => database.close()));
      await small.stop();
    }
  });

  test('frozen: close ends, and so does what was under way', async () => {
    const database = await open(postgresOptions(server));
    await database.restore(journal);
    server.pause();
    const failure = failureOf(database.position(journal));
    await database.close();
    expect((await failure).code).toBe('closed');
  });

  test('an owner that freezes in a transaction: its successor waits no longer than the timeout, and then has the fence', async () => {
    const options = postgresOptions(server, { timeoutMs: 2_000 });
    const database = await open(options);
    const { fence } = await database.restore(journal);
    // As its connection stands when the process is stopped between two statements.
    const schema = options.topicPrefix;
    const client = await server.connect();
    await client.query(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${options.timeoutMs}`);
    await client.query(`UPDATE "${schema}".journals SET next_offset = 0`);
    const restored = await database.restore(journal).catch(() => database.restore(journal));
    expect(restored.fence).toBeGreaterThan(fence);
    await client.end().catch(() => {});
  });

  test('a write that hangs: what removed attributes have left waits for it, and keeps no other shard waiting', async () => {
    const options = postgresOptions(server);
    const database = await open(options);
    const there = { kind: 'history', partition: 1 } as const;
    const { fence } = await database.restore(journal);
    const held = [
      { journal, fence },
      { journal: there, fence: (await database.restore(there)).fence },
    ];
    const flushed = async (): Promise<string> =>
      await database.flush(journal, fence, [visibilityRow({ slots: new Map([['Keyword01', 'red']]) })], []);
    expect(await flushed()).toBe('flushed');
    const client = await server.connect();
    await client.query(`BEGIN; UPDATE "${options.topicPrefix}".journals SET next_offset = next_offset WHERE partition = 1`);
    const cleared = clearSlots(database, systemClock, held, { namespaceIds: [namespaceId], slots: ['Keyword01'] });
    await pause(100);
    expect([await flushed(), await flushed(), await flushed()]).toEqual(['flushed', 'flushed', 'flushed']);
    await client.query('COMMIT');
    expect(await cleared).toBe(true);
    const condition = { kind: 'isNull', column: { name: 'Keyword01', kind: 'keyword' }, not: true } as const;
    expect(await database.count({ namespaceId, condition, byStatus: false })).toEqual([expect.objectContaining({ count: 0 })]);
    await client.end();
  });

  test('a List or Count that does not end in its time is not reported as an outage of the database', async () => {
    const options = postgresOptions(server, { timeoutMs: 1_500 });
    const database = await open(options);
    await database.restore(journal);
    const client = await server.connect();
    await client.query(`BEGIN; LOCK TABLE "${options.topicPrefix}".visibility`);
    const query = { namespaceId, condition: undefined };
    const failures = [database.list({ ...query, after: undefined, max: 1 }), database.count({ ...query, byStatus: true })].map(failureOf);
    expect((await Promise.all(failures)).map(({ code }) => code)).toEqual(['overtime', 'overtime']);
    await client.query('ROLLBACK');
    expect(await database.list({ ...query, after: undefined, max: 1 })).toEqual({ rows: [] });
    await client.end();
  });

  test('two slow lists, as many as a namespace has at a time, keep no other from the server', async () => {
    const options = postgresOptions(server);
    const database = await open(options);
    await database.restore(journal);
    const client = await server.connect();
    await client.query(`BEGIN; LOCK TABLE "${options.topicPrefix}".visibility`);
    const query = { namespaceId, condition: undefined, after: undefined, max: 1 };
    const lists = [1, 2, 3].map(() => database.list(query));
    const waiting = `SELECT count(*)::int AS lists FROM pg_locks WHERE NOT granted AND relation = '"${options.topicPrefix}".visibility'::regclass`;
    await expect.poll(() => server.run(waiting), { timeout: 60_000 }).toEqual([{ lists: 3 }]);
    await client.query('ROLLBACK');
    expect(await Promise.all(lists)).toEqual([{ rows: [] }, { rows: [] }, { rows: [] }]);
    await client.end();
  });

  test('a List or Count that was given up is ended by the server, and its connection serves the next', async () => {
    const options = postgresOptions(server);
    const database = await open(options);
    await database.restore(journal);
    const client = await server.connect();
    await client.query(`BEGIN; LOCK TABLE "${options.topicPrefix}".visibility`);
    const query = { namespaceId, condition: undefined };
    const list = (asked: number) => database.list({ ...query, after: undefined, max: 1, asked });
    // The last two wait for a connection.
    const failures = [list(1), list(2), database.count({ ...query, byStatus: true, asked: 3 }), list(4), list(5), list(6)].map(failureOf);
    const waiting = `SELECT count(*)::int AS lists FROM pg_locks WHERE NOT granted AND relation = '"${options.topicPrefix}".visibility'::regclass`;
    await expect.poll(() => server.run(waiting), { timeout: 60_000 }).toEqual([{ lists: 4 }]);
    await Promise.all([6, 5, 4, 3, 2, 1].map((asked) => database.giveUp(asked)));
    expect((await Promise.all(failures)).map(({ code }) => code)).toEqual(Array.from(failures, () => 'overtime'));
    expect(await server.run(waiting)).toEqual([{ lists: 0 }]);
    await client.query('ROLLBACK');
    expect(await Promise.all([7, 8, 9, 10].map(list))).toEqual(Array.from({ length: 4 }, () => ({ rows: [] })));
    await client.end();
  });

  test('a read of dead letters that somebody gives up is cancelled at the server, and leaves its connection', async () => {
    const options = postgresOptions(server);
    const database = await open(options);
    const queue = { kind: 'deadLetters', partition: 1 } as const;
    await database.restore(queue);
    const client = await server.connect();
    await client.query(`BEGIN; LOCK TABLE "${options.topicPrefix}".dead_letters`);
    const walk = (asked: string) => ({ condition: undefined, afterMessageId: -1, max: 1, asked });
    const failures = [
      database.letters(queue, { ...walk('a'), bytesMax: 1 }),
      database.letterIds(queue, walk('b')),
      database.countLetters(queue, undefined, 'c'),
      database.letterGroups(queue, { condition: undefined, by: 'cause', max: 1, asked: 'd' }),
    ].map(failureOf);
    const waiting = `SELECT count(*)::int AS reads FROM pg_locks WHERE NOT granted AND relation = '"${options.topicPrefix}".dead_letters'::regclass`;
    await expect.poll(() => server.run(waiting), { timeout: 60_000 }).toEqual([{ reads: 2 }]);
    await Promise.all(['d', 'c', 'b', 'a'].map((asked) => database.giveUp(asked)));
    expect((await Promise.all(failures)).map(({ code }) => code)).toEqual(Array.from(failures, () => 'overtime'));
    expect(await server.run(waiting)).toEqual([{ reads: 0 }]);
    await client.query('ROLLBACK');
    expect(await database.countLetters(queue, undefined, 'e')).toMatchObject({ rows: 0 });
    await client.end();
  });

  test('a cancel whose answer was lost, and that comes late, meets nobody else', async () => {
    const options = postgresOptions(server);
    await open(options);
    const lists = new Connections(options, 1, []);
    const others = new Connections(options, 1, []);
    const isLate = Promise.withResolvers<void>();
    let late: Promise<void> | undefined;
    const losing: Pick<Connections, 'use'> = {
      use: (work) => {
        late = isLate.promise.then(async () => void (await others.use(work)));
        return Promise.reject(new Error('the answer is lost'));
      },
    };
    const revocable = new RevocableReads(lists, losing);
    const reads = visibilityReads(revocable, schemaName(options.topicPrefix));
    const list = (asked: number) => reads.list({ namespaceId, condition: undefined, after: undefined, max: 1, asked });
    const client = await server.connect();
    const lock = `BEGIN; LOCK TABLE "${options.topicPrefix}".visibility`;
    const waiting = `SELECT count(*)::int AS lists FROM pg_locks WHERE NOT granted AND relation = '"${options.topicPrefix}".visibility'::regclass`;
    const isWaiting = () => expect.poll(() => server.run(waiting), { timeout: 60_000 }).toEqual([{ lists: 1 }]);
    await client.query(lock);
    const givenUp = list(1);
    await isWaiting();
    await expect(revocable.giveUp(1)).rejects.toThrow('the answer is lost');
    await client.query('ROLLBACK');
    expect(await givenUp).toEqual({ rows: [] });
    await client.query(lock);
    const next = list(2);
    await isWaiting();
    isLate.resolve();
    await late;
    await client.query('ROLLBACK');
    expect(await next).toEqual({ rows: [] });
    await Promise.all([lists.close(), others.close(), client.end()]);
  });

  describe('the connection is lost in COMMIT', () => {
    let proxy: FaultyProxy;

    beforeAll(async () => {
      proxy = await FaultyProxy.start(() => server.port);
    });
    afterAll(() => proxy?.close());

    test.each([
      ['on its way back', 'answers', 1],
      ['on its way there', 'all', undefined],
    ] as const)(
      '%s: unknown; the position says what became of it, and the same delta can be written again',
      async (_where, silence, offset) => {
        const database = await open(postgresOptions({ host: '127.0.0.1', port: proxy.port }, { timeoutMs: 1_500 }));
        const { fence } = await database.restore(journal);
        const checkpoint = historyCheckpoint(1, { runs: [runRow()] });
        proxy.heard = (bytes) => {
          if (bytes.includes('COMMIT\0')) proxy.silence(silence);
        };
        const outcome = await database.write(journal, fence, checkpoint);
        proxy.heard = undefined;
        expect(outcome.kind).toBe('unknown');
        expect((await database.position(journal)).position?.nextOffset).toBe(offset);
        expect(await database.write(journal, fence, checkpoint)).toEqual({ kind: 'written' });
        expect((await database.runs(journal, '', 10, Infinity)).rows.length).toBe(1);
      },
    );

    test('at any statement of a checkpoint, heard there or not: all of it is there or nothing, and it can be written again', async () => {
      const options = postgresOptions({ host: '127.0.0.1', port: proxy.port });
      const database = await open(options);
      const other = await open({ ...options, port: server.port });
      const outcomes: string[] = [];
      for (let nth = 1, isOver = false; !isOver; nth++) {
        for (const where of ['before it is heard', 'when it is heard']) {
          const at = { kind: 'history', partition: outcomes.length } as const;
          const { before, checkpoint, namespace } = await checkpointOfAll(database, at);
          const { fence } = await database.restore(at);
          let statements = 0;
          proxy.heard = () => {
            statements += 1;
            if (statements !== nth) return;
            if (where === 'before it is heard') proxy.silence('all');
            proxy.cut();
          };
          const outcome = await database.write(at, fence, checkpoint).then(
            ({ kind }) => kind,
            (error: unknown) => (error instanceof DatabaseError ? error.code : String(error)),
          );
          proxy.heard = undefined;
          isOver = statements < nth;
          // Waits for what the server still does of it.
          const raised = await other.restore(at);
          const isThere = raised.position?.nextOffset === 2;
          outcomes.push(`${isOver ? 'whole' : where}: ${outcome}, ${isThere ? 'there' : 'not there'}`);
          const found = await rowsOf(other, at, namespace);
          if (!isThere) expect(found).toEqual(before);
          expect(await other.write(at, raised.fence, checkpoint)).toEqual({ kind: 'written' });
          const whole = await rowsOf(other, at, namespace);
          expect(whole).not.toEqual(before);
          if (isThere) expect(found).toEqual(whole);
        }
      }
      const statements = outcomes.length / 2 - 1;
      expect(statements, 'BEGIN, the guard, each table, COMMIT').toBeGreaterThan(12);
      const commit = ['before it is heard: unknown, not there', 'when it is heard: unknown, there'];
      expect(outcomes.slice(-4)).toEqual([...commit, 'whole: written, there', 'whole: written, there']);
      expect(new Set(outcomes.slice(0, -4))).toEqual(
        new Set(['before it is heard: unavailable, not there', 'when it is heard: unavailable, not there']),
      );
    });

    test('a COMMIT that no standby confirms is not called written', async () => {
      const database = await open(postgresOptions(server, { timeoutMs: 1_500 }));
      const { fence } = await database.restore(journal);
      await server.run(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`);
      await server.reload();
      const probes: Promise<unknown>[] = [];
      try {
        // The checkpointer tells the others, and later than a reload ends: until a commit waits, none has to.
        await expect
          .poll(
            () => {
              probes.push(server.run(`SELECT pg_logical_emit_message(true, 'probe', '')`));
              return server.run(`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
            },
            { timeout: 60_000, interval: 100 },
          )
          .not.toEqual([]);
        expect((await database.write(journal, fence, historyCheckpoint(1, { runs: [runRow()] }))).kind).toBe('unknown');
      } finally {
        await server.run(`ALTER SYSTEM RESET synchronous_standby_names`);
        await server.reload();
        await Promise.all(probes);
      }
    });
  });
});
