import { describe, expect, test } from 'vitest';
import { RUNS_PROBED, type ListedId } from '../../../src/projections/database-port.ts';
import type { VisibilityRow } from '../../../src/projections/visibility/row.ts';
import { allPages, Owner, type DatabaseUnderTest } from './database-under-test.ts';
import { bytesOf, closedRow, comparable, runRow, uuid, visibilityRow } from './samples.ts';

/** What whoever builds the rows of List again needs. */
export function describeListRebuild(use: () => DatabaseUnderTest): void {
  describe('rows of List that are built again', () => {
    test('runs come as many as fit, and one at least', async () => {
      const owner = await use().freshOwner();
      const sizes = [10, 10, 10, 5_000, 10, 10];
      await owner.written({ runs: sizes.map((size) => runRow({ namespaceId: owner.namespaceId, state: new Uint8Array(size) })) });
      const pages: number[] = [];
      await allPages<{ readonly runId: string }>(async (last) => {
        const { rows } = await owner.database.runs(owner.journal, last?.runId ?? '', 5, 30);
        pages.push(rows.length);
        return rows;
      });
      expect(pages).toEqual([3, 1, 2, 0]);
    });

    test('a row that is rewritten replaces a newer one, with its values and words; the same flushed does not', async () => {
      const owner = await use().freshOwner();
      const { database, journal, fence, namespaceId } = owner;
      const slots = (value: string): VisibilityRow['slots'] =>
        new Map<string, string | readonly string[]>([
          ['Keyword01', value],
          ['KeywordList01', [value]],
        ]);
      const right = closedRow(visibilityRow({ namespaceId, memo: bytesOf('memo'), slots: slots('right') }), 1_770_000_005_000);
      const wrong = { ...right, version: 99, status: 1, workflowType: 'Wrong', slots: slots('wrong') };
      const missing = visibilityRow({ namespaceId });
      const counts = async (): Promise<readonly number[]> =>
        await Promise.all(
          ['wrong', 'right'].flatMap((operand) =>
            (['keyword', 'keywordList'] as const).map(async (kind) => {
              const column = { name: kind === 'keyword' ? 'Keyword01' : 'KeywordList01', kind };
              const condition = { kind: 'compare', column, operator: '=', operand } as const;
              return (await database.count({ namespaceId, condition, byStatus: false }))[0]?.count ?? -1;
            }),
          ),
        );
      await owner.written({ visibility: [wrong] });
      await database.flush(journal, fence, [right], []);
      expect(await counts()).toEqual([1, 1, 0, 0]);
      // It is what another checkpoint said.
      for (const nextOffset of [0, owner.nextOffset - 1, owner.nextOffset + 1]) {
        expect(await database.rewrite(journal, fence, nextOffset, [right, missing])).toBe('moved');
      }
      expect(await counts()).toEqual([1, 1, 0, 0]);
      expect(await database.rewrite(journal, fence, owner.nextOffset, [right, missing])).toBe('flushed');
      expect(await counts()).toEqual([0, 0, 1, 1]);
      const { slots: _slots, version: _version, ...served } = right;
      const listed = await owner.listed();
      expect(listed).toHaveLength(2);
      expect(comparable(listed.find(({ runId }) => runId === right.runId))).toEqual(comparable(served));
      // What is newer than what was rewritten replaces it as ever.
      await database.flush(journal, fence, [{ ...right, version: right.version + 1, slots: slots('wrong') }], []);
      expect(await counts()).toEqual([1, 1, 0, 0]);
    });

    test('a row that fits no table is left out of what is rewritten, alone', async () => {
      const owner = await use().freshOwner();
      const { namespaceId } = owner;
      const rows = [
        visibilityRow({ namespaceId, runId: 'no uuid' }),
        visibilityRow({ namespaceId, startTimeMs: 0.5 }),
        visibilityRow({ namespaceId }),
      ];
      expect(await owner.database.rewrite(owner.journal, owner.fence, 0, rows)).toBe('flushed');
      expect((await owner.listed()).map(({ runId }) => runId)).toEqual([rows[2]?.runId]);
    });

    test('rows without a run are found, of this shard alone, a few at a time', async () => {
      const owner = await use().freshOwner();
      const { database, journal } = owner;
      const neighbour = await use().freshOwner();
      const rowsOf = ({ journal: { partition } }: Owner, count: number): readonly VisibilityRow[] =>
        Array.from({ length: count }, (_, nth) =>
          visibilityRow({ namespaceId: nth % 2 === 0 ? owner.namespaceId : neighbour.namespaceId, shard: partition + 1 }),
        );
      const [shown, strays, others] = [rowsOf(owner, 6), rowsOf(owner, 5), rowsOf(neighbour, 7)];
      await owner.written({
        runs: shown.map(({ namespaceId, runId }) => runRow({ namespaceId, runId })),
        visibility: [...strays, ...shown],
      });
      // A run of the same id that another shard has is none of ours.
      await neighbour.written({ runs: strays.map(({ namespaceId, runId }) => runRow({ namespaceId, runId })), visibility: others });
      const found: ListedId[] = [];
      let looks = 0;
      for (let after: ListedId | undefined; looks < 10_000; looks++) {
        const page = await database.strayRows(journal, after, 3);
        expect(page.fence).toBe(owner.fence);
        found.push(...page.rows.strays);
        if (page.rows.last === undefined) break;
        after = page.rows.last;
      }
      expect(looks).toBeGreaterThanOrEqual(6);
      const ids = (rows: readonly ListedId[]): readonly string[] =>
        rows.map(({ namespaceId, runId }) => `${namespaceId} ${runId}`).toSorted();
      expect(ids(found)).toEqual(ids(strays));
      await database.flush(journal, owner.fence, [], found);
      expect((await owner.listed()).length + (await neighbour.listed()).length).toBe(13);
    });

    test('that somebody has asked for it is kept, until it is done; not behind a fence that is raised', async () => {
      const owner = await use().freshOwner();
      const { database, journal, fence } = owner;
      const neighbour = await use().freshOwner();
      const due = async (): Promise<unknown> => (await database.rebuildDue(journal)).rows;
      expect(await database.rebuildDue(journal)).toMatchObject({ fence, rows: undefined });
      expect(await database.noteRebuild(journal, fence, true)).toBe('noted');
      expect(await database.noteRebuild(journal, fence, true)).toBe('noted');
      expect(await due()).toBe('asked');
      expect((await database.rebuildDue(neighbour.journal)).rows).toBeUndefined();
      const successor = await Owner.restore(use().other, journal);
      expect(await database.noteRebuild(journal, fence, false)).toBe('fenced');
      expect(await database.rewrite(journal, fence, 0, [visibilityRow({ namespaceId: owner.namespaceId })])).toBe('fenced');
      expect(await owner.listed()).toEqual([]);
      expect(await due()).toBe('asked');
      expect(await successor.database.noteRebuild(journal, successor.fence, false)).toBe('noted');
      expect(await due()).toBeUndefined();
    });

    test('where none of the first runs is shown they are lost', async () => {
      const owner = await use().freshOwner();
      const { database, journal, fence, namespaceId } = owner;
      const due = async (): Promise<unknown> => (await database.rebuildDue(journal)).rows;
      const runs = Array.from({ length: RUNS_PROBED + 5 }, () => runRow({ namespaceId }));
      const rowOf = (nth: number): VisibilityRow => visibilityRow({ namespaceId, runId: runs[nth]?.runId ?? '' });
      expect(await due()).toBeUndefined();
      await owner.written({ runs });
      expect(await due()).toBe('lost');
      await database.flush(journal, fence, [rowOf(RUNS_PROBED), visibilityRow({ namespaceId, runId: uuid() })], []);
      expect(await due()).toBe('lost');
      await database.flush(journal, fence, [rowOf(RUNS_PROBED - 1)], []);
      expect(await due()).toBeUndefined();
    });
  });
}
