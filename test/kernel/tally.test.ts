import { expect, test } from 'vitest';
import { Tally } from '../../src/kernel/tally.ts';

test('a tally counts each key and all, and forgets a key that has none', () => {
  const tally = new Tally();
  for (const key of ['a', 'a', 'b']) tally.add(key, 1);
  expect([tally.total, tally.of('a'), tally.of('b'), tally.of('c')]).toEqual([3, 2, 1, 0]);
  expect([tally.most('b'), tally.most('c')]).toEqual(['a', 'a']);
  tally.add('a', -1);
  expect(tally.most('b'), 'none has more').toBe('b');
  tally.add('a', -1);
  expect([tally.total, tally.of('a'), tally.most('c')]).toEqual([1, 0, 'b']);
});

test('a key has its even share of a maximum, and one at least, however many others there are', () => {
  const tally = new Tally();
  for (let nth = 0; nth < 6; nth++) tally.add('a', 1);
  expect(tally.isBelowShare('a', 6)).toBe(false);
  expect(tally.isBelowShare('b', 6)).toBe(true);
  for (let nth = 0; nth < 3; nth++) tally.add('b', 1);
  expect(tally.isBelowShare('b', 6)).toBe(false);
  for (const key of ['c', 'd', 'e', 'f', 'g', 'h']) tally.add(key, 1);
  expect(tally.isBelowShare('i', 6)).toBe(true);
  expect(tally.isBelowShare('c', 6)).toBe(false);
});
