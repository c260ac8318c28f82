/**
 * SQLite beside the event loop: one thread that writes and reads state, and for a file a second one that lists and counts, so that a List over
 * a million rows holds up no checkpoint and no load. In memory there is but one connection, and so one thread.
 *
 * Threads start with the first call that needs them; the first of them at once, if that is wanted.
 */
import { threadDatabase } from '../thread/thread-database.ts';
import { sqliteName, type SqliteOptions } from './options.ts';
import type { Database } from '../../actors/database.ts';

export function openSqlite(options: SqliteOptions, { startsAtOnce = false }: { readonly startsAtOnce?: boolean } = {}): Database {
  const writer = sqliteThread(options, startsAtOnce);
  if (options.filename === undefined) return writer;
  const reader = sqliteThread({ ...options, readsOnly: true }, false);
  return {
    ...writer,
    list: (query) => reader.list(query),
    count: (query) => reader.count(query),
    close: async () => {
      await Promise.all([writer.close(), reader.close()]);
    },
  };
}

function sqliteThread(options: SqliteOptions, startsAtOnce: boolean): Database {
  const worker = new URL('./thread.ts', import.meta.url);
  return threadDatabase({ name: sqliteName(options), worker, workerData: options, startsAtOnce });
}
