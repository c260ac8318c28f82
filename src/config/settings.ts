import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { asError } from '../kernel/error-text.ts';
import type { LogFormat, LogLevel } from '../observability/logger.ts';
import { archivalOptions } from './archival.ts';
import { defaults } from './defaults.ts';
import { parseDurationMs } from './duration.ts';
import { checkDynamicConfigFile } from './dynamic-config.ts';
import { readDynamicConfig } from './dynamic-config-yaml.ts';
import type { FileConfig } from './file-schema.ts';
import { type Memory, memoryThereIs, stateLimitsBeside, whyItDoesNotFit, whyTheyDoNotFit } from './memory.ts';
import { metricsOptions } from './metrics-options.ts';
import { postgresOptions } from './postgres-settings.ts';
import { readTlsFiles } from './tls-files.ts';
import type { KafkaOptions } from './kafka-options.ts';
import type { Problem, Report } from './problem.ts';
import type { PortRole, RolePort } from './role-ports.ts';
import type { DynamicConfigFileOptions, LogOptions, ServerOptions, StateLimits, StateOptions } from './server-options.ts';
import type { Locate } from './yaml-file.ts';

export type ServerSettings = Omit<ServerOptions, 'logger' | 'startMsMax' | 'onFatal'>;

export type LogSettings = {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly target: { readonly kind: 'stderr' } | { readonly kind: 'stdout' } | { readonly kind: 'file'; readonly filename: string };
};

export type FileSettings = {
  readonly server: ServerSettings;
  readonly log: LogSettings;
  readonly startMsMax: number;
};

export type SettingsOptions = {
  readonly autoCreateTopics: boolean;
  readonly locate: Locate;
  /** File names in the server file count from its folder, not from where somebody stood when he started the server. */
  readonly folder: string;
  /** Absent: what this process has. */
  readonly memory?: Memory;
};

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
  const sizes = log?.kind === 'kafka' ? defaults.onKafka : defaults.embedded;
  const rpc = config.services?.frontend?.rpc;
  const server: ServerSettings = {
    host: listenAddress(config, 'frontend', report),
    port: rpc?.grpcPort ?? defaults.grpcPort,
    rolePorts: { history: rolePort(config, 'history', report), matching: rolePort(config, 'matching', report) },
    // Without a log there is a problem, and no settings.
    log: log ?? { kind: 'embedded', filename: undefined, sqlitePragmas: [] },
    historyShards: config.persistence?.numHistoryShards ?? sizes.historyShards,
    matchingPartitions: sizes.matchingPartitions,
    taskQueuePartitions: sizes.taskQueuePartitions,
    namespaces: ['default'],
    searchAttributes: new Map(),
    dynamicConfig: new Map(Object.entries(config.perdure?.dynamicConfig ?? {}).filter(([, value]) => value !== undefined)),
    dynamicConfigFile: dynamicConfigFile(config, options, (found) => problems.push(...found), report),
    clusterName: config.clusterMetadata?.currentClusterName ?? defaults.clusterName,
    stateLimits: stateLimits(config, log, options, report),
    metrics: metricsOptions(config, report),
    archival: archivalOptions(config, report),
  };
  const settings: FileSettings = {
    server,
    log: logSettings(config, options, report),
    startMsMax: parseDurationMs(config.global?.membership?.maxJoinDuration ?? defaults.maxJoinDuration) ?? 30_000,
  };
  return { settings: problems.some((problem) => problem.severity === 'error') ? undefined : settings, problems };
}

/** Undefined: the server file names none, or it cannot be used. */
function dynamicConfigFile(
  { dynamicConfigClient }: FileConfig,
  { folder }: SettingsOptions,
  found: (problems: readonly Problem[]) => void,
  report: Report,
): DynamicConfigFileOptions | undefined {
  if (dynamicConfigClient === undefined) return undefined;
  const filename = resolve(folder, dynamicConfigClient.filepath);
  const pollIntervalMs = parseDurationMs(dynamicConfigClient.pollInterval ?? defaults.dynamicConfigPollInterval) ?? 0;
  const text = readText(filename);
  if (text instanceof Error) {
    report(['dynamicConfigClient', 'filepath'], text.message);
    return undefined;
  }
  const { entries, problems } = readDynamicConfig(text);
  found(problems.map((problem) => ({ ...problem, file: filename })));
  return entries === undefined ? undefined : { filename, pollIntervalMs, text, entries };
}

function readText(filename: string): string | Error {
  try {
    checkDynamicConfigFile(statSync(filename));
    return readFileSync(filename, 'utf8');
  } catch (error) {
    return asError(error);
  }
}

function listenAddress(config: FileConfig, role: 'frontend' | PortRole, report: Report): string {
  const rpc = config.services?.[role]?.rpc;
  const path = ['services', role, 'rpc'];
  if (rpc?.bindOnLocalHost === true && rpc.bindOnIP !== undefined) {
    report([...path, 'bindOnIP'], 'bindOnLocalHost is set too; keep one of them');
  }
  if (rpc?.bindOnLocalHost === false && rpc.bindOnIP === undefined) {
    report([...path, 'bindOnLocalHost'], 'says where not to listen; say where with bindOnIP (0.0.0.0 is every address of the machine)');
  }
  return rpc?.bindOnIP ?? defaults.host;
}

function rolePort(config: FileConfig, role: PortRole, report: Report): RolePort {
  const port = config.services?.[role]?.rpc?.grpcPort;
  return { host: listenAddress(config, role, report), port: port ?? defaults.rolePorts[role], orFree: port === undefined };
}

/** Undefined when the file does not say where the journals live: nothing is kept in memory because of a key that is missing. */
function journals(config: FileConfig, options: SettingsOptions, report: Report): LogOptions | undefined {
  const kafka = config.perdure?.kafka;
  const store = config.persistence?.defaultStore ?? defaults.datastore;
  const datastore = config.persistence?.datastores?.[store];
  const unsupported = Object.keys(datastore ?? {}).filter((key) => key !== 'sql');
  for (const key of unsupported) {
    report(['persistence', 'datastores', store, key], `${key} is not supported; use sqlite, or perdure.kafka`);
  }
  if (kafka?.brokers !== undefined && kafka.brokers.length > 0) {
    if (datastore?.sql?.pluginName !== undefined) {
      const path = ['persistence', 'datastores', store, 'sql'];
      report(path, 'not used: perdure.kafka.brokers is set, and the journals on Kafka hold everything', 'warning');
    }
    const withKafka = kafkaOptions(kafka, kafka.brokers, options, report);
    return { kind: 'kafka', kafka: withKafka, state: stateBesideKafka(config, withKafka, options, report) };
  }
  if (config.perdure?.postgres !== undefined) {
    report(
      ['perdure', 'postgres'],
      'goes with journals on Kafka (perdure.kafka.brokers); a log in a file has its state in a file beside it',
    );
  }
  if (kafka !== undefined) report(['perdure', 'kafka', 'brokers'], 'no brokers are named; write brokers: [host:port], or leave kafka out');
  else if (datastore?.sql !== undefined) return embeddedLog(datastore.sql, ['persistence', 'datastores', store, 'sql'], options, report);
  else if (unsupported.length === 0)
    report([], 'no log: set perdure.kafka.brokers, or persistence.datastores.default.sql with pluginName: sqlite and databaseName');
  return undefined;
}

/** undefined: the topics hold everything, and state lives in memory. */
function stateBesideKafka(
  { perdure }: FileConfig,
  { topicPrefix }: KafkaOptions,
  { folder, autoCreateTopics: mayMigrate }: SettingsOptions,
  report: Report,
): StateOptions | undefined {
  const { postgres, journalRetention, journalRetentionBytes } = perdure ?? {};
  if (postgres === undefined) return undefined;
  const journalRetentionMs = parseDurationMs(journalRetention ?? defaults.journalRetention) ?? 0;
  if (journalRetentionMs === 0 && journalRetentionBytes !== undefined) {
    report(['perdure', 'journalRetentionBytes'], 'means nothing while journalRetention is 0s: then the topics keep nothing', 'warning');
  }
  return { postgres: postgresOptions(postgres, { folder, topicPrefix, mayMigrate }, report), journalRetentionMs, journalRetentionBytes };
}

/** All limits but that of the cache of histories speak of a database. */
function stateLimits(
  { perdure }: FileConfig,
  log: LogOptions | undefined,
  { memory = memoryThereIs() }: SettingsOptions,
  report: Report,
): StateLimits {
  const unheeded: readonly (readonly [keys: readonly (keyof NonNullable<typeof perdure>)[], why: string | undefined])[] = [
    [['journalRetention', 'journalRetentionBytes'], log === undefined ? undefined : whyNoRetention(log)],
    [['hotStateBytesMax', 'unwrittenStateBytesMax', 'checkpointRecordsMax'], log === undefined ? undefined : whyNoState(log)],
  ];
  for (const [keys, why] of unheeded) {
    if (why === undefined) continue;
    for (const key of keys) if (perdure?.[key] !== undefined) report(['perdure', key], why, 'warning');
  }
  const given = heededLimits(perdure, log);
  const limits = stateLimitsBeside(given, memory);
  const alone = Object.entries(given).flatMap(([key, bytes]) => {
    const why = whyItDoesNotFit(key as keyof StateLimits, bytes, memory);
    return why === undefined ? [] : [{ path: ['perdure', key], why }];
  });
  for (const { path, why } of alone) report(path, why, 'warning');
  const together = alone.length > 0 || Object.keys(given).length === 0 ? undefined : whyTheyDoNotFit(limits, memory);
  if (together !== undefined) report(['perdure'], together, 'warning');
  return limits;
}

/** What somebody set, as far as it means something. */
function heededLimits(perdure: FileConfig['perdure'], log: LogOptions | undefined): Partial<StateLimits> {
  const { historyCacheBytesMax, hotStateBytesMax, unwrittenStateBytesMax, checkpointRecordsMax } = perdure ?? {};
  const hasState = log === undefined || whyNoState(log) === undefined;
  return {
    ...(historyCacheBytesMax === undefined ? {} : { historyCacheBytesMax }),
    ...(hotStateBytesMax === undefined || !hasState ? {} : { hotStateBytesMax }),
    ...(unwrittenStateBytesMax === undefined || !hasState ? {} : { unwrittenStateBytesMax }),
    ...(checkpointRecordsMax === undefined || !hasState ? {} : { checkpointRecordsMax }),
  };
}

function whyNoRetention(log: LogOptions): string | undefined {
  if (log.kind === 'kafka')
    return log.state === undefined ? 'means nothing without perdure.postgres: the topics keep everything' : undefined;
  return 'means nothing for a log in a file: what the state beside it has is taken out of it';
}

function whyNoState(log: LogOptions): string | undefined {
  if (log.kind === 'kafka') return log.state === undefined ? 'means nothing without perdure.postgres: state lives in memory' : undefined;
  return log.filename === undefined ? 'means nothing for a log in memory: state lives there too' : undefined;
}

type SqlConfig = NonNullable<NonNullable<NonNullable<NonNullable<FileConfig['persistence']>['datastores']>[string]>['sql']>;

function embeddedLog(sql: SqlConfig, path: readonly string[], options: SettingsOptions, report: Report): LogOptions | undefined {
  const embedded = (filename: string | undefined): LogOptions => ({ kind: 'embedded', filename, sqlitePragmas: [] });
  switch (sql.pluginName) {
    case 'sqlite':
      if (sql.connectAttributes?.['mode'] === 'memory') return embedded(undefined);
      if (sql.databaseName !== undefined) return embedded(resolve(options.folder, sql.databaseName));
      report(path, 'databaseName is missing: the file to keep the journals in (for tests connectAttributes: {mode: memory} keeps nothing)');
      return undefined;
    case 'postgres12':
    case 'postgres12_pgx':
      report(
        [...path, 'pluginName'],
        'PostgreSQL holds no journals; set perdure.kafka.brokers, with perdure.postgres for state, or use sqlite',
      );
      return undefined;
    default:
      report(
        [...path, 'pluginName'],
        `${sql.pluginName ?? 'a datastore without pluginName'} is not supported; use sqlite, or perdure.kafka`,
      );
      return undefined;
  }
}

type KafkaConfig = NonNullable<NonNullable<FileConfig['perdure']>['kafka']>;

function kafkaOptions(kafka: KafkaConfig, brokers: readonly string[], options: SettingsOptions, report: Report): KafkaOptions {
  return {
    brokers,
    topicPrefix: kafka.topicPrefix ?? defaults.topicPrefix,
    replicationFactor: kafka.replicationFactor ?? Math.min(defaults.replicationFactorMax, brokers.length),
    tls: readTlsFiles(kafka.tls, { path: ['perdure', 'kafka', 'tls'], folder: options.folder }, report),
    sasl: kafka.sasl,
    autoCreateTopics: options.autoCreateTopics,
  };
}

function logSettings(config: FileConfig, { locate, folder }: SettingsOptions, report: Report): LogSettings {
  const log = config.log;
  if (log?.encoding !== undefined && log.format !== undefined && log.encoding !== log.format) {
    const { line } = locate(['log', 'encoding'], 'key');
    report(['log', 'format'], `says ${log.format}, but log.encoding in line ${line} says ${log.encoding}; keep one`);
  }
  const encoding = log?.encoding ?? log?.format ?? defaults.logEncoding;
  const target: LogSettings['target'] =
    log?.outputFile !== undefined
      ? { kind: 'file', filename: resolve(folder, log.outputFile) }
      : log?.stdout === true
        ? { kind: 'stdout' }
        : { kind: 'stderr' };
  return { level: logLevel(log?.level, report), format: encoding === 'console' ? 'text' : 'json', target };
}

function logLevel(given: string | undefined, report: Report): LogLevel {
  const wanted = (given ?? defaults.logLevel).toLowerCase();
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
