import { describe, expect, test } from 'vitest';
import type { VisibilityRow } from '../../../src/projections/visibility/row.ts';
import type { DatabaseUnderTest } from './database-under-test.ts';
import { bytesOf, closedRow, comparable, idOf, uuid, visibilityRow } from './samples.ts';

export function describeVisibilityRows(use: () => DatabaseUnderTest): void {
  describe('visibility rows', () => {
    test('every field comes back, of open runs and of closed ones, by write and by flush', async () => {
      const owner = await use().freshOwner();
      const { namespaceId } = owner;
      const open = visibilityRow({
        namespaceId,
        shard: 7,
        workflowId: 'größe/注文 🛒',
        workflowType: 'Ünicode',
        taskQueue: 'q',
        executionTimeMs: 1_770_000_060_000,
        parentWorkflowId: 'parent',
        parentRunId: uuid(),
        rootWorkflowId: 'root',
        rootRunId: uuid(),
        memo: bytesOf('memo'),
        searchAttributes: bytesOf('attributes'),
        slots: new Map([['Keyword01', 'x']]),
      });
      const closed = closedRow(visibilityRow({ namespaceId, memo: new Uint8Array() }), 1_770_000_005_000, { status: 5 });
      await owner.written({ visibility: [open] });
      expect(await owner.database.flush(owner.journal, owner.fence, [closed], [])).toBe('flushed');
      expect(comparable(await owner.listed())).toEqual(comparable([served(open), served(closed)]));
    });

    test('nothing to flush is flushed', async () => {
      const owner = await use().freshOwner();
      expect(await owner.database.flush(owner.journal, owner.fence, [], [])).toBe('flushed');
    });

    test('a flush takes the rows of retired runs away, and of no others; not behind a fence that is raised', async () => {
      const owner = await use().freshOwner();
      const [gone, stays, cold] = ['gone', 'stays', 'cold'].map((workflowId) =>
        visibilityRow({ namespaceId: owner.namespaceId, workflowId, slots: new Map([['Text01', 'red']]) }),
      );
      if (gone === undefined || stays === undefined || cold === undefined) throw new Error('three rows');
      await owner.written({ visibility: [gone, cold] });
      const [neverThere, ofAnother] = [
        { ...idOf(stays), runId: uuid() },
        { ...idOf(stays), namespaceId: uuid() },
      ];
      await owner.database.flush(owner.journal, owner.fence, [stays], [idOf(gone), neverThere, ofAnother]);
      expect((await owner.listed()).map(({ workflowId }) => workflowId).toSorted()).toEqual(['cold', 'stays']);
      expect((await countsOf(owner, questions))['red']).toBe(2);
      await owner.database.restore(owner.journal);
      expect(await owner.database.flush(owner.journal, owner.fence, [], [idOf(stays)])).toBe('fenced');
      expect(await owner.listed()).toHaveLength(2);
    });

    test('an older version never replaces a newer one, whichever way it comes; the same one does', async () => {
      const owner = await use().freshOwner();
      const first = visibilityRow({ namespaceId: owner.namespaceId, version: 5, slots: new Map([['Keyword01', 'five']]) });
      const newer = closedRow(first, 1_770_000_005_000, { version: 9, slots: new Map([['Keyword01', 'nine']]) });
      const older = { ...first, version: 8, slots: new Map([['Keyword01', 'eight']]) };
      const kept = async () => {
        const { database, namespaceId } = owner;
        const column = { name: 'Keyword01', kind: 'keyword' } as const;
        const condition = { kind: 'compare', column, operator: '=', operand: 'nine' } as const;
        const [{ count } = { count: -1 }] = await database.count({ namespaceId, condition, byStatus: false });
        return [(await owner.listed()).map(({ closeTimeMs }) => closeTimeMs), count];
      };
      await owner.written({ visibility: [first] });
      await owner.written({ visibility: [newer] });
      expect(await kept()).toEqual([[1_770_000_005_000], 1]);
      await owner.database.flush(owner.journal, owner.fence, [older], []);
      await owner.written({ visibility: [first] });
      expect(await kept()).toEqual([[1_770_000_005_000], 1]);
      await owner.written({ visibility: [newer, older] });
      await owner.written({ visibility: [older, { ...newer, closeTimeMs: 1_770_000_006_000 }] });
      expect(await kept()).toEqual([[1_770_000_006_000], 1]);
    });

    test('a replaced row leaves nothing of the one before: values, words and items are those of the last', async () => {
      const owner = await use().freshOwner();
      const slots = (of: Readonly<Record<string, string | readonly string[] | number>>) => new Map(Object.entries(of));
      const first = visibilityRow({
        namespaceId: owner.namespaceId,
        slots: slots({ Keyword01: 'a', Text01: 'red green', KeywordList01: ['x', 'y'], Int01: 1 }),
      });
      await owner.written({ visibility: [first] });
      await owner.written({ visibility: [{ ...first, version: 2, slots: slots({ Text01: 'green blue', KeywordList01: ['y', 'z'] }) }] });
      expect(await countsOf(owner, questions)).toEqual({ red: 0, green: 1, blue: 1, x: 0, y: 1, z: 1, a: 0, one: 0 });
      await owner.written({ visibility: [{ ...first, version: 3, slots: new Map() }] });
      expect(await countsOf(owner, questions)).toEqual({ red: 0, green: 0, blue: 0, x: 0, y: 0, z: 0, a: 0, one: 0 });
      await owner.written({ visibility: [{ ...first, version: 4 }] });
      expect(await countsOf(owner, questions)).toEqual({ red: 1, green: 1, blue: 0, x: 1, y: 1, z: 0, a: 1, one: 1 });
      await owner.written({ retiredRuns: [idOf(first)] });
      expect(await countsOf(owner, questions)).toEqual({ red: 0, green: 0, blue: 0, x: 0, y: 0, z: 0, a: 0, one: 0 });
    });

    test('a row of a run that is retired in the same delta does not come back, a late one of another run stays', async () => {
      const owner = await use().freshOwner();
      const [retired, other] = [visibilityRow({ namespaceId: owner.namespaceId }), visibilityRow({ namespaceId: owner.namespaceId })].map(
        (row) => ({ ...row, version: 3 }),
      );
      if (retired === undefined || other === undefined) throw new Error('two rows were made');
      await owner.written({ visibility: [retired, other] });
      await owner.written({
        visibility: [
          { ...retired, version: 4 },
          { ...other, version: 2, status: 7 },
        ],
        retiredRuns: [idOf(retired)],
      });
      expect(comparable(await owner.listed())).toEqual(comparable([served(other)]));
    });

    test('the same run id in two namespaces is two rows; retirement takes its own', async () => {
      const [one, other] = [await use().freshOwner(), await use().freshOwner()];
      const row = visibilityRow({ namespaceId: one.namespaceId });
      await one.written({ visibility: [row] });
      await other.written({ visibility: [{ ...row, namespaceId: other.namespaceId, status: 3 }] });
      expect([(await one.listed()).length, (await other.listed()).length]).toEqual([1, 1]);
      await one.written({ retiredRuns: [idOf(row)] });
      expect((await one.listed()).length).toBe(0);
      expect((await other.listed()).map(({ status }) => status)).toEqual([3]);
    });

    test('another connection lists what was written and flushed', async () => {
      const owner = await use().freshOwner();
      await owner.written({ visibility: [visibilityRow({ namespaceId: owner.namespaceId })] });
      await owner.database.flush(owner.journal, owner.fence, [visibilityRow({ namespaceId: owner.namespaceId })], []);
      const query = { namespaceId: owner.namespaceId, condition: undefined, after: undefined, max: 10 };
      expect((await use().other.list(query)).rows.length).toBe(2);
    });
  });
}

const questions = {
  red: { column: { name: 'Text01', kind: 'text' }, operand: 'red' },
  green: { column: { name: 'Text01', kind: 'text' }, operand: 'GREEN' },
  blue: { column: { name: 'Text01', kind: 'text' }, operand: 'blue' },
  x: { column: { name: 'KeywordList01', kind: 'keywordList' }, operand: 'x' },
  y: { column: { name: 'KeywordList01', kind: 'keywordList' }, operand: 'y' },
  z: { column: { name: 'KeywordList01', kind: 'keywordList' }, operand: 'z' },
  a: { column: { name: 'Keyword01', kind: 'keyword' }, operand: 'a' },
  one: { column: { name: 'Int01', kind: 'int' }, operand: 1 },
} as const;

async function countsOf(
  { database, namespaceId }: { readonly database: DatabaseUnderTest['database']; readonly namespaceId: string },
  asked: typeof questions,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const [name, question] of Object.entries(asked)) {
    const condition = { kind: 'compare', operator: '=', ...question } as const;
    const [found] = await database.count({ namespaceId, condition, byStatus: false });
    counts[name] = found?.count ?? -1;
  }
  return counts;
}

export function served({ slots: _slots, version: _version, ...row }: VisibilityRow): unknown {
  return row;
}
