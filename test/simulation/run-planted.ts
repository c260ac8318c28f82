/**
 * `node test/simulation/run-planted.ts <name of the plant> [further]`: patches the source as it is loaded, then runs the seeds of an ordinary run, or the
 * scenarios, until something is found, whatever found it last (planted-seeds.json) before all others; `further`: also seeds behind those. Prints one line
 * of JSON. Not for the process of a test runner: the patch stays for its lifetime.
 */
import { registerHooks } from 'node:module';
import { plants, stalePlant } from './plants.ts';
import { proofOf, seedOf } from './proofs.ts';
import { type SeedKind, seedKinds } from './seed-kinds.ts';

/** As many times the seeds of an ordinary run. */
const FURTHER = 25;

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

/** `I10` of `I10 two owners`: what the bug breaks, and nothing that comes of it. */
function isShown(invariant: string): boolean {
  return plant?.shows?.includes(invariant.split(' ')[0] ?? '') ?? true;
}

/** What the random runs find, or the scenarios; undefined = the bug went unnoticed. */
async function find(): Promise<Finding | undefined> {
  let tries = 0;
  if (plant !== undefined && plant.caughtBy !== 'scenarios') {
    const { runner, count }: SeedKind = seedKinds[plant.caughtBy];
    const run = await runner();
    const last = seedOf(plant) ?? 1;
    const end = process.argv[3] === 'further' ? FURTHER * count : count;
    for (const seed of [last, ...Array.from({ length: end }, (_, index) => index + 1).filter((each) => each !== last)]) {
      tries += 1;
      const { violation } = await run(seed);
      if (violation === undefined || !isShown(violation.invariant)) continue;
      return { by: `seed ${seed}`, invariant: violation.invariant, message: violation.message, tries };
    }
    return undefined;
  }
  const { scenarios } = await import('./scenarios.ts');
  const nameOf = ({ rule, name: scenario }: (typeof scenarios)[number]): string => `${rule}: ${scenario}`;
  const isLast = (each: (typeof scenarios)[number]): boolean => plant !== undefined && nameOf(each) === proofOf(plant)?.by;
  for (const each of [...scenarios.filter(isLast), ...scenarios.filter((other) => !isLast(other))]) {
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

// A planted bug may break a promise that nobody waits for: that is a finding, not the end.
process.on('unhandledRejection', () => {});
const finding = await find();
if (patched !== 1) throw new Error(`${plant.file} was loaded ${patched} times with the patch`);
console.log(JSON.stringify(finding ?? null));
