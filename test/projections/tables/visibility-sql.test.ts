import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { columnSql, conditionSql, SqlBuilder, successor } from '../../../src/projections/tables/condition-sql.ts';
import { partColumn } from '../../../src/projections/tables/instant-sql.ts';
import { splitInstant } from '../../../src/kernel/instant.ts';
import { countSql, largeCountSql, listSql } from '../../../src/projections/tables/visibility-sql.ts';
import { systemColumns } from '../../../src/projections/visibility/columns.ts';
import type { Column, Condition } from '../../../src/filter/condition.ts';
import { OPEN_SORT_MS, type VisibilityRow } from '../../../src/projections/visibility/row.ts';
import { storable, wordsOf } from '../../../src/projections/visibility/text.ts';
import { counted, keysetOf, listed } from '../../support/condition-oracle.ts';
import { arbitraryCondition, arbitraryRows } from '../visibility/arbitrary.ts';

const namespaceId = '01980000-0000-7000-8000-000000000001';

describe('on SQLite', () => {
  test('random conditions find the rows of the oracle, page by page, and count them', () => {
    const cases = arbitraryRows(namespaceId, 20).chain((rows) =>
      fc.record({ rows: fc.constant(rows), condition: arbitraryCondition(rows), max: fc.integer({ min: 1, max: 8 }) }),
    );
    fc.assert(
      fc.property(cases, ({ rows, condition, max }) => {
        const database = databaseOf(rows);
        const expected = listed(rows, { namespaceId, condition, after: undefined, max: rows.length });
        let after: VisibilityRow | undefined;
        for (let page = 0; page <= expected.length; page += max) {
          const keyset = after === undefined ? undefined : keysetOf(after);
          const { text, parameters } = listSql('sqlite', 'run_id', 'visibility', { namespaceId, condition, after: keyset, max });
          const found = database.prepare(text).all(...(parameters as SQLInputValue[]));
          expect(found.map((row) => row['run_id'])).toEqual(expected.slice(page, page + max).map(({ runId }) => runId));
          after = expected[page + max - 1];
        }
        const { text, parameters } = countSql('sqlite', 'visibility', { namespaceId, condition, byStatus: true });
        const groups = database.prepare(text).all(...(parameters as SQLInputValue[]));
        expect(new Set(groups.map((group) => ({ ...group })))).toEqual(new Set(counted(rows, { namespaceId, condition, byStatus: true })));
        database.close();
      }),
      { numRuns: 300 },
    );
  });

  test('as deep and as wide as a query can be', () => {
    const database = databaseOf([]);
    const term: Condition = { kind: 'compare', column: { name: 'WorkflowId', kind: 'keyword' }, operator: '=', operand: 'a' };
    let deep: Condition = term;
    for (let level = 0; level < 199; level++) deep = { kind: 'not', condition: { kind: 'or', conditions: [deep] } };
    const wide: Condition = { kind: 'or', conditions: Array.from({ length: 200 }, () => term) };
    const list: Condition = { kind: 'in', column: term.column, not: false, operands: Array.from({ length: 4_000 }, String) };
    const instants = Array.from({ length: 4_000 }, (_, n) => BigInt(n));
    const dates: Condition = { kind: 'in', column: { name: 'Datetime01', kind: 'instant' }, not: false, operands: instants };
    const { text: counting, parameters: ofCounting } = largeCountSql('sqlite', 'visibility', 'visibility', {
      namespaceId,
      condition: {
        kind: 'and',
        conditions: [dates, { kind: 'isNull', column: { name: 'TemporalNamespaceDivision', kind: 'keyword' }, not: false }],
      },
      byStatus: false,
    });
    expect(database.prepare(counting).all(...(ofCounting as SQLInputValue[]))).toEqual([{ count: 0 }]);
    for (const condition of [deep, wide, list, dates]) {
      const { text, parameters } = listSql('sqlite', 'run_id', 'visibility', { namespaceId, condition, after: undefined, max: 10 });
      expect(database.prepare(text).all(...(parameters as SQLInputValue[]))).toEqual([]);
    }
  });
});

describe('for PostgreSQL', () => {
  const keyword: Column = { name: 'Keyword01', kind: 'keyword' };
  const list: Column = { name: 'KeywordList01', kind: 'keywordList' };
  const text: Column = { name: 'Text01', kind: 'text' };
  const runId: Column = { name: 'RunId', kind: 'keyword' };
  const int: Column = { name: 'Int01', kind: 'int' };
  const compare = (column: Column, operand: string | number): Condition => ({ kind: 'compare', column, operator: '=', operand });

  test.each<[string, Condition, string, readonly unknown[]]>([
    ['a keyword', compare(keyword, `'; drop table x; --\0`), '(Keyword01 = $1)', [`'; drop table x; --\uFFFD`]],
    [
      'a prefix',
      { kind: 'startsWith', column: keyword, not: true, prefix: 'ab' },
      'NOT (Keyword01 >= $1 AND Keyword01 < $2)',
      ['ab', 'ac'],
    ],
    ['a list', compare(list, 'a'), '(KeywordList01 IS NOT NULL AND KeywordList01 && ARRAY[$1]::text[])', ['a']],
    [
      'not in a list',
      { kind: 'in', column: list, not: true, operands: ['a', 'b'] },
      '(KeywordList01 IS NULL OR NOT (KeywordList01 && ARRAY[$1, $2]::text[]))',
      ['a', 'b'],
    ],
    ['words', compare(text, 'One, two'), '(Text01 IS NOT NULL AND Text01 && ARRAY[$1, $2]::text[])', ['one', 'two']],
    ['no words', compare(text, '--'), 'FALSE', []],
    ['a run id', compare(runId, namespaceId), '(run_id IN ($1::uuid))', [namespaceId]],
    ['no run id', compare(runId, namespaceId.toUpperCase().replace('1', 'A')), 'FALSE', []],
    ['a fraction', compare(int, 1.5), '(Int01 = $1::numeric)', [1.5]],
  ])('%s', (_, condition, expected, parameters) => {
    const builder = new SqlBuilder('postgres');
    expect(conditionSql(builder, condition)).toBe(expected);
    expect(builder.parameters).toEqual(parameters);
  });
});

describe('the end of a prefix', () => {
  test.each([
    ['a', 'b'],
    ['az', 'a{'],
    ['\u007f', '\u0080'],
    ['a\uD7FF', 'a\uE000'],
    ['\uFFFF', '\u{10000}'],
    ['a\u{10FFFF}', 'b'],
    ['a\u{10FFFF}\u{10FFFF}', 'b'],
    ['😀', '😁'],
    ['\u{10FFFF}', undefined],
    ['', undefined],
  ])('of %j is %j', (prefix, end) => expect(successor(prefix)).toBe(end));

  test('is behind all that begin so, and before all that stand behind them', () => {
    const unit = fc.constantFrom('\0', 'a', '\u007f', '\u0080', '\u07FF', '\uD7FF', '\uE000', '\uFFFF', '\u{10000}', '\u{10FFFF}');
    const text = fc.string({ unit, maxLength: 4 });
    fc.assert(
      fc.property(text, text, (prefix, other) => {
        const end = successor(prefix);
        const isInside = bytesCompare(other, prefix) >= 0 && (end === undefined || bytesCompare(other, end) < 0);
        expect(isInside).toBe(other.startsWith(prefix));
      }),
      { numRuns: 5_000 },
    );
  });

  function bytesCompare(one: string, other: string): number {
    return Buffer.compare(Buffer.from(one), Buffer.from(other));
  }
});

type Cell = readonly [column: string, value: SQLInputValue];

/** As the SQLite database keeps them, as far as conditions see it. */
function databaseOf(rows: readonly VisibilityRow[]): DatabaseSync {
  const database = new DatabaseSync(':memory:');
  const cells = rows.map(cellsOf);
  const attributes = ['Keyword', 'Text', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'].flatMap((kind) => [`${kind}01`, `${kind}06`]);
  const predefined = [
    ...['TemporalChangeVersion', 'TemporalScheduledById', 'TemporalScheduledStartTime'],
    ...['TemporalSchedulePaused', 'TemporalNamespaceDivision'],
  ];
  const columns = new Set([
    'namespace_id',
    'sort_ms',
    ...[...systemColumns.values()].map((column) => columnSql(column)),
    ...attributes,
    ...predefined,
    'Keyword20',
    ...['Datetime01', 'TemporalScheduledStartTime'].map(partColumn),
  ]);
  database.exec(`CREATE TABLE visibility (${[...columns].join(', ')});
    CREATE TABLE visibility_words (namespace_id, slot, word, run_id)`);
  const word = database.prepare('INSERT INTO visibility_words VALUES (?, ?, ?, ?)');
  for (const [index, row] of rows.entries()) {
    const filled = cells[index] ?? [];
    const names = filled.map(([name]) => name).join(', ');
    const insert = database.prepare(`INSERT INTO visibility (${names}) VALUES (${filled.map(() => '?').join(', ')})`);
    insert.run(...filled.map(([, value]) => value));
    for (const [slot, value] of row.slots) {
      const words = Array.isArray(value) ? value.map(storable) : slot.startsWith('Text') ? wordsOf(storable(String(value))) : [];
      for (const one of words) word.run(row.namespaceId, slot, one, row.runId);
    }
  }
  return database;
}

function cellsOf(row: VisibilityRow): readonly Cell[] {
  const text = (value: string): SQLInputValue => (value === '' ? null : value);
  return [
    ['namespace_id', row.namespaceId],
    ['run_id', row.runId],
    ['sort_ms', row.closeTimeMs ?? OPEN_SORT_MS],
    ['workflow_id', row.workflowId],
    ['workflow_type', row.workflowType],
    ['task_queue', row.taskQueue],
    ['start_ms', row.startTimeMs],
    ['execution_ms', row.executionTimeMs],
    ['close_ms', row.closeTimeMs ?? null],
    ['status', row.status],
    ['execution_duration_ms', row.executionDurationMs ?? null],
    ['history_length', row.historyLength ?? null],
    ['history_size_bytes', row.historySizeBytes ?? null],
    ['state_transition_count', row.stateTransitionCount ?? null],
    ['parent_workflow_id', text(row.parentWorkflowId)],
    ['parent_run_id', text(row.parentRunId)],
    ['root_workflow_id', text(row.rootWorkflowId)],
    ['root_run_id', text(row.rootRunId)],
    ...[...row.slots].flatMap(([slot, value]) => cellsOfSlot(slot, value)),
  ];
}

function cellsOfSlot(slot: string, value: NonNullable<ReturnType<VisibilityRow['slots']['get']>>): readonly Cell[] {
  if (typeof value !== 'bigint' || !/^Datetime|StartTime$/.test(slot)) return [[slot, cellOf(slot, value)]];
  const { ms, part } = splitInstant(value);
  return [
    [slot, ms],
    [partColumn(slot), part || null],
  ];
}

function cellOf(slot: string, value: NonNullable<ReturnType<VisibilityRow['slots']['get']>>): SQLInputValue {
  if (Array.isArray(value) || slot.startsWith('Text')) return 1;
  return typeof value === 'boolean' ? Number(value) : (value as string | number | bigint);
}
