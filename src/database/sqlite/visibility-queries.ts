/** List and Count: the statements are the same for both databases (`visibility-sql.ts`). */
import { countSql, largeCountSql, listSql } from '../visibility-sql.ts';
import { wholeOf } from './values.ts';
import { byDivision, indexProbes, orderedFrom, selectiveRowsMax, type IndexProbe } from './index-choice.ts';
import { listedColumns, listedRow } from './visibility-rows.ts';
import { servedBytes, type ListedRow, type VisibilityCount, type VisibilityList, type VisibilityPage } from '../../visibility/row.ts';
import type { Connection } from './connection.ts';

type StatusCount = { readonly status: number | undefined; readonly count: number };

export function listRows(connection: Connection, query: VisibilityList): VisibilityPage {
  const probes = indexProbes(query.namespaceId, query.condition);
  const probe = selective(connection, probes);
  const { text, parameters } = listSql('sqlite', listedColumns, probe?.from ?? orderedFrom(probes), query, probe?.byWords);
  const rows: ListedRow[] = [];
  let bytes = 0;
  for (const row of connection.prepare(text).iterate(...sqliteParameters(parameters))) {
    const served = listedRow(row);
    rows.push(served);
    bytes += servedBytes(served);
    if (query.bytesMax !== undefined && bytes >= query.bytesMax) break;
  }
  return { rows };
}

export function countRows(connection: Connection, query: VisibilityCount): readonly StatusCount[] {
  const probe = selective(connection, indexProbes(query.namespaceId, query.condition));
  const { text, parameters } =
    probe === undefined ? largeCountSql('sqlite', 'visibility', byDivision, query) : countSql('sqlite', probe.from, query, probe.byWords);
  const rows = connection.prepare(text).all(...sqliteParameters(parameters));
  return rows.map((row) => ({ status: query.byStatus ? wholeOf(row, 'status') : undefined, count: wholeOf(row, 'count') }));
}

function selective(connection: Connection, probes: readonly IndexProbe[]): IndexProbe | undefined {
  return probes.find(({ count: { text, parameters } }) => {
    const row = connection.prepare(text).get(...sqliteParameters(parameters));
    return row !== undefined && wholeOf(row, 'count') < selectiveRowsMax;
  });
}

function sqliteParameters(parameters: readonly (string | number | bigint | boolean)[]): readonly (string | number | bigint)[] {
  return parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value));
}
