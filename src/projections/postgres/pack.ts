/**
 * Rows as parameters: an array for each column, and one `bytea` for the bytes of all rows, which the statement cuts up again.
 *
 *     rows     a b c              $2 bytea    aaaabbbbbbcc
 *     arrays   {1,2,3}            at, length  {1,5,11} {4,6,2}      substring($2, at, length)
 *
 * A driver sends `bytea[]` as text, in hex: three times the client's work, and twice the bytes.
 */
import { DatabaseError } from '../database-port.ts';
import { isUuid } from '../../kernel/uuid.ts';

const initialBytes = 8 * 1024;

export class Pack {
  #bytes = Buffer.allocUnsafe(initialBytes);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Where they begin, from 1 as SQL counts. */
  add(bytes: Uint8Array): number {
    this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
    return this.#length - bytes.length + 1;
  }

  /** Its UTF-8; `length` tells how much that was. */
  addText(text: string): number {
    this.#makeRoom(text.length * 3);
    const at = this.#length + 1;
    this.#length += this.#bytes.write(text, this.#length);
    return at;
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #makeRoom(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** An array as PostgreSQL reads it; nothing in it needs quotes. */
export function arrayOf(values: readonly (number | bigint | string | boolean | undefined)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`;
}

export function uuidOf(id: string): string {
  if (!isUuid(id)) throw new DatabaseError('data', `refuses a row: ${JSON.stringify(id.slice(0, 100))} is no UUID`);
  return id;
}
