/**
 * What is looked at before the first claim. A claim takes the partition from whoever serves it, so a start that will be refused must be
 * refused here, where it has changed nothing and harmed nobody.
 *
 *     topics there ─▶ identity ─▶ layout ─▶ journals whole ─▶ whoever claimed last is gone ─▶ claims
 */
import { clusterTopic, historyTopic, matchingTopic, type TopicSpec } from '../topics/catalogue.ts';
import { readKnownCluster, type KnownCluster } from './known-cluster.ts';
import { ignoredPartitions } from './layout.ts';
import { waitForPreviousOwner } from './previous-owner.ts';
import { checkWholeJournals } from './whole-journals.ts';
import type { ClaimCodec } from '../actors/ownership/claim.ts';
import type { Log, PartitionId } from '../actors/log.ts';
import type { ServerOptions } from '../config/server-options.ts';

export type LogToInspect = {
  readonly log: Log;
  /** As the log has them. */
  readonly topics: readonly TopicSpec[];
  readonly prefix: string;
  readonly claims: ClaimCodec;
  readonly options: Pick<ServerOptions, 'clusterName' | 'historyShards' | 'matchingPartitions' | 'logger'>;
};

/** Throws LogError with what is wrong and what mends it, or AnotherServerError. */
export async function inspectBeforeClaiming({ log, topics, prefix, claims, options }: LogToInspect): Promise<KnownCluster> {
  const known = await readKnownCluster(log, prefix, claims);
  for (const { topic, found, served } of ignoredPartitions({ prefix, identity: known.identity, configured: options, topics })) {
    options.logger.warn('partitions that somebody added are ignored: the cluster was made with fewer, for ever', { topic, found, served });
  }
  const partitions = [
    ...partitionsOf(historyTopic(prefix), options.historyShards),
    ...partitionsOf(matchingTopic(prefix), options.matchingPartitions),
  ];
  await checkWholeJournals({ log, claims, known, partitions, clusterTopic: clusterTopic(prefix) });
  // Where nobody else can append, nobody else can serve.
  if (known.owner !== undefined && !log.exclusive) await waitForPreviousOwner(known.owner, prefix, options.logger);
  return known;
}

function partitionsOf(topic: string, count: number): readonly PartitionId[] {
  return Array.from({ length: count }, (_, partition) => ({ topic, partition }));
}
