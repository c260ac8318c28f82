/**
 * SQLite beside the event loop: one thread that writes and reads windows of state, and for a file two more that only read.
 *
 *     write, restore, windows ─▶ writer      in one lane; a commit that syncs, or moves the write-ahead log into the file, takes its time
 *     load, history           ─▶ loads       commands wait for these, and now for nothing else
 *     list, count, letters    ─▶ lists       over a million rows, maybe
 *
 * Loads see what is committed. What an owner loads is cold, and nothing cold is in a write under way; how far the rows go that it sees is told with
 * them. In memory there is but one connection, and so one thread.
 *
 * Threads start with the first call that needs them; the first of them at once, if that is wanted.
 */
import { callMethod, databaseMethods, everyMethod } from '../database-methods.ts';
import { threadDatabase } from '../thread/thread-database.ts';
import { noFileYet, sqliteName, type SqliteOptions } from './options.ts';
import type { Database } from '../database-port.ts';
import type { Logger } from '../../observability/logger.ts';

export type OpenSqliteOptions = {
  readonly startsAtOnce?: boolean;
  /** Hears of damage; absent: nobody does. */
  readonly logger?: Logger;
};

export function openSqlite(asked: SqliteOptions, how: OpenSqliteOptions = {}): Database {
  const options = { ...asked, opened: noFileYet() };
  const writer = sqliteThread(options, how);
  if (options.filename === undefined) return writer;
  const readsOnly = { ...options, readsOnly: true };
  const loads = sqliteThread(readsOnly, { ...how, startsAtOnce: false });
  const lists = sqliteThread(readsOnly, { ...how, startsAtOnce: false });
  const threads = { write: writer, window: writer, load: loads, walk: lists };
  return {
    ...everyMethod(writer.name, (method, args) => callMethod(threads[databaseMethods[method].kind], method, args)),
    close: async () => {
      await Promise.all([writer.close(), loads.close(), lists.close()]);
    },
  };
}

function sqliteThread(options: SqliteOptions, { startsAtOnce = false, logger }: OpenSqliteOptions): Database {
  const worker = new URL('./thread.ts', import.meta.url);
  return threadDatabase({
    name: sqliteName(options),
    worker,
    workerData: options,
    startsAtOnce,
    heard: ({ level, message, fields }) => logger?.[level](message, fields),
  });
}
