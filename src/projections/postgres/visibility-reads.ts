/** List and Count: rows of any shard, as they are served. */
import { listedRow, servedColumns } from '../tables/visibility-row-columns.ts';
import { largeCountSql, listSql } from '../tables/visibility-sql.ts';
import { quoted } from './names.ts';
import { rowReader } from './reads.ts';
import type { Asked, VisibilityPort } from '../database-port.ts';
import type { Row } from './connections.ts';
import type { RevocableReads } from './revocable-reads.ts';
import type { Sql } from '../tables/condition-sql.ts';
import type { VisibilityList } from '../visibility/row.ts';

export function visibilityReads(reads: RevocableReads, schema: string): Pick<VisibilityPort, 'list' | 'count'> {
  const table = `${quoted(schema)}.visibility`;
  /** No two filters are alike: none is prepared. */
  const rowsOf = ({ text, parameters }: Sql, asked: Asked | undefined): Promise<readonly Row[]> =>
    reads.use(asked, async (session) => (await session.query<Row>({ text }, parameters)).rows);
  return {
    list: async (query) => ({ rows: (await rowsOf(pageSql(table, query), query.asked)).map((row) => listedRow(row, rowReader)) }),
    count: async (query) => {
      const rows = await rowsOf(largeCountSql('postgres', table, table, query), query.asked);
      return rows.map((row) => ({
        status: query.byStatus ? rowReader.number(row, 'status') : undefined,
        count: rowReader.number(row, 'count'),
      }));
    },
  };
}

/** Rows that have no room stay where they are: a page of them might be larger than our memory. */
function pageSql(table: string, query: VisibilityList): Sql {
  if (query.bytesMax === undefined) return listSql('postgres', servedColumns, table, query);
  const { text, parameters } = listSql('postgres', `${servedColumns}, sort_ms`, table, query);
  const order = 'sort_ms DESC, start_ms DESC, run_id DESC';
  const bytes = 'coalesce(octet_length(memo), 0) + coalesce(octet_length(search_attributes), 0)';
  const before = `sum(${bytes}) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;
  return {
    text: `SELECT ${servedColumns} FROM (SELECT *, ${before} AS bytes_before FROM (${text}) AS page) AS summed
        WHERE coalesce(bytes_before, 0) < $${parameters.length + 1} ORDER BY ${order}`,
    parameters: [...parameters, BigInt(query.bytesMax)],
  };
}
