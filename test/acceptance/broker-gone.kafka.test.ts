/** The only broker is killed or frozen while hardly anybody asks anything: health says so of every partition, and says when it is over. */
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../src/observability/logger.ts';
import { startServer } from '../../src/server.ts';
import { canStartLocalKafka, startLocalKafka } from '../kafka/broker.ts';
import { healthOf } from '../support/grpc-health.ts';
import { healthPageOf } from '../support/health-page.ts';
import type { LocalBroker } from '../kafka/local-broker.ts';
import type { RunningServer } from '../../src/config/server-options.ts';

const patience = { timeout: 60_000, interval: 100 };

describe.skipIf(!(await canStartLocalKafka('a broker that goes under an idle server')))('the only broker', () => {
  let broker: LocalBroker;
  let server: RunningServer;
  const lines: string[] = [];
  const fatal: Error[] = [];

  beforeAll(async () => {
    broker = await startLocalKafka();
    server = await startServer({
      host: '127.0.0.1',
      port: 0,
      log: {
        kind: 'kafka',
        kafka: {
          brokers: broker.brokers,
          topicPrefix: 'gone',
          replicationFactor: 1,
          tls: undefined,
          sasl: undefined,
          autoCreateTopics: true,
        },
      },
      historyShards: 4,
      matchingPartitions: 4,
      taskQueuePartitions: 1,
      namespaces: ['default'],
      searchAttributes: new Map(),
      dynamicConfig: new Map(),
      clusterName: 'active',
      logger: createLogger({ level: 'info', format: 'json', write: (line) => void lines.push(line), nowMs: Date.now }),
      startMsMax: 30_000,
      onFatal: (error) => void fatal.push(error),
    });
  });
  afterAll(async () => {
    await server?.stop();
    await broker?.stop();
    expect(fatal).toEqual([]);
  });

  const notServed = async (): Promise<number | undefined> => (await healthPageOf(addressOf(server)))[1].partitionsNotServed;

  test('is killed under an idle server: health names every partition and the broker, and is well again once it is back', async () => {
    const address = addressOf(server);
    // Nothing is under way any more, and what looks for a successor finds the broker well.
    await pause(2_500);
    expect((await healthPageOf(address))[0]).toBe(200);
    expect(lines.join('')).not.toContain('not served');
    await broker.kill9();
    await expect.poll(notServed, patience).toBe(9);
    const [status, page] = await healthPageOf(address);
    expect([status, await healthOf(address)]).toEqual([503, 'NOT_SERVING']);
    for (const { reason } of page.partitions ?? []) {
      expect(reason).toMatch(/no answer from its log for \d+ s \(Kafka: .*broker 1 at 127\.0\.0\.1:\d+/);
    }
    await expect.poll(() => lines.join(''), patience).toContain('"served":0');
    await expect(start(address, 'refused')).rejects.toThrow(/has had no answer from its log for \d+ s \(Kafka: .*broker 1 at 127\.0\.0\.1/);
    await broker.restart();
    await expect.poll(async () => (await healthPageOf(address))[0], patience).toBe(200);
    expect(await healthOf(address)).toBe('SERVING');
    await expect.poll(() => lines.join(''), patience).toContain('all partitions are served again');
    await start(address, 'served again');
  }, 150_000);

  test('is frozen while one call waits for it: all partitions count, not that of the call alone', async () => {
    broker.pause();
    const waits = start(addressOf(server), 'waits');
    const refusal = expect(waits).rejects.toThrow(/has had no answer from its log/);
    await expect.poll(notServed, patience).toBe(9);
    await refusal;
    broker.resume();
    await expect.poll(async () => (await healthPageOf(addressOf(server)))[0], patience).toBe(200);
    await start(addressOf(server), 'served again, too');
  }, 150_000);
});

function addressOf({ port }: RunningServer): string {
  return `127.0.0.1:${port}`;
}

async function start(address: string, workflowId: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.startWorkflowExecution({
      namespace: 'default',
      workflowId,
      requestId: workflowId,
      workflowType: { name: 'idle' },
      taskQueue: { name: 'nobody' },
    });
  } finally {
    await connection.close();
  }
}
