/**
 * `perdure server start` on topics that would lose records, or that it may not make: it exits with 1, says why, and prints commands that
 * repair it. Each test then does what was printed, and the same start goes through.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import { freePorts } from '../kafka/local-broker.ts';
import { perdureAt } from '../cli/perdure-process.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { healthPageOf } from '../support/health-page.ts';
import { withClient } from '../support/with-client.ts';
import { deleteTopic, kafkaClient, obey, setTopic, withAdmin } from './kafka-admin.ts';
import { commandsIn, obeyAll, refusedStart, startsAndStops, whileServing } from './kafka-start.ts';
import type { Admin, Kafka } from 'kafkajs';
import type { LocalBroker } from '../kafka/local-broker.ts';
import type { StartSettings as Settings } from './kafka-start.ts';

const patience = { timeout: 90_000, interval: 250 };

const topicNames = ['history', 'matching', 'cluster'] as const;
/** With those of dead letters, their jobs, audit and intake. */
const topicsInAll = 11;

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('starts that Kafka refuses', kafka.missing);
else refusedStarts(kafka.brokers);

function refusedStarts(brokers: readonly string[]): void {
  const client = kafkaClient(brokers);
  const topicsOf = ({ prefix }: Settings): Promise<readonly string[]> =>
    withAdmin(client, async (admin) => (await admin.listTopics()).filter((topic) => topic.startsWith(`${prefix}.`)));
  const fresh = (more: Partial<Settings> = {}): Settings => ({ brokers, prefix: `refused-${randomUUID()}`, ...more });

  describe('a start is refused', () => {
    test('topics are missing and --no-auto-migrate forbids to make them', async () => {
      const settings = fresh();
      const output = await refusedStart(settings, ['--no-auto-migrate']);
      expect(output).toContain('topics are missing and creating topics is switched off (--no-auto-migrate)');
      await withAdmin(client, async (admin) => {
        const names = topicNames.map((name) => `${settings.prefix}.${name}`);
        expect((await admin.listTopics()).filter((topic) => names.includes(topic))).toEqual([]);
        await obeyAll(admin, output, topicsInAll);
      });
      await startsAndStops(settings, ['--no-auto-migrate']);
    });

    test('two topics have settings that lose records', async () => {
      const settings = fresh();
      await startsAndStops(settings);
      await withAdmin(client, async (admin) => {
        await setTopic(
          admin,
          `${settings.prefix}.history`,
          new Map([
            ['cleanup.policy', 'compact'],
            ['retention.ms', '604800000'],
          ]),
        );
        await setTopic(admin, `${settings.prefix}.matching`, new Map([['max.message.bytes', '1048588']]));
        const output = await refusedStart(settings);
        expect(output).toContain(`topic ${settings.prefix}.history has cleanup.policy=compact, needed is delete: compaction would remove`);
        expect(output).toContain(`topic ${settings.prefix}.history has retention.ms=604800000, needed is -1: `);
        expect(output).toContain(`topic ${settings.prefix}.matching has max.message.bytes=1048588, needed is 8388608: `);
        await obeyAll(admin, output, 2);
      });
      await startsAndStops(settings);
    });

    test('another number of history shards than the topic has partitions', async () => {
      const settings = fresh();
      await startsAndStops(settings);
      const output = await refusedStart({ ...settings, shards: 8 });
      expect(output).toContain('persistence.numHistoryShards is 8');
      expect(output).toContain(`of prefix ${settings.prefix} was made with 4 history shards`);
    });

    test('more replicas than there are brokers', async () => {
      const settings = fresh({ replicationFactor: 3 });
      expect(await refusedStart(settings)).toBe(
        'perdure: perdure.kafka.replicationFactor is 3, but the cluster has 1 broker alive: set it to 1, or start more brokers\n',
      );
      expect(await topicsOf(settings)).toEqual([]);
    });

    test('somebody made one topic otherwise than it must be: the others are not made beside it', async () => {
      const settings = fresh();
      const [history, matching] = [`${settings.prefix}.history`, `${settings.prefix}.matching`];
      await withAdmin(client, async (admin) => {
        await admin.createTopics({ topics: [{ topic: matching, numPartitions: 3, replicationFactor: 1 }] });
        await setTopic(admin, matching, new Map([['cleanup.policy', 'compact']]));
        const output = await refusedStart(settings);
        expect(output).toContain(`topic ${matching} has cleanup.policy=compact, needed is delete`);
        expect(await topicsOf(settings)).toEqual([matching]);
        await obeyAll(admin, output, 1);
      });
      expect(await refusedStart(settings)).toContain(`topic ${matching} has 3 partitions, needed are 16 (matching partitions)`);
      expect(await topicsOf(settings)).toEqual([matching]);
      await withAdmin(client, (admin) => deleteTopic(admin, matching));
      await startsAndStops(settings);
      expect(await topicsOf(settings)).toContain(history);
    });

    test('PostgreSQL has no such database: that is what is said, and no topic is made', async () => {
      // What PostgreSQL answers to whoever asks for one.
      const refusal = Buffer.from('SFATAL\0C3D000\0Mdatabase "perdure" does not exist\0\0');
      const head = Buffer.alloc(5, 'E');
      head.writeInt32BE(refusal.length + 4, 1);
      const postgres = createServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.end(Buffer.concat([head, refusal])));
      }).listen(0, '127.0.0.1');
      await once(postgres, 'listening');
      const { port } = postgres.address() as AddressInfo;
      const settings = fresh({ postgresPort: port });
      expect(await refusedStart(settings)).toMatch(
        new RegExp(`^perdure: postgres 127\\.0\\.0\\.1:${port}/perdure has no such database; create it: CREATE DATABASE "perdure" .*\n$`),
      );
      expect(await topicsOf(settings)).toEqual([]);
      postgres.close();
    });

    test('no broker answers', async () => {
      const output = await refusedStart(fresh({ brokers: ['127.0.0.1:1'] }));
      // A line before it says that the start still tries, when that takes more than two seconds.
      expect(output).toContain(
        'perdure: the broker at 127.0.0.1:1 cannot be reached (ECONNREFUSED): is it running, and is perdure.kafka.brokers right?\n',
      );
    });
  });
}

describe.skipIf(!(await canStartLocalKafka('a Kafka that forbids to create topics')))('a user who may not create topics', () => {
  let broker: LocalBroker;
  let asOperator: Kafka;
  let login: Settings;

  beforeAll(async () => {
    const [controller = 0, operator = 0, sasl = 0] = await freePorts(3);
    broker = await startLocalKafka({ ports: [operator, controller], settings: guardedSettings(operator, sasl, controller) });
    asOperator = kafkaClient([`127.0.0.1:${operator}`]);
    const brokers = [`127.0.0.1:${sasl}`];
    login = { brokers, prefix: 'guarded', sasl: '{ mechanism: plain, username: perdure, password: perdure-secret }' };
    await withAdmin(asOperator, (admin) => allow(admin, ['READ', 'WRITE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'DELETE']));
  });
  afterAll(() => broker?.stop());

  test('is told what somebody else has to do; with the topics made it needs no right to create', async () => {
    const output = await refusedStart(login);
    expect(output).toContain('topics are missing and this user may neither create topics nor, should they exist, see them');
    expect(output).not.toContain('perdure-secret');
    // Those that workflows need: the next test makes the others.
    const serves = (command: string): boolean => /--topic guarded\.(history|matching|cluster) /.test(command);
    await withAdmin(asOperator, (admin) => obeyAll(admin, output, topicsInAll, serves));
    await startsAndStops(login);
  });

  test('serves workflows without topics for dead letters, and says how they are made; then it has them', async () => {
    await whileServing(login, async (server) => {
      await serves(server.address);
      const concernsOf = async () => (await healthPageOf(server.address))[1].concerns ?? [];
      const ofTransfer = async () => (await concernsOf()).find(({ subject }) => subject === 'dlq.guarded.transfer.active')?.message ?? '';
      await expect.poll(ofTransfer, patience).toContain('this user may neither create topics nor, should they exist, see them');
      expect((await healthPageOf(server.address))[1].status).toBe('SERVING');
      const commands = (await concernsOf()).flatMap(({ message }) => commandsIn(message));
      await withAdmin(asOperator, async (admin) => {
        for (const command of commands) await obey(admin, command);
        await allow(admin, ['READ', 'WRITE', 'DESCRIBE', 'DESCRIBE_CONFIGS', 'DELETE'], 'dlq.guarded.');
      });
      await expect.poll(concernsOf, patience).toEqual([]);
      expect(await perdureAt(server.address, 'admin queue dlq purge --category transfer')).toMatchObject({ code: 0, out: 'purged 0\n' });
    });
  });

  test('is told which rights it lacks, once the topics are there', async () => {
    await withAdmin(asOperator, async (admin) => {
      await admin.createTopics({
        topics: topicNames.map((name) => ({ topic: `hidden.${name}`, numPartitions: 1 })),
        waitForLeaders: false,
      });
      await allow(admin, ['READ', 'WRITE', 'DESCRIBE'], 'hidden.');
    });
    const output = await refusedStart({ ...login, prefix: 'hidden' });
    expect(output).toMatch(/^perdure: user "perdure" lacks rights on the topics hidden\.\* \(TOPIC_AUTHORIZATION_FAILED\)/);
    expect(output).toContain('--add --allow-principal User:perdure --operation Read');
    expect(output).toContain(
      '--operation DescribeConfigs --operation Delete --topic hidden. --topic dlq.hidden. --resource-pattern-type prefixed',
    );
  });

  test('is told when topics exist that it may not see', async () => {
    await withAdmin(asOperator, async (admin) => {
      await admin.createTopics({
        topics: topicNames.map((name) => ({ topic: `unseen.${name}`, numPartitions: 1 })),
        waitForLeaders: false,
      });
      await allow(admin, ['CREATE'], 'unseen.');
    });
    const output = await refusedStart({ ...login, prefix: 'unseen' });
    expect(output).toMatch(
      /^perdure: topic unseen\.history exists, but this user may not see it\. Give it its rights with:\nkafka-acls\.sh /,
    );
  });

  test('a wrong password is reported as such', async () => {
    const output = await refusedStart({ ...login, sasl: '{ mechanism: plain, username: perdure, password: guess-work }' });
    expect(output).toMatch(
      /^perdure: Kafka at \S+ refused the user name or the password: correct perdure\.kafka\.sasl \(user "perdure", mechanism plain\)\n$/,
    );
  });

  async function allow(
    admin: Admin,
    operations: readonly ('READ' | 'WRITE' | 'DESCRIBE' | 'DESCRIBE_CONFIGS' | 'DELETE' | 'CREATE')[],
    prefix = 'guarded.',
  ): Promise<void> {
    const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = await import('kafkajs');
    await admin.createAcls({
      acl: operations.map((operation) => ({
        resourceType: AclResourceTypes.TOPIC,
        resourceName: prefix,
        resourcePatternType: ResourcePatternTypes.PREFIXED,
        principal: 'User:perdure',
        host: '*',
        operation: AclOperationTypes[operation],
        permissionType: AclPermissionTypes.ALLOW,
      })),
    });
  }
});

async function serves(address: string): Promise<void> {
  await withClient(address, ({ workflow }) => workflow.start('Order', { taskQueue: 'orders', workflowId: 'served' }));
}

/** Who comes without a login may do everything; who logs in may do what it was allowed. */
function guardedSettings(operator: number, sasl: number, controller: number): Readonly<Record<string, string>> {
  const external = `PLAINTEXT://127.0.0.1:${operator},SASL_PLAINTEXT://127.0.0.1:${sasl}`;
  return {
    listeners: `${external},CONTROLLER://127.0.0.1:${controller}`,
    'advertised.listeners': external,
    'listener.security.protocol.map': 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT',
    'sasl.enabled.mechanisms': 'PLAIN',
    'listener.name.sasl_plaintext.plain.sasl.jaas.config':
      'org.apache.kafka.common.security.plain.PlainLoginModule required user_perdure="perdure-secret";',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
  };
}
