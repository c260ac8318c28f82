import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SortedKeys } from '../../src/kernel/sorted-keys.ts';

test('whoever comes and goes, and from wherever one goes on, they come in their order, each once', () => {
  const key = fc.integer({ min: 0, max: 3_000 }).map(String);
  fc.assert(
    fc.property(
      fc.array(fc.record({ key, comes: fc.boolean() }), { maxLength: 50 }),
      key,
      fc.integer({ min: 0, max: 2_000 }),
      (steps, from, max) => {
        const keys = new SortedKeys();
        const known = new Set(Array.from({ length: 1_500 }, (_, nth) => String((nth * 7) % 3_001)));
        for (const each of known) keys.add(each);
        for (const step of steps) {
          if (step.comes) keys.add(step.key);
          else keys.delete(step.key);
          if (step.comes) known.add(step.key);
          else known.delete(step.key);
        }
        const sorted = [...known].toSorted();
        expect(keys.after(undefined, Infinity)).toEqual(sorted);
        expect(keys.after(from, max)).toEqual(sorted.filter((each) => each > from).slice(0, max));
        for (const each of known) keys.delete(each);
        expect(keys.after(undefined, 1)).toEqual([]);
      },
    ),
    { numRuns: 30 },
  );
});
