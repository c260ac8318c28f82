/**
 * Which index a List or Count goes by. SQLite knows no frequencies: for `Int01 > 5 ORDER BY sort_ms` it walks all rows in their order, 1.4 s
 * of a million, where the index of Int01 has the ten that are asked for.
 *
 *     conditions that an index can answer ── count each, up to 2,000 ──▶ the first with fewer: by its index, then sorted
 *                                                                       none: in the order of List, where every page fills soon
 */
import type { Column, Condition } from '../../filter/condition.ts';
import { conditionSql, isFindable, isList, isOwnSql, isUuidText, ownColumn, SqlBuilder, wordsSql } from '../tables/condition-sql.ts';
import type { ByRuns, ColumnCondition, Sql } from '../tables/condition-sql.ts';
import { indexedPart } from '../tables/instant-sql.ts';
import { inTimeSql } from './connection.ts';

/** So many rows are read and sorted in a few milliseconds. */
export const selectiveRowsMax = 2_000;

/** So many are sooner put in order than found by a walk through all, when a page did not fill at its beginning. */
export const narrowRowsMax = 20_000;

/** How many conditions are probed. Each costs at most one walk over `selectiveRowsMax` entries of an index, and then over `narrowRowsMax`. */
const probesMax = 8;

/** Indexes of columns that are not attributes. */
const systemIndexes: Readonly<Record<string, string>> = {
  RunId: 'sqlite_autoindex_visibility_1',
  WorkflowId: 'visibility_workflow_id',
  WorkflowType: 'visibility_workflow_type',
  ExecutionStatus: 'visibility_status',
  StartTime: 'visibility_start',
  ParentWorkflowId: 'visibility_parent_workflow_id',
  RootWorkflowId: 'visibility_root_workflow_id',
  RootRunId: 'visibility_root_run_id',
};

/** SQLite's name for the index of the primary key. */
export const byKey = 'visibility INDEXED BY sqlite_autoindex_visibility_1';

/** For rows that have a division. */
export const byDivision = 'visibility INDEXED BY visibility_TemporalNamespaceDivision';

export type IndexProbe = {
  readonly term: Condition;
  /** Gives `count`, at most `max`. */
  readonly count: (max: number) => Sql;
  /** The table, to be read by the index. */
  readonly from: string;
  readonly byRuns: ByRuns | undefined;
  /** What it finds comes in the order of List. */
  readonly isOrdered: boolean;
};

/** An index in the order of List, and the term that all of its part has which is walked. */
export type OrderedIndex = { readonly from: string; readonly term: Condition | undefined };

export const inOrder: OrderedIndex = { from: 'visibility INDEXED BY visibility_sort', term: undefined };

/** The index of statuses, once for each status that a row can have. */
export const byEachStatus: readonly OrderedIndex[] = Array.from({ length: 9 }, (_, operand) => ({
  from: 'visibility INDEXED BY visibility_status',
  term: { kind: 'compare', column: { name: 'ExecutionStatus', kind: 'int' }, operator: '=', operand },
}));

/** Where every condition finds many, a page fills soon: by the status, if one is asked for, as other orders begin with all open runs. */
export function orderedIndex(probes: readonly IndexProbe[]): OrderedIndex | undefined {
  const ordered = probes.filter(({ isOrdered }) => isOrdered);
  const byStatus = ordered.find(({ from }) => from.endsWith(' visibility_status'));
  return byStatus ?? ordered[0] ?? (probes.length > 0 ? inOrder : undefined);
}

/** For conditions that all rows must meet, in the order in which they are written. */
export function indexProbes(namespaceId: string, condition: Condition | undefined): readonly IndexProbe[] {
  if (condition === undefined || !isUuidText(namespaceId)) return [];
  const terms = condition.kind === 'and' ? condition.conditions : [condition];
  return terms.flatMap((term) => probeOf(namespaceId, term) ?? []).slice(0, probesMax);
}

function probeOf(namespaceId: string, asked: Condition): IndexProbe | undefined {
  const term = isFindable(asked) ? indexedPart(asked) : asked;
  const isElsewhere = 'column' in term && (isList(term.column) || ownColumn(term.column) !== undefined);
  const found = foundSql(namespaceId, term);
  if (found === undefined) return undefined;
  const count = (max: number): Sql => {
    const builder = new SqlBuilder('sqlite');
    return { text: `SELECT count(*) AS count FROM (${found(builder, '1')} LIMIT ${max})`, parameters: builder.parameters };
  };
  if (term.kind === 'or' || isElsewhere) {
    return { term, count, from: byKey, byRuns: { condition: term, runs: (within) => found(within, 'run_id') }, isOrdered: false };
  }
  const isOrdered = term.kind === 'compare' && term.operator === '=' && term.column.name !== 'StartTime';
  return { term, count, from: fromOf(term) ?? '', byRuns: undefined, isOrdered };
}

/** A SELECT of the rows, or words of rows, that an index finds for a condition, `columns` of each. */
type Found = (builder: SqlBuilder, columns: string) => string;

function foundSql(namespaceId: string, term: Condition): Found | undefined {
  if (term.kind === 'or') return foundByAny(namespaceId, term.conditions);
  return isFindable(term) ? foundByColumn(namespaceId, term) : undefined;
}

/** Finds the rows of each condition by an index, or of none. */
function foundByAny(namespaceId: string, conditions: readonly Condition[]): Found | undefined {
  const found = conditions.flatMap((condition) => foundSql(namespaceId, condition) ?? []);
  if (found.length < conditions.length) return undefined;
  return (builder, columns) => found.map((one) => one(builder, columns)).join(' UNION ALL ');
}

function foundByColumn(namespaceId: string, term: ColumnCondition): Found | undefined {
  if (isList(term.column)) {
    if (term.kind !== 'compare' && term.kind !== 'in') return undefined;
    return (builder, columns) => `SELECT ${columns} ${wordsSql(builder, term, builder.id(namespaceId))}`;
  }
  const own = ownColumn(term.column);
  if (own !== undefined) return foundByRoot(namespaceId, term, own);
  const from = fromOf(term);
  if (from === undefined) return undefined;
  // Of many in one millisecond it may find none.
  const watch = term.column.kind === 'instant' ? ` AND ${inTimeSql}` : '';
  return (builder, columns) =>
    `SELECT ${columns} FROM ${from} WHERE namespace_id = ${builder.id(namespaceId)} AND ${conditionSql(builder, term)}${watch}`;
}

/** Finds the runs below a root, and those that are one. */
function foundByRoot(namespaceId: string, term: ColumnCondition, own: Column): Found | undefined {
  // All of them, or nearly.
  if (term.kind === 'isNull') return undefined;
  const found = (of: ColumnCondition, is: '=' | '<>'): Found => {
    return (builder, columns) =>
      `SELECT ${columns} FROM ${fromOf(of) ?? ''} WHERE namespace_id = ${builder.id(namespaceId)} AND ${conditionSql(builder, of)}
        AND ${inTimeSql} AND ${isOwnSql(builder.dialect, term.column, own, is)}`;
  };
  // Not the condition itself: that is asked by the runs that these find.
  const [below, roots] = [found({ ...term }, '<>'), found({ ...term, column: own }, '=')];
  return (builder, columns) => `${below(builder, columns)} UNION ALL ${roots(builder, columns)}`;
}

/** The table, to be read by the column's index. */
function fromOf(term: Condition): string | undefined {
  if (!('column' in term)) return undefined;
  const { name } = term.column;
  const isAttribute = /^(?:Keyword|Int|Double|Bool|Datetime)\d\d$|^Temporal|^Batcher/.test(name);
  const index = systemIndexes[name] ?? (isAttribute ? `visibility_${name}` : undefined);
  return index === undefined ? undefined : `visibility INDEXED BY ${index}`;
}
