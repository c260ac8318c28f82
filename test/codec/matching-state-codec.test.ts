/** Rows of a matching host's checkpoint as bytes: they outlive versions, and what a disk has changed is seen. */
import { readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../src/projections/database-port.ts';
import type { TaskState } from '../../src/matching/checkpoint/backlog-wire.ts';
import { configuredQueue, configuredQueues, keyRatedQueue } from './configured-queues.ts';
import { spilledTasks } from './spilled-tasks.ts';
import { matchingStateCodec } from '../../src/codec/matching-state-codec.ts';

const corrupt = expect.objectContaining({ name: 'DatabaseError', code: 'corrupt' }) as Error;

const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const tasks: fc.Arbitrary<TaskState> = fc.record({ spilled: spilledTasks, storedAtMs: count });

test('a stored task comes back as it was', () => {
  fc.assert(
    fc.property(tasks, (task) => {
      expect(matchingStateCodec.decodeTask(matchingStateCodec.encodeTask(task))).toEqual(task);
    }),
  );
});

test('counters come back as they were', () => {
  fc.assert(
    fc.property(fc.record({ lastId: count, configs: fc.array(configuredQueues, { maxLength: 3 }) }), (counters) => {
      expect(matchingStateCodec.decodeCounters(matchingStateCodec.encodeCounters(counters))).toEqual(counters);
    }),
  );
});

const full: TaskState = {
  spilled: {
    id: 123_456_789_012,
    queue: { namespaceId: '7f3c5a50-0000-4000-8000-0000000000aa', name: 'Größe/注文', taskType: 'activity', partition: 2, kind: 'normal' },
    task: {
      key: {
        namespaceId: '7f3c5a50-0000-4000-8000-0000000000aa',
        workflowId: 'order-17',
        runId: '019a5b50-0000-7000-8000-0000000000bb',
      },
      historyShard: 4,
      scheduledEventId: 5,
      stamp: 6,
      expiryTimeMs: 1_700_000_060_000,
      taskId: 77,
      priority: undefined,
    },
    shared: 0,
  },
  storedAtMs: 1_700_000_000_000,
};

describe('bytes that cannot be what was written', () => {
  const rows: readonly (readonly [string, Uint8Array, (bytes: Uint8Array) => unknown])[] = [
    ['task', matchingStateCodec.encodeTask(full), (bytes) => matchingStateCodec.decodeTask(bytes)],
    [
      'counters',
      matchingStateCodec.encodeCounters({ lastId: 2 ** 40, configs: [configuredQueue] }),
      (bytes) => matchingStateCodec.decodeCounters(bytes),
    ],
  ];

  test.each(rows)('each bit and each byte counts: %s', (_name, bytes, decode) => {
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Uint8Array.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => decode(flipped), `bit ${bit}`).toThrow(corrupt);
    }
    for (let length = 0; length < bytes.length; length++) expect(() => decode(bytes.subarray(0, length))).toThrow(corrupt);
  });

  test.each([
    ['no task', [], 'StoredTask.spilled is missing'],
    ['a task without a queue', [0x0a, 2, 8, 5], 'stored task 5 has no queue'],
  ])('%s', (_name, body, problem) => {
    const bytes = Uint8Array.from([1, 0, 0, 0, 0, ...body]);
    new DataView(bytes.buffer).setUint32(1, crc32(bytes.subarray(5), 1), true);
    expect(() => matchingStateCodec.decodeTask(bytes)).toThrow(DatabaseError);
    expect(() => matchingStateCodec.decodeTask(bytes)).toThrow(problem);
  });
});

/** No file is ever written again: a new form gets files of its own. */
test('rows of format 1 are still read, and mean what they meant', () => {
  const lines = readFileSync(new URL('golden/state-v1-matching.hex', import.meta.url), 'utf8')
    .trim()
    .split('\n');
  const [task = new Uint8Array(0), counters = new Uint8Array(0)] = lines.map((line) => Uint8Array.from(Buffer.from(line, 'hex')));
  expect(matchingStateCodec.decodeTask(task)).toEqual(full);
  expect(matchingStateCodec.encodeTask(full)).toEqual(task);
  expect(matchingStateCodec.decodeCounters(counters)).toEqual({ lastId: 123_456_789_012, configs: [] });
  expect(matchingStateCodec.encodeCounters({ lastId: 123_456_789_012, configs: [] })).toEqual(counters);
});

test.each([
  ['configs', configuredQueue],
  ['key-rates', keyRatedQueue],
])('golden: %s of queues among the counters', (name, configured) => {
  const golden = readFileSync(new URL(`golden/state-v1-matching-${name}.hex`, import.meta.url), 'utf8').trim();
  const bytes = Uint8Array.from(Buffer.from(golden, 'hex'));
  const counters = { lastId: 7, configs: [configured] };
  expect(matchingStateCodec.decodeCounters(bytes)).toEqual(counters);
  expect(Buffer.from(matchingStateCodec.encodeCounters(counters)).toString('hex')).toBe(golden);
});
