/**
 * The production loop on a log that misbehaves, seed after seed.
 *
 *     PERDURE_SIM_FIRST=1    from where
 *     PERDURE_SEED=…         the start of a few more; new in every run, but for the build machine's
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { partitionStates } from '../../src/actors/ownership/partition-life.ts';
import { seed as randomFirst } from '../support/seed.ts';
import { nodeFaults } from './nemesis.ts';
import { planWithDatabase, runSeed } from './run-seed.ts';
import { seedKinds } from './seed-kinds.ts';
import { runSeeds } from './seeds.ts';
import { databaseFates } from './sim-database.ts';
import { appendFates, readFaults } from './sim-log.ts';

const seeds = seedKinds.seeds.count;
const first = Number(process.env['PERDURE_SIM_FIRST'] ?? 1);
const databaseSeeds = seedKinds['seeds with a database'].count;
const RANDOM_SEEDS = 100;
const REPEATED_SEEDS = 100;
const program = fileURLToPath(new URL('./one.ts', import.meta.url));

/** What most runs are there for: each must come up often enough. */
const moments = [
  'fenced',
  'the outcome of an append is unknown',
  'a claim was not answered',
  'the log refused an append; it is tried again',
  'the log accepts appends again',
  'the outcome of an append is known again: memory is kept',
  'the outcome of an append is known again: memory is replayed from the log',
  'the log cannot be read back',
  'the log cannot be read, trying again',
  'a command waited for its state',
  'a command could not be decided',
  'command refused: too large',
  'the log does not answer: waiting callers get UNAVAILABLE',
  'an ask was canceled',
  'a journal holds a record that Perdure did not write. It is ignored; check who may write to this topic',
  'a projector was refused',
];

const databaseMoments = [
  'a takeover began at a checkpoint',
  'a write was fenced',
  'another server has claimed the checkpoints of this partition',
  'a journal was trimmed',
  'the database cannot be read, trying again',
];

const withDatabase = (seed: number) => runSeed(seed, planWithDatabase);

describe('owners that contend on a log that misbehaves', () => {
  test(`${seeds} seeds from ${first}`, { timeout: 30 * 60_000 }, async () => {
    const started = performance.now();
    const totals = await runSeeds(first, seeds, runSeed, 'ledger');
    const rate = (seeds / (performance.now() - started)) * 1000;
    console.log(
      `${seeds} seeds, ${rate.toFixed(0)} a second, ${totals.answered} answers; injected ${JSON.stringify(Object.fromEntries(totals.injected))}`,
    );
    // No quiet pass: every kind of fault was there, and most runs had something to lose.
    const enough = Math.min(100, Math.floor(seeds / 50));
    for (const kind of [...appendFates, ...readFaults, ...nodeFaults]) {
      expect(totals.injected.get(kind), kind).toBeGreaterThanOrEqual(enough);
    }
    for (const state of [...partitionStates.filter((each) => each !== 'failed'), ...moments]) {
      expect(totals.reached.get(state), state).toBeGreaterThanOrEqual(enough);
    }
    expect(totals.quiet).toBeLessThan(seeds * 0.02 + 1);
  });

  test(
    `${databaseSeeds} seeds from ${first} with checkpoints in a database that misbehaves as well`,
    { timeout: 30 * 60_000 },
    async () => {
      const totals = await runSeeds(first, databaseSeeds, withDatabase, 'ledger database');
      console.log(`with a database: ${totals.answered} answers; injected ${JSON.stringify(Object.fromEntries(totals.injected))}`);
      const enough = Math.min(100, Math.floor(databaseSeeds / 50));
      for (const kind of [...databaseFates, 'databaseDown', 'trimUndone']) {
        expect(totals.injected.get(kind), kind).toBeGreaterThanOrEqual(enough);
      }
      for (const moment of databaseMoments) expect(totals.reached.get(moment), moment).toBeGreaterThanOrEqual(enough);
    },
  );

  test(`${RANDOM_SEEDS} seeds more, from ${randomFirst}`, { timeout: 600_000 }, async () => {
    const without = await runSeeds(randomFirst, RANDOM_SEEDS, runSeed, 'ledger');
    const totals = await runSeeds(randomFirst, RANDOM_SEEDS, withDatabase, 'ledger database');
    expect([without.runs, totals.runs]).toEqual([RANDOM_SEEDS, RANDOM_SEEDS]);
  });

  test('a seed leaves the same trace in two processes, whether asks travel as bytes or not', { timeout: 600_000 }, async () => {
    const here: string[] = [];
    for (let seed = first; seed < first + REPEATED_SEEDS; seed++) here.push(`${seed} ${(await runSeed(seed)).traceHash}`);
    const env = { ...process.env, PERDURE_TEST_ASKS: 'codecs' };
    const { stdout } = await promisify(execFile)(process.execPath, [program, String(first), String(REPEATED_SEEDS), 'hashes'], { env });
    const there = stdout.split('\n').filter((line) => /^\d+ [0-9a-f]{8}$/.test(line));
    expect(there).toEqual(here);
    expect(new Set(here.map((line) => line.split(' ')[1])).size).toBe(REPEATED_SEEDS);
  });
});
