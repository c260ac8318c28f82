import { describe, expect, test } from 'vitest';
import { type HistoryRow, WAITING_BRANCH } from '../../../src/projections/database-port.ts';
import { allPages, type DatabaseUnderTest, type Owner } from './database-under-test.ts';
import { comparable, historyRow, uuid } from './samples.ts';

export function describeHistoryRanges(use: () => DatabaseUnderTest): void {
  describe('history', () => {
    test.each([
      ['one row, exactly', 1, 3, [1]],
      ['inside a row', 5, 6, [4]],
      ['from inside a row to inside the next', 6, 9, [4, 8]],
      ['all', 1, 12, [1, 4, 8, 10]],
      ['beyond the end', 11, 500, [10]],
      ['behind the end', 13, 20, []],
      ['before the beginning', -5, 0, []],
      ['one event at the edge', 8, 8, [8]],
    ])('a range: %s', async (_name, firstEventId, lastEventId, firsts) => {
      const owner = await use().freshOwner();
      const { runId, rows } = await storedRows(owner);
      const range = { runId, branch: 0, firstEventId, lastEventId, bytesMax: 1_000_000 };
      const found = await owner.database.history(owner.journal, range);
      expect(comparable(found)).toEqual(comparable(rows.filter((row) => firsts.includes(row.firstEventId))));
      expect(await owner.database.history(owner.journal, { ...range, branch: 1 })).toEqual([]);
      expect(await owner.database.history(owner.journal, { ...range, runId: uuid() })).toEqual([]);
      const neighbour = await use().freshOwner();
      expect(await neighbour.database.history(neighbour.journal, range)).toEqual([]);
    });

    test('bytesMax: as many rows as fit, and the first however large; pages join without a gap', async () => {
      const owner = await use().freshOwner();
      const runId = uuid();
      const sizes = [10, 1000, 10, 10, 10, 5000, 1, 1];
      const rows = sizes.map((bytes, i) => ({ ...historyRow(runId, 2 * i + 1, 2 * i + 2), events: new Uint8Array(bytes).fill(i) }));
      await owner.written({ history: rows });
      const from = (firstEventId: number, bytesMax: number): Promise<readonly HistoryRow[]> =>
        owner.database.history(owner.journal, { runId, branch: 0, firstEventId, lastEventId: 16, bytesMax });
      const lengths = async (bytesMax: number): Promise<readonly number[]> => (await from(1, bytesMax)).map(({ events }) => events.length);
      expect(await lengths(0)).toEqual([10]);
      expect(await lengths(1009)).toEqual([10]);
      expect(await lengths(1010)).toEqual([10, 1000]);
      expect(await lengths(1039)).toEqual([10, 1000, 10, 10]);
      expect(await lengths(1_000_000)).toEqual(sizes);
      for (const bytesMax of [1, 20, 30, 1100, 5001]) {
        const joined = await allPages<HistoryRow>((last) => from((last?.lastEventId ?? 0) + 1, bytesMax));
        expect(comparable(joined), `pages of ${bytesMax} bytes`).toEqual(comparable(rows));
      }
    });

    test('records that wait for a run stand beside its events, and go with it', async () => {
      const owner = await use().freshOwner();
      const runId = uuid();
      const waiting = [1, 2, 3].map((index) => ({ ...historyRow(runId, index, index, 'waits'), branch: WAITING_BRANCH }));
      await owner.written({ history: [historyRow(runId, 1, 5), ...waiting] });
      const range = { runId, branch: WAITING_BRANCH, firstEventId: 2, lastEventId: 9, bytesMax: 1_000 };
      expect(comparable(await owner.database.history(owner.journal, range))).toEqual(comparable(waiting.slice(1)));
      const events = await owner.database.history(owner.journal, { ...range, branch: 0, firstEventId: 1 });
      expect(comparable(events)).toEqual(comparable([historyRow(runId, 1, 5)]));
      await owner.written({ retiredRuns: [{ namespaceId: uuid(), workflowId: 'w', runId }] });
      expect(await owner.database.history(owner.journal, range)).toEqual([]);
    });

    test('a row of 8 MiB among small ones', async () => {
      const owner = await use().freshOwner();
      const runId = uuid();
      const large = { ...historyRow(runId, 3, 4), events: Uint8Array.from({ length: 8 * 1024 * 1024 }, (_, i) => i % 253) };
      await owner.written({ history: [historyRow(runId, 1, 2), large, historyRow(runId, 5, 6)] });
      const range = { runId, branch: 0, firstEventId: 3, lastEventId: 6, bytesMax: 1 };
      expect(comparable(await owner.database.history(owner.journal, range))).toEqual(comparable([large]));
    });
  });
}

/** Events 1 to 12 in four rows. */
async function storedRows(owner: Owner): Promise<{ readonly runId: string; readonly rows: readonly HistoryRow[] }> {
  const runId = uuid();
  const rows = [historyRow(runId, 1, 3), historyRow(runId, 4, 7), historyRow(runId, 8, 9), historyRow(runId, 10, 12)];
  await owner.written({ history: rows.slice(2) });
  await owner.written({ history: rows.slice(0, 2) });
  return { runId, rows };
}
