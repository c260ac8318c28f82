/**
 * The statements of List and Count. The namespace is the first condition of each and the first column of every index.
 *
 * Rows go by (sort_ms, start_ms, run_id), all descending. A later page begins behind a row; the bound on sort_ms is written alone as well,
 * for without it PostgreSQL walks the index from its beginning.
 */
import type { Column, Condition } from '../visibility/condition.ts';
import type { VisibilityCount, VisibilityKeyset, VisibilityList } from '../visibility/row.ts';
import { conditionSql, isUuidText, SqlBuilder, type ByWords, type Dialect, type Sql } from './condition-sql.ts';

const order: Column = { name: 'sort_ms', kind: 'datetime' };

/** `columns`: what is selected; `from`: the visibility table, perhaps with its schema or the index that is to be used. */
export function listSql(dialect: Dialect, columns: string, from: string, query: VisibilityList, byWords?: ByWords): Sql {
  const { namespaceId, condition, after, max } = query;
  const builder = new SqlBuilder(dialect, byWords);
  const where = whereSql(builder, namespaceId, condition, after);
  const limit = builder.parameter(BigInt(max));
  const text = `SELECT ${columns} FROM ${from} WHERE ${where} ORDER BY sort_ms DESC, start_ms DESC, run_id DESC LIMIT ${limit}`;
  return { text, parameters: builder.parameters };
}

/** Columns `status` (when grouped by it) and `count`. */
export function countSql(dialect: Dialect, from: string, query: VisibilityCount, byWords?: ByWords): Sql {
  const { namespaceId, condition, byStatus } = query;
  const builder = new SqlBuilder(dialect, byWords);
  const where = whereSql(builder, namespaceId, condition, undefined);
  const [status, groupBy] = byStatus ? ['status, ', ' GROUP BY status'] : ['', ''];
  return { text: `SELECT ${status}count(*) AS count FROM ${from} WHERE ${where}${groupBy}`, parameters: builder.parameters };
}

function whereSql(builder: SqlBuilder, namespaceId: string, condition: Condition | undefined, after: VisibilityKeyset | undefined): string {
  // Only what the database takes for an id can be the id of a row.
  if (!isUuidText(namespaceId)) return 'FALSE';
  const terms = [`namespace_id = ${builder.id(namespaceId)}`];
  if (after !== undefined) terms.push(behindSql(builder, after));
  if (condition !== undefined) terms.push(...boundsSql(builder, condition), conditionSql(builder, condition));
  return terms.join(' AND ');
}

/**
 * What a condition on the close time says of the order: of closed runs sort_ms is the same, and every index of List ends with it. Only of
 * conditions that each row must meet, for of open runs it is another.
 */
function boundsSql(builder: SqlBuilder, condition: Condition): readonly string[] {
  const terms = condition.kind === 'and' ? condition.conditions : [condition];
  return terms.flatMap((term) => {
    const isBound = (term.kind === 'compare' && term.operator !== '!=') || (term.kind === 'between' && !term.not);
    if (!isBound || term.column.name !== 'CloseTime') return [];
    return [conditionSql(builder, { ...term, column: order })];
  });
}

function behindSql(builder: SqlBuilder, { sortMs, startTimeMs, runId }: VisibilityKeyset): string {
  const bound = builder.parameter(sortMs);
  const keyset = [builder.parameter(sortMs), builder.parameter(startTimeMs), builder.id(runId)];
  return `sort_ms <= ${bound} AND (sort_ms, start_ms, run_id) < (${keyset.join(', ')})`;
}
