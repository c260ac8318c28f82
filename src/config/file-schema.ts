import { z } from 'zod';
import { defaults } from './defaults.ts';
import { limitKeys, limitSettings } from './limits.ts';
import {
  bytesBetween,
  duration,
  durationBetween,
  flag,
  group,
  groupOrFlag,
  hostPort,
  ip,
  key,
  list,
  listOrText,
  matching,
  oneOf,
  port,
  refused,
  requiredKey,
  risingNumbers,
  secret,
  secretGroup,
  tagName,
  text,
  unused,
  whole,
} from './fields.ts';

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

const rpc = group({
  grpcPort: key(port(), 'Port of the gRPC frontend. GET /health answers there too. 0 takes a free one.', { default: defaults.grpcPort }),
  bindOnLocalHost: key(flag(), 'Listen on localhost only, which is 127.0.0.1 and ::1.', {
    defaultText: 'true, unless bindOnIP names an address',
  }),
  bindOnIP: key(ip(), 'Address to listen on. 0.0.0.0 is every address of the machine: anybody who reaches the port may use it.'),
  httpPort: unused('the HTTP API is not served yet'),
  membershipPort: unused('has no effect: Kafka carries the membership'),
  httpAdditionalForwardedHeaders: unused('the HTTP API is not served yet'),
  keepAliveServerConfig: unused(),
  clientConnectionConfig: unused(),
});

const frontend = group({ rpc: key(rpc, 'Where it listens.') });

/** So far one process runs every role, behind the frontend's port. */
const roleInFrontend = group({
  rpc: key(
    group({
      ...rpc.shape,
      grpcPort: key(port(), 'No port of its own yet.'),
      bindOnLocalHost: key(flag(), 'No port of its own yet.'),
      bindOnIP: key(ip(), 'No port of its own yet.'),
    }),
    'Where this role will listen.',
  ),
});

const sqlDatastore = group({
  pluginName: key(text('a plugin name such as sqlite'), 'sqlite: the embedded log, for one server without Kafka.'),
  databaseName: key(text('a database name; for sqlite a file'), 'The file of the embedded log, made when it is missing.'),
  connectAddr: unused(),
  connectProtocol: unused(),
  connectAttributes: key(
    z.record(z.string(), z.unknown()),
    'mode: memory keeps the journals in memory, where they are gone with the process. Other attributes have no effect.',
  ),
  user: unused(),
  password: unused(),
  maxConns: unused(),
  maxIdleConns: unused(),
  maxConnLifetime: unused(),
  taskScanPartitions: unused(),
  tls: unused(),
});

const datastore = group({
  sql: key(sqlDatastore, 'A database.'),
  cassandra: unused(),
  elasticsearch: unused(),
  customDatastore: unused(),
  faultInjection: unused(),
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
      `true accepts any certificate: anybody between this server and ${where} can read and change all.`,
      {
        default: false,
      },
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
    'Brokers to begin with, host:port with IPv6 in brackets: a list, or one text with commas. The others are found through them.',
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
  port: key(whole(1, 65535), 'Its port.', { default: defaults.postgres.port }),
  database: key(
    text('the name of a database'),
    'Exists already, with the encoding UTF8; the tables are made in a schema that is called as topicPrefix.',
    {
      default: defaults.postgres.database,
    },
  ),
  user: key(text('the name of a role'), 'Role of PostgreSQL. It makes the schema, or owns it.', { default: defaults.postgres.user }),
  password: key(secret(), 'Its password. Better from the environment: "${POSTGRES_PASSWORD}".'),
  tls: key(groupOrFlag(postgresTls), 'TLS towards PostgreSQL: true, or a group of keys.', { defaultText: 'no TLS' }),
  pool: key(whole(1, 100), 'Connections for checkpoints and loads. List and Count have up to four more, reads of dead letters two.', {
    default: defaults.postgres.pool,
  }),
  migrate: key(flag(), 'false: missing tables, and those of an older version, are an error that shows the statements.', {
    defaultText: 'true, unless --no-auto-migrate',
  }),
});

const elsewhere = 'has no effect here: write it under clientConfig';
const bounds = () => risingNumbers('a list of rising numbers over 0');

const metrics = group({
  prometheus: key(
    group({
      framework: key(
        oneOf(['tally', 'opentelemetry']),
        'How metrics are named: tally (name, timers in seconds) or opentelemetry (name_total, name_milliseconds).',
        {
          default: 'tally',
        },
      ),
      listenAddress: requiredKey(hostPort(), 'Where GET on handlerPath answers, host:port with IPv6 in brackets.'),
      handlerPath: key(matching(/^\/[A-Za-z0-9._~/-]{0,200}$/, 'a path such as /metrics'), 'Path of the page.', {
        default: defaults.metricsPath,
      }),
      loggerRPS: unused('there is no metric logger that could be limited'),
      timerType: unused(),
      onError: unused(),
      sanitizeOptions: unused(),
    }),
    'The page that Prometheus scrapes.',
  ),
  statsd: unused('metrics are not sent to statsd yet; prometheus serves them'),
  clientConfig: key(
    group({
      tags: key(z.record(tagName(), text()), 'Tags on every series; a metric’s own tag of the same name wins.'),
      excludeTags: key(
        z.record(tagName(), list(text(), 'a list of values')),
        'Tag → values of it that are replaced by _tag_excluded_; an empty list changes nothing.',
      ),
      prefix: key(
        matching(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'a prefix of letters, digits and underscores'),
        'In front of every name, with an underscore.',
      ),
      perUnitHistogramBoundaries: key(
        group({
          milliseconds: key(bounds(), 'Buckets of timers, in milliseconds whatever they are shown in.', {
            defaultText: '1, 2, 5, … 1000000',
          }),
          dimensionless: unused('no metric has this unit yet'),
          bytes: unused('no metric has this unit yet'),
        }),
        'Upper ends of the buckets of histograms.',
      ),
      withoutUnitSuffix: key(flag(), 'opentelemetry: no _milliseconds or _seconds in names.', { default: false }),
      withoutCounterSuffix: key(flag(), 'opentelemetry: no _total in names.', { default: false }),
      recordTimerInSeconds: key(flag(), 'opentelemetry: timers in seconds. In tally they always are.', { default: false }),
    }),
    'What all metrics have in common.',
  ),
  tags: unused(elsewhere),
  excludeTags: refused(
    'means the opposite of clientConfig.excludeTags (values that are kept) and is not available; name what to replace under clientConfig',
    true,
  ),
  prefix: unused(elsewhere),
  perUnitHistogramBoundaries: unused(elsewhere),
  withoutUnitSuffix: unused(elsewhere),
  withoutCounterSuffix: unused(elsewhere),
  recordTimerInSeconds: unused(elsewhere),
});

const global = group({
  membership: key(
    group({
      maxJoinDuration: key(
        durationBetween('100ms', '24h'),
        'A start that makes no progress for so long has failed; half of it is how long it waits for partitions that do not move. 100ms to 24h.',
        { default: defaults.maxJoinDuration },
      ),
      broadcastAddress: unused('one process serves a cluster so far'),
    }),
    'How servers find each other.',
  ),
  tls: key(
    group({
      internode: refused(noTls),
      frontend: refused(noTls),
      systemWorker: refused(noTls),
      remoteClusters: refused('other clusters are not available yet'),
      refreshInterval: key(duration(), 'Read; without TLS on our ports it means nothing yet.'),
      expirationChecks: key(
        group({
          warningWindow: key(duration(), 'Read; means nothing yet.'),
          errorWindow: key(duration(), 'Read; means nothing yet.'),
          checkInterval: key(duration(), 'Read; means nothing yet.'),
        }),
        'Warnings before certificates end.',
      ),
    }),
    'TLS on this server’s own ports: not available yet.',
  ),
  authorization: key(
    group({
      authorizer: refused(noAuthorization),
      claimMapper: refused(noAuthorization),
      jwtKeyProvider: refused(noAuthorization),
      permissionsClaimName: unused('authorization is not available yet'),
      permissionsRegex: unused('authorization is not available yet'),
      authHeaderName: unused('authorization is not available yet'),
      authExtraHeaderName: unused('authorization is not available yet'),
      audience: unused('authorization is not available yet'),
      remoteClusterAuth: refused(noAuthorization),
    }),
    'Who may do what: not available yet.',
  ),
  metrics: key(metrics, 'Metrics for Prometheus (docs/operations/metrics.md). Without prometheus none are kept.'),
  otel: unused('traces are not exported yet'),
  pprof: unused(),
});

const log = group({
  stdout: key(flag(), 'Log on stdout instead of stderr.', { default: false }),
  level: key(text('debug, info, warn or error'), 'debug, info, warn or error.', { default: defaults.logLevel }),
  outputFile: key(text('a file name'), 'Log into this file; SIGUSR1 opens it again, for log rotation.', { defaultText: 'stderr' }),
  encoding: key(oneOf(['json', 'console']), 'json or console.', { default: defaults.logEncoding }),
  format: key(oneOf(['json', 'console']), 'Temporal’s spelling of encoding.'),
  tagNames: unused('records carry the guide’s names'),
  development: unused(),
});

const limits = group(
  Object.fromEntries(
    Object.entries(limitKeys).map(([name, { limit, min, max, about }]) => [
      name,
      key(whole(min, max), about, { default: limitSettings[limit].default }),
    ]),
  ),
);

export const fileSchema = group({
  log: key(log, 'What the server writes about itself.'),
  global: key(global, 'What holds for all roles.'),
  services: key(
    group({
      frontend: key(frontend, 'The port of clients and workers.'),
      history: key(roleInFrontend, 'Runs in the frontend’s process.'),
      matching: key(roleInFrontend, 'Runs in the frontend’s process.'),
      worker: key(roleInFrontend, 'Runs in the frontend’s process.'),
      'internal-frontend': unused('the internal frontend is not served yet'),
    }),
    'The roles of a server. One process runs them all.',
  ),
  persistence: key(
    group({
      numHistoryShards: key(whole(1, 16384), 'Partitions of <topicPrefix>.history. Fixed for ever at the first start of a log.', {
        defaultText: `${defaults.onKafka.historyShards} on Kafka, ${defaults.embedded.historyShards} in a file`,
      }),
      defaultStore: key(text('the name of a datastore'), 'Which of the datastores holds the journals, when they are not on Kafka.', {
        default: defaults.datastore,
      }),
      datastores: key(z.record(z.string(), datastore), 'Databases by name.'),
      visibilityStore: unused('rows of List and Count are kept beside the state; they have no store of their own'),
      secondaryVisibilityStore: unused(),
      advancedVisibilityStore: unused(),
      transactionSizeLimit: unused(),
      dataStores: unused(),
    }),
    'Where the journals live when they are not on Kafka, and in how many shards.',
  ),
  clusterMetadata: key(
    group({
      currentClusterName: key(text('the name of this cluster'), 'Name of this cluster.', { default: defaults.clusterName }),
      enableGlobalNamespace: unused('other clusters are not available yet'),
      failoverVersionIncrement: unused('other clusters are not available yet'),
      masterClusterName: unused('other clusters are not available yet'),
      clusterInformation: unused('other clusters are not available yet'),
      remoteClusters: unused('other clusters are not available yet'),
    }),
    'This cluster among others.',
  ),
  perdure: key(
    group({
      kafka: key(kafka, 'The Kafka cluster that holds the journals.'),
      dynamicConfig: key(limits, 'Limits, by the names of Temporal’s dynamic configuration. Nearly all of them can only be lowered.'),
      postgres: key(
        postgres,
        'PostgreSQL for what the journals on Kafka add up to. Without it state lives in memory, and the topics keep everything.',
      ),
      journalRetention: key(
        durationBetween('0s', '8760h'),
        'With perdure.postgres: records of journals that are younger stay on Kafka, though PostgreSQL has them. So old a backup of it may be.',
        { default: defaults.journalRetention },
      ),
      journalRetentionBytes: key(
        bytesBetween(mib, tib),
        'The same by size, of each journal (a partition of a topic): of what is over one of the two, records leave Kafka. Counted as records are, roughly.',
        { defaultText: 'no limit' },
      ),
      hotStateBytesMax: key(
        bytesBetween(mib, tib),
        'Workflows in memory. Past it, those that were not used for longest are left to the database, until somebody needs them. Less with a heap below 1.5 GiB.',
        { default: defaults.state.hotStateBytesMax },
      ),
      historyCacheBytesMax: key(
        bytesBetween(mib, tib),
        'Events of histories in memory. What is not there is read from the database, or the journal. Less with a heap below 1.5 GiB.',
        {
          default: defaults.state.historyCacheBytesMax,
        },
      ),
      unwrittenStateBytesMax: key(
        bytesBetween(mib, tib),
        'State in memory because the database has not taken it yet. Past it no workflow is started; those that run go on. Less with a heap below 1.5 GiB.',
        { default: defaults.state.unwrittenStateBytesMax },
      ),
      checkpointRecordsMax: key(
        whole(10, 40_000),
        'Records of one journal after which a checkpoint is written, if it is not for another reason: a restart reads what no checkpoint has. Less with a heap below 1.5 GiB.',
        { default: defaults.state.checkpointRecordsMax },
      ),
      archival: key(
        group({
          roots: key(
            listOrText(text('a folder'), 'a list of folders'),
            'Folders below which namespaces may have their histories archived, absolute. Left out: the folder of namespaceDefaults alone.',
          ),
        }),
        'Where archived histories may be written.',
      ),
      health: refused('a health port of its own is not available yet; GET /health answers on the gRPC port'),
    }),
    'What only Perdure has.',
  ),
  publicClient: unused(),
  dcRedirectionPolicy: unused(),
  archival: key(
    group({
      history: key(
        group({
          state: key(
            oneOf(['enabled', 'disabled', 'paused'], 'enabled, disabled or paused'),
            'enabled, disabled, or paused: then tasks wait.',
            {
              default: 'disabled',
            },
          ),
          enableRead: key(flag(), 'Histories that retention has deleted are read from there.', { default: false }),
          provider: key(
            group({
              filestore: key(
                group({
                  fileMode: key(octalMode(), 'Permissions of files, octal, in quotes.', { default: '0666' }),
                  dirMode: key(octalMode(), 'Permissions of folders, octal, in quotes.', { default: '0766' }),
                }),
                'Folders of this machine.',
              ),
              s3store: unused('only the filestore is available'),
              gstorage: unused('only the filestore is available'),
              gstore: unused('only the filestore is available'),
            }),
            'Where histories are kept: of filestore alone.',
          ),
        }),
        'Histories of closed workflows.',
      ),
      visibility: unused('archival of visibility is not available yet'),
    }),
    'Histories of closed workflows are kept in a folder beyond their retention (docs/operations/archival.md).',
  ),
  namespaceDefaults: key(
    group({
      archival: key(
        group({
          history: key(
            group({
              state: key(oneOf(['enabled', 'disabled'], 'enabled or disabled'), 'enabled or disabled.', { default: 'disabled' }),
              URI: key(text('a URI like file:///var/archive'), 'Of namespaces that name none: file:///var/archive.'),
            }),
            'Histories of closed workflows.',
          ),
          visibility: unused('archival of visibility is not available yet'),
        }),
        'Of namespaces that say nothing of it.',
      ),
    }),
    'What holds for namespaces that are registered without it.',
  ),
  visibility: unused(),
  dynamicConfigClient: key(
    group({
      filepath: requiredKey(
        text('a file name'),
        'YAML file of values by key, each with constraints. It must be there when the server starts.',
      ),
      pollInterval: key(durationBetween('5s', '24h'), 'How often it is looked at: what has changed in it holds at once. 5s to 24h.', {
        default: defaults.dynamicConfigPollInterval,
      }),
    }),
    'Settings that may change while the server serves (docs/operations/dynamic-configuration.md).',
  ),
  otel: unused('traces are not exported yet'),
});

export type FileConfig = z.infer<typeof fileSchema>;
