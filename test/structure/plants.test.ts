/** Who changes a line that a planted bug quotes learns it here, and not from the minutes of the simulation. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { plants, stalePlant } from '../simulation/plants.ts';
import { proofHash } from '../simulation/proofs.ts';

function occurrences({ file, search }: (typeof plants)[number]): number {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(search).length - 1;
}

test.each(plants)('its text stands once in the source: $name', (plant) => {
  expect(occurrences(plant), `${plant.file}: ${plant.search}`).toBe(1);
});

/** A bug that names a private member that its file no longer has does not load, and is caught by nothing. */
test.each(plants.filter(({ replace }) => replace.includes('#')))(
  'its file has the private members that it names: $name',
  ({ file, replace }) => {
    const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    const members = (text: string): readonly string[] => text.match(/#[a-z]\w*/gi) ?? [];
    const known = new Set(members(source));
    expect(members(replace).filter((name) => !known.has(name))).toEqual([]);
  },
);

test('a text that is gone is noticed', () => {
  expect(occurrences(stalePlant)).toBe(0);
});

test('what has caught it counts until its source, its own simulation or the bug itself changes', () => {
  const plant = { ...stalePlant, file: 'src/a.ts' };
  const hashWith = (changed: string) => proofHash(plant, (file) => (file === changed ? 'changed' : file));
  const proven = hashWith('nothing');
  expect(hashWith('test/simulation/matching/run-seed.ts')).toBe(proven);
  const others = [hashWith('src/a.ts'), hashWith('test/simulation/run-seed.ts'), hashWith('test/simulation/sim-log.ts')];
  const another = proofHash({ ...plant, replace: 'something else' }, (file) => file);
  expect(new Set([proven, ...others, another]).size).toBe(5);
});
