import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { isUuid, uuidAt } from '../../src/kernel/uuid.ts';

test('an id with its time: a UUID of version 7, the later one is the greater, and no two are the same', () => {
  const times = [0, 1, 255, 1_780_000_000_000, 1_780_000_000_001, 2 ** 48 - 1];
  const ids = times.map((timeMs) => uuidAt(timeMs, randomUUID()));
  for (const id of ids) expect([isUuid(id), id[14], '89ab'.includes(id[19] ?? '')]).toEqual([true, '7', true]);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(Array.from({ length: 1_000 }, () => uuidAt(1_780_000_000_000, randomUUID()))).size).toBe(1_000);
});

test('whatever a clock says, it is a UUID', () => {
  for (const timeMs of [-1, 0.5, 2 ** 48, 2 ** 53]) expect(isUuid(uuidAt(timeMs, randomUUID()))).toBe(true);
});
