/** For `config validate --connect`: what a start would refuse of the topics on Kafka and of the cluster in them. Changes nothing there. */
import { addedTopics } from '../topics/catalogue.ts';
import { errorMessage } from '../kernel/error-text.ts';
import { silentLogger } from '../observability/logger.ts';
import { readKnownCluster } from './known-cluster.ts';
import { ignoredPartitions } from './layout.ts';
import { catalogueOf, checkFirstLayout, type Layout } from './open-log.ts';
import { claimsOf } from './server-contact.ts';
import type { KafkaOptions } from '../config/kafka-options.ts';

/** Undefined: nothing that can be seen without a start. */
export async function whyRefused(kafka: KafkaOptions, layout: Layout): Promise<string | undefined> {
  try {
    await tryKafka(kafka, layout);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

async function tryKafka(kafka: KafkaOptions, layout: Layout): Promise<void> {
  const prefix = kafka.topicPrefix;
  const topics = catalogueOf(prefix, layout);
  const { openKafkaLogForTrial } = await import('../topics/kafka/kafka-log.ts');
  const log = await openKafkaLogForTrial({
    kafka,
    topics,
    logger: silentLogger,
    addedTopics: addedTopics(prefix, layout.clusterName),
    beforeMaking: async (existing) => checkFirstLayout(prefix, layout, topics, existing),
  });
  if (log === undefined) return;
  try {
    const { identity } = await readKnownCluster(log, prefix, claimsOf({ instance: '', addresses: [] }));
    ignoredPartitions({ prefix, identity, configured: layout, topics: log.topics });
  } finally {
    await log.close();
  }
}
