import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  matchingPartitionOf,
  parentPartition,
  taskQueuePartitionKey,
  taskQueuePartitionOf,
  type TaskQueuePartition,
} from '../../src/matching/task-queue.ts';

const queues: fc.Arbitrary<TaskQueuePartition> = fc.record({
  namespaceId: fc.uuid(),
  name: fc.string({ minLength: 1, maxLength: 12 }),
  taskType: fc.constantFrom('workflow' as const, 'activity' as const),
  partition: fc.nat(500),
  kind: fc.constantFrom('normal' as const, 'sticky' as const),
  version: fc.constant('' as const),
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

test('a key says which partition it names, whatever clients call their queues', () => {
  for (const name of ['orders', '', '/_sys/orders/3', 'ns/na/0/orders', 'two\nlines\r\u2028', '注文 🛒', '\0']) {
    for (const taskType of ['workflow', 'activity'] as const) {
      for (const kind of ['normal', 'sticky'] as const) {
        const queue: TaskQueuePartition = { namespaceId: '5f9e7c3a-0000-4000-8000-000000000001', name, taskType, partition: 12, kind };
        expect(taskQueuePartitionOf(taskQueuePartitionKey(queue))).toEqual(queue);
      }
    }
  }
  for (const key of ['', 'orders', 'ns/na/orders', 'ns/na/01/orders', 'ns/xa/0/orders', 'ns/na/-1/orders', 'ns/na/1e400/orders']) {
    expect(taskQueuePartitionOf(key), key).toBeUndefined();
  }
});
