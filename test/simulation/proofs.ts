/**
 * What caught each planted bug last (planted-seeds.json), and whether that still holds: a bug, its source and the simulation that caught it have a hash, and while
 * that is the same an ordinary run does not ask again. Imports and comments do not count.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importsOf, repository } from '../structure/imports.ts';
import { plants, type Plant } from './plants.ts';
import { seedKinds, type SeedKindName } from './seed-kinds.ts';

export type Proof = {
  /** `seed 7`, or a scenario. */
  readonly by: string;
  readonly hash: string;
};

const written = readFileSync(new URL('planted-seeds.json', import.meta.url), 'utf8');
const proofs: ReadonlyMap<string, Proof> = new Map(Object.entries(JSON.parse(written) as Readonly<Record<string, Proof>>));

export function proofOf({ name }: Plant): Proof | undefined {
  return proofs.get(name);
}

export function isProven(plant: Plant): boolean {
  return proofOf(plant)?.hash === proofHash(plant);
}

export function proofHash(plant: Plant, textOf = codeOf): string {
  const { name, file, search, replace, caughtBy, shows } = plant;
  const entry = caughtBy === 'scenarios' ? 'scenarios.ts' : seedKinds[caughtBy].entry;
  const hash = createHash('sha256').update(JSON.stringify([name, search, replace, caughtBy, shows]));
  for (const each of [file, ...partsOf(`test/simulation/${entry}`)]) hash.update(textOf(each));
  return hash.digest('hex').slice(0, 12);
}

/** What caught it last. undefined: no seed did. */
export function seedOf(plant: Plant): number | undefined {
  const by = proofOf(plant)?.by;
  return by?.startsWith('seed ') === true ? Number(by.slice('seed '.length)) : undefined;
}

/** Seeds that catch a planted bug and that an ordinary run would not come to: it plays them as well. */
export function rememberedSeeds(kind: SeedKindName): readonly number[] {
  const seeds = plants.filter(({ caughtBy }) => caughtBy === kind).flatMap((plant) => seedOf(plant) ?? []);
  return [...new Set(seeds)].filter((seed) => seed > seedKinds[kind].count).toSorted((a, b) => a - b);
}

/** A file may be moved, and explained. */
function codeOf(file: string): string {
  return readFileSync(join(repository, file), 'utf8').replaceAll(/^import\b[^;]*;\n|^ *(?:\/\*\*|\*|\/\/).*\n/gm, '');
}

const found = new Map<string, readonly string[]>();

/** All of this folder that it loads, itself included. */
function partsOf(entry: string): readonly string[] {
  const known = found.get(entry);
  if (known !== undefined) return known;
  const parts = new Set([entry]);
  for (const part of parts) {
    for (const { target } of importsOf(part)) if (target.startsWith('test/simulation/')) parts.add(target);
  }
  const sorted = [...parts].toSorted();
  found.set(entry, sorted);
  return sorted;
}
