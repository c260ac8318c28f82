/** Who changes a line that a planted bug quotes learns it here, and not from the minutes of the simulation. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { plants, stalePlant } from '../simulation/plants.ts';

function occurrences({ file, search }: (typeof plants)[number]): number {
  return readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split(search).length - 1;
}

test.each(plants)('its text stands once in the source: $name', (plant) => {
  expect(occurrences(plant), `${plant.file}: ${plant.search}`).toBe(1);
});

test('a text that is gone is noticed', () => {
  expect(occurrences(stalePlant)).toBe(0);
});
