import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openKafkaLog } from '../../src/topics/kafka/kafka-log.ts';
import { loadKafkajs } from '../../src/topics/kafka/load-kafkajs.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { logContract } from '../contract/log-contract.ts';
import { partitionsMin } from '../contract/log-limits.ts';
import { baseOf, LogWriter, readAll, record } from '../contract/log-writer.ts';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import type { LocalBroker } from '../kafka/local-broker.ts';
import type { KafkaMessage } from 'kafkajs';
import type { GrowingLog } from '../../src/ports/log.ts';

const kafka = inject('kafka');
const brokers = 'brokers' in kafka ? kafka.brokers : [];

function open(
  addresses: readonly string[],
  topic: string,
  options: { partitions?: number; requestTimeoutMs?: number } = {},
): Promise<GrowingLog> {
  const { partitions = 2, ...rest } = options;
  return openKafkaLog({
    kafka: { brokers: addresses, topicPrefix: 'test', replicationFactor: 1, tls: undefined, sasl: undefined, autoCreateTopics: true },
    topics: [{ name: topic, partitions, purpose: 'a test' }],
    logger: silentLogger,
    ...rest,
  });
}

describe.skipIf(brokers.length === 0)('on a Kafka broker', () => {
  const topic = `test.${randomUUID()}`;
  logContract('Kafka', 'durable', async () => ({
    topic,
    open: () => open(brokers, topic, { partitions: partitionsMin }),
    stop: async () => {},
  }));

  test('others read the records: UTF-8 keys, text headers, nothing of ours needed', async () => {
    const readable = `test.${randomUUID()}`;
    const log = await open(brokers, readable);
    const writer = new LogWriter(log, { topic: readable, partition: 1 });
    await writer.append(
      record(4, { key: 'größe/注文 🛒', namespace: 'größe', workflowId: '注文 🛒', epoch: 3 }),
      record(5, { key: '@claim', type: 'Claim', namespace: '', workflowId: '', runId: '' }),
    );
    await log.close();
    const [first, second] = await consume(brokers, readable, 2);
    expect(first?.key?.toString('utf8')).toBe('größe/注文 🛒');
    expect(first?.value?.toString('utf8')).toBe('value 4');
    expect(first?.timestamp).toBe('1770000000004');
    expect(textHeaders(first)).toEqual({
      'perdure.schema': '1',
      'perdure.epoch': '3',
      'perdure.sequence': '4',
      type: 'WorkflowExecutionStarted',
      namespace: 'größe',
      'workflow-id': '注文 🛒',
      'run-id': '0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b11',
    });
    expect(second?.key?.toString('utf8')).toBe('@claim');
    expect(textHeaders(second)).toEqual({ 'perdure.schema': '1', 'perdure.epoch': '1', 'perdure.sequence': '5', type: 'Claim' });
  });

  test("what others write takes offsets, and is nobody's record", async () => {
    const shared = `test.${randomUUID()}`;
    const at = { topic: shared, partition: 0 };
    const log = await open(brokers, shared);
    const writer = new LogWriter(log, at);
    baseOf(await writer.append(record(1)));
    await produce(brokers, shared, { key: 'stranger', value: 'hello', headers: { 'perdure.epoch': 'high', note: 'x' } });
    await transact(brokers, shared);
    // One offset for the stranger, two for the transaction: its record and its marker, which the broker writes after it has answered.
    while ((await log.end(at)) < 4) await pause(5);
    expect(baseOf(await writer.append(record(2)))).toBe(4);
    const records = await readAll(log, at);
    expect(records.map(({ offset, epoch, sequence }) => [offset, epoch, sequence])).toEqual([
      [0, 1, 1],
      [1, 0, 0],
      [2, 0, 0],
      [3, 0, 0],
      [4, 1, 2],
    ]);
    expect(records[1]).toMatchObject({ key: 'stranger', schema: 0, type: '' });
    await log.close();
  });

  test.each(['gzip', 'snappy', 'lz4', 'zstd'])('a broker that compresses with %s: what is ours is ours', async (codec) => {
    const compressed = `test.${randomUUID()}`;
    const log = await open(brokers, compressed);
    await setTopic(brokers, compressed, { 'compression.type': codec });
    const writer = new LogWriter(log, { topic: compressed, partition: 0 });
    const varied = Uint8Array.from({ length: 150_000 }, (_, index) => (index * index) >> (index % 7));
    await writer.append(record(1, { value: new Uint8Array(5000).fill(9) }), record(2, { value: varied }));
    const records = await log.read({ topic: compressed, partition: 0 }, 1, 1000);
    expect(records.map(({ sequence, offset }) => [sequence, offset])).toEqual([[2, 1]]);
    expect(Buffer.from(records[0]?.value ?? []).equals(varied)).toBe(true);
    await log.close();
  });

  test('two processes on one partition: each learns its own offsets, and the order is one', async () => {
    const contended = `test.${randomUUID()}`;
    const at = { topic: contended, partition: 0 };
    const logs = [await open(brokers, contended), await open(brokers, contended)];
    const told = new Map<number, number>();
    await Promise.all(
      logs.map(async (log, owner) => {
        const writer = new LogWriter(log, at);
        for (let i = 0; i < 100; i++)
          told.set(baseOf(await writer.append(record(i, { epoch: owner }), record(i, { epoch: owner }))), owner);
      }),
    );
    for (const log of logs) {
      const records = await readAll(log, at);
      expect(records.length).toBe(400);
      for (const [base, owner] of told) expect(records.slice(base, base + 2).map(({ epoch }) => epoch)).toEqual([owner, owner]);
      await log.close();
    }
  });

  test('a batch that the topic does not take is refused; the others of the request are not touched', async () => {
    const small = `test.${randomUUID()}`;
    const log = await open(brokers, small);
    await setTopic(brokers, small, { 'max.message.bytes': '10000' });
    const writers = [0, 1].map((partition) => new LogWriter(log, { topic: small, partition }));
    const [big, fine] = await Promise.all([
      writers[0]?.append(record(1, { value: new Uint8Array(50_000) })),
      writers[1]?.append(record(1)),
    ]);
    expect(big).toMatchObject({ kind: 'refused', tooLarge: true, reason: expect.stringContaining('MESSAGE_TOO_LARGE') });
    expect(fine).toMatchObject({ kind: 'appended', baseOffset: 0 });
    expect(await writers[0]?.append(record(2))).toMatchObject({ kind: 'appended', baseOffset: 0 });
    await log.close();
  });
});

describe.skipIf(!(await canStartLocalKafka('a Kafka broker that is paused and killed')))('a broker in trouble', () => {
  let broker: LocalBroker;
  beforeAll(async () => {
    broker = await startLocalKafka();
  });
  afterAll(async () => await broker?.stop());

  test('frozen: in doubt at the timeout, appending again once it wakes, what was in flight stands in the log', async () => {
    const topic = `test.${randomUUID()}`;
    const at = { topic, partition: 0 };
    const log = await open(broker.brokers, topic, { requestTimeoutMs: 1_000 });
    const writer = new LogWriter(log, at);
    baseOf(await writer.append(record(1)));
    broker.pause();
    const started = performance.now();
    const outcome = await writer.append(record(2));
    expect(outcome.kind).toBe('unknown');
    expect(performance.now() - started).toBeGreaterThan(900);
    await expect(log.end(at)).rejects.toMatchObject({ code: 'unavailable', recoverable: true });
    let sequence = 3;
    const later = writer.append(record(sequence));
    broker.resume();
    // Frozen for long, it finds itself without its partitions at first, and says so: in doubt again.
    for (let answer = await later; answer.kind !== 'appended'; answer = await writer.append(record(sequence))) sequence += 1;
    const written = (await readAll(log, at)).map((read) => read.sequence);
    expect([...written.slice(0, 2), written.at(-1)]).toEqual([1, 2, sequence]);
    expect(written, 'each once, in order').toEqual([...new Set(written)].toSorted((a, b) => a - b));
    expect(writer.broken).toEqual([]);
    await log.close();
  });

  test('killed: what was in flight is in doubt, what was not waits, nothing acknowledged is lost', async () => {
    const topic = `test.${randomUUID()}`;
    const log = await open(broker.brokers, topic, { partitions: 8, requestTimeoutMs: 2_000 });
    let stop = false;
    const acknowledged = new Map<number, Map<number, number>>();
    const outcomes = { appended: 0, unknown: 0, refused: 0, failed: 0 };
    const load = Array.from({ length: 8 }, async (_, partition) => {
      const writer = new LogWriter(log, { topic, partition });
      const mine = new Map<number, number>();
      acknowledged.set(partition, mine);
      for (let sequence = 0; !stop; sequence++) {
        const outcome = await writer.append(record(sequence));
        outcomes[outcome.kind]++;
        if (outcome.kind === 'appended') mine.set(sequence, outcome.baseOffset);
      }
      expect(writer.broken).toEqual([]);
    });
    const until = async (enough: () => boolean): Promise<void> => {
      while (!enough()) await pause(5);
    };
    for (let round = 0; round < 2; round++) {
      const before = outcomes.appended;
      await until(() => outcomes.appended > before + 200);
      // Not all eight need have been in flight at that moment.
      const doubts = outcomes.unknown;
      await broker.kill9();
      await until(() => outcomes.unknown > doubts);
      await broker.restart();
      const at = outcomes.appended;
      await until(() => outcomes.appended > at + 200);
      // What was in flight, and perhaps one try each while the broker came back; whoever was ready meanwhile waited unsealed.
      expect(outcomes.unknown).toBeLessThanOrEqual(doubts + 16);
    }
    stop = true;
    await Promise.all(load);
    expect(outcomes.refused).toBe(0);
    for (const [partition, mine] of acknowledged) {
      const records = await readAll(log, { topic, partition });
      for (const [sequence, offset] of mine) expect(records[offset]?.sequence).toBe(sequence);
    }
    await log.close();
  });
});

async function consume(addresses: readonly string[], topic: string, count: number): Promise<readonly KafkaMessage[]> {
  const consumer = client(addresses).consumer({ groupId: randomUUID() });
  const messages: KafkaMessage[] = [];
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await new Promise<void>((resolve, reject) => {
    const eachMessage = async ({ message }: { message: KafkaMessage }): Promise<void> => {
      messages.push(message);
      if (messages.length === count) resolve();
    };
    consumer.run({ eachMessage }).catch(reject);
  });
  await consumer.disconnect();
  return messages;
}

function textHeaders(message: KafkaMessage | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(message?.headers ?? {}).map(([name, value]) => [name, String(value)]));
}

async function produce(
  addresses: readonly string[],
  topic: string,
  message: { key: string; value: string; headers: Record<string, string> },
): Promise<void> {
  const producer = client(addresses).producer({ allowAutoTopicCreation: false });
  await producer.connect();
  await producer.send({ topic, messages: [{ ...message, partition: 0 }] });
  await producer.disconnect();
}

async function transact(addresses: readonly string[], topic: string): Promise<void> {
  const producer = client(addresses).producer({ transactionalId: randomUUID(), maxInFlightRequests: 1, idempotent: true });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ value: 'in a transaction', partition: 0 }] });
  await transaction.commit();
  await producer.disconnect();
}

async function setTopic(addresses: readonly string[], topic: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const { ConfigResourceTypes } = loadKafkajs();
  const admin = client(addresses).admin();
  await admin.connect();
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await admin.alterConfigs({ validateOnly: false, resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }] });
  await admin.disconnect();
}

function client(addresses: readonly string[]): InstanceType<ReturnType<typeof loadKafkajs>['Kafka']> {
  const { Kafka, logLevel } = loadKafkajs();
  return new Kafka({ brokers: [...addresses], logLevel: logLevel.NOTHING });
}
