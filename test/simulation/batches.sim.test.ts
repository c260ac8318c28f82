/**
 * Batch jobs over a log and a database that misbehave, while clients look at them and stop some; then calm, in which each comes to its end. Whatever
 * is counted was done, and nothing is passed over.
 *
 *     PERDURE_SIM_FIRST=1       from where
 */
import { describe, expect, test } from 'vitest';
import { seed as randomFirst } from '../support/seed.ts';
import { planWithBatches, runHistorySeed } from './history/run-seed.ts';
import { seedKinds } from './seed-kinds.ts';
import { runSeeds } from './seeds.ts';

const seeds = seedKinds['seeds of batches'].count;
const first = Number(process.env['PERDURE_SIM_FIRST'] ?? 1);
const HOUR = 3_600_000;
const run = (seed: number) => runHistorySeed(seed, planWithBatches);

describe('batch jobs', () => {
  test(`${seeds} seeds from ${first}`, { timeout: HOUR }, async () => {
    const totals = await runSeeds(first, seeds, run, 'batches');
    expect(totals.jobs).toBeGreaterThanOrEqual(seeds);
    for (const moment of ['a batch job was stopped', 'ownership lost'])
      expect(totals.reached.get(moment), moment).toBeGreaterThanOrEqual(Math.max(1, Math.floor(seeds / 5)));
  });

  test('one that is new; and a seed leaves the same trace once more', { timeout: HOUR }, async () => {
    await runSeeds(randomFirst, 1, run, 'batches');
    const [one, again] = [await run(first), await run(first)];
    expect(again.traceHash).toBe(one.traceHash);
  });
});
