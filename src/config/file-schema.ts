import { z } from 'zod';
import { duration, flag, group, hostPort, ip, list, matching, oneOf, port, refused, text, unused, whole } from './fields.ts';

/**
 * The server file. Canonical spellings are the operations guide's; `log.format` is Temporal's spelling of `log.encoding`. There are
 * no defaults in here: what was left out must stay recognisable (see settings.ts).
 */

const noTls = 'TLS on this server’s own ports is not available yet; remove the key and put a TLS proxy in front';
const noAuthorization = 'authorization is not available yet; remove the key and restrict who can reach the port';

const rpc = group({
  grpcPort: port().optional(),
  bindOnLocalHost: flag().optional(),
  bindOnIP: ip().optional(),
  httpPort: unused('the HTTP API is not served yet'),
  membershipPort: unused('has no effect: Kafka carries the membership'),
  httpAdditionalForwardedHeaders: unused('the HTTP API is not served yet'),
  keepAliveServerConfig: unused(),
  clientConnectionConfig: unused(),
});

const service = group({ rpc: rpc.optional() });

const sqlDatastore = group({
  pluginName: text('a plugin name such as sqlite').optional(),
  databaseName: text('a database name; for sqlite a file').optional(),
  connectAddr: unused(),
  connectProtocol: unused(),
  connectAttributes: z.record(z.string(), z.unknown()).optional(),
  user: unused(),
  password: unused(),
  maxConns: unused(),
  maxIdleConns: unused(),
  maxConnLifetime: unused(),
  taskScanPartitions: unused(),
  tls: unused(),
});

const datastore = group({
  sql: sqlDatastore.optional(),
  cassandra: unused(),
  elasticsearch: unused(),
  customDatastore: unused(),
  faultInjection: unused(),
});

const kafkaTls = group({
  enabled: flag().optional(),
  caFile: text('a file name').optional(),
  certFile: text('a file name').optional(),
  keyFile: text('a file name').optional(),
  serverName: text('a host name').optional(),
  disableHostVerification: flag().optional(),
});

const kafkaSasl = group({
  mechanism: oneOf(['plain', 'scram-sha-256', 'scram-sha-512'], 'plain, scram-sha-256 or scram-sha-512'),
  username: text(),
  password: text(),
});

const kafka = group({
  /** A list, or the usual `a:9092,b:9092` in one text, which an environment variable can hold. */
  brokers: z
    .preprocess(
      (value) =>
        typeof value === 'string'
          ? value
              .split(',')
              .map((part) => part.trim())
              .filter((part) => part !== '')
          : value,
      list(hostPort(), 'a list of host:port'),
    )
    .optional(),
  topicPrefix: matching(/^[A-Za-z0-9._-]{1,200}$/, 'a topic prefix of letters, digits, dots, dashes and underscores').optional(),
  replicationFactor: whole(1, 32767).optional(),
  tls: z
    .preprocess(
      (value) => (value === true || value === 'true' ? {} : value === false || value === 'false' ? { enabled: false } : value),
      kafkaTls,
    )
    .optional(),
  sasl: kafkaSasl.optional(),
});

const global = group({
  membership: group({ maxJoinDuration: duration().optional(), broadcastAddress: unused('one process serves a cluster so far') }).optional(),
  tls: group({
    internode: refused(noTls),
    frontend: refused(noTls),
    systemWorker: refused(noTls),
    remoteClusters: refused('other clusters are not available yet'),
    refreshInterval: duration().optional(),
    expirationChecks: group({
      warningWindow: duration().optional(),
      errorWindow: duration().optional(),
      checkInterval: duration().optional(),
    }).optional(),
  }).optional(),
  authorization: group({
    authorizer: refused(noAuthorization),
    claimMapper: refused(noAuthorization),
    jwtKeyProvider: refused(noAuthorization),
    permissionsClaimName: unused('authorization is not available yet'),
    permissionsRegex: unused('authorization is not available yet'),
    authHeaderName: unused('authorization is not available yet'),
    authExtraHeaderName: unused('authorization is not available yet'),
    audience: unused('authorization is not available yet'),
    remoteClusterAuth: refused(noAuthorization),
  }).optional(),
  metrics: unused('metrics are not served yet'),
  otel: unused('traces are not exported yet'),
  pprof: unused(),
});

const log = group({
  stdout: flag().optional(),
  level: text('debug, info, warn or error').optional(),
  outputFile: text('a file name').optional(),
  encoding: oneOf(['json', 'console']).optional(),
  format: oneOf(['json', 'console']).optional(),
  tagNames: unused('records carry the guide’s names'),
  development: unused(),
});

export const fileSchema = group({
  log: log.optional(),
  global: global.optional(),
  services: group({
    frontend: service.optional(),
    history: service.optional(),
    matching: service.optional(),
    worker: service.optional(),
    'internal-frontend': unused('the internal frontend is not served yet'),
  }).optional(),
  persistence: group({
    numHistoryShards: whole(1, 16384).optional(),
    defaultStore: text('the name of a datastore').optional(),
    datastores: z.record(z.string(), datastore).optional(),
    visibilityStore: unused('visibility has no store of its own yet'),
    secondaryVisibilityStore: unused(),
    advancedVisibilityStore: unused(),
    transactionSizeLimit: unused(),
    dataStores: unused(),
  }).optional(),
  clusterMetadata: group({
    currentClusterName: text('the name of this cluster').optional(),
    enableGlobalNamespace: unused('other clusters are not available yet'),
    failoverVersionIncrement: unused('other clusters are not available yet'),
    masterClusterName: unused('other clusters are not available yet'),
    clusterInformation: unused('other clusters are not available yet'),
    remoteClusters: unused('other clusters are not available yet'),
  }).optional(),
  perdure: group({
    kafka: kafka.optional(),
    postgres: refused('the PostgreSQL projections are not available yet; the journals hold everything'),
    health: refused('a health port of its own is not available yet; GET /health answers on the gRPC port'),
  }).optional(),
  publicClient: unused(),
  dcRedirectionPolicy: unused(),
  archival: unused('archival is not available yet'),
  namespaceDefaults: unused(),
  visibility: unused(),
  dynamicConfigClient: unused('dynamic configuration files are not read yet'),
  otel: unused('traces are not exported yet'),
});

export type FileConfig = z.infer<typeof fileSchema>;

/** For editors. What a transformation accepts beside the canonical form does not show. */
export function fileJsonSchema(): object {
  return { title: 'Perdure server file', ...z.toJSONSchema(fileSchema, { io: 'output', unrepresentable: 'any' }) };
}
