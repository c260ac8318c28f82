/**
 * Every topic that Perdure keeps, in one place: name, partitions, settings. The same names hold on Kafka and in the embedded log.
 *
 *     <prefix>.history    one partition per history shard      the runs of the workflows that hash to it
 *     <prefix>.matching   one partition per matching host      backlog, user data and settings of its task queues
 *     <prefix>.cluster    1 partition                          namespaces, search attributes
 *     dlq.<prefix>.<category>.<source cluster>   1 partition   dead letters; added while the server serves (actors/deadletters)
 *     <prefix>.dlq-jobs   1 partition                          plans and jobs over them; likewise
 *     <prefix>.audit      1 partition                          who did what to which letters; likewise
 *     <prefix>.dlq-redrive   1 partition                       what tools for Kafka send back; likewise, on Kafka alone
 *
 * Partition counts are fixed when a topic is created: a changed count would send keys to other owners.
 */
import { APPEND_BYTES_MAX, LogError, type TopicSpec } from '../ports/log.ts';

export type CatalogueOptions = { readonly prefix: string; readonly historyPartitions: number; readonly matchingPartitions: number };

export const historyTopic = (prefix: string): string => `${prefix}.history`;
export const matchingTopic = (prefix: string): string => `${prefix}.matching`;
export const clusterTopic = (prefix: string): string => `${prefix}.cluster`;
const ofOnePartition = (name: string, purpose: string): TopicSpec => ({ name, partitions: 1, purpose });

export const dlqJobsTopic = (prefix: string): TopicSpec => ofOnePartition(`${prefix}.dlq-jobs`, 'dead letter plans and jobs');
export const auditTopic = (prefix: string): TopicSpec =>
  ofOnePartition(`${prefix}.audit`, 'audit of dead letters: who did what to which, when and why');
/** Where tools that know nothing of Perdure send a letter that is to be tried again. */
export const redriveTopic = (prefix: string): TopicSpec =>
  ofOnePartition(`${prefix}.dlq-redrive`, 'what tools for Kafka send back of dead letters: counted, not used');

/** Letters of one kind of tasks from one cluster. All that begins so is a queue: a category has no dot, the name of a cluster may. */
export function deadLetterTopic(prefix: string, category: string, sourceCluster: string): string {
  return `dlq.${prefix}.${category}.${sourceCluster}`;
}

export function deadLetterTopicSpec(prefix: string, category: string, sourceCluster: string): TopicSpec {
  const purpose = `${category} tasks of ${sourceCluster} that failed for good`;
  return { name: deadLetterTopic(prefix, category, sourceCluster), partitions: 1, holdsLetters: true, purpose };
}

/** The categories whose tasks come from this cluster, and may fail for good. */
const ownCategories = ['transfer', 'timer', 'visibility', 'archival', 'outbound'] as const;

/** The topics on Kafka that are added while a server serves; whoever makes topics by hand makes these as well. */
export function addedTopics(prefix: string, clusterName: string): readonly TopicSpec[] {
  const queues = ownCategories.map((category) => deadLetterTopicSpec(prefix, category, clusterName));
  return [...queues, dlqJobsTopic(prefix), auditTopic(prefix), redriveTopic(prefix)];
}

/** Throws LogError: the number decides who owns what, so a topic that has another one is not the one that is meant. */
export function checkPartitions({ name, partitions }: Pick<TopicSpec, 'name' | 'partitions'>, found: number): void {
  if (found === partitions) return;
  throw new LogError('misconfigured', `${name} has ${found} partitions, needed ${partitions === 1 ? 'is' : 'are'} ${partitions}`);
}

export function topicCatalogue({ prefix, historyPartitions, matchingPartitions }: CatalogueOptions): readonly TopicSpec[] {
  return [
    { name: historyTopic(prefix), partitions: historyPartitions, purpose: 'workflow histories, one partition per history shard' },
    { name: matchingTopic(prefix), partitions: matchingPartitions, purpose: 'task queue backlog and settings' },
    { name: clusterTopic(prefix), partitions: 1, purpose: 'namespaces and search attributes' },
  ];
}

/** How a setting of an existing topic is judged. */
export type TopicSetting = {
  readonly name: string;
  /** What new topics get, and what the mending command sets. */
  readonly value: string;
  /** Absent: nothing but the value. */
  readonly accepts?: (actual: string) => boolean;
  readonly why: string;
  /** Served all the same, and people are told; absent: it is not served. */
  readonly isOnlyTold?: boolean;
};

const forever = '9223372036854775807';

/** The settings that a journal needs; Perdure refuses to serve when one of them is wrong. */
export function topicSettings(
  replicationFactor: number,
  { holdsLetters = false }: Pick<TopicSpec, 'holdsLetters'> = {},
): readonly TopicSetting[] {
  const settings: TopicSetting[] = [
    { name: 'cleanup.policy', value: 'delete', why: 'compaction would remove records of a journal by key' },
    { name: 'retention.ms', value: '-1', why: 'with a time limit Kafka deletes the history of workflows that still run' },
    { name: 'retention.bytes', value: '-1', why: 'with a size limit Kafka deletes the history of workflows that still run' },
    {
      name: 'max.message.bytes',
      value: String(APPEND_BYTES_MAX),
      accepts: (actual) => Number(actual) >= APPEND_BYTES_MAX,
      why: 'one command can write a record of nearly 8 MiB, and a record is never split',
    },
    { name: 'unclean.leader.election.enable', value: 'false', why: 'an unclean election removes records that were acknowledged' },
    {
      name: 'message.timestamp.after.max.ms',
      value: forever,
      why: 'record times never go back, so after a clock that ran ahead they may lie in the future',
    },
  ];
  if (replicationFactor >= 3) {
    settings.push({
      name: 'min.insync.replicas',
      value: '2',
      accepts: (actual) => Number(actual) >= 2,
      why: 'one lagging replica must not hold the only copy of an acknowledged record',
    });
  }
  return holdsLetters ? [...settings, ...letterSettings] : settings;
}

const letterSettings: readonly TopicSetting[] = [
  {
    name: 'segment.ms',
    value: '3600000',
    accepts: (actual) => Number(actual) <= 3_600_000,
    why: 'what was purged leaves the disk with its segment, within the hour',
    isOnlyTold: true,
  },
  {
    name: 'message.timestamp.type',
    value: 'CreateTime',
    why: 'the timestamp of a dead letter is the time at which its owner wrote it',
    isOnlyTold: true,
  },
];
