/**
 * Is the simulation any good? Each planted bug runs in a process of its own, on source that was patched as it was loaded.
 *
 * What caught it last is tried first (planted-seeds.json). Where the traffic of the simulation has changed so much that many of them take long, they
 * are written down anew: `npm exec -- node test/simulation/plant-seeds.ts`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runPlanted } from './planted.ts';
import { plants, seedsMax, stalePlant } from './plants.ts';

const cache = mkdtempSync(join(tmpdir(), 'perdure-planted-'));
const found: string[] = [];

afterAll(() => {
  rmSync(cache, { recursive: true, force: true });
  console.log(['planted bugs:', ...found].join('\n'));
});

describe('planted bugs', () => {
  for (const { name, caughtBy } of plants) {
    const where = caughtBy === 'scenarios' ? 'by a scenario' : `within ${seedsMax[caughtBy]} ${caughtBy}`;
    test(`${name}: caught ${where}`, { timeout: 300_000 }, async () => {
      const finding = await runPlanted(name, cache);
      expect(finding, 'the bug went unnoticed').toMatchObject({ invariant: expect.stringMatching(/^[IT]\d+/) });
      const { by = '', invariant = '', tries = 0 } = finding ?? {};
      found.push(`  ${name.padEnd(64)} ${by.slice(0, 60).padEnd(61)} ${invariant}${tries === 1 ? '' : `, after ${tries}`}`);
    });
  }

  test('a patch whose text is gone fails', async () => {
    await expect(runPlanted(stalePlant.name, cache)).rejects.toThrow('occurs 0 times');
  });
});
