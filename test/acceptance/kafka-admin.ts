/** A plain Kafka client, as an operator or another team has one: it shares no code with Perdure. */
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import type { Admin, Kafka, KafkaConfig, KafkaMessage } from 'kafkajs';

// Node itself finds no named exports in this package; the test runner would.
const { ConfigResourceTypes, logLevel } = kafkajs;

export type ConsumedRecord = { readonly partition: number; readonly message: KafkaMessage };

export function kafkaClient(brokers: readonly string[], more: Partial<KafkaConfig> = {}): Kafka {
  return new kafkajs.Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, ...more });
}

export async function withAdmin<T>(kafka: Kafka, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await use(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Records in all partitions of a topic. */
export async function topicLength(admin: Admin, topic: string): Promise<number> {
  const partitions = await admin.fetchTopicOffsets(topic);
  return partitions.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
}

/** Gone when the deletion is visible. */
export async function deleteTopic(admin: Admin, topic: string): Promise<void> {
  await admin.deleteTopics({ topics: [topic] });
  while ((await admin.listTopics()).includes(topic)) await delay(50);
}

/** The journal of these partitions starts at the offset from now on. */
export async function deleteRecordsBefore(admin: Admin, topic: string, partitions: readonly number[], offset: string): Promise<void> {
  // kafkajs finds the leaders with this.
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: partitions.map((partition) => ({ partition, offset })) });
}

/** Everything that a topic holds now, by partition and offset; also where its journal is cut meanwhile, for what is behind the cut comes. */
export async function consumeAll(kafka: Kafka, topic: string): Promise<readonly ConsumedRecord[]> {
  const offsets = await withAdmin(kafka, async (admin) => await admin.fetchTopicOffsets(topic));
  const ends = new Map(offsets.filter(({ low, high }) => low !== high).map(({ partition, high }) => [partition, Number(high)]));
  if (ends.size === 0) return [];
  const consumer = kafka.consumer({ groupId: `acceptance-${crypto.randomUUID()}` });
  const records: ConsumedRecord[] = [];
  const complete = Promise.withResolvers<void>();
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ partition, message }) => {
        records.push({ partition, message });
        if (Number(message.offset) + 1 >= (ends.get(partition) ?? Infinity)) ends.delete(partition);
        if (ends.size === 0) complete.resolve();
      },
    });
    await complete.promise;
  } finally {
    await consumer.disconnect();
  }
  return records.toSorted((a, b) => a.partition - b.partition || Number(a.message.offset) - Number(b.message.offset));
}

/** Does what `kafka-topics.sh --create`, `--delete` and `kafka-configs.sh --alter` would do with these arguments. */
export async function obey(admin: Admin, command: string): Promise<void> {
  const option = (name: string): string => new RegExp(`--${name} (\\S+)`).exec(command)?.[1] ?? '';
  const entry = (text: string): { name: string; value: string } => {
    const [name = '', value = ''] = text.split('=');
    return { name, value };
  };
  if (command.startsWith('kafka-topics.sh ') && command.includes(' --delete ')) {
    await admin.deleteTopics({ topics: [option('topic')] });
  } else if (command.startsWith('kafka-topics.sh ')) {
    await admin.createTopics({
      topics: [
        {
          topic: option('topic'),
          numPartitions: Number(option('partitions')),
          replicationFactor: Number(option('replication-factor')),
          configEntries: [...command.matchAll(/--config (\S+)/g)].map(([, text = '']) => entry(text)),
        },
      ],
      waitForLeaders: false,
    });
    // A broker hears of it a moment after the controller has made it.
    while (!(await admin.listTopics()).includes(option('topic'))) await delay(20);
  } else if (command.startsWith('kafka-configs.sh ')) {
    await setTopic(
      admin,
      option('entity-name'),
      new Map(
        option('add-config')
          .split(',')
          .map(entry)
          .map(({ name, value }) => [name, value]),
      ),
    );
  } else throw new Error(`no command of Kafka: ${command}`);
}

/** Sets some settings of a topic and keeps the others: kafkajs only knows how to replace them all. */
export async function setTopic(admin: Admin, topic: string, settings: ReadonlyMap<string, string>): Promise<void> {
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
  const own = resources[0]?.configEntries.filter(({ isDefault, configSource }) => !isDefault && configSource === topicConfigSource) ?? [];
  const merged = new Map([...own.map(({ configName, configValue }) => [configName, configValue] as const), ...settings]);
  const configEntries = [...merged].map(([name, value]) => ({ name, value }));
  await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
}

/** Set for this topic itself; not the broker's, not a default. */
const topicConfigSource = 1;
