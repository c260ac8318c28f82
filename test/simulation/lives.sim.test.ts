/**
 * Workflows that are reset and paused, and starts that take their first task along, over a log and a database that misbehave; then calm, in which all
 * that is paused goes on. A request resets once, and nothing that was accepted is lost by it; a paused workflow is given no task.
 *
 *     PERDURE_SIM_FIRST=1       from where
 */
import { describe, expect, test } from 'vitest';
import { seed as randomFirst } from '../support/seed.ts';
import { planWithLives, runHistorySeed } from './history/run-seed.ts';
import { seedKinds } from './seed-kinds.ts';
import { runSeeds } from './seeds.ts';

const seeds = seedKinds['seeds of lives'].count;
const first = Number(process.env['PERDURE_SIM_FIRST'] ?? 1);
const HOUR = 3_600_000;
const run = (seed: number) => runHistorySeed(seed, planWithLives);

describe('lives of workflows', () => {
  test(`${seeds} seeds from ${first}`, { timeout: HOUR }, async () => {
    const totals = await runSeeds(first, seeds, run, 'lives');
    for (const moment of [
      'a workflow was reset',
      'a workflow was reset in parts',
      'a workflow was paused',
      'a first task came with its start',
      'ownership lost',
    ])
      expect(totals.reached.get(moment), moment).toBeGreaterThanOrEqual(Math.max(1, Math.floor(seeds / 5)));
  });

  test('a few that are new', { timeout: HOUR }, async () => {
    await runSeeds(randomFirst, Math.ceil(seeds / 5), run, 'lives');
  });
});
