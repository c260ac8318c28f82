/**
 * What people do to topics while the server runs: it says so within a minute (here sooner), with the command that mends it, and its health
 * tells a warning from a loss.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { startServer } from '../../src/server.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { kafkaClient, obey, setTopic, withAdmin } from './kafka-admin.ts';
import type { Concern } from '../../src/actors/census.ts';
import type { RunningServer } from '../../src/config/server-options.ts';

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('topics while the server runs', kafka.missing);
else topicWatch(kafka.brokers);

type Health = { readonly status: string; readonly concerns?: readonly Concern[] };
const wait = { timeout: 20_000, interval: 50 };

function topicWatch(brokers: readonly string[]): void {
  const prefix = `watch-${randomUUID()}`;
  const topic = `${prefix}.history`;
  const client = kafkaClient(brokers);
  const lines: string[] = [];
  const fatal: Error[] = [];
  let server: RunningServer;

  beforeAll(async () => {
    server = await startServer({
      host: '127.0.0.1',
      port: 0,
      log: {
        kind: 'kafka',
        kafka: { brokers, topicPrefix: prefix, replicationFactor: 1, tls: undefined, sasl: undefined, autoCreateTopics: true },
      },
      historyShards: 2,
      matchingPartitions: 2,
      taskQueuePartitions: 1,
      namespaces: ['default'],
      searchAttributes: new Map(),
      dynamicConfig: new Map(),
      clusterName: 'active',
      topicWatchIntervalMs: 200,
      logger: createLogger({ level: 'info', format: 'json', write: (line) => void lines.push(line), nowMs: Date.now }),
      startMsMax: 30_000,
      onFatal: (error) => void fatal.push(error),
    });
  });
  afterAll(async () => {
    await server?.stop();
    expect(fatal).toEqual([]);
  });

  async function health(): Promise<readonly [number, Health]> {
    const response = await fetch(`http://127.0.0.1:${server.port}/health`);
    return [response.status, (await response.json()) as Health];
  }

  const warnings = (): readonly string[] => lines.filter((line) => line.includes('"warn"') && line.includes(topic));

  test('a retention limit: a warning with the command that takes it away, and health names it but serves', async () => {
    expect(await health()).toEqual([200, { status: 'SERVING' }]);
    const before = lines.length;
    await withAdmin(client, async (admin) => {
      await setTopic(admin, topic, new Map([['retention.ms', '604800000']]));
      await expect.poll(warnings, wait).not.toEqual([]);
      expect(await health()).toMatchObject([
        200,
        {
          status: 'SERVING',
          concerns: [{ subject: topic, severity: 'warning', message: expect.stringContaining('retention.ms=604800000') }],
        },
      ]);
      const [, { concerns }] = await health();
      expect(concerns?.[0]?.mend).toBe(
        `kafka-configs.sh --bootstrap-server ${brokers.join(',')} --alter --entity-type topics --entity-name ${topic} --add-config retention.ms=-1`,
      );
      await obey(admin, concerns?.[0]?.mend ?? '');
    });
    await expect.poll(() => lines.slice(before).join(''), wait).toContain('the topics are as they should be again');
    expect(await health()).toEqual([200, { status: 'SERVING' }]);
  });

  test('a partition that somebody added is nobody’s', async () => {
    const looked = lines.length;
    await withAdmin(client, async (admin) => {
      await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
      const producer = client.producer();
      await producer.connect();
      await producer.send({ topic, messages: [{ partition: 2, value: 'x' }] });
      await producer.disconnect();
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 2, offset: '-1' }] });
      // The next test's loss is told by a later look than this one's would be.
      await setTopic(admin, topic, new Map([['retention.bytes', '1000000']]));
      await expect.poll(async () => (await health())[1].concerns?.length, wait).toBe(1);
      await setTopic(admin, topic, new Map([['retention.bytes', '-1']]));
    });
    await expect.poll(() => lines.slice(looked).join(''), wait).toContain('the topics are as they should be again');
    expect(lines.slice(looked).join('')).not.toContain('"lost"');
  });

  test('the beginning of a journal is gone: unhealthy before a restart shows it', async () => {
    await withAdmin(client, async (admin) => {
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 1, offset: '1' }] });
    });
    await expect.poll(async () => (await health())[0], wait).toBe(503);
    expect(await health()).toMatchObject([
      503,
      {
        status: 'NOT_SERVING',
        concerns: [{ subject: topic, severity: 'lost', message: expect.stringContaining('partition 1 starts at 1') }],
      },
    ]);
    expect(warnings().at(-1)).toContain('DeleteRecords');
  });

  test('a topic is gone: a warning at first, for rights that are being changed hide topics too, then a loss', async () => {
    const gone = `${prefix}.matching`;
    await withAdmin(client, (admin) => admin.deleteTopics({ topics: [gone] }));
    const told = (): readonly string[] => lines.filter((line) => line.includes(`topic ${gone} is gone`)).map((line) => severityIn(line));
    await expect.poll(told, wait).toContain('lost');
    expect(told()[0]).toBe('warning');
    const [, { concerns }] = await health();
    expect(concerns?.map(({ subject, severity }) => [subject, severity])).toContainEqual([gone, 'lost']);
  });

  function severityIn(line: string): string {
    return /"severity":"(\w+)"/.exec(line)?.[1] ?? '';
  }
}
