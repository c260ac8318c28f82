import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TimerQueue } from '../../src/history/run/timer-queue.ts';
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

test('what is due is found without looking at what is not', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20)),
      fc.array(fc.nat(40)),
      fc.array(fc.nat(40)),
      fc.array(fc.nat(40)),
      fc.nat(20),
      (fireTimes, removed, again, postponed, nowMs) => {
        const queue = new TimerQueue();
        const tasks = new Map(fireTimes.map((fireTimeMs, taskId) => [taskId, timer(taskId, fireTimeMs)]));
        for (const task of tasks.values()) queue.add(task);
        for (const taskId of removed) queue.remove(taskId);
        for (const taskId of again) {
          const task = tasks.get(taskId);
          if (task !== undefined && queue.get(taskId) === undefined) queue.add(task);
        }
        for (const taskId of postponed) queue.postpone(taskId, 30);
        if (postponed.length > 10) queue.next();
        const due = [...queue.values()].filter(({ fireTimeMs }) => fireTimeMs <= nowMs);
        expect([...(queue.due(nowMs, 1000) ?? [])].toSorted((a, b) => a.taskId - b.taskId)).toEqual(
          due.toSorted((a, b) => a.taskId - b.taskId),
        );
      },
    ),
  );
  const queue = new TimerQueue();
  for (let taskId = 1; taskId <= 1000; taskId++) queue.add(timer(taskId, taskId));
  expect(queue.due(3, 3)?.size).toBe(3);
  expect(queue.due(4, 3), 'more are due than one wants to look at').toBeUndefined();
});

test('the first that are due are found in their order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20), { maxLength: 60 }),
      fc.array(fc.nat(60)),
      fc.array(fc.nat(60)),
      fc.nat(20),
      fc.integer({ min: 1, max: 30 }),
      (fireTimes, removed, again, nowMs, max) => {
        const queue = new TimerQueue();
        const tasks = new Map(fireTimes.map((fireTimeMs, taskId) => [taskId, timer(taskId, fireTimeMs)]));
        for (const task of tasks.values()) queue.add(task);
        for (const taskId of removed) queue.remove(taskId);
        for (const taskId of again) {
          const task = tasks.get(taskId);
          if (task !== undefined && queue.get(taskId) === undefined) queue.add(task);
        }
        const due = [...queue.values()].filter(({ fireTimeMs }) => fireTimeMs <= nowMs);
        const inOrder = due.toSorted((a, b) => a.fireTimeMs - b.fireTimeMs || a.taskId - b.taskId);
        // What is left of removed ones counts as looked at: those are found that so many looks find.
        const found = queue.firstDue(nowMs, max);
        expect(found).toEqual(inOrder.slice(0, found.length));
        if (removed.length === 0) expect(found).toHaveLength(Math.min(max, due.length));
      },
    ),
  );
});

test('one that is postponed is not among those that are due, until it is', () => {
  const queue = new TimerQueue();
  for (const taskId of [1, 2, 3]) queue.add(timer(taskId, taskId));
  queue.postpone(2, 10);
  expect(queue.firstDue(5, 9).map(({ taskId }) => taskId)).toEqual([1, 3]);
  expect(queue.firstDue(10, 9).map(({ taskId }) => taskId)).toEqual([1, 3, 2]);
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
