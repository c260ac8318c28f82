/**
 * List and Count: the statements are the same for both databases (`visibility-sql.ts`).
 *
 * A query that finds little by an index is one statement. Any other walks an index, maybe all of it: that goes in stretches of some milliseconds, one
 * turn each, so that whoever else needs this connection waits for a stretch and not for the walk.
 *
 *     ├── stretch ──┤ others ├── stretch ──┤ others ├── stretch ──┤        a page that is full ends it
 *
 * What a row costs depends on its condition, and nobody knows it before. So each statement looks at the clock while it runs, is stopped when it takes
 * too long, and begins again with fewer rows (`stride.ts`).
 *
 * If the first stretch does not fill the page, and an index finds not very many, these are read in the order of List. A Count looks at these as well, or
 * goes by what is equal, or along a range, or in the order of List.
 *
 * Each stretch of a List sees the rows of its moment. A run that closes meanwhile moves to where the walk has not been yet: a page has it once, as
 * it was when the walk came by first. A Count would count it at both places. So it sees the rows of one moment, through a connection of its own;
 * where that is not to be had it goes by run id, which never changes: each run is counted once, as it was when the walk came by.
 */
import type { Condition } from '../../filter/condition.ts';
import { OPEN_SORT_MS, servedBytes } from '../visibility/row.ts';
import type { ListedRow, VisibilityCount, VisibilityKeyset, VisibilityList, VisibilityPage } from '../visibility/row.ts';
import type { Sql } from '../tables/condition-sql.ts';
import { countSql, entriesSql, largeCountParts, largeCountSql, listSql, orderBounds, type Stretch } from '../tables/visibility-sql.ts';
import { byDivision, byEachStatus, byKey, indexProbes, inOrder, narrowRowsMax, orderedIndex, selectiveRowsMax } from './index-choice.ts';
import type { IndexProbe, OrderedIndex } from './index-choice.ts';
import { rowReader, sqliteParameters, textOf, wholeOf, type SqlRow } from './values.ts';
import { listedRow, servedColumns } from '../tables/visibility-row-columns.ts';
import { inTimeSql, type Connection } from './connection.ts';
import { atOnce, Stride, stretchMs } from './stride.ts';

export type StatusCount = { readonly status: number | undefined; readonly count: number };
type CountSteps = Generator<void, readonly StatusCount[]>;

/** `opened`: the connection, which may be another one at each step. `entries`: how many a stretch has; undefined: as many as take some milliseconds. */
export function* listSteps(opened: () => Connection, query: VisibilityList, entries?: number): Generator<void, VisibilityPage> {
  const probes = indexProbes(query.namespaceId, query.condition);
  const probe = narrowest(opened(), probes, selectiveRowsMax);
  const page = new Page(query);
  const stride = new Stride(entries);
  if (probe === undefined) yield* readWalking(opened, page, probes, stride);
  else if (atOnce(opened(), () => page.read(opened(), probe)) === undefined) {
    const runs = foundBy(opened(), probe, query);
    yield;
    yield* readRuns(opened, page, runs, stride);
  }
  return { rows: page.rows };
}

function* readWalking(opened: () => Connection, page: Page, probes: readonly IndexProbe[], stride: Stride): Generator<void, void> {
  const walked = orderedIndex(probes) ?? inOrder;
  let isFirst = true;
  for (let { after } = page.query; ;) {
    const stretch = stride.read(opened(), (entries) => {
      const until = stretchEnd(opened(), walked, entries, page.query, after);
      page.read(opened(), { from: walked.from, byRuns: undefined }, { after, until });
      return until;
    });
    if (page.isFull) return;
    if (stretch !== undefined) {
      if (stretch.read === undefined) return;
      after = stretch.read;
      const narrow = isFirst ? narrowest(opened(), probes, narrowRowsMax) : undefined;
      isFirst = false;
      if (narrow !== undefined && narrow.from !== walked.from) {
        const runs = foundBy(opened(), narrow, { ...page.query, after });
        yield;
        return yield* readRuns(opened, page, runs, stride);
      }
    }
    yield;
  }
}

/** Runs in the order of List that meet the condition. One that closes meanwhile stands further behind, and is looked at again there. */
function* readRuns(opened: () => Connection, page: Page, runs: FoundRun[], stride: Stride): Generator<void, void> {
  for (let at = 0; at < runs.length && !page.isFull;) {
    const stretch = stride.read(opened(), (entries) => {
      const some = runs.slice(at, at + entries);
      const isLast = at + some.length === runs.length;
      page.read(opened(), keyed, { runIds: some.map(({ runId }) => runId) }, isLast ? undefined : some.at(-1));
      return some;
    });
    if (stretch !== undefined) {
      at += stretch.read.length;
      for (const moved of page.moved.splice(0)) {
        const behind = runs.findIndex((run, index) => index >= at && isBehind(run, moved));
        runs.splice(behind < 0 ? runs.length : behind, 0, moved);
      }
    }
    if (at < runs.length && !page.isFull) yield;
  }
}

const keyed: Source = { from: byKey, byRuns: undefined };

type Source = Pick<IndexProbe, 'from' | 'byRuns'>;

class Page {
  readonly query: VisibilityList;
  /** Runs that stand behind the stretch in which they were looked for. */
  readonly moved: FoundRun[] = [];
  /** The page's rows by run id. */
  readonly #rows = new Map<string, ListedRow>();
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(query: VisibilityList) {
    this.query = query;
    this.#bytesMax = query.bytesMax ?? Infinity;
  }

  get rows(): readonly ListedRow[] {
    return [...this.#rows.values()].sort((one, other) => (isBehind(placeOf(one), placeOf(other)) ? 1 : -1));
  }

  get isFull(): boolean {
    return this.#rows.size >= this.query.max || this.#bytes >= this.#bytesMax;
  }

  /** Adds rows that are not there yet, until the page is full. */
  read(connection: Connection, { from, byRuns }: Source, stretch?: Stretch, last?: FoundRun): void {
    this.moved.length = 0;
    const { text, parameters } = listSql('sqlite', servedColumns, from, { ...this.query, ...stretch, watch: inTimeSql }, byRuns);
    for (const row of connection.prepare(text).iterate(...sqliteParameters(parameters))) {
      const served = listedRow(row, rowReader);
      if (this.#rows.has(served.runId)) continue;
      if (last !== undefined && isBehind(placeOf(served), last)) {
        this.moved.push(placeOf(served));
        continue;
      }
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
  entries?: number,
): CountSteps {
  const probes = indexProbes(query.namespaceId, query.condition);
  const large = largeCountSql('sqlite', 'visibility', byDivision, { ...query, watch: inTimeSql });
  const probe = narrowest(opened(), probes, selectiveRowsMax);
  const stride = new Stride(entries);
  const isShort =
    probe !== undefined || !readsAll(opened(), large) || stretchEnd(opened(), inOrder, stride.entries, query, undefined) === undefined;
  if (isShort) {
    const statement = probe === undefined ? large : countSql('sqlite', probe.from, { ...query, watch: inTimeSql }, probe.byRuns);
    const counts = atOnce(opened(), () => counted(opened(), statement, query));
    if (counts !== undefined) return counts.read;
  }
  const moment = momentOf();
  try {
    yield;
    if (moment !== undefined) return yield* countedInMoment(moment, query, stride);
    const narrow = narrowest(opened(), probes, narrowRowsMax);
    if (narrow === undefined) return yield* countedByRun(opened, query, stride);
    return yield* countedOfRuns(opened, foundBy(opened(), narrow, query), query, stride);
  } finally {
    moment?.close();
  }
}

function* countedInMoment(moment: Connection, query: VisibilityCount, stride: Stride): CountSteps {
  const counts = new Counts(query);
  for (const { part, sign } of largeCountParts(query)) {
    const found = yield* partInMoment(moment, part, stride);
    counts.add(found.map(({ status, count }) => ({ status, count: sign * count })));
  }
  return counts.all;
}

function* partInMoment(moment: Connection, part: VisibilityCount, stride: Stride): CountSteps {
  const probes = indexProbes(part.namespaceId, part.condition);
  const narrow = narrowest(moment, probes, narrowRowsMax);
  if (narrow !== undefined) return yield* countedOfRuns(() => moment, foundBy(moment, narrow, part), part, stride);
  const ordered = probes.find(({ isOrdered }) => isOrdered);
  if (ordered !== undefined) return yield* countedIn(moment, [ordered], part, stride);
  // An index of statuses alone answers then.
  if (part.byStatus && part.condition === undefined) return yield* countedIn(moment, byEachStatus, part, stride);
  const range = probes.find(({ byRuns }) => byRuns === undefined);
  if (range !== undefined) return yield* countedAlong(moment, range, part);
  return yield* countedIn(moment, [inOrder], part, stride);
}

/** Adds up stretches, each from where the one before has ended; `next` undefined: it was the last. */
function* inStretches<At>(
  opened: () => Connection,
  stride: Stride,
  counts: Counts,
  from: At,
  read: (entries: number, at: At) => { readonly counts: readonly StatusCount[]; readonly next: At | undefined },
): Generator<void, void> {
  for (let at = from; ;) {
    const stretch = stride.read(opened(), (entries) => read(entries, at));
    if (stretch !== undefined) {
      counts.add(stretch.read.counts);
      if (stretch.read.next === undefined) return;
      at = stretch.read.next;
    }
    yield;
  }
}

function* countedOfRuns(opened: () => Connection, runs: readonly FoundRun[], query: VisibilityCount, stride: Stride): CountSteps {
  const counts = new Counts(query);
  yield* inStretches(opened, stride, counts, 0, (entries, at) => {
    const runIds = runs.slice(at, at + entries).map(({ runId }) => runId);
    const until = at + runIds.length;
    const found = counted(opened(), countSql('sqlite', byKey, { ...query, runIds, watch: inTimeSql }), query);
    return { counts: found, next: until < runs.length ? until : undefined };
  });
  return counts.all;
}

function* countedIn(moment: Connection, indexes: readonly OrderedIndex[], query: VisibilityCount, stride: Stride): CountSteps {
  const opened = (): Connection => moment;
  const counts = new Counts(query);
  for (const index of indexes) {
    // A term of its own is a part of the condition, or there is none.
    const walked = { ...query, condition: query.condition ?? index.term };
    yield* inStretches<VisibilityKeyset | undefined>(opened, stride, counts, undefined, (entries, after) => {
      const until = stretchEnd(moment, index, entries, walked, after);
      const statement = countSql('sqlite', index.from, { ...walked, after, until, watch: inTimeSql });
      return { counts: counted(moment, statement, query), next: until };
    });
    yield;
  }
  return counts.all;
}

/** Counts entry by entry along an index that is not in the order of List. */
function* countedAlong(moment: Connection, { from, term }: IndexProbe, query: VisibilityCount): CountSteps {
  const counts = new Counts(query);
  const { text, parameters } = entriesSql(from, term, query);
  let endMs = performance.now() + stretchMs;
  let looked = 0;
  for (const row of moment.prepare(text).iterate(...sqliteParameters(parameters))) {
    if (row['is_met'] === 1) counts.addOne(query.byStatus ? wholeOf(row, 'status') : undefined);
    if (++looked % entriesPerLook !== 0 || performance.now() < endMs) continue;
    yield;
    endMs = performance.now() + stretchMs;
  }
  return counts.all;
}

const entriesPerLook = 16;

function* countedByRun(opened: () => Connection, query: VisibilityCount, stride: Stride): CountSteps {
  const counts = new Counts(query);
  const { namespaceId, condition } = query;
  yield* inStretches(opened, stride, counts, '', (entries, after) => {
    const behind = opened().statement(runsBehindSql);
    const end = behind.get(namespaceId, after, entries - 1);
    const until = end === undefined ? undefined : textOf(end, 'run_id');
    const bounds = [runIdIs('>', after), ...(until === undefined ? [] : [runIdIs('<=', until)])];
    const ofRuns: Condition = { kind: 'and', conditions: condition === undefined ? bounds : [...bounds, condition] };
    const statement = countSql('sqlite', byKey, { ...query, condition: ofRuns, watch: inTimeSql });
    return { counts: counted(opened(), statement, query), next: until };
  });
  return counts.all;
}

const runsBehindSql = `SELECT run_id FROM ${byKey} WHERE namespace_id = ? AND run_id > ? ORDER BY run_id LIMIT 1 OFFSET ?`;

function runIdIs(operator: '>' | '<=', operand: string): Condition {
  return { kind: 'compare', column: { name: 'RunId', kind: 'keyword' }, operator, operand };
}

/** Adds up the counts of several stretches. */
class Counts {
  readonly #counts: Map<number | undefined, number>;

  constructor({ byStatus }: VisibilityCount) {
    this.#counts = new Map(byStatus ? [] : [[undefined, 0]]);
  }

  add(counts: readonly StatusCount[]): void {
    for (const { status, count } of counts) this.addOne(status, count);
  }

  addOne(status: number | undefined, count = 1): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + count);
  }

  get all(): readonly StatusCount[] {
    const counts = Array.from(this.#counts, ([status, count]) => ({ status, count }));
    return counts.filter(({ status, count }) => status === undefined || count > 0);
  }
}

type Walked = Pick<VisibilityCount, 'namespaceId' | 'condition'>;

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
    const found = atOnce(connection, () => connection.prepare(text).get(...sqliteParameters(parameters)));
    return found?.read !== undefined && wholeOf(found.read, 'count') < max;
  });
}

/** Where a run stands in the order of List. */
type FoundRun = VisibilityKeyset;

/** The few runs behind `after` that an index finds; whether they meet the rest of the condition is not looked at. */
function foundBy(connection: Connection, { from, term, byRuns }: IndexProbe, { namespaceId, after }: Walked & Stretch): FoundRun[] {
  const query = { namespaceId, condition: term, after, max: narrowRowsMax };
  const { text, parameters } = listSql('sqlite', 'sort_ms, start_ms, run_id', from, query, byRuns);
  const rows = connection.prepare(text).all(...sqliteParameters(parameters));
  return rows.map(keysetOf);
}

function placeOf({ closeTimeMs, startTimeMs, runId }: ListedRow): FoundRun {
  return { sortMs: closeTimeMs ?? OPEN_SORT_MS, startTimeMs, runId };
}

function isBehind(one: FoundRun, other: FoundRun): boolean {
  if (one.sortMs !== other.sortMs) return one.sortMs < other.sortMs;
  if (one.startTimeMs !== other.startTimeMs) return one.startTimeMs < other.startTimeMs;
  return one.runId < other.runId;
}

/** Whether each row of the namespace is read, and so the order of List serves as well. */
function readsAll(connection: Connection, { text, parameters }: Sql): boolean {
  const steps = connection.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...sqliteParameters(parameters));
  const [first = ''] = steps.map((step) => textOf(step, 'detail')).filter((step) => step.includes(' visibility '));
  return !first.includes('COVERING INDEX') && /INDEX \w+ \(namespace_id=\?\)/.test(first);
}
