/**
 * Where the tests get a Kafka broker from, in this order:
 *
 *   1. `KAFKA_BROKERS`: addresses of a broker that runs already; tests create topics of their own there and leave them
 *   2. Java and Kafka's jars (`KAFKA_LIBS`, the cache, or Maven): a broker of our own
 *   3. a Docker engine that answers: the image apache/kafka, by testcontainers
 *   4. none: `undefined`, with a reason that the test run prints; an error when CI=1
 */
import { findKafkaLibs } from './kafka-libs.ts';
import { javaVersion, LocalBroker } from './local-broker.ts';
import type { LocalBrokerOptions } from './local-broker.ts';

export type KafkaForTests = {
  readonly brokers: readonly string[];
  /** How it was obtained, for the log of the test run. */
  readonly how: string;
  stop(): Promise<void>;
};

export type NoKafka = { readonly brokers: undefined; readonly reason: string };

/** As Kafka has it: with the short session of those that are killed, a busy machine lets the broker take itself for dead. */
const neverKilled = { 'broker.session.timeout.ms': '9000', 'broker.heartbeat.interval.ms': '2000' };

/** Any broker will do; the tests that share it use topic prefixes of their own. */
export async function startKafka(): Promise<KafkaForTests | NoKafka> {
  const found = await obtain();
  if (found.brokers === undefined && process.env['CI'] === '1') throw new Error(`CI=1 and no Kafka broker: ${found.reason}`);
  return found;
}

async function obtain(): Promise<KafkaForTests | NoKafka> {
  const given = process.env['KAFKA_BROKERS'];
  if (given !== undefined && given !== '') return { brokers: given.split(','), how: 'KAFKA_BROKERS', stop: async () => {} };
  const tools = await findTools();
  if ('libs' in tools) {
    const local = await LocalBroker.start({ ...tools, settings: neverKilled });
    return { brokers: local.brokers, how: 'a local JVM', stop: () => local.stop() };
  }
  // Where there is a broker already, nobody waits for that package to be loaded.
  const { startContainerBroker } = await import('./container-broker.ts');
  const container = await startContainerBroker();
  if ('brokers' in container) return { ...container, how: 'Docker' };
  return { brokers: undefined, reason: `${tools.reason}; ${container.missing}; KAFKA_BROKERS is not set` };
}

/** Whether a suite that needs a broker of its own can run here; says so loudly when not, and fails when CI=1. */
export async function canStartLocalKafka(suite: string): Promise<boolean> {
  const tools = await findTools();
  if ('libs' in tools) return true;
  if (process.env['CI'] === '1') throw new Error(`CI=1 and no Kafka broker of our own for ${suite}: ${tools.reason}`);
  console.warn(`\n*** SKIPPED: ${suite}. ${tools.reason} ***\n`);
  return false;
}

/** A broker of the test's own, which it may pause and kill. */
export async function startLocalKafka(options: Omit<LocalBrokerOptions, 'libs'> = {}): Promise<LocalBroker> {
  const tools = await findTools(options.version);
  if ('reason' in tools) throw new Error(tools.reason);
  return await LocalBroker.start({ libs: tools.libs, ...options });
}

async function findTools(version?: string): Promise<{ readonly libs: string } | { readonly reason: string }> {
  if ((await javaVersion()) === undefined) return { reason: 'there is no java on the path' };
  const libs = await findKafkaLibs(version);
  return 'missing' in libs ? { reason: libs.missing } : { libs: libs.folder };
}
