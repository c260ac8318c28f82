/**
 * Matching hosts over a log and a database that misbehave, with checkpoints of a few records, seed after seed.
 *
 *     PERDURE_SIM_FIRST=1       from where
 */
import { describe, expect, test } from 'vitest';
import { seed as randomFirst } from '../support/seed.ts';
import { keyedPlan, matchingPlanWithoutDatabase, runMatchingSeed } from './matching/run-seed.ts';
import { seedKinds } from './seed-kinds.ts';
import { runSeeds } from './seeds.ts';
import { databaseFates } from './sim-database.ts';

const seeds = seedKinds['seeds of matching hosts'].count;
const first = Number(process.env['PERDURE_SIM_FIRST'] ?? 1);
const HOUR = 3_600_000;

/** What most runs are there for. */
const moments = [
  'another server has claimed the checkpoints of this partition',
  'the database cannot be read, trying again',
  'the outcome of an append is known again: memory is kept',
  'the outcome of an append is known again: memory is replayed from the log',
  'ownership lost',
  'tasks are rows alone',
];

const withDatabase = (seed: number) => runMatchingSeed(seed);
const keyed = (seed: number) => runMatchingSeed(seed, keyedPlan);
const withoutDatabase = (seed: number) => runMatchingSeed(seed, matchingPlanWithoutDatabase);

describe('matching hosts that are checkpointed', () => {
  test(`${seeds} seeds from ${first}`, { timeout: HOUR }, async () => {
    const totals = await runSeeds(first, seeds, withDatabase, 'matching database');
    const { answered, checkpoints, injected } = totals;
    console.log(`${answered} answers, ${checkpoints} checkpoints; injected ${JSON.stringify(Object.fromEntries(injected))}`);
    // No quiet pass.
    const enough = Math.min(100, Math.floor(seeds / 10));
    for (const kind of [...databaseFates, 'databaseDown', 'trimUndone', 'backupRestored', 'crash', 'pause']) {
      expect(injected.get(kind), kind).toBeGreaterThanOrEqual(enough);
    }
    for (const moment of moments) expect(totals.reached.get(moment), moment).toBeGreaterThanOrEqual(Math.floor(enough / 2));
    expect(answered).toBeGreaterThan(seeds * 50);
    expect(checkpoints).toBeGreaterThan(seeds * 10);
  });

  test(
    'a few whose tasks have priorities and fairness keys: none is lost or handed out twice, whichever lane it stands in',
    { timeout: HOUR },
    async () => {
      const few = seedKinds['seeds of lanes'].count;
      const totals = await runSeeds(first, few, keyed, 'matching keyed database');
      expect(totals.reached.get('tasks are rows alone')).toBeGreaterThan(0);
    },
  );

  test('a few that are new, and a few without a database', { timeout: HOUR }, async () => {
    const few = Math.ceil(seeds / 5);
    await runSeeds(randomFirst, few, withDatabase, 'matching database');
    const without = await runSeeds(first, few, withoutDatabase, 'matching');
    expect(without.checkpoints).toBe(0);
    expect(without.answered).toBeGreaterThan(few * 50);
  });

  test('a seed leaves the same trace once more', { timeout: HOUR }, async () => {
    const [one, again] = [await runMatchingSeed(first), await runMatchingSeed(first)];
    expect(again.traceHash).toBe(one.traceHash);
    expect(again.steps).toBe(one.steps);
  });
});
