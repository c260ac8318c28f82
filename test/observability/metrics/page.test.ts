import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { metricsTable } from '../../../scripts/metrics-table.ts';

test('docs/operations/metrics.md ends with the table that scripts/metrics-table.ts makes of the declarations', () => {
  const page = readFileSync(new URL('../../../docs/operations/metrics.md', import.meta.url), 'utf8');
  expect(page.endsWith(metricsTable())).toBe(true);
});
