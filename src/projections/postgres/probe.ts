/** For `config validate --connect`: whether the PostgreSQL that the server file names lets us in, holds what we could start on, and whose it is. */
import { Connections, type Session } from './connections.ts';
import { kept, reachedMigration } from './migrate.ts';
import type { Migration } from './migrations.ts';
import { tooFewRights } from './postgres-failure.ts';
import { nameOf, schemaName } from './names.ts';
import { errorMessage } from '../../kernel/error-text.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';
import type { PostgresProbe } from '../../config/server-options.ts';

/** Changes nothing there: what a start would make may be missing. */
export async function probePostgres(options: PostgresOptions, migrations?: readonly Migration[]): Promise<PostgresProbe> {
  const database = nameOf(options);
  const connections = new Connections(options, 1, []);
  try {
    const { migrate, topicPrefix } = options;
    const tables = { name: database, schema: schemaName(topicPrefix), migrate, ...(migrations === undefined ? {} : { migrations }) };
    return await connections.use(async (session) => {
      const { migration, isNewest } = await reachedMigration(session, tables);
      const missing = await missingRight(session, tables.schema, !isNewest);
      if (missing !== undefined) throw tooFewRights(options, missing);
      if (migration === 0) return { database, answer: 'ok', tables: 'none', owner: undefined };
      const owner = await kept(session, tables.schema, 'cluster');
      return { database, answer: 'ok', tables: isNewest ? 'all' : 'older', owner };
    });
  } catch (error) {
    return { database, answer: 'failed', reason: errorMessage(error) };
  } finally {
    await connections.close();
  }
}

/** What a start needs and this user may not, in PostgreSQL's own words. */
async function missingRight(session: Session, schema: string, makesTables: boolean): Promise<string | undefined> {
  const text = `SELECT has_database_privilege(current_database(), 'CREATE') AS makes_schemas,
  (SELECT has_schema_privilege(oid, 'CREATE') AND has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1) AS makes_tables,
  (SELECT bool_and(has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') AND
    has_table_privilege(c.oid, 'DELETE')) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')) AS writes`;
  type Rights = { readonly makes_schemas: boolean; readonly makes_tables: boolean | null; readonly writes: boolean | null };
  const { rows } = await session.query<Rights>({ text }, [schema]);
  const { makes_schemas: makesSchemas = false, makes_tables: hasSchema = null, writes = null } = rows[0] ?? {};
  if (makesTables && hasSchema === null && !makesSchemas) return 'permission denied to create its schema in the database';
  if (makesTables && hasSchema === false) return `permission denied for schema ${schema}`;
  return writes === false ? `permission denied for tables of schema ${schema}` : undefined;
}
