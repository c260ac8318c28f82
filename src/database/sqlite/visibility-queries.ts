/**
 * List and Count: the statements are the same for both databases (`visibility-sql.ts`).
 *
 * A query that finds little by an index, or counts by an index alone, is one statement. Any other walks an index in the order of List, maybe all
 * of it: that goes in stretches, one turn each, so that whoever else needs this connection waits for a stretch and not for the walk.
 *
 *     ├── stretch ──┤ others ├── stretch ──┤ others ├── stretch ──┤        a page that is full ends it
 *
 * If the first stretch does not fill the page, and an index finds not very many, the rest is read by that index.
 *
 * Each stretch sees the rows of its moment. A run that closes meanwhile moves to where the walk has not been yet: a page has it once, as it was
 * when the walk came by first; a Count may count it at both places.
 */
import type { Condition } from '../../visibility/condition.ts';
import {
  servedBytes,
  type ListedRow,
  type VisibilityCount,
  type VisibilityKeyset,
  type VisibilityList,
  type VisibilityPage,
} from '../../visibility/row.ts';
import type { Sql } from '../condition-sql.ts';
import { countSql, largeCountSql, listSql, orderBounds } from '../visibility-sql.ts';
import {
  byDivision,
  indexProbes,
  inOrder,
  narrowRowsMax,
  orderedIndex,
  selectiveRowsMax,
  type IndexProbe,
  type OrderedIndex,
} from './index-choice.ts';
import { textOf, wholeOf, type SqlRow } from './values.ts';
import { listedColumns, listedRow } from './visibility-rows.ts';
import type { Connection } from './connection.ts';

export type StatusCount = { readonly status: number | undefined; readonly count: number };

/** Entries of an index that are read in one turn, each with its row: some milliseconds, ten where the file is not in memory. */
const stretchEntries = 5_000;

/** Between two steps the connection may have been opened anew. */
export function* listSteps(opened: () => Connection, query: VisibilityList, entries = stretchEntries): Generator<void, VisibilityPage> {
  const probes = indexProbes(query.namespaceId, query.condition);
  const probe = narrowest(opened(), probes, selectiveRowsMax);
  const rows = new Map<string, ListedRow>();
  const index = probe === undefined ? (orderedIndex(probes) ?? walkOf(opened(), query)) : undefined;
  if (index === undefined) {
    addRows(rows, opened(), listSql('sqlite', listedColumns, probe?.from ?? 'visibility', query, probe?.byRuns), query);
    return { rows: [...rows.values()] };
  }
  let bytes = 0;
  const add = ({ from, byRuns }: Pick<IndexProbe, 'from' | 'byRuns'>, bounds: Bounds): void => {
    const sql = listSql('sqlite', listedColumns, from, { ...query, ...bounds }, byRuns);
    const bytesMax = query.bytesMax === undefined ? undefined : query.bytesMax - bytes;
    bytes += addRows(rows, opened(), sql, { max: query.max, bytesMax });
  };
  let isFirst = true;
  for (const { after, until } of stretches(opened, index, entries, query)) {
    add({ from: index.from, byRuns: undefined }, { after, until });
    if (until === undefined || rows.size >= query.max || bytes >= (query.bytesMax ?? Infinity)) break;
    const narrow = isFirst ? narrowest(opened(), probes, narrowRowsMax) : undefined;
    isFirst = false;
    yield;
    if (narrow === undefined || narrow.from === index.from) continue;
    add(narrow, { after: until, until: undefined });
    break;
  }
  return { rows: [...rows.values()] };
}

export function* countSteps(
  opened: () => Connection,
  query: VisibilityCount,
  entries = stretchEntries,
): Generator<void, readonly StatusCount[]> {
  const probes = indexProbes(query.namespaceId, query.condition);
  const probe = narrowest(opened(), probes, selectiveRowsMax);
  if (probe !== undefined) return counted(opened(), countSql('sqlite', probe.from, query, probe.byRuns), query);
  const large = largeCountSql('sqlite', 'visibility', byDivision, query);
  const read = rowsRead(opened(), large);
  const index = read === 'none' ? undefined : (probes.find(({ isOrdered }) => isOrdered) ?? (read === 'all' ? inOrder : undefined));
  if (index === undefined) return counted(opened(), large, query);
  const counts = new Map<number | undefined, number>(query.byStatus ? [] : [[undefined, 0]]);
  for (const stretch of stretches(opened, index, entries, query)) {
    for (const { status, count } of counted(opened(), countSql('sqlite', index.from, { ...query, ...stretch }), query)) {
      counts.set(status, (counts.get(status) ?? 0) + count);
    }
    if (stretch.until !== undefined) yield;
  }
  return Array.from(counts, ([status, count]) => ({ status, count }));
}

type Bounds = { readonly after: VisibilityKeyset | undefined; readonly until: VisibilityKeyset | undefined };

function* stretches(
  opened: () => Connection,
  { from, term }: OrderedIndex,
  entries: number,
  { namespaceId, condition: whole, after: first }: Omit<VisibilityCount, 'byStatus'> & { readonly after?: VisibilityKeyset | undefined },
): Generator<Bounds, void> {
  for (let after = first; ;) {
    const terms = [...(term === undefined ? [] : [term]), ...orderBounds(whole, after)];
    const condition: Condition | undefined = terms.length === 0 ? undefined : { kind: 'and', conditions: terms };
    const { text, parameters } = listSql('sqlite', 'sort_ms, start_ms, run_id', from, { namespaceId, condition, after, max: 1 });
    const end = opened()
      .prepare(`${text} OFFSET ${entries - 1}`)
      .get(...sqliteParameters(parameters));
    const until = end === undefined ? undefined : keysetOf(end);
    yield { after, until };
    if (until === undefined) return;
    after = until;
  }
}

function keysetOf(row: SqlRow): VisibilityKeyset {
  return { sortMs: wholeOf(row, 'sort_ms'), startTimeMs: wholeOf(row, 'start_ms'), runId: textOf(row, 'run_id') };
}

/** Adds rows, by run id, that are not there yet, until there is no more room for them; the bytes of those that were added. */
function addRows(
  rows: Map<string, ListedRow>,
  connection: Connection,
  { text, parameters }: Sql,
  { max, bytesMax = Infinity }: Pick<VisibilityList, 'max' | 'bytesMax'>,
): number {
  let bytes = 0;
  for (const row of connection.prepare(text).iterate(...sqliteParameters(parameters))) {
    const served = listedRow(row);
    if (rows.has(served.runId)) continue;
    rows.set(served.runId, served);
    bytes += servedBytes(served);
    if (bytes >= bytesMax || rows.size >= max) break;
  }
  return bytes;
}

function counted(connection: Connection, { text, parameters }: Sql, { byStatus }: VisibilityCount): readonly StatusCount[] {
  const rows = connection.prepare(text).all(...sqliteParameters(parameters));
  return rows.map((row) => ({ status: byStatus ? wholeOf(row, 'status') : undefined, count: wholeOf(row, 'count') }));
}

/** The first condition that finds fewer. */
function narrowest(connection: Connection, probes: readonly IndexProbe[], max: number): IndexProbe | undefined {
  return probes.find(({ count }) => {
    const { text, parameters } = count(max);
    const row = connection.prepare(text).get(...sqliteParameters(parameters));
    return row !== undefined && wholeOf(row, 'count') < max;
  });
}

/** Where no condition has a probe SQLite chooses. If all it finds is the order, that can be walked in stretches. */
function walkOf(connection: Connection, query: VisibilityList): OrderedIndex | undefined {
  const plan = planOf(connection, listSql('sqlite', listedColumns, 'visibility', query));
  const isInOrder = plan.some((step) => / INDEX visibility_sort \(/.test(step)) && !plan.some((step) => step.includes('FOR ORDER BY'));
  return isInOrder ? inOrder : undefined;
}

/** `none`: an index alone answers; `some`: those that an index finds; `all` of the namespace. */
function rowsRead(connection: Connection, count: Sql): 'none' | 'some' | 'all' {
  const [first = ''] = planOf(connection, count).filter((step) => step.includes(' visibility '));
  if (first.includes('COVERING INDEX')) return 'none';
  return /INDEX \w+ \(namespace_id=\?\)/.test(first) ? 'all' : 'some';
}

function planOf(connection: Connection, { text, parameters }: Sql): readonly string[] {
  const steps = connection.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...sqliteParameters(parameters));
  return steps.map((step) => textOf(step, 'detail'));
}

function sqliteParameters(parameters: readonly (string | number | bigint | boolean)[]): readonly (string | number | bigint)[] {
  return parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value));
}
