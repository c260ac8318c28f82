/**
 * The kinds of random runs, and how many seeds of each an ordinary run plays: for chance `npm run gate` plays ten times as many.
 *
 *     PERDURE_SIM_SEEDS=50000    ten times as many
 */
import type { Violation } from './oracle.ts';

type Runner = (seed: number) => Promise<{ readonly violation: Violation | undefined }>;

export type SeedKind = {
  /** Seeds of an ordinary run, from 1. */
  readonly count: number;
  /** Where the run begins, in this folder. */
  readonly entry: string;
  /** Loads nothing before it is called, so that a planted bug is patched in as its source is loaded. */
  readonly runner: () => Promise<Runner>;
};

const scale = Number(process.env['PERDURE_SIM_SEEDS'] ?? 5_000) / 5_000;
const seeds = (count: number): number => Math.ceil(scale * count);

const HISTORY = 'history/run-seed.ts';
const MATCHING = 'matching/run-seed.ts';

export const seedKinds = {
  seeds: {
    count: seeds(1_000),
    entry: 'run-seed.ts',
    runner: async () => (await import('./run-seed.ts')).runSeed,
  },
  'seeds with a database': {
    count: seeds(500),
    entry: 'run-seed.ts',
    runner: async () => {
      const { planWithDatabase, runSeed } = await import('./run-seed.ts');
      return (seed) => runSeed(seed, planWithDatabase);
    },
  },
  'seeds of history shards': {
    count: seeds(50),
    entry: HISTORY,
    runner: async () => (await import('./history/run-seed.ts')).runHistorySeed,
  },
  'seeds in which List is set back': {
    count: seeds(10),
    entry: HISTORY,
    runner: async () => {
      const { listPlan, runHistorySeed } = await import('./history/run-seed.ts');
      return (seed) => runHistorySeed(seed, listPlan);
    },
  },
  'seeds of matching hosts': {
    count: seeds(100),
    entry: MATCHING,
    runner: async () => (await import('./matching/run-seed.ts')).runMatchingSeed,
  },
  'seeds of dead letters': {
    count: seeds(20),
    entry: 'deadletters/plans.ts',
    runner: async () => {
      const { runHistorySeed } = await import('./history/run-seed.ts');
      const { letterPlan } = await import('./deadletters/plans.ts');
      return (seed) => runHistorySeed(seed, letterPlan);
    },
  },
  'seeds of schedules': {
    count: seeds(10),
    entry: HISTORY,
    runner: async () => {
      const { planWithSchedules, runHistorySeed } = await import('./history/run-seed.ts');
      return (seed) => runHistorySeed(seed, planWithSchedules);
    },
  },
  'seeds of lives': {
    count: seeds(10),
    entry: HISTORY,
    runner: async () => {
      const { planWithLives, runHistorySeed } = await import('./history/run-seed.ts');
      return (seed) => runHistorySeed(seed, planWithLives);
    },
  },
  'seeds of batches': {
    count: seeds(20),
    entry: HISTORY,
    runner: async () => {
      const { planWithBatches, runHistorySeed } = await import('./history/run-seed.ts');
      return (seed) => runHistorySeed(seed, planWithBatches);
    },
  },
  'seeds of lanes': {
    count: seeds(20),
    entry: MATCHING,
    runner: async () => {
      const { keyedPlan, runMatchingSeed } = await import('./matching/run-seed.ts');
      return (seed) => runMatchingSeed(seed, keyedPlan);
    },
  },
} satisfies Readonly<Record<string, SeedKind>>;

export type SeedKindName = keyof typeof seedKinds;
