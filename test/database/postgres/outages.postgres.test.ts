/** What becomes of a write, a load and a start when PostgreSQL dies, stops, freezes, or is lost on the way: every wait ends, and with words. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import type { PostgresDatabase } from '../../../src/database/postgres/postgres-database.ts';
import { FaultyProxy } from '../../kafka/proxy.ts';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { failureOf, historyCheckpoint, namespaceId, openedPostgres, runRow, visibilityRow } from './support.ts';
import type { PostgresOptions } from '../../../src/config/postgres-options.ts';
import type { LocalPostgres } from '../../postgres/local-postgres.ts';

const journal = { kind: 'history', partition: 0 } as const;

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
    expect((await database.runs(journal, '', 100_000)).rows.length).toBe((position?.nextOffset ?? 0) * 200);
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
    expect((await database.runs(journal, '', 10)).rows).toEqual([]);
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

  test('a List or Count that does not end in its time is told apart: the database is not away', async () => {
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
        expect((await database.runs(journal, '', 10)).rows.length).toBe(1);
      },
    );

    test('a COMMIT that no standby confirms is not called written', async () => {
      const database = await open(postgresOptions(server, { timeoutMs: 1_500 }));
      const { fence } = await database.restore(journal);
      await server.run(`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`);
      await server.run('SELECT pg_reload_conf()');
      try {
        expect((await database.write(journal, fence, historyCheckpoint(1, { runs: [runRow()] }))).kind).toBe('unknown');
      } finally {
        await server.run(`ALTER SYSTEM RESET synchronous_standby_names`);
        await server.run('SELECT pg_reload_conf()');
      }
    });
  });
});
