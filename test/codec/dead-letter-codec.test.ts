import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogRecord, StoredRecord } from '../../src/ports/log.ts';
import type { EncodedRecord } from '../../src/actors/partition/partition-core.ts';
import type { DeadLetterQueue, Letter } from '../../src/deadletters/letter.ts';
import type { DeadLetterRecord } from '../../src/deadletters/letter-records.ts';
import { deadLetterCodec } from '../../src/codec/dead-letter-codec.ts';
import { cut, headerLimits } from '../../src/codec/dead-letter-headers.ts';
import { letterOf } from '../deadletters/letters.ts';

const queue: DeadLetterQueue = { number: 1, category: 'transfer', categoryId: 1, sourceCluster: 'active', targetCluster: 'active' };
const codec = deadLetterCodec(queue, 'perdure');

function stored(encoded: EncodedRecord, over: Partial<LogRecord> = {}): StoredRecord {
  return { ...encoded, epoch: 1, sequence: 1, offset: 7, ...over };
}

function decoded(record: StoredRecord): DeadLetterRecord {
  return codec.decode(record.value, record.schema, record);
}

const letterRecord = (letter: Letter, messageId = 41): DeadLetterRecord => ({
  kind: 'letter',
  timeMs: 1_770_000_600_001,
  messageId,
  letter,
});
const bytesOf = ({ headers = [] }: EncodedRecord): number =>
  headers.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0);

const whole: Letter = {
  ...letterOf(3, 12, { generation: 2 }),
  origin: { topic: 'perdure.history', partition: 2, offset: 991, group: 'perdure-history' },
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  history: [{ timeMs: 1_770_000_000_000, kind: 'merge', errorType: 'Unavailable', jobId: 'job-1', fingerprint: '0123456789abcdef' }],
  jobId: 'job-1',
};

describe('a dead letter', () => {
  test('is its task, and headers that people can read', () => {
    const encoded = codec.encode(letterRecord(whole));
    expect(encoded).toMatchObject({ key: '41', schema: 1, type: '', namespace: '', workflowId: '', runId: '', value: whole.task.value });
    expect(encoded.headers).toMatchInlineSnapshot(`
      [
        [
          "perdure.message-id",
          "41",
        ],
        [
          "perdure.category",
          "transfer",
        ],
        [
          "perdure.category-id",
          "1",
        ],
        [
          "perdure.source-cluster",
          "active",
        ],
        [
          "perdure.target-cluster",
          "active",
        ],
        [
          "perdure.shard-id",
          "3",
        ],
        [
          "perdure.from-sequence",
          "12",
        ],
        [
          "perdure.task-id",
          "3012",
        ],
        [
          "perdure.task-type",
          "TASK_TYPE_TRANSFER_START_CHILD_EXECUTION",
        ],
        [
          "perdure.namespace-id",
          "32049b68-7872-4094-8e63-d0dd59896a83",
        ],
        [
          "perdure.namespace",
          "default",
        ],
        [
          "perdure.workflow-id",
          "order-12",
        ],
        [
          "perdure.run-id",
          "0194d9f4-7f4a-7d1d-b1d1-3fce2a0c4b11",
        ],
        [
          "perdure.workflow-type",
          "Order",
        ],
        [
          "perdure.event-id",
          "5",
        ],
        [
          "perdure.cause",
          "retries-exhausted",
        ],
        [
          "perdure.disposition",
          "exhausted",
        ],
        [
          "perdure.error-type",
          "Unavailable",
        ],
        [
          "perdure.error-message",
          "connection 12 refused",
        ],
        [
          "perdure.fingerprint",
          "0123456789abcdef",
        ],
        [
          "perdure.attempts",
          "70",
        ],
        [
          "perdure.generation",
          "2",
        ],
        [
          "perdure.first-failure-time",
          "2026-02-02T02:40:00.000Z",
        ],
        [
          "perdure.last-failure-time",
          "2026-02-02T02:50:00.000Z",
        ],
        [
          "perdure.dead-letter-time",
          "2026-02-02T02:50:00.001Z",
        ],
        [
          "perdure.history",
          "[{"time":"2026-02-02T02:40:00.000Z","kind":"merge","errorType":"Unavailable","job":"job-1","fingerprint":"0123456789abcdef"}]",
        ],
        [
          "perdure.handler",
          "TransferQueueProcessor",
        ],
        [
          "perdure.node",
          "host:7233",
        ],
        [
          "perdure.build",
          "0.1.0",
        ],
        [
          "perdure.state",
          "open",
        ],
        [
          "perdure.job",
          "job-1",
        ],
        [
          "perdure.value-type",
          "temporal.server.api.persistence.v1.TransferTaskInfo",
        ],
        [
          "perdure.value-encoding",
          "proto3",
        ],
        [
          "traceparent",
          "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ],
        [
          "__dlq.errors.topic",
          "perdure.history",
        ],
        [
          "__dlq.errors.partition",
          "2",
        ],
        [
          "__dlq.errors.offset",
          "991",
        ],
        [
          "__dlq.errors.group",
          "perdure-history",
        ],
        [
          "__dlq.errors.delivery.count",
          "70",
        ],
        [
          "__dlq.errors.message",
          "connection 12 refused",
        ],
        [
          "x-original-topic",
          "perdure.dlq-redrive",
        ],
        [
          "kafka_dlt-original-topic",
          "perdure.dlq-redrive",
        ],
      ]
    `);
  });

  const name = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.constant(''));
  const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
  const wholeNumber = fc.oneof(fc.maxSafeNat(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }));
  const anyLetter: fc.Arbitrary<Letter> = fc.record({
    handOver: fc.record({ shard: fc.integer({ min: 1, max: 9_999 }), sequence: fc.integer({ min: 1, max: 2 ** 40 }), clusterId: name }),
    task: fc.record({
      taskId: wholeNumber,
      taskType: name,
      taskVersion: fc.option(wholeNumber, { nil: undefined }),
      fireTimeMs: fc.option(time, { nil: undefined }),
      createdTimeMs: fc.option(time, { nil: undefined }),
      shardId: fc.integer({ min: 1, max: 9_999 }),
      sourceShardId: fc.option(fc.nat(99), { nil: undefined }),
      namespaceId: name,
      namespace: name,
      targetNamespaceId: name,
      targetNamespace: name,
      workflowId: name,
      runId: name,
      workflowType: name,
      eventId: wholeNumber,
      nextEventId: fc.option(wholeNumber, { nil: undefined }),
      valueType: name,
      value: fc.uint8Array({ maxLength: 50 }),
    }),
    failure: fc.record({
      cause: fc.constantFrom('retries-exhausted', 'permanent-error', 'namespace-deleted'),
      disposition: fc.constantFrom('poison', 'exhausted', 'systemic', 'target-gone', 'operator'),
      errorType: name,
      errorMessage: name,
      errorStack: name,
      errorChain: fc.array(fc.record({ errorType: name, errorMessage: name }), { maxLength: 3 }),
      fingerprint: name,
      attempts: fc.nat(),
      firstFailureTimeMs: time,
      lastFailureTimeMs: time,
      handler: name,
      node: name,
      build: name,
    }),
    origin: fc.option(fc.record({ topic: fc.constant('perdure.history'), partition: fc.nat(99), offset: fc.nat(), group: name }), {
      nil: undefined,
    }),
    traceparent: name,
    deadLetterTimeMs: time,
    generation: fc.nat(9),
    state: fc.constantFrom('open', 'quarantined'),
    history: fc.array(fc.record({ timeMs: time, kind: name, errorType: name, jobId: name, fingerprint: name }), { maxLength: 3 }),
    jobId: name,
  });

  test('property: comes back as it was, no name twice, nothing empty', () => {
    fc.assert(
      fc.property(anyLetter, (any) => {
        const letter = { ...any, task: { ...any.task, shardId: any.handOver.shard } };
        const encoded = codec.encode(letterRecord(letter));
        const names = (encoded.headers ?? []).map(([each]) => each);
        expect(new Set(names).size).toBe(names.length);
        expect(encoded.headers?.every(([, value]) => value !== '')).toBe(true);
        expect(decoded(stored(encoded))).toEqual(letterRecord(letter));
      }),
      { numRuns: 200 },
    );
  });

  test('stays within its bytes with the stamp of the log, and one whose names alone are more is refused', () => {
    const long = '語'.repeat(1_000);
    const task = { ...whole.task, namespace: long, targetNamespace: long, workflowId: long, workflowType: long, runId: long };
    const letter = { ...whole, task, failure: { ...whole.failure, errorMessage: long, errorStack: long.repeat(3), node: long } };
    for (const traceparent of [whole.traceparent, 't'.repeat(70_000)]) {
      const encoded = codec.encode(letterRecord({ ...letter, traceparent }));
      expect(bytesOf(encoded)).toBeLessThanOrEqual(headerLimits.headersBytesMax - headerLimits.stampBytesMax);
      expect(decoded(stored(encoded))).toMatchObject({
        kind: 'letter',
        letter: { task, failure: { errorMessage: expect.stringMatching(/…$/) } },
      });
    }
    expect(() => codec.encode(letterRecord({ ...letter, task: { ...task, workflowId: 'x'.repeat(70_000) } }))).toThrow(/ids and names/);
  });

  test('that cannot be read is known by its hand-over and its state all the same', () => {
    const encoded = codec.encode(letterRecord({ ...whole, state: 'quarantined', failure: { ...whole.failure, lastFailureTimeMs: NaN } }));
    const known = { handOver: whole.handOver, state: 'quarantined' };
    expect(decoded(stored(encoded))).toMatchObject({ kind: 'damaged', messageId: 41, ...known });
    expect(decoded(stored(encoded, { schema: 2 }))).toMatchObject({ kind: 'damaged', ...known });
    expect(decoded(stored(encoded, { headers: [] }))).toMatchObject({ kind: 'damaged', handOver: undefined, state: 'open' });
  });

  test('of a failure that tells too much: cut, and never larger however often it is written', () => {
    const long = 'größer 注文 🛒 '.repeat(20_000);
    const error = { errorType: long, errorMessage: long };
    const letter: Letter = {
      ...whole,
      failure: { ...whole.failure, ...error, errorStack: long, errorChain: Array.from({ length: 50 }, () => error) },
      history: Array.from({ length: 100 }, (_, index) => ({
        timeMs: index,
        kind: 'merge',
        errorType: long,
        jobId: `job-${index}`,
        fingerprint: 'f',
      })),
    };
    let record = letterRecord(letter);
    const sizes: number[] = [];
    for (let times = 0; times < 5; times++) {
      const encoded = codec.encode(record);
      sizes.push(bytesOf(encoded));
      record = decoded(stored(encoded));
      if (record.kind !== 'letter') throw new Error(`a letter is no longer one: ${JSON.stringify(record)}`);
      const { failure, history } = record.letter;
      expect(Buffer.byteLength(failure.errorType)).toBeLessThanOrEqual(headerLimits.errorTypeBytesMax);
      expect(Buffer.byteLength(failure.errorMessage)).toBeLessThanOrEqual(headerLimits.errorMessageBytesMax);
      expect(Buffer.byteLength(failure.errorStack)).toBeLessThanOrEqual(headerLimits.errorStackBytesMax);
      for (const text of [failure.errorType, failure.errorMessage, failure.errorStack]) expect(text).toMatch(/…$/);
      expect(failure.errorChain.length).toBeGreaterThan(0);
      expect(history.at(-1)?.jobId).toBe('job-99');
    }
    expect(sizes[0]).toBeLessThanOrEqual(headerLimits.headersBytesMax);
    expect(new Set(sizes).size).toBe(1);
  });

  test('of which every name is long: stack, chain and history give way, what it is about stays', () => {
    const id = '語'.repeat(1_000);
    const letter: Letter = {
      ...whole,
      task: { ...whole.task, workflowId: id, runId: id, workflowType: id, namespace: id, targetNamespace: id, taskType: id, valueType: id },
      failure: { ...whole.failure, errorStack: 'x'.repeat(8_192), errorMessage: 'm'.repeat(2_048), node: id, handler: id, build: id },
    };
    const encoded = codec.encode(letterRecord(letter));
    const back = decoded(stored(encoded));
    expect(back).toMatchObject({ kind: 'letter', letter: { task: { workflowId: id }, failure: { errorMessage: 'm'.repeat(2_048) } } });
    expect(encoded.headers?.map(([name]) => name)).not.toContain('perdure.history');
  });

  test.each([
    ['of a newer schema', { schema: 2 }],
    ['without headers', { headers: [] }],
    ['with a time that is none', { headers: [['perdure.dead-letter-time', 'yesterday']] }],
  ] as const)('%s stays in the queue, as one that cannot be read', (_, over) => {
    const encoded = codec.encode(letterRecord(whole));
    expect(decoded(stored(encoded, over))).toMatchObject({ kind: 'damaged', messageId: 41 });
  });
});

test('cut at any length: never longer, never half a character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, max) => {
      const short = cut(text, max);
      expect(Buffer.byteLength(short)).toBeLessThanOrEqual(max);
      expect(text.startsWith(short.replace(/…$/, ''))).toBe(true);
      if (Buffer.byteLength(text) <= max) expect(short).toBe(text);
    }),
  );
});

describe('other records', () => {
  const head = { kind: 'head', timeMs: 1_000, nextId: 42, lowestOpen: 40, cut: 12, uncutPurges: 0, incarnation: 4_294_967_295 } as const;
  const resolved = {
    kind: 'resolved',
    timeMs: 1_000,
    messageId: 41,
    how: 'merged-noop',
    who: 'anna',
    why: '',
    jobId: 'job-1',
    generation: 3,
  } as const;

  test.each<DeadLetterRecord>([
    resolved,
    { ...resolved, detail: 'the workflow is closed' },
    { ...resolved, why: 'duplicates', how: 'purged' },
    head,
    { ...head, uncutPurges: 3, act: { kind: 'carried' } },
    { ...head, act: { kind: 'restored', jobId: 'job-1', who: 'anna', why: '' } },
    {
      kind: 'handedOver',
      timeMs: 1_000,
      shard: 7,
      clusterId: 'b8ac4d2e-52f7-4a4e-9a2b-3f1d0d1c7e10',
      recent: [
        { sequence: 8, messageId: 90 },
        { sequence: 9, messageId: 95, task: 4_294_967_295 },
      ],
    },
  ])('$kind comes back as it was', (record) => {
    expect(decoded(stored(codec.encode(record)))).toEqual(record);
  });

  test('golden: the head, what came of a shard, and what another version wrote', () => {
    const text = (record: DeadLetterRecord): string => new TextDecoder().decode(codec.encode(record).value);
    expect(text({ ...head, act: { kind: 'restored', jobId: 'job-1', who: 'anna', why: '' } })).toBe(
      '{"nextId":42,"lowestOpen":40,"cut":12,"uncutPurges":0,"incarnation":4294967295,"act":{"kind":"restored","jobId":"job-1","who":"anna","why":""}}',
    );
    expect(text({ kind: 'handedOver', timeMs: 1, shard: 7, clusterId: 'c', recent: [{ sequence: 8, messageId: 90, task: 3 }] })).toBe(
      '{"clusterId":"c","recent":[[8,90,3]]}',
    );
    expect(() => decoded(stored(codec.encode(head), { schema: 2 }))).toThrow('has schema 2, written by another version; this one reads 1');
  });

  test('a tombstone has no value, says who did it, how and why, and resolves its dead letter even if it cannot be read', () => {
    const encoded = codec.encode(resolved);
    expect(encoded).toMatchObject({ key: '41', isTombstone: true });
    expect(Object.fromEntries(encoded.headers ?? [])).toEqual({
      'perdure.message-id': '41',
      'perdure.who': 'anna',
      'perdure.why': 'none given',
      'perdure.job': 'job-1',
      'perdure.how': 'merged-noop',
      'perdure.when': '1970-01-01T00:00:01.000Z',
      'perdure.generation': '3',
    });
    expect(decoded(stored(encoded, { headers: [] }))).toMatchObject({ kind: 'resolved', messageId: 41, how: 'purged' });
  });

  test.each([
    ['a key that is no id', { key: '041' }],
    ['a control record of another kind', { key: '@tail' }],
    ['a shard that is none', { key: '@from:x' }],
    ['a head that is no JSON', { key: '@head', value: Uint8Array.of(1) }],
    [
      'a head with an id that is none',
      { key: '@head', value: new TextEncoder().encode('{"nextId":-1,"lowestOpen":0,"cut":0,"uncutPurges":0,"incarnation":1}') },
    ],
  ])('%s stops the queue', (_, over) => {
    expect(() => decoded(stored(codec.encode(head), over))).toThrow(expect.objectContaining({ code: 'corrupt' }));
  });
});
