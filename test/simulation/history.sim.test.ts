/**
 * History shards over a log and a database that misbehave, with checkpoints of a few records, seed after seed.
 *
 *     PERDURE_SIM_FIRST=1       from where
 */
import { describe, expect, test } from 'vitest';
import { seed as randomFirst } from '../support/seed.ts';
import { historyPlanWithoutDatabase, listPlan, runHistorySeed } from './history/run-seed.ts';
import { seedKinds } from './seed-kinds.ts';
import { runSeeds } from './seeds.ts';
import { databaseFates } from './sim-database.ts';

const seeds = seedKinds['seeds of history shards'].count;
const first = Number(process.env['PERDURE_SIM_FIRST'] ?? 1);
const HOUR = 3_600_000;

/** What most runs are there for. */
const moments = [
  'a run left memory',
  'timers were in the table alone',
  'runs were behind when their shard began to serve',
  'tasks for workers stood in line',
  'tasks for workers were stored by matching',
  'another server has claimed the checkpoints of this partition',
  'the database cannot be read, trying again',
  'the rows of List were rebuilt',
  'the outcome of an append is known again: memory is kept',
  'the outcome of an append is known again: memory is replayed from the log',
  'ownership lost',
];

const withDatabase = (seed: number) => runHistorySeed(seed);
const withOlderList = (seed: number) => runHistorySeed(seed, listPlan);
const withoutDatabase = (seed: number) => runHistorySeed(seed, historyPlanWithoutDatabase);

describe('history shards that are checkpointed', () => {
  test(`${seeds} seeds from ${first}`, { timeout: HOUR }, async () => {
    const totals = await runSeeds(first, seeds, withDatabase, 'history database');
    console.log(
      `${totals.answered} answers, ${totals.checkpoints} checkpoints; injected ${JSON.stringify(Object.fromEntries(totals.injected))}`,
    );
    // No quiet pass.
    const enough = Math.min(100, Math.floor(seeds / 10));
    for (const kind of [...databaseFates, 'databaseDown', 'rowDamaged', 'trimUndone', 'backupRestored', 'listSetBack', 'crash', 'pause']) {
      expect(totals.injected.get(kind), kind).toBeGreaterThanOrEqual(enough);
    }
    for (const moment of moments) expect(totals.reached.get(moment), moment).toBeGreaterThanOrEqual(Math.floor(enough / 2));
    expect(totals.answered).toBeGreaterThan(seeds * 50);
    expect(totals.checkpoints).toBeGreaterThan(seeds * 10);
  });

  test('a few that are new, and a few without a database', { timeout: HOUR }, async () => {
    const few = Math.ceil(seeds / 10);
    await runSeeds(randomFirst, few, withDatabase, 'history database');
    const without = await runSeeds(first, few, withoutDatabase, 'history');
    expect(without.checkpoints).toBe(0);
    expect(without.answered).toBeGreaterThan(few * 50);
  });

  test('rows of List are set back, and built again', { timeout: HOUR }, async () => {
    const few = seedKinds['seeds in which List is set back'].count;
    const listed = await runSeeds(first, few, withOlderList, 'history list database');
    expect(listed.reached.get('the rows of List were rebuilt')).toBeGreaterThanOrEqual(Math.floor(few / 2));
    await runSeeds(randomFirst, few, withOlderList, 'history list database');
  });

  test('a seed leaves the same trace once more', { timeout: HOUR }, async () => {
    const [one, again] = [await runHistorySeed(first), await runHistorySeed(first)];
    expect(again.traceHash).toBe(one.traceHash);
    expect(again.steps).toBe(one.steps);
  });
});
