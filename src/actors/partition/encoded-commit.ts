/** What a decision writes, as bytes: made before anything of it takes effect, so what cannot be encoded, or is too large, has not happened. */
import type { Handled } from '../../kernel/handled.ts';
import type { EncodedRecord, RecordCodec } from './partition-core.ts';

/** `before`: in front of `last`, in order. */
export type EncodedCommit = { readonly last: EncodedRecord; readonly before: readonly EncodedRecord[] };

const none: readonly EncodedRecord[] = [];

/** Throws what cannot be encoded. undefined: nothing is written. */
export function encodeCommit<Record>(
  codec: Pick<RecordCodec<Record>, 'encode'>,
  handled: Handled<Record, unknown, unknown>,
): EncodedCommit | undefined {
  if (handled.kind !== 'commit') return undefined;
  const { before } = handled;
  return { last: codec.encode(handled.record), before: before === undefined ? none : before.map((record) => codec.encode(record)) };
}

/** Of its largest record: content, without key and stamp. */
export function largestBytes(encoded: EncodedCommit | undefined): number {
  if (encoded === undefined) return 0;
  const { last, before } = encoded;
  // Called for each command, and hardly any writes more than one.
  if (before.length === 0) return contentBytes(last);
  return before.reduce((bytes, record) => Math.max(bytes, contentBytes(record)), contentBytes(last));
}

/** Of a record's value and headers; three bytes are the most that UTF-8 needs for one unit of a string. */
export function contentBytes({ value, headers }: Pick<EncodedRecord, 'value' | 'headers'>): number {
  if (headers === undefined) return value.byteLength;
  return headers.reduce((bytes, header) => bytes + HEADER_OVERHEAD_BYTES + header[0].length + 3 * header[1].length, value.byteLength);
}

/** Lengths of name and value. */
const HEADER_OVERHEAD_BYTES = 8;
