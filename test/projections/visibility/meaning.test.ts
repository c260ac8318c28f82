import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Column, Condition } from '../../../src/filter/condition.ts';
import { parseQuery } from '../../../src/projections/visibility/filter/parse-query.ts';
import { truthOf } from '../../support/condition-oracle.ts';
import { arbitraryCondition, arbitraryRows, asked } from './arbitrary.ts';
import { askedAttributes } from './filter/asked-queries.ts';
import { printedCondition } from './filter/printed-condition.ts';

const namespaceId = '00000000-0000-4000-8000-000000000001';
const division: Column = { name: 'TemporalNamespaceDivision', kind: 'keyword' };
const noDivision: Condition = { kind: 'isNull', column: division, not: false };

test('a condition that is written as a query and read again holds of the same rows', () => {
  fc.assert(
    fc.property(arbitraryRows(namespaceId, 10), arbitraryCondition([], asked), (rows, condition) => {
      const query = printedCondition(condition);
      const parsed = parseQuery(query, askedAttributes);
      if (parsed.kind === 'invalid') throw new Error(`${query}: ${parsed.message}`);
      const { condition: read } = parsed;
      if (read === undefined) throw new Error(`${query}: nothing is asked`);
      // What does not name the division is asked of rows that have none.
      const meant: Condition = query.includes(division.name) ? condition : { kind: 'and', conditions: [condition, noDivision] };
      for (const row of rows) expect(truthOf(read, row)).toBe(truthOf(meant, row));
    }),
    { numRuns: 500 },
  );
});
