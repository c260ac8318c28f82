/**
 * The table that List and Count read: a column for each thing that a filter can name.
 *
 * Attributes and slots are columns of their type; lists, and texts cut into words, are arrays. Each has an index of the rows that have it, in
 * the order of List: one that nobody uses costs nothing. Their names are as in `visibility/columns.ts`, without quotes.
 */
import { attributeColumns, instantNames } from '../tables/attribute-columns.ts';
import { partColumn } from '../tables/instant-sql.ts';
import { visibilityColumns } from '../tables/visibility-row-columns.ts';
import type { ColumnKind } from '../../filter/condition.ts';

const sqlTypes: Readonly<Record<ColumnKind, string>> = {
  keyword: 'text',
  text: 'text[]',
  int: 'bigint',
  double: 'double precision',
  bool: 'boolean',
  datetime: 'bigint',
  /** Its whole milliseconds (instant-sql.ts). */
  instant: 'bigint',
  keywordList: 'text[]',
};

type Definition = { readonly name: string; readonly type: string };

/** `keyword07 text`; PostgreSQL folds what has no quotes. */
export const attributeDefinitions = attributeColumns.map(({ name, kind }) => ({ name: name.toLowerCase(), type: sqlTypes[kind] }));

/** Parts of a millisecond. */
export const partDefinitions = instantNames.map((name) => ({ name: partColumn(name.toLowerCase()), type: 'integer' }));

const order = 'sort_ms DESC, start_ms DESC, run_id DESC';

/** Statistics of what is queried by many conditions are kept fresh. */
export const analyzed = `WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2,
  autovacuum_analyze_scale_factor = 0.02)`;

export function columnDefinition({ name, type, optional }: Definition & { readonly optional?: true }): string {
  return `${name} ${type}${type.startsWith('text') ? ' COLLATE "C"' : ''}${optional === true ? '' : ' NOT NULL'}`;
}

export function visibilityTable(at: string): readonly string[] {
  const indexed = (name: string, column: string, where = ''): string =>
    `CREATE INDEX visibility_${name} ON ${at}.visibility (namespace_id, ${column}${order})${where}`;
  const byVersion = visibilityColumns.findIndex(({ name }) => name === 'version') + 1;
  const [before, behind] = [visibilityColumns.slice(0, byVersion), visibilityColumns.slice(byVersion)];
  const system = [...before, { name: 'sort_ms', type: 'bigint' }, ...behind].map(columnDefinition);
  const attributes = [...attributeDefinitions, ...partDefinitions].map((each) => columnDefinition({ ...each, optional: true }));
  return [
    `CREATE TABLE ${at}.visibility (
  ${[...system.slice(0, -2), ...attributes, ...system.slice(-2)].join(',\n  ')},
  PRIMARY KEY (run_id, namespace_id)
) ${analyzed}`,
    indexed('sort', ''),
    indexed('workflow_id', 'workflow_id, '),
    indexed('workflow_type', 'workflow_type, '),
    indexed('status', 'status, '),
    `CREATE INDEX visibility_start ON ${at}.visibility (namespace_id, start_ms DESC)`,
    ...attributeDefinitions.map(({ name, type }) =>
      type === 'text[]'
        ? `CREATE INDEX visibility_${name} ON ${at}.visibility USING gin (${name}) WHERE ${name} IS NOT NULL`
        : indexed(name, `${name}, `, ` WHERE ${name} IS NOT NULL`),
    ),
    // Children of one parent, which a workflow's page asks for: without it that walks the namespace.
    indexed('parent_workflow_id', 'parent_workflow_id, ', ' WHERE parent_workflow_id IS NOT NULL'),
    // All runs below one root. Most runs are their own root, and cost nothing here: they are found by their own ids (`ownColumn`).
    indexed('root_workflow_id', 'root_workflow_id, ', ' WHERE root_workflow_id <> workflow_id'),
    indexed('root_run_id', 'root_run_id, ', ' WHERE root_run_id <> run_id::text'),
    // For Count, of all and by status: PostgreSQL keeps a key that many rows share once, so this takes 7 bytes a row and is read whole in a third of
    // the time that the index of List takes (138). SQLite, which repeats the key, would take 47 for a fifth of the time.
    `CREATE INDEX visibility_counted ON ${at}.visibility (namespace_id, status)`,
  ];
}
