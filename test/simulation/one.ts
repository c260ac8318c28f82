/** `node test/simulation/one.ts <seed> [count] [hashes] [ledger | history [list] | letters | schedules | lives | batches | matching [keyed]] [database]`: runs seeds, and tells what happened in the first that fails. */
import { letterPlan } from './deadletters/plans.ts';
import {
  historyPlanWithoutDatabase,
  listPlan,
  planWithBatches,
  planWithLives,
  planWithSchedules,
  runHistorySeed,
} from './history/run-seed.ts';
import { keyedPlan, matchingPlanWithoutDatabase, runMatchingSeed } from './matching/run-seed.ts';
import { planWithDatabase, runSeed } from './run-seed.ts';
import type { SimOutcome } from './sim-run.ts';

const kinds: Readonly<Record<string, (seed: number) => Promise<SimOutcome>>> = {
  letters: (seed) => runHistorySeed(seed, letterPlan),
  schedules: (seed) => runHistorySeed(seed, planWithSchedules),
  lives: (seed) => runHistorySeed(seed, planWithLives),
  batches: (seed) => runHistorySeed(seed, planWithBatches),
  ledger: (seed) => runSeed(seed),
  'ledger database': (seed) => runSeed(seed, planWithDatabase),
  history: (seed) => runHistorySeed(seed, historyPlanWithoutDatabase),
  'history database': (seed) => runHistorySeed(seed),
  'history list database': (seed) => runHistorySeed(seed, listPlan),
  'matching keyed database': (seed) => runMatchingSeed(seed, keyedPlan),
  matching: (seed) => runMatchingSeed(seed, matchingPlanWithoutDatabase),
  'matching database': (seed) => runMatchingSeed(seed),
};

const first = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 1);
const hashes = process.argv.includes('hashes');
const words = ['ledger', 'history', 'list', 'letters', 'schedules', 'lives', 'batches', 'matching', 'keyed', 'database'].filter((word) =>
  process.argv.includes(word),
);
const run = kinds[(words[0] === 'database' ? ['ledger', ...words] : words).join(' ') || 'ledger'];
if (run === undefined) throw new Error(`there are: ${Object.keys(kinds).join(', ')}`);
const started = performance.now();
let steps = 0;
let answered = 0;
let failed = 0;
const injected = new Map<string, number>();
const reached = new Map<string, number>();
for (let seed = first; seed < first + count; seed++) {
  const outcome = await run(seed);
  if (hashes) console.log(`${seed} ${outcome.traceHash}`);
  steps += outcome.steps;
  answered += outcome.answered;
  failed += outcome.failed;
  for (const [kind, times] of outcome.injected) injected.set(kind, (injected.get(kind) ?? 0) + times);
  for (const state of outcome.reached) reached.set(state, (reached.get(state) ?? 0) + 1);
  if (count === 1 || outcome.violation !== undefined) {
    console.log(JSON.stringify(outcome.plan));
    console.log(outcome.lastTrace.join('\n'));
    console.log(
      `seed ${seed}: ${outcome.violation?.message ?? 'no violation'}; trace ${outcome.traceHash}, ${outcome.steps} steps, ${outcome.answered} answered, ${outcome.failed} failed`,
    );
  }
  if (outcome.violation !== undefined) process.exit(1);
}
const seconds = (performance.now() - started) / 1000;
console.log(`${count} seeds, ${(count / seconds).toFixed(0)} seeds/s, ${(steps / count).toFixed(0)} steps a seed`);
console.log(`answered ${answered}, failed ${failed}; injected ${list(injected)}; seeds that reached ${list(reached)}`);

function list(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, times]) => `${name} ${times}`).join(', ');
}
