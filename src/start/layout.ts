/**
 * How many partitions are served: as many as the cluster was created with, even if topics have more since.
 *
 *     identity    configured    topic has  
 *     none        4             4             first start with 4
 *     none        4             6             refused: nothing is written yet, and one of the two numbers is a mistake
 *     4           4             6             4 are served, 2 ignored with a warning: somebody added partitions
 *     4           4             3             refused: a partition's workflows are gone
 *     4           8             any           refused: the number decides which partition owns a workflow
 */
import { LogError, type TopicSpec } from '../ports/log.ts';
import { clusterTopic, historyTopic, matchingTopic } from '../topics/catalogue.ts';
import type { ClusterIdentity } from '../cluster/cluster-records.ts';

export type LayoutQuestion = {
  readonly prefix: string;
  readonly identity: ClusterIdentity | undefined;
  readonly configured: { readonly clusterName: string; readonly historyShards: number; readonly matchingPartitions: number };
  readonly topics: readonly TopicSpec[];
};

/** Surplus partitions, to which no workflow and no task queue belongs. */
export type IgnoredPartitions = { readonly topic: string; readonly found: number; readonly served: number };

/** Throws LogError `misconfigured`. */
export function ignoredPartitions(question: LayoutQuestion): readonly IgnoredPartitions[] {
  const { prefix, identity, configured } = question;
  if (identity !== undefined) checkIdentity(identity, question);
  return [
    checkTopic(question, historyTopic(prefix), configured.historyShards, 'history shards (persistence.numHistoryShards)'),
    checkTopic(question, matchingTopic(prefix), configured.matchingPartitions, 'matching partitions'),
    checkTopic(question, clusterTopic(prefix), 1, 'partition, always'),
  ].filter((ignored) => ignored !== undefined);
}

function checkIdentity(identity: ClusterIdentity, { configured, prefix }: LayoutQuestion): void {
  const { clusterName, historyShards } = identity;
  const another = 'or use another log (perdure.kafka.topicPrefix, or another database file)';
  if (historyShards !== configured.historyShards) {
    throw new LogError(
      'misconfigured',
      `persistence.numHistoryShards is ${configured.historyShards}, but the cluster "${clusterName}" of prefix ${prefix} was made with ` +
        `${historyShards} history shards, and the number decides which of them owns a workflow: set it to ${historyShards}, ${another}`,
    );
  }
  if (clusterName !== configured.clusterName) {
    throw new LogError(
      'misconfigured',
      `clusterMetadata.currentClusterName is "${configured.clusterName}", but the cluster of prefix ${prefix} is called "${clusterName}", ` +
        `for ever: set it to "${clusterName}", ${another}`,
    );
  }
}

function checkTopic({ identity, topics }: LayoutQuestion, topic: string, served: number, what: string): IgnoredPartitions | undefined {
  const found = topics.find(({ name }) => name === topic)?.partitions ?? 0;
  if (found === served) return undefined;
  if (identity === undefined) {
    throw new LogError(
      'misconfigured',
      `topic ${topic} has ${found} partitions, needed are ${served} (${what}): nothing is written yet, so delete the topic and let Perdure create it`,
    );
  }
  if (found > served) return { topic, found, served };
  throw new LogError(
    'misconfigured',
    `topic ${topic} has ${found} partitions, but the cluster was made with ${served}: the topic was deleted and created again, and what it ` +
      `held is gone. Restore it, or start a new cluster under another perdure.kafka.topicPrefix`,
  );
}
