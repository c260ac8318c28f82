import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Suites that share one real Kafka broker; the others must not wait for it. */
const onKafka = ['test/**/*.kafka.test.ts'];
/** The same, with workers of real SDKs, or with kill -9. */
const workers = ['test/**/*.sdk.test.ts', 'test/**/*.crash.test.ts'];
/** Suites that share one real PostgreSQL. */
const onPostgres = 'test/**/*.postgres.test.ts';
/** Temporal's web UI in a browser, beside a server. */
const webUi = 'test/**/*.web-ui.test.ts';
const simulation = 'test/**/*.sim.test.ts';
/** Temporal's tdbg, which .ci/run has built while the others run. */
const tdbg = 'test/tdbg/*.test.ts';
/** Minutes against a server of its own. */
const fuzz = 'test/**/*.fuzz.test.ts';
/** One client against a server of its own, and what the others notice. */
const floods = 'test/**/*.flood.test.ts';

/**
 * Suites in which actors ask each other: every ask travels as bytes, as if each actor lived in a process of its own. So it does in the scenarios in
 * memory, in the fuzz and in one campaign of kill -9, which choose it themselves. What befalls brokers, topics and files is no matter of asks, and is seen on the
 * program as it is shipped.
 */
const asking = ['test/server.test.ts', 'test/grpc/bad-input.test.ts', 'test/acceptance/*.test.ts', 'test/topics/kafka-owner.kafka.test.ts'];
const notAsking = [
  'test/acceptance/{broker-gone,cluster-journal,dead-letter-topics,dead-letters-anew,deleted-namespace,fresh-sessions,lost-letters,lost-topics,postgres,purged-letters,refused-start,topic-watch,validate-connect,visibility}.kafka.test.ts',
  'test/acceptance/{test-environment.sdk,two-servers.crash}.test.ts',
  'test/acceptance/{small-memory,state-file}.test.ts',
];
const askingFiles = globSync(asking, { cwd: import.meta.dirname, exclude: notAsking });
/** Those that start no server. */
const actors = 'test/actors/**/*.test.ts';
const carrier = new URL('test/support/asks-through-codecs.ts', import.meta.url);
/** What is drawn at random begins at one seed. */
const properties = fileURLToPath(new URL('test/support/properties.ts', import.meta.url));

/** How long `expect.poll` asks: on a machine that does other work, much may take longer than vitest's one second. */
const patient = { expect: { poll: { timeout: 60_000 } } };

const throughCodecs = {
  ...patient,
  setupFiles: [properties, fileURLToPath(carrier)],
  env: { PERDURE_TEST_ASKS: 'codecs' },
  testTimeout: 120_000,
  hookTimeout: 180_000,
};
/** The servers that suites start are processes of their own. In a bundle the carrier would find no router. */
const serversToo = { ...throughCodecs.env, NODE_OPTIONS: `--import=${carrier.href}`, PERDURE_PROGRAM: 'source' };

export default defineConfig({
  test: {
    // Two cores: a file at a time keeps the suites that start servers honest about their time limits.
    fileParallelism: false,
    projects: [
      {
        test: {
          ...patient,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...onKafka, ...workers, onPostgres, webUi, simulation, fuzz, floods, tdbg, actors, ...askingFiles],
          setupFiles: [properties],
          // Hundreds of small files: most of their time would go into loading the same modules again.
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      { test: { ...throughCodecs, name: 'actors', include: [actors], isolate: false } },
      {
        test: {
          ...throughCodecs,
          name: 'codecs',
          env: serversToo,
          include: askingFiles,
          globalSetup: ['test/kafka/global-setup.ts'],
        },
      },
      {
        test: {
          ...patient,
          name: 'simulation',
          include: [simulation],
          setupFiles: [properties],
          testTimeout: 300_000,
          hookTimeout: 60_000,
        },
      },
      { test: { ...patient, name: 'web-ui', include: [webUi], testTimeout: 180_000, hookTimeout: 600_000 } },
      {
        test: {
          ...patient,
          name: 'tdbg',
          include: [tdbg],
          setupFiles: [properties],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      { test: { ...patient, name: 'floods', include: [floods], testTimeout: 600_000, hookTimeout: 60_000 } },
      { test: { ...patient, name: 'fuzz', include: [fuzz], setupFiles: [properties], testTimeout: 600_000 } },
      {
        test: {
          ...patient,
          name: 'postgres',
          include: [onPostgres],
          setupFiles: [properties],
          globalSetup: ['test/postgres/global-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          ...patient,
          name: 'kafka',
          include: onKafka,
          exclude: askingFiles,
          setupFiles: [properties],
          globalSetup: ['test/kafka/global-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: {
          ...patient,
          name: 'workers',
          include: workers,
          exclude: askingFiles,
          setupFiles: [properties],
          globalSetup: ['test/kafka/global-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
