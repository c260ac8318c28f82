/** Tells `config validate --connect` whether each of the brokers that the server file names lets us in. */
import { silentLogger } from '../../observability/logger.ts';
import { clientConfig } from './client-options.ts';
import { loadKafkajs } from './load-kafkajs.ts';
import { startFailure } from './start-failure.ts';
import type { KafkaOptions } from '../../config/kafka-options.ts';
import type { BrokerProbe } from '../../config/server-options.ts';

const requestTimeoutMs = 5_000;
const once = { retries: 0 } as const;

/** One answer for each broker, in their order. Changes nothing on Kafka. */
export async function probeBrokers(kafka: KafkaOptions): Promise<readonly BrokerProbe[]> {
  return await Promise.all(kafka.brokers.map((broker) => probe(kafka, broker)));
}

async function probe(kafka: KafkaOptions, broker: string): Promise<BrokerProbe> {
  const { Kafka } = loadKafkajs();
  const alone = { ...kafka, brokers: [broker] };
  const config = clientConfig({ kafka: alone, logger: silentLogger, requestTimeoutMs });
  const admin = new Kafka({ ...config, retry: once }).admin({ retry: once });
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    return { broker, answer: 'ok', advertised: cluster.brokers.map(({ host, port }) => `${host}:${port}`) };
  } catch (error) {
    return { broker, answer: 'failed', reason: (await startFailure(error, alone, 'connecting')).message };
  } finally {
    await admin.disconnect().catch(() => {});
  }
}
