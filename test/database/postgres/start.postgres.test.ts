/** What a start finds: no tables, older and newer ones, somebody else's, too few rights. Each refusal says what to do. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { failureOf, historyCheckpoint, namespaceId, openedPostgres, visibilityRow } from './support.ts';
import { probePostgres } from '../../../src/database/postgres/probe.ts';
import { newestMigration } from '../../../src/database/postgres/migrations.ts';
import { partDefinitions } from '../../../src/database/postgres/visibility-table.ts';
import type { PostgresOptions } from '../../../src/config/postgres-options.ts';
import type { LocalPostgres } from '../../postgres/local-postgres.ts';

const journal = { kind: 'history', partition: 0 } as const;

describe.skipIf('missing' in inject('postgres'))('a start on PostgreSQL', () => {
  let server: LocalPostgres;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  const opens = async (options: PostgresOptions): Promise<void> => {
    const database = await openedPostgres(options);
    await database.close();
  };
  const refusal = (more: Partial<PostgresOptions>) => failureOf(opens(postgresOptions(server, more)));

  test('eight that start at once on nothing: the tables are made once, and all open', async () => {
    const options = postgresOptions(server);
    await Promise.all(Array.from({ length: 8 }, () => opens(options)));
    expect(await server.run(`SELECT value FROM "${options.topicPrefix}".perdure WHERE name = 'migration'`)).toEqual([
      { value: String(newestMigration) },
    ]);
  });

  test('prefixes share a database: each has tables of its own, also those that are no plain names', async () => {
    const prefixes = ['a.b-c_D', 'x'.repeat(200), `${'x'.repeat(199)}y`, 'pg_like', `quote"d`];
    for (const topicPrefix of prefixes) {
      const database = await openedPostgres(postgresOptions(server, { topicPrefix }));
      expect(await database.bind(`cluster of ${topicPrefix}`)).toBe(`cluster of ${topicPrefix}`);
      await database.close();
    }
  });

  test('migrate: false on nothing is refused; the printed statements, run by somebody else, make it start', async () => {
    const options = postgresOptions(server, { migrate: false });
    const refused = await failureOf(opens(options));
    expect(refused.code).toBe('misconfigured');
    expect(refused.message).toContain('perdure.postgres.migrate');
    const [, statements = ''] = refused.message.split('\n\n');
    await server.run(statements);
    await opens(options);
  });

  test.each([
    ['Datetime01', 1_767_225_600_000_900_000n, 'asked'],
    ['TemporalScheduledStartTime', -1n, 'asked'],
    ['Int01', 7, undefined],
  ] as const)(
    'rows of a version whose dates were milliseconds, with %s: List is built again where there are dates',
    async (slot, value, reason) => {
      const options = postgresOptions(server);
      const journal = { kind: 'history', partition: 3 } as const;
      const before = await openedPostgres(options);
      const row = visibilityRow({ slots: new Map([[slot, value]]) });
      expect(await before.flush(journal, (await before.restore(journal)).fence, [row], [])).toBe('flushed');
      await before.restore({ kind: 'matching', partition: 4 });
      await before.close();
      const at = `"${options.topicPrefix}"`;
      const dropped = partDefinitions.map(({ name }) => `DROP COLUMN ${name}`).join(', ');
      await server.run(`ALTER TABLE ${at}.visibility ${dropped}; UPDATE ${at}.perdure SET value = '7' WHERE name = 'migration'`);
      expect(await probePostgres(options)).toMatchObject({ answer: 'ok', tables: 'older', owner: undefined });
      const database = await openedPostgres(options);
      expect(await probePostgres(options)).toMatchObject({ answer: 'ok', tables: 'all' });
      const { fence } = await database.restore(journal);
      const reached = `SELECT name FROM ${at}.perdure WHERE name LIKE 'list rebuild %'`;
      expect(await server.run(reached)).toEqual(reason === undefined ? [] : [{ name: 'list rebuild 3' }]);
      expect((await database.rebuildDue(journal)).rows).toBe(reason);
      if (typeof value === 'bigint') {
        const column = { name: slot, kind: 'instant' } as const;
        const condition = { kind: 'compare', column, operator: '=', operand: value } as const;
        const list = { namespaceId, condition, after: undefined, max: 10 };
        expect((await database.list(list)).rows).toEqual([]);
        expect(await database.flush(journal, fence, [row], [])).toBe('flushed');
        expect((await database.list(list)).rows.map(({ runId }) => runId)).toEqual([row.runId]);
      }
      await database.close();
    },
  );

  test('tables of a newer version are refused, naming both numbers', async () => {
    const options = postgresOptions(server);
    await opens(options);
    await server.run(`UPDATE "${options.topicPrefix}".perdure SET value = '99' WHERE name = 'migration'`);
    const refused = await failureOf(opens(options));
    expect(refused.code).toBe('misconfigured');
    expect(refused.message).toMatch(new RegExp(`migration 99.*knows ${newestMigration}`));
  });

  test('a schema that holds tables of something else is refused, naming them, and is left as it is', async () => {
    const topicPrefix = `other-${randomUUID().slice(0, 8)}`;
    await server.run(`CREATE SCHEMA "${topicPrefix}"`);
    await server.run(`CREATE TABLE "${topicPrefix}".executions_visibility (id text)`);
    const refused = await refusal({ topicPrefix });
    expect(refused.code).toBe('misconfigured');
    expect(refused.message).toContain('executions_visibility');
    expect(await server.run(`SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = '${topicPrefix}'`)).toEqual([{ tables: 1 }]);
  });

  test('a database that is not there, and how it is made', async () => {
    const refused = await refusal({ database: 'nowhere' });
    expect(refused.code).toBe('misconfigured');
    expect(refused.message).toContain('CREATE DATABASE "nowhere"');
  });

  test('a database whose encoding is not UTF-8', async () => {
    await server.run(`CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`);
    expect((await refusal({ database: 'latin' })).message).toContain('LATIN1');
  });

  test('a role that may not create a schema, and what to grant; with a schema of its own it starts', async () => {
    await server.run('CREATE ROLE poor LOGIN');
    const topicPrefix = `poor-${randomUUID().slice(0, 8)}`;
    const refused = await refusal({ user: 'poor', topicPrefix });
    expect(refused.code).toBe('misconfigured');
    expect(refused.message).toContain('GRANT CREATE ON DATABASE "postgres" TO "poor"');
    const options = postgresOptions(server, { user: 'poor', topicPrefix });
    const tooFew = { answer: 'failed', reason: expect.stringContaining('GRANT CREATE ON DATABASE "postgres" TO "poor"') };
    expect(await probePostgres(options)).toMatchObject(tooFew);
    await server.run(`CREATE SCHEMA "${topicPrefix}"; GRANT USAGE ON SCHEMA "${topicPrefix}" TO poor`);
    expect(await probePostgres(options)).toMatchObject(tooFew);
    await server.run(`ALTER SCHEMA "${topicPrefix}" OWNER TO poor`);
    expect(await probePostgres(options)).toMatchObject({ answer: 'ok', tables: 'none', owner: undefined });
    await opens(options);
    expect(await probePostgres(options)).toMatchObject({ answer: 'ok' });
    await server.run(
      `CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA "${topicPrefix}" TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA "${topicPrefix}" TO reader`,
    );
    expect(await probePostgres({ ...options, user: 'reader' })).toMatchObject({
      answer: 'failed',
      reason: expect.stringContaining('permission denied for tables'),
    });
  });

  test('a role that does not exist, a wrong password, and none', async () => {
    expect((await refusal({ user: 'nobody-here' })).message).toContain('user nobody-here');
    await server.run(`CREATE ROLE secret LOGIN PASSWORD 'right'`);
    const rules = `host all secret 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n`;
    await server.addFile('pg_hba.conf', rules);
    const wrong = await refusal({ user: 'secret', password: 'wrong' });
    expect(wrong.code).toBe('misconfigured');
    expect(wrong.message).toContain('refuses the password of user secret');
    expect(wrong.message).not.toContain('wrong"');
    expect((await refusal({ user: 'secret' })).message).toContain('perdure.postgres.password');
    await server.run('GRANT CREATE ON DATABASE postgres TO secret');
    await opens(postgresOptions(server, { user: 'secret', password: 'right' }));
  });

  test('nobody listens, and no such host', async () => {
    const nobody = await failureOf(opens(postgresOptions({ host: '127.0.0.1', port: 1 })));
    expect(nobody.code).toBe('unavailable');
    expect(nobody.message).toMatch(/postgres 127\.0\.0\.1:1\/postgres cannot be reached.*ECONNREFUSED/);
  });

  test('TLS is asked for where there is none', async () => {
    const tls = { ca: undefined, cert: undefined, key: undefined, serverName: undefined, verifyServer: true };
    const refused = await refusal({ tls });
    expect(refused.code).toBe('misconfigured');
    expect(refused.message).toContain('offers no TLS');
  });

  test('TLS: a certificate that is trusted, one that is not, and one of another name', async () => {
    const pem = (name: string): string => readFileSync(new URL(`../../config/fixtures/${name}`, import.meta.url), 'utf8');
    await server.addFile('server.key', pem('client-key.pem'));
    await server.addFile('server.crt', pem('client.pem'));
    await server.run('ALTER SYSTEM SET ssl = on');
    await server.reload();
    const tls = { ca: pem('client.pem'), cert: undefined, key: undefined, serverName: undefined, verifyServer: true };
    const options = postgresOptions(server, { tls: { ...tls, verifyServer: false } });
    const database = await openedPostgres(options);
    await database.restore(journal);
    expect(
      await server.run(`SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'perdure'`),
    ).toEqual([{ ssl: true }]);
    await database.close();
    for (const wrong of [tls, { ...tls, ca: undefined }, { ...tls, serverName: 'db.example' }]) {
      const refused = await refusal({ tls: wrong });
      expect(refused.code).toBe('misconfigured');
      expect(refused.message).toMatch(/shows a certificate that is not trusted: .*perdure.postgres.tls/);
    }
  });

  test('a server that takes no writes says so, and is tried again later', async () => {
    const options = postgresOptions(server);
    const database = await openedPostgres(options);
    const { fence } = await database.restore(journal);
    await database.close();
    await server.run('ALTER ROLE perdure SET default_transaction_read_only = on');
    try {
      const standby = await openedPostgres(options);
      const refused = await failureOf(standby.restore(journal));
      expect(refused).toMatchObject({ code: 'unavailable' });
      expect(refused.message).toContain('takes no writes');
      expect((await failureOf(standby.write(journal, fence, historyCheckpoint(1, {})))).message).toContain('takes no writes');
      await standby.close();
    } finally {
      await server.run('START TRANSACTION READ WRITE; ALTER ROLE perdure RESET default_transaction_read_only; COMMIT');
    }
  });
});
