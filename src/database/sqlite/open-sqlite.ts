/**
 * SQLite beside the event loop: one thread that writes and reads windows of state, and for a file two more that only read.
 *
 *     write, restore, windows ─▶ writer      in one lane; a commit that syncs, or moves the write-ahead log into the file, takes its time
 *     load, history           ─▶ loads       commands wait for these, and now for nothing else
 *     list, count             ─▶ lists       over a million rows, maybe
 *
 * Loads see what is committed. What an owner loads is cold, and nothing cold is in a write under way; how far the rows go that it sees is told with
 * them. In memory there is but one connection, and so one thread.
 *
 * Threads start with the first call that needs them; the first of them at once, if that is wanted.
 */
import { threadDatabase } from '../thread/thread-database.ts';
import { sqliteName, type SqliteOptions } from './options.ts';
import type { Database } from '../../actors/database.ts';

export function openSqlite(options: SqliteOptions, { startsAtOnce = false }: { readonly startsAtOnce?: boolean } = {}): Database {
  const writer = sqliteThread(options, startsAtOnce);
  if (options.filename === undefined) return writer;
  const loads = sqliteThread({ ...options, readsOnly: true }, false);
  const lists = sqliteThread({ ...options, readsOnly: true }, false);
  return {
    ...writer,
    load: (...asked) => loads.load(...asked),
    history: (...asked) => loads.history(...asked),
    list: (query) => lists.list(query),
    count: (query) => lists.count(query),
    close: async () => {
      await Promise.all([writer.close(), loads.close(), lists.close()]);
    },
  };
}

function sqliteThread(options: SqliteOptions, startsAtOnce: boolean): Database {
  const worker = new URL('./thread.ts', import.meta.url);
  return threadDatabase({ name: sqliteName(options), worker, workerData: options, startsAtOnce });
}
