/** The settings that topics have, against those that their journals need. */
import { topicSettings, type TopicSetting } from '../catalogue.ts';
import { alterCommand } from './shell-commands.ts';
import { loadKafkajs } from './load-kafkajs.ts';
import type { Admin, ITopicMetadata } from 'kafkajs';
import type { KafkaOptions } from '../../config/kafka-options.ts';
import type { TopicSpec } from '../../ports/log.ts';

export type WrongSetting = { readonly topic: string; readonly setting: TopicSetting; readonly actual: string };

/** `topics`: of which there is metadata. */
export async function findWrongSettings(
  admin: Admin,
  topics: readonly TopicSpec[],
  metadata: readonly ITopicMetadata[],
): Promise<readonly WrongSetting[]> {
  const { ConfigResourceTypes } = loadKafkajs();
  const described = metadata.map(({ name }) => ({ type: ConfigResourceTypes.TOPIC, name }));
  const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: described });
  const wrong: WrongSetting[] = [];
  for (const { resourceName, configEntries } of resources) {
    // What counts is what the topic has, not what the configuration would give a new one.
    const replicas = metadata.find(({ name }) => name === resourceName)?.partitions[0]?.replicas.length ?? 1;
    const topic = topics.find(({ name }) => name === resourceName);
    for (const setting of topicSettings(replicas, topic)) {
      const { name, value, accepts = (actual) => actual === value } = setting;
      const actual = configEntries.find(({ configName }) => configName === name)?.configValue;
      if (actual !== undefined && !accepts(actual)) wrong.push({ topic: resourceName, setting, actual });
    }
  }
  return wrong;
}

export function describeWrong({ topic, setting, actual }: WrongSetting): string {
  return `topic ${topic} has ${setting.name}=${actual}, needed is ${setting.value}: ${setting.why}`;
}

export function repairCommands(wrong: readonly WrongSetting[], kafka: Pick<KafkaOptions, 'brokers'>): readonly string[] {
  const byTopic = Map.groupBy(wrong, ({ topic }) => topic);
  const settingsOf = (list: readonly WrongSetting[]): readonly TopicSetting[] => list.map(({ setting }) => setting);
  return [...byTopic].map(([topic, list]) => alterCommand(kafka, topic, settingsOf(list)));
}
