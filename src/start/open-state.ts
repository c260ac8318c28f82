/**
 * The database that holds what the journals have added up to, where there is one:
 *
 *     log in x.db      x.db-state     a file of its own: a checkpoint inside the log's file would hold up its appends
 *     log in memory    none           there is nothing to restart from
 *     log on Kafka     none yet
 *
 * Its thread starts at once and loads while the log is opened. It looks at the file with the first call, and none comes before the log is
 * known to be ours: beside somebody else's file nothing is made.
 */
import type { Database } from '../actors/database.ts';
import type { ServerOptions } from '../config/server-options.ts';

export type OpenState = {
  readonly database: Database;
  /** The journals keep what is younger, though checkpoints have it. */
  readonly journalRetentionMs: number;
};

export async function openState({ log }: Pick<ServerOptions, 'log'>): Promise<OpenState | undefined> {
  if (log.kind === 'kafka' || log.filename === undefined) return undefined;
  const { openSqlite } = await import('../database/sqlite/open-sqlite.ts');
  return { database: openSqlite({ filename: `${log.filename}-state` }, { startsAtOnce: true }), journalRetentionMs: 0 };
}
