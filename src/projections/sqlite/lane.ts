/**
 * One SQLite connection, on the thread that made it: calls return when SQLite does.
 *
 *     lane     │ write: guard, chunk, chunk, chunk, commit │ restore │ window │ write …        one after the other
 *     between  │            load   load   history          │                                    at once
 *
 * A large write would hold up every load behind it, so it goes in chunks, and loads are answered between them: in memory, where there is but this
 * connection. With a file they come to another one (open-sqlite.ts), and only restores and windows wait here. Loads see the rows that the open
 * transaction has written so far; that is right, for what an owner loads is cold, and nothing cold is ever in a write under way. All else waits
 * its turn. The fence is the same all along: a restore waits as well.
 *
 * While another process holds the file's lock, a transaction asks for it again and again, and loads are answered meanwhile.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Asked, DatabaseError, type Fenced, type JournalId } from '../database-port.ts';
import { Connection, databaseFailure, isLocked } from './connection.ts';
import { generationOf } from './journal-rows.ts';
import { Moments } from './moment.ts';
import { sqliteName, type SqliteOptions } from './options.ts';

const defaultQueryTimeoutMs = 10_000;

/** How long another process may hold the file's lock, and how often it is looked at. */
const lockWaitMsMax = 5_000;
const lockLookMs = 20;

export class Lane {
  readonly name: string;
  readonly #options: SqliteOptions;
  readonly #moments: Moments;
  /** Opened by the first call, and again after one that was given up. */
  #connection: Connection | undefined;
  /** The last that was asked for: whoever finds another one was overtaken. */
  end: Promise<unknown> = Promise.resolve();
  /** The last step of lists, counts and walks over letters that is to come. */
  #walks: Promise<unknown> = Promise.resolve();
  /** A commit failed: what the file holds must be synced before anything rests on it. */
  #isInDoubt = false;
  /** Whose commit failed: until there is another one it reads what stood there before. What is loaded is cold, and so never in that commit. */
  #inDoubt: Connection | undefined;
  #isClosed = false;
  /** Lists and counts that may be given up. */
  readonly #underWay = new Map<Asked, { isGivenUp: boolean }>();
  /** The connection, for what takes several turns: between them it may have been opened anew. */
  readonly now = (): Connection => this.#opened();
  /** A connection that sees one moment; undefined: none is to be had (moment.ts). */
  readonly moment = (): Connection | undefined => this.#moments.present();

  constructor(options: SqliteOptions) {
    this.#options = options;
    this.#moments = new Moments(options);
    this.name = sqliteName(options);
  }

  /** Reads in a turn of the lane, with the fence of the same moment. */
  window<Rows>(journal: JournalId, read: (connection: Connection) => Rows): Promise<Fenced<Rows>> {
    return this.alone((connection) => fenced(connection, journal, () => read(connection)));
  }

  transaction<Result>(work: (connection: Connection) => Result | Promise<Result>, how = { isDurable: true }): Promise<Result> {
    return this.alone((connection) => this.transact(connection, () => work(connection), how));
  }

  /** Opens no turn: whoever calls has the lane. */
  async transact<Result>(connection: Connection, work: () => Result | Promise<Result>, how = { isDurable: true }): Promise<Result> {
    await this.#begin(connection, how);
    let result: Result;
    try {
      result = await work();
    } catch (error) {
      this.#undo(connection);
      throw error;
    }
    this.#commit(connection);
    return result;
  }

  /** Works after all that was asked before, and alone. */
  async alone<Result>(work: (connection: Connection) => Result | Promise<Result>): Promise<Result> {
    this.#checkOpen();
    const turn = this.end.then(() => work(this.#opened()));
    this.end = turn.catch(() => {});
    try {
      return await turn;
    } catch (error) {
      throw this.failure(error);
    }
  }

  /**
   * Each step in the lane: what was asked meanwhile has its turn before the next, and so has what comes in only then. Behind their first steps walks
   * take turns with one another, so that whoever writes waits for a step of one of them, however many there are.
   */
  async inSteps<Result>(steps: Generator<void, Result>, asked?: Asked): Promise<Result> {
    const { queryTimeoutMs = defaultQueryTimeoutMs } = this.#options;
    const endMs = performance.now() + queryTimeoutMs;
    const underWay = { isGivenUp: false };
    if (asked !== undefined) this.#underWay.set(asked, underWay);
    try {
      for (let isFirst = true; ; isFirst = false) {
        const step = () => this.alone(() => steps.next());
        const { done, value } = await (isFirst ? step() : this.#inTurn(step));
        if (done === true) return value;
        if (performance.now() >= endMs) throw new DatabaseError('overtime', `the query did not end within ${queryTimeoutMs} ms`);
        await new Promise((resolve) => setImmediate(resolve));
        if (underWay.isGivenUp) throw new DatabaseError('overtime', 'the caller has given up');
      }
    } finally {
      if (asked !== undefined) this.#underWay.delete(asked);
      steps[Symbol.dispose]();
    }
  }

  giveUp(asked: Asked): void {
    const underWay = this.#underWay.get(asked);
    if (underWay !== undefined) underWay.isGivenUp = true;
  }

  /** Reads beside the lane, at once. */
  async atOnce<Result>(read: (connection: Connection) => Result): Promise<Result> {
    this.#checkOpen();
    try {
      return read(this.#inDoubt ?? this.#opened());
    } catch (error) {
      throw this.failure(error);
    }
  }

  failure(error: unknown): DatabaseError {
    return databaseFailure(error, this.#options);
  }

  /** What is under way ends first. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.end;
    this.#closeConnections();
  }

  async #inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const turn = this.#walks.then(step);
    this.#walks = turn.catch(() => {});
    return await turn;
  }

  /** Between two looks at the lock others get their turns. */
  async #begin(connection: Connection, how: { readonly isDurable: boolean }): Promise<void> {
    for (const endMs = performance.now() + lockWaitMsMax; ;) {
      try {
        return connection.begin(how);
      } catch (error) {
        if (!isLocked(error) || this.#isClosed || performance.now() >= endMs) throw error;
      }
      await delay(lockLookMs);
    }
  }

  /** A failed commit is never tried again: nobody knows what it left. The next connection finds what is there. */
  #commit(connection: Connection): void {
    try {
      connection.commit();
    } catch (error) {
      this.#isInDoubt = true;
      this.#undo(connection);
      this.#inDoubt = this.#connection;
      this.#connection = undefined;
      throw new CommitFailure(this.failure(error));
    }
  }

  #undo(connection: Connection): void {
    try {
      connection.rollback();
    } catch {
      // Closing ends the transaction as well.
      this.#closeConnections();
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new DatabaseError('closed', `${this.name} is closed`);
  }

  #opened(): Connection {
    this.#connection ??= new Connection(this.#options, { mustSync: this.#isInDoubt });
    this.#isInDoubt = false;
    this.#inDoubt?.close();
    this.#inDoubt = undefined;
    return this.#connection;
  }

  #closeConnections(): void {
    const connections = [this.#connection, this.#inDoubt];
    this.#connection = this.#inDoubt = undefined;
    for (const connection of connections) connection?.close();
  }
}

export function fenced<Rows>(connection: Connection, journal: JournalId, read: () => Rows): Fenced<Rows> {
  return connection.snapshot(() => ({ ...generationOf(connection, journal), rows: read() }));
}

/** Nobody knows whether it was committed. */
export class CommitFailure extends DatabaseError {
  constructor({ code, message, cause }: DatabaseError) {
    super(code, message, { cause });
  }
}
