/**
 * The rows of one moment, for somebody who goes over them in many turns: one transaction that reads, on a connection of its own, since whoever
 * else reads is to see what is written meanwhile.
 *
 *     write-ahead log   ├── what is in it ──┼── what is written while a moment is looked at ──▶
 *                                           └─ begins anew when nobody looks at an earlier moment any more
 *
 * Moments that overlap would keep it from that for ever, and the disk would fill. So where it is long there is none to be had until it has begun
 * anew. Each ends with the query's time at the latest.
 */
import { statSync } from 'node:fs';
import { Connection } from './connection.ts';
import type { SqliteOptions } from './options.ts';

const writeAheadBytesMax = 64 * 1024 * 1024;

/** To be closed by whoever takes it; undefined: there is none, and in memory there never is. Throws DatabaseError. */
export function presentMoment(options: SqliteOptions): Connection | undefined {
  const { filename } = options;
  if (filename === undefined || (statSync(`${filename}-wal`, { throwIfNoEntry: false })?.size ?? 0) > writeAheadBytesMax) return undefined;
  const connection = new Connection({ ...options, readsOnly: true }, { mustSync: false });
  connection.statement('BEGIN').run();
  return connection;
}
