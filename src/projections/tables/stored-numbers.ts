/** Numbers as both databases store them; what cannot be stored is refused (`data`). */
import { DatabaseError } from '../database-port.ts';

/** A whole number of which JavaScript knows every neighbour. */
export function whole(value: number, what: string): number {
  if (!Number.isSafeInteger(value)) throw new DatabaseError('data', `refuses a row: ${what} is no whole number below 2^53: ${value}`);
  return value;
}

/** What has been read as a bigint may have 64 bits. */
export function int64(value: number | bigint, what: string): number | bigint {
  if (typeof value === 'number') return whole(value, what);
  if (BigInt.asIntN(64, value) !== value) throw new DatabaseError('data', `refuses a row: ${what} has more than 64 bits: ${value}`);
  return value;
}
