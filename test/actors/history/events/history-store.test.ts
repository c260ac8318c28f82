import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { unpackRow } from '../../../../src/actors/history/events/history-rows.ts';
import { HistoryStore, type PageToRead } from '../../../../src/actors/history/events/history-store.ts';
import type { RecordPosition } from '../../../../src/ports/log.ts';
import { LinkedList } from '../../../../src/kernel/linked-list.ts';
import { historyRecord } from '../history-record.ts';

const event = (id: number, sizeBytes = 10): Uint8Array => new Uint8Array(sizeBytes).fill(id);
const ids = (events: readonly Uint8Array[]): number[] => events.map((bytes) => bytes[0]!);
const noLimits = { eventsMax: 1000, bytesMax: 1_000_000 };
const at = (offset: number): RecordPosition => ({ epoch: 1, sequence: offset, offset });
const neverRead = (): Promise<never> => Promise.reject(new Error('the log was read although everything is cached'));

/** For so many batches of one small event. */
function roomFor(batches: number): number {
  const store = new HistoryStore(1_000, neverRead);
  store.append('run', 1, [event(1)], 0);
  return batches * store.cacheBytes;
}

async function eventsOf(page: readonly Uint8Array[] | PageToRead): Promise<readonly Uint8Array[]> {
  return 'read' in page ? await page.read() : page;
}

describe('history store', () => {
  test('a page starts inside a batch, ends inside another, and says where the next begins', async () => {
    const store = new HistoryStore(1_000, neverRead);
    store.append('run', 1, [event(1), event(2), event(3)], 7);
    store.append('run', 4, [event(4)], 9);
    store.append('run', 5, [event(5), event(6)], 12);
    const page = await eventsOf(store.page('run', 2, 5, noLimits));
    expect(ids(page)).toEqual([2, 3, 4, 5]);
  });

  test('limits cut a page; one event always fits', async () => {
    const store = new HistoryStore(1_000, neverRead);
    store.append('run', 1, [event(1, 50), event(2, 50), event(3, 50)], 0);
    expect(ids(await eventsOf(store.page('run', 1, 3, { eventsMax: 2, bytesMax: 1_000 })))).toEqual([1, 2]);
    expect(ids(await eventsOf(store.page('run', 2, 3, { eventsMax: 9, bytesMax: 10 })))).toEqual([2]);
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
    expect(ids(await eventsOf(store.page('run', 1, 3, noLimits)))).toEqual([1, 2, 3]);
    expect(read).toEqual([3]);
  });

  test('a full cache lets one batch go for each that comes, however many it has held', () => {
    const [bytesMax, appends] = [150_000, 20_000];
    const store = new HistoryStore(bytesMax, neverRead);
    const taken = vi.spyOn(LinkedList.prototype, 'remove');
    for (let index = 0; index < appends; index++) store.append(`run-${index}`, 1, [event(1)], index);
    expect(store.cacheBytes).toBeLessThanOrEqual(bytesMax);
    const held = Array.from({ length: appends }, (_, index) => store.page(`run-${index}`, 1, 1, noLimits)).filter(Array.isArray).length;
    expect(held).toBeGreaterThan(100);
    expect(taken).toHaveBeenCalledTimes(appends - held);
    vi.restoreAllMocks();
  });

  test('a forgotten run leaves from the middle: the oldest that is left goes next', async () => {
    const read: number[] = [];
    const store = new HistoryStore(roomFor(3), (offset) => {
      read.push(offset);
      return Promise.resolve([event(1)]);
    });
    for (const [offset, run] of ['a', 'b', 'c'].entries()) store.append(run, 1, [event(1)], offset);
    store.forget('b');
    store.append('d', 1, [event(1)], 3);
    for (const run of ['a', 'c', 'd']) await eventsOf(store.page(run, 1, 1, noLimits));
    expect(read).toEqual([]);
    store.append('e', 1, [event(1)], 4);
    for (const run of ['a', 'c', 'd', 'e']) await eventsOf(store.page(run, 1, 1, noLimits));
    expect(read).toEqual([0]);
  });

  test('small batches share an array, and it counts for as long as one of them is there', async () => {
    const store = new HistoryStore(10_000_000, neverRead);
    for (let index = 0; index < 100; index++) store.append(`run-${index}`, 1, [event(1), event(2)], index);
    const [one] = await eventsOf(store.page('run-0', 1, 2, noLimits));
    const [other] = await eventsOf(store.page('run-99', 1, 2, noLimits));
    expect(one?.buffer).toBe(other?.buffer);
    for (let index = 0; index < 99; index++) store.forget(`run-${index}`);
    expect(store.cacheBytes).toBeGreaterThanOrEqual(other!.buffer.byteLength);
    store.forget('run-99');
    expect(store.cacheBytes).toBe(0);
  });

  test('a large batch keeps nothing but itself', async () => {
    const store = new HistoryStore(10_000_000, neverRead);
    store.append('small', 1, [event(1)], 0);
    store.append('large', 1, [event(1, 100_000)], 1);
    const [large] = await eventsOf(store.page('large', 1, 1, noLimits));
    expect(large!.buffer.byteLength).toBeLessThan(100_010);
  });

  test('whatever comes, is forgotten and is pushed out: each page holds its events, and the cache stays below its limit', async () => {
    const step = fc.record({ run: fc.nat(5), sizes: fc.array(fc.nat(400), { maxLength: 4 }), forgets: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.constantFrom(0, 1_000, 5_000, 40_000), async (steps, bytesMax) => {
        const log: (readonly Uint8Array[])[] = [];
        const histories = new Map<string, Uint8Array[]>();
        const store = new HistoryStore(bytesMax, (offset) => Promise.resolve(log[offset]!));
        for (const { run, sizes, forgets } of steps) {
          const runId = `run-${run}`;
          if (forgets) {
            store.forget(runId);
            histories.delete(runId);
          } else {
            const history = histories.get(runId) ?? [];
            const events = sizes.map((size, index) => event((history.length + index + 1) % 251, size));
            store.append(runId, history.length + 1, events, log.push(events) - 1);
            if (events.length > 0) histories.set(runId, [...history, ...events]);
          }
          expect(store.cacheBytes).toBeLessThanOrEqual(bytesMax);
        }
        for (const [runId, history] of histories) {
          const from = 1 + (history.length >> 2);
          expect(await eventsOf(store.page(runId, from, history.length, noLimits))).toEqual(history.slice(from - 1));
          store.forget(runId);
        }
        expect(store.cacheBytes).toBe(0);
      }),
    );
  });

  test('a forgotten run gives its bytes back and has no events', async () => {
    const store = new HistoryStore(1_000, neverRead);
    const change = { runId: 'run', events: [], facts: [] };
    store.append('run', 1, [event(1), event(2)], 0);
    store.committed(historyRecord({ runs: [change] }), at(1));
    expect(ids(await eventsOf(store.page('run', 1, 2, noLimits)))).toEqual([1, 2]);
    store.committed(historyRecord({ runs: [{ ...change, facts: [{ afterEvents: 0, fact: { kind: 'runForgotten' } }] }] }), at(2));
    expect(store.cacheBytes).toBe(0);
    expect(await eventsOf(store.page('run', 1, 2, noLimits))).toEqual([]);
  });

  test('so does one that is retired with others', async () => {
    const store = new HistoryStore(1_000, neverRead);
    for (const runId of ['kept', 'one', 'other']) store.append(runId, 1, [event(1)], 0);
    const cacheBytes = store.cacheBytes;
    const retiredRuns = ['one', 'other'].map((runId) => ({ namespaceId: 'ns-id', workflowId: runId, runId }));
    store.committed(historyRecord({ retiredRuns }), at(1));
    expect(store.cacheBytes).toBe(cacheBytes / 3);
    for (const { runId } of retiredRuns) expect(await eventsOf(store.page(runId, 1, 1, noLimits))).toEqual([]);
  });

  test('the events of a run that has brought very many become rows with pauses between, and none is lost', () => {
    const count = 25_000;
    const store = new HistoryStore(1_000, neverRead, () => Promise.resolve([]));
    for (let id = 1; id <= count; id++) store.append('run', id, [event(id % 251)], id);
    store.cut();
    const steps = [...store.rowsOfCut()];
    const rows = steps.filter((row) => row !== undefined);
    expect(steps.length - rows.length).toBeGreaterThanOrEqual(count / 500);
    expect(rows.map(({ firstEventId }) => firstEventId)).toEqual([1, ...rows.slice(0, -1).map(({ lastEventId }) => lastEventId + 1)]);
    const numbers = Array.from({ length: count }, (_, index) => (index + 1) % 251);
    expect(ids(rows.flatMap(unpackRow))).toEqual(numbers);
  });

  test('what a cut has brought is read from rows as soon as it is there, and is forgotten run by run', async () => {
    const rows: string[] = [];
    const store = new HistoryStore(0, neverRead, ({ runId }) => {
      rows.push(runId);
      return Promise.resolve([{ runId, branch: 0, firstEventId: 1, lastEventId: 1, events: Uint8Array.of(1, 9) }]);
    });
    const runs = Array.from({ length: 1_000 }, (_, index) => `run-${index}`);
    for (const runId of runs) store.append(runId, 1, [event(9)], 1);
    store.cut();
    store.append('run-7', 2, [event(8)], 2);
    const forgetting = store.stored();
    expect(ids(await eventsOf(store.page('run-999', 1, 1, noLimits)))).toEqual([9]);
    expect(rows).toEqual(['run-999']);
    let steps = 0;
    for (const _run of forgetting) steps += 1;
    expect(steps, 'a pause after each').toBe(runs.length);
    // What has come since is not in rows, and has its bytes for the next checkpoint.
    store.cut();
    expect([...store.rowsOfCut()].map((row) => [row?.runId, row?.firstEventId])).toEqual([['run-7', 2]]);
  });

  test('a gap in the event ids is a bug', () => {
    const store = new HistoryStore(1_000, neverRead);
    store.append('run', 1, [event(1)], 0);
    expect(() => store.append('run', 3, [event(3)], 1)).toThrow(/leaves a gap/);
  });
});
