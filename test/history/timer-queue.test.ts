import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TimerQueue } from '../../src/history/timer-queue.ts';
import { key } from './shard-under-test.ts';

function timer(taskId: number, fireTimeMs: number) {
  return { kind: 'runTimeout', taskId, fireTimeMs, key } as const;
}

test('timers come by time, then by id; removed ones never', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20)), fc.array(fc.nat(40)), (fireTimes, removed) => {
      const queue = new TimerQueue();
      const model = new Map<number, number>();
      fireTimes.forEach((fireTimeMs, taskId) => {
        queue.add(timer(taskId, fireTimeMs));
        model.set(taskId, fireTimeMs);
      });
      for (const taskId of removed) expect(queue.remove(taskId)).toBe(model.delete(taskId));
      const expected = [...model]
        .map(([taskId, fireTimeMs]) => ({ fireTimeMs, taskId }))
        .toSorted((a, b) => a.fireTimeMs - b.fireTimeMs || a.taskId - b.taskId);
      const seen = [];
      for (let next = queue.next(); next !== undefined; next = queue.next()) {
        seen.push(next);
        queue.remove(next.taskId);
      }
      expect(seen).toEqual(expected);
    }),
  );
});

test('what is left of removed timers does not pile up', () => {
  const queue = new TimerQueue();
  for (let taskId = 1; taskId <= 10_000; taskId++) queue.add(timer(taskId, 1_000_000 - taskId));
  for (let taskId = 1; taskId <= 10_000; taskId += 1) if (taskId % 100 !== 0) queue.remove(taskId);
  const order = [];
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    order.push(next.taskId);
    queue.remove(next.taskId);
  }
  expect(order).toHaveLength(100);
  expect(order).toEqual(order.toSorted((a, b) => b - a));
});
