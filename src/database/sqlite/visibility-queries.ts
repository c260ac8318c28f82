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
 * Each stretch of a List sees the rows of its moment. A run that closes meanwhile moves to where the walk has not been yet: a page has it once, as
 * it was when the walk came by first. A Count would count it at both places. So it sees the rows of one moment, through a connection of its own;
 * where that is not to be had it goes by run id, which never changes: each run is counted once, as it was when the walk came by.
 */
import type { Condition } from '../../filter/condition.ts';
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
  byKey,
  indexProbes,
  inOrder,
  narrowRowsMax,
  orderedIndex,
  selectiveRowsMax,
  type IndexProbe,
  type OrderedIndex,
} from './index-choice.ts';
import { sqliteParameters, textOf, wholeOf, type SqlRow } from './values.ts';
import { listedColumns, listedRow } from './visibility-rows.ts';
import type { Connection } from './connection.ts';

export type StatusCount = { readonly status: number | undefined; readonly count: number };

/** Entries of an index that are read in one turn, each with its row: some milliseconds, ten where the file is not in memory. */
const stretchEntries = 5_000;

/** Between two steps the connection may have been opened anew. */
export function* listSteps(opened: () => Connection, query: VisibilityList, entries = stretchEntries): Generator<void, VisibilityPage> {
  const probes = indexProbes(query.namespaceId, query.condition);
  const probe = narrowest(opened(), probes, selectiveRowsMax);
  const walked = probe === undefined ? (orderedIndex(probes) ?? walkOf(opened(), query)) : undefined;
  const page = new Page(query);
  if (walked === undefined) page.read(opened(), probe ?? wholeTable);
  else yield* readWalking(opened, page, walked, probes, entries);
  return { rows: page.rows };
}

function* readWalking(
  opened: () => Connection,
  page: Page,
  walked: OrderedIndex,
  probes: readonly IndexProbe[],
  entries: number,
): Generator<void, void> {
  let isFirst = true;
  for (const { after, until } of stretches(opened, walked, entries, page.query)) {
    page.read(opened(), { from: walked.from, byRuns: undefined }, { after, until });
    if (until === undefined || page.isFull) return;
    const narrow = isFirst ? narrowest(opened(), probes, narrowRowsMax) : undefined;
    isFirst = false;
    yield;
    if (narrow !== undefined && narrow.from !== walked.from) return page.read(opened(), narrow, { after: until, until: undefined });
  }
}

/** Where SQLite chooses. */
const wholeTable: Source = { from: 'visibility', byRuns: undefined };

type Source = Pick<IndexProbe, 'from' | 'byRuns'>;

class Page {
  readonly query: VisibilityList;
  /** By run id. */
  readonly #rows = new Map<string, ListedRow>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(query: VisibilityList) {
    this.query = query;
    this.#bytesMax = query.bytesMax ?? Infinity;
  }

  get rows(): readonly ListedRow[] {
    return [...this.#rows.values()];
  }

  get isFull(): boolean {
    return this.#rows.size >= this.query.max || this.#bytes >= this.#bytesMax;
  }

  /** Those that are not there yet, until it is full. */
  read(connection: Connection, { from, byRuns }: Source, bounds?: Bounds): void {
    const { text, parameters } = listSql('sqlite', listedColumns, from, { ...this.query, ...bounds }, byRuns);
    for (const row of connection.prepare(text).iterate(...sqliteParameters(parameters))) {
      const served = listedRow(row);
      if (this.#rows.has(served.runId)) continue;
      this.#rows.set(served.runId, served);
      this.#bytes += servedBytes(served);
      if (this.isFull) break;
    }
  }
}

/** `momentOf`: a connection that sees nothing of what is written from now on; undefined: there is none now. Who gives up returns the generator. */
export function* countSteps(
  opened: () => Connection,
  query: VisibilityCount,
  momentOf: () => Connection | undefined = () => undefined,
  entries = stretchEntries,
): Generator<void, readonly StatusCount[]> {
  const probes = indexProbes(query.namespaceId, query.condition);
  const probe = narrowest(opened(), probes, selectiveRowsMax);
  if (probe !== undefined) return counted(opened(), countSql('sqlite', probe.from, query, probe.byRuns), query);
  const large = largeCountSql('sqlite', 'visibility', byDivision, query);
  const read = rowsRead(opened(), large);
  const index = read === 'none' ? undefined : (probes.find(({ isOrdered }) => isOrdered) ?? (read === 'all' ? inOrder : undefined));
  if (index === undefined) return counted(opened(), large, query);
  if (stretchEnd(opened(), index, entries, query, undefined) === undefined)
    return counted(opened(), countSql('sqlite', index.from, query), query);
  const moment = momentOf();
  if (moment === undefined) return yield* countedByRun(opened, query, entries);
  try {
    return yield* countedIn(moment, index, query, entries);
  } finally {
    moment.close();
  }
}

function* countedIn(
  moment: Connection,
  index: OrderedIndex,
  query: VisibilityCount,
  entries: number,
): Generator<void, readonly StatusCount[]> {
  const counts = new Counts(query);
  for (const stretch of stretches(() => moment, index, entries, query)) {
    counts.add(counted(moment, countSql('sqlite', index.from, { ...query, ...stretch }), query));
    if (stretch.until !== undefined) yield;
  }
  return counts.all;
}

function* countedByRun(opened: () => Connection, query: VisibilityCount, entries: number): Generator<void, readonly StatusCount[]> {
  const counts = new Counts(query);
  const { namespaceId, condition } = query;
  for (let after = ''; ;) {
    const end = opened()
      .statement(runsBehindSql)
      .get(namespaceId, after, entries - 1);
    const until = end === undefined ? undefined : textOf(end, 'run_id');
    const ofRuns = [
      runIdIs('>', after),
      ...(until === undefined ? [] : [runIdIs('<=', until)]),
      ...(condition === undefined ? [] : [condition]),
    ];
    const stretch: Condition = { kind: 'and', conditions: ofRuns };
    counts.add(counted(opened(), countSql('sqlite', byKey, { ...query, condition: stretch }), query));
    if (until === undefined) return counts.all;
    after = until;
    yield;
  }
}

const runsBehindSql = `SELECT run_id FROM ${byKey} WHERE namespace_id = ? AND run_id > ? ORDER BY run_id LIMIT 1 OFFSET ?`;

function runIdIs(operator: '>' | '<=', operand: string): Condition {
  return { kind: 'compare', column: { name: 'RunId', kind: 'keyword' }, operator, operand };
}

/** Of several stretches. */
class Counts {
  readonly #counts: Map<number | undefined, number>;

  constructor({ byStatus }: VisibilityCount) {
    this.#counts = new Map(byStatus ? [] : [[undefined, 0]]);
  }

  add(counts: readonly StatusCount[]): void {
    for (const { status, count } of counts) this.#counts.set(status, (this.#counts.get(status) ?? 0) + count);
  }

  get all(): readonly StatusCount[] {
    return Array.from(this.#counts, ([status, count]) => ({ status, count }));
  }
}

type Bounds = { readonly after: VisibilityKeyset | undefined; readonly until: VisibilityKeyset | undefined };

type Walked = Omit<VisibilityCount, 'byStatus'> & { readonly after?: VisibilityKeyset | undefined };

function* stretches(opened: () => Connection, index: OrderedIndex, entries: number, walked: Walked): Generator<Bounds, void> {
  for (let { after } = walked; ;) {
    const until = stretchEnd(opened(), index, entries, walked, after);
    yield { after, until };
    if (until === undefined) return;
    after = until;
  }
}

/** The last row of the stretch behind a row; undefined: there are no more rows than these. */
function stretchEnd(
  connection: Connection,
  { from, term }: OrderedIndex,
  entries: number,
  { namespaceId, condition: whole }: Walked,
  after: VisibilityKeyset | undefined,
): VisibilityKeyset | undefined {
  const terms = [...(term === undefined ? [] : [term]), ...orderBounds(whole, after)];
  const condition: Condition | undefined = terms.length === 0 ? undefined : { kind: 'and', conditions: terms };
  const { text, parameters } = listSql('sqlite', 'sort_ms, start_ms, run_id', from, { namespaceId, condition, after, max: 1 });
  const end = connection.prepare(`${text} OFFSET ${entries - 1}`).get(...sqliteParameters(parameters));
  return end === undefined ? undefined : keysetOf(end);
}

function keysetOf(row: SqlRow): VisibilityKeyset {
  return { sortMs: wholeOf(row, 'sort_ms'), startTimeMs: wholeOf(row, 'start_ms'), runId: textOf(row, 'run_id') };
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
