import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeBatch, encodeBatch } from '../../src/topics/embedded/batch-codec.ts';
import { crc32c } from '../../src/topics/kafka/crc32c.ts';
import { decodeRecordBatches, encodeRecordBatch } from '../../src/topics/kafka/record-batch.ts';
import { inSlices } from '../../src/topics/in-slices.ts';
import { batchRecordsMax, sealedBytes } from '../../src/topics/append-limits.ts';
import { record } from '../contract/log-writer.ts';
import { APPEND_BYTES_MAX, type LogRecord, type StoredRecord } from '../../src/ports/log.ts';
import { turns } from '../support/event-loop.ts';

const whole = fc.maxSafeNat();
const name = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.constant(''));
const anyPlainRecord: fc.Arbitrary<LogRecord> = fc.record({
  key: name,
  schema: fc.integer({ min: 0, max: 1000 }),
  epoch: whole,
  sequence: whole,
  type: name,
  namespace: name,
  workflowId: name,
  runId: name,
  timeMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  value: fc.uint8Array({ maxLength: 300 }),
});
const headerName = fc.integer({ min: 0, max: 200 }).map((length) => `perdure.${'x'.repeat(length)}`);
/** As a journal writes them, and with headers of its own, with no value. */
const anyOwnHeaders: fc.Arbitrary<Pick<LogRecord, 'headers' | 'isTombstone'>> = fc.oneof(
  fc.constant({}),
  fc.record({ headers: fc.uniqueArray(fc.tuple(headerName, name), { minLength: 1, maxLength: 9, selector: ([each]) => each }) }),
);
const anyRecord: fc.Arbitrary<LogRecord> = fc
  .tuple(anyPlainRecord, anyOwnHeaders, fc.integer({ min: 0, max: 9 }))
  .map(([plain, own, isTombstone]) =>
    isTombstone === 0 ? { ...plain, ...own, value: new Uint8Array(), isTombstone: true } : { ...plain, ...own },
  );
const anyBatch = fc.array(anyRecord, { minLength: 1, maxLength: 20 });

function atOnce<T>(steps: Generator<void, T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value;
}

/** A batch as a broker hands it out: with its place in the log written over the zero that the client sent. */
function placed(batch: Buffer, base: number): Buffer {
  const copy = Buffer.from(batch);
  copy.writeBigInt64BE(BigInt(base), 0);
  return copy;
}

function numbered(records: readonly LogRecord[], base: number): readonly StoredRecord[] {
  return records.map((one, index) => ({ ...one, offset: base + index }));
}

test('property: Kafka batches come back as they were, from any offset on', () => {
  fc.assert(
    fc.property(anyBatch, anyBatch, fc.integer({ min: 0, max: 2 ** 40 }), fc.nat(45), (first, second, base, from) => {
      const bytes = Buffer.concat([placed(encodeRecordBatch(first), base), placed(encodeRecordBatch(second), base + first.length)]);
      const expected = numbered([...first, ...second], base).filter(({ offset }) => offset >= base + from);
      expect(atOnce(decodeRecordBatches(bytes, base + from, 't/0')).records).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});

test('property: embedded batches come back as they were, from any offset on', () => {
  fc.assert(
    fc.property(anyBatch, fc.maxSafeNat(), fc.nat(25), (records, large, from) => {
      const base = Math.min(large, 2 ** 52);
      const into: StoredRecord[] = [];
      atOnce(decodeBatch(encodeBatch(records), base, base + from, into));
      expect(into).toEqual(numbered(records, base).filter(({ offset }) => offset >= base + from));
    }),
    { numRuns: 200 },
  );
});

test('property: what is sealed is never larger on the wire than it was counted', () => {
  fc.assert(
    fc.property(anyBatch, (records) => {
      const counted = sealedBytes({ generation: 1, records });
      expect(encodeRecordBatch(records).length).toBeLessThanOrEqual(counted);
      expect(encodeBatch(records).length).toBeLessThanOrEqual(counted);
    }),
  );
});

test('a batch that a fetch cut off anywhere is left for the next fetch', () => {
  const first = encodeRecordBatch([record(1), record(2)]);
  const second = placed(encodeRecordBatch([record(3)]), 2);
  const both = Buffer.concat([first, second]);
  for (let length = 0; length < both.length; length++) {
    const found = atOnce(decodeRecordBatches(both.subarray(0, length), 0, 't/0')).records.length;
    expect(found).toBe(length < first.length ? 0 : 2);
  }
});

/** The batch with other attributes, its checksum right again. */
function attributed(batch: Buffer, attributes: number): Buffer {
  const copy = Buffer.from(batch);
  copy.writeInt16BE(attributes, 21);
  copy.writeUInt32BE(crc32c(copy.subarray(21)), 17);
  return copy;
}

test('what cannot be read as ours takes its offsets, and is nobody’s', () => {
  const ours = [record(1), record(2), record(3)];
  const around = (odd: Buffer): Buffer =>
    Buffer.concat([placed(encodeRecordBatch([record(7)]), 4), odd, placed(encodeRecordBatch([record(8)]), 8)]);
  const garbage = placed(encodeRecordBatch(ours), 5);
  garbage.fill(0xff, 61);
  const old = placed(encodeRecordBatch(ours), 7);
  old.writeInt8(1, 16);
  const odd: readonly (readonly [string, Buffer])[] = [
    ['snappy', attributed(placed(encodeRecordBatch(ours), 5), 2)],
    ['lz4', attributed(placed(encodeRecordBatch(ours), 5), 3)],
    ['zstd', attributed(placed(encodeRecordBatch(ours), 5), 4)],
    ['a codec of the future', attributed(placed(encodeRecordBatch(ours), 5), 6)],
    ['garbage with a right checksum', attributed(garbage, 0)],
    ['a control batch', attributed(placed(encodeRecordBatch(ours), 5), 0x20)],
    ['an older format', old],
  ];
  for (const [name, batch] of odd) {
    const { records, nextOffset } = atOnce(decodeRecordBatches(around(batch), 4, 't/0'));
    const epochs = records.map(({ offset, epoch }) => [offset, epoch]);
    expect(epochs, name).toEqual([
      [4, 1],
      [5, 0],
      [6, 0],
      [7, 0],
      [8, 1],
    ]);
    expect(nextOffset, name).toBe(9);
  }
});

test('a stranger’s batch that numbers millions of records is read in pieces, and what follows it is ours', () => {
  const count = 1_000_000;
  const odd = placed(encodeRecordBatch([record(1)]), 1);
  odd.writeInt32BE(count - 1, 23);
  odd.writeInt32BE(count, 57);
  const bytes = Buffer.concat([encodeRecordBatch([record(1)]), attributed(odd, 1), placed(encodeRecordBatch([record(2)]), 1 + count)]);
  const sequences: number[] = [];
  let at = 0;
  for (let reads = 0; at < count + 2 && reads < 100; reads++) {
    const { records, nextOffset } = atOnce(decodeRecordBatches(bytes, at, 't/0'));
    expect(records.length).toBeLessThanOrEqual(batchRecordsMax);
    for (const found of records) {
      if (found.offset !== at) throw new Error(`offset ${found.offset} follows ${at - 1}`);
      at = found.offset + 1;
      if (found.epoch > 0) sequences.push(found.sequence);
    }
    expect(nextOffset).toBe(at);
  }
  expect(sequences).toEqual([1, 2]);
  expect(at).toBe(count + 2);
});

test('a legal batch of ours is never taken for a stranger’s, however small its records are', () => {
  const tiny: LogRecord = { ...record(1), key: '', type: '', namespace: '', workflowId: '', runId: '', value: new Uint8Array() };
  const count = 10_000;
  const { length } = encodeRecordBatch(Array.from({ length: count }, () => tiny));
  expect(length / count).toBeGreaterThan(APPEND_BYTES_MAX / batchRecordsMax);
});

test('property: records whose numbers make no sense are nobody’s, and end', () => {
  const edits = fc.array(fc.tuple(fc.nat(400), fc.constantFrom(0, 1, 2, 0x7f, 0x80, 0xff)), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(edits, (bytes) => {
      const batch = encodeRecordBatch([record(1), record(2), record(3)]);
      for (const [at, byte] of bytes) if (61 + at < batch.length) batch[61 + at] = byte;
      const { records, nextOffset } = atOnce(decodeRecordBatches(attributed(batch, 0), 0, 't/0'));
      expect(nextOffset).toBe(3);
      let last = -1;
      for (const { offset } of records) {
        expect(offset).toBeGreaterThan(last);
        expect(offset).toBeLessThan(3);
        last = offset;
      }
    }),
    { numRuns: 3_000 },
  );
});

test('a batch that compaction emptied is seen as numbers without records', () => {
  const batch = placed(encodeRecordBatch([record(1)]), 5);
  const empty = Buffer.from(batch.subarray(0, 61));
  empty.writeInt32BE(61 - 12, 8);
  empty.writeInt32BE(2, 23);
  empty.writeInt32BE(0, 57);
  expect(atOnce(decodeRecordBatches(attributed(empty, 0), 5, 't/0'))).toEqual({ records: [], nextOffset: 8 });
});

test('a flipped bit anywhere behind the checksum is corruption, on either log', () => {
  const kafka = encodeRecordBatch([record(1), record(2)]);
  for (let at = 17; at < kafka.length; at++) {
    const broken = Buffer.from(kafka);
    broken[at] = (broken[at] ?? 0) ^ 0x10;
    expect(() => atOnce(decodeRecordBatches(broken, 0, 't/0')), `byte ${at}`).toThrow(/checksum/);
  }
  const embedded = encodeBatch([record(1), record(2)]);
  for (let at = 0; at < embedded.length; at++) {
    const broken = embedded.slice();
    broken[at] = (broken[at] ?? 0) ^ 0x10;
    expect(() => atOnce(decodeBatch(broken, 0, 0, [])), `byte ${at}`).toThrow(/checksum/);
  }
});

test('the checksum is CRC-32C', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
  expect(crc32c(new Uint8Array())).toBe(0);
});

test('near the limit every byte of a name counts', () => {
  const names = { key: '注'.repeat(1000), workflowId: '注'.repeat(1000), namespace: '注'.repeat(1000) };
  const records = Array.from({ length: 640 }, (_, index) => record(index, names));
  const wire = encodeRecordBatch(records).length;
  const counted = sealedBytes({ generation: 1, records });
  expect(wire).toBeGreaterThan(5.5 * 1024 * 1024);
  expect(counted).toBeGreaterThanOrEqual(wire);
  expect(counted).toBeLessThan(wire * 1.05);
});

test('a legal batch fits into what the topics allow', () => {
  const largest = [record(1, { value: new Uint8Array(APPEND_BYTES_MAX - 400) })];
  expect(sealedBytes({ generation: 1, records: largest })).toBeLessThanOrEqual(APPEND_BYTES_MAX);
  expect(encodeRecordBatch(largest).length).toBeLessThan(8 * 1024 * 1024);
});

test('a large batch is decoded in more than one turn of the event loop, and comes out whole', async () => {
  const records = Array.from({ length: 20_000 }, (_, index) => record(index + 1, { value: new Uint8Array(20) }));
  for (const decoding of [
    () => inSlices(decodeRecordBatches(encodeRecordBatch(records), 0, 't/0')).then((decoded) => decoded.records),
    async () => {
      const into: StoredRecord[] = [];
      await inSlices(decodeBatch(encodeBatch(records), 0, 0, into));
      return into;
    },
  ]) {
    let waits = 0;
    let done = false;
    const decoded = decoding().finally(() => (done = true));
    while (!done) {
      waits += 1;
      await turns();
    }
    expect((await decoded).map(({ offset }) => offset)).toEqual(records.map((_, index) => index));
    expect(waits).toBeGreaterThan(1);
  }
});
