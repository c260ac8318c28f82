/** What holds when a key is left out: the loader fills it in, the JSON Schema and the reference page show it. */
export const defaults = {
  grpcPort: 7233,
  rolePorts: { history: 7234, matching: 7235 },
  webUiPort: 8233,
  /** Nothing listens beyond this machine unless somebody asked for it. */
  host: 'localhost',
  maxJoinDuration: '30s',
  dynamicConfigPollInterval: '1m',
  logLevel: 'info',
  logEncoding: 'json',
  metricsPath: '/metrics',
  clusterName: 'active',
  topicPrefix: 'perdure',
  replicationFactorMax: 3,
  /** How old a backup of PostgreSQL may be. */
  journalRetention: '24h',
  /** Limits of one process, all its shards together. */
  state: {
    hotStateBytesMax: 256 * 1024 * 1024,
    historyCacheBytesMax: 64 * 1024 * 1024,
    unwrittenStateBytesMax: 512 * 1024 * 1024,
    checkpointRecordsMax: 10_000,
  },
  postgres: { port: 5432, database: 'perdure', user: 'perdure', pool: 4, timeoutMs: 10_000 },
  datastore: 'default',
  onKafka: { historyShards: 16, matchingPartitions: 16, taskQueuePartitions: 4 },
  embedded: { historyShards: 4, matchingPartitions: 4, taskQueuePartitions: 1 },
} as const;
