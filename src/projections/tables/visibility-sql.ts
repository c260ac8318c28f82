/**
 * The statements of List and Count. The namespace is the first condition of each and the first column of every index.
 *
 * Rows go by (sort_ms, start_ms, run_id), all descending. A later page begins behind a row. For PostgreSQL the bound on sort_ms is written alone
 * as well, for without it PostgreSQL walks the index from its beginning. SQLite would go by that bound alone then, and read all open runs,
 * which share one sort_ms, for each page of them.
 */
import type { Column, Comparison, Condition, Operand } from '../../filter/condition.ts';
import type { VisibilityCount, VisibilityKeyset, VisibilityList } from '../visibility/row.ts';
import { conditionSql, isUuidText, SqlBuilder, type ByRuns, type Dialect, type Sql } from './condition-sql.ts';

const order: Column = { name: 'sort_ms', kind: 'datetime' };

/** Which rows a statement looks at. */
export type Stretch = {
  /** Rows behind `after`, down to `until`, which is included; undefined: no bound. */
  readonly after?: VisibilityKeyset | undefined;
  readonly until?: VisibilityKeyset | undefined;
  /** SQLite: of these runs. */
  readonly runIds?: readonly string[] | undefined;
  /** A term that is true of all rows. */
  readonly watch?: string | undefined;
};

/** `columns`: what is selected; `from`: the visibility table, perhaps with its schema or the index that is to be used. */
export function listSql(dialect: Dialect, columns: string, from: string, query: VisibilityList & Stretch, byRuns?: ByRuns): Sql {
  const { namespaceId, condition, max } = query;
  const builder = new SqlBuilder(dialect, byRuns);
  const where = whereSql(builder, namespaceId, condition, query);
  const limit = builder.parameter(BigInt(max));
  const text = `SELECT ${columns} FROM ${from} WHERE ${where} ORDER BY sort_ms DESC, start_ms DESC, run_id DESC LIMIT ${limit}`;
  return { text, parameters: builder.parameters };
}

/** Columns `status` (when grouped by it) and `count`. */
export function countSql(dialect: Dialect, from: string, query: VisibilityCount & Stretch, byRuns?: ByRuns): Sql {
  const builder = new SqlBuilder(dialect, byRuns);
  return { text: countedSql(builder, from, query), parameters: builder.parameters };
}

const division: Column = { name: 'TemporalNamespaceDivision', kind: 'keyword' };

/**
 * A count of many rows. Nearly every query leaves out rows of a division, and no index has that column: a million rows would be
 * read for it. So all are counted, by an index alone, and then those of a division, which are few or none and have an index of their own
 * (`divided`: the table, to be read by it).
 */
export function largeCountSql(dialect: Dialect, from: string, divided: string, query: VisibilityCount & Stretch): Sql {
  const [whole, taken] = largeCountParts(query);
  if (whole === undefined || taken === undefined) return countSql(dialect, from, query);
  const builder = new SqlBuilder(dialect);
  const all = countedSql(builder, from, whole.part);
  const others = countedSql(builder, divided, taken.part);
  const text = query.byStatus
    ? `SELECT status, CAST(sum(count) AS bigint) AS count
        FROM (${all} UNION ALL SELECT status, -count FROM (${others}) AS others) AS counted GROUP BY status HAVING sum(count) > 0`
    : `SELECT (${all}) - (${others}) AS count`;
  return { text, parameters: builder.parameters };
}

/** The two counts of `largeCountSql`, of which the second is subtracted; one count where rows of a division are not left out. */
export function largeCountParts<Query extends VisibilityCount>(query: Query): readonly { readonly part: Query; readonly sign: 1 | -1 }[] {
  const condition = withoutDivision(query.condition);
  if (condition === 'none') return [{ part: query, sign: 1 }];
  const isDivided: Condition = { kind: 'isNull', column: division, not: true };
  const divided: Condition = condition === undefined ? isDivided : { kind: 'and', conditions: [isDivided, condition] };
  return [
    { part: { ...query, condition }, sign: 1 },
    { part: { ...query, condition: divided }, sign: -1 },
  ];
}

/** `status` and `is_met` of each row that `term` finds: whoever reads may pause after each, however few meet the condition. */
export function entriesSql(from: string, term: Condition, { namespaceId, condition }: VisibilityCount): Sql {
  const builder = new SqlBuilder('sqlite');
  const isMet = condition === undefined || condition === term ? '1' : `CASE WHEN ${conditionSql(builder, condition)} THEN 1 ELSE 0 END`;
  const where = whereSql(builder, namespaceId, term, {});
  return { text: `SELECT status, ${isMet} AS is_met FROM ${from} WHERE ${where}`, parameters: builder.parameters };
}

/** What else each row must meet; 'none': the condition does not leave out the rows of a division. */
function withoutDivision(condition: Condition | undefined): Condition | undefined | 'none' {
  const terms = condition?.kind === 'and' ? condition.conditions : condition === undefined ? [] : [condition];
  const rest = terms.filter((term) => term.kind !== 'isNull' || term.not || term.column.name !== division.name);
  if (rest.length === terms.length) return 'none';
  return rest.length < 2 ? rest[0] : { kind: 'and', conditions: rest };
}

function countedSql(builder: SqlBuilder, from: string, query: VisibilityCount & Stretch): string {
  const { namespaceId, condition, byStatus } = query;
  const where = whereSql(builder, namespaceId, condition, query);
  const [status, groupBy] = byStatus ? ['status, ', ' GROUP BY status'] : ['', ''];
  return `SELECT ${status}count(*) AS count FROM ${from} WHERE ${where}${groupBy}`;
}

function whereSql(
  builder: SqlBuilder,
  namespaceId: string,
  condition: Condition | undefined,
  { after, until, runIds, watch }: Stretch,
): string {
  // Only what the database takes for an id can be the id of a row.
  if (!isUuidText(namespaceId)) return 'FALSE';
  const terms = [`namespace_id = ${builder.id(namespaceId)}`];
  if (watch !== undefined) terms.push(watch);
  if (runIds !== undefined) terms.push(`run_id IN (SELECT value FROM json_each(${builder.parameter(JSON.stringify(runIds))}))`);
  if (after !== undefined) terms.push(behindSql(builder, after));
  if (until !== undefined) terms.push(`${place} >= (${keyset(builder, until)})`);
  for (const bound of orderBounds(condition, builder.dialect === 'sqlite' ? after : undefined)) terms.push(conditionSql(builder, bound));
  if (condition !== undefined) terms.push(conditionSql(builder, condition));
  return terms.join(' AND ');
}

/**
 * What a condition on the close time says of the order: of closed runs sort_ms is the same, and every index of List ends with it. Only of
 * conditions that each row must meet, for of open runs it is another. Behind a row that has met them nothing is newer than they allow: SQLite
 * would else begin there, and not at the row.
 */
export function orderBounds(condition: Condition | undefined, after: VisibilityKeyset | undefined): readonly Condition[] {
  const terms = condition?.kind === 'and' ? condition.conditions : condition === undefined ? [] : [condition];
  return terms.flatMap((term): readonly Condition[] => {
    if (!('column' in term) || term.column.name !== 'CloseTime') return [];
    const compare = (operator: Comparison, operand: Operand): Condition => ({ kind: 'compare', column: order, operator, operand });
    if (term.kind === 'between' && !term.not) {
      return [compare('>=', term.low), ...(after === undefined ? [compare('<=', term.high)] : [])];
    }
    if (term.kind !== 'compare' || term.operator === '!=') return [];
    if (after === undefined) return [compare(term.operator, term.operand)];
    if (term.operator === '=') return [compare('>=', term.operand)];
    return term.operator === '>' || term.operator === '>=' ? [compare(term.operator, term.operand)] : [];
  });
}

const place = '(sort_ms, start_ms, run_id)';

function behindSql(builder: SqlBuilder, after: VisibilityKeyset): string {
  const bound = builder.dialect === 'postgres' ? `sort_ms <= ${builder.parameter(after.sortMs)} AND ` : '';
  return `${bound}${place} < (${keyset(builder, after)})`;
}

function keyset(builder: SqlBuilder, { sortMs, startTimeMs, runId }: VisibilityKeyset): string {
  return [builder.parameter(sortMs), builder.parameter(startTimeMs), builder.id(runId)].join(', ');
}
