/** Brings the tables to what this program knows, or says what is to be done. All steps are one transaction, and one process at a time takes them. */
import { DatabaseError } from '../database-port.ts';
import { type Migration, migrations as ownMigrations } from './migrations.ts';
import { quoted } from './names.ts';
import { inTransaction, type Connections, type Session } from './connections.ts';

/** An index on tables of months takes minutes; it is ended by nobody before that, for it would begin anew with the next call. */
const STEP_MS_MAX = 3_600_000;

/** What somebody with the rights runs where the server itself may not: everything behind `reached` (0 = a new database). */
function migrationStatements({ schema, migrations = ownMigrations }: MigrateOptions, reached: number): readonly string[] {
  const at = quoted(schema);
  const first = [
    `CREATE SCHEMA IF NOT EXISTS ${at}`,
    `CREATE TABLE ${at}.perdure (name text COLLATE "C" PRIMARY KEY, value text COLLATE "C" NOT NULL)`,
  ];
  const steps = [
    ...migrations.slice(reached).flatMap((statements) => statements(schema)),
    `INSERT INTO ${at}.perdure (name, value) VALUES ('migration', '${migrations.length}') ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  ];
  return reached === 0 ? [...first, ...steps] : steps;
}

export type MigrateOptions = {
  /** For messages. */
  readonly name: string;
  readonly schema: string;
  /** False: nothing is changed; what is missing is an error. */
  readonly migrate: boolean;
  /** Default: those of this version. */
  readonly migrations?: readonly Migration[];
};

export async function migrate(connections: Connections, options: MigrateOptions): Promise<void> {
  const { schema } = options;
  await connections.use(async (session) => {
    if ((await reachedMigration(session, options)).isNewest) return;
    await inTransaction(session, async () => {
      // Others that start now wait here, and then find the work done.
      await session.query({ text: 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))' }, [`perdure ${schema}`]);
      const reached = await reachedBy(session, options);
      const statements = migrationStatements(options, reached);
      await session.run(`SET LOCAL statement_timeout = ${STEP_MS_MAX}`);
      // IF NOT EXISTS asks for the right to create schemas even where there is nothing to create.
      const exists = await schemaExists(session, schema);
      for (const statement of statements) if (!(exists && statement.startsWith('CREATE SCHEMA'))) await session.run(statement, STEP_MS_MAX);
    });
  });
}

export type Reached = { /** 0: there are no tables. */ readonly migration: number; readonly isNewest: boolean };

/** How far its tables are. Throws what this program cannot start on. */
export async function reachedMigration(session: Session, options: MigrateOptions): Promise<Reached> {
  const { schema, name, migrations = ownMigrations } = options;
  await checkServer(session, options);
  const reached = await reachedBy(session, options);
  const isNewest = reached === migrations.length;
  if (isNewest || options.migrate) return { migration: reached, isNewest };
  const words =
    `its tables (schema ${schema}) are ${reached === 0 ? 'missing' : 'older than this program'}, and making them is switched off ` +
    '(perdure.postgres.migrate: false, or --no-auto-migrate). In one transaction, let somebody with the rights run';
  throw new DatabaseError('misconfigured', `${name}: ${words}\n\n${migrationStatements(options, reached).join(';\n')};`);
}

const versionMin = 130_000;

/** What no migration can mend. */
async function checkServer(session: Session, { name }: MigrateOptions): Promise<void> {
  const text = `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding`;
  const { rows } = await session.query<{ readonly version: string; readonly encoding: string }>({ text }, []);
  const { version = '0', encoding = '' } = rows[0] ?? {};
  if (Number(version) < versionMin)
    throw new DatabaseError('misconfigured', `${name} is version ${version}; PostgreSQL 13 or newer is needed`);
  if (encoding !== 'UTF8') {
    const words = `has the encoding ${encoding}; it needs UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0`;
    throw new DatabaseError('misconfigured', `${name} ${words}`);
  }
}

/** Number of the last step; 0: none of our tables is there. */
async function reachedBy(session: Session, { name, schema, migrations = ownMigrations }: MigrateOptions): Promise<number> {
  const text = `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`;
  const { rows: tables } = await session.query<{ readonly relname: string }>({ text }, [schema]);
  if (tables.length === 0) return 0;
  if (!tables.some(({ relname }) => relname === 'perdure')) {
    const others = tables.slice(0, 3).map(({ relname }) => relname);
    const words = `its schema ${schema} holds tables of something else (${others.join(', ')}); give Perdure a database or a topic prefix of its own`;
    throw new DatabaseError('misconfigured', `${name}: ${words}`);
  }
  const reached = Number((await kept(session, schema, 'migration')) ?? 0);
  if (reached > migrations.length) {
    const words = `its tables are of another version (migration ${reached}; this one knows ${migrations.length}): start that version`;
    throw new DatabaseError('misconfigured', `${name}: ${words}`);
  }
  return reached;
}

/** What its tables say of themselves: how far they are, and the id of the cluster whose database it is. undefined: nothing yet. */
export async function kept(session: Session, schema: string, name: 'migration' | 'cluster'): Promise<string | undefined> {
  const text = `SELECT value FROM ${quoted(schema)}.perdure WHERE name = '${name}'`;
  const { rows } = await session.query<{ readonly value: string }>({ text }, []);
  return rows[0]?.value;
}

async function schemaExists(session: Session, schema: string): Promise<boolean> {
  const { rows } = await session.query({ text: 'SELECT 1 AS one FROM pg_namespace WHERE nspname = $1' }, [schema]);
  return rows.length > 0;
}
