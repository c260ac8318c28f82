/**
 * The database that holds what the journals have added up to, where there is one:
 *
 *     log in x.db      x.db-state     a file of its own: a checkpoint inside the log's file would hold up its appends
 *     log in memory    none           there is nothing to restart from
 *     log on Kafka     PostgreSQL, if the server file names one
 *
 * Its thread starts at once and loads while the log is opened. It looks at the database with the first call, and none comes before the log is
 * known to be ours: beside somebody else's file nothing is made. Where the log is about to be made, a state that is there is looked at before.
 */
import { existsSync } from 'node:fs';
import { ClusterDatabase } from './cluster-database.ts';
import { toldOutages } from './told-outages.ts';
import type { JournalRetention } from '../actors/checkpoint/journal-trim.ts';
import { DatabaseError, type Database } from '../actors/database.ts';
import type { LogOptions, ServerOptions } from '../config/server-options.ts';

export type OpenState = {
  readonly database: Database;
  /** What the journals keep, though checkpoints have it. */
  readonly retention: JournalRetention;
  /** Others run it, so a start may wait for it. What is wrong with a file needs a person. */
  readonly mayComeBack: boolean;
  /** There is none: the first call makes it. */
  readonly isNew: boolean;
};

const threadAtOnce = { startsAtOnce: true } as const;

export async function openState({ log, logger }: Pick<ServerOptions, 'log' | 'logger'>): Promise<OpenState | undefined> {
  if (log.kind === 'kafka') {
    if (log.state === undefined) {
      logger.info(
        'state lives in memory: the topics keep everything, and are read at each start; perdure.postgres keeps state beside them',
      );
      return undefined;
    }
    const { openPostgres } = await import('../database/postgres/open-postgres.ts');
    const { postgres, journalRetentionMs, journalRetentionBytes } = log.state;
    const retention = { journalRetentionMs, ...(journalRetentionBytes === undefined ? {} : { journalRetentionBytes }) };
    return { database: toldOutages(openPostgres(postgres, logger, threadAtOnce), logger), retention, mayComeBack: true, isNew: false };
  }
  if (log.filename === undefined) return undefined;
  const { openSqlite } = await import('../database/sqlite/open-sqlite.ts');
  const filename = stateFile(log.filename);
  const database = openSqlite({ filename }, { ...threadAtOnce, logger });
  const isNew = !existsSync(filename);
  return { database: toldOutages(database, logger), retention: { journalRetentionMs: 0 }, mayComeBack: false, isNew };
}

function stateFile(logFile: string): string {
  return `${logFile}-state`;
}

/** There is a state, and its log is to be made: it must be nobody's. */
export function isStateAlone(log: LogOptions): log is LogOptions & { readonly kind: 'embedded'; readonly filename: string } {
  return log.kind === 'embedded' && log.filename !== undefined && !existsSync(log.filename) && existsSync(stateFile(log.filename));
}

/** Before a log is made beside it. Throws DatabaseError when it is somebody's, or cannot be used; what may come back is waited for later. */
export async function checkNobodys({ database, mayComeBack, isNew }: OpenState, logName: string): Promise<void> {
  try {
    await new ClusterDatabase({ database, isNew, logName, clusterId: undefined }).checkOwner();
  } catch (error) {
    if (!mayComeBack || !(error instanceof DatabaseError) || !error.recoverable) throw error;
  }
}
