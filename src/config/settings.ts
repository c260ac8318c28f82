import { readFileSync } from 'node:fs';
import type { LogFormat, LogLevel } from '../observability/logger.ts';
import { parseDurationMs } from './duration.ts';
import type { FileConfig } from './file-schema.ts';
import type { KafkaOptions, KafkaTls } from './kafka-options.ts';
import type { Problem } from './problem.ts';
import type { Locate } from './read-file.ts';
import type { LogOptions, ServerOptions } from './server-options.ts';

/** What the composition root needs, without what only a running process has. */
export type ServerSettings = Omit<ServerOptions, 'logger' | 'onFatal'>;

export type LogSettings = {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly target: { readonly kind: 'stderr' } | { readonly kind: 'stdout' } | { readonly kind: 'file'; readonly filename: string };
};

export type FileSettings = {
  readonly server: ServerSettings;
  readonly log: LogSettings;
  /** A start that takes longer has failed. */
  readonly startMsMax: number;
};

export type SettingsOptions = {
  readonly autoCreateTopics: boolean;
  readonly locate: Locate;
};

type Report = (path: readonly (string | number)[], message: string, severity?: Problem['severity']) => void;

/** Fills in the defaults and checks what one key alone cannot tell. `settings` is undefined when there are errors. */
export function settingsOf(
  config: FileConfig,
  options: SettingsOptions,
): { readonly settings: FileSettings | undefined; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const report: Report = (path, message, severity = 'error') => {
    problems.push({ severity, ...options.locate(path, 'value'), path: path.join('.'), message });
  };
  const log = journals(config, options, report);
  const onKafka = log.kind === 'kafka';
  const rpc = config.services?.frontend?.rpc;
  warnAboutRoles(config, report);
  const server: ServerSettings = {
    host: listenAddress(config, report),
    port: rpc?.grpcPort ?? 7233,
    log,
    historyShards: config.persistence?.numHistoryShards ?? (onKafka ? 16 : 4),
    matchingPartitions: onKafka ? 16 : 4,
    taskQueuePartitions: onKafka ? 4 : 1,
    namespaces: ['default'],
    searchAttributes: new Map(),
    dynamicConfig: new Map(),
    clusterName: config.clusterMetadata?.currentClusterName ?? 'active',
  };
  const settings: FileSettings = {
    server,
    log: logSettings(config, options.locate, report),
    startMsMax: parseDurationMs(config.global?.membership?.maxJoinDuration ?? '30s') ?? 30_000,
  };
  return { settings: problems.some((problem) => problem.severity === 'error') ? undefined : settings, problems };
}

function listenAddress(config: FileConfig, report: Report): string {
  const rpc = config.services?.frontend?.rpc;
  if (rpc?.bindOnLocalHost === true && rpc.bindOnIP !== undefined) {
    report(['services', 'frontend', 'rpc', 'bindOnIP'], 'bindOnLocalHost is set too; keep one of them');
  }
  return rpc?.bindOnLocalHost === true ? 'localhost' : (rpc?.bindOnIP ?? '0.0.0.0');
}

/** So far one process runs every role, behind the frontend's port. */
function warnAboutRoles(config: FileConfig, report: Report): void {
  for (const role of ['history', 'matching', 'worker'] as const) {
    if (config.services?.[role]?.rpc?.grpcPort !== undefined) {
      report(['services', role, 'rpc', 'grpcPort'], 'this role has no port of its own yet; the frontend’s process runs it', 'warning');
    }
  }
}

function journals(config: FileConfig, options: SettingsOptions, report: Report): LogOptions {
  const kafka = config.perdure?.kafka;
  const store = config.persistence?.defaultStore ?? 'default';
  const datastore = config.persistence?.datastores?.[store];
  const sqlPath = ['persistence', 'datastores', store, 'sql'];
  const plugin = datastore?.sql?.pluginName;
  for (const [key, value] of Object.entries(datastore ?? {})) {
    if (key !== 'sql' && value !== undefined)
      report(['persistence', 'datastores', store, key], `${key} is not supported; use sqlite, or perdure.kafka`);
  }
  if (kafka?.brokers !== undefined && kafka.brokers.length > 0) {
    if (plugin !== undefined)
      report(sqlPath, 'not used: perdure.kafka.brokers is set, and the journals on Kafka hold everything', 'warning');
    return { kind: 'kafka', kafka: kafkaOptions(kafka, kafka.brokers, options, report) };
  }
  if (kafka !== undefined) report(['perdure', 'kafka'], 'no brokers: the journals are kept by the embedded log', 'warning');
  switch (plugin) {
    case undefined:
      return { kind: 'embedded', filename: undefined, sqlitePragmas: [] };
    case 'sqlite': {
      const inMemory = datastore?.sql?.connectAttributes?.['mode'] === 'memory';
      return { kind: 'embedded', filename: inMemory ? undefined : datastore?.sql?.databaseName, sqlitePragmas: [] };
    }
    case 'postgres12':
    case 'postgres12_pgx':
      report([...sqlPath, 'pluginName'], 'the PostgreSQL projections are not available yet; set perdure.kafka.brokers, or use sqlite');
      break;
    default:
      report([...sqlPath, 'pluginName'], `${plugin} is not supported; use sqlite, or perdure.kafka`);
  }
  return { kind: 'embedded', filename: undefined, sqlitePragmas: [] };
}

type KafkaConfig = NonNullable<NonNullable<FileConfig['perdure']>['kafka']>;

function kafkaOptions(kafka: KafkaConfig, brokers: readonly string[], options: SettingsOptions, report: Report): KafkaOptions {
  return {
    brokers,
    topicPrefix: kafka.topicPrefix ?? 'perdure',
    replicationFactor: kafka.replicationFactor ?? Math.min(3, brokers.length),
    tls: kafkaTls(kafka.tls, report),
    sasl: kafka.sasl,
    autoCreateTopics: options.autoCreateTopics,
  };
}

function kafkaTls(tls: KafkaConfig['tls'], report: Report): KafkaTls | undefined {
  if (tls === undefined || tls.enabled === false) return undefined;
  const path = ['perdure', 'kafka', 'tls'];
  if ((tls.certFile === undefined) !== (tls.keyFile === undefined)) report(path, 'certFile and keyFile go together');
  const read = (name: 'caFile' | 'certFile' | 'keyFile'): string | undefined => {
    const filename = tls[name];
    if (filename === undefined) return undefined;
    try {
      return readFileSync(filename, 'utf8');
    } catch (error) {
      report([...path, name], `cannot be read: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };
  return {
    ca: read('caFile'),
    cert: read('certFile'),
    key: read('keyFile'),
    serverName: tls.serverName,
    verifyServer: tls.disableHostVerification !== true,
  };
}

function logSettings(config: FileConfig, locate: Locate, report: Report): LogSettings {
  const log = config.log;
  if (log?.encoding !== undefined && log.format !== undefined && log.encoding !== log.format) {
    const { line } = locate(['log', 'encoding'], 'key');
    report(['log', 'format'], `says ${log.format}, but log.encoding in line ${line} says ${log.encoding}; keep one`);
  }
  const encoding = log?.encoding ?? log?.format ?? 'json';
  const target: LogSettings['target'] =
    log?.outputFile !== undefined
      ? { kind: 'file', filename: log.outputFile }
      : log?.stdout === true
        ? { kind: 'stdout' }
        : { kind: 'stderr' };
  return { level: logLevel(log?.level, report), format: encoding === 'console' ? 'text' : 'json', target };
}

function logLevel(given: string | undefined, report: Report): LogLevel {
  const wanted = (given ?? 'info').toLowerCase();
  switch (wanted) {
    case 'debug':
    case 'info':
    case 'warn':
    case 'error':
      return wanted;
    case 'dpanic':
    case 'panic':
    case 'fatal':
      return 'error';
    default:
      report(['log', 'level'], `unknown level "${given}"; info is used`, 'warning');
      return 'info';
  }
}
