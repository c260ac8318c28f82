import { expect, test } from 'vitest';
import { cut } from '../../src/cli/table.ts';

test.each([
  ['order-1', 7, 'order-1'],
  ['order-12', 7, 'order-…'],
  ['🚚🚚🚚🚚', 5, '🚚🚚…'],
  ['🚚🚚🚚🚚', 6, '🚚🚚…'],
  ['🚚🚚', 2, '…'],
])('%s in %i characters is %s', (text, charsMax, said) => {
  const shown = cut(text, charsMax);
  expect(shown).toBe(said);
  expect(shown.isWellFormed()).toBe(true);
});
