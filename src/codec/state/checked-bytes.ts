/**
 * A message of `perdure.state.v1` as a database row holds it:
 *
 *     format u8 · crc32 u32 little-endian · message           the checksum covers the format too
 *
 * Nobody writes a row again once its journal is trimmed, so nobody could repair one that a disk or a hand has changed: it must be seen.
 */
import { crc32 } from 'node:zlib';
import { DatabaseError } from '../../projections/database-port.ts';
import { encodeWith, type Writer } from '../../wire/writer.ts';

/** v1: first form. */
const format = 1;
const headBytes = 5;
const emptyHead = new Uint8Array(headBytes);

export function encodeChecked<Message>(write: (w: Writer, message: Message) => void, message: Message): Uint8Array {
  const bytes = encodeWith((w, body) => {
    w.raw(emptyHead);
    write(w, body);
  }, message);
  bytes[0] = format;
  new DataView(bytes.buffer).setUint32(1, checksum(bytes), true);
  return bytes;
}

/** `what` is for people: `run`, `task`. Throws DatabaseError `corrupt` for any reason: what cannot be read is the trouble of one row. */
export function decodeChecked<Value>(bytes: Uint8Array, what: string, decode: (message: Uint8Array) => Value): Value {
  const corrupt = (problem: string, cause?: unknown): DatabaseError =>
    new DatabaseError('corrupt', `a stored ${what} of ${bytes.length} bytes cannot be read: ${problem}`, { cause });
  if (bytes.length < headBytes) throw corrupt(`it is shorter than its head of ${headBytes} bytes`);
  if (bytes[0] !== format) throw corrupt(`its format is ${bytes[0]}, this version reads ${format}`);
  const stored = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1, true);
  if (stored !== checksum(bytes)) throw corrupt('its checksum does not fit');
  try {
    return decode(bytes.subarray(headBytes));
  } catch (cause) {
    throw corrupt(cause instanceof Error ? cause.message : String(cause), cause);
  }
}

function checksum(bytes: Uint8Array): number {
  return crc32(bytes.subarray(headBytes), format);
}
