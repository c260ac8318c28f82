import { stringify } from 'yaml';
import { formatDurationMs } from './duration.ts';
import { isLimit } from './limit-settings.ts';
import type { KafkaOptions } from './kafka-options.ts';
import type { MetricsOptions } from './metrics-options.ts';
import { memoryThereIs, stateLimitsBeside } from './memory.ts';
import type { LogOptions, StateLimits, StateOptions } from './server-options.ts';
import type { FileSettings, ServerSettings } from './settings.ts';

const masked = '***';

/** What the settings add up to, as the server file would say it: canonical keys, defaults filled in, secrets masked. */
export function effectiveConfig(server: ServerSettings, file?: Omit<FileSettings, 'server'>): object {
  const metrics = server.metrics === undefined ? {} : { metrics: effectiveMetrics(server.metrics) };
  return {
    ...(file === undefined
      ? {}
      : { log: effectiveLog(file.log), global: { membership: { maxJoinDuration: formatDurationMs(file.startMsMax) }, ...metrics } }),
    services: effectiveServices(server),
    persistence: { numHistoryShards: server.historyShards, ...(server.log.kind === 'embedded' ? embeddedStore(server.log.filename) : {}) },
    clusterMetadata: { currentClusterName: server.clusterName },
    ...effectiveArchival(server),
    ...dynamicConfigClient(server),
    ...perdureKeys(server),
  };
}

function effectiveServices({ host, port, rolePorts }: ServerSettings): object {
  const at = (host: string, grpcPort: number | undefined): object => ({
    rpc: { ...(grpcPort === undefined ? {} : { grpcPort }), ...(host === 'localhost' ? { bindOnLocalHost: true } : { bindOnIP: host }) },
  });
  const roles = Object.entries(rolePorts ?? {}).map(([role, { host, port, orFree }]) => [role, at(host, orFree ? undefined : port)]);
  return { frontend: at(host, port), ...Object.fromEntries(roles) };
}

function dynamicConfigClient({ dynamicConfigFile: file }: ServerSettings): object {
  return file === undefined
    ? {}
    : { dynamicConfigClient: { filepath: file.filename, pollInterval: formatDurationMs(file.pollIntervalMs) } };
}

function effectiveArchival({ archival }: ServerSettings): object {
  if (archival === undefined) return {};
  const { isPaused, isRead: enableRead, fileMode, dirMode, namespaceDefault } = archival;
  const filestore = { fileMode: octal(fileMode), dirMode: octal(dirMode) };
  const { isEnabled, uri: URI } = namespaceDefault;
  return {
    archival: { history: { state: isPaused ? 'paused' : 'enabled', enableRead, provider: { filestore } } },
    namespaceDefaults: { archival: { history: { state: isEnabled ? 'enabled' : 'disabled', ...(URI === '' ? {} : { URI }) } } },
  };
}

function octal(mode: number): string {
  return `0${mode.toString(8).padStart(3, '0')}`;
}

function perdureKeys({ log, dynamicConfig, stateLimits, archival }: ServerSettings): object {
  const limits = Object.fromEntries([...dynamicConfig].filter(([key]) => isLimit(key)));
  const perdure = {
    ...(log.kind === 'kafka' ? { kafka: effectiveKafka(log.kafka), ...effectiveState(log.state) } : {}),
    ...effectiveStateLimits(log, stateLimitsBeside(stateLimits ?? {}, memoryThereIs())),
    ...(archival === undefined ? {} : { archival: { roots: archival.roots } }),
    ...(Object.keys(limits).length > 0 ? { dynamicConfig: limits } : {}),
  };
  return Object.keys(perdure).length > 0 ? { perdure } : {};
}

/** What only the flags of start-dev can say. */
export function effectiveStartDev(server: ServerSettings): object {
  return {
    ...effectiveConfig(server),
    startDev: {
      namespaces: server.namespaces,
      searchAttributes: Object.fromEntries(server.searchAttributes),
      dynamicConfig: Object.fromEntries(server.dynamicConfig),
      ...(server.log.kind === 'embedded' ? { sqlitePragmas: Object.fromEntries(server.log.sqlitePragmas) } : {}),
    },
  };
}

export function toYaml(value: object): string {
  return stringify(value);
}

function effectiveLog(log: FileSettings['log']): object {
  return {
    level: log.level,
    encoding: log.format === 'text' ? 'console' : 'json',
    stdout: log.target.kind === 'stdout',
    ...(log.target.kind === 'file' ? { outputFile: log.target.filename } : {}),
  };
}

function effectiveMetrics({ host, port, path, naming, timerBoundsMs }: MetricsOptions): object {
  const { framework, ...clientConfig } = naming;
  const boundaries = timerBoundsMs === undefined ? {} : { perUnitHistogramBoundaries: { milliseconds: timerBoundsMs } };
  const { prefix, ...others } = clientConfig;
  return {
    prometheus: { framework, listenAddress: `${host.includes(':') ? `[${host}]` : host}:${port}`, handlerPath: path },
    clientConfig: { ...others, ...(prefix === '' ? {} : { prefix }), ...boundaries },
  };
}

function embeddedStore(filename: string | undefined): object {
  const sql =
    filename === undefined
      ? { pluginName: 'sqlite', connectAttributes: { mode: 'memory' } }
      : { pluginName: 'sqlite', databaseName: filename };
  return { defaultStore: 'default', datastores: { default: { sql } } };
}

function effectiveKafka(kafka: KafkaOptions): object {
  return {
    brokers: kafka.brokers,
    topicPrefix: kafka.topicPrefix,
    replicationFactor: kafka.replicationFactor,
    ...(kafka.tls === undefined ? {} : { tls: effectiveTls(kafka.tls) }),
    ...(kafka.sasl === undefined ? {} : { sasl: { ...kafka.sasl, password: masked } }),
  };
}

function effectiveState(state: StateOptions | undefined): object {
  if (state === undefined) return {};
  const { host, port, database, user, password, tls, connectionsMax: pool, migrate } = state.postgres;
  const secrets = { ...(password === undefined ? {} : { password: masked }), ...(tls === undefined ? {} : { tls: effectiveTls(tls) }) };
  return {
    postgres: { host, port, database, user, ...secrets, pool, migrate },
    journalRetention: formatDurationMs(state.journalRetentionMs),
    ...(state.journalRetentionBytes === undefined ? {} : { journalRetentionBytes: state.journalRetentionBytes }),
  };
}

/** Without a database only the cache of histories is there. */
function effectiveStateLimits(log: LogOptions, { historyCacheBytesMax, ...ofDatabase }: StateLimits): object {
  const hasDatabase = log.kind === 'kafka' ? log.state !== undefined : log.filename !== undefined;
  return { ...(hasDatabase ? ofDatabase : {}), historyCacheBytesMax };
}

/** The files were read when the configuration was loaded; their text is not repeated. */
function effectiveTls(tls: NonNullable<KafkaOptions['tls']>): object {
  return {
    enabled: true,
    ...(tls.ca === undefined ? {} : { caFile: '(read)' }),
    ...(tls.cert === undefined ? {} : { certFile: '(read)' }),
    ...(tls.key === undefined ? {} : { keyFile: masked }),
    ...(tls.serverName === undefined ? {} : { serverName: tls.serverName }),
    disableHostVerification: !tls.verifyServer,
  };
}
