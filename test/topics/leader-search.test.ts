import { expect, test } from 'vitest';
import { AssertionError } from '../../src/kernel/assert.ts';
import { LaneSlot } from '../../src/topics/append-lane.ts';
import { LeaderSearch } from '../../src/topics/kafka/leader-search.ts';
import type { LeaderSearchOptions } from '../../src/topics/kafka/leader-search.ts';

const slot = new LaneSlot({ topic: 't', partition: 0 }, { seal: () => undefined, settle: () => {} }, () => {});

/** A search in which one step throws what is no outage, the first time. */
async function search(breaks: 'refresh' | 'open' | 'ends'): Promise<{ readonly told: readonly unknown[]; readonly leader: number }> {
  const told: unknown[] = [];
  let broken = false;
  const step = async <T>(name: string, result: T): Promise<T> => {
    if (name !== breaks || broken) return result;
    broken = true;
    throw new AssertionError('planted');
  };
  const plane = {
    refresh: () => step('refresh', undefined),
    open: () => step('open', undefined),
    leader: () => 3,
    whyLeaderless: () => 'it has one',
  };
  const found = Promise.withResolvers<number>();
  const options: LeaderSearchOptions = {
    plane,
    ends: () => step('ends', [0]),
    found: (_, leader) => found.resolve(leader),
    failed: (_, error) => told.push(error),
  };
  new LeaderSearch(options).add(slot);
  return { leader: await found.promise, told };
}

test.each(['refresh', 'open', 'ends'] as const)('a bug in %s is reported, and the search goes on', async (breaks) => {
  expect(await search(breaks)).toEqual({ leader: 3, told: [expect.objectContaining({ message: expect.stringContaining('planted') })] });
});
