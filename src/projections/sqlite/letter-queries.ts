/**
 * Dead letters by condition. A walk goes by id, in stretches, one turn each: whoever else needs this connection waits for a stretch and not for
 * the walk (`visibility-queries.ts` has a picture). Where letters of one workflow or of one fingerprint are asked for, it goes by their index, which
 * has them in the order of ids as well.
 *
 * A page sees the rows of each stretch's moment, which is as good: an id never moves. Counts and groups are of one moment where that is to be had.
 */
import { allIds, idsWithin, letterBuilder, requiredTerms, selectedLetter, whereLetters, type Ids } from '../tables/letter-sql.ts';
import { countedLetters, countedOf, exampleOf, groupingColumn, letterOf, letterTextNames } from '../tables/letter-columns.ts';
import type { CountedLetters } from '../tables/letter-columns.ts';
import { generationOf } from './journal-rows.ts';
import { rowReader, sqliteParameters, wholeOf, type SqlRow } from './values.ts';
import { DatabaseError } from '../database-port.ts';
import type { Fenced, JournalId, LetterGrouped, LetterId, LetterIdPage, LetterList, LetterPage, LetterWalk } from '../database-port.ts';
import type { LetterGroup } from '../../deadletters/letter-commands.ts';
import type { LetterRow } from '../../deadletters/letter-records.ts';
import type { Condition } from '../../filter/condition.ts';
import type { Connection } from './connection.ts';

/** Letters that are looked at in one turn. */
const stretchEntries = 5_000;

/** Groups that a walk remembers. Nobody reads so many, and more of them might be as many as there are letters. */
const groupsMax = 100_000;

type Steps<Result> = Generator<void, Result>;
/** Gives the connection, which may have been opened anew between two steps. */
type Opened = () => Connection;
type MomentOf = () => Connection | undefined;

/** Which letters are walked over, and what is selected of each stretch of them. */
type Walk = {
  readonly opened: Opened;
  readonly journal: JournalId;
  readonly condition: Condition | undefined;
  readonly columns: string;
  readonly rest: string;
  readonly after?: number;
  /** All of them are one stretch. */
  readonly isAtOnce?: boolean;
};

export function letterPageSteps(opened: Opened, journal: JournalId, list: LetterList): Steps<Fenced<LetterPage>> {
  const letters: LetterRow[] = [];
  let bytes = 0;
  const take = (row: SqlRow): boolean => {
    bytes += textBytes(row);
    if (letters.length > 0 && bytes > list.bytesMax) return false;
    letters.push(letterOf(row, rowReader));
    return letters.length < list.max;
  };
  return fencedSteps(pageWalk(opened, journal, list, selectedLetter('sqlite')), list.max, take, (isLast) => ({ letters, isLast }));
}

export function letterIdSteps(opened: Opened, journal: JournalId, walk: LetterWalk): Steps<Fenced<LetterIdPage>> {
  const ids: LetterId[] = [];
  const take = (row: SqlRow): boolean => {
    ids.push({ messageId: wholeOf(row, 'message_id'), generation: wholeOf(row, 'generation') });
    return ids.length < walk.max;
  };
  return fencedSteps(pageWalk(opened, journal, walk, 'message_id, generation'), walk.max, take, (isLast) => ({ ids, isLast }));
}

function pageWalk(opened: Opened, journal: JournalId, { condition, afterMessageId: after }: LetterWalk, columns: string): Walk {
  return { opened, journal, condition, columns, rest: 'ORDER BY message_id', after };
}

/** `momentOf`: as for a Count of List. Who gives up returns the generator. */
export function countLetterSteps(
  opened: Opened,
  momentOf: MomentOf,
  journal: JournalId,
  condition: Condition | undefined,
): Steps<Fenced<number>> {
  let count = 0;
  const add = (row: SqlRow): true => {
    count += wholeOf(row, 'count');
    return true;
  };
  // How many there are of all an index alone answers.
  const walk = { opened, journal, condition, columns: 'count(*) AS count', rest: '', isAtOnce: condition === undefined };
  return inMoment(walk, momentOf, (from) => fencedSteps(from, Infinity, add, () => count));
}

export function letterGroupSteps(
  opened: Opened,
  momentOf: MomentOf,
  journal: JournalId,
  { condition, by, max }: LetterGrouped,
): Steps<Fenced<readonly LetterGroup[]>> {
  const key = groupingColumn(by);
  const groups = new Groups();
  const add = (row: SqlRow): true => {
    groups.add(row, key);
    return true;
  };
  const walk = { opened, journal, condition, columns: `${key}, ${countedLetters}`, rest: `GROUP BY ${key}` };
  return inMoment(walk, momentOf, (from) => fencedSteps(from, Infinity, add, () => groups.largest(from.opened(), journal, max)));
}

/** Reads the fence and the offset with each step, of the same moment; those of the last step count. */
function* fencedSteps<Rows>(walk: Walk, max: number, take: (row: SqlRow) => boolean, read: (isLast: boolean) => Rows): Steps<Fenced<Rows>> {
  const steps = walkSteps(walk, max, take);
  for (;;) {
    const connection = walk.opened();
    const fenced = connection.snapshot(() => {
      const generation = generationOf(connection, walk.journal);
      const { done, value } = steps.next();
      return done === true ? { ...generation, rows: read(value) } : undefined;
    });
    if (fenced !== undefined) return fenced;
    yield;
  }
}

/** Many letters are read through a connection that sees nothing of what is written meanwhile, if there is one. */
function* inMoment<Result>(walk: Walk, momentOf: MomentOf, steps: (from: Walk) => Steps<Result>): Steps<Result> {
  const moment = stretchEnd(walk, idsWithin(allIds, walk.condition)) === undefined ? undefined : momentOf();
  if (moment === undefined) return yield* steps(walk);
  try {
    return yield* steps({ ...walk, opened: () => moment });
  } finally {
    moment.close();
  }
}

/** Gives rows until `take` wants no more; whether they were the last. */
function* walkSteps(walk: Walk, max: number, take: (row: SqlRow) => boolean): Steps<boolean> {
  if (max <= 0) return false;
  const { condition, after = allIds.after } = walk;
  const ids = idsWithin({ ...allIds, after }, condition);
  for (const stretch of stretches(walk, ids)) {
    for (const row of selected(walk, stretch)) if (!take(row)) return false;
    if (stretch.until !== ids.until) yield;
  }
  return true;
}

/** The last one ends where `ids` do. */
function* stretches(walk: Walk, ids: Ids): Generator<Ids, void> {
  for (let { after } = ids; ;) {
    const until = stretchEnd(walk, { ...ids, after }) ?? ids.until;
    yield { after, until };
    if (until >= ids.until) return;
    after = until;
  }
}

/** The last id of the stretch that begins `ids`; undefined: there are no more than fit into one. */
function stretchEnd({ opened, journal, condition, isAtOnce = false }: Walk, ids: Ids): number | undefined {
  if (isAtOnce) return undefined;
  const { from, term } = sourceOf(condition);
  const builder = letterBuilder('sqlite');
  const where = whereLetters(builder, builder.parameter(journal.partition), ids, term);
  const sql = `SELECT message_id FROM ${from} WHERE ${where} ORDER BY message_id LIMIT 1 OFFSET ${stretchEntries - 1}`;
  const row = opened()
    .prepare(sql)
    .get(...sqliteParameters(builder.parameters));
  return row === undefined ? undefined : wholeOf(row, 'message_id');
}

function selected({ opened, journal, condition, columns, rest }: Walk, ids: Ids): Iterable<SqlRow> {
  const builder = letterBuilder('sqlite');
  const where = whereLetters(builder, builder.parameter(journal.partition), ids, condition);
  const sql = `SELECT ${columns} FROM ${sourceOf(condition).from} WHERE ${where} ${rest}`;
  return opened()
    .prepare(sql)
    .iterate(...sqliteParameters(builder.parameters));
}

/** `term`: of the condition, what the index finds. */
type Source = { readonly from: string; readonly term: Condition | undefined };

const byId: Source = { from: 'dead_letters', term: undefined };
const indexes = { WorkflowId: 'dead_letters_workflow_id', Fingerprint: 'dead_letters_fingerprint' };

function sourceOf(condition: Condition | undefined): Source {
  const terms = requiredTerms(condition);
  for (const [name, index] of Object.entries(indexes)) {
    const term = terms.find((one) => one.kind === 'compare' && one.operator === '=' && one.column.name === name);
    if (term !== undefined) return { from: `dead_letters INDEXED BY ${index}`, term };
  }
  return byId;
}

const exampleSql = 'SELECT error_type, error_message, task_type FROM dead_letters WHERE partition = ? AND message_id = ?';

class Groups {
  /** Groups by their keys' bytes. */
  readonly #groups = new Map<string, CountedLetters>();

  /** Throws DatabaseError. */
  add(row: SqlRow, column: string): void {
    const name = bytesIn(row, column).toString('latin1');
    const known = this.#groups.get(name);
    const found = countedOf(row, column, rowReader);
    if (known === undefined && this.#groups.size >= groupsMax) {
      throw new DatabaseError('overtime', `there are more than ${groupsMax} groups: group by something else, or of fewer dead letters`);
    }
    this.#groups.set(name, {
      key: found.key,
      count: (known?.count ?? 0) + found.count,
      lowestId: Math.min(known?.lowestId ?? Infinity, found.lowestId),
      oldestMs: Math.min(known?.oldestMs ?? Infinity, found.oldestMs),
      newestMs: Math.max(known?.newestMs ?? -Infinity, found.newestMs),
    });
  }

  /** Whose example has gone while others were counted has none. */
  largest(connection: Connection, { partition }: JournalId, max: number): readonly LetterGroup[] {
    const ordered = [...this.#groups.values()].sort((one, other) => other.count - one.count || one.lowestId - other.lowestId);
    const example = connection.statement(exampleSql);
    return ordered.slice(0, max).map((group) => ({ ...group, ...exampleOf(example.get(partition, group.lowestId), rowReader) }));
  }
}

/** What the texts of a row take. */
function textBytes(row: SqlRow): number {
  return letterTextNames.reduce((bytes, name) => bytes + bytesIn(row, name).length, 0);
}

function bytesIn(row: SqlRow, column: string): Buffer {
  if (rowReader.isNull(row, column)) return Buffer.alloc(0);
  const { buffer, byteOffset, byteLength } = rowReader.bytes(row, column);
  return Buffer.from(buffer, byteOffset, byteLength);
}
