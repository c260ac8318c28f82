import { describe, expect, test } from 'vitest';
import { HistoryStore } from '../../src/actors/history-store.ts';

const event = (id: number, sizeBytes = 10): Uint8Array => new Uint8Array(sizeBytes).fill(id);
const ids = (events: readonly Uint8Array[]): number[] => events.map((bytes) => bytes[0]!);
const noLimits = { eventsMax: 1000, bytesMax: 1_000_000 };
const neverRead = (): Promise<never> => Promise.reject(new Error('the log was read although everything is cached'));

describe('history store', () => {
  test('a page starts inside a batch, ends inside another, and says where the next begins', async () => {
    const store = new HistoryStore(1_000, neverRead);
    store.append('run', 1, [event(1), event(2), event(3)], 7);
    store.append('run', 4, [event(4)], 9);
    store.append('run', 5, [event(5), event(6)], 12);
    const page = await store.page('run', 2, 5, noLimits);
    expect(ids(page.events)).toEqual([2, 3, 4, 5]);
    expect(page.nextEventId).toBe(6);
  });

  test('limits cut a page; one event always fits', async () => {
    const store = new HistoryStore(1_000, neverRead);
    store.append('run', 1, [event(1, 50), event(2, 50), event(3, 50)], 0);
    expect(ids((await store.page('run', 1, 3, { eventsMax: 2, bytesMax: 1_000 })).events)).toEqual([1, 2]);
    expect(ids((await store.page('run', 2, 3, { eventsMax: 9, bytesMax: 10 })).events)).toEqual([2]);
  });

  test('over the cap the oldest batches are read from the log again', async () => {
    const log = new Map([
      [3, [event(1, 600), event(2, 600)]],
      [4, [event(3, 600)]],
    ]);
    const read: number[] = [];
    const store = new HistoryStore(2_000, (offset) => {
      read.push(offset);
      return Promise.resolve(log.get(offset)!);
    });
    store.append('run', 1, log.get(3)!, 3);
    store.append('run', 3, log.get(4)!, 4);
    expect(store.cacheBytes).toBeLessThanOrEqual(2_000);
    expect(ids((await store.page('run', 1, 3, noLimits)).events)).toEqual([1, 2, 3]);
    expect(read).toEqual([3]);
  });

  test('a forgotten run gives its bytes back and has no events', async () => {
    const store = new HistoryStore(1_000, neverRead);
    store.append('run', 1, [event(1), event(2)], 0);
    store.forget('run');
    expect(store.cacheBytes).toBe(0);
    expect((await store.page('run', 1, 2, noLimits)).events).toEqual([]);
  });

  test('a gap in the event ids is a bug', () => {
    const store = new HistoryStore(1_000, neverRead);
    store.append('run', 1, [event(1)], 0);
    expect(() => store.append('run', 3, [event(3)], 1)).toThrow(/leaves a gap/);
  });
});
