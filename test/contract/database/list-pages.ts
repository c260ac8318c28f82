import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ListedRow, type VisibilityKeyset, type VisibilityRow } from '../../../src/projections/visibility/row.ts';
import { compareKeysets, keysetOf } from '../../support/condition-oracle.ts';
import { allPages, type DatabaseUnderTest } from './database-under-test.ts';
import { closedRow, idOf, uuid, visibilityRow } from './samples.ts';

export function describeListPages(use: () => DatabaseUnderTest): void {
  describe('pages of a list', () => {
    test('under starts, closes and retirements between them: what stood all the time is there once, nothing is twice', async () => {
      const owner = await use().freshOwner();
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ startTimeMs: fc.nat(5), closeTimeMs: fc.option(fc.nat(5), { nil: undefined }) }), { maxLength: 20 }),
          fc.array(fc.array(fc.record({ do: fc.constantFrom('start', 'close', 'retire'), n: fc.nat(1000) }), { maxLength: 3 })),
          fc.integer({ min: 1, max: 5 }),
          async (initial, changes, max) => {
            const namespaceId = uuid();
            const rows = new Map<string, VisibilityRow>();
            const changed = new Set<string>();
            for (const { startTimeMs, closeTimeMs } of initial) {
              const row = visibilityRow({ namespaceId, startTimeMs });
              rows.set(row.runId, closeTimeMs === undefined ? row : closedRow(row, closeTimeMs));
            }
            await owner.written({ visibility: [...rows.values()] });

            const change = async (what: string, n: number): Promise<void> => {
              const row = [...rows.values()][n % Math.max(1, rows.size)];
              if (what === 'start' || row === undefined) {
                const begun = visibilityRow({ namespaceId, startTimeMs: n % 7 });
                rows.set(begun.runId, begun);
                changed.add(begun.runId);
                await owner.database.flush(owner.journal, owner.fence, [begun], []);
                return;
              }
              changed.add(row.runId);
              if (what === 'close') {
                const closed = closedRow(row, n % 7);
                rows.set(row.runId, closed);
                await owner.written({ visibility: [closed] });
              } else {
                rows.delete(row.runId);
                await owner.written({ retiredRuns: [idOf(row)] });
              }
            };

            const seen: ListedRow[] = [];
            for (let page = 0, after: VisibilityKeyset | undefined; page < 200; page++) {
              const found = await owner.database.list({ namespaceId, condition: undefined, after, max });
              seen.push(...found.rows);
              const last = found.rows.at(-1);
              if (found.rows.length < max || last === undefined) break;
              after = keysetOf(last);
              for (const step of changes[page] ?? []) await change(step.do, step.n);
            }
            const keys = seen.map(keysetOf);
            // Strictly downwards: so no row is twice in the same state, however often the list changed.
            for (const [i, key] of keys.entries()) {
              const before = keys[i - 1];
              if (before !== undefined) expect(compareKeysets(before, key)).toBeLessThan(0);
            }
            const unchanged = [...rows.keys()].filter((runId) => !changed.has(runId));
            const counts = Map.groupBy(seen, ({ runId }) => runId);
            for (const runId of unchanged) expect(counts.get(runId)?.length).toBe(1);
          },
        ),
        { numRuns: 40 },
      );
    });

    test('behind a row that is gone by now', async () => {
      const owner = await use().freshOwner();
      const rows = [1, 2, 3, 4].map((startTimeMs) => visibilityRow({ namespaceId: owner.namespaceId, startTimeMs }));
      await owner.written({ visibility: rows });
      const query = { namespaceId: owner.namespaceId, condition: undefined, max: 2 };
      const first = await owner.database.list({ ...query, after: undefined });
      const [, last] = first.rows;
      if (last === undefined) throw new Error('two rows were asked for');
      await owner.written({ retiredRuns: [idOf(last)] });
      const second = await owner.database.list({ ...query, after: keysetOf(last) });
      expect([...first.rows, ...second.rows].map(({ startTimeMs }) => startTimeMs)).toEqual([4, 3, 2, 1]);
    });

    test('a page ends with the row that fills it, and the next goes on behind', async () => {
      const owner = await use().freshOwner();
      const sizes = [3, 0, 2, 9, 1, 0, 4, 5];
      const rows = sizes.map((size, index) => {
        const [memo, searchAttributes] = [new Uint8Array(Math.floor(size / 2)), new Uint8Array(Math.ceil(size / 2))];
        return visibilityRow({ namespaceId: owner.namespaceId, startTimeMs: 100 - index, memo, searchAttributes });
      });
      await owner.written({ visibility: rows });
      const pageOf = async (bytesMax: number, max = 9, after?: VisibilityKeyset): Promise<readonly number[]> => {
        const query = { namespaceId: owner.namespaceId, condition: undefined, after, max, bytesMax };
        return (await owner.database.list(query)).rows.map(({ startTimeMs }) => 100 - startTimeMs);
      };
      expect(await pageOf(5)).toEqual([0, 1, 2]);
      expect(await pageOf(6)).toEqual([0, 1, 2, 3]);
      expect(await pageOf(1)).toEqual([0]);
      expect(await pageOf(5, 2)).toEqual([0, 1]);
      expect(await pageOf(1_000)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(await pageOf(5, 9, keysetOf(rows[3] ?? rows[0]!))).toEqual([4, 5, 6]);
    });

    test('rows that agree in both times are distinguished by their ids', async () => {
      const owner = await use().freshOwner();
      const rows = Array.from({ length: 50 }, () => visibilityRow({ namespaceId: owner.namespaceId }));
      await owner.written({ visibility: rows });
      const seen = await allPages<ListedRow>(async (last) => {
        const after = last === undefined ? undefined : keysetOf(last);
        return (await owner.database.list({ namespaceId: owner.namespaceId, condition: undefined, after, max: 7 })).rows;
      });
      expect(seen.map(({ runId }) => runId)).toEqual(rows.map(({ runId }) => runId).toReversed());
    });
  });
}
