/**
 * The rows of one moment, for somebody who goes over them in many turns: one transaction that reads, on a connection of its own, since whoever
 * else reads is to see what is written meanwhile.
 *
 *     write-ahead log   ├── what is in it ──┼── what is written while a moment is looked at ──▶
 *                                           └─ begins anew when nobody looks at an earlier moment any more
 *
 * Moments that overlap would keep it from that for ever, and the disk would fill. So where it is long there is none to be had until it has begun
 * anew. Each ends with the query's time at the latest.
 *
 * Each has a file handle and a cache of its own, 8 MiB, and every namespace may have two Counts under way: so there are few at a time.
 */
import { statSync } from 'node:fs';
import { Connection } from './connection.ts';
import type { SqliteOptions } from './options.ts';

const writeAheadBytesMax = 64 * 1024 * 1024;
const momentsMax = 4;

export class Moments {
  readonly #options: SqliteOptions;
  #open = 0;

  constructor(options: SqliteOptions) {
    this.#options = { ...options, readsOnly: true };
  }

  /** A connection, which whoever takes it closes; undefined: there is none, and in memory there never is. Throws DatabaseError. */
  present(): Connection | undefined {
    const { filename } = this.#options;
    if (filename === undefined || this.#open >= momentsMax) return undefined;
    if ((statSync(`${filename}-wal`, { throwIfNoEntry: false })?.size ?? 0) > writeAheadBytesMax) return undefined;
    const moment = new Moment(this.#options, () => (this.#open -= 1));
    this.#open += 1;
    try {
      moment.statement('BEGIN').run();
      // It is the moment of the first read.
      moment.statement('SELECT 1 FROM perdure').get();
      return moment;
    } catch (error) {
      moment.close();
      throw error;
    }
  }
}

class Moment extends Connection {
  readonly #ended: () => void;

  constructor(options: SqliteOptions, ended: () => void) {
    super(options, { mustSync: false });
    this.#ended = ended;
  }

  override close(): void {
    super.close();
    this.#ended();
  }
}
