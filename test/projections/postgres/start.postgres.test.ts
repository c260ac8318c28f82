/** What a start finds: no tables, those of other versions, somebody else's, too few rights. Each refusal says what to do. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { failureOf, historyCheckpoint, openedPostgres } from './support.ts';
import { probePostgres } from '../../../src/projections/postgres/probe.ts';
import { Connections } from '../../../src/projections/postgres/connections.ts';
import { migrate } from '../../../src/projections/postgres/migrate.ts';
import { type Migration, migrations } from '../../../src/projections/postgres/migrations.ts';
import { schemaName } from '../../../src/projections/postgres/names.ts';
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
      { value: String(migrations.length) },
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

  test('tables of an earlier version get the steps that they lack, or these are printed; whoever knows fewer refuses them', async () => {
    const options = postgresOptions(server);
    const schema = schemaName(options.topicPrefix);
    const next: readonly Migration[] = [...migrations, () => [`ALTER TABLE "${schema}".runs ADD COLUMN colour text`]];
    await opens(options);
    const migrated = async (may: boolean): Promise<void> => {
      const connections = new Connections(options, 1, []);
      try {
        await migrate(connections, { name: 'x', schema, migrate: may, migrations: next });
      } finally {
        await connections.close();
      }
    };
    const printed = (await failureOf(migrated(false))).message.split('\n\n')[1];
    expect(printed).toMatch(/^ALTER TABLE .* ADD COLUMN colour text;\nINSERT INTO .*;$/);
    expect(await probePostgres(options, next)).toMatchObject({ answer: 'ok', tables: 'older', owner: undefined });
    for (let times = 0; times < 2; times++) await migrated(true);
    await migrated(false);
    expect(await server.run(`SELECT colour FROM "${schema}".runs`)).toEqual([]);
    expect(await probePostgres(options, next)).toMatchObject({ answer: 'ok', tables: 'all' });
    const refused = await failureOf(opens(options));
    expect(refused.code).toBe('misconfigured');
    expect(refused.message).toContain(`of another version (migration ${next.length}; this one knows ${migrations.length})`);
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
