import { expect, test } from 'vitest';
import { systemSearchAttributes } from '../../../src/cluster/search-attributes.ts';
import { columnKinds, predefinedColumns, systemColumns } from '../../../src/projections/visibility/columns.ts';

test('each attribute that every namespace has is a column of its type', () => {
  const types = new Map<string, number>([['datetime', 6], ...[...columnKinds].map(([type, kind]) => [kind, type] as const)]);
  const columns = [...systemColumns.values(), ...predefinedColumns.values()];
  // Rows have a number where queries have its name, and whole milliseconds of the times that the server notes.
  const typeOf = (name: string, kind: (typeof columns)[number]['kind']): number | undefined =>
    types.get(name === 'ExecutionStatus' ? 'keyword' : kind);
  expect(new Map(columns.map(({ name, kind }) => [name, typeOf(name, kind)]))).toEqual(new Map(systemSearchAttributes));
});
