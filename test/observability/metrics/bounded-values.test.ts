import { expect, test } from 'vitest';
import { BoundedValues } from '../../../src/observability/metrics/bounded-values.ts';

test('a tag has 10,000 values; what comes later is other, what came before stays', () => {
  const values = new BoundedValues();
  for (let at = 0; at < 10_000; at++) expect(values.bounded(`n${at}`)).toBe(`n${at}`);
  expect([values.bounded('late'), values.bounded('n9999'), values.bounded('')]).toEqual(['_other_', 'n9999', '_unknown_']);
});
