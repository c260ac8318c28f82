/**
 * The columns of search attributes in a visibility table: predefined ones by their names, and the slots of those that namespaces define. Both databases
 * were made with these: one that comes later is left out of the first migration (its test fails), and added by one of its own.
 */
import { searchAttributeSlots } from '../../kernel/search-attribute-slots.ts';
import { columnKinds, predefinedColumns } from '../visibility/columns.ts';
import type { Column, ColumnKind } from '../../filter/condition.ts';

export const attributeColumns: readonly Column[] = [
  ...predefinedColumns.values(),
  ...[...columnKinds].flatMap(([type, kind]) => (searchAttributeSlots.get(type) ?? []).map((name) => ({ name, kind }))),
];

export const attributeKinds: ReadonlyMap<string, ColumnKind> = new Map(attributeColumns.map(({ name, kind }) => [name, kind]));

/** Attributes that have a second column, for what is beyond milliseconds (instant-sql.ts). */
export const instantNames: readonly string[] = attributeColumns.flatMap(({ name, kind }) => (kind === 'instant' ? [name] : []));
