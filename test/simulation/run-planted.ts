/**
 * `node test/simulation/run-planted.ts <name of the plant>`: patches the source as it is loaded, then runs seeds or scenarios until something is
 * found, whatever found it last (planted-seeds.json) before all others. Prints one line of JSON. Not for the process of a test runner: the patch
 * stays for its lifetime.
 */
import { registerHooks } from 'node:module';
import { plants, seedsMax, stalePlant } from './plants.ts';
import seedsThatCaught from './planted-seeds.json' with { type: 'json' };
import type { Violation } from './oracle.ts';

const name = process.argv[2] ?? '';
const plant = [...plants, stalePlant].find((each) => each.name === name);
if (plant === undefined) throw new Error(`no such plant: ${name}; there are: ${plants.map((each) => each.name).join(', ')}`);
let patched = 0;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(`/${plant.file}`)) return loaded;
    const source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source ?? undefined);
    const parts = source.split(plant.search);
    if (parts.length !== 2) throw new Error(`"${plant.name}": its text occurs ${parts.length - 1} times in ${plant.file}, not once`);
    patched += 1;
    return { ...loaded, source: parts.join(plant.replace) };
  },
});

export type Finding = { readonly by: string; readonly invariant: string; readonly message: string; readonly tries: number };

type Runner = (seed: number) => Promise<{ readonly violation: Violation | undefined }>;

async function runner(kind: keyof typeof seedsMax): Promise<Runner> {
  if (kind === 'seeds of history shards') return (await import('./history/run-seed.ts')).runHistorySeed;
  if (kind === 'seeds in which List is set back') {
    const { listPlan, runHistorySeed } = await import('./history/run-seed.ts');
    return (seed) => runHistorySeed(seed, listPlan);
  }
  if (kind === 'seeds of dead letters') {
    const { runHistorySeed } = await import('./history/run-seed.ts');
    const { letterPlan } = await import('./deadletters/plans.ts');
    return (seed) => runHistorySeed(seed, letterPlan);
  }
  if (kind === 'seeds of schedules') {
    const { planWithSchedules, runHistorySeed } = await import('./history/run-seed.ts');
    return (seed) => runHistorySeed(seed, planWithSchedules);
  }
  if (kind === 'seeds of lives') {
    const { planWithLives, runHistorySeed } = await import('./history/run-seed.ts');
    return (seed) => runHistorySeed(seed, planWithLives);
  }
  if (kind === 'seeds of batches') {
    const { planWithBatches, runHistorySeed } = await import('./history/run-seed.ts');
    return (seed) => runHistorySeed(seed, planWithBatches);
  }
  if (kind === 'seeds of lanes') {
    const { keyedPlan, runMatchingSeed } = await import('./matching/run-seed.ts');
    return (seed) => runMatchingSeed(seed, keyedPlan);
  }
  if (kind === 'seeds of matching hosts') return (await import('./matching/run-seed.ts')).runMatchingSeed;
  const { planOf, planWithDatabase, runSeed } = await import('./run-seed.ts');
  const planned = kind === 'seeds' ? planOf : planWithDatabase;
  return (seed) => runSeed(seed, planned);
}

/** `I10` of `I10 two owners`: what the bug breaks, and nothing that comes of it. */
function isShown(invariant: string): boolean {
  return plant?.shows?.includes(invariant.split(' ')[0] ?? '') ?? true;
}

/** What the random runs find, or the scenarios; undefined = the bug went unnoticed. */
async function find(): Promise<Finding | undefined> {
  let tries = 0;
  if (plant !== undefined && plant.caughtBy !== 'scenarios') {
    const run = await runner(plant.caughtBy);
    const seeds = Array.from({ length: seedsMax[plant.caughtBy] }, (_, index) => index + 1);
    for (const seed of lastFirst(seeds, (each) => `seed ${each}`)) {
      tries += 1;
      const { violation } = await run(seed);
      if (violation === undefined || !isShown(violation.invariant)) continue;
      return { by: `seed ${seed}`, invariant: violation.invariant, message: violation.message, tries };
    }
    return undefined;
  }
  const { scenarios } = await import('./scenarios.ts');
  const nameOf = ({ rule, name: scenario }: (typeof scenarios)[number]): string => `${rule}: ${scenario}`;
  for (const each of lastFirst(scenarios, nameOf)) {
    tries += 1;
    try {
      await each.run();
    } catch (error) {
      if (!isShown(each.rule)) continue;
      return { by: nameOf(each), invariant: each.rule, message: error instanceof Error ? error.message : String(error), tries };
    }
  }
  return undefined;
}

/** What caught this plant last is likely to do so again: a try of a few milliseconds, where a way through all others takes seconds. */
function lastFirst<Each>(all: readonly Each[], nameOf: (each: Each) => string): readonly Each[] {
  const last = new Map(Object.entries<string>(seedsThatCaught)).get(name);
  return [...all.filter((each) => nameOf(each) === last), ...all.filter((each) => nameOf(each) !== last)];
}

// A planted bug may break a promise that nobody waits for: that is a finding, not the end.
process.on('unhandledRejection', () => {});
const finding = await find();
if (patched !== 1) throw new Error(`${plant.file} was loaded ${patched} times with the patch`);
console.log(JSON.stringify(finding ?? null));
