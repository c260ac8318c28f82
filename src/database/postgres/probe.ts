/** For `config validate --connect`: whether the PostgreSQL that the server file names lets us in, and holds what we could start on. */
import { Connections } from './connections.ts';
import { reachedMigration } from './migrate.ts';
import { nameOf } from './postgres-name.ts';
import { schemaName } from './schema-name.ts';
import { errorMessage } from '../../kernel/error-text.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';
import type { PostgresProbe } from '../../config/server-options.ts';

/** Changes nothing there: what a start would make may be missing. */
export async function probePostgres(options: PostgresOptions): Promise<PostgresProbe> {
  const database = nameOf(options);
  const connections = new Connections(options, 1, []);
  try {
    const tables = { name: database, schema: schemaName(options.topicPrefix), migrate: options.migrate };
    await connections.use((session) => reachedMigration(session, tables));
    return { database, answer: 'ok' };
  } catch (error) {
    return { database, answer: 'failed', reason: errorMessage(error) };
  } finally {
    await connections.close();
  }
}
