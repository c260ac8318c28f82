/** The commands of Kafka that we print: whoever copies them mends what was found. */
import { topicSettings, type TopicSetting } from '../catalogue.ts';
import type { KafkaOptions } from '../../config/kafka-options.ts';
import type { TopicSpec } from '../../ports/log.ts';

type Cluster = Pick<KafkaOptions, 'brokers'>;

export function createCommand(kafka: Cluster & Pick<KafkaOptions, 'replicationFactor'>, topic: TopicSpec): string {
  const configs = topicSettings(kafka.replicationFactor, topic).map(({ name, value }) => ` --config ${name}=${value}`);
  return (
    `kafka-topics.sh ${bootstrap(kafka)} --create --topic ${topic.name} --partitions ${topic.partitions}` +
    ` --replication-factor ${kafka.replicationFactor}${configs.join('')}`
  );
}

export function deleteCommand(kafka: Cluster, topic: string): string {
  return `kafka-topics.sh ${bootstrap(kafka)} --delete --topic ${topic}`;
}

export function alterCommand(kafka: Cluster, topic: string, settings: readonly TopicSetting[]): string {
  const pairs = settings.map(({ name, value }) => `${name}=${value}`).join(',');
  return `kafka-configs.sh ${bootstrap(kafka)} --alter --entity-type topics --entity-name ${topic} --add-config ${pairs}`;
}

/** All that Perdure needs on its topics, but the right to create them. */
export function grantCommand(kafka: Cluster & Pick<KafkaOptions, 'sasl' | 'topicPrefix'>): string {
  const operations = ['Read', 'Write', 'Describe', 'DescribeConfigs', 'Delete'].map((operation) => ` --operation ${operation}`);
  return (
    `kafka-acls.sh ${bootstrap(kafka)} --add --allow-principal User:${kafka.sasl?.username ?? '<principal>'}${operations.join('')}` +
    ` --topic ${kafka.topicPrefix}. --topic dlq.${kafka.topicPrefix}. --resource-pattern-type prefixed`
  );
}

function bootstrap({ brokers }: Cluster): string {
  return `--bootstrap-server ${brokers.join(',')}`;
}
