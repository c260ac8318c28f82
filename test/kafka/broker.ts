/**
 * Where the tests get a Kafka broker from, in this order:
 *
 *   1. `KAFKA_BROKERS`: addresses of a broker that runs already; tests create topics of their own there and leave them
 *   2. Java and Kafka's jars (`KAFKA_LIBS`, the cache, or Maven): a broker of our own
 *   3. a Docker engine that answers: the image apache/kafka
 *   4. none: `undefined`, with a reason that the test run prints; an error when CI=1
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startDockerBroker } from './docker-broker.ts';
import { findKafkaLibs } from './kafka-libs.ts';
import { LocalBroker } from './local-broker.ts';
import type { LocalBrokerOptions } from './local-broker.ts';

const run = promisify(execFile);

export type KafkaForTests = {
  readonly brokers: readonly string[];
  /** How it was obtained, for the log of the test run. */
  readonly how: string;
  stop(): Promise<void>;
};

export type NoKafka = { readonly brokers: undefined; readonly reason: string };

/** Any broker will do; the tests that share it use topic prefixes of their own. */
export async function startKafka(): Promise<KafkaForTests | NoKafka> {
  const found = await obtain();
  if (found.brokers === undefined && process.env['CI'] === '1') throw new Error(`CI=1 and no Kafka broker: ${found.reason}`);
  return found;
}

async function obtain(): Promise<KafkaForTests | NoKafka> {
  const given = process.env['KAFKA_BROKERS'];
  if (given !== undefined && given !== '') return { brokers: given.split(','), how: 'KAFKA_BROKERS', stop: async () => {} };
  const local = await startLocalKafka();
  if (local instanceof LocalBroker) return { brokers: local.brokers, how: 'a local JVM', stop: () => local.stop() };
  const docker = await startDockerBroker();
  if ('brokers' in docker) return { ...docker, how: 'Docker' };
  return { brokers: undefined, reason: `${local.reason}; ${docker.missing}; KAFKA_BROKERS is not set` };
}

/** A broker of the test's own, which it may pause and kill. */
export async function startLocalKafka(options: Omit<LocalBrokerOptions, 'libs'> = {}): Promise<LocalBroker | NoKafka> {
  const java = await run('java', ['-version']).then(
    () => true,
    () => false,
  );
  if (!java) return { brokers: undefined, reason: 'no java on the path' };
  const libs = await findKafkaLibs();
  if ('missing' in libs) return { brokers: undefined, reason: libs.missing };
  return await LocalBroker.start({ libs: libs.folder, ...options });
}
