/**
 * History shards, owners of dead letter queues and the actor of jobs over a log and a database that misbehave, while tasks fail and operators merge
 * and purge; then calm, in which all that is left is merged. At every offset of a queue each id is one letter, in the queue, merged or purged.
 *
 *     PERDURE_SIM_FIRST=1       from where
 */
import { describe, expect, test } from 'vitest';
import { seed as randomFirst } from '../support/seed.ts';
import { letterPlan } from './deadletters/plans.ts';
import { runHistorySeed } from './history/run-seed.ts';
import { seedKinds } from './seed-kinds.ts';
import { runSeeds } from './seeds.ts';

const seeds = seedKinds['seeds of dead letters'].count;
const first = Number(process.env['PERDURE_SIM_FIRST'] ?? 1);
const HOUR = 3_600_000;
const run = (seed: number) => runHistorySeed(seed, letterPlan);

const moments = [
  'letters of transfer were made',
  'letters of transfer were merged',
  'letters of timer were made',
  'letters of timer were merged',
  'letters of transfer were purged',
  'letters of transfer were restored',
  'the journal of a dead letter queue was compacted',
  'ownership lost',
];

describe('dead letters', () => {
  test(`${seeds} seeds from ${first}`, { timeout: HOUR }, async () => {
    const totals = await runSeeds(first, seeds, run, 'letters');
    for (const moment of moments) expect(totals.reached.get(moment), moment).toBeGreaterThanOrEqual(Math.max(1, Math.floor(seeds / 20)));
    expect(totals.answered).toBeGreaterThan(seeds * 10);
  });

  test('a few that are new', { timeout: HOUR }, async () => {
    await runSeeds(randomFirst, Math.ceil(seeds / 5), run, 'letters');
  });

  test('a seed leaves the same trace once more', { timeout: HOUR }, async () => {
    const [one, again] = [await run(first), await run(first)];
    expect(again.traceHash).toBe(one.traceHash);
  });
});
