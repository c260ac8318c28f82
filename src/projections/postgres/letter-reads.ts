/** Dead letters by condition: one statement each, which sees one moment. They may be as slow as lists, and have connections of their own. */
import { countedLetters, countedOf, exampleOf, groupingColumn, letterOf, letterTextNames } from '../tables/letter-columns.ts';
import { allIds, idsWithin, letterBuilder, selectedLetter, whereLetters } from '../tables/letter-sql.ts';
import { fencedRows, fencedText, rowReader } from './reads.ts';
import { quoted } from './names.ts';
import type { Row } from './connections.ts';
import type { RevocableReads } from './revocable-reads.ts';
import type { SqlBuilder } from '../tables/condition-sql.ts';
import type { Asked, DeadLettersPort, Fenced, JournalId } from '../database-port.ts';
import type { Condition } from '../../filter/condition.ts';

const textBytes = letterTextNames.map((name) => `coalesce(octet_length(${name}), 0)`).join(' + ');

export function letterReads(reads: RevocableReads, schema: string): DeadLettersPort {
  const at = quoted(schema);
  const table = `${at}.dead_letters`;
  const selected = (builder: SqlBuilder, condition: Condition | undefined, after = allIds.after): string =>
    `${table} WHERE ${whereLetters(builder, '$2', idsWithin({ ...allIds, after }, condition), condition)}`;
  /** No two filters are alike: none is prepared. */
  const read = async (
    { kind, partition }: JournalId,
    asked: Asked | undefined,
    rowsText: (builder: SqlBuilder) => string,
    order = '',
  ): Promise<Fenced<readonly Row[]>> => {
    const builder = letterBuilder('postgres');
    for (const parameter of [kind, partition]) builder.parameter(parameter);
    const text = fencedText(at, rowsText(builder), order);
    return await reads.use(asked, async (session) => fencedRows((await session.query<Row>({ text }, builder.parameters)).rows));
  };
  return {
    // What has no room stays where it is.
    letters: async (journal, { condition, afterMessageId, max, bytesMax, asked }) => {
      const page = (builder: SqlBuilder): string => {
        const letters = `SELECT *, ${textBytes} AS bytes FROM ${selected(builder, condition, afterMessageId)} ORDER BY message_id
    LIMIT ${builder.parameter(max, 'bigint')}`;
        return `SELECT true AS is_row, ${selectedLetter('postgres')}, found FROM (
    SELECT *, count(*) OVER () AS found, sum(bytes) OVER (ORDER BY message_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
    FROM (${letters}) page) summed
  WHERE bytes_before IS NULL OR bytes_before + bytes <= ${builder.parameter(Math.min(bytesMax, Number.MAX_SAFE_INTEGER), 'bigint')}`;
      };
      const { rows, ...generation } = await read(journal, asked, page, 'ORDER BY r.message_id');
      const [first] = rows;
      const found = first === undefined ? 0 : rowReader.number(first, 'found');
      const letters = rows.map((row) => letterOf(row, rowReader));
      return { ...generation, rows: { letters, isLast: found < max && letters.length === found } };
    },
    letterIds: async (journal, { condition, afterMessageId, max, asked }) => {
      const text = (builder: SqlBuilder): string =>
        `SELECT true AS is_row, message_id, generation FROM ${selected(builder, condition, afterMessageId)}
  ORDER BY message_id LIMIT ${builder.parameter(max, 'bigint')}`;
      const { rows, ...generation } = await read(journal, asked, text, 'ORDER BY r.message_id');
      const ids = rows.map((row) => ({ messageId: rowReader.number(row, 'message_id'), generation: rowReader.number(row, 'generation') }));
      return { ...generation, rows: { ids, isLast: ids.length < max } };
    },
    countLetters: async (journal, condition, asked) => {
      const text = (builder: SqlBuilder): string => `SELECT true AS is_row, count(*) AS count FROM ${selected(builder, condition)}`;
      const { rows, ...generation } = await read(journal, asked, text);
      return { ...generation, rows: rows.reduce((sum, row) => sum + rowReader.number(row, 'count'), 0) };
    },
    letterGroups: async (journal, { condition, by, max, asked }) => {
      const text = (builder: SqlBuilder): string => {
        const counted = `SELECT ${groupingColumn(by)} AS key, ${countedLetters} FROM ${selected(builder, condition)}
    GROUP BY 1 ORDER BY 2 DESC, 3 LIMIT ${builder.parameter(max, 'bigint')}`;
        return `SELECT true AS is_row, g.*, l.error_type, l.error_message, l.task_type FROM (${counted}) g
  JOIN ${table} l ON l.partition = $2 AND l.message_id = g.lowest_id`;
      };
      const { rows, ...generation } = await read(journal, asked, text, 'ORDER BY r.count DESC, r.lowest_id');
      return { ...generation, rows: rows.map((row) => ({ ...countedOf(row, 'key', rowReader), ...exampleOf(row, rowReader) })) };
    },
  };
}
