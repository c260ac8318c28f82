/**
 * Kafka's record batch, format 2, to and from the records of a journal.
 *
 *     batch   baseOffset i64 · length i32 · leaderEpoch i32 · magic i8 = 2 · crc32c u32 · attributes i16 · lastOffsetDelta i32
 *             · baseTimestamp i64 · maxTimestamp i64 · producerId i64 · producerEpoch i16 · baseSequence i32 · count i32 · record*
 *     record  length · attributes i8 · timestampDelta · offsetDelta · key · value · headers (count, (name, value)*); lengths are varints
 *
 * Our own instead of kafkajs': that one builds an encoder object per header (seven of them per record), and decodes without looking at
 * the checksum.
 */
import { LogError, type LogRecord, type RecordHeader, type StoredRecord } from '../../ports/log.ts';
import { assert } from '../../kernel/assert.ts';
import { batchRecordsMax } from '../append-limits.ts';
import { crc32c } from './crc32c.ts';
import { decompress } from './decompress.ts';
import { varintSize, WireReader, WireWriter } from './wire.ts';

const beforeCrcBytes = 8 + 4 + 4 + 1 + 4;
const headBytes = beforeCrcBytes + 2 + 4 + 8 + 8 + 8 + 2 + 4 + 4;

type Header = { readonly name: string; readonly value: string; readonly valueBytes: number };
type Sized = { readonly record: LogRecord; readonly keyBytes: number; readonly headers: readonly Header[]; readonly bodyBytes: number };

export function encodeRecordBatch(records: readonly LogRecord[]): Buffer {
  const first = records[0];
  assert(first !== undefined, 'a batch is never empty');
  const baseTime = first.timeMs;
  const sized = records.map((record, index) => sizeOf(record, index, baseTime));
  let size = headBytes;
  for (const { bodyBytes } of sized) size += varintSize(bodyBytes) + bodyBytes;
  const writer = new WireWriter(size);
  writer.int64(0);
  writer.int32(size - 12);
  writer.int32(-1);
  writer.int8(format);
  writer.int32(0);
  writer.int16(0);
  writer.int32(records.length - 1);
  writer.int64(baseTime);
  writer.int64(records.reduce((max, record) => Math.max(max, record.timeMs), baseTime));
  writer.int64(-1);
  writer.int16(-1);
  writer.int32(-1);
  writer.int32(records.length);
  for (const [index, item] of sized.entries()) writeRecord(writer, item, index, baseTime);
  assert(writer.at === size, 'the batch fills its buffer');
  writer.bytes.writeUInt32BE(crc32c(writer.bytes.subarray(beforeCrcBytes)), beforeCrcBytes - 4);
  return writer.bytes;
}

function sizeOf(record: LogRecord, index: number, baseTime: number): Sized {
  const headers = headersOf(record);
  const keyBytes = Buffer.byteLength(record.key);
  const valueBytes = record.value.byteLength;
  let bodyBytes = 1 + varintSize(record.timeMs - baseTime) + varintSize(index) + varintSize(headers.length);
  bodyBytes += varintSize(keyBytes) + keyBytes + varintSize(valueLength(record)) + valueBytes;
  for (const { name, valueBytes: bytes } of headers) bodyBytes += varintSize(name.length) + name.length + varintSize(bytes) + bytes;
  return { record, keyBytes, headers, bodyBytes };
}

/** -1: null. */
function valueLength({ value, isTombstone }: LogRecord): number {
  return isTombstone === true ? -1 : value.byteLength;
}

function headersOf(record: LogRecord): readonly Header[] {
  const headers: Header[] = [];
  const add = (name: string, value: string): void => void headers.push({ name, value, valueBytes: Buffer.byteLength(value) });
  add(headerNames.schema, String(record.schema));
  add(headerNames.epoch, String(record.epoch));
  add(headerNames.sequence, String(record.sequence));
  if (record.type !== '') add(headerNames.type, record.type);
  if (record.namespace !== '') add(headerNames.namespace, record.namespace);
  if (record.workflowId !== '') add(headerNames.workflowId, record.workflowId);
  if (record.runId !== '') add(headerNames.runId, record.runId);
  if (record.headers !== undefined) for (const [name, value] of record.headers) add(name, value);
  return headers;
}

function writeRecord(writer: WireWriter, item: Sized, index: number, baseTime: number): void {
  const { record } = item;
  writer.varint(item.bodyBytes);
  writer.int8(0);
  writer.varint(record.timeMs - baseTime);
  writer.varint(index);
  writer.varint(item.keyBytes);
  writer.utf8(record.key);
  writer.varint(valueLength(record));
  writer.raw(record.value);
  writer.varint(item.headers.length);
  for (const header of item.headers) {
    writer.varint(header.name.length);
    writer.utf8(header.name);
    writer.varint(header.valueBytes);
    writer.utf8(header.value);
  }
}

export type DecodedBatches = {
  readonly records: StoredRecord[];
  /** The offset behind what was decoded. Offsets that a batch counts and does not hold were removed from it. */
  readonly nextOffset: number;
};

/**
 * The records at or above `fromOffset` of all complete batches in `bytes`; a fetch cuts the last one off anywhere. What others wrote
 * (transaction markers, records without our headers, what cannot be read at all) comes out with epoch 0, one record for each offset.
 * A few compressed bytes of a stranger may number a billion of those: past `batchRecordsMax` records the rest is left for the next fetch.
 * Yields every now and then, for `inSlices`.
 */
export function* decodeRecordBatches(bytes: Buffer, fromOffset: number, where: string): Generator<void, DecodedBatches> {
  const records: StoredRecord[] = [];
  const reader = new WireReader(bytes);
  let nextOffset = fromOffset;
  while (reader.left >= headBytes && records.length < batchRecordsMax) {
    const base = reader.int64();
    const length = reader.int32();
    if (length > reader.left) break;
    const batch = new WireReader(reader.view(length));
    nextOffset = Math.max(nextOffset, yield* decodeBatch(batch, { base, nextOffset, fromOffset, where }, records));
    yield;
  }
  return { records, nextOffset };
}

/** `nextOffset`: behind the batch before. */
type BatchPlace = { readonly base: number; readonly nextOffset: number; readonly fromOffset: number; readonly where: string };

/** Answers the offset behind the batch, or behind as much of it as was taken. */
function* decodeBatch(batch: WireReader, place: BatchPlace, into: StoredRecord[]): Generator<void, number> {
  const { base, fromOffset, where } = place;
  batch.int32();
  // An older format, which we never wrote; its offset is that of its last record.
  if (batch.int8() !== format) return yield* foreignRecords(Math.max(Math.min(place.nextOffset, base), fromOffset), base, 0, into);
  const crc = batch.int32() >>> 0;
  if (crc32c(batch.bytes.subarray(batch.at)) !== crc)
    throw new LogError('corrupt', `the batch at ${where} offset ${base} fails its checksum`);
  const attributes = batch.int16();
  const last = base + batch.int32();
  const baseTime = batch.int64();
  batch.at += 8 + 8 + 2 + 4;
  const count = batch.int32();
  const mayBeOurs = (attributes & controlBatch) === 0 && count <= batchRecordsMax;
  const own = mayBeOurs ? yield* decodeRecords(batch, attributes & codecBits, { base, last, baseTime, fromOffset, count }) : undefined;
  if (own === undefined) return yield* foreignRecords(Math.max(base, fromOffset), last, baseTime, into);
  for (const record of own) into.push(record);
  return last + 1;
}

const format = 2;
const controlBatch = 0x20;
const codecBits = 7;
const recordsPerStep = 256;

type RecordsPlace = Pick<BatchPlace, 'base' | 'fromOffset'> & { readonly last: number; readonly baseTime: number; readonly count: number };

/** Undefined when they cannot be read, though the checksum is right: so they were written, and not by us. */
function* decodeRecords(batch: WireReader, codec: number, place: RecordsPlace): Generator<void, readonly StoredRecord[] | undefined> {
  const bytes = decompress(batch.view(batch.left), codec);
  if (bytes === undefined) return undefined;
  const reader = new WireReader(bytes);
  const records: StoredRecord[] = [];
  let next = place.base;
  try {
    for (let index = 0; index < place.count; index++) {
      next = decodeRecord(reader, place, next, records) + 1;
      if (index % recordsPerStep === recordsPerStep - 1) yield;
    }
  } catch (error) {
    if (error instanceof LogError) return undefined;
    throw error;
  }
  return records;
}

function* foreignRecords(from: number, last: number, timeMs: number, into: StoredRecord[]): Generator<void, number> {
  let offset = from;
  for (; offset <= last && into.length < batchRecordsMax; offset++) {
    into.push(foreignRecord(offset, timeMs));
    if (offset % recordsPerStep === 0) yield;
  }
  return offset;
}

/** Answers its offset, which is `next` or, where some were removed, one behind it. */
function decodeRecord(reader: WireReader, place: RecordsPlace, next: number, into: StoredRecord[]): number {
  const { base, last, baseTime, fromOffset } = place;
  const end = reader.behind(reader.varint());
  reader.int8();
  const timeMs = baseTime + reader.varint();
  const offset = base + reader.varint();
  if (offset < next || offset > last) throw new LogError('corrupt', `a record of offsets ${next} to ${last} names offset ${offset}`);
  if (offset < fromOffset) {
    reader.at = end;
    return offset;
  }
  const keyBytes = reader.varint();
  const key = keyBytes < 0 ? '' : reader.utf8(keyBytes);
  const valueBytes = reader.varint();
  // A copy: the value must not keep the whole answer alive.
  const value = valueBytes <= 0 ? nothing : new Uint8Array(reader.view(valueBytes));
  const record = { ...foreignRecord(offset, timeMs), key, value };
  if (valueBytes < 0) record.isTombstone = true;
  const further: RecordHeader[] = [];
  for (let headers = reader.varint(); headers > 0; headers--) readHeader(reader, record, further);
  if (further.length > 0) record.headers = further;
  into.push(record);
  return offset;
}

const nothing = new Uint8Array();

function foreignRecord(offset: number, timeMs: number): Writable<StoredRecord> {
  return { offset, key: '', schema: 0, epoch: 0, sequence: 0, type: '', namespace: '', workflowId: '', runId: '', timeMs, value: nothing };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** `further`: where the headers go that are none of a journal's. */
function readHeader(reader: WireReader, record: Writable<StoredRecord>, further: RecordHeader[]): void {
  const name = reader.utf8(reader.varint());
  const length = reader.varint();
  const value = length < 0 ? '' : reader.utf8(length);
  switch (name) {
    case headerNames.schema:
      record.schema = wholeNumber(value);
      return;
    case headerNames.epoch:
      record.epoch = wholeNumber(value);
      return;
    case headerNames.sequence:
      record.sequence = wholeNumber(value);
      return;
    case headerNames.type:
      record.type = value;
      return;
    case headerNames.namespace:
      record.namespace = value;
      return;
    case headerNames.workflowId:
      record.workflowId = value;
      return;
    case headerNames.runId:
      record.runId = value;
      return;
    default:
      further.push([name, value]);
  }
}

/** A header that is no number was not written by us: 0, like one that is absent. */
function wholeNumber(text: string): number {
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

/** The headers of every journal record on Kafka: UTF-8 text, so that any tool shows them. Empty ones of the last four are left out. */

const headerNames = {
  schema: 'perdure.schema',
  epoch: 'perdure.epoch',
  sequence: 'perdure.sequence',
  type: 'type',
  namespace: 'namespace',
  workflowId: 'workflow-id',
  runId: 'run-id',
} as const;
