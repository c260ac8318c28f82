/**
 * One batch as the embedded log stores it: one row, one checksum, so a torn or rotten batch is seen as a whole.
 *
 *     batch   crc32 of the rest u32 · format u8 · count u32 · record*
 *     record  schema u32 · epoch f64 · sequence f64 · timeMs f64 · key, type, namespace, workflow id, run id: text · value length u32 · value
 *             · is tombstone u8 · headers: count u16 · (name, value: text)*
 *     text    length u16 in UTF-8 bytes · bytes; all numbers little endian
 */
import { crc32 } from 'node:zlib';
import { LogError, type LogRecord, type RecordHeader, type StoredRecord } from '../../ports/log.ts';
import { assert } from '../../kernel/assert.ts';

const format = 1;
const headBytes = 4 + 1 + 4;
const fixedRecordBytes = 4 + 8 + 8 + 8 + 5 * 2 + 4 + 1 + 2;
const textBytesMax = 0xffff;
/** Bytes of UTF-8 for one unit of a string. */
const bytesPerCharMax = 3;
const shortTextChars = 64;

export function encodeBatch(records: readonly LogRecord[]): Uint8Array<ArrayBuffer> {
  let sizeMax = headBytes;
  for (const record of records) sizeMax += recordSizeMax(record);
  const bytes = sizeMax <= scratch.length ? scratch : Buffer.allocUnsafeSlow(sizeMax);
  bytes.writeUInt8(format, 4);
  bytes.writeUInt32LE(records.length, 5);
  let at = headBytes;
  for (const record of records) at = writeHeaders(bytes, writeRecord(bytes, at, record), record);
  bytes.writeUInt32LE(crc32(bytes.subarray(4, at)), 0);
  // An array of its own, never a slice of another: it changes threads.
  return new Uint8Array(bytes.subarray(0, at));
}

/** Batches of usual size are written here, and then copied: how long their texts are in UTF-8 is known when they are written. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

const recordsPerStep = 256;

/** The records from `fromOffset` on of the batch at `base`; values are copies. Yields every now and then, for `inSlices`. */
export function* decodeBatch(data: Uint8Array, base: number, fromOffset: number, into: StoredRecord[]): Generator<void, void> {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length < headBytes || crc32(bytes.subarray(4)) !== bytes.readUInt32LE(0)) {
    throw new LogError('corrupt', `the batch at offset ${base} fails its checksum`);
  }
  const found = bytes.readUInt8(4);
  if (found !== format) {
    throw new LogError('corrupt', `the batch at offset ${base} has format ${found}, written by another version; this one reads ${format}`);
  }
  const count = bytes.readUInt32LE(5);
  const reader = { bytes, at: headBytes };
  for (let index = 0; index < count; index++) {
    const record = readRecord(reader, base + index);
    if (record.offset >= fromOffset) into.push(record);
    if (index % recordsPerStep === recordsPerStep - 1) yield;
  }
}

function recordSizeMax({ key, type, namespace, workflowId, runId, value, headers = noHeaders }: LogRecord): number {
  const chars = key.length + type.length + namespace.length + workflowId.length + runId.length;
  const ofHeaders = headers.reduce((size, [name, text]) => size + 4 + bytesPerCharMax * (name.length + text.length), 0);
  return fixedRecordBytes + bytesPerCharMax * chars + value.byteLength + ofHeaders;
}

function writeRecord(bytes: Buffer, start: number, record: LogRecord): number {
  let at = bytes.writeUInt32LE(record.schema, start);
  at = bytes.writeDoubleLE(record.epoch, at);
  at = bytes.writeDoubleLE(record.sequence, at);
  at = bytes.writeDoubleLE(record.timeMs, at);
  at = writeText(bytes, at, record.key);
  at = writeText(bytes, at, record.type);
  at = writeText(bytes, at, record.namespace);
  at = writeText(bytes, at, record.workflowId);
  at = writeText(bytes, at, record.runId);
  at = bytes.writeUInt32LE(record.value.byteLength, at);
  bytes.set(record.value, at);
  return at + record.value.byteLength;
}

function writeText(bytes: Buffer, at: number, text: string): number {
  const written = isShortAscii(bytes, at + 2, text) ? text.length : bytes.write(text, at + 2, 'utf8');
  assert(written <= textBytesMax, 'names in a record are below 64 KiB');
  bytes.writeUInt16LE(written, at);
  return at + 2 + written;
}

/** True: it is written. Ids and types are, nearly always, and that takes no call out of the engine. */
function isShortAscii(bytes: Buffer, start: number, text: string): boolean {
  if (text.length > shortTextChars) return false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 127) return false;
    bytes[start + at] = code;
  }
  return true;
}

const noHeaders: readonly RecordHeader[] = [];

function writeHeaders(bytes: Buffer, start: number, { headers = noHeaders, isTombstone }: LogRecord): number {
  let at = bytes.writeUInt8(isTombstone === true ? 1 : 0, start);
  at = bytes.writeUInt16LE(headers.length, at);
  for (const [name, value] of headers) at = writeText(bytes, writeText(bytes, at, name), value);
  return at;
}

type Reader = { readonly bytes: Buffer; at: number };

function readRecord(reader: Reader, offset: number): StoredRecord {
  const { bytes } = reader;
  const at = reader.at;
  const schema = bytes.readUInt32LE(at);
  const epoch = bytes.readDoubleLE(at + 4);
  const sequence = bytes.readDoubleLE(at + 12);
  const timeMs = bytes.readDoubleLE(at + 20);
  reader.at = at + 28;
  const key = readText(reader);
  const type = readText(reader);
  const namespace = readText(reader);
  const workflowId = readText(reader);
  const runId = readText(reader);
  const length = bytes.readUInt32LE(reader.at);
  // A copy: the value must not keep its batch alive.
  const value = new Uint8Array(bytes.subarray(reader.at + 4, reader.at + 4 + length));
  reader.at += 4 + length;
  const record = { offset, key, schema, epoch, sequence, type, namespace, workflowId, runId, timeMs, value };
  const isTombstone = bytes.readUInt8(reader.at) === 1;
  const count = bytes.readUInt16LE(reader.at + 1);
  reader.at += 3;
  if (count === 0) return isTombstone ? { ...record, isTombstone } : record;
  const headers = Array.from({ length: count }, (): RecordHeader => [readText(reader), readText(reader)]);
  return isTombstone ? { ...record, headers, isTombstone } : { ...record, headers };
}

function readText(reader: Reader): string {
  const length = reader.bytes.readUInt16LE(reader.at);
  const start = reader.at + 2;
  reader.at = start + length;
  return length === 0 ? '' : reader.bytes.toString('utf8', start, start + length);
}
