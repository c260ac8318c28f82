import { expect, test } from 'vitest';
import { rfc3339 } from '../../src/cli/printed-time.ts';

test.each([
  [0, ''],
  [1_000, '1970-01-01T00:00:01.000Z'],
  [8.64e15, '+275760-09-13T00:00:00.000Z'],
  [8.64e15 + 1_000, '8640000000001000'],
  [-8.64e15 - 1_000, '-8640000000001000'],
  [Number.NaN, 'NaN'],
])('%d is %s: whatever time comes from outside, it is printed', (ms, text) => {
  expect(rfc3339(ms)).toBe(text);
});
