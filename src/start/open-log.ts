/** Opens the log that the options name: its topics are there afterwards, and what is said about it is said in one place. */
import { DatabaseError } from '../actors/database.ts';
import { LogError, type TopicSpec } from '../actors/log.ts';
import { AnotherServerError } from '../config/another-server.ts';
import { ignoredPartitions, type LayoutQuestion } from './layout.ts';
import { addedTopics, topicCatalogue } from '../topics/catalogue.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { GrowingLog, PartitionId } from '../actors/log.ts';
import type { KafkaOptions } from '../config/kafka-options.ts';
import type { LogOptions, ServerOptions } from '../config/server-options.ts';
import type * as embeddedLog from '../topics/embedded/embedded-log.ts';
import type * as kafkaLog from '../topics/kafka/kafka-log.ts';

export type OpenLog = {
  readonly log: GrowingLog;
  /** `kafka <brokers>`, a file name, or `memory`. */
  readonly name: string;
  /** Of topics. */
  readonly prefix: string;
  /** With the partitions that they have. */
  readonly topics: readonly TopicSpec[];
  /** Looks now and then whether the log is as it should be; answers a function that ends that. `startMax`: where a journal may begin. */
  readonly watch: (onLook: (concerns: readonly Concern[]) => void, startMax: (partition: PartitionId) => number) => () => void;
};

type OpenKafkaLog = (typeof kafkaLog)['openKafkaLog'];
type OpenEmbeddedLog = (typeof embeddedLog)['openEmbeddedLog'];
export type Layout = Pick<ServerOptions, 'clusterName' | 'historyShards' | 'matchingPartitions'>;
type Options = Pick<ServerOptions, 'log' | 'clusterName' | 'historyShards' | 'matchingPartitions' | 'logger' | 'topicWatchIntervalMs'> & {
  /** Throws why no topic may be made. */
  readonly beforeMakingTopics: (logName: string) => Promise<void>;
};

/** The embedded log is one server's own: nobody else's topics are beside them. */
const EMBEDDED_PREFIX = 'perdure';

/** Throws LogError, or AnotherServerError where somebody else holds it. */
export type OpensLog = () => Promise<OpenLog>;

/** Loads what opens it, and no more: when that is called its thread is started, or its first request sent, at once. `onFailure`: the log can be written no more. */
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

/** Of a cluster that is made now: topics that are there already have the partitions that it is to have. */
export function checkFirstLayout(
  prefix: string,
  configured: LayoutQuestion['configured'],
  topics: readonly TopicSpec[],
  existing: readonly TopicSpec[],
): void {
  const found = topics.map((topic) => existing.find((each) => each.name === topic.name) ?? topic);
  ignoredPartitions({ prefix, identity: undefined, configured, topics: found });
}

/** It says by itself what is wrong: on the way through Kafka's client it would be taken for an error of Kafka's. */
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
    throw new AnotherServerError(`another server serves ${filename}, or a tool has it open: stop one of them, or name another file`, {
      cause: error,
    });
  });
  return { log, name: filename ?? 'memory', prefix: EMBEDDED_PREFIX, topics, watch: () => () => {} };
}

export function catalogueOf(prefix: string, { historyShards, matchingPartitions }: Layout): readonly TopicSpec[] {
  return topicCatalogue({ prefix, historyPartitions: historyShards, matchingPartitions });
}
