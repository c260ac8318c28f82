/** Values of the port as SQLite stores them, and back. What cannot be stored is refused as `data`; what cannot have been stored is `corrupt`. */
import { numberOrBigint } from '../../kernel/number-or-bigint.ts';
import { DatabaseError } from '../database-port.ts';
import type { SQLOutputValue } from 'node:sqlite';
import type { SqlParameter } from '../tables/condition-sql.ts';
import type { RowReader } from '../tables/row-reader.ts';

export type SqlRow = Readonly<Record<string, SQLOutputValue>>;

export function sqliteParameters(parameters: readonly SqlParameter[]): readonly (string | number | bigint | Uint8Array)[] {
  return parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value));
}

/** The 16 bytes of a UUID as we write them, in lower case. undefined: it is none. */
function uuidBytes(text: string): Uint8Array | undefined {
  if (text.length !== 36) return undefined;
  const bytes = new Uint8Array(16);
  let at = 0;
  for (let index = 0; index < 16; index++) {
    if (at === 8 || at === 13 || at === 18 || at === 23) {
      if (text.charCodeAt(at) !== dash) return undefined;
      at++;
    }
    const value = (nibbleOf(text.charCodeAt(at)) << 4) | nibbleOf(text.charCodeAt(at + 1));
    if (value < 0) return undefined;
    bytes[index] = value;
    at += 2;
  }
  return bytes;
}

const dash = 0x2d;

/** The value of a hexadecimal digit; -1: it is none. */
function nibbleOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  if (code >= 0x61 && code <= 0x66) return code - 0x57;
  return -1;
}

/** The bytes of an id in a row that is written. */
export function idBytes(id: string): Uint8Array {
  const bytes = uuidBytes(id);
  if (bytes === undefined)
    throw new DatabaseError('data', `"${id.slice(0, 50)}" is no UUID in lower case, as every id of a run or a namespace is`);
  return bytes;
}

const noBytes = new Uint8Array();

/** The bytes of an id that is looked for: no row has an id that is no UUID. */
export function keyBytes(id: string): Uint8Array {
  return uuidBytes(id) ?? noBytes;
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function uuidText(bytes: Uint8Array): string {
  if (bytes.length !== 16) throw new DatabaseError('corrupt', `an id of ${bytes.length} bytes was stored; every id has 16`);
  let text = '';
  for (let index = 0; index < 16; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) text += '-';
    text += hex[bytes[index] ?? 0];
  }
  return text;
}

export function wholeOf(row: SqlRow, column: string): number {
  const value = row[column];
  if (typeof value !== 'number') throw notStored(column, value);
  return value;
}

export function bytesOf(row: SqlRow, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw notStored(column, value);
  return value;
}

export function textOf(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw notStored(column, value);
  return value;
}

export function idOf(row: SqlRow, column: string): string {
  return uuidText(bytesOf(row, column));
}

export const rowReader: RowReader<SqlRow> = {
  id: idOf,
  text: textOf,
  number: wholeOf,
  whole: (row, column) => numberOrBigint(textOf(row, column)),
  boolean: (row, column) => wholeOf(row, column) === 1,
  bytes: bytesOf,
  isNull: (row, column) => row[column] === null,
};

function notStored(column: string, value: unknown): DatabaseError {
  return new DatabaseError('corrupt', `column ${column} holds a ${value === null ? 'NULL' : typeof value}, which was never written there`);
}
