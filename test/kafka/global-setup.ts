/** One broker for the whole test run, whichever projects plug this in as `globalSetup`; the suites read it with `inject('kafka')`. */
import { startKafka } from './broker.ts';
import type { TestProject } from 'vitest/node';

export type KafkaAddress = { readonly brokers: readonly string[] } | { readonly missing: string };

declare module 'vitest' {
  interface ProvidedContext {
    readonly kafka: KafkaAddress;
  }
}

type Started = Awaited<ReturnType<typeof startKafka>>;

declare global {
  /** Each project loads its set-up anew, all in vitest's own process. */
  var perdureTestKafka: { readonly started: Promise<Started>; projects: number } | undefined;
}

/** Starts the broker, says where it is, and gives back what ends it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const first = globalThis.perdureTestKafka === undefined;
  const shared = (globalThis.perdureTestKafka ??= { started: startKafka(), projects: 0 });
  shared.projects += 1;
  const kafka = await shared.started;
  if (kafka.brokers === undefined) {
    if (first) console.warn(`\n*** SKIPPED: every Kafka suite. ${kafka.reason} ***\n`);
    project.provide('kafka', { missing: kafka.reason });
    return async () => {};
  }
  project.provide('kafka', { brokers: kafka.brokers });
  return async () => {
    shared.projects -= 1;
    if (shared.projects > 0) return;
    globalThis.perdureTestKafka = undefined;
    await kafka.stop();
  };
}
