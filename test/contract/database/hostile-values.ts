import { describe, expect, test } from 'vitest';
import type { LoadKey } from '../../../src/projections/database-port.ts';
import type { Column, Condition, Operand } from '../../../src/filter/condition.ts';
import type { SlotValue, VisibilityRow } from '../../../src/projections/visibility/row.ts';
import { allTimers, type DatabaseUnderTest, type Owner } from './database-under-test.ts';
import { bytesOf, comparable, historyRow, idOf, runRow, taskRow, timerRow, visibilityRow } from './samples.ts';

/** What a client may call a workflow, and what has broken databases before. */
const workflowIds = [
  'with\0NUL',
  '\0',
  'a',
  'a\0',
  '注'.repeat(333),
  'x'.repeat(1000),
  '😀'.repeat(250),
  "'; DROP TABLE runs; --",
  '\\x00',
  '%',
  '\u{10FFFF}',
  '\u200F\u202E',
  'é',
  'e\u0301',
  ' a',
  'a ',
  'A',
  '\n\r\t',
  'NULL',
  '$1',
  '?1',
];

export function describeHostileValues(use: () => DatabaseUnderTest): void {
  describe('values that nobody sends on purpose', () => {
    test('workflow ids: each is another one, and all are found again', async () => {
      const owner = await use().freshOwner();
      const runs = workflowIds.map((workflowId) => runRow({ namespaceId: owner.namespaceId, workflowId }));
      await owner.written({ runs, currentRuns: runs, visibility: runs.map((run) => visibilityRow(idOf(run))) });
      const keys: readonly LoadKey[] = runs.map((run, i) => ({ kind: i % 2 === 0 ? 'current' : 'run', ...idOf(run) }));
      const loaded = await owner.database.load(owner.journal, keys);
      expect(comparable(loaded.rows)).toEqual(comparable(runs.map((run) => ({ currentRunId: run.runId, run }))));
      expect(comparable((await owner.everything()).runs)).toEqual(comparable(runs));
      expect((await owner.listed()).length).toBe(runs.length);
    });

    test('an id with half a surrogate pair is written and found', async () => {
      const owner = await use().freshOwner();
      const run = runRow({ namespaceId: owner.namespaceId, workflowId: 'half \uD83D of a pair' });
      await owner.written({ runs: [run], currentRuns: [run], visibility: [visibilityRow(idOf(run))] });
      const { rows } = await owner.database.load(owner.journal, [
        { kind: 'current', ...idOf(run) },
        { kind: 'run', ...idOf(run) },
      ]);
      expect(rows.map((row) => row.run?.runId)).toEqual([run.runId, run.runId]);
      await owner.written({ retiredRuns: [idOf(run)] });
      expect((await owner.everything()).runs).toEqual([]);
    });

    test('times and task ids at the ends of whole numbers', async () => {
      const owner = await use().freshOwner();
      const most = Number.MAX_SAFE_INTEGER;
      const times = [-most, -62_167_219_200_000, -1, 0, 253_402_300_799_999, 253_402_300_800_000, most];
      const timers = times.map((fireTimeMs, i) => timerRow(fireTimeMs, most - i));
      const runs = times.map((forgetMs) => runRow({ namespaceId: owner.namespaceId, forgetMs }));
      await owner.written({ timers, runs, transferTasks: [taskRow(most), taskRow(0), taskRow(2 ** 32), taskRow(2 ** 31)] });
      const window = await owner.database.timers(owner.journal, { ...allTimers, max: 100 });
      expect(comparable(window.rows)).toEqual(comparable(timers));
      expect((await owner.everything()).dueRuns).toEqual(runs.map((run) => ({ ...idOf(run), forgetMs: run.forgetMs })));
      const { rows } = await owner.database.transferTasks(owner.journal, -1, 100);
      expect(rows.map(({ taskId }) => taskId)).toEqual([0, 2 ** 31, 2 ** 32, most]);
      await owner.written({ goneTransferTasks: [most, 2 ** 32], goneTimers: [most, most - 1] });
      expect((await owner.database.transferTasks(owner.journal, -1, 100)).rows.length).toBe(2);
      expect((await owner.database.timers(owner.journal, { ...allTimers, max: 100 })).rows.length).toBe(times.length - 2);
    });

    test('empty bytes are not missing bytes', async () => {
      const owner = await use().freshOwner();
      const { namespaceId } = owner;
      const empty = new Uint8Array();
      const run = runRow({ namespaceId, state: empty });
      await owner.written({
        runs: [run],
        history: [{ ...historyRow(run.runId, 1, 1), events: empty }],
        transferTasks: [taskRow(1, { task: empty })],
        timers: [timerRow(1, 2, { task: empty })],
        visibility: [
          visibilityRow({ ...idOf(run), memo: empty, searchAttributes: undefined, startTimeMs: 2 }),
          visibilityRow({ namespaceId, memo: undefined, searchAttributes: empty, startTimeMs: 1 }),
        ],
      });
      const found = await owner.everything([run.runId]);
      expect(comparable([found.runs, found.transferTasks, found.timers, found.history])).toEqual(
        comparable([
          [run],
          [taskRow(1, { task: empty })],
          [timerRow(1, 2, { task: empty })],
          [{ ...historyRow(run.runId, 1, 1), events: empty }],
        ]),
      );
      expect(found.listed.map(({ memo, searchAttributes }) => [memo?.length, searchAttributes?.length])).toEqual([
        [0, undefined],
        [undefined, 0],
      ]);
    });

    test('bytes of every value, views into larger buffers, and a state of 4 MiB', async () => {
      const owner = await use().freshOwner();
      const large = Uint8Array.from({ length: 4 * 1024 * 1024 }, (_, i) => (i * 31) % 256);
      const states = [Uint8Array.from({ length: 256 }, (_, i) => i), large, large.subarray(1000, 1010), new Uint8Array(large.buffer, 7, 3)];
      const runs = states.map((state) => runRow({ namespaceId: owner.namespaceId, state }));
      await owner.written({ runs });
      const loaded = await owner.database.load(
        owner.journal,
        runs.map((run) => ({ kind: 'run', ...idOf(run) })),
      );
      expect(comparable(loaded.rows.map(({ run }) => run))).toEqual(comparable(runs));
    });

    test('10,000 rows of every table in one delta, replaced in one, gone in one', async () => {
      const owner = await use().freshOwner();
      const runs = Array.from({ length: 10_000 }, (_, i) =>
        runRow({ namespaceId: owner.namespaceId, workflowId: `w ${i}`, forgetMs: 10_000 - i }),
      );
      await owner.written({
        runs,
        currentRuns: runs,
        history: runs.map(({ runId }) => historyRow(runId, 1, 11)),
        childStarts: runs.map(({ runId }) => ({ parentRunId: runId, initiatedEventId: 5, runId })),
        transferTasks: runs.map((_, i) => taskRow(i)),
        timers: runs.map((_, i) => timerRow(i % 100, i)),
        visibility: runs.map((run) => visibilityRow({ ...idOf(run), slots: new Map([['Keyword01', 'x']]) })),
      });
      const counted = async () => {
        const { namespaceId, database } = owner;
        const [found] = await database.count({ namespaceId, condition: is(keyword, 'x'), byStatus: false });
        return [(await owner.everything()).runs.length, (await owner.everything()).timers.length, found?.count];
      };
      expect(await counted()).toEqual([10_000, 10_000, 10_000]);
      const replaced = runs.map((run, i) => ({ ...run, state: bytesOf(`state ${i} again`) }));
      await owner.written({ runs: replaced, timers: runs.map((_, i) => timerRow(-i, i)) });
      expect(comparable((await owner.everything()).runs)).toEqual(comparable(replaced));
      const { rows } = await owner.database.timers(owner.journal, { ...allTimers, max: 3 });
      expect(rows.map(({ taskId }) => taskId)).toEqual([9999, 9998, 9997]);
      await owner.written({ retiredRuns: runs.map(idOf), goneTimers: runs.map((_, i) => i), goneTransferTasks: runs.map((_, i) => i) });
      expect(await counted()).toEqual([0, 0, 0]);
      expect((await owner.everything([runs[0]?.runId ?? '', runs[9_999]?.runId ?? ''])).history).toEqual([]);
    });

    test.each(oddSlots)('a slot with $name stops no checkpoint: the row is there', async ({ slot, value, asked, finds }) => {
      const owner = await use().freshOwner();
      const { namespaceId } = owner;
      const row = visibilityRow({ namespaceId, slots: new Map([[slot.name, value]]) });
      const neighbour = visibilityRow({ namespaceId, slots: new Map([['Keyword02', 'neighbour']]) });
      await owner.written({ transferTasks: [taskRow(1)], visibility: [row, neighbour] });
      expect(new Set((await owner.listed()).map(({ runId }) => runId))).toEqual(new Set([row.runId, neighbour.runId]));
      expect((await owner.everything()).transferTasks.length).toBe(1);
      if (asked !== undefined) expect(await countOf(owner, is(slot, asked))).toBe(finds ? 1 : 0);
      const isSet: Condition = { kind: 'isNull', column: slot, not: true };
      if (finds !== undefined) expect(await countOf(owner, isSet)).toBe(finds ? 1 : 0);
    });

    test.each(oddRows)('a row with $name stops no checkpoint and no flush: the others are there', async ({ fields, isKept }) => {
      const owner = await use().freshOwner();
      const { namespaceId, database, journal, fence } = owner;
      const odd = visibilityRow({ namespaceId, ...fields });
      const [first, last, flushed] = [visibilityRow({ namespaceId }), visibilityRow({ namespaceId }), visibilityRow({ namespaceId })];
      await owner.written({ visibility: [first, odd, last], transferTasks: [taskRow(1)] });
      expect(await database.flush(journal, fence, [odd, flushed], [])).toBe('flushed');
      const expected = [first, last, flushed, ...(isKept ? [odd] : [])];
      expect(new Set((await owner.listed()).map(({ runId }) => runId))).toEqual(new Set(expected.map(({ runId }) => runId)));
      expect((await owner.everything()).transferTasks.length).toBe(1);
    });

    test('texts that cannot be stored are stored, found and listed with U+FFFD', async () => {
      const owner = await use().freshOwner();
      const { namespaceId } = owner;
      const odd = 'a\0b \uD83D c';
      const stored = 'a\uFFFDb \uFFFD c';
      const row = visibilityRow({
        namespaceId,
        workflowId: odd,
        workflowType: odd,
        taskQueue: odd,
        parentWorkflowId: odd,
        rootWorkflowId: odd,
        slots: new Map<string, SlotValue>([
          ['Keyword01', odd],
          ['KeywordList01', [odd, 'y']],
          ['Text01', odd],
        ]),
      });
      await owner.written({ visibility: [row] });
      const [listed] = await owner.listed();
      expect([listed?.workflowId, listed?.workflowType, listed?.taskQueue, listed?.parentWorkflowId, listed?.rootWorkflowId]).toEqual(
        Array.from({ length: 5 }, () => stored),
      );
      const columns = [
        keyword,
        list,
        ...['WorkflowId', 'WorkflowType', 'TaskQueue', 'ParentWorkflowId', 'RootWorkflowId'].map(systemKeyword),
      ];
      for (const column of columns) {
        for (const operand of [odd, stored]) expect(await countOf(owner, is(column, operand)), column.name).toBe(1);
      }
      const startsWith = (prefix: string): Condition => ({ kind: 'startsWith', column: keyword, not: false, prefix });
      expect(await countOf(owner, startsWith('a\0'))).toBe(1);
      expect(await countOf(owner, startsWith('a\0c'))).toBe(0);
      expect(await countOf(owner, is({ name: 'Text01', kind: 'text' }, 'b'))).toBe(1);
    });

    test('strings compare by the bytes of UTF-8', async () => {
      const owner = await use().freshOwner();
      const { namespaceId } = owner;
      // By UTF-16 units the emoji stands before U+FF5E; in many locales `a` before `B`, and é beside e.
      const ordered = ['', ' ', 'B', 'Z', 'a', 'aa', 'b', 'z', '\u007f', 'ß', 'é', '注', '\uFF5E', '\uFFFD', '😀', '\u{10FFFF}'];
      await owner.written({ visibility: ordered.map((value) => visibilityRow({ namespaceId, slots: new Map([['Keyword01', value]]) })) });
      for (const [i, operand] of ordered.entries()) {
        const below: Condition = { kind: 'compare', column: keyword, operator: '<', operand };
        expect(await countOf(owner, below), JSON.stringify(operand)).toBe(i);
        expect(await countOf(owner, is(keyword, operand))).toBe(1);
      }
      const between = (low: string, high: string): Condition => ({ kind: 'between', column: keyword, not: false, low, high });
      expect(await countOf(owner, between('a', 'b'))).toBe(3);
      expect(await countOf(owner, between('\uFF5E', '😀'))).toBe(3);
      const startsWith = (prefix: string): Condition => ({ kind: 'startsWith', column: keyword, not: false, prefix });
      expect(await countOf(owner, startsWith('\u{10FFFF}'))).toBe(1);
      expect(await countOf(owner, startsWith('a'))).toBe(2);
      expect(await countOf(owner, startsWith(''))).toBe(ordered.length);
    });
  });
}

const keyword: Column = { name: 'Keyword01', kind: 'keyword' };
const list: Column = { name: 'KeywordList01', kind: 'keywordList' };
const instant: Column = { name: 'Datetime01', kind: 'instant' };
const systemKeyword = (name: string): Column => ({ name, kind: 'keyword' });
const is = (column: Column, operand: Operand): Condition => ({ kind: 'compare', column, operator: '=', operand });

async function countOf({ database, namespaceId }: Owner, condition: Condition): Promise<number | undefined> {
  return (await database.count({ namespaceId, condition, byStatus: false }))[0]?.count;
}

type OddSlot = {
  readonly name: string;
  readonly slot: Column;
  readonly value: SlotValue;
  /** A value that the row must be found by, or must not; undefined: not asked. */
  readonly asked?: Operand;
  /** undefined: the database may keep it or leave it out. */
  readonly finds?: boolean;
};

const oddSlots: readonly OddSlot[] = [
  { name: 'the largest int64', slot: { name: 'Int01', kind: 'int' }, value: 2n ** 63n - 1n, asked: 2n ** 63n - 1n, finds: true },
  { name: 'the smallest int64', slot: { name: 'Int01', kind: 'int' }, value: -(2n ** 63n), asked: -(2n ** 63n), finds: true },
  { name: 'an int beyond 2^53', slot: { name: 'Int01', kind: 'int' }, value: 2n ** 53n + 1n, asked: 2n ** 53n + 1n, finds: true },
  { name: 'a small bigint', slot: { name: 'Int01', kind: 'int' }, value: 5n, asked: 5, finds: true },
  { name: 'an int beyond int64', slot: { name: 'Int01', kind: 'int' }, value: 2n ** 63n, finds: false },
  { name: 'an int of 1e300', slot: { name: 'Int01', kind: 'int' }, value: 1e300, finds: false },
  { name: 'an int of one and a half', slot: { name: 'Int01', kind: 'int' }, value: 1.5, finds: false },
  { name: 'an int that is NaN', slot: { name: 'Int01', kind: 'int' }, value: Number.NaN, finds: false },
  { name: 'an int that is a text', slot: { name: 'Int01', kind: 'int' }, value: 'five', finds: false },
  { name: 'a double that is NaN', slot: { name: 'Double01', kind: 'double' }, value: Number.NaN, finds: false },
  { name: 'an infinite double', slot: { name: 'Double01', kind: 'double' }, value: Number.NEGATIVE_INFINITY, finds: false },
  { name: 'the largest double', slot: { name: 'Double01', kind: 'double' }, value: Number.MAX_VALUE, asked: Number.MAX_VALUE, finds: true },
  { name: 'the smallest double', slot: { name: 'Double01', kind: 'double' }, value: 5e-324, asked: 5e-324, finds: true },
  { name: 'minus zero', slot: { name: 'Double01', kind: 'double' }, value: -0, asked: 0, finds: true },
  { name: 'a double that is a list', slot: { name: 'Double01', kind: 'double' }, value: ['1'], finds: false },
  { name: 'a bool that is a number', slot: { name: 'Bool01', kind: 'bool' }, value: 1, finds: false },
  { name: 'a date before all dates', slot: instant, value: -864n * 10n ** 19n - 1n, asked: -864n * 10n ** 19n - 1n, finds: true },
  {
    name: 'the year 9999',
    slot: instant,
    value: 253_402_300_799_999_999_999n,
    asked: 253_402_300_799_999_999_999n,
    finds: true,
  },
  { name: 'a date that is NaN', slot: instant, value: Number.NaN, finds: false },
  { name: 'a date after all dates', slot: instant, value: 10n ** 30n + 1n, asked: 10n ** 30n + 1n, finds: false },
  { name: 'a keyword that is a number', slot: keyword, value: 5, finds: false },
  { name: 'an empty keyword', slot: keyword, value: '', asked: '', finds: true },
  { name: 'a keyword of 2 KB', slot: keyword, value: '注'.repeat(680), asked: '注'.repeat(680), finds: true },
  { name: 'a keyword of 100 KB', slot: keyword, value: incompressible(100_000) },
  {
    name: 'a list of 2,000 items',
    slot: list,
    value: Array.from({ length: 2000 }, (_, i) => `item ${i}`),
    asked: 'item 1999',
    finds: true,
  },
  { name: 'a list whose items are equal', slot: list, value: ['x', 'x', 'x'], asked: 'x', finds: true },
  { name: 'a list of a long item', slot: list, value: [incompressible(100_000), 'x'] },
  { name: 'a list that is a text', slot: list, value: 'x', finds: false },
  { name: 'a text without words', slot: { name: 'Text01', kind: 'text' }, value: ' ... ' },
  { name: 'a text of 20,000 words', slot: { name: 'Text01', kind: 'text' }, value: manyWords(20_000), asked: 'word19999', finds: true },
  { name: 'a text of one word of 100 KB', slot: { name: 'Text01', kind: 'text' }, value: incompressible(100_000) },
];

/** Letters that no database can make small enough for an index. */
function incompressible(length: number): string {
  let seed = 42;
  return Array.from({ length }, () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return String.fromCharCode(0x61 + ((seed >>> 16) % 26));
  }).join('');
}

function manyWords(count: number): string {
  return Array.from({ length: count }, (_, i) => `word${i}`).join(' ');
}

const oddRows: readonly { readonly name: string; readonly fields: Partial<VisibilityRow>; readonly isKept: boolean }[] = [
  { name: 'a run id that is no UUID', fields: { runId: 'no uuid' }, isKept: false },
  { name: 'no start time', fields: { startTimeMs: Number.NaN }, isKept: false },
  { name: 'an endless execution', fields: { closeTimeMs: 5, executionDurationMs: Number.POSITIVE_INFINITY }, isKept: false },
  { name: 'a status of half a number', fields: { status: 1.5 }, isKept: false },
  { name: 'a start in the year 9999', fields: { startTimeMs: 253_402_300_799_999 }, isKept: true },
  { name: 'a start at the end of whole numbers', fields: { startTimeMs: Number.MAX_SAFE_INTEGER }, isKept: true },
  { name: 'a start before all dates', fields: { startTimeMs: Number.MIN_SAFE_INTEGER }, isKept: true },
  { name: 'texts of the longest kind', fields: longTexts(), isKept: true },
  {
    name: 'slots that are none',
    fields: {
      slots: new Map([
        ['Keyword99', 'x'],
        ['', 'y'],
        ["Keyword01' --", 'z'],
      ]),
    },
    isKept: true,
  },
  { name: 'a memo of 2 MiB', fields: { memo: new Uint8Array(2 * 1024 * 1024).fill(7) }, isKept: true },
];

function longTexts(): Partial<VisibilityRow> {
  const text = incompressible(1000);
  return { workflowId: text, workflowType: text, taskQueue: text, parentWorkflowId: text, rootWorkflowId: text };
}
