import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger, silentLogger } from '../../src/observability/logger.ts';
import { openKafkaLog } from '../../src/topics/kafka/kafka-log.ts';
import { baseOf, LogWriter, readAll, record } from '../contract/log-writer.ts';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import { freePorts } from '../kafka/local-broker.ts';
import { FaultyProxy } from '../kafka/proxy.ts';
import { kafkaConfigs } from '../kafka/tools.ts';
import type { LocalBroker } from '../kafka/local-broker.ts';
import type { Log } from '../../src/ports/log.ts';
import type { Logger } from '../../src/observability/logger.ts';

const requestTimeoutMs = 1_000;

describe.skipIf(!(await canStartLocalKafka('Kafka over a network that forgets connections')))('a network that forgets connections', () => {
  let proxy: FaultyProxy;
  let broker: LocalBroker;
  let port: number;

  beforeAll(async () => {
    let controller: number;
    [port = 0, controller = 0] = await freePorts(2);
    proxy = await FaultyProxy.start(() => port);
    const settings = { 'advertised.listeners': `PLAINTEXT://127.0.0.1:${proxy.port}` };
    broker = await startLocalKafka({ ports: [port, controller], settings });
  });
  afterAll(async () => {
    await proxy?.close();
    await broker?.stop();
  });

  async function open(topic: string, logger = silentLogger): Promise<Log> {
    return await openKafkaLog({
      kafka: {
        brokers: [`127.0.0.1:${proxy.port}`],
        topicPrefix: 'test',
        replicationFactor: 1,
        tls: undefined,
        sasl: undefined,
        autoCreateTopics: true,
      },
      topics: [{ name: topic, partitions: 4, purpose: 'a test' }],
      logger,
      requestTimeoutMs,
    });
  }

  /** What is logged, as an operator reads it; `seen` waits for a line. */
  function watchedLogger(): { readonly logger: Logger; seen: (pattern: RegExp) => Promise<string> } {
    const lines: string[] = [];
    const logger = createLogger({ level: 'info', format: 'text', write: (line) => void lines.push(line), nowMs: Date.now });
    const seen = async (pattern: RegExp): Promise<string> => {
      for (;;) {
        const found = lines.find((line) => pattern.test(line));
        if (found !== undefined) return found;
        await pause(20);
      }
    };
    return { logger, seen };
  }

  test('half open: one timeout, then a new connection', async () => {
    const topic = `test.${randomUUID()}`;
    const log = await open(topic);
    const writers = Array.from({ length: 4 }, (_, partition) => new LogWriter(log, { topic, partition }));
    for (const writer of writers) baseOf(await writer.append(record(1)));
    proxy.silence('all');
    const outcomes = await Promise.all(writers.map((writer) => writer.append(record(2))));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['unknown', 'unknown', 'unknown', 'unknown']);
    // An append that ran into another timeout would be unknown once more.
    for (const writer of writers) expect(baseOf(await writer.append(record(3)))).toBe(1);
    await log.close();
  });

  test('T6: every owner looks at its tail before it appends over another connection, also one that was idle', async () => {
    const topic = `test.${randomUUID()}`;
    const log = await open(topic);
    const [busy, idle] = [new LogWriter(log, { topic, partition: 0 }), new LogWriter(log, { topic, partition: 1 })];
    for (const writer of [busy, idle]) baseOf(await writer.append(record(1)));
    const before = [busy.reconnections, idle.reconnections];
    proxy.silence('all');
    expect((await busy.append(record(2))).kind).toBe('unknown');
    for (const writer of [busy, idle]) baseOf(await writer.append(record(3)));
    const after = [busy.reconnections, idle.reconnections];
    expect(after.map((count, index) => count > (before[index] ?? 0))).toEqual([true, true]);
    for (const writer of [busy, idle]) baseOf(await writer.append(record(4)));
    expect([busy.reconnections, idle.reconnections], 'the connection stayed').toEqual(after);
    await log.close();
  });

  test('the answer lost: in doubt, and in the log', async () => {
    const topic = `test.${randomUUID()}`;
    const at = { topic, partition: 2 };
    const log = await open(topic);
    const writer = new LogWriter(log, at);
    baseOf(await writer.append(record(1)));
    proxy.silence('answers');
    expect((await writer.append(record(2))).kind).toBe('unknown');
    expect((await readAll(log, at)).map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect(baseOf(await writer.append(record(3)))).toBe(2);
    await log.close();
  });

  test('reads come back by themselves, on a connection of their own', async () => {
    const topic = `test.${randomUUID()}`;
    const at = { topic, partition: 0 };
    const log = await open(topic);
    await new LogWriter(log, at).append(record(1));
    proxy.silence('all');
    const [end, records, bounds] = await Promise.all([log.end(at), log.read(at, 0, 1000), log.bounds(at)]);
    expect(end).toBe(1);
    expect(records.map(({ sequence }) => sequence)).toEqual([1]);
    expect(bounds).toEqual({ start: 0, end: 1 });
    await log.close();
  });

  test('a quota is said, and waited out without doubt', async () => {
    const topic = `test.${randomUUID()}`;
    const { logger, seen } = watchedLogger();
    const log = await open(topic, logger);
    const quota = ['--entity-type', 'clients', '--entity-name', 'perdure'];
    await kafkaConfigs([`127.0.0.1:${port}`], '--add-config', 'producer_byte_rate=20000', ...quota);
    const at = { topic, partition: 0 };
    const writer = new LogWriter(log, at);
    const append = (sequence: number) => writer.append(record(sequence, { value: new Uint8Array(260_000) }));
    // Kafka measures over ten seconds: after the first the broker hears nothing for longer than a request may take.
    baseOf(await append(1));
    const second = append(2);
    await log.end(at);
    expect(writer.sealed, 'what gathers while it rests goes together').toBe(1);
    baseOf(await second);
    expect(await seen(/a quota of its user or of client id "perdure" is used up/)).toMatch(/ WARN .* throttledMs=\d+/);
    await kafkaConfigs([`127.0.0.1:${port}`], '--delete-config', 'producer_byte_rate', ...quota);
    await log.close();
  });
});
