/** List and Count: the statements are the same for both databases (`visibility-sql.ts`). */
import { countSql, listSql } from '../visibility-sql.ts';
import { wholeOf } from './values.ts';
import { listedColumns, listedRow } from './visibility-rows.ts';
import type { VisibilityCount, VisibilityList, VisibilityPage } from '../../visibility/row.ts';
import type { Connection } from './connection.ts';

type StatusCount = { readonly status: number | undefined; readonly count: number };

export function listRows(connection: Connection, query: VisibilityList): VisibilityPage {
  const { text, parameters } = listSql('sqlite', listedColumns, 'visibility', query);
  return {
    rows: connection
      .prepare(text)
      .all(...sqliteParameters(parameters))
      .map(listedRow),
  };
}

export function countRows(connection: Connection, query: VisibilityCount): readonly StatusCount[] {
  const { text, parameters } = countSql('sqlite', 'visibility', query);
  const rows = connection.prepare(text).all(...sqliteParameters(parameters));
  return rows.map((row) => ({ status: query.byStatus ? wholeOf(row, 'status') : undefined, count: wholeOf(row, 'count') }));
}

function sqliteParameters(parameters: readonly (string | number | bigint | boolean)[]): readonly (string | number | bigint)[] {
  return parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value));
}
