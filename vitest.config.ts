import { defineConfig } from 'vitest/config';

/** Suites that share one real Kafka broker; the others must not wait for it. */
const onKafka = ['test/**/*.kafka.test.ts', 'test/**/*.sdk.test.ts', 'test/**/*.crash.test.ts'];
const simulation = 'test/**/*.sim.test.ts';
/** Minutes against a server of its own. */
const fuzz = 'test/**/*.fuzz.test.ts';

export default defineConfig({
  test: {
    // Two cores: a file at a time keeps the suites that start servers honest about their time limits.
    fileParallelism: false,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [...onKafka, simulation, fuzz],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      { test: { name: 'simulation', include: [simulation], testTimeout: 300_000, hookTimeout: 60_000 } },
      { test: { name: 'fuzz', include: [fuzz], testTimeout: 600_000 } },
      {
        test: {
          name: 'kafka',
          include: onKafka,
          globalSetup: ['test/kafka/global-setup.ts'],
          testTimeout: 120_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
