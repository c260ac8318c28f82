import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/observability/logger.ts';
import { openKafkaLog } from '../../src/topics/kafka/kafka-log.ts';
import { LogWriter, readAll, record } from '../contract/log-writer.ts';
import { canStartLocalKafka } from '../kafka/broker.ts';
import { LocalCluster } from '../kafka/cluster.ts';
import type { Log } from '../../src/ports/log.ts';

const topic = 'test.failover';
const partitions = 6;

describe.skipIf(!(await canStartLocalKafka('three Kafka brokers, one of which fails')))('three brokers, one of which fails', () => {
  let cluster: LocalCluster;
  let log: Log;

  beforeAll(async () => {
    cluster = await LocalCluster.start();
    log = await open(3_000);
  });
  afterAll(async () => {
    await log?.close();
    await cluster?.stop();
  });

  function open(requestTimeoutMs: number): Promise<Log> {
    const brokers = { brokers: cluster.brokers, topicPrefix: 'test', replicationFactor: 3, tls: undefined, sasl: undefined };
    return openKafkaLog({
      kafka: { ...brokers, autoCreateTopics: true },
      topics: [{ name: topic, partitions, purpose: 'a test' }],
      logger: silentLogger,
      requestTimeoutMs,
    });
  }

  test('twenty first starts: not every broker knows at once what was just made', async () => {
    const brokers = { brokers: cluster.brokers, topicPrefix: 'test', replicationFactor: 3, tls: undefined, sasl: undefined };
    for (let start = 1; start <= 20; start++) {
      const topics = [{ name: `test.first-start-${start}`, partitions, purpose: 'a test' }];
      const fresh = await openKafkaLog({ kafka: { ...brokers, autoCreateTopics: true }, topics, logger: silentLogger });
      await fresh.close();
    }
  });

  test('a frozen leader is left as soon as the cluster has another one, however long a request may take', async () => {
    const patient = await open(5 * 60_000);
    const writers = Array.from({ length: partitions }, (_, partition) => new LogWriter(patient, { topic, partition }));
    for (const node of cluster.nodes) {
      await inSync();
      for (const writer of writers) await settled(writer, 1);
      node.pause();
      // Would take five minutes if anybody waited for the frozen one: for its answer, or to be told by it who leads.
      await Promise.all(writers.map((writer) => settled(writer, 2)));
      node.resume();
    }
    await patient.close();
  });

  /** An append whose outcome is not known is settled by the next one. */
  async function settled(writer: LogWriter, sequence: number): Promise<void> {
    while ((await writer.append(record(sequence))).kind !== 'appended');
  }

  test('killed or frozen: every partition goes on elsewhere, and nothing acknowledged is lost', async () => {
    let stop = false;
    const acknowledged = Array.from({ length: partitions }, () => new Map<number, number>());
    const load = acknowledged.map(async (mine, partition) => {
      const writer = new LogWriter(log, { topic, partition });
      for (let sequence = 0; !stop; sequence++) {
        const outcome = await writer.append(record(sequence));
        if (outcome.kind === 'appended') mine.set(sequence, outcome.baseOffset);
      }
      expect(writer.broken).toEqual([]);
    });
    /** Every partition acknowledges again, ten times from now. */
    const progress = async (): Promise<void> => {
      const sizes = acknowledged.map(({ size }) => size);
      while (acknowledged.some(({ size }, partition) => size < (sizes[partition] ?? 0) + 10)) await pause(10);
    };
    const [first, second] = cluster.nodes;
    await progress();
    await first?.kill9();
    await progress();
    await first?.restart();
    await progress();
    await inSync();
    second?.pause();
    await progress();
    second?.resume();
    await progress();
    stop = true;
    await Promise.all(load);
    for (const [partition, mine] of acknowledged.entries()) {
      const records = await readAll(log, { topic, partition });
      const lost = [...mine].filter(([sequence, offset]) => records[offset]?.sequence !== sequence);
      expect(lost).toEqual([]);
      expect(await log.end({ topic, partition })).toBe(records.length);
    }
  });

  /** The restarted broker holds everything again: until then the next failure would leave one copy, and appends would be refused. */
  async function inSync(): Promise<void> {
    const { loadKafkajs } = await import('../../src/topics/kafka/load-kafkajs.ts');
    const { Kafka, logLevel } = loadKafkajs();
    const admin = new Kafka({ brokers: [...cluster.brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    for (;;) {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      if (topics[0]?.partitions.every(({ isr }) => isr.length === 3)) break;
      await pause(50);
    }
    await admin.disconnect();
  }
});
