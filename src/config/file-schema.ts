import { z } from 'zod';
import { defaults } from './defaults.ts';
import { limitSettings } from './limit-settings.ts';
import type { PortRole } from './role-ports.ts';
import { bytesBetween, duration, durationBetween, each, flag, group, groupKey, groupOrFlag, hostPort, ip, key, list } from './fields.ts';
import { listOrText, matching, oneOf, port, refused, requiredKey, risingNumbers, secret, secretGroup, tagName, text } from './fields.ts';
import { unused, whole } from './fields.ts';

/**
 * The server file, the one source of three things: what the loader accepts, the JSON Schema for editors (json-schema.ts), and the reference
 * page docs/configuration.md. Canonical spellings are the operations guide's; `log.format` is Temporal's spelling of `log.encoding`.
 * There are no defaults in here: what was left out must stay recognisable (see settings.ts).
 */

const mib = 2 ** 20;
const tib = 2 ** 40;

const octalMode = () => matching(/^0?[0-7]{3}$/, 'an octal mode in quotes, such as "0666"');

const noTls = 'TLS on this server’s own ports is not available yet; remove the key and put a TLS proxy in front';
const noAuthorization = 'authorization is not available yet; remove the key and restrict who can reach the port';

const rpcOf = (what: string, grpcPort: number) =>
  group({
    grpcPort: key(port(), `Port of ${what}. GET /health answers there too. 0 takes a free one.`, { default: grpcPort }),
    bindOnLocalHost: key(flag(), 'Listen on localhost only, which is 127.0.0.1 and ::1.', {
      defaultText: 'true, unless bindOnIP names an address',
    }),
    bindOnIP: key(ip(), 'Address to listen on. 0.0.0.0 is every address of the machine: anybody who can reach the port can use it.'),
    httpPort: unused('the HTTP API is not served yet'),
    membershipPort: unused('has no effect: membership is kept on Kafka'),
    httpAdditionalForwardedHeaders: unused('the HTTP API is not served yet'),
    ...each(['keepAliveServerConfig', 'clientConnectionConfig'], unused()),
  });

const frontend = group({ rpc: key(rpcOf('the gRPC frontend', defaults.grpcPort), 'Where the frontend listens.') });

const roleWithPort = (role: PortRole) =>
  group({
    rpc: key(
      rpcOf(`the ${role} role; if no port is named and this one is in use, a free one is taken`, defaults.rolePorts[role]),
      'Where this role listens.',
    ),
  });

const sqlDatastore = group({
  pluginName: key(text('a plugin name such as sqlite'), 'sqlite: the embedded log, for one server without Kafka.'),
  databaseName: key(text('a database name; for sqlite a file'), 'The file of the embedded log; it is created if it does not exist.'),
  ...each(['connectAddr', 'connectProtocol'], unused()),
  connectAttributes: key(
    z.record(z.string(), z.unknown()),
    'mode: memory keeps the journals in memory; they are lost when the process ends. Other attributes have no effect.',
  ),
  ...each(['user', 'password', 'maxConns', 'maxIdleConns', 'maxConnLifetime', 'taskScanPartitions', 'tls'], unused()),
});

const datastore = group({
  sql: key(sqlDatastore, 'A database.'),
  ...each(['cassandra', 'elasticsearch', 'customDatastore', 'faultInjection'], unused()),
});

type TlsWords = { readonly theirs: string; readonly who: string; readonly host: string; readonly where: string };

const clientTls = ({ theirs, who, host, where }: TlsWords) =>
  group({
    enabled: key(flag(), 'false switches TLS off and keeps the other keys.', { default: true }),
    caFile: key(text('a file name'), `PEM file with the certificates of the authorities that signed ${theirs}.`, {
      defaultText: 'the authorities that Node trusts',
    }),
    certFile: key(text('a file name'), `PEM file with the client certificate, for ${who} that ask for one. Goes together with keyFile.`),
    keyFile: key(text('a file name'), 'PEM file with the private key of certFile.'),
    serverName: key(text('a host name'), `Name that ${theirs} must have.`, { defaultText: host }),
    disableHostVerification: key(
      flag(),
      `true accepts any certificate: anybody between this server and ${where} can read and change everything.`,
      { default: false },
    ),
  });

const kafkaTls = clientTls({ theirs: 'the brokers’ certificates', who: 'brokers', host: 'the host of each broker', where: 'Kafka' });
const postgresTls = clientTls({ theirs: 'its certificate', who: 'servers', host: 'its host', where: 'PostgreSQL' });

const kafkaSasl = secretGroup({
  mechanism: requiredKey(
    oneOf(['plain', 'scram-sha-256', 'scram-sha-512'], 'plain, scram-sha-256 or scram-sha-512'),
    'How to log in: plain, scram-sha-256 or scram-sha-512.',
  ),
  username: requiredKey(text(), 'Kafka user.'),
  password: requiredKey(secret(), 'Its password. Better from the environment: "${KAFKA_PASSWORD}".'),
});

const kafka = group({
  brokers: key(
    listOrText(hostPort(), 'a list of host:port'),
    'Brokers to connect to first, host:port with IPv6 in brackets: a list, or one text with commas. The other brokers are found through them.',
  ),
  topicPrefix: key(
    matching(/^[A-Za-z0-9._-]{1,200}$/, 'a topic prefix of letters, digits, dots, dashes and underscores'),
    'The topics are <prefix>.history, <prefix>.matching and <prefix>.cluster. One prefix is one cluster.',
    { default: defaults.topicPrefix },
  ),
  replicationFactor: key(whole(1, 32767), 'Copies of each partition, for the topics that this server creates.', {
    defaultText: `as many as brokers are named, at most ${defaults.replicationFactorMax}`,
  }),
  tls: key(groupOrFlag(kafkaTls), 'TLS towards Kafka: true, or a group of keys.', { defaultText: 'no TLS' }),
  sasl: key(kafkaSasl, 'Login at the brokers.', { defaultText: 'no login' }),
});

const postgres = secretGroup({
  url: key(
    secret(),
    'In place of host, port, database, user and tls: postgres://user@host:port/database, with ?sslmode=disable, require or verify-full.',
  ),
  host: key(text('a host name'), 'Name or address of the server, or the folder of its socket.'),
  port: key(whole(1, 65535), 'Port of the server.', { default: defaults.postgres.port }),
  database: key(
    text('the name of a database'),
    'Must exist, with the encoding UTF8. The tables are created in a schema with the name of topicPrefix.',
    { default: defaults.postgres.database },
  ),
  user: key(text('the name of a role'), 'PostgreSQL role. It owns the schema, or may create it.', { default: defaults.postgres.user }),
  password: key(secret(), 'Its password. Better from the environment: "${POSTGRES_PASSWORD}".'),
  tls: key(groupOrFlag(postgresTls), 'TLS towards PostgreSQL: true, or a group of keys.', { defaultText: 'no TLS' }),
  pool: key(whole(1, 100), 'Connections for checkpoints and loads. List and Count use up to four more, reads of dead letters two.', {
    default: defaults.postgres.pool,
  }),
  migrate: key(flag(), 'false: if tables are missing or older than this version, the start is refused and prints the statements.', {
    defaultText: 'true, unless --no-auto-migrate',
  }),
});

const elsewhere = 'has no effect here: write it under clientConfig';
const bounds = () => risingNumbers('a list of rising numbers over 0');

const metrics = group({
  prometheus: groupKey('The page with metrics, for Prometheus.', {
    framework: key(
      oneOf(['tally', 'opentelemetry']),
      'How metrics are named: tally (name, timers in seconds) or opentelemetry (name_total, name_milliseconds).',
      { default: 'tally' },
    ),
    listenAddress: requiredKey(hostPort(), 'Address of the page, host:port with IPv6 in brackets.'),
    handlerPath: key(matching(/^\/[A-Za-z0-9._~/-]{0,200}$/, 'a path such as /metrics'), 'Path of the page.', {
      default: defaults.metricsPath,
    }),
    loggerRPS: unused('there is no metric logger that could be limited'),
    ...each(['timerType', 'onError', 'sanitizeOptions'], unused()),
  }),
  statsd: unused('metrics are not sent to statsd yet; prometheus serves them'),
  clientConfig: groupKey('Settings of all metrics.', {
    tags: key(z.record(tagName(), text()), 'Tags on every series; a metric’s own tag of the same name wins.'),
    excludeTags: key(
      z.record(tagName(), list(text(), 'a list of values')),
      'For each tag, a list of values that are replaced by _tag_excluded_; an empty list changes nothing.',
    ),
    prefix: key(
      matching(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'a prefix of letters, digits and underscores'),
      'A prefix of every name, followed by an underscore.',
    ),
    perUnitHistogramBoundaries: groupKey('Upper ends of the buckets of histograms.', {
      milliseconds: key(bounds(), 'Buckets of timers, always in milliseconds, also if timers are shown in seconds.', {
        defaultText: '1, 2, 5, … 1000000',
      }),
      ...each(['dimensionless', 'bytes'], unused('no metric has this unit yet')),
    }),
    withoutUnitSuffix: key(flag(), 'opentelemetry: no _milliseconds or _seconds in names.', { default: false }),
    withoutCounterSuffix: key(flag(), 'opentelemetry: no _total in names.', { default: false }),
    recordTimerInSeconds: key(flag(), 'opentelemetry: timers in seconds. In tally they always are.', { default: false }),
  }),
  tags: unused(elsewhere),
  excludeTags: refused('not available: it lists values to keep; use clientConfig.excludeTags, which lists values to replace', true),
  ...each(['prefix', 'perUnitHistogramBoundaries', 'withoutUnitSuffix', 'withoutCounterSuffix', 'recordTimerInSeconds'], unused(elsewhere)),
});

const global = group({
  membership: groupKey('How servers find each other.', {
    maxJoinDuration: key(
      durationBetween('100ms', '24h'),
      'A start without progress for this long has failed; it waits half of this for partitions that make none. 100ms to 24h.',
      { default: defaults.maxJoinDuration },
    ),
    broadcastAddress: unused('one process serves the whole cluster'),
  }),
  tls: groupKey('TLS on this server’s own ports: not available yet.', {
    ...each(['internode', 'frontend', 'systemWorker'], refused(noTls)),
    remoteClusters: refused('other clusters are not available yet'),
    refreshInterval: key(duration(), 'No effect yet, because there is no TLS on this server’s ports.'),
    expirationChecks: groupKey('Warnings before certificates end.', {
      ...each(['warningWindow', 'errorWindow', 'checkInterval'], key(duration(), 'No effect yet.')),
    }),
  }),
  authorization: groupKey('Who may do what: not available yet.', {
    ...each(['authorizer', 'claimMapper', 'jwtKeyProvider'], refused(noAuthorization)),
    ...each(
      ['permissionsClaimName', 'permissionsRegex', 'authHeaderName', 'authExtraHeaderName', 'audience'],
      unused('authorization is not available yet'),
    ),
    remoteClusterAuth: refused(noAuthorization),
  }),
  metrics: key(metrics, 'Metrics (docs/operations/metrics.md). Without the key prometheus none are kept.'),
  otel: unused('traces are not exported yet'),
  pprof: unused(),
});

const log = group({
  stdout: key(flag(), 'Log on stdout instead of stderr.', { default: false }),
  level: key(text('debug, info, warn or error'), 'debug, info, warn or error.', { default: defaults.logLevel }),
  outputFile: key(text('a file name'), 'Log into this file; SIGUSR1 opens it again, for log rotation.', { defaultText: 'stderr' }),
  encoding: key(oneOf(['json', 'console']), 'json or console.', { default: defaults.logEncoding }),
  format: key(oneOf(['json', 'console']), 'Temporal’s spelling of encoding.'),
  tagNames: unused('fields of log records have fixed names'),
  development: unused(),
});

const limits = group(
  Object.fromEntries(
    Object.values(limitSettings).map((setting) => [setting.key, key(whole(...setting.range), setting.about, { default: setting.default })]),
  ),
);

export const fileSchema = group({
  log: key(log, 'The log of the server itself.'),
  global: key(global, 'Settings of all roles.'),
  services: groupKey('The roles of a server. One process runs them all.', {
    frontend: key(frontend, 'The port of clients and workers.'),
    history: key(roleWithPort('history'), 'The history shards. Their port answers health checks.'),
    matching: key(roleWithPort('matching'), 'The task queues. Their port answers health checks.'),
    worker: unused('the worker role runs in this process, without a port'),
    'internal-frontend': unused('the internal frontend is not served yet'),
  }),
  persistence: groupKey('Where the journals are kept if they are not on Kafka, and in how many shards.', {
    numHistoryShards: key(whole(1, 16384), 'Partitions of <topicPrefix>.history. Fixed for ever at the first start of a log.', {
      defaultText: `${defaults.onKafka.historyShards} on Kafka, ${defaults.embedded.historyShards} in a file`,
    }),
    defaultStore: key(text('the name of a datastore'), 'The datastore that holds the journals if they are not on Kafka.', {
      default: defaults.datastore,
    }),
    datastores: key(z.record(z.string(), datastore), 'Databases, by name.'),
    visibilityStore: unused('rows of List and Count are stored with the state; there is no separate store'),
    ...each(['secondaryVisibilityStore', 'advancedVisibilityStore', 'transactionSizeLimit', 'dataStores'], unused()),
  }),
  clusterMetadata: groupKey('The name of this cluster.', {
    currentClusterName: key(text('the name of this cluster'), 'Name of this cluster.', { default: defaults.clusterName }),
    ...each(
      ['enableGlobalNamespace', 'failoverVersionIncrement', 'masterClusterName', 'clusterInformation', 'remoteClusters'],
      unused('other clusters are not available yet'),
    ),
  }),
  perdure: groupKey('Settings that only Perdure has.', {
    kafka: key(kafka, 'The Kafka cluster that holds the journals.'),
    dynamicConfig: key(limits, 'Limits, with the names of Temporal’s dynamic configuration. Nearly all of them can only be lowered.'),
    postgres: key(
      postgres,
      'PostgreSQL for state, beside journals on Kafka: the set-up for production. Without it all state is in memory, and topics are never trimmed.',
    ),
    journalRetention: key(
      durationBetween('0s', '8760h'),
      'With perdure.postgres: records younger than this stay on Kafka although PostgreSQL has them. A backup of PostgreSQL may be this old.',
      { default: defaults.journalRetention },
    ),
    journalRetentionBytes: key(
      bytesBetween(mib, tib),
      'With perdure.postgres: at most this many bytes of records (approximately) stay in each journal, that is, a partition of a topic. Records beyond either limit are deleted from Kafka.',
      { defaultText: 'no limit' },
    ),
    hotStateBytesMax: key(
      bytesBetween(mib, tib),
      'Memory for workflows. Beyond it the least recently used are only in the database, until they are needed. Less with a heap below 1.5 GiB.',
      { default: defaults.state.hotStateBytesMax },
    ),
    historyCacheBytesMax: key(
      bytesBetween(mib, tib),
      'Memory for events of histories. Others are read from the database, or from the journal. Less with a heap below 1.5 GiB.',
      { default: defaults.state.historyCacheBytesMax },
    ),
    unwrittenStateBytesMax: key(
      bytesBetween(mib, tib),
      'Memory for state that the database has not written yet. Beyond it no workflow is started; running workflows continue. Less with a heap below 1.5 GiB.',
      { default: defaults.state.unwrittenStateBytesMax },
    ),
    checkpointRecordsMax: key(
      whole(10, 40_000),
      'Records of one journal after which a checkpoint is written at the latest. A restart replays the records after the last checkpoint. Less with a heap below 1.5 GiB.',
      { default: defaults.state.checkpointRecordsMax },
    ),
    archival: groupKey('Folders for archived histories.', {
      roots: key(
        listOrText(text('a folder'), 'a list of folders'),
        'Absolute paths of folders below which namespaces may archive their histories. If left out, only the folder of namespaceDefaults.',
      ),
    }),
    health: refused('a separate health port is not available yet; GET /health answers on the gRPC port'),
  }),
  ...each(['publicClient', 'dcRedirectionPolicy'], unused()),
  archival: groupKey('Histories of closed workflows are kept in a folder beyond their retention (docs/operations/archival.md).', {
    history: groupKey('Histories of closed workflows.', {
      state: key(
        oneOf(['enabled', 'disabled', 'paused'], 'enabled, disabled or paused'),
        'enabled, disabled, or paused (then histories wait to be archived).',
        { default: 'disabled' },
      ),
      enableRead: key(flag(), 'Whether histories are read from the archive after their retention.', { default: false }),
      provider: groupKey('Where histories are archived; only filestore is available.', {
        filestore: groupKey('Folders on this machine.', {
          fileMode: key(octalMode(), 'Permissions of files, octal, in quotes.', { default: '0666' }),
          dirMode: key(octalMode(), 'Permissions of folders, octal, in quotes.', { default: '0766' }),
        }),
        ...each(['s3store', 'gstorage', 'gstore'], unused('only the filestore is available')),
      }),
    }),
    visibility: unused('archival of visibility is not available yet'),
  }),
  namespaceDefaults: groupKey('Defaults for namespaces.', {
    archival: groupKey('Archival of namespaces that do not set it.', {
      history: groupKey('Histories of closed workflows.', {
        state: key(oneOf(['enabled', 'disabled'], 'enabled or disabled'), 'enabled or disabled.', { default: 'disabled' }),
        URI: key(text('a URI like file:///var/archive'), 'Folder for namespaces that name none, for example file:///var/archive.'),
      }),
      visibility: unused('archival of visibility is not available yet'),
    }),
  }),
  visibility: unused(),
  dynamicConfigClient: groupKey('Settings that can change while the server serves (docs/operations/dynamic-configuration.md).', {
    filepath: requiredKey(
      text('a file name'),
      'YAML file of values by key, each with constraints. It must be there when the server starts.',
    ),
    pollInterval: key(durationBetween('5s', '24h'), 'How often the file is checked; changes take effect at once. 5s to 24h.', {
      default: defaults.dynamicConfigPollInterval,
    }),
  }),
  otel: unused('traces are not exported yet'),
});

export type FileConfig = z.infer<typeof fileSchema>;
