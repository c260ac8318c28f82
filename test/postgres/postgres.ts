/** Where the tests get a PostgreSQL from, and options to reach it. */
import { randomUUID } from 'node:crypto';
import { findPostgres } from './find-postgres.ts';
import { LocalPostgres, superuser } from './local-postgres.ts';
import type { PostgresOptions } from '../../src/config/postgres-options.ts';

/** Why not; undefined: it can. An error when CI=1. */
export async function canStartPostgres(): Promise<string | undefined> {
  const found = await findPostgres();
  if (!('missing' in found)) return undefined;
  if (process.env['CI'] === '1') throw new Error(`CI=1 and no PostgreSQL: ${found.missing}`);
  return found.missing;
}

/** A server of the test's own, which it may pause and kill. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<LocalPostgres> {
  const found = await findPostgres();
  if ('missing' in found) throw new Error(found.missing);
  return await LocalPostgres.start({ ...found, settings });
}

/** Tables of its own on a server that others use too. */
export function postgresOptions(
  server: { readonly host: string; readonly port: number },
  more: Partial<PostgresOptions> = {},
): PostgresOptions {
  return {
    host: server.host,
    port: server.port,
    database: 'postgres',
    user: superuser,
    password: undefined,
    tls: undefined,
    topicPrefix: `test-${randomUUID().slice(0, 13)}`,
    connectionsMax: 4,
    timeoutMs: 10_000,
    migrate: true,
    ...more,
  };
}
