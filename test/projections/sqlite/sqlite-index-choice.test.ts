import { beforeAll, describe, expect, test } from 'vitest';
import { largeCountSql, listSql } from '../../../src/projections/tables/visibility-sql.ts';
import type { Sql } from '../../../src/projections/tables/condition-sql.ts';
import { Connection } from '../../../src/projections/sqlite/connection.ts';
import { byDivision, indexProbes, orderedIndex, selectiveRowsMax } from '../../../src/projections/sqlite/index-choice.ts';
import { countSteps, listSteps } from '../../../src/projections/sqlite/visibility-queries.ts';
import { columnKinds } from '../../../src/projections/visibility/columns.ts';
import { attributeColumns } from '../../../src/projections/tables/attribute-columns.ts';
import type { Column, Condition, Operand } from '../../../src/filter/condition.ts';
import { OPEN_SORT_MS, type VisibilityCount, type VisibilityList } from '../../../src/projections/visibility/row.ts';

const namespaceId = '01980000-0000-7000-8000-000000000001';
/** More than are called selective, half of them with each of two words. */
const rows = 3 * selectiveRowsMax;

const type: Column = { name: 'WorkflowType', kind: 'keyword' };
const keyword: Column = { name: 'Keyword01', kind: 'keyword' };
const int: Column = { name: 'Int01', kind: 'int' };
const list: Column = { name: 'KeywordList01', kind: 'keywordList' };
const status: Column = { name: 'ExecutionStatus', kind: 'int' };
const runId: Column = { name: 'RunId', kind: 'keyword' };
const rootWorkflowId: Column = { name: 'RootWorkflowId', kind: 'keyword' };
const rootRunId: Column = { name: 'RootRunId', kind: 'keyword' };
/** Each has another, and all of them are in one millisecond. */
const instant: Column = { name: 'Datetime01', kind: 'instant' };
const workflowId: Column = { name: 'WorkflowId', kind: 'keyword' };
/** SQLite's name for the index of the primary key. */
const byKey = 'sqlite_autoindex_visibility_1';
const compare = (column: Column, operator: '=' | '<' | '>=', operand: Operand): Condition => ({
  kind: 'compare',
  column,
  operator,
  operand,
});
const both = (...conditions: readonly Condition[]): Condition => ({ kind: 'and', conditions });

const connection = new Connection({ filename: undefined }, { mustSync: false });

beforeAll(() => {
  const row = connection.prepare(
    `INSERT INTO visibility (namespace_id, run_id, sort_ms, start_ms, version, shard, status, workflow_id, workflow_type, task_queue,
       execution_ms, root_workflow_id, root_run_id, Keyword01, Int01, KeywordList01, Datetime01, Datetime01_ns)
       VALUES (?, ?, ?, ?, 1, 1, 1, 'w', 'T', 'q', 0, ?, ?, ?, ?, 1, 1, ?)`,
  );
  const word = connection.prepare(`INSERT INTO visibility_words VALUES (?, 'KeywordList01', ?, ?)`);
  connection.begin();
  for (let number = 0; number < rows; number++) {
    const runId = runIdOf(number);
    // The last seven are below the first; the others are their own roots.
    const [rootId, rootRun] = number >= rows - 7 ? ['root', runIdOf(0)] : ['w', runId];
    row.run(namespaceId, runId, OPEN_SORT_MS, number, rootId, rootRun, `k${number % 2}`, number, number);
    word.run(namespaceId, `half${number % 2}`, runId);
    word.run(namespaceId, `ten${Math.floor(number / 10)}`, runId);
  }
  connection.commit();
});

function runIdOf(number: number): string {
  return `${number.toString(16).padStart(8, '0')}-0000-7000-8000-000000000000`;
}

/** By the index that was named, or by which SQLite goes by itself. */
function pathOf(condition: Condition): string {
  const query = { namespaceId, condition, after: undefined, max: 100 };
  const probes = indexProbes(namespaceId, condition);
  const selective = probes.find(({ count }) => {
    const { text, parameters } = count(selectiveRowsMax);
    const found = connection.prepare(text).get(...(parameters as (string | number | bigint)[]));
    return Number(found?.['count']) < selectiveRowsMax;
  });
  const { text, parameters } = listSql(
    'sqlite',
    'run_id',
    selective?.from ?? orderedIndex(probes)?.from ?? 'visibility',
    query,
    selective?.byRuns,
  );
  const steps = connection.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(parameters as (string | number | bigint)[]));
  const [, index = 'none'] = /SEARCH visibility USING (?:COVERING )?INDEX (\w+)/.exec(JSON.stringify(steps)) ?? [];
  return index;
}

describe('a List goes by', () => {
  test.each<[string, Condition, string]>([
    ['the index of a range that finds few', compare(int, '<', 10), 'visibility_Int01'],
    ['the order, if the range finds many', compare(int, '>=', 10), 'visibility_sort'],
    ['the one of two conditions that finds few', both(compare(type, '=', 'T'), compare(int, '<', 10)), 'visibility_Int01'],
    ['the order within what is equal, if all find many', both(compare(int, '>=', 10), compare(type, '=', 'T')), 'visibility_workflow_type'],
    ['a list of values', { kind: 'in', column: int, not: false, operands: [1, 5_000] }, 'visibility_Int01'],
    ['between', { kind: 'between', column: int, not: false, low: 1, high: 9 }, 'visibility_Int01'],
    ['a prefix', { kind: 'startsWith', column: keyword, not: false, prefix: 'z' }, 'visibility_Keyword01'],
    ['the rare word of a list', compare(list, '=', 'ten7'), 'sqlite_autoindex_visibility_1'],
    ['the rare word of two', both(compare(list, '=', 'half1'), compare(list, '=', 'ten7')), 'sqlite_autoindex_visibility_1'],
    ['the order, if the word is everywhere', compare(list, '=', 'half1'), 'visibility_sort'],
    ['either of two that find few', { kind: 'or', conditions: [compare(int, '<', 10), compare(list, '=', 'ten7')] }, byKey],
    [
      'the order, if one of two finds many',
      { kind: 'or', conditions: [compare(int, '<', 10), compare(keyword, '=', 'k1')] },
      'visibility_sort',
    ],
    ['a run id, or a workflow id', { kind: 'or', conditions: [compare(runId, '=', runIdOf(9)), compare(workflowId, '=', 'v')] }, byKey],
    ['what few have', { kind: 'isNull', column: { name: 'Keyword02', kind: 'keyword' }, not: true }, 'visibility_Keyword02'],
    ['the parent', compare({ name: 'ParentWorkflowId', kind: 'keyword' }, '=', 'p'), 'visibility_parent_workflow_id'],
    ['a date before the millisecond in which all are', compare(instant, '<', 999_999n), 'visibility_Datetime01'],
    ['a date in the millisecond in which all are', compare(instant, '=', 1_000_007n), 'visibility_Datetime01'],
    ['the root, below which few are', compare(rootWorkflowId, '=', 'root'), byKey],
    ['a root’s run', compare(rootRunId, '=', runIdOf(0)), byKey],
    ['the order, if most have that root', compare(rootWorkflowId, '=', 'w'), 'visibility_sort'],
    ['the status, behind which no other open runs stand', both(compare(keyword, '=', 'k1'), compare(status, '=', 1)), 'visibility_status'],
    ['the order, if nothing says what rows have', { kind: 'not', condition: compare(int, '<', 10) }, 'visibility_sort'],
  ])('%s', (_, condition, index) => expect(pathOf(condition)).toBe(index));
});

/** How each table is read. */
function countedBy(condition: Condition | undefined, byStatus: boolean): readonly string[] {
  const { text, parameters } = largeCountSql('sqlite', 'visibility', byDivision, { namespaceId, condition, byStatus });
  const steps = connection.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(parameters as (string | number | bigint)[]));
  return steps.map(({ detail }) => String(detail)).filter((detail) => detail.includes('visibility'));
}

describe('a Count of many reads no row, and those of a division by their index:', () => {
  const division: Condition = { kind: 'isNull', column: { name: 'TemporalNamespaceDivision', kind: 'keyword' }, not: false };
  test.each<[string, Condition, boolean]>([
    ['of all', division, false],
    ['of all by status', division, true],
    ['of a status', both(compare({ name: 'ExecutionStatus', kind: 'int' }, '=', 1), division), false],
    ['of a status by status', both(compare({ name: 'ExecutionStatus', kind: 'int' }, '=', 1), division), true],
    ['of a keyword', both(compare(keyword, '=', 'k1'), division), false],
    ['of a range', both(compare(int, '>=', 10), division), false],
    ['of dates from a millisecond', both(compare(instant, '>=', 1_000_000n), division), false],
    ['of a type', both(division, compare(type, '=', 'T')), false],
  ])('%s', (_, condition, byStatus) => {
    const [all, others, ...more] = countedBy(condition, byStatus);
    expect(all).toContain('USING COVERING INDEX');
    expect(others).toContain('INDEX visibility_TemporalNamespaceDivision');
    expect(more).toEqual([]);
  });
});

test('a page behind a run among many of the same close time begins at that run', () => {
  const after = { sortMs: OPEN_SORT_MS, startTimeMs: 5, runId: runIdOf(5) };
  const { text, parameters } = listSql('sqlite', 'run_id', 'visibility', { namespaceId, condition: undefined, after, max: 10 });
  const steps = connection.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(parameters as (string | number | bigint)[]));
  expect(JSON.stringify(steps)).toContain('visibility_sort (namespace_id=? AND (sort_ms,start_ms,run_id)<(?,?,?))');
});

function inOneTurn<Result>(steps: Generator<void, Result>): { readonly turns: number; readonly result: Result } {
  for (let turns = 1; ; turns++) {
    const { done, value } = steps.next();
    if (done === true) return { turns, result: value };
  }
}
const listRows = (query: VisibilityList) => inOneTurn(listSteps(() => connection, query)).result;
const countRows = (query: VisibilityCount) => inOneTurn(countSteps(() => connection, query)).result;

describe('in stretches, however short, rows, pages and counts are the same:', () => {
  const second: Column = { name: 'HistoryLength', kind: 'int' };
  const none = compare(second, '>=', 0);
  const close: Column = { name: 'CloseTime', kind: 'datetime' };
  test.each<[string, Condition | undefined, number]>([
    ['nothing in all', { kind: 'not', condition: both(none, compare(int, '<', 0)) }, rows],
    ['some in all', { kind: 'not', condition: compare(int, '<', rows - 900) }, rows],
    ['some here and there', { kind: 'or', conditions: [compare(int, '<', 5), compare(keyword, '=', 'k1'), none] }, rows],
    ['a close time, of the order', both(compare(close, '<', 1), compare(int, '>=', 0)), 0],
    ['what is equal', both(compare(keyword, '=', 'k0'), { kind: 'isNull', column: second, not: false }), rows / 2],
    ['all', undefined, rows],
  ])('%s', (_, condition, entriesInAll) => {
    const entries = 601;
    const query = { namespaceId, condition, after: undefined, max: rows };
    const atOnce = listRows(query).rows;
    const { turns, result } = inOneTurn(listSteps(() => connection, query, entries));
    expect(result.rows).toEqual(atOnce);
    expect(turns).toBe(Math.ceil((entriesInAll + 1) / entries));
    const [middle] = atOnce.slice(Math.floor(atOnce.length / 2));
    if (middle !== undefined) {
      const after = { sortMs: OPEN_SORT_MS, startTimeMs: middle.startTimeMs, runId: middle.runId };
      const page = inOneTurn(listSteps(() => connection, { ...query, after, max: 70 }, 7)).result.rows;
      expect(page).toEqual(atOnce.slice(Math.floor(atOnce.length / 2) + 1).slice(0, 70));
    }
    for (const byStatus of [false, true]) {
      const expected =
        byStatus && atOnce.length > 0 ? [{ status: 1, count: atOnce.length }] : [{ status: undefined, count: atOnce.length }];
      const { result: counts } = inOneTurn(countSteps(() => connection, { namespaceId, condition, byStatus }, undefined, entries));
      expect(counts).toEqual(byStatus && atOnce.length === 0 ? [] : expected);
    }
  });
});

test('what the order begins without is read by an index that finds not very many', () => {
  const query = { namespaceId, condition: compare(int, '<', selectiveRowsMax + 500), after: undefined, max: 10 };
  const { turns, result } = inOneTurn(listSteps(() => connection, query, 601));
  expect(turns).toBe(2);
  expect(result.rows.map(({ runId: id }) => id)).toEqual(Array.from({ length: 10 }, (_, n) => runIdOf(selectiveRowsMax + 499 - n)));
});

test('a run that closes while those that an index found are read stands where it belongs, and no page leaves it out', () => {
  const own = new Connection({ filename: undefined }, { mustSync: false });
  const insert = own.prepare(
    `INSERT INTO visibility (namespace_id, run_id, sort_ms, start_ms, close_ms, version, shard, status, workflow_id, workflow_type, task_queue,
       execution_ms, root_workflow_id, root_run_id, Int01)
       VALUES (?, ?, ?, ?, ?, 1, 1, ?, 'w', 'T', 'q', 0, 'w', ?, ?)`,
  );
  const closed = 1_500;
  own.begin();
  for (let number = 0; number < rows; number++) {
    const closeMs = number < closed ? number : null;
    insert.run(namespaceId, runIdOf(number), closeMs ?? OPEN_SORT_MS, number, closeMs, closeMs === null ? 1 : 2, runIdOf(number), number);
  }
  own.commit();
  const found = closed + 1_000;
  const query = { namespaceId, condition: compare(int, '<', found), after: undefined, max: 1_200 };
  const steps = listSteps(() => own, query, 601);
  // The order begins with others; what an index finds is read from the next turn on.
  steps.next();
  const newest = found - 1;
  own
    .prepare('UPDATE visibility SET sort_ms = ?, close_ms = ?, status = 2 WHERE namespace_id = ? AND run_id = ?')
    .run(rows, rows, namespaceId, runIdOf(newest));
  const page = inOneTurn(steps).result.rows.map(({ runId: id }) => id);
  const open = Array.from({ length: found - closed - 1 }, (_, n) => runIdOf(newest - 1 - n));
  const behind = Array.from({ length: query.max - open.length - 1 }, (_, n) => runIdOf(closed - 1 - n));
  expect(page).toEqual([...open, runIdOf(newest), ...behind]);
});

test('whichever way it goes, the rows and their order are the same', () => {
  const rare = both(compare(list, '=', 'half1'), compare(list, '=', 'ten7'));
  const found = (condition: Condition, max: number): readonly string[] =>
    listRows({ namespaceId, condition, after: undefined, max }).rows.map(({ runId }) => runId);
  expect(found(rare, 10)).toEqual([79, 77, 75, 73, 71].map(runIdOf));
  expect(found(both(compare(list, '=', 'half1'), compare(int, '<', 4)), 10)).toEqual([3, 1].map(runIdOf));
  const either: Condition = {
    kind: 'or',
    conditions: [compare(int, '<', 3), compare(list, '=', 'ten0'), compare(runId, '=', runIdOf(77))],
  };
  expect(found(either, 100)).toEqual([77, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map(runIdOf));
  expect(countRows({ namespaceId, condition: either, byStatus: true })).toEqual([{ status: 1, count: 11 }]);
  expect(found(compare(list, '=', 'half1'), 2)).toEqual([rows - 1, rows - 3].map(runIdOf));
  expect(countRows({ namespaceId, condition: rare, byStatus: true })).toEqual([{ status: 1, count: 5 }]);
  expect(countRows({ namespaceId, condition: compare(int, '>=', 10), byStatus: false })).toEqual([{ status: undefined, count: rows - 10 }]);
});

test('what is below a root, and the root itself, is found where most runs are their own', () => {
  const found = (condition: Condition): readonly string[] =>
    listRows({ namespaceId, condition, after: undefined, max: 100 }).rows.map((row) => row.runId);
  const below = Array.from({ length: 7 }, (_, n) => runIdOf(rows - 1 - n));
  expect(found(compare(rootWorkflowId, '=', 'root'))).toEqual(below);
  expect(found({ kind: 'startsWith', column: rootWorkflowId, not: false, prefix: 'ro' })).toEqual(below);
  expect(found(compare(rootRunId, '=', runIdOf(0)))).toEqual([...below, runIdOf(0)]);
  expect(found({ kind: 'in', column: rootRunId, not: false, operands: [runIdOf(0), runIdOf(5)] })).toEqual([
    ...below,
    runIdOf(5),
    runIdOf(0),
  ]);
  expect(countRows({ namespaceId, condition: compare(rootRunId, '=', runIdOf(0)), byStatus: true })).toEqual([{ status: 1, count: 8 }]);
  const [read = ''] = indexProbes(namespaceId, compare(rootRunId, '=', runIdOf(0))).map(({ count }) => planOf(count(10)));
  expect(read).toContain('USING COVERING INDEX visibility_root_run_id (namespace_id=? AND root_run_id=?)');
  expect(read).toContain('USING INDEX sqlite_autoindex_visibility_1 (namespace_id=? AND run_id=?)');
});

function planOf({ text, parameters }: Sql): string {
  return JSON.stringify(connection.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...(parameters as (string | number | bigint)[])));
}

test('a date among many in its millisecond is found; its cost is estimated by milliseconds, from the index alone', () => {
  const found = (condition: Condition): readonly string[] =>
    listRows({ namespaceId, condition, after: undefined, max: 3 }).rows.map((row) => row.runId);
  expect(found(compare(instant, '=', 1_000_007n))).toEqual([runIdOf(7)]);
  expect(found(compare(instant, '<', 1_000_007n))).toEqual([6, 5, 4].map(runIdOf));
  expect(found({ kind: 'or', conditions: [compare(instant, '=', 1_000_007n), compare(int, '<', 2)] })).toEqual([7, 1, 0].map(runIdOf));
  expect(countRows({ namespaceId, condition: compare(instant, '>=', 1_000_007n), byStatus: false })).toEqual([
    { status: undefined, count: rows - 7 },
  ]);
  const [probe] = indexProbes(namespaceId, compare(instant, '=', 1_000_007n));
  expect(planOf(probe?.count(10) ?? { text: '', parameters: [] })).toContain(
    'USING COVERING INDEX visibility_Datetime01 (namespace_id=? AND Datetime01=?)',
  );
  expect(countedBy(compare(instant, '=', 1_000_007n), false)).toEqual([expect.stringContaining('INDEX visibility_Datetime01')]);
});

test('each column that a probe names an index of has it; a namespace that is none is asked nothing', () => {
  const sample: Readonly<Record<string, Operand>> = {
    text: 'a',
    keyword: 'a',
    keywordList: 'a',
    int: 1,
    double: 1,
    datetime: 1,
    instant: 1n,
    bool: true,
  };
  const system = ['WorkflowId', 'WorkflowType', 'RootWorkflowId', 'RootRunId'].map((name): Column => ({ name, kind: 'keyword' }));
  const numbers: Column[] = [
    { name: 'ExecutionStatus', kind: 'int' },
    { name: 'StartTime', kind: 'datetime' },
  ];
  expect(columnKinds.size).toBe(7);
  for (const column of [...attributeColumns, ...system, ...numbers]) {
    const condition = compare(column, '=', sample[column.kind] ?? 'a');
    expect(indexProbes(namespaceId, condition)).toHaveLength(1);
    expect(listRows({ namespaceId, condition, after: undefined, max: 1 }).rows.length).toBeLessThanOrEqual(1);
    expect(countRows({ namespaceId: 'none', condition, byStatus: false })).toEqual([{ status: undefined, count: 0 }]);
  }
});
