/** An admin client for as long as it is used, and what its errors mean. */
import { LogError } from '../../ports/log.ts';
import { clientConfig } from './client-options.ts';
import { grantCommand } from './shell-commands.ts';
import { codeOf, rootOf } from './kafka-failure.ts';
import { loadKafkajs } from './load-kafkajs.ts';
import { startFailure } from './start-failure.ts';
import type { Admin } from 'kafkajs';
import type { KafkaOptions } from '../../config/kafka-options.ts';
import type { Logger } from '../../observability/logger.ts';
import { setTimeout as pause } from 'node:timers/promises';

const requestTimeoutMs = 15_000;
/** About three seconds until a cluster that does not answer is given up. */
const retry = { initialRetryTime: 100, retries: 5 } as const;

/** Longer than this nobody should look at a start that says nothing. */
const connectingIsToldAfterMs = 2_000;

export type AdminOptions = { readonly kafka: KafkaOptions; readonly logger: Logger };

/** Throws LogError `misconfigured` with what mends it, or `unavailable`; what `use` throws of ours goes through. */
export async function withAdmin<T>({ kafka, logger }: AdminOptions, use: (admin: Admin) => Promise<T>): Promise<T> {
  const { Kafka } = loadKafkajs();
  const admin = new Kafka({ ...clientConfig({ kafka, logger, requestTimeoutMs }), retry }).admin({ retry });
  const told = setTimeout(() => logger.warn('still connecting to Kafka', { brokers: kafka.brokers.join(',') }), connectingIsToldAfterMs);
  try {
    await admin.connect();
    clearTimeout(told);
    return await use(admin);
  } catch (error) {
    const refused = kafkaTypes(rootOf(error)).find((type) => type.endsWith('AUTHORIZATION_FAILED'));
    if (refused !== undefined) throw noRights(kafka, refused, error);
    throw await startFailure(error, kafka, `looking at the topics on Kafka at ${kafka.brokers.join(', ')}`);
  } finally {
    clearTimeout(told);
    await admin.disconnect().catch(() => {});
  }
}

/** kafkajs puts one error per topic into an aggregate. */
export function kafkaTypes(error: unknown): readonly string[] {
  const inner: readonly unknown[] = error instanceof Error && 'errors' in error && Array.isArray(error.errors) ? error.errors : [error];
  return inner.map((one) => codeOf(one, 'type')).filter((type) => type !== undefined);
}

function noRights(kafka: KafkaOptions, refused: string, cause: unknown): LogError {
  const who = kafka.sasl === undefined ? 'this client' : `user "${kafka.sasl.username}"`;
  const words = `${who} lacks rights on the topics ${kafka.topicPrefix}.* (${refused}). Give it its rights with:`;
  return new LogError('misconfigured', `${words}\n${grantCommand(kafka)}`, { cause });
}

/** Questions about topics that were just made, or whose leaders just moved. */

const pollMs = 50;
const passing: ReadonlySet<string> = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION']);

/** Not every broker knows yet what is there and who leads it, and any may be asked: asks again until `deadlineMs` by `performance.now`. */
export async function onceKnown<T>(deadlineMs: number, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const types = [...kafkaTypes(error), ...kafkaTypes(rootOf(error))];
      if (performance.now() > deadlineMs || !types.some((type) => passing.has(type))) throw error;
      await pause(pollMs);
    }
  }
}
