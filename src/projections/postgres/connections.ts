/**
 * Connections to one PostgreSQL. Whoever takes one gives it back whole, or it is cut: after an error that is not the server's own answer nobody
 * knows what it still does, and the next user must not inherit an open transaction.
 *
 * Every wait is bounded: for a free connection, for the server to let us in, for each statement (the server ends it itself; we, should the
 * server be frozen, a second later by cutting the connection), and for us (a transaction that we leave idle is ended by the server, so that a
 * frozen process of ours holds no lock that its successor waits for).
 */
import { Socket } from 'node:net';
import { checkServerIdentity, type ConnectionOptions, type PeerCertificate } from 'node:tls';
import { DatabaseError } from '../database-port.ts';
import { asError } from '../../kernel/error-text.ts';
import { driver, type ClientConfig, type Query } from './driver.ts';
import { leavesConnection, postgresFailure } from './postgres-failure.ts';
import { nameOf } from './names.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';

/** The server is to be the first to end a statement: that leaves the connection. */
const graceMs = 1_000;
/** What is under way when we close. */
const closeTimeoutMs = 2_000;

export type Parameter = string | number | boolean | bigint | null | undefined | Uint8Array;
export type Row = Readonly<Record<string, unknown>>;

/**
 * `name`: prepared once for each connection, and after some uses its plan is kept. For statements that find their rows in one way alone:
 * the plan of a search that was made when a table was small reads the whole table when it is large.
 */
export type Statement = { readonly name?: string; readonly text: string };

type Found<R> = { readonly rows: readonly R[]; readonly count: number };

/** What a user of a connection may do with it. */
export interface Session {
  query<R extends Row>(statement: Statement, values: readonly Parameter[]): Promise<Found<R>>;
  /** Runs one or several statements without parameters. `timeoutMs`: what we give it; the server's own limit is its `statement_timeout`. */
  run(text: string, timeoutMs?: number): Promise<void>;
  /** Nobody uses this connection again. */
  cut(): void;
  /** What the server calls this session. */
  readonly backend: number | null;
}

type Waiting = { readonly take: (connection: Connection) => void; readonly fail: (error: Error) => void };

export class Connections {
  readonly #options: PostgresOptions;
  readonly #config: ClientConfig;
  readonly #max: number;
  readonly #before: () => Promise<void>;
  readonly #open = new Set<Connection>();
  /** The one that was used last is taken first: in quiet times few are used, and those are warm. */
  readonly #idle: Connection[] = [];
  readonly #waiting = new Set<Waiting>();
  #uses = 0;
  #closed: Promise<void> | undefined;
  #allGivenBack: () => void = () => {};

  /** `settings`: of each session, `name=value`. `before`: each use. */
  constructor(options: PostgresOptions, max: number, settings: readonly string[], before: () => Promise<void> = async () => {}) {
    this.#before = before;
    this.#options = options;
    this.#config = clientConfig(options, settings);
    this.#max = max;
  }

  /** Rejects with DatabaseError alone. */
  async use<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw this.#closedError();
    this.#uses += 1;
    let connection: Connection | undefined;
    try {
      await this.#before();
      connection = await this.#take();
      return await work(connection);
    } catch (error) {
      // What we refuse ourselves says nothing about the connection.
      const cause = error instanceof DatabaseError ? error.cause : error;
      if (cause !== undefined && !leavesConnection(cause)) connection?.cut();
      if (this.#closed !== undefined) throw this.#closedError(error);
      throw postgresFailure(error, this.#options);
    } finally {
      if (connection !== undefined) this.#giveBack(connection);
      this.#uses -= 1;
      if (this.#uses === 0) this.#allGivenBack();
    }
  }

  async close(): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  /** What is under way may end; what hangs is cut. */
  async #close(): Promise<void> {
    for (const { fail } of this.#waiting) fail(this.#closedError());
    if (this.#uses > 0) {
      const given = new Promise<void>((resolve) => (this.#allGivenBack = resolve));
      const cut = setTimeout(() => this.#cutAll(), closeTimeoutMs);
      await given;
      clearTimeout(cut);
    }
    await Promise.all(this.#idle.map((connection) => connection.sayGoodbye()));
    this.#cutAll();
  }

  #cutAll(): void {
    for (const connection of this.#open) connection.cut();
  }

  async #take(): Promise<Connection> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return idle;
    if (this.#open.size >= this.#max) return await this.#turn();
    const connection = new Connection(this.#config, () => this.#gone(connection));
    this.#open.add(connection);
    try {
      await connection.connect();
    } catch (error) {
      connection.cut();
      throw error;
    }
    return connection;
  }

  async #turn(): Promise<Connection> {
    let waiting: Waiting | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<Connection>((take, fail) => {
        waiting = { take, fail };
        this.#waiting.add(waiting);
        timer = setTimeout(() => fail(new Error('timeout: all connections are in use')), this.#options.timeoutMs);
      });
    } finally {
      if (waiting !== undefined) this.#waiting.delete(waiting);
      clearTimeout(timer);
    }
  }

  #giveBack(connection: Connection): void {
    if (connection.isCut) return;
    const [next] = this.#waiting;
    if (next === undefined) return void this.#idle.push(connection);
    this.#waiting.delete(next);
    next.take(connection);
  }

  /** There is room for another: it is opened for whoever waits. By then that may have been given up, or another connection be free. */
  #gone(connection: Connection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#waiting.size === 0 || this.#closed !== undefined) return;
    this.#take().then(
      (opened) => this.#giveBack(opened),
      (error: Error) => {
        const [next] = this.#waiting;
        next?.fail(error);
      },
    );
  }

  #closedError(cause?: unknown): DatabaseError {
    return new DatabaseError('closed', `${nameOf(this.#options)} is closed`, { cause });
  }
}

/** Its socket is ours: the driver's own `end` says goodbye and waits for an answer, which a frozen server never gives. */
class Connection implements Session {
  readonly #socket = new Socket();
  readonly #client: InstanceType<typeof driver.Client>;
  isCut = false;

  constructor(config: ClientConfig, gone: () => void) {
    this.#client = new driver.Client({ ...config, stream: () => this.#socket });
    // What breaks while nobody uses it, or between two statements, fails the next statement.
    this.#client.on('error', () => this.cut());
    this.#socket.once('close', () => {
      this.isCut = true;
      gone();
    });
  }

  async connect(): Promise<void> {
    await this.#client.connect();
  }

  async query<R extends Row>({ name, text }: Statement, values: readonly Parameter[]): Promise<Found<R>> {
    const query: Query = name === undefined ? { text, values } : { name, text, values };
    const { rows, rowCount } = await this.#client.query(query);
    return { rows: rows as readonly R[], count: rowCount ?? 0 };
  }

  get backend(): number | null {
    return this.#client.processID;
  }

  async run(text: string, timeoutMs?: number): Promise<void> {
    await this.#client.query(timeoutMs === undefined ? text : { text, query_timeout: timeoutMs });
  }

  cut(): void {
    this.isCut = true;
    this.#socket.destroy();
  }

  /** Ends the session so that the server's log has no lost connection; it need not answer. */
  async sayGoodbye(): Promise<void> {
    const cut = setTimeout(() => this.cut(), closeTimeoutMs);
    await this.#client.end().catch(() => {});
    clearTimeout(cut);
  }
}

/** Whatever the role's default is: what waits for a lock reads what its holder has left. */
export const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** Does all of the work or nothing, seen by others at once. */
export async function inTransaction<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  await session.run(begin);
  let result: Result;
  try {
    result = await work();
  } catch (error) {
    await rollBack(session, error);
    throw error;
  }
  const lost = await commit(session);
  if (lost !== undefined) throw lost;
  return result;
}

/**
 * What went wrong when nobody knows whether it was committed; throws what the server refused. The server's own time limit does not count here:
 * one that waits for its standbys has committed already, so it waits on, and we are the first to give up.
 */
export async function commit(session: Session): Promise<Error | undefined> {
  try {
    await session.run('COMMIT');
    return undefined;
  } catch (error) {
    if (leavesConnection(error)) throw error;
    session.cut();
    return asError(error);
  }
}

/** After an error: the session is clean again. Where that is not to be had it throws, and the connection is cut. */
export async function rollBack(session: Session, after: unknown): Promise<void> {
  const cause = after instanceof DatabaseError ? after.cause : after;
  if (cause === undefined || leavesConnection(cause)) await session.run('ROLLBACK');
}

function clientConfig(options: PostgresOptions, settings: readonly string[]): ClientConfig {
  const { host, port, database, user, password, tls, timeoutMs } = options;
  return {
    ...{ host, port, database, user, password },
    ssl: tls === undefined ? false : tlsConfig(tls),
    application_name: 'perdure',
    keepAlive: true,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    query_timeout: timeoutMs + graceMs,
    idle_in_transaction_session_timeout: timeoutMs,
    options: settings.map((setting) => `-c ${setting}`).join(' '),
    types: { getTypeParser },
  };
}

function tlsConfig({ ca, cert, key, serverName, verifyServer }: NonNullable<PostgresOptions['tls']>): ConnectionOptions {
  const identity = (_host: string, peer: PeerCertificate): Error | undefined => checkServerIdentity(serverName ?? '', peer);
  return { ca, cert, key, rejectUnauthorized: verifyServer, ...(serverName === undefined ? {} : { checkServerIdentity: identity }) };
}

const int8 = 20;
const bytea = 17;

/** Every number of our tables that is read is within 2^53. Bytes become buffers of their own, which pin nothing else. */
function getTypeParser(oid: number, format: 'text' | 'binary'): (text: string) => unknown {
  if (oid === int8) return Number;
  if (oid === bytea) return bytesOfHex;
  return driver.types.getTypeParser(oid, format);
}

function bytesOfHex(text: string): Uint8Array {
  const bytes = new Uint8Array((text.length - 2) / 2);
  Buffer.from(bytes.buffer).write(text.slice(2), 'hex');
  return bytes;
}
