/**
 * The table that List and Count read: a column for each thing that a filter can name.
 *
 * Attributes and slots are columns of their type; lists, and texts cut into words, are arrays. Each has an index of the rows that have it, in
 * the order of List: one that nobody uses costs nothing. Their names are as in `visibility/columns.ts`, without quotes.
 */
import { partColumn } from '../instant-sql.ts';
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

const slots = (prefix: string, kind: ColumnKind, count: number): readonly (readonly [string, ColumnKind])[] =>
  Array.from({ length: count }, (_, index) => [`${prefix}${String(index + 1).padStart(2, '0')}`, kind]);

/** The tables were made with these (migration 1): never changed, whatever attributes there will be. */
const firstAttributes: readonly (readonly [string, ColumnKind])[] = [
  ['TemporalChangeVersion', 'keywordList'],
  ['BinaryChecksums', 'keywordList'],
  ['BuildIds', 'keywordList'],
  ['BatcherNamespace', 'keyword'],
  ['BatcherUser', 'keyword'],
  ['TemporalScheduledStartTime', 'instant'],
  ['TemporalScheduledById', 'keyword'],
  ['TemporalSchedulePaused', 'bool'],
  ['TemporalNamespaceDivision', 'keyword'],
  ['TemporalPauseInfo', 'keywordList'],
  ['TemporalReportedProblems', 'keywordList'],
  ['TemporalWorkerDeployment', 'keyword'],
  ['TemporalWorkerDeploymentVersion', 'keyword'],
  ['TemporalWorkflowVersioningBehavior', 'keyword'],
  ['TemporalUsedWorkerDeploymentVersions', 'keywordList'],
  ['TemporalExternalPayloadCount', 'int'],
  ['TemporalExternalPayloadSizeBytes', 'int'],
  ...slots('Keyword', 'keyword', 20),
  ...slots('Text', 'text', 6),
  ...slots('Int', 'int', 6),
  ...slots('Double', 'double', 6),
  ...slots('Bool', 'bool', 6),
  ...slots('Datetime', 'instant', 6),
  ...slots('KeywordList', 'keywordList', 6),
];

/** All attributes. One that comes later is added behind the first ones here, and its column by a migration of its own. */
export const attributeKinds: ReadonlyMap<string, ColumnKind> = new Map<string, ColumnKind>(firstAttributes);

type Definition = { readonly name: string; readonly type: string };

/** `keyword07 text`; PostgreSQL folds what has no quotes. */
const definitionOf = ([name, kind]: readonly [string, ColumnKind]): Definition => ({ name: name.toLowerCase(), type: sqlTypes[kind] });
export const attributeDefinitions: readonly Definition[] = [...attributeKinds].map(definitionOf);

/** The instants, and the columns of their parts of a millisecond. */
const instants = [...attributeKinds].filter(([, kind]) => kind === 'instant').map(([name]) => name.toLowerCase());
export const partDefinitions: readonly Definition[] = instants.map(partOf);

function partOf(name: string): Definition {
  return { name: partColumn(name), type: 'integer' };
}

/** The instants of migration 8, which added the columns of their parts: never changed. */
const firstInstants = [
  'temporalscheduledstarttime',
  'datetime01',
  'datetime02',
  'datetime03',
  'datetime04',
  'datetime05',
  'datetime06',
] as const;

/**
 * Rows that were written before have whole milliseconds. Only the runs know more: if there is such a row, List is built again from them.
 */
export function instantParts(at: string): readonly string[] {
  const isSet = firstInstants.map((name) => `EXISTS (SELECT 1 FROM ${at}.visibility WHERE ${name} IS NOT NULL)`);
  return [
    `ALTER TABLE ${at}.visibility ${firstInstants
      .map(partOf)
      .map(({ name, type }) => `ADD COLUMN ${name} ${type}`)
      .join(', ')}`,
    `INSERT INTO ${at}.perdure (name, value) SELECT 'list rebuild ' || partition, 'asked' FROM ${at}.journals
WHERE kind = 'history' AND (${isSet.join(' OR ')}) ON CONFLICT (name) DO NOTHING`,
  ];
}

const order = 'sort_ms DESC, start_ms DESC, run_id DESC';

/** Children of one parent, which a workflow's page asks for: without it that walks the namespace. */
export function parentIndex(at: string): string {
  return indexSql(at, 'parent_workflow_id', 'parent_workflow_id, ', ' WHERE parent_workflow_id IS NOT NULL');
}

/** All runs below one root. Most runs are their own root, and cost nothing here: they are found by their own ids (`ownColumn`). */
export function rootIndexes(at: string): readonly string[] {
  return [
    indexSql(at, 'root_workflow_id', 'root_workflow_id, ', ' WHERE root_workflow_id <> workflow_id'),
    indexSql(at, 'root_run_id', 'root_run_id, ', ' WHERE root_run_id <> run_id::text'),
  ];
}

/**
 * For Count, of all and by status: PostgreSQL keeps a key that many rows share once, so this takes 7 bytes a row and is read whole in a third of
 * the time that the index of List takes (138). SQLite, which repeats the key, would take 47 for a fifth of the time.
 */
export function countIndex(at: string): string {
  return `CREATE INDEX visibility_counted ON ${at}.visibility (namespace_id, status)`;
}

function indexSql(at: string, name: string, column: string, where = ''): string {
  return `CREATE INDEX visibility_${name} ON ${at}.visibility (namespace_id, ${column}${order})${where}`;
}

export function visibilityTable(at: string): readonly string[] {
  const definitions = firstAttributes.map(definitionOf);
  const indexed = (name: string, column: string, where = ''): string => indexSql(at, name, column, where);
  return [
    `CREATE TABLE ${at}.visibility (
  namespace_id uuid NOT NULL,
  run_id uuid NOT NULL,
  shard integer NOT NULL,
  status integer NOT NULL,
  version bigint NOT NULL,
  sort_ms bigint NOT NULL,
  start_ms bigint NOT NULL,
  execution_ms bigint NOT NULL,
  close_ms bigint,
  execution_duration_ms bigint,
  history_length bigint,
  history_size_bytes bigint,
  state_transition_count bigint,
  workflow_id text COLLATE "C" NOT NULL,
  workflow_type text COLLATE "C" NOT NULL,
  task_queue text COLLATE "C" NOT NULL,
  parent_workflow_id text COLLATE "C",
  parent_run_id text COLLATE "C",
  root_workflow_id text COLLATE "C",
  root_run_id text COLLATE "C",
  ${definitions.map(({ name, type }) => `${name} ${type}${type.startsWith('text') ? ' COLLATE "C"' : ''}`).join(',\n  ')},
  memo bytea,
  search_attributes bytea,
  PRIMARY KEY (run_id, namespace_id)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2,
  autovacuum_analyze_scale_factor = 0.02)`,
    indexed('sort', ''),
    indexed('workflow_id', 'workflow_id, '),
    indexed('workflow_type', 'workflow_type, '),
    indexed('status', 'status, '),
    `CREATE INDEX visibility_start ON ${at}.visibility (namespace_id, start_ms DESC)`,
    ...definitions.map(({ name, type }) =>
      type === 'text[]'
        ? `CREATE INDEX visibility_${name} ON ${at}.visibility USING gin (${name}) WHERE ${name} IS NOT NULL`
        : indexed(name, `${name}, `, ` WHERE ${name} IS NOT NULL`),
    ),
  ];
}
