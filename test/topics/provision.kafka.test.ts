import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { addedTopics, topicCatalogue, topicSettings } from '../../src/topics/catalogue.ts';
import { loadKafkajs } from '../../src/topics/kafka/load-kafkajs.ts';
import { createCommand } from '../../src/topics/kafka/shell-commands.ts';
import { provisionTopics } from '../../src/topics/kafka/provision.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import type { Admin } from 'kafkajs';
import type { TopicSpec } from '../../src/ports/log.ts';
import type { KafkaOptions } from '../../src/config/kafka-options.ts';

const kafka = inject('kafka');
const brokers = 'brokers' in kafka ? kafka.brokers : [];

function options(overrides: Partial<KafkaOptions> = {}): KafkaOptions {
  const topicPrefix = `test.${randomUUID()}`;
  return { brokers, topicPrefix, replicationFactor: 1, tls: undefined, sasl: undefined, autoCreateTopics: true, ...overrides };
}

function provision(using: KafkaOptions, historyPartitions = 3): Promise<readonly TopicSpec[]> {
  const topics = topicCatalogue({ prefix: using.topicPrefix, historyPartitions, matchingPartitions: 2 });
  return provisionTopics({ kafka: using, topics, logger: silentLogger });
}

describe.skipIf(brokers.length === 0)('topics at start', () => {
  let admin: Admin;
  beforeAll(async () => {
    const { Kafka, logLevel } = loadKafkajs();
    admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
  });
  afterAll(() => admin?.disconnect());

  async function settingsOf(topic: string): Promise<ReadonlyMap<string, string>> {
    const { ConfigResourceTypes } = loadKafkajs();
    const resource = { type: ConfigResourceTypes.TOPIC, name: topic };
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
    return new Map(resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]));
  }

  async function partitionsOf(topic: string): Promise<number | undefined> {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.length;
  }

  test('missing topics are made, with every setting of the catalogue; the second start finds them', async () => {
    const using = options();
    await provision(using);
    expect(await partitionsOf(`${using.topicPrefix}.history`)).toBe(3);
    expect(await partitionsOf(`${using.topicPrefix}.matching`)).toBe(2);
    expect(await partitionsOf(`${using.topicPrefix}.cluster`)).toBe(1);
    const settings = await settingsOf(`${using.topicPrefix}.history`);
    for (const { name, value } of topicSettings(1)) expect([name, settings.get(name)]).toEqual([name, value]);
    await provision(using);
  });

  test('when creating is switched off, the commands are named, and they are right', async () => {
    const using = options({ autoCreateTopics: false });
    const error = await failure(provision(using));
    expect(error.code).toBe('misconfigured');
    const commands = error.message.split('\n').filter((line) => line.startsWith('kafka-topics.sh'));
    expect(commands).toHaveLength(3);
    expect(commands[0]).toBe(
      `kafka-topics.sh --bootstrap-server ${brokers.join(',')} --create --topic ${using.topicPrefix}.history --partitions 3` +
        ' --replication-factor 1 --config cleanup.policy=delete --config retention.ms=-1 --config retention.bytes=-1' +
        ' --config max.message.bytes=8388608 --config unclean.leader.election.enable=false' +
        ' --config message.timestamp.after.max.ms=9223372036854775807',
    );
    // What an operator does with them: then the start goes through.
    for (const command of commands) await obey(admin, command);
    await provision(using);
  });

  test('whoever creates topics by hand learns at once of those that are added later, but of none that is there', async () => {
    const using = options({ autoCreateTopics: false });
    const [first, ...topics] = topicCatalogue({ prefix: using.topicPrefix, historyPartitions: 1, matchingPartitions: 1 });
    const [made, ...added] = addedTopics(using.topicPrefix, 'active');
    for (const topic of [first, made]) if (topic !== undefined) await obey(admin, createCommand(using, topic));
    const error = await failure(
      provisionTopics({ kafka: using, topics, addedTopics: [made, ...added].filter((each) => each !== undefined), logger: silentLogger }),
    );
    const commands = error.message.split('\n').filter((line) => line.startsWith('kafka-topics.sh'));
    expect(commands).toEqual([...topics, ...added].map((topic) => createCommand(using, topic)));
    for (const command of commands) await obey(admin, command);
    for (const topic of added) expect(await provisionTopics({ kafka: using, topics: [topic], logger: silentLogger })).toEqual([topic]);
  });

  test('with three replicas two must be in sync', () => {
    const topic = { name: 'x.history', partitions: 16, purpose: '' };
    expect(createCommand({ brokers: ['a:9092', 'b:9092'], replicationFactor: 3 }, topic)).toMatch(
      /--bootstrap-server a:9092,b:9092 .*--replication-factor 3 .*min\.insync\.replicas=2/,
    );
    expect(createCommand({ brokers: ['a:9092'], replicationFactor: 1 }, topic)).not.toContain('min.insync.replicas');
  });

  test('more replicas than brokers', async () => {
    const error = await failure(provision(options({ replicationFactor: 99 })));
    expect(error).toMatchObject({
      code: 'misconfigured',
      message: 'perdure.kafka.replicationFactor is 99, but the cluster has 1 broker alive: set it to 1, or start more brokers',
    });
  });

  test('another partition count than asked for is reported, not judged', async () => {
    const using = options();
    await provision(using, 3);
    expect((await provision(using, 4)).map(({ partitions }) => partitions)).toEqual([3, 2, 1]);
  });

  test.each([
    ['cleanup.policy', 'compact', 'cleanup.policy=delete'],
    ['retention.ms', '604800000', 'retention.ms=-1'],
    ['retention.bytes', '1000000', 'retention.bytes=-1'],
    ['max.message.bytes', '1048588', 'max.message.bytes=8388608'],
    ['unclean.leader.election.enable', 'true', 'unclean.leader.election.enable=false'],
  ])('%s=%s is refused, with the reason and the command that repairs it', async (name, value, mend) => {
    const using = options();
    await provision(using);
    const topic = `${using.topicPrefix}.matching`;
    const right = topicSettings(1).map((setting) => ({ name: setting.name, value: setting.value }));
    await alter(topic, [...right.filter((setting) => setting.name !== name), { name, value }]);
    const error = await failure(provision(using));
    expect(error.code).toBe('misconfigured');
    expect(error.message).toContain(`topic ${topic} has ${name}=${value}`);
    expect(error.message).toContain(
      `kafka-configs.sh --bootstrap-server ${brokers.join(',')} --alter --entity-type topics --entity-name ${topic} --add-config ${mend}`,
    );
    await alter(topic, right);
    await provision(using);
  });

  test('the topic of a dead letter queue gets settings of its own; where they differ it is served, and operators are informed', async () => {
    const using = options();
    const topic: TopicSpec = {
      name: `dlq.${using.topicPrefix}.transfer.active`,
      partitions: 1,
      purpose: 'dead letters',
      holdsLetters: true,
    };
    const errors: string[] = [];
    const logger = { ...silentLogger, error: (line: string) => void errors.push(line) };
    const open = async (): Promise<unknown> => await provisionTopics({ kafka: using, topics: [topic], logger });
    await open();
    const settings = await settingsOf(topic.name);
    expect([settings.get('segment.ms'), settings.get('message.timestamp.type')]).toEqual(['3600000', 'CreateTime']);
    expect(errors).toEqual([]);
    const right = topicSettings(1, topic).map(({ name, value }) => ({ name, value }));
    await alter(topic.name, [...right.filter(({ name }) => name !== 'segment.ms'), { name: 'segment.ms', value: '604800000' }]);
    await open();
    expect(errors).toEqual([expect.stringContaining(`topic ${topic.name} has segment.ms=604800000, needed is 3600000`)]);
    await alter(topic.name, [...right.filter(({ name }) => name !== 'retention.ms'), { name: 'retention.ms', value: '604800000' }]);
    expect((await failure(open())).message).toContain('has retention.ms=604800000');
  });

  async function alter(topic: string, configEntries: { name: string; value: string }[]): Promise<void> {
    const { ConfigResourceTypes } = loadKafkajs();
    await admin.alterConfigs({ validateOnly: false, resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }] });
    // The controller has it; the broker that answers us follows.
    const wanted = configEntries.map(({ name, value }) => [name, value]);
    const found = async (): Promise<unknown> => {
      const settings = await settingsOf(topic);
      return wanted.map(([name = '']) => [name, settings.get(name)]);
    };
    await expect.poll(found, { timeout: 60_000 }).toEqual(wanted);
  }
});

test('a broker that is not there is named', async () => {
  const error = await failure(provision(options({ brokers: ['127.0.0.1:1'] })));
  expect(error.code).toBe('unavailable');
  expect(error.message).toContain('127.0.0.1:1');
  expect(error.message).toContain('ECONNREFUSED');
});

async function failure(promise: Promise<unknown>): Promise<{ readonly code: string; readonly message: string }> {
  return await promise.then(
    () => {
      throw new Error('expected a failure');
    },
    (error: { code: string; message: string }) => error,
  );
}

/** Does what kafka-topics.sh would do. */
async function obey(admin: Admin, command: string): Promise<void> {
  const option = (name: string): string => new RegExp(`--${name} (\\S+)`).exec(command)?.[1] ?? '';
  const configEntries = [...command.matchAll(/--config (\S+?)=(\S+)/g)].map(([, name = '', value = '']) => ({ name, value }));
  const topic = {
    topic: option('topic'),
    numPartitions: Number(option('partitions')),
    replicationFactor: Number(option('replication-factor')),
    configEntries,
  };
  await admin.createTopics({ topics: [topic], waitForLeaders: false });
}
