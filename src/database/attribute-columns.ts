/** The columns of search attributes in a visibility table: predefined ones by their names, and the slots of those that namespaces define. */
import { searchAttributeSlots } from '../kernel/search-attribute-slots.ts';
import { columnKinds, predefinedColumns } from '../visibility/columns.ts';
import type { Column } from '../filter/condition.ts';

export const attributeColumns: readonly Column[] = [
  ...predefinedColumns.values(),
  ...[...columnKinds].flatMap(([type, kind]) => (searchAttributeSlots.get(type) ?? []).map((name) => ({ name, kind }))),
];
