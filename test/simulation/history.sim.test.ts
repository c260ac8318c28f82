/**
 * History shards over a log and a database that misbehave, with checkpoints of a few records, seed after seed.
 *
 *     PERDURE_SIM_SEEDS=5000    a hundredth of them here, and a tenth of that without a database
 *     PERDURE_SIM_FIRST=1       from where
 */
import { describe, expect, test } from 'vitest';
import { seed as randomFirst } from '../support/seed.ts';
import { historyPlanOf, historyPlanWithoutDatabase, runHistorySeed, type HistoryOutcome } from './history/run-seed.ts';
import { databaseFates } from './sim-database.ts';

const seeds = Math.ceil(Number(process.env['PERDURE_SIM_SEEDS'] ?? 5_000) / 100);
const first = Number(process.env['PERDURE_SIM_FIRST'] ?? 1);
const HOUR = 3_600_000;

/** What most runs are there for. */
const moments = [
  'checkpoints are fenced',
  'checkpoints wait for the database; workflows go on',
  'checkpoints are written again',
  'the database cannot be read, trying again',
  'doubt settled, memory stays',
  'doubt settled, memory is folded again',
  'ownership lost',
];

class Totals {
  told = 0;
  checkpoints = 0;
  readonly injected = new Map<string, number>();
  readonly reached = new Map<string, number>();

  add({ told, checkpoints, injected, reached }: HistoryOutcome): void {
    this.told += told;
    this.checkpoints += checkpoints;
    for (const [kind, times] of injected) this.injected.set(kind, (this.injected.get(kind) ?? 0) + times);
    for (const moment of reached) this.reached.set(moment, (this.reached.get(moment) ?? 0) + 1);
  }
}

async function runSeeds(from: number, count: number, planOf = historyPlanOf): Promise<Totals> {
  const totals = new Totals();
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await runHistorySeed(seed, planOf);
    if (outcome.violation !== undefined) throw new Error(report(outcome));
    totals.add(outcome);
  }
  return totals;
}

function report({ plan, violation, lastTrace }: HistoryOutcome): string {
  const how = plan.database === undefined ? 'history' : 'history database';
  return [
    `seed ${plan.seed}: ${violation?.message}`,
    JSON.stringify(plan),
    ...lastTrace.slice(-60),
    `repeat: npm exec -- node test/simulation/one.ts ${plan.seed} 1 ${how}`,
  ].join('\n');
}

describe('history shards that are checkpointed', () => {
  test(`${seeds} seeds from ${first}`, { timeout: HOUR }, async () => {
    const totals = await runSeeds(first, seeds);
    console.log(
      `${totals.told} answers, ${totals.checkpoints} checkpoints; injected ${JSON.stringify(Object.fromEntries(totals.injected))}`,
    );
    // No quiet pass.
    const enough = Math.min(100, Math.floor(seeds / 10));
    for (const kind of [...databaseFates, 'databaseDown', 'trimUndone', 'backupRestored', 'crash', 'pause']) {
      expect(totals.injected.get(kind), kind).toBeGreaterThanOrEqual(enough);
    }
    for (const moment of moments) expect(totals.reached.get(moment), moment).toBeGreaterThanOrEqual(Math.floor(enough / 2));
    expect(totals.told).toBeGreaterThan(seeds * 50);
    expect(totals.checkpoints).toBeGreaterThan(seeds * 10);
  });

  test('a few that are new, and a few without a database', { timeout: HOUR }, async () => {
    const few = Math.ceil(seeds / 10);
    await runSeeds(randomFirst, few);
    const without = await runSeeds(first, few, historyPlanWithoutDatabase);
    expect(without.checkpoints).toBe(0);
    expect(without.told).toBeGreaterThan(few * 50);
  });

  test('a seed leaves the same trace once more', { timeout: HOUR }, async () => {
    const [one, again] = [await runHistorySeed(first), await runHistorySeed(first)];
    expect(again.traceHash).toBe(one.traceHash);
    expect(again.steps).toBe(one.steps);
  });
});
