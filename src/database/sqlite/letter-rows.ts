/** Rows of dead letters: how they are written and read. */
import { letterColumns, letterOf, wholeOfText, type LetterColumn } from '../letter-columns.ts';
import { nameBytes, nameText } from '../name-bytes.ts';
import { optionalBytesOf, optionalWholeOf, textOf, whole, wholeOf, type SqlRow } from './values.ts';
import { DatabaseError } from '../../actors/database.ts';
import type { LetterRow } from '../../deadletters/letter-row.ts';
import type { Connection } from './connection.ts';

const names = letterColumns.map(({ name }) => name);
const putLetter = `
  INSERT INTO dead_letters (partition, ${names.join(', ')}) VALUES (?, ${names.map(() => '?').join(', ')})
  ON CONFLICT (partition, message_id) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`;

export function writeLetter(connection: Connection, partition: number, row: LetterRow): void {
  connection.statement(putLetter).run(partition, ...letterColumns.map((column) => stored(column, row)));
}

function stored(column: LetterColumn, row: LetterRow): number | bigint | Uint8Array | null {
  switch (column.type) {
    case 'text': {
      const text = column.of(row);
      return text === '' ? null : nameBytes(text);
    }
    case 'number':
    case 'whole': {
      const value = column.of(row);
      if (value === undefined) return null;
      return typeof value === 'bigint' ? int64(value, column.name) : whole(value, column.name);
    }
    case 'boolean':
      return column.of(row) ? 1 : 0;
  }
}

function int64(value: bigint, what: string): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new DatabaseError('data', `${what} has more than 64 bits: ${value}`);
  return value;
}

export function storedLetter(row: SqlRow): LetterRow {
  return letterOf({
    text: (name) => letterText(row, name),
    number: (name) => wholeOf(row, name),
    optional: (name) => optionalWholeOf(row, name),
    whole: (name) => (row[name] === null ? undefined : wholeOfText(textOf(row, name))),
    boolean: (name) => wholeOf(row, name) === 1,
  });
}

export function letterText(row: SqlRow, name: string): string {
  const bytes = optionalBytesOf(row, name);
  return bytes === undefined ? '' : nameText(bytes);
}

const textNames = letterColumns.flatMap(({ name, type }) => (type === 'text' ? [name] : []));

/** Of its texts. */
export function letterBytes(row: SqlRow): number {
  return textNames.reduce((bytes, name) => bytes + (optionalBytesOf(row, name)?.length ?? 0), 0);
}
