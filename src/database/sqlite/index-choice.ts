/**
 * Which index a List or Count goes by. SQLite knows no frequencies: for `Int01 > 5 ORDER BY sort_ms` it walks all rows in their order, 1.4 s
 * of a million, where the index of Int01 has the ten that are asked for.
 *
 *     conditions that an index can answer ── count each, up to 2,000 ──▶ the first with fewer: by its index, then sorted
 *                                                                       none: in the order of List, where every page fills soon
 */
import type { Condition } from '../../visibility/condition.ts';
import { conditionSql, isUuidText, SqlBuilder, wordsSql, type ByWords, type Sql } from '../condition-sql.ts';

/** So many rows are read and sorted in a few milliseconds. */
export const selectiveRowsMax = 2_000;

/** Each costs at most one walk over `selectiveRowsMax` entries of an index. */
const probesMax = 8;

/** Indexes of columns that are not attributes. */
const systemIndexes: Readonly<Record<string, string>> = {
  WorkflowId: 'visibility_workflow_id',
  WorkflowType: 'visibility_workflow_type',
  ExecutionStatus: 'visibility_status',
  StartTime: 'visibility_start',
};

/** SQLite's name for the index of the primary key. */
const byKey = 'visibility INDEXED BY sqlite_autoindex_visibility_1';

/** For rows that have a division. */
export const byDivision = 'visibility INDEXED BY visibility_TemporalNamespaceDivision';

export type IndexProbe = {
  readonly term: Condition;
  /** Gives `count`, at most `selectiveRowsMax`. */
  readonly count: Sql;
  /** The table, to be read by the index. */
  readonly from: string;
  readonly byWords: ByWords | undefined;
  /** What it finds comes in the order of List. */
  readonly isOrdered: boolean;
};

/** An index in the order of List, and the term that all of its part has which is walked. */
export type OrderedIndex = { readonly from: string; readonly term: Condition | undefined };

export const inOrder: OrderedIndex = { from: 'visibility INDEXED BY visibility_sort', term: undefined };

/** Where every condition finds many: a page fills before much was read. */
export function orderedIndex(probes: readonly IndexProbe[]): OrderedIndex | undefined {
  return probes.find(({ isOrdered }) => isOrdered) ?? (probes.length > 0 ? inOrder : undefined);
}

/** For conditions that all rows must meet, in the order in which they are written. */
export function indexProbes(namespaceId: string, condition: Condition | undefined): readonly IndexProbe[] {
  if (condition === undefined || !isUuidText(namespaceId)) return [];
  const terms = condition.kind === 'and' ? condition.conditions : [condition];
  return terms.flatMap((term) => probeOf(namespaceId, term) ?? []).slice(0, probesMax);
}

function probeOf(namespaceId: string, term: Condition): IndexProbe | undefined {
  switch (term.kind) {
    case 'compare':
      return term.operator === '!=' ? undefined : probeOfColumn(namespaceId, term);
    case 'in':
    case 'between':
    case 'startsWith':
      return term.not ? undefined : probeOfColumn(namespaceId, term);
    case 'isNull':
    case 'and':
    case 'or':
    case 'not':
      return undefined;
  }
}

type ColumnCondition = Condition & { readonly kind: 'compare' | 'in' | 'between' | 'startsWith' };

function probeOfColumn(namespaceId: string, term: ColumnCondition): IndexProbe | undefined {
  const { name, kind } = term.column;
  if (kind === 'keywordList' || kind === 'text') return probeOfWords(namespaceId, term);
  const isAttribute = /^(?:Keyword|Int|Double|Bool|Datetime)\d\d$|^Temporal|^Batcher/.test(name);
  const index = systemIndexes[name] ?? (isAttribute ? `visibility_${name}` : undefined);
  if (index === undefined) return undefined;
  const builder = new SqlBuilder('sqlite');
  const from = `visibility INDEXED BY ${index}`;
  const found = `FROM ${from} WHERE namespace_id = ${builder.id(namespaceId)} AND ${conditionSql(builder, term)}`;
  const isOrdered = term.kind === 'compare' && term.operator === '=' && name !== 'StartTime';
  return { term, count: countSql(builder, found), from, byWords: undefined, isOrdered };
}

function probeOfWords(namespaceId: string, condition: ColumnCondition): IndexProbe | undefined {
  if (condition.kind !== 'compare' && condition.kind !== 'in') return undefined;
  const builder = new SqlBuilder('sqlite');
  const count = countSql(builder, wordsSql(builder, condition, builder.id(namespaceId)));
  return { term: condition, count, from: byKey, byWords: { namespaceId, condition }, isOrdered: false };
}

function countSql({ parameters }: SqlBuilder, found: string): Sql {
  return { text: `SELECT count(*) AS count FROM (SELECT 1 ${found} LIMIT ${selectiveRowsMax})`, parameters };
}
