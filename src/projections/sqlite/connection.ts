/**
 * One connection to the file, or to memory: opened, found to be ours, and brought to the present schema.
 *
 * A commit is on the disk when it returns (`synchronous = FULL`): the journal is trimmed on its word. One that nothing rests on by itself
 * (`isDurable: false`) goes there with the next that is, which syncs all of the write-ahead log before it. Should a commit fail, nobody knows what
 * it left in the file's write-ahead log, or whether the disk has it: nothing is written on that connection any more, and the next one moves that log
 * into the file, synced once more, before anything rests on it.
 */
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { DatabaseError, type DatabaseErrorCode } from '../database-port.ts';
import { AssertionError } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import { sqliteFailure, type SqliteFailure } from '../../sqlite/sqlite-failure.ts';
import { whyNotOurs } from '../../sqlite/whose-file.ts';
import { migrations as ownMigrations } from './migrations.ts';
import type { OpenedFile, SqliteOptions } from './options.ts';

/** While it is opened nothing else is asked of this thread. */
const openLockTimeoutMs = 15_000;
const openLookMs = 10;
/** Later it blocks the thread, and with it every load: whoever needs a lock asks again (sqlite-database.ts). */
const lockTimeoutMs = 50;
/** A large checkpoint, or somebody who reads for long, lets the write-ahead log grow; afterwards it is cut to this when it begins anew. */
const writeAheadBytesMax = 16 * 1024 * 1024;
const cacheKiB = 32 * 1024;
/** The kernel has the pages: what is cold is read once. */
const readerCacheKiB = 8 * 1024;
/** The page size of a new file. State of 1.3 KB takes 1,640 bytes in such pages and 2,050 in those of SQLite's default, into which three do not fit. */
const pageBytes = 8_192;

export class Connection {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #filename: string | undefined;
  /** Which file it was when it was opened. */
  readonly #file: string | undefined;
  #isDurable = true;
  /** When statements that look at the clock (`inTimeSql`) are stopped. */
  #endMs = Infinity;

  /** `mustSync`: a commit failed before. Throws DatabaseError. */
  constructor(options: SqliteOptions, { mustSync }: { readonly mustSync: boolean }) {
    const { filename } = options;
    this.#filename = filename;
    let db: DatabaseSync | undefined;
    try {
      // Whoever only reads would else make a new one, and list what is in it: nothing. And a backup that lies there now would be read through the
      // write-ahead log of the file before it: the fence and the offset of now, over rows of then.
      if (filename !== undefined && (isAnother(filename, options.opened) || (options.readsOnly === true && !existsSync(filename))))
        throw gone(filename);
      const timeoutMs = mustSync ? lockTimeoutMs : openLockTimeoutMs;
      db = new DatabaseSync(filename ?? ':memory:', { timeout: timeoutMs });
      prepareUnlocked(db, options, mustSync, timeoutMs);
      db.function('in_time', () => {
        if (performance.now() >= this.#endMs) throw new Overdue();
        return 1;
      });
      this.#db = db;
      this.#file = filename === undefined ? undefined : fileAt(filename);
      if (filename !== undefined) noteOpened(filename, options.opened);
    } catch (error) {
      db?.close();
      throw databaseFailure(error, options);
    }
  }

  get isInTransaction(): boolean {
    return this.#db.isTransaction;
  }

  /** Prepared once and kept: for fixed texts alone. */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  prepare(sql: string): StatementSync {
    return this.#db.prepare(sql);
  }

  /** Takes the lock for writing. Throws DatabaseError when the file was taken away: what a commit wrote would be in none that has a name. */
  begin({ isDurable }: { readonly isDurable: boolean } = { isDurable: true }): void {
    if (this.#filename !== undefined && fileAt(this.#filename) !== this.#file) throw gone(this.#filename);
    if (isDurable !== this.#isDurable && this.#filename !== undefined)
      this.#db.exec(`PRAGMA synchronous = ${isDurable ? 'FULL' : 'NORMAL'}`);
    this.#isDurable = isDurable;
    this.statement('BEGIN IMMEDIATE').run();
  }

  commit(): void {
    this.statement('COMMIT').run();
  }

  rollback(): void {
    // SQLite has already rolled back by itself after some errors (disk full, I/O), and then says that there is no transaction.
    if (this.#db.isTransaction) this.statement('ROLLBACK').run();
  }

  /** All that `read` sees is of one moment. In the transaction of a write it sees that as well. */
  snapshot<T>(read: () => T): T {
    if (this.#db.isTransaction) return read();
    this.statement('BEGIN').run();
    try {
      return read();
    } finally {
      this.rollback();
    }
  }

  /** Statements with `inTimeSql` that take longer are stopped: throws Overdue. */
  within<T>(ms: number, read: () => T): T {
    this.#endMs = performance.now() + ms;
    try {
      return read();
    } finally {
      this.#endMs = Infinity;
    }
  }

  close(): void {
    this.#db.close();
  }
}

/** A statement was stopped, for its time was over; it has changed nothing. */
export class Overdue extends Error {
  override readonly name = 'Overdue';
}

/**
 * A term of a WHERE clause over the visibility table, true of all rows: with it a statement can be stopped. SQLite has a call of its own for that,
 * and Node does not offer it. It is asked for one row in sixteen, since each time costs as much as reading an entry of an index.
 */
export const inTimeSql = '(visibility.rowid & 15 OR in_time())';

/** Which file has this name, by device and inode; undefined: there is none. */
function fileAt(filename: string): string | undefined {
  const found = statSync(filename, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

/** Whether the file is not the one that was opened before. */
function isAnother(filename: string, opened: OpenedFile | undefined): boolean {
  if (opened === undefined || opened[1] === 0n) return false;
  const found = statSync(filename, { throwIfNoEntry: false, bigint: true });
  return found?.dev !== opened[0] || found?.ino !== opened[1];
}

function noteOpened(filename: string, opened: OpenedFile | undefined): void {
  if (opened === undefined || opened[1] !== 0n) return;
  const found = statSync(filename, { throwIfNoEntry: false, bigint: true });
  if (found === undefined) return;
  opened[0] = found.dev;
  Atomics.store(opened, 1, found.ino);
}

function gone(filename: string): DatabaseError {
  return new DatabaseError('unavailable', `${filename} was deleted, moved or replaced while this server uses it: put it back`);
}

const codes: Readonly<Record<SqliteFailure['kind'], DatabaseErrorCode>> = {
  locked: 'unavailable',
  unavailable: 'unavailable',
  refused: 'data',
  corrupt: 'corrupt',
  foreign: 'misconfigured',
};

/** Another process holds the lock: it may let go of it. */
export function isLocked(error: unknown): boolean {
  return !(error instanceof DatabaseError) && sqliteFailure(error, '', 'state').kind === 'locked';
}

/** Whatever was thrown, as the port's error. */
export function databaseFailure(error: unknown, { filename }: SqliteOptions): DatabaseError {
  if (error instanceof DatabaseError) return error;
  // A bug of ours: asking again would meet it again.
  if (error instanceof AssertionError) return new DatabaseError('data', errorText(error), { cause: error });
  const { kind, message } = sqliteFailure(error, filename ?? 'the database in memory', 'state');
  return new DatabaseError(codes[kind], message, { cause: error });
}

/** Where several make a file at the same time, some are told at once that it is locked, whatever their timeout: SQLite does not wait where it might wait for itself. */
function prepareUnlocked(db: DatabaseSync, options: SqliteOptions, mustSync: boolean, timeoutMs: number): void {
  for (const endMs = performance.now() + timeoutMs; ;) {
    try {
      return prepare(db, options, mustSync);
    } catch (error) {
      if (!isLocked(error) || performance.now() >= endMs) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, openLookMs);
  }
}

function prepare(db: DatabaseSync, options: SqliteOptions, mustSync: boolean): void {
  const cache = options.readsOnly === true ? readerCacheKiB : cacheKiB;
  db.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA cache_size = -${cache}; PRAGMA temp_store = MEMORY`);
  if (options.filename === undefined) {
    // A delta that is refused is rolled back, but there is nothing to sync.
    db.exec('PRAGMA synchronous = OFF');
    return migrate(db, 'the database in memory', options.migrations);
  }
  checkOwner(db, options.filename);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  if (options.readsOnly !== true) emptyWriteAheadLog(db, options.filename, mustSync);
  migrate(db, options.filename, options.migrations);
  if (options.readsOnly === true) db.exec('PRAGMA query_only = ON');
  else db.exec(`PRAGMA journal_size_limit = ${writeAheadBytesMax}; PRAGMA busy_timeout = ${lockTimeoutMs}`);
}

/**
 * Moves the write-ahead log into the file, synced. Somebody who reads or writes just now may keep it from that, and nobody waits for them: a checkpoint that waits for readers
 * holds the lock for writing, and those who open the file at the same time wait for that, all until the first of them gives up.
 */
function emptyWriteAheadLog(db: DatabaseSync, filename: string, mustSucceed: boolean): void {
  const { timeout } = db.prepare('PRAGMA busy_timeout').get() ?? {};
  db.exec(`PRAGMA busy_timeout = ${mustSucceed ? lockTimeoutMs : 0}`);
  const isBusy = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] !== 0;
  db.exec(`PRAGMA busy_timeout = ${Number(timeout)}`);
  if (isBusy && mustSucceed)
    throw new DatabaseError('unavailable', `${filename} cannot be synced after a failed commit: another process uses it`);
}

/** Throws if the file is not ours, before anything is written. */
function checkOwner(db: DatabaseSync, filename: string): void {
  const problem = whyNotOurs(filename, 'state', (sql) => db.prepare(sql).all());
  if (problem !== undefined) throw new DatabaseError('misconfigured', problem);
}

/** 0: there are no tables. */
function migrationOf(db: DatabaseSync): number {
  if (db.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'perdure'`).get() === undefined) return 0;
  const row = db.prepare(`SELECT value FROM perdure WHERE name = 'migration'`).get();
  return row === undefined ? 0 : Number(row['value']);
}

/** Takes all migrations that are missing or none, in one transaction; of two that start at once one waits for the other. */
function migrate(db: DatabaseSync, where: string, migrations = ownMigrations): void {
  const check = (found: number): number => {
    if (found <= migrations.length) return found;
    const words = `has schema migration ${found}, written by another version; this one knows ${migrations.length}`;
    throw new DatabaseError('misconfigured', `${where} ${words}: start that version, or restore a backup from before it`);
  };
  if (check(migrationOf(db)) === migrations.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const migration of migrations.slice(check(migrationOf(db)))) db.exec(migration);
    db.prepare(`INSERT OR REPLACE INTO perdure (name, value) VALUES ('migration', ?)`).run(String(migrations.length));
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
