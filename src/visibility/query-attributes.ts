import { type CustomAttributes, customColumn, predefinedColumns, systemColumns } from './columns.ts';
import type { Column } from '../filter/condition.ts';

/** What a name in a query means; undefined: nothing. */
export type QueryAttributes = (name: string) => { readonly column: Column } | undefined;

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

function otherName(name: string): string {
  const bare = name.startsWith(prefix) ? name.slice(prefix.length) : name;
  if (bare === 'ScheduleId') return 'WorkflowId';
  return bare === name ? prefix + name : bare;
}
