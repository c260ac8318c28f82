/**
 * Is the simulation any good? Each planted bug runs in a process of its own, on source that was patched as it was loaded.
 *
 * An ordinary run plants those bugs whose source or whose simulation has changed since they were caught (planted-seeds.json); `npm run gate` plants all of them.
 * Whoever has changed many writes down what catches them now: `npm exec -- node test/simulation/plant-seeds.ts`.
 *
 *     PERDURE_PLANTS=all    all of them
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runPlanted } from './planted.ts';
import { plants, stalePlant } from './plants.ts';
import { isProven, rememberedSeeds } from './proofs.ts';
import { type SeedKind, seedKinds, type SeedKindName } from './seed-kinds.ts';

const cache = mkdtempSync(join(tmpdir(), 'perdure-planted-'));
const found: string[] = [];
const planted = plants.filter((plant) => process.env['PERDURE_PLANTS'] === 'all' || !isProven(plant));

afterAll(() => {
  rmSync(cache, { recursive: true, force: true });
  console.log([`planted bugs: ${planted.length} of ${plants.length}`, ...found].join('\n'));
});

describe('planted bugs', () => {
  for (const { name, caughtBy } of planted) {
    const where = caughtBy === 'scenarios' ? 'by a scenario' : `by ${caughtBy}`;
    test(`${name}: caught ${where}`, { timeout: 300_000 }, async () => {
      const finding = await runPlanted(name, cache);
      const hint = 'no seed of an ordinary run catches it; test/simulation/plant-seeds.ts looks further';
      expect(finding, hint).toMatchObject({ invariant: expect.stringMatching(/^[IT]\d+/) });
      const { by = '', invariant = '', tries = 0 } = finding ?? {};
      found.push(`  ${name.padEnd(64)} ${by.slice(0, 60).padEnd(61)} ${invariant}${tries === 1 ? '' : `, after ${tries}`}`);
    });
  }

  test('a patch whose text is gone fails', async () => {
    await expect(runPlanted(stalePlant.name, cache)).rejects.toThrow('occurs 0 times');
  });
});

describe('without the bug, a seed that catches one finds nothing', () => {
  // Those of an ordinary run are played by it.
  for (const [name, { runner }] of Object.entries<SeedKind>(seedKinds)) {
    for (const seed of rememberedSeeds(name as SeedKindName)) {
      test(`${name}: ${seed}`, { timeout: 300_000 }, async () => {
        expect((await (await runner())(seed)).violation).toBeUndefined();
      });
    }
  }
});
