import type { KafkaOptions } from '../config/kafka-options.ts';
import type { PostgresOptions } from '../config/postgres-options.ts';
import type { BrokerProbe, PostgresProbe, RunningServer, ServerOptions } from '../config/server-options.ts';

/** What a command may touch of its process; tests hand in their own. */
export type Io = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly loadServer: () => Promise<ServerModule>;
};

/** What the command line knows of the server. */
export type ServerModule = {
  readonly startServer: (options: ServerOptions) => Promise<RunningServer>;
  readonly tryBrokers: (kafka: KafkaOptions) => Promise<readonly BrokerProbe[]>;
  readonly tryPostgres: (postgres: PostgresOptions) => Promise<PostgresProbe>;
};
