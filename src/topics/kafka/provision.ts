/**
 * The topics at start: made when there is nothing yet, checked when they exist.
 *
 *     all missing                            made
 *     some missing, the others empty         the rest is made: a first start was interrupted, or an operator made some by hand
 *     some missing, others hold records      refused: what they held is gone, and a new topic would hide it
 *
 * Whatever would refuse the start afterwards is looked at before one is made: the settings of those that are there, our rights, the replicas,
 * and what the caller wants to look at (`beforeMaking`).
 *
 * Perdure refuses to serve on a topic whose settings would lose records, and names the command that mends it; it changes no setting of a
 * topic that somebody else may have made.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { LogError, type TopicSpec } from '../../ports/log.ts';
import { topicSettings } from '../catalogue.ts';
import { kafkaTypes, onceKnown, withAdmin } from './admin.ts';
import { createCommand, deleteCommand, grantCommand } from './shell-commands.ts';
import { startFailure } from './start-failure.ts';
import { describeWrong, findWrongSettings, repairCommands } from './topic-settings.ts';
import type { Admin, ITopicMetadata } from 'kafkajs';
import type { KafkaOptions } from '../../config/kafka-options.ts';
import type { Logger } from '../../observability/logger.ts';

export type ProvisionOptions = {
  readonly kafka: KafkaOptions;
  readonly topics: readonly TopicSpec[];
  readonly logger: Logger;
  /** What is added while a server serves. Where nothing may be made, the commands that make it are printed with the others. */
  readonly addedTopics?: readonly TopicSpec[];
  /** Nothing is made; whatever would refuse that is thrown. Answers the topics that there are. */
  readonly isTrial?: boolean;
  /** Throws why none may be made: called when all else is in order, with those that are there, as they are. */
  readonly beforeMaking?: (existing: readonly TopicSpec[]) => Promise<void>;
};

/** Shorter than a start may take: an error that says what is missing helps more than one that says that the start took too long. */
const leadersTimeoutMs = 15_000;
const pollMsMin = 10;
const pollMsMax = 100;
const secondLookMs = 300;

/**
 * Answers the topics with the partitions that they have, which may not be those that were asked for: what that means, the journals tell.
 * Throws LogError `misconfigured` with the commands that mend what it found, `corrupt` when topics are gone, or `unavailable`.
 */
export async function provisionTopics(options: ProvisionOptions): Promise<readonly TopicSpec[]> {
  const { topics } = options;
  return await withAdmin(options, async (admin) => {
    const missing = await topicsToCreate(admin, options);
    if (missing.length > 0) {
      const existing = topics.filter((topic) => !missing.includes(topic));
      const found = existing.length === 0 ? [] : await leaders(admin, existing);
      if (existing.length > 0) await checkSettings(admin, found, options);
      await createTopics(admin, options, missing, asTheyAre(existing, found));
      if (options.isTrial === true) return asTheyAre(existing, found);
    }
    const metadata = await leaders(admin, topics);
    await checkSettings(admin, metadata, options);
    return asTheyAre(topics, metadata);
  });
}

function asTheyAre(topics: readonly TopicSpec[], metadata: readonly ITopicMetadata[]): readonly TopicSpec[] {
  return topics.map((topic) => ({ ...topic, partitions: partitionsIn(metadata, topic.name) }));
}

function partitionsIn(metadata: readonly ITopicMetadata[], topic: string): number {
  return metadata.find(({ name }) => name === topic)?.partitions.length ?? 0;
}

async function topicsToCreate(admin: Admin, { topics, kafka }: ProvisionOptions): Promise<readonly TopicSpec[]> {
  const missing = await missingOf(admin, topics);
  if (missing.length === 0 || missing.length === topics.length) return missing;
  const written: TopicSpec[] = [];
  for (const topic of topics) if (!missing.includes(topic) && (await holdsRecords(admin, topic))) written.push(topic);
  if (written.length === 0) return missing;
  const stillMissing = await stillMissingOf(admin, missing);
  if (stillMissing.length > 0) throw lostTopics(kafka, stillMissing, written);
  return [];
}

/** The topics may have been made a moment ago, and the broker that was asked may not know it yet: that is no reason to refuse a start. */
async function stillMissingOf(admin: Admin, missing: readonly TopicSpec[]): Promise<readonly TopicSpec[]> {
  await pause(secondLookMs);
  return await missingOf(admin, missing);
}

async function missingOf(admin: Admin, topics: readonly TopicSpec[]): Promise<readonly TopicSpec[]> {
  const existing = new Set(await admin.listTopics());
  return topics.filter(({ name }) => !existing.has(name));
}

async function holdsRecords(admin: Admin, topic: TopicSpec): Promise<boolean> {
  await leaders(admin, [topic]);
  const offsets = await onceKnown(performance.now() + leadersTimeoutMs, () => admin.fetchTopicOffsets(topic.name));
  return offsets.some(({ high }) => high !== '0');
}

function lostTopics(kafka: KafkaOptions, missing: readonly TopicSpec[], written: readonly TopicSpec[]): LogError {
  const names = (list: readonly TopicSpec[]): string => list.map(({ name }) => name).join(' and ');
  const held = missing.map(({ purpose }) => purpose).join('; ');
  return new LogError(
    'corrupt',
    `${names(missing)} ${missing.length === 1 ? 'is' : 'are'} missing, but ${names(written)} hold${written.length === 1 ? 's' : ''} records: ` +
      `its records are gone (${held}), or this is not the cluster or the topic prefix that is meant (perdure.kafka.brokers, ` +
      `perdure.kafka.topicPrefix), or this user lacks the right to see the topic (ACL Describe).\n` +
      'Restore it; or start a new cluster under another perdure.kafka.topicPrefix; or, if all workflows may go, delete the rest:\n' +
      written.map(({ name }) => deleteCommand(kafka, name)).join('\n'),
  );
}

async function createTopics(
  admin: Admin,
  options: ProvisionOptions,
  missing: readonly TopicSpec[],
  existing: readonly TopicSpec[],
): Promise<void> {
  const { kafka } = options;
  if (!kafka.autoCreateTopics) {
    const stillMissing = await stillMissingOf(admin, missing);
    if (stillMissing.length === 0) return;
    throw missingTopics(options, await withAdded(admin, options, stillMissing), 'creating topics is switched off (--no-auto-migrate)');
  }
  const topics = missing.map((topic) => ({
    topic: topic.name,
    numPartitions: topic.partitions,
    replicationFactor: kafka.replicationFactor,
    configEntries: topicSettings(kafka.replicationFactor, topic).map(({ name, value }) => ({ name, value })),
  }));
  try {
    await admin.createTopics({ topics, validateOnly: true, waitForLeaders: false });
  } catch (error) {
    throw await whyNotCreated(error, admin, options, missing);
  }
  await options.beforeMaking?.(existing);
  if (options.isTrial === true) return;
  try {
    // Waiting for leaders is ours: kafkajs' own wait can report a topic as unknown that it has just made.
    const created = await admin.createTopics({ topics, waitForLeaders: false });
    if (created) return tellCreated(options, missing);
  } catch (error) {
    throw await whyNotCreated(error, admin, options, missing);
  }
  // Some were there already: made by somebody else at this moment, or not for us to see.
  const [hidden] = await stillMissingOf(admin, missing);
  if (hidden !== undefined) throw invisible(kafka, hidden.name);
}

function tellCreated({ kafka, logger }: ProvisionOptions, topics: readonly TopicSpec[]): void {
  for (const { name, partitions } of topics)
    logger.info('topic created', { topic: name, partitions, 'replication-factor': kafka.replicationFactor });
}

async function whyNotCreated(error: unknown, admin: Admin, options: ProvisionOptions, missing: readonly TopicSpec[]): Promise<LogError> {
  const { kafka } = options;
  const types = kafkaTypes(error);
  if (types.some((type) => type.endsWith('AUTHORIZATION_FAILED'))) {
    const all = [...missing, ...(options.addedTopics ?? [])];
    return missingTopics(options, all, 'this user may neither create topics nor, should they exist, see them');
  }
  if (types.includes('INVALID_REPLICATION_FACTOR')) {
    const { brokers } = await admin.describeCluster();
    const alive = `the cluster has ${brokers.length} broker${brokers.length === 1 ? '' : 's'} alive`;
    const mending = `set it to ${brokers.length}, or start more brokers`;
    const words = `perdure.kafka.replicationFactor is ${kafka.replicationFactor}, but ${alive}: ${mending}`;
    return new LogError('misconfigured', words, { cause: error });
  }
  if (types.length > 0) return missingTopics(options, missing, `Kafka answered ${types.join(', ')}`);
  return await startFailure(error, kafka, 'creating topics');
}

function invisible(kafka: KafkaOptions, topic: string): LogError {
  const words = `topic ${topic} exists, but this user may not see it. Give it its rights with:`;
  return new LogError('misconfigured', `${words}\n${grantCommand(kafka)}`);
}

async function withAdded(admin: Admin, options: ProvisionOptions, missing: readonly TopicSpec[]): Promise<readonly TopicSpec[]> {
  return [...missing, ...(await missingOf(admin, options.addedTopics ?? []))];
}

function missingTopics({ kafka }: ProvisionOptions, missing: readonly TopicSpec[], why: string): LogError {
  const [are, them] = missing.length === 1 ? ['a topic is', 'it'] : ['topics are', 'them'];
  const commands = missing.map((topic) => createCommand(kafka, topic));
  return new LogError('misconfigured', `${are} missing and ${why}. Create ${them} with:\n${commands.join('\n')}`);
}

/** Metadata of all topics, once each partition has a leader. */
async function leaders(admin: Admin, topics: readonly TopicSpec[]): Promise<readonly ITopicMetadata[]> {
  const deadlineMs = performance.now() + leadersTimeoutMs;
  for (let pauseMs = pollMsMin; ; pauseMs = Math.min(2 * pauseMs, pollMsMax)) {
    const { topics: found } = await onceKnown(deadlineMs, () => admin.fetchTopicMetadata({ topics: topics.map(({ name }) => name) }));
    if (topics.every((topic) => led(topic, found))) return found;
    if (performance.now() > deadlineMs) throw leaderless(topics, found);
    await pause(pauseMs);
  }
}

function leaderless(topics: readonly TopicSpec[], found: readonly ITopicMetadata[]): LogError {
  const names = topics
    .filter((topic) => !led(topic, found))
    .flatMap(({ name }) => {
      const partitions = found.find((topic) => topic.name === name)?.partitions.filter(({ leader }) => leader < 0) ?? [];
      return partitions.length === 0 ? [name] : partitions.map(({ partitionId }) => `${name}/${partitionId}`);
    });
  return new LogError('unavailable', `no broker leads ${names.join(', ')}: start the brokers that hold their replicas`);
}

function led(topic: TopicSpec, found: readonly ITopicMetadata[]): boolean {
  const partitions = found.find(({ name }) => name === topic.name)?.partitions ?? [];
  return partitions.length > 0 && partitions.every(({ leader }) => leader >= 0);
}

async function checkSettings(admin: Admin, metadata: readonly ITopicMetadata[], options: ProvisionOptions): Promise<void> {
  const { topics, kafka, logger } = options;
  const found = await onceKnown(performance.now() + leadersTimeoutMs, () => findWrongSettings(admin, topics, metadata));
  const { told = [], refused: wrong = [] } = Object.groupBy(found, ({ setting }) => (setting.isOnlyTold === true ? 'told' : 'refused'));
  for (const each of told)
    logger.error(`${describeWrong(each)}. It is served all the same`, { repair: repairCommands([each], kafka).join() });
  if (wrong.length === 0) return;
  const lines = [...wrong.map(describeWrong), 'Repair it with:', ...repairCommands(wrong, kafka)];
  throw new LogError('misconfigured', lines.join('\n'));
}
