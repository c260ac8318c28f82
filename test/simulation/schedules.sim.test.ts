/**
 * Schedules that act each second over a log and a database that misbehave, while clients trigger, backfill, pause, change and make them anew; then
 * calm, in which each comes to rest. Whatever was due was begun once.
 *
 *     PERDURE_SIM_FIRST=1       from where
 */
import { describe, expect, test } from 'vitest';
import { seed as randomFirst } from '../support/seed.ts';
import { planWithSchedules, runHistorySeed } from './history/run-seed.ts';
import { seedKinds } from './seed-kinds.ts';
import { runSeeds } from './seeds.ts';

const seeds = seedKinds['seeds of schedules'].count;
const first = Number(process.env['PERDURE_SIM_FIRST'] ?? 1);
const HOUR = 3_600_000;
const run = (seed: number) => runHistorySeed(seed, planWithSchedules);

describe('schedules', () => {
  test(`${seeds} seeds from ${first}`, { timeout: HOUR }, async () => {
    const totals = await runSeeds(first, seeds, run, 'schedules');
    expect(totals.actions).toBeGreaterThan(seeds * 5);
    for (const moment of [
      'a run left memory',
      'ownership lost',
      'the outcome of an append is known again: memory is replayed from the log',
    ])
      expect(totals.reached.get(moment), moment).toBeGreaterThanOrEqual(Math.max(1, Math.floor(seeds / 20)));
  });

  test('a few that are new', { timeout: HOUR }, async () => {
    await runSeeds(randomFirst, Math.ceil(seeds / 5), run, 'schedules');
  });

  test('a seed leaves the same trace once more', { timeout: HOUR }, async () => {
    const [one, again] = [await run(first), await run(first)];
    expect(again.traceHash).toBe(one.traceHash);
  });
});
