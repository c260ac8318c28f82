/**
 * Opens the database with the state, if there is one:
 *
 *     log in x.db      x.db-state     a separate file, because checkpoints in the log's file would delay its appends
 *     log in memory    none           there is nothing to restart from
 *     log on Kafka     PostgreSQL, if the server file names one
 *
 * Its thread starts at once and loads while the log is opened. It touches the database only with the first call, and none comes before the log is
 * known to be ours, so that nothing is created beside another program's file. If the log does not exist yet, an existing state is checked before it is created.
 */
import { existsSync } from 'node:fs';
import { ClusterDatabase } from './cluster-database.ts';
import { toldOutages } from './told-outages.ts';
import type { JournalRetention } from '../projections/checkpoints/journal-trim.ts';
import { DatabaseError, type Database } from '../projections/database-port.ts';
import type { LogOptions, ServerOptions } from '../config/server-options.ts';

export type OpenState = {
  readonly database: Database;
  /** What journals keep although checkpoints have it. */
  readonly retention: JournalRetention;
  /** Whether a start waits for the database: true for PostgreSQL, which others run; trouble with a file needs a person. */
  readonly mayComeBack: boolean;
  /** Whether the database does not exist yet: the first call creates it. */
  readonly isNew: boolean;
};

const threadAtOnce = { startsAtOnce: true } as const;

export async function openState({ log, logger }: Pick<ServerOptions, 'log' | 'logger'>): Promise<OpenState | undefined> {
  if (log.kind === 'kafka') {
    if (log.state === undefined) {
      logger.info(
        'all state is in memory: topics are never trimmed, and each start reads them whole; use PostgreSQL (perdure.postgres) in production',
      );
      return undefined;
    }
    const { openPostgres } = await import('../projections/postgres/open-postgres.ts');
    const { postgres, journalRetentionMs, journalRetentionBytes } = log.state;
    const retention = { journalRetentionMs, ...(journalRetentionBytes === undefined ? {} : { journalRetentionBytes }) };
    return { database: toldOutages(openPostgres(postgres, logger, threadAtOnce), logger), retention, mayComeBack: true, isNew: false };
  }
  if (log.filename === undefined) return undefined;
  const { openSqlite } = await import('../projections/sqlite/open-sqlite.ts');
  const filename = stateFile(log.filename);
  const database = openSqlite({ filename }, { ...threadAtOnce, logger });
  const isNew = !existsSync(filename);
  return { database: toldOutages(database, logger), retention: { journalRetentionMs: 0 }, mayComeBack: false, isNew };
}

function stateFile(logFile: string): string {
  return `${logFile}-state`;
}

export function isStateAlone(log: LogOptions): log is LogOptions & { readonly kind: 'embedded'; readonly filename: string } {
  return log.kind === 'embedded' && log.filename !== undefined && !existsSync(log.filename) && existsSync(stateFile(log.filename));
}

/** Before a log is created beside the state. Throws DatabaseError if it is a cluster's or unusable; one that may come back is waited for. */
export async function checkNobodys({ database, mayComeBack, isNew }: OpenState, logName: string): Promise<void> {
  try {
    await new ClusterDatabase({ database, isNew, logName, clusterId: undefined }).checkOwner();
  } catch (error) {
    if (!mayComeBack || !(error instanceof DatabaseError) || !error.recoverable) throw error;
  }
}
