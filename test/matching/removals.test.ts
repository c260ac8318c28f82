import { expect, test } from 'vitest';
import { matchingLimits } from '../../src/matching/matching-limits.ts';
import { Removals } from '../../src/matching/removals.ts';

/** Counts how often it is asked. */
class Counting extends Map<number, string> {
  looks = 0;

  override has(id: number): boolean {
    this.looks++;
    return super.has(id);
  }
}

test('which tasks of a lane are removed costs as much as the shorter of the two is long', () => {
  const removals = new Removals(matchingLimits);
  const tasks = new Counting([3, 4, 5, 9_999].map((id) => [id, '']));
  expect([removals.countIn(tasks), tasks.looks], 'no removals').toEqual([0, 0]);
  for (let id = 5; id < 5_000; id++) removals.add(id, 0);
  expect([removals.countIn(tasks), tasks.looks], 'a short lane').toEqual([1, 0]);
  const long = new Counting(Array.from({ length: 10_000 }, (_, id) => [id, '']));
  expect([removals.countIn(long), long.looks], 'a long lane').toEqual([4_995, 4_995]);
});
