import type { KafkaTls } from './kafka-options.ts';

/** How to reach the PostgreSQL that holds what the journals have added up to. */
export type PostgresOptions = {
  /** A name, an address, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string | undefined;
  /** Certificates as for Kafka. undefined: in the clear. */
  readonly tls: KafkaTls | undefined;
  /** Names the schema of the tables: servers with prefixes of their own share a database. */
  readonly topicPrefix: string;
  /** Connections for checkpoints and loads; List and Count have up to four more. */
  readonly connectionsMax: number;
  /** Limits one statement, and one attempt to connect. */
  readonly timeoutMs: number;
  /** False: missing tables are an error, and somebody with the rights runs the statements that it shows. */
  readonly migrate: boolean;
};
