/**
 * What people do to topics while the server runs is said within a minute (here sooner), and health tells a warning from a loss. Retention
 * that deletes, and what it and DeleteRecords have deleted: `kafka-faults/rows.ts`.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { startServer } from '../../src/server.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { healthPageOf } from '../support/health-page.ts';
import { deleteRecordsBefore, kafkaClient, setTopic, withAdmin } from './kafka-admin.ts';
import type { RunningServer } from '../../src/config/server-options.ts';

const kafka = inject('kafka');
if ('missing' in kafka) skipAloud('topics while the server runs', kafka.missing);
else topicWatch(kafka.brokers);

const wait = { timeout: 60_000, interval: 50 };

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

  const health = (): ReturnType<typeof healthPageOf> => healthPageOf(`127.0.0.1:${server.port}`);

  test('a partition that somebody added is nobody’s', async () => {
    const looked = lines.length;
    await withAdmin(client, async (admin) => {
      await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
      const producer = client.producer();
      await producer.connect();
      await producer.send({ topic, messages: [{ partition: 2, value: 'x' }] });
      await producer.disconnect();
      await deleteRecordsBefore(admin, topic, [2], '-1');
      // A look that sees this has seen that, too.
      await setTopic(admin, topic, new Map([['retention.bytes', '1000000']]));
      await expect.poll(async () => (await health())[1].concerns?.length, wait).toBe(1);
      await setTopic(admin, topic, new Map([['retention.bytes', '-1']]));
    });
    await expect.poll(() => lines.slice(looked).join(''), wait).toContain('the settings of all topics are correct again');
    expect(lines.slice(looked).join('')).not.toContain('"lost"');
  });

  test('a topic of dead letters, which came while the server served, is watched too', async () => {
    const queue = `dlq.${prefix}.timer.active`;
    const concernsOfQueue = async (): Promise<readonly (readonly string[])[]> => {
      const [, { concerns = [] }] = await health();
      return concerns.filter(({ subject }) => subject === queue).map(({ severity, message }) => [severity, message]);
    };
    await expect.poll(() => withAdmin(client, (admin) => admin.listTopics()), wait).toContain(queue);
    await withAdmin(client, (admin) => setTopic(admin, queue, new Map([['retention.ms', '3600000']])));
    await expect.poll(concernsOfQueue, wait).toEqual([['warning', expect.stringContaining('retention.ms=3600000, needed is -1')]]);
    await withAdmin(client, (admin) => setTopic(admin, queue, new Map([['retention.ms', '-1']])));
    await expect.poll(concernsOfQueue, wait).toEqual([]);
    await withAdmin(client, (admin) => admin.deleteTopics({ topics: [queue] }));
    await expect
      .poll(concernsOfQueue, wait)
      .toContainEqual(['warning', expect.stringContaining('only the index of its dead letters is left')]);
    // No workflow waits for it.
    expect((await health())[1].status).toBe('SERVING');
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
