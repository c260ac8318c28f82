/** A cold history that is read in small pages: its rows are read once, and bounded in memory. */
import { expect, test } from 'vitest';
import type { HistoryRange, HistoryRow } from '../../../../src/projections/database-port.ts';
import { KeptRows, packRows } from '../../../../src/actors/history/events/history-rows.ts';
import { HistoryStore, type PageToRead } from '../../../../src/actors/history/events/history-store.ts';
import { PageReads } from '../../../../src/actors/history/events/page-reads.ts';
import { processorMs } from '../../../support/processor-time.ts';

const EVENTS = 400;
const event = (id: number): Uint8Array => new Uint8Array(100).fill(id % 251);

function rowsOf(runId: string): readonly HistoryRow[] {
  const rows: HistoryRow[] = [];
  // Two rows, so that pages lie in both and across.
  for (const first of [1, EVENTS / 2 + 1]) {
    const events = Array.from({ length: EVENTS / 2 }, (_, index) => event(first + index));
    for (const row of packRows(runId, first, events)) if (row !== undefined) rows.push(row);
  }
  return rows;
}

/** Counts what it is asked for. */
class Rows {
  readonly asked: HistoryRange[] = [];
  readonly read = (range: HistoryRange): Promise<readonly HistoryRow[]> => {
    this.asked.push(range);
    const found = rowsOf(range.runId).filter((row) => row.lastEventId >= range.firstEventId && row.firstEventId <= range.lastEventId);
    return Promise.resolve(found.slice(0, 1));
  };
}

const neverRead = (): Promise<never> => Promise.reject(new Error('it is not in the journal'));

async function eventsOf(page: readonly Uint8Array[] | PageToRead): Promise<readonly Uint8Array[]> {
  return 'read' in page ? await page.read() : page;
}

test.each([1, 3])('backwards and forwards in pages of %i, each row is read from the database once', async (size) => {
  const rows = new Rows();
  const store = new HistoryStore(1_000_000, neverRead, rows.read);
  const limits = { eventsMax: size, bytesMax: 1_000_000 };
  const starts = Array.from({ length: Math.floor(EVENTS / size) }, (_, index) => 1 + index * size);
  for (const first of [...starts.toReversed(), ...starts]) {
    const last = Math.min(first + size - 1, EVENTS);
    const expected = Array.from({ length: last - first + 1 }, (_, index) => event(first + index));
    const page = await eventsOf(store.page('run', first, last, limits));
    expect(page.map((each) => [...each])).toEqual(expected.map((each) => [...each]));
  }
  expect(rows.asked).toHaveLength(2);
  // Limits of bytes cut a page of these as any other; one event always fits.
  expect(await eventsOf(store.page('run', 1, 9, { eventsMax: 9, bytesMax: 250 }))).toHaveLength(2);
  expect(await eventsOf(store.page('run', 1, 9, { eventsMax: 9, bytesMax: 1 }))).toHaveLength(1);
  expect(rows.asked).toHaveLength(2);
});

test('many histories take no more memory than the cache may, and a run that is gone takes none', async () => {
  const rows = new Rows();
  const cacheBytesMax = 100_000;
  const store = new HistoryStore(cacheBytesMax, neverRead, rows.read);
  const limits = { eventsMax: 1, bytesMax: 1_000_000 };
  for (let run = 0; run < 50; run++) {
    await eventsOf(store.page(`run ${run}`, 1, EVENTS, limits));
    expect(store.cacheBytes).toBeLessThanOrEqual(cacheBytesMax);
  }
  expect(store.cacheBytes).toBeGreaterThan(0);
  for (let run = 0; run < 50; run++) store.forget(`run ${run}`);
  expect(store.cacheBytes).toBe(0);
});

test('however many rows one run has, each is found as fast as those of many', () => {
  const count = 20_000;
  const [row] = [...packRows('run', 1, [event(1)])];
  const kept = (runOf: (row: number) => string): number => {
    const rows = new KeptRows(64 * 1024 * 1024);
    let found = 0;
    return processorMs(() => {
      for (let nth = 1; nth <= count; nth++) {
        rows.add({ ...row!, runId: runOf(nth), firstEventId: nth, lastEventId: nth });
        found += rows.eventsFrom(runOf(nth), nth, 1)?.length ?? 0;
      }
      // From its end on, too.
      for (let nth = count; nth > 0; nth--) found += rows.eventsFrom(runOf(nth), nth, 1)?.length ?? 0;
      for (let nth = 1; nth <= count; nth++) rows.forget(runOf(nth));
      expect([found, rows.bytes]).toEqual([2 * count, 0]);
    });
  };
  const ofMany = Math.max(
    kept((nth) => `run ${nth}`),
    kept((nth) => `run ${nth}`),
  );
  expect(kept(() => 'run')).toBeLessThan(5 * ofMany);
});

test('pages of one namespace do not wait behind all of another', async () => {
  const pageReads = new PageReads();
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const add = (askId: number, namespaceId: string): void => {
    pageReads.add(askId, {
      namespaceId,
      bytes: 4 * 1024 * 1024,
      read: () => {
        begun.push(`${namespaceId}${askId}`);
        return new Promise((resolve) => ends.push(resolve));
      },
    });
  };
  for (let askId = 1; askId <= 100; askId++) add(askId, 'a');
  add(101, 'b');
  add(102, 'b');
  expect(pageReads.leave(3)).toBe(true);
  expect(pageReads.leave(3)).toBe(false);
  expect(pageReads.leave(1)).toBe(false);
  while (begun.length < 7) {
    ends.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(begun).toEqual(['a1', 'a2', 'a4', 'b101', 'a5', 'b102', 'a6']);
});
