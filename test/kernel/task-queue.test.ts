import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type LaneName,
  laneKey,
  matchingPartitionOf,
  parentPartition,
  parseLaneKey,
  plainLane,
  taskQueuePartitionKey,
  type TaskQueuePartition,
  allTaskTypes,
  taskTypeOfWire,
  taskTypes,
} from '../../src/kernel/task-queue.ts';

const queues: fc.Arbitrary<TaskQueuePartition> = fc.record({
  namespaceId: fc.uuid(),
  name: fc.string({ minLength: 1, maxLength: 12 }),
  taskType: fc.constantFrom('workflow' as const, 'activity' as const),
  partition: fc.nat(500),
  kind: fc.constantFrom('normal' as const, 'sticky' as const),
});

test('different partitions have different keys', () => {
  fc.assert(
    fc.property(queues, queues, (a, b) => {
      fc.pre(JSON.stringify(a) !== JSON.stringify(b));
      expect(taskQueuePartitionKey(a)).not.toBe(taskQueuePartitionKey(b));
    }),
  );
});

test('the tree of partitions leads to the root', () => {
  const parents = [0, 1, 4, 20, 21, 40, 41, 421].map((partition) => {
    const queue: TaskQueuePartition = { namespaceId: 'n', name: 'q', taskType: 'activity', partition, kind: 'normal' };
    return parentPartition(queue)?.partition;
  });
  expect(parents).toEqual([undefined, 0, 0, 0, 1, 1, 2, 21]);
});

test('hosts are fixed for ever, and partitions of one queue spread over them', () => {
  const queue: TaskQueuePartition = { namespaceId: 'ns', name: 'orders', taskType: 'workflow', partition: 0, kind: 'normal' };
  const hosts = [0, 1, 2, 3].map((partition) => matchingPartitionOf({ ...queue, partition }, 16));
  expect(hosts).toMatchInlineSnapshot(`
    [
      11,
      6,
      1,
      9,
    ]
  `);
  expect(matchingPartitionOf(queue, 1)).toBe(0);
});

const names = ['orders', '', '/_sys/orders/3', 'ns/na/0/orders', 'two\nlines\r\u2028', '注文 🛒', '\0', '0p1s0k1/a/b'];

test('a key says which partition and which lane it names, whatever clients call their queues and fairness keys', () => {
  const texts = fc.oneof(fc.constantFrom(...names), fc.string({ unit: 'grapheme', maxLength: 12 }));
  const lanes: fc.Arbitrary<LaneName> = fc.record({ level: fc.integer({ min: 1, max: 5 }), fairnessKey: texts, shared: fc.nat(8) });
  fc.assert(
    fc.property(queues, texts, fc.oneof(fc.constant(plainLane), lanes), (other, name, lane) => {
      const queue = { ...other, name };
      expect(parseLaneKey(laneKey(queue, lane))).toEqual({ queue, lane });
      expect(parseLaneKey(taskQueuePartitionKey(queue))).toEqual({ queue, lane: plainLane });
    }),
  );
});

test('what is no key names nothing', () => {
  const keys = [
    '',
    'orders',
    'ns/na/orders',
    'ns/na/01/orders',
    'ns/xa/0/orders',
    'ns/nx/0/orders',
    'ns/na/-1/orders',
    'ns/na/1e400/orders',
  ];
  for (const key of [...keys, 'ns/na/0p3s0k0//orders', 'ns/na/0p1s0k9/a/orders', 'ns/na/0p1s00k1/a/orders', 'ns/na/0p1s0k1/ab/orders']) {
    expect(parseLaneKey(key), key).toBeUndefined();
  }
});

test('each type of queues has a number, a dead letter and commands of its own, and rows rest on the first two', () => {
  expect(taskTypes).toMatchObject({ workflow: { wire: 1, letter: 'w' }, activity: { wire: 2, letter: 'a' } });
  for (const field of ['wire', 'letter', 'poll', 'add'] as const) {
    expect(new Set(allTaskTypes.map((type) => taskTypes[type][field])).size, field).toBe(allTaskTypes.length);
  }
  expect([0, 1, 2, 3].map(taskTypeOfWire)).toEqual([undefined, 'workflow', 'activity', undefined]);
});
