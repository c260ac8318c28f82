/**
 * Dead letters by condition. A walk goes by id, in stretches, one turn each: whoever else needs this connection waits for a stretch and not for
 * the walk (`visibility-queries.ts` has a picture). Where letters of one workflow or of one fingerprint are asked for, it goes by their index, which
 * has them in the order of ids as well.
 *
 * A page sees the rows of each stretch's moment, which is as good: an id never moves. Counts and groups are of one moment where that is to be had.
 */
import { allIds, idsWithin, letterBuilder, requiredTerms, selectedLetter, whereLetters, type Ids } from '../letter-sql.ts';
import { groupingColumns } from '../letter-columns.ts';
import { generationOf } from './journal-rows.ts';
import { letterBytes, letterText, storedLetter } from './letter-rows.ts';
import { optionalBytesOf, sqliteParameters, wholeOf, type SqlRow } from './values.ts';
import { DatabaseError } from '../../actors/database.ts';
import type {
  Fenced,
  JournalId,
  LetterGrouped,
  LetterId,
  LetterIdPage,
  LetterList,
  LetterPage,
  LetterWalk,
} from '../../actors/database.ts';
import type { LetterGroup } from '../../deadletters/replies.ts';
import type { LetterRow } from '../../deadletters/letter-row.ts';
import type { Condition } from '../../filter/condition.ts';
import type { Connection } from './connection.ts';

/** Letters that are looked at in one turn. */
const stretchEntries = 5_000;

/** Groups that a walk remembers. Nobody reads so many, and more of them might be as many as there are letters. */
const groupsMax = 100_000;

type Steps<Result> = Generator<void, Result>;
/** Between two steps the connection may have been opened anew. */
type Opened = () => Connection;

export function letterPageSteps(opened: Opened, journal: JournalId, list: LetterList, entries = stretchEntries): Steps<Fenced<LetterPage>> {
  const letters: LetterRow[] = [];
  let bytes = 0;
  const take = (row: SqlRow): boolean => {
    bytes += letterBytes(row);
    if (letters.length > 0 && bytes > list.bytesMax) return false;
    letters.push(storedLetter(row));
    return letters.length < list.max;
  };
  return fencedSteps(opened, journal, walkSteps(opened, journal, list, selectedLetter('sqlite'), take, entries), (isLast) => ({
    letters,
    isLast,
  }));
}

export function letterIdSteps(opened: Opened, journal: JournalId, walk: LetterWalk, entries = stretchEntries): Steps<Fenced<LetterIdPage>> {
  const ids: LetterId[] = [];
  const take = (row: SqlRow): boolean => {
    ids.push({ messageId: wholeOf(row, 'message_id'), generation: wholeOf(row, 'generation') });
    return ids.length < walk.max;
  };
  return fencedSteps(opened, journal, walkSteps(opened, journal, walk, 'message_id, generation', take, entries), (isLast) => ({
    ids,
    isLast,
  }));
}

/** `momentOf`: as for a Count of List. Who gives up returns the generator. */
export function* countLetterSteps(
  opened: Opened,
  momentOf: () => Connection | undefined,
  journal: JournalId,
  condition: Condition | undefined,
  entries = stretchEntries,
): Steps<Fenced<number>> {
  let count = 0;
  const add = (connection: Connection, source: Source, ids: Ids): void => {
    const [row] = selected(connection, journal, 'count(*) AS count', source, ids, condition);
    if (row !== undefined) count += wholeOf(row, 'count');
  };
  // Of all an index alone answers.
  const atOnce = condition === undefined ? Infinity : entries;
  return yield* inMoment(opened, momentOf, journal, condition, atOnce, (from) =>
    fencedSteps(from, journal, summedSteps(from, journal, condition, add, atOnce), () => count),
  );
}

export function* letterGroupSteps(
  opened: Opened,
  momentOf: () => Connection | undefined,
  journal: JournalId,
  { condition, by, max }: LetterGrouped,
  entries = stretchEntries,
): Steps<Fenced<readonly LetterGroup[]>> {
  const key = groupingColumns[by];
  const columns = `${key}, count(*) AS count, min(message_id) AS lowest_id, min(dead_letter_ms) AS oldest_ms, max(dead_letter_ms) AS newest_ms`;
  const groups = new Groups();
  const add = (connection: Connection, source: Source, ids: Ids): void => {
    for (const row of selected(connection, journal, columns, source, ids, condition, `GROUP BY ${key}`)) groups.add(row, key);
  };
  return yield* inMoment(opened, momentOf, journal, condition, entries, (from) =>
    fencedSteps(from, journal, summedSteps(from, journal, condition, add, entries), () => groups.largest(from(), journal, max)),
  );
}

/** Each step with the fence and the offset of its moment; the last ones count. */
function* fencedSteps<Walked, Rows>(
  opened: Opened,
  journal: JournalId,
  steps: Steps<Walked>,
  rowsOf: (walked: Walked) => Rows,
): Steps<Fenced<Rows>> {
  for (;;) {
    const connection = opened();
    const fenced = connection.snapshot(() => {
      const generation = generationOf(connection, journal);
      const { done, value } = steps.next();
      return done === true ? { ...generation, rows: rowsOf(value) } : undefined;
    });
    if (fenced !== undefined) return fenced;
    yield;
  }
}

/** Of many letters by a connection that sees nothing of what is written meanwhile, if there is one. */
function* inMoment<Result>(
  opened: Opened,
  momentOf: () => Connection | undefined,
  journal: JournalId,
  condition: Condition | undefined,
  entries: number,
  steps: (from: Opened) => Steps<Result>,
): Steps<Result> {
  const isLong = stretchEnd(opened(), journal, sourceOf(condition), idsWithin(allIds, condition), entries) !== undefined;
  const moment = isLong ? momentOf() : undefined;
  if (moment === undefined) return yield* steps(opened);
  try {
    return yield* steps(() => moment);
  } finally {
    moment.close();
  }
}

/** Gives letters until `take` wants no more; whether they were the last. */
function* walkSteps(
  opened: Opened,
  journal: JournalId,
  { condition, afterMessageId, max }: LetterWalk,
  columns: string,
  take: (row: SqlRow) => boolean,
  entries: number,
): Steps<boolean> {
  if (max <= 0) return false;
  const source = sourceOf(condition);
  const ids = idsWithin({ ...allIds, after: afterMessageId }, condition);
  for (const stretch of stretches(opened, journal, source, ids, entries)) {
    for (const row of selected(opened(), journal, columns, source, stretch, condition, 'ORDER BY message_id')) if (!take(row)) return false;
    if (stretch.until !== ids.until) yield;
  }
  return true;
}

function* summedSteps(
  opened: Opened,
  journal: JournalId,
  condition: Condition | undefined,
  add: (connection: Connection, source: Source, ids: Ids) => void,
  entries: number,
): Steps<void> {
  const source = sourceOf(condition);
  const ids = idsWithin(allIds, condition);
  for (const stretch of stretches(opened, journal, source, ids, entries)) {
    add(opened(), source, stretch);
    if (stretch.until !== ids.until) yield;
  }
}

/** The last one ends where `ids` do. */
function* stretches(opened: Opened, journal: JournalId, source: Source, ids: Ids, entries: number): Generator<Ids, void> {
  for (let { after } = ids; ;) {
    const until = stretchEnd(opened(), journal, source, { ...ids, after }, entries) ?? ids.until;
    yield { after, until };
    if (until >= ids.until) return;
    after = until;
  }
}

/** undefined: there are no more than these. */
function stretchEnd(connection: Connection, { partition }: JournalId, source: Source, ids: Ids, entries: number): number | undefined {
  if (entries === Infinity) return undefined;
  const builder = letterBuilder('sqlite');
  const where = whereLetters(builder, builder.parameter(partition), ids, source.term);
  const sql = `SELECT message_id FROM ${source.from} WHERE ${where} ORDER BY message_id LIMIT 1 OFFSET ${entries - 1}`;
  const row = connection.prepare(sql).get(...sqliteParameters(builder.parameters));
  return row === undefined ? undefined : wholeOf(row, 'message_id');
}

/** `term`: of the condition, what the index finds. */
type Source = { readonly from: string; readonly term: Condition | undefined };

const byId: Source = { from: 'dead_letters', term: undefined };
const indexed: readonly (readonly [name: string, index: string])[] = [
  ['WorkflowId', 'dead_letters_workflow_id'],
  ['Fingerprint', 'dead_letters_fingerprint'],
];

function sourceOf(condition: Condition | undefined): Source {
  const terms = requiredTerms(condition);
  for (const [name, index] of indexed) {
    const term = terms.find((one) => one.kind === 'compare' && one.operator === '=' && one.column.name === name);
    if (term !== undefined) return { from: `dead_letters INDEXED BY ${index}`, term };
  }
  return byId;
}

function selected(
  connection: Connection,
  { partition }: JournalId,
  columns: string,
  { from }: Source,
  ids: Ids,
  condition: Condition | undefined,
  rest = '',
): Iterable<SqlRow> {
  const builder = letterBuilder('sqlite');
  const where = whereLetters(builder, builder.parameter(partition), ids, condition);
  return connection.prepare(`SELECT ${columns} FROM ${from} WHERE ${where} ${rest}`).iterate(...sqliteParameters(builder.parameters));
}

type Counted = Omit<LetterGroup, 'errorType' | 'errorMessage' | 'taskType'>;

const exampleSql = 'SELECT error_type, error_message, task_type FROM dead_letters WHERE partition = ? AND message_id = ?';

class Groups {
  /** By their keys' bytes. */
  readonly #groups = new Map<string, Counted>();

  /** Throws DatabaseError. */
  add(row: SqlRow, column: string): void {
    const bytes = optionalBytesOf(row, column);
    const name = bytes === undefined ? '' : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    const known = this.#groups.get(name);
    const found = { count: wholeOf(row, 'count'), lowestId: wholeOf(row, 'lowest_id') };
    const times = { oldestMs: wholeOf(row, 'oldest_ms'), newestMs: wholeOf(row, 'newest_ms') };
    if (known === undefined) {
      if (this.#groups.size >= groupsMax) {
        throw new DatabaseError('overtime', `there are more than ${groupsMax} groups: group by something else, or of fewer dead letters`);
      }
      this.#groups.set(name, { key: letterText(row, column), ...found, ...times });
      return;
    }
    this.#groups.set(name, {
      key: known.key,
      count: known.count + found.count,
      lowestId: Math.min(known.lowestId, found.lowestId),
      oldestMs: Math.min(known.oldestMs, times.oldestMs),
      newestMs: Math.max(known.newestMs, times.newestMs),
    });
  }

  largest(connection: Connection, { partition }: JournalId, max: number): readonly LetterGroup[] {
    const ordered = [...this.#groups.values()].sort((one, other) => other.count - one.count || one.lowestId - other.lowestId);
    return ordered.slice(0, max).map((group) => {
      const row = connection.statement(exampleSql).get(partition, group.lowestId);
      // It has gone while others were counted.
      if (row === undefined) return { ...group, errorType: '', errorMessage: '', taskType: '' };
      return {
        ...group,
        errorType: letterText(row, 'error_type'),
        errorMessage: letterText(row, 'error_message'),
        taskType: letterText(row, 'task_type'),
      };
    });
  }
}
