/** Tables of months are brought up to date: one step takes longer than any other statement may. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { openedPostgres } from './support.ts';
import { driver } from '../../../src/database/postgres/driver.ts';
import { partDefinitions } from '../../../src/database/postgres/visibility-table.ts';
import type { LocalPostgres } from '../../postgres/local-postgres.ts';

describe.skipIf('missing' in inject('postgres'))('tables that are large', () => {
  let server: LocalPostgres;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  test('are brought up to date, however long that takes', async () => {
    const database = 'large';
    await server.run(`CREATE DATABASE ${database} ENCODING 'UTF8' TEMPLATE template0`);
    const options = postgresOptions(server, { database });
    await (await openedPostgres(options)).close();
    const client = new driver.Client({ host: server.host, port: server.port, database, user: options.user });
    await client.connect();
    const schema = options.topicPrefix;
    // As the second migration left it; and each index takes longer than a statement may.
    await client.query(
      `DROP INDEX "${schema}".visibility_counted; DROP INDEX "${schema}".visibility_root_workflow_id; DROP INDEX "${schema}".visibility_root_run_id;
       ALTER TABLE "${schema}".transfer_tasks DROP COLUMN at_matching; DROP TABLE "${schema}".dead_letters;
       ALTER TABLE "${schema}".visibility ${partDefinitions.map(({ name }) => `DROP COLUMN ${name}`).join(', ')};
       UPDATE "${schema}".perdure SET value = '2' WHERE name = 'migration'`,
    );
    await client.query(`CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.5); END $$`);
    await client.query(`CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION slow()`);
    await client.end();
    const opened = openedPostgres({ ...options, timeoutMs: 1_000 }).then(async (again) => await again.close());
    await expect(opened).resolves.toBeUndefined();
  });
});
