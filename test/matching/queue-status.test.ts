import { expect, test } from 'vitest';
import { nextQueueStatus, type QueueEvent, type QueueStatus } from '../../src/matching/queue-status.ts';

const bug = 'bug';
const table: Record<QueueStatus, Record<QueueEvent, QueueStatus | typeof bug>> = {
  unloaded: { demand: 'loading', loaded: bug, idle: bug, released: bug },
  loading: { demand: 'loading', loaded: 'active', idle: bug, released: bug },
  active: { demand: 'active', loaded: bug, idle: 'unloading', released: bug },
  unloading: { demand: 'loading', loaded: bug, idle: 'unloading', released: 'unloaded' },
};

const cells = (Object.keys(table) as QueueStatus[]).flatMap((status) =>
  (Object.keys(table[status]) as QueueEvent[]).map((event) => [status, event, table[status][event]] as const),
);

test.each(cells)('%s, %s: %s', (status, event, expected) => {
  if (expected === bug) expect(() => nextQueueStatus(status, event)).toThrow(`a task queue that is ${status} cannot be ${event}`);
  else expect(nextQueueStatus(status, event)).toBe(expected);
});
