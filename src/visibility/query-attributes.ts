import { columnKinds, predefinedColumns, systemColumns } from './columns.ts';
import type { Column } from './condition.ts';

/** What a name in a query means; undefined: nothing. */
export type QueryAttributes = (name: string) => { readonly column: Column } | undefined;

/** The attributes that a namespace has defined: `IndexedValueType` and slot of each name. */
export type CustomAttributes = {
  readonly types: ReadonlyMap<string, number>;
  readonly slots: ReadonlyMap<string, string>;
};

const prefix = 'Temporal';

/**
 * Names as Temporal's server reads them: a system or predefined name as it is written, else an attribute of the namespace, else such a
 * name with the prefix `Temporal` added or left out. The id of a schedule is that of its workflow.
 */
export function queryAttributes(custom: CustomAttributes): QueryAttributes {
  return (name) => {
    const column = builtIn(name) ?? customColumn(custom, name) ?? builtIn(otherName(name));
    return column === undefined ? undefined : { column };
  };
}

function builtIn(name: string): Column | undefined {
  return systemColumns.get(name) ?? predefinedColumns.get(name);
}

function customColumn({ types, slots }: CustomAttributes, name: string): Column | undefined {
  const kind = columnKinds.get(types.get(name) ?? 0);
  const slot = slots.get(name);
  return kind === undefined || slot === undefined ? undefined : { name: slot, kind };
}

function otherName(name: string): string {
  const bare = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  if (bare === 'ScheduleId') return 'WorkflowId';
  return bare === name ? prefix + name : bare;
}
