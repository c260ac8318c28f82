/** One broker for the whole test run: plugged in as `globalSetup`, read by the suites with `inject('kafka')`. */
import { startKafka } from './broker.ts';
import type { TestProject } from 'vitest/node';

export type KafkaAddress = { readonly brokers: readonly string[] } | { readonly missing: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly kafka: KafkaAddress;
  }
}

/** Starts the broker, says where it is, and gives back what ends it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const kafka = await startKafka();
  if (kafka.brokers === undefined) {
    console.warn(`\n*** SKIPPED: every Kafka suite. ${kafka.reason} ***\n`);
    project.provide('kafka', { missing: kafka.reason });
    return async () => {};
  }
  project.provide('kafka', { brokers: kafka.brokers });
  return () => kafka.stop();
}
