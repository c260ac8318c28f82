import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  matchingPartitionOf,
  parentPartition,
  parseTaskQueueRpcName,
  taskQueuePartitionKey,
  taskQueueRpcName,
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

test('names of partitions lead back to them', () => {
  fc.assert(
    fc.property(queues, (queue) => {
      fc.pre(!queue.name.startsWith('/_sys/'));
      expect(parseTaskQueueRpcName(taskQueueRpcName(queue))).toEqual({ name: queue.name, partition: queue.partition });
    }),
  );
});

test.each([
  ['orders', { name: 'orders', partition: 0 }],
  ['/_sys/orders/3', { name: 'orders', partition: 3 }],
  ['/_sys/a/b/12', { name: 'a/b', partition: 12 }],
  ['/_sys/orders', undefined],
  ['/_sys/orders/', undefined],
  ['/_sys/orders/0', undefined],
  ['/_sys/orders/-1', undefined],
  ['/_sys/orders/01', undefined],
  ['/_sys/orders/x', undefined],
  ['/_sys//3', undefined],
  ['/_sys/', undefined],
])('parse %s', (name, parsed) => {
  expect(parseTaskQueueRpcName(name)).toEqual(parsed);
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
    const queue: TaskQueuePartition = { namespaceId: 'n', name: 'q', taskType: 'activity', partition, kind: 'normal', version: '' };
    return parentPartition(queue)?.partition;
  });
  expect(parents).toEqual([undefined, 0, 0, 0, 1, 1, 2, 21]);
});

test('hosts are fixed for ever, and partitions of one queue spread over them', () => {
  const queue: TaskQueuePartition = { namespaceId: 'ns', name: 'orders', taskType: 'workflow', partition: 0, kind: 'normal', version: '' };
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
