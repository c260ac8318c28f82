import { describe, expect, test } from 'vitest';
import type { HeldJournal } from '../../../src/projections/database-port.ts';
import type { Column } from '../../../src/filter/condition.ts';
import type { SlotValue } from '../../../src/projections/visibility/row.ts';
import type { DatabaseUnderTest, Owner } from './database-under-test.ts';
import { comparable, uuid, visibilityRow } from './samples.ts';

/** One of each kind, and a text that has no words. */
const values: ReadonlyMap<string, SlotValue> = new Map<string, SlotValue>([
  ['Keyword01', 'red'],
  ['Text01', 'red apples'],
  ['Text02', '---'],
  ['Int01', 7],
  ['Double01', 1.5],
  ['Bool01', true],
  ['Datetime01', 1_770_000_000_000_000_001n],
  ['KeywordList01', ['red', 'green']],
]);

const columns: readonly Column[] = [
  { name: 'Keyword01', kind: 'keyword' },
  { name: 'Text01', kind: 'text' },
  { name: 'Text02', kind: 'text' },
  { name: 'Int01', kind: 'int' },
  { name: 'Double01', kind: 'double' },
  { name: 'Bool01', kind: 'bool' },
  { name: 'Datetime01', kind: 'instant' },
  { name: 'KeywordList01', kind: 'keywordList' },
];

export function describeSlotClearing(use: () => DatabaseUnderTest): void {
  describe('slots of removed attributes', () => {
    test('are empty afterwards, whatever was in them; what else a row has stays', async () => {
      const owner = await use().freshOwner();
      const row = visibilityRow({ namespaceId: owner.namespaceId, shard: shardOf(owner), slots: values });
      await owner.written({ visibility: [row, { ...row, runId: uuid(), slots: new Map() }] });
      const before = comparable(await owner.listed());
      expect(await setColumns(owner)).toEqual([...values.keys()]);
      const gone = ['Keyword01', 'Text02', 'KeywordList01', 'Double01', 'Datetime01'];
      await clearAll(owner, [held(owner)], gone);
      expect(await setColumns(owner)).toEqual(['Text01', 'Int01', 'Bool01']);
      expect(await withWord(owner, 'KeywordList01', 'keywordList', 'red')).toBe(0);
      expect(await withWord(owner, 'Text01', 'text', 'apples')).toBe(1);
      expect(comparable(await owner.listed())).toEqual(before);
      await clearAll(owner, [held(owner)], ['Text01', 'Int01', 'Bool01', ...gone]);
      expect(await setColumns(owner)).toEqual([]);
      expect(await withWord(owner, 'Text01', 'text', 'apples')).toBe(0);
    });

    test('take values again once they are empty, of rows of the same version as well', async () => {
      const owner = await use().freshOwner();
      const row = visibilityRow({ namespaceId: owner.namespaceId, shard: shardOf(owner), slots: values });
      await owner.written({ visibility: [row] });
      await clearAll(owner, [held(owner)], [...values.keys()]);
      await owner.database.flush(owner.journal, owner.fence, [{ ...row, slots: new Map([['KeywordList01', ['blue']]]) }], []);
      expect(await setColumns(owner)).toEqual(['KeywordList01']);
      const found = async (word: string): Promise<number> => await withWord(owner, 'KeywordList01', 'keywordList', word);
      expect([await found('red'), await found('blue')]).toEqual([0, 1]);
    });

    test('are those of one namespace: another has the same slot, and keeps what is in it', async () => {
      const [owner, other] = [await use().freshOwner(), await use().freshOwner()];
      const runId = uuid();
      for (const each of [owner, other]) {
        await each.written({ visibility: [visibilityRow({ namespaceId: each.namespaceId, runId, shard: shardOf(each), slots: values })] });
      }
      await clearAll(owner, [held(owner), held(other)], [...values.keys()]);
      expect([await setColumns(owner), await setColumns(other)]).toEqual([[], [...values.keys()]]);
      expect(await withWord(other, 'KeywordList01', 'keywordList', 'green')).toBe(1);
    });

    test('are cleared in stretches; no row is left out, and rows of shards whose journals are not held stay as they are', async () => {
      const [owner, stranger] = [await use().freshOwner(), await use().freshOwner()];
      const rowOf = (each: Owner) => visibilityRow({ namespaceId: owner.namespaceId, shard: shardOf(each), slots: values });
      await owner.written({ visibility: Array.from({ length: 7 }, () => rowOf(owner)) });
      await stranger.written({ visibility: Array.from({ length: 3 }, () => rowOf(stranger)) });
      const counted = async (): Promise<number> => await withWord(owner, 'KeywordList01', 'keywordList', 'red');
      expect(await counted()).toBe(10);
      const { database, namespaceId } = owner;
      const slots = [...values.keys()];
      const first = await database.clearSlots([held(owner)], { namespaceId, slots, afterRunId: '', max: 2 });
      expect(first).toMatchObject({ kind: 'cleared', lastRunId: expect.any(String) });
      expect(await counted()).toBeGreaterThanOrEqual(8);
      await clearAll(owner, [held(owner)], slots, 2);
      expect(await counted()).toBe(3);
      await clearAll(owner, [held(stranger), held(owner)], slots, 2);
      expect(await counted()).toBe(0);
    });

    test('stay as they are when one of the fences is raised, or was never held', async () => {
      const [owner, other] = [await use().freshOwner(), await use().freshOwner()];
      await owner.written({ visibility: [visibilityRow({ namespaceId: owner.namespaceId, shard: shardOf(owner), slots: values })] });
      await other.database.restore(other.journal);
      const { database, namespaceId } = owner;
      const clearing = { namespaceId, slots: [...values.keys()], afterRunId: '', max: 100 };
      for (const wrong of [held(other), { journal: other.journal, fence: 0 }, { journal: use().freshJournal(), fence: 0 }]) {
        expect(await database.clearSlots([held(owner), wrong], clearing)).toEqual({ kind: 'fenced' });
      }
      expect(await setColumns(owner)).toEqual([...values.keys()]);
    });

    test('that nobody knows are passed over, as are ids of namespaces that are none', async () => {
      const owner = await use().freshOwner();
      await owner.written({ visibility: [visibilityRow({ namespaceId: owner.namespaceId, shard: shardOf(owner), slots: values })] });
      await clearAll(owner, [held(owner)], ['status', 'Keyword01 = NULL, status', 'Keyword99', '']);
      const { database } = owner;
      for (const namespaceId of ['', 'no uuid', "'"]) {
        const clearing = { namespaceId, slots: ['Keyword01'], afterRunId: '', max: 100 };
        expect(await database.clearSlots([held(owner)], clearing)).toEqual({ kind: 'cleared', lastRunId: undefined });
      }
      expect(await setColumns(owner)).toEqual([...values.keys()]);
    });
  });
}

function shardOf({ journal }: Owner): number {
  return journal.partition + 1;
}

function held({ journal, fence }: Owner): HeldJournal {
  return { journal, fence };
}

async function clearAll(
  { database, namespaceId }: Owner,
  all: readonly HeldJournal[],
  slots: readonly string[],
  max = 1_000,
): Promise<void> {
  for (let afterRunId: string | undefined = ''; afterRunId !== undefined;) {
    const cleared = await database.clearSlots(all, { namespaceId, slots, afterRunId, max });
    if (cleared.kind === 'fenced') throw new Error('expected to hold all fences');
    afterRunId = cleared.lastRunId;
  }
}

/** Those that any row of the namespace has. */
async function setColumns({ database, namespaceId }: Owner): Promise<readonly string[]> {
  const names: string[] = [];
  for (const column of columns) {
    const condition = { kind: 'isNull', column, not: true } as const;
    const [{ count } = { count: -1 }] = await database.count({ namespaceId, condition, byStatus: false });
    if (count > 0) names.push(column.name);
  }
  return names;
}

async function withWord({ database, namespaceId }: Owner, name: string, kind: Column['kind'], operand: string): Promise<number> {
  const condition = { kind: 'compare', column: { name, kind }, operator: '=', operand } as const;
  const [{ count } = { count: -1 }] = await database.count({ namespaceId, condition, byStatus: false });
  return count;
}
