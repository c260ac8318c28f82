/** The part of `pg` that we use, in our own types: what the server sends is `unknown`, the settings of a session are those it knows. */
import { createRequire } from 'node:module';
import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';

export type ClientConfig = {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password?: string | undefined;
  readonly ssl?: ConnectionOptions | false;
  readonly application_name?: string;
  readonly keepAlive?: boolean;
  readonly connectionTimeoutMillis?: number;
  /** Held by the server. */
  readonly statement_timeout?: number;
  readonly idle_in_transaction_session_timeout?: number;
  /** Held by the client, which then no longer knows in what state the session is. */
  readonly query_timeout?: number;
  /** Settings as on the server's command line: `-c name=value`. */
  readonly options?: string;
  /** Gives the parser of a value's text; `oid` is its type. */
  readonly types?: { readonly getTypeParser: (oid: number, format: 'text' | 'binary') => (text: string) => unknown };
  /** Not connected yet. */
  readonly stream?: () => Duplex;
};

export type Query = {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
  /** Instead of the client's. */
  readonly query_timeout?: number;
};
export type QueryResult = { readonly rows: readonly unknown[]; readonly rowCount: number | null };

export interface Client extends EventEmitter {
  /** The id of the server's process, once it is connected. */
  readonly processID: number | null;
  connect(): Promise<void>;
  /** Several statements in one text have several results. */
  query(query: string | Query): Promise<QueryResult>;
  end(): Promise<void>;
}

type Driver = {
  readonly Client: new (config: ClientConfig) => Client;
  readonly types: { readonly getTypeParser: (oid: number, format: 'text' | 'binary') => (text: string) => unknown };
};

export const driver = createRequire(import.meta.url)('pg') as Driver;
