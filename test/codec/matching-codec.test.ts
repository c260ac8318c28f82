import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MatchingRecord } from '../../src/matching/matching-records.ts';
import { configuredQueue, configuredQueues, keyRatedQueue } from './configured-queues.ts';
import { spilledTasks } from './spilled-tasks.ts';
import { matchingCodec } from '../../src/codec/matching-codec.ts';

const count = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const text = fc.string({ unit: 'binary', maxLength: 20 });
const records: fc.Arbitrary<MatchingRecord> = fc.record({
  kind: fc.constant('backlogChanged' as const),
  timeMs: count,
  spilled: fc.array(spilledTasks, { maxLength: 3 }),
  removed: fc.array(count, { maxLength: 5 }),
  configured: fc.array(configuredQueues, { maxLength: 2 }),
  forgotten: fc.array(text, { maxLength: 2 }),
});

test('a record comes back as it was', () => {
  fc.assert(
    fc.property(records, (record) => {
      const encoded = matchingCodec.encode(record);
      expect(matchingCodec.decode(encoded.value, encoded.schema)).toEqual(record);
      expect(encoded.timeMs).toBe(record.timeMs);
    }),
  );
});

const stored: MatchingRecord = {
  kind: 'backlogChanged',
  timeMs: 1_700_000_000_000,
  spilled: [
    {
      id: 3,
      queue: { namespaceId: 'ns', name: 'orders', taskType: 'activity', partition: 2, kind: 'normal' },
      task: {
        key: { namespaceId: 'ns', workflowId: 'wf', runId: 'run' },
        historyShard: 4,
        scheduledEventId: 5,
        stamp: 1,
        expiryTimeMs: 9,
        taskId: 77,
        priority: undefined,
      },
      shared: 0,
    },
  ],
  removed: [1, 2],
  configured: [],
  forgotten: [],
};

test('golden: a stored task', () => {
  const encoded = matchingCodec.encode(stored);
  expect(encoded).toMatchObject({ key: 'ns/orders', schema: 1, type: 'TasksStored', namespace: 'ns', workflowId: 'wf', runId: 'run' });
  expect(Buffer.from(encoded.value).toString('hex')).toMatchInlineSnapshot(
    `"0880d095ffbc311229080312100a026e7312066f7264657273180220021a130a027766120372756e1804200528013009384d1a020102"`,
  );
});

test('a record that only removes says so', () => {
  expect(matchingCodec.encode({ ...stored, spilled: [] })).toMatchObject({ key: '@backlog', type: 'TasksRemoved', workflowId: '' });
});

test('golden: the configuration of a queue', () => {
  const encoded = matchingCodec.encode({ ...stored, spilled: [], removed: [], configured: [configuredQueue] });
  expect(encoded).toMatchObject({ key: 'ns/orders', schema: 1, type: 'TaskQueueConfigured', namespace: 'ns', workflowId: '' });
  expect(Buffer.from(encoded.value).toString('hex')).toMatchInlineSnapshot(
    `"0880d095ffbc3122460a0e0a026e7312066f7264657273180212340803121d09000000000000000012067061757365641a036f70732080d095ffbc311a110a0674656e616e74110000000000000440"`,
  );
});

test('golden: a rate of fairness keys', () => {
  const encoded = matchingCodec.encode({ ...stored, spilled: [], removed: [], configured: [keyRatedQueue] });
  expect(encoded).toMatchObject({ key: 'ns/orders', schema: 1, type: 'TaskQueueConfigured', namespace: 'ns', workflowId: '' });
  expect(Buffer.from(encoded.value).toString('hex')).toMatchInlineSnapshot(
    `"0880d095ffbc3122630a0e0a026e7312066f7264657273180212510803121d09000000000000000012067061757365641a036f70732080d095ffbc311a110a0674656e616e74110000000000000440221b0900000000000004401204666169721a036f70732081d095ffbc31"`,
  );
});

test('what it cannot read stops the partition', () => {
  const { value } = matchingCodec.encode(stored);
  expect(() => matchingCodec.decode(value, 2)).toThrow('has schema 2, written by another version; this one reads 1');
  expect(() => matchingCodec.decode(value.subarray(0, value.length - 20), 1)).toThrow();
  expect(() => matchingCodec.decode(new Uint8Array([0x12, 0x02, 0x08, 0x05]), 1)).toThrow('stored task 5 has no queue');
  expect(() => matchingCodec.decode(new Uint8Array([0x22, 0x00]), 1)).toThrow('a configured queue has no name');
});

test('golden: a removed namespace', () => {
  const encoded = matchingCodec.encode({ ...stored, spilled: [], removed: [], forgotten: ['gone'] });
  expect(encoded).toMatchObject({ key: '@backlog', schema: 1, type: 'NamespaceForgotten', namespace: 'gone', workflowId: '' });
  expect(Buffer.from(encoded.value).toString('hex')).toMatchInlineSnapshot(`"0880d095ffbc312a04676f6e65"`);
});
