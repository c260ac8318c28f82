/** How to reach the Kafka cluster that holds the journals (`perdure.kafka` of the server file). */
export type KafkaOptions = {
  /** `host:port`, IPv6 in brackets; at least one. */
  readonly brokers: readonly string[];
  /** Topics are `<prefix>.history`, `<prefix>.matching`, `<prefix>.cluster`. */
  readonly topicPrefix: string;
  readonly replicationFactor: number;
  readonly tls: KafkaTls | undefined;
  readonly sasl: KafkaSasl | undefined;
  /** False (`--no-auto-migrate`): missing topics are an error that names the commands which create them. */
  readonly autoCreateTopics: boolean;
};

/** Certificates as PEM text, read from their files when the configuration was loaded. */
export type KafkaTls = {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly serverName: string | undefined;
  readonly verifyServer: boolean;
};

export type KafkaSasl = {
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
  readonly username: string;
  readonly password: string;
};
