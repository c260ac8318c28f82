/** Opens the log that the options name, creates its topics, and logs about both in one place. */
import { DatabaseError } from '../projections/database-port.ts';
import { LogError, type TopicSpec } from '../ports/log.ts';
import { AnotherServerError } from '../config/another-server.ts';
import { ignoredPartitions, type LayoutQuestion } from './layout.ts';
import { addedTopics, topicCatalogue } from '../topics/catalogue.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { GrowingLog, PartitionId } from '../ports/log.ts';
import type { KafkaOptions } from '../config/kafka-options.ts';
import type { LogOptions, ServerOptions } from '../config/server-options.ts';
import type * as embeddedLog from '../topics/embedded/embedded-log.ts';
import type * as kafkaLog from '../topics/kafka/kafka-log.ts';

export type OpenLog = {
  readonly log: GrowingLog;
  /** The name of the log: `kafka <brokers>`, a file name, or `memory`. */
  readonly name: string;
  readonly prefix: string;
  readonly topics: readonly TopicSpec[];
  /** Checks the log from time to time; returns a function that ends that. `startMax` is the highest offset at which a journal may begin. */
  readonly watch: (onLook: (concerns: readonly Concern[]) => void, startMax: (partition: PartitionId) => number) => () => void;
};

type OpenKafkaLog = (typeof kafkaLog)['openKafkaLog'];
type OpenEmbeddedLog = (typeof embeddedLog)['openEmbeddedLog'];
export type Layout = Pick<ServerOptions, 'clusterName' | 'historyShards' | 'matchingPartitions'>;
type Options = Pick<ServerOptions, 'log' | 'clusterName' | 'historyShards' | 'matchingPartitions' | 'logger' | 'topicWatchIntervalMs'> & {
  /** Throws if topics may not be created, with the reason. */
  readonly beforeMakingTopics: (logName: string) => Promise<void>;
};

/** The embedded log belongs to one server, so its prefix is fixed. */
const EMBEDDED_PREFIX = 'perdure';

/** Throws LogError, or AnotherServerError if another process holds the log. */
export type OpensLog = () => Promise<OpenLog>;

/** Loads only code; what it returns starts the log's thread, or sends its first request. `onFailure`: the log can no longer be written. */
export async function logOpener(options: Options, onFailure: (error: LogError) => void): Promise<OpensLog> {
  const { log } = options;
  if (log.kind === 'kafka') {
    const { openKafkaLog } = await import('../topics/kafka/kafka-log.ts');
    return () => openKafka(openKafkaLog, log.kafka, options);
  }
  const { openEmbeddedLog } = await import('../topics/embedded/embedded-log.ts');
  return () => openEmbedded(openEmbeddedLog, log, options, onFailure);
}

async function openKafka(openKafkaLog: OpenKafkaLog, kafka: KafkaOptions, options: Options): Promise<OpenLog> {
  const { logger, topicWatchIntervalMs: intervalMs } = options;
  const prefix = kafka.topicPrefix;
  const topics = catalogueOf(prefix, options);
  const name = kafkaName(kafka);
  const beforeMaking = async (existing: readonly TopicSpec[]): Promise<void> => {
    checkFirstLayout(prefix, options, topics, existing);
    await options.beforeMakingTopics(name).catch((error: unknown) => {
      throw asLogError(error);
    });
  };
  const log = await openKafkaLog({ kafka, topics, logger, addedTopics: addedTopics(prefix, options.clusterName), beforeMaking });
  const { watchTopics } = await import('../topics/kafka/topic-watch.ts');
  const watch: OpenLog['watch'] = (onLook, startMax) =>
    watchTopics({
      kafka,
      topics,
      addedTopics: () => log.addedTopics,
      logger,
      onLook,
      startMax,
      ...(intervalMs === undefined ? {} : { intervalMs }),
    });
  return { log, name, prefix, topics: log.topics, watch };
}

export function kafkaName({ brokers }: KafkaOptions): string {
  return `kafka ${brokers.join(',')}`;
}

/** For a cluster that is created now: existing topics must have the configured numbers of partitions. */
export function checkFirstLayout(
  prefix: string,
  configured: LayoutQuestion['configured'],
  topics: readonly TopicSpec[],
  existing: readonly TopicSpec[],
): void {
  const found = topics.map((topic) => existing.find((each) => each.name === topic.name) ?? topic);
  ignoredPartitions({ prefix, identity: undefined, configured, topics: found });
}

/** A DatabaseError explains itself, but Kafka's client would report it as an error of Kafka. */
function asLogError(error: unknown): unknown {
  return error instanceof DatabaseError ? new LogError('misconfigured', error.message, { cause: error }) : error;
}

async function openEmbedded(
  openEmbeddedLog: OpenEmbeddedLog,
  { filename, sqlitePragmas: pragmas }: LogOptions & { readonly kind: 'embedded' },
  options: Options,
  onFailure: (error: LogError) => void,
): Promise<OpenLog> {
  const topics = catalogueOf(EMBEDDED_PREFIX, options);
  const log = await openEmbeddedLog({ filename, topics, pragmas, onFailure }).catch((error: unknown) => {
    if (!(error instanceof LogError) || error.code !== 'locked') throw error;
    throw new AnotherServerError(`${filename} is in use by another server or by a tool: stop one of them, or name another file`, {
      cause: error,
    });
  });
  return { log, name: filename ?? 'memory', prefix: EMBEDDED_PREFIX, topics, watch: () => () => {} };
}

export function catalogueOf(prefix: string, { historyShards, matchingPartitions }: Layout): readonly TopicSpec[] {
  return topicCatalogue({ prefix, historyPartitions: historyShards, matchingPartitions });
}
