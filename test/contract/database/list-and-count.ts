import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Column, Condition, Operand } from '../../../src/filter/condition.ts';
import type { ListedRow, VisibilityRow } from '../../../src/projections/visibility/row.ts';
import { counted, keysetOf, listed } from '../../support/condition-oracle.ts';
import { arbitraryCondition, arbitraryRows } from '../../projections/visibility/arbitrary.ts';
import type { DatabaseUnderTest, Owner } from './database-under-test.ts';
import { closedRow, uuid, visibilityRow } from './samples.ts';

export function describeListAndCount(use: () => DatabaseUnderTest): void {
  describe('list and count', () => {
    test('random conditions over random rows: the rows, the order and the numbers of the oracle', async () => {
      const owner = await use().freshOwner();
      await fc.assert(
        fc.asyncProperty(
          arbitraryRows(owner.namespaceId, 25).chain((rows) =>
            fc.record({
              rows: fc.constant(rows),
              conditions: fc.array(arbitraryCondition(rows), { minLength: 10, maxLength: 10 }),
              max: fc.integer({ min: 1, max: 12 }),
            }),
          ),
          async ({ rows, conditions, max }) => {
            const namespaceId = uuid();
            const those = rows.map((row) => ({ ...row, namespaceId }));
            await owner.database.flush(owner.journal, owner.fence, those, []);
            for (const condition of [undefined, withoutDivision, ...conditions, ...conditions.map(asClientsAsk)]) {
              await agrees(owner, namespaceId, those, condition, max);
            }
          },
        ),
        { numRuns: 30 },
      );
    });

    test('newest first: open runs by their start, then closed ones by their end, ties by run id', async () => {
      const owner = await use().freshOwner();
      const at = (startTimeMs: number) => visibilityRow({ namespaceId: owner.namespaceId, startTimeMs });
      const [open1, open2, open3, closedA, closedB, closedC] = [at(10), at(20), at(20), at(1), at(2), at(2)];
      await owner.written({
        visibility: [closedRow(closedA, 900), open1, closedRow(closedB, 500), closedRow(closedC, 500), open2, open3],
      });
      expect((await owner.listed()).map(({ runId }) => runId)).toEqual(
        [open3, open2, open1, closedA, closedC, closedB].map(({ runId }) => runId),
      );
    });

    test('namespaces never mix, whatever the condition says', async () => {
      const [one, other] = [await use().freshOwner(), await use().freshOwner()];
      const slots = new Map<string, string | readonly string[]>([
        ['Keyword01', 'x'],
        ['Text01', 'hello'],
        ['KeywordList01', ['x']],
      ]);
      for (const owner of [one, other]) {
        await owner.written({ visibility: [visibilityRow({ namespaceId: owner.namespaceId, workflowId: 'w', slots })] });
      }
      const workflowId = { name: 'WorkflowId', kind: 'keyword' } as const;
      const equals = (column: Column, operand: Operand): Condition => ({ kind: 'compare', column, operator: '=', operand });
      const always: Condition = { kind: 'isNull', column: workflowId, not: true };
      const conditions: readonly Condition[] = [
        equals(workflowId, 'w'),
        equals({ name: 'Keyword01', kind: 'keyword' }, 'x'),
        equals({ name: 'Text01', kind: 'text' }, 'hello'),
        equals({ name: 'KeywordList01', kind: 'keywordList' }, 'x'),
        { kind: 'or', conditions: [always, equals(workflowId, 'w')] },
        { kind: 'not', condition: equals(workflowId, 'v') },
        { kind: 'not', condition: { kind: 'and', conditions: [equals(workflowId, 'v'), always] } },
      ];
      for (const condition of [undefined, ...conditions]) {
        const { rows } = await one.database.list({ namespaceId: one.namespaceId, condition, after: undefined, max: 10 });
        expect(rows.map(({ namespaceId }) => namespaceId)).toEqual([one.namespaceId]);
        const counts = await one.database.count({ namespaceId: other.namespaceId, condition, byStatus: false });
        expect(counts).toEqual([{ status: undefined, count: 1 }]);
      }
    });

    test('a namespace without rows: an empty page, a count of 0, no statuses', async () => {
      const { database } = use();
      const namespaceId = uuid();
      expect(await database.list({ namespaceId, condition: undefined, after: undefined, max: 10 })).toEqual({ rows: [] });
      expect(await database.count({ namespaceId, condition: undefined, byStatus: false })).toEqual([{ status: undefined, count: 0 }]);
      expect(await database.count({ namespaceId, condition: undefined, byStatus: true })).toEqual([]);
    });

    test.each(tableOfNull)('what is not there: $name', async ({ condition, finds }) => {
      const owner = await use().freshOwner();
      const row = (workflowId: string, slots: VisibilityRow['slots'], fields: Partial<VisibilityRow> = {}) =>
        visibilityRow({ namespaceId: owner.namespaceId, workflowId, slots, ...fields });
      const slots = new Map<string, string | number | boolean | readonly string[]>([
        ['Keyword01', 'x'],
        ['Int01', 5],
        ['Bool01', true],
        ['KeywordList01', ['x', 'y']],
        ['Text01', 'x and y'],
      ]);
      await owner.written({
        visibility: [row('set', slots), row('unset', new Map()), closedRow(row('closed', new Map()), 1_770_000_000_500)],
      });
      const { rows } = await owner.database.list({ namespaceId: owner.namespaceId, condition, after: undefined, max: 10 });
      expect(rows.map(({ workflowId }) => workflowId).sort()).toEqual(finds);
    });
  });
}

const keyword = { name: 'Keyword01', kind: 'keyword' } as const;
const int = { name: 'Int01', kind: 'int' } as const;
const bool = { name: 'Bool01', kind: 'bool' } as const;
const list = { name: 'KeywordList01', kind: 'keywordList' } as const;
const text = { name: 'Text01', kind: 'text' } as const;
const closeTime = { name: 'CloseTime', kind: 'datetime' } as const;
const parent = { name: 'ParentWorkflowId', kind: 'keyword' } as const;

const is = (column: Column, operand: Operand): Condition => ({ kind: 'compare', column, operator: '=', operand });
const isNot = (column: Column, operand: Operand): Condition => ({ kind: 'compare', column, operator: '!=', operand });
const not = (condition: Condition): Condition => ({ kind: 'not', condition });
const isNull = (column: Column, negated = false): Condition => ({ kind: 'isNull', column, not: negated });

const tableOfNull: readonly { readonly name: string; readonly condition: Condition; readonly finds: readonly string[] }[] = [
  { name: 'keyword != other', condition: isNot(keyword, 'z'), finds: ['set'] },
  { name: 'NOT keyword = other', condition: not(is(keyword, 'z')), finds: ['set'] },
  { name: 'NOT keyword = its value', condition: not(is(keyword, 'x')), finds: [] },
  { name: 'keyword NOT IN', condition: { kind: 'in', column: keyword, not: true, operands: ['z'] }, finds: ['set'] },
  { name: 'keyword NOT STARTS_WITH', condition: { kind: 'startsWith', column: keyword, not: true, prefix: 'z' }, finds: ['set'] },
  { name: 'keyword STARTS_WITH nothing', condition: { kind: 'startsWith', column: keyword, not: false, prefix: '' }, finds: ['set'] },
  { name: 'int NOT BETWEEN', condition: { kind: 'between', column: int, not: true, low: 6, high: 9 }, finds: ['set'] },
  { name: 'int BETWEEN the wrong way round', condition: { kind: 'between', column: int, not: false, low: 9, high: 1 }, finds: [] },
  { name: 'bool != false', condition: isNot(bool, false), finds: ['set'] },
  { name: 'NOT bool = true', condition: not(is(bool, true)), finds: [] },
  { name: 'unknown OR true', condition: { kind: 'or', conditions: [is(keyword, 'z'), isNull(keyword)] }, finds: ['closed', 'unset'] },
  { name: 'NOT (unknown AND true)', condition: not({ kind: 'and', conditions: [is(keyword, 'z'), isNull(keyword)] }), finds: ['set'] },
  {
    name: 'NOT (unknown AND false)',
    condition: not({ kind: 'and', conditions: [is(keyword, 'z'), isNull(parent, true)] }),
    finds: ['closed', 'set', 'unset'],
  },
  { name: 'list = an item', condition: is(list, 'y'), finds: ['set'] },
  { name: 'list != an item', condition: isNot(list, 'y'), finds: ['closed', 'unset'] },
  { name: 'list != other', condition: isNot(list, 'z'), finds: ['closed', 'set', 'unset'] },
  { name: 'NOT list = an item', condition: not(is(list, 'y')), finds: ['closed', 'unset'] },
  { name: 'list NOT IN', condition: { kind: 'in', column: list, not: true, operands: ['z', 'y'] }, finds: ['closed', 'unset'] },
  { name: 'list IS NULL', condition: isNull(list), finds: ['closed', 'unset'] },
  { name: 'text = two words, one of them there', condition: is(text, 'Y z'), finds: ['set'] },
  { name: 'text != a word', condition: isNot(text, 'and'), finds: ['closed', 'unset'] },
  { name: 'text = half a word', condition: is(text, 'an'), finds: [] },
  { name: 'text IS NOT NULL', condition: isNull(text, true), finds: ['set'] },
  { name: 'CloseTime > now', condition: { kind: 'compare', column: closeTime, operator: '>', operand: 1_780_000_000_000 }, finds: [] },
  {
    name: 'CloseTime < now',
    condition: { kind: 'compare', column: closeTime, operator: '<', operand: 1_780_000_000_000 },
    finds: ['closed'],
  },
  {
    name: 'NOT CloseTime < now',
    condition: not({ kind: 'compare', column: closeTime, operator: '<', operand: 1_780_000_000_000 }),
    finds: [],
  },
  { name: 'CloseTime IS NULL', condition: isNull(closeTime), finds: ['set', 'unset'] },
  { name: 'no parent', condition: isNull(parent), finds: ['closed', 'set', 'unset'] },
  { name: 'parent != other', condition: isNot(parent, 'z'), finds: [] },
  { name: 'a run id that is no UUID', condition: is({ name: 'RunId', kind: 'keyword' }, 'no uuid'), finds: [] },
  {
    name: 'not a run id that is no UUID',
    condition: isNot({ name: 'RunId', kind: 'keyword' }, "no 'uuid"),
    finds: ['closed', 'set', 'unset'],
  },
];

/** Added to each query that does not name it. */
const withoutDivision = isNull({ name: 'TemporalNamespaceDivision', kind: 'keyword' });
const asClientsAsk = (condition: Condition): Condition => ({ kind: 'and', conditions: [withoutDivision, condition] });

/** All pages of `max` rows and both counts, against the oracle. */
async function agrees(
  owner: Owner,
  namespaceId: string,
  rows: readonly VisibilityRow[],
  condition: Condition | undefined,
  max: number,
): Promise<void> {
  const expected = listed(rows, { namespaceId, condition, after: undefined, max: rows.length });
  const found: ListedRow[] = [];
  for (;;) {
    const last = found.at(-1);
    const after = last === undefined ? undefined : keysetOf(last);
    const page = await owner.database.list({ namespaceId, condition, after, max });
    found.push(...page.rows);
    if (page.rows.length < max || found.length > rows.length) break;
  }
  expect(found.map(({ runId }) => runId)).toEqual(expected.map(({ runId }) => runId));
  for (const byStatus of [false, true]) {
    const query = { namespaceId, condition, byStatus };
    expect(new Set(await owner.database.count(query))).toEqual(new Set(counted(rows, query)));
  }
}
