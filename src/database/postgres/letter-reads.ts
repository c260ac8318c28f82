/** Dead letters by condition: one statement each, which sees one moment. They may be as slow as lists, and have connections of their own. */
import { groupingColumns, letterColumns, letterOf, wholeOfText } from '../letter-columns.ts';
import { allIds, idsWithin, letterBuilder, selectedLetter, whereLetters, type Ids } from '../letter-sql.ts';
import { nameText } from '../name-bytes.ts';
import { eachFenced, fencedText, type Generation } from './reads.ts';
import { quoted } from './schema-name.ts';
import type { Row } from './connections.ts';
import type { RevocableReads } from './revocable-reads.ts';
import type { SqlBuilder } from '../condition-sql.ts';
import type {
  Asked,
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

const textBytes = letterColumns.flatMap(({ name, type }) => (type === 'text' ? [`coalesce(octet_length(${name}), 0)`] : [])).join(' + ');

export class LetterReads {
  readonly #reads: RevocableReads;
  readonly #schema: string;

  constructor(reads: RevocableReads, schema: string) {
    this.#reads = reads;
    this.#schema = quoted(schema);
  }

  /** What has no room stays where it is. */
  async letters(journal: JournalId, { condition, afterMessageId, max, bytesMax, asked }: LetterList): Promise<Fenced<LetterPage>> {
    const letters: LetterRow[] = [];
    let found = 0;
    const generation = await this.#read<PageTuple>(
      journal,
      asked,
      (builder) => {
        const page = `SELECT *, ${textBytes} AS bytes FROM ${this.#selected(builder, condition, afterMessageId)} ORDER BY message_id
    LIMIT ${builder.parameter(max, 'bigint')}`;
        return `SELECT true AS is_row, ${selectedLetter('postgres')}, found FROM (
    SELECT *, count(*) OVER () AS found, sum(bytes) OVER (ORDER BY message_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM (${page}) page) summed
  WHERE bytes_before IS NULL OR bytes_before + bytes <= ${builder.parameter(bounded(bytesMax), 'bigint')}`;
      },
      'ORDER BY r.message_id',
      (row) => {
        found = row.found;
        letters.push(storedLetter(row));
      },
    );
    return { ...generation, rows: { letters, isLast: found < max && letters.length === found } };
  }

  async letterIds(journal: JournalId, { condition, afterMessageId, max, asked }: LetterWalk): Promise<Fenced<LetterIdPage>> {
    const ids: LetterId[] = [];
    const generation = await this.#read<IdTuple>(
      journal,
      asked,
      (builder) => `SELECT true AS is_row, message_id, generation FROM ${this.#selected(builder, condition, afterMessageId)}
  ORDER BY message_id LIMIT ${builder.parameter(max, 'bigint')}`,
      'ORDER BY r.message_id',
      ({ message_id: messageId, generation: ofLetter }) => ids.push({ messageId, generation: ofLetter }),
    );
    return { ...generation, rows: { ids, isLast: ids.length < max } };
  }

  async countLetters(journal: JournalId, condition: Condition | undefined, asked?: Asked): Promise<Fenced<number>> {
    let count = 0;
    const generation = await this.#read<{ readonly count: number }>(
      journal,
      asked,
      (builder) => `SELECT true AS is_row, count(*) AS count FROM ${this.#selected(builder, condition)}`,
      '',
      (row) => (count = row.count),
    );
    return { ...generation, rows: count };
  }

  async letterGroups(journal: JournalId, { condition, by, max, asked }: LetterGrouped): Promise<Fenced<readonly LetterGroup[]>> {
    const groups: LetterGroup[] = [];
    const generation = await this.#read<GroupTuple>(
      journal,
      asked,
      (builder) => {
        const counted = `SELECT ${groupingColumns[by]} AS key, count(*) AS count, min(message_id) AS lowest_id, min(dead_letter_ms) AS oldest_ms,
      max(dead_letter_ms) AS newest_ms
    FROM ${this.#selected(builder, condition)} GROUP BY 1 ORDER BY 2 DESC, 3 LIMIT ${builder.parameter(max, 'bigint')}`;
        return `SELECT true AS is_row, g.*, l.error_type, l.error_message, l.task_type FROM (${counted}) g
  JOIN ${this.#schema}.dead_letters l ON l.partition = $2 AND l.message_id = g.lowest_id`;
      },
      'ORDER BY r.count DESC, r.lowest_id',
      (row) =>
        groups.push({
          key: textOf(row.key),
          count: row.count,
          lowestId: row.lowest_id,
          oldestMs: row.oldest_ms,
          newestMs: row.newest_ms,
          errorType: textOf(row.error_type),
          errorMessage: textOf(row.error_message),
          taskType: textOf(row.task_type),
        }),
    );
    return { ...generation, rows: groups };
  }

  /** Table and WHERE. */
  #selected(builder: SqlBuilder, condition: Condition | undefined, after = allIds.after): string {
    const ids: Ids = idsWithin({ ...allIds, after }, condition);
    return `${this.#schema}.dead_letters WHERE ${whereLetters(builder, '$2', ids, condition)}`;
  }

  /** No two filters are alike: none is prepared. */
  async #read<Tuple extends Row>(
    { kind, partition }: JournalId,
    asked: Asked | undefined,
    rowsText: (builder: SqlBuilder) => string,
    order: string,
    found: (row: Tuple) => void,
  ): Promise<Pick<Fenced<unknown>, 'fence' | 'nextOffset'>> {
    const builder = letterBuilder('postgres');
    for (const parameter of [kind, partition]) builder.parameter(parameter);
    const text = fencedText(this.#schema, rowsText(builder), order);
    return await this.#reads.use(asked, async (session) =>
      eachFenced((await session.query<Tuple & Generation>({ text }, builder.parameters)).rows, found),
    );
  }
}

type PageTuple = Row & { readonly found: number };
type IdTuple = { readonly message_id: number; readonly generation: number };
type GroupTuple = {
  readonly key: Uint8Array | null;
  readonly count: number;
  readonly lowest_id: number;
  readonly oldest_ms: number;
  readonly newest_ms: number;
  readonly error_type: Uint8Array | null;
  readonly error_message: Uint8Array | null;
  readonly task_type: Uint8Array | null;
};

/** PostgreSQL has checked the types when they were written. */
function storedLetter(row: Row): LetterRow {
  return letterOf({
    text: (name) => textOf(row[name] as Uint8Array | null),
    number: (name) => row[name] as number,
    optional: (name) => (row[name] as number | null) ?? undefined,
    whole: (name) => (row[name] === null ? undefined : wholeOfText(row[name] as string)),
    boolean: (name) => row[name] as boolean,
  });
}

function textOf(bytes: Uint8Array | null): string {
  return bytes === null ? '' : nameText(bytes);
}

function bounded(bytesMax: number): number {
  return Math.min(bytesMax, Number.MAX_SAFE_INTEGER);
}
