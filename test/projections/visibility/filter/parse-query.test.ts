import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemColumns } from '../../../../src/projections/visibility/columns.ts';
import type { Column, Comparison, Condition } from '../../../../src/filter/condition.ts';
import { parseQuery } from '../../../../src/projections/visibility/filter/parse-query.ts';
import { askedAttributes, askedQueries, askedTypes } from './asked-queries.ts';
import { printedCondition } from './printed-condition.ts';

const column = (name: string): Column => {
  const found = askedAttributes(name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found.column;
};
const noDivision: Condition = { kind: 'isNull', column: column('TemporalNamespaceDivision'), not: false };

function answerTo(query: string): string {
  const parsed = parseQuery(query, askedAttributes);
  return parsed.kind === 'invalid' ? parsed.message : '';
}

/** What the query asks for, without what is added to every one. */
function conditionOf(query: string): Condition | undefined {
  const parsed = parseQuery(query, askedAttributes);
  if (parsed.kind === 'invalid') throw new Error(parsed.message);
  if (parsed.condition?.kind !== 'and') {
    expect(parsed.condition).toEqual(noDivision);
    return undefined;
  }
  const { conditions } = parsed.condition;
  expect(conditions.at(-1)).toEqual(noDivision);
  const [first, ...others] = conditions.slice(0, -1);
  return others.length === 0 ? first : { kind: 'and', conditions: conditions.slice(0, -1) };
}

describe('what a query means', () => {
  const compare = (name: string, operator: Comparison, operand: string | number | bigint | boolean): Condition => ({
    kind: 'compare',
    column: column(name),
    operator,
    operand,
  });
  const never = (name: string): Condition => compare(name, '<', -(2n ** 63n));
  const always = (name: string): Condition => compare(name, '>=', -(2n ** 63n));

  test.each<[string, Condition | undefined]>([
    ['', undefined],
    [`WorkflowId = 'a'`, compare('WorkflowId', '=', 'a')],
    [`WorkflowId <> "a"`, compare('WorkflowId', '!=', 'a')],
    [`WorkflowId = 'it''s \\'it\\'\\n'`, compare('WorkflowId', '=', `it's 'it'\n`)],
    [`WorkflowId = "say ""it"""`, compare('WorkflowId', '=', `say "it"`)],
    ["`with space` = 'a'", { kind: 'compare', column: { name: 'Keyword02', kind: 'keyword' }, operator: '=', operand: 'a' }],
    [`dotted.name = 'a'`, compare('dotted.name', '=', 'a')],
    [`ExecutionStatus = 'Running'`, compare('ExecutionStatus', '=', 1)],
    [
      `ExecutionStatus IN ('WORKFLOW_EXECUTION_STATUS_TIMED_OUT', 2)`,
      { kind: 'in', column: column('ExecutionStatus'), not: false, operands: [7, 2] },
    ],
    [`ExecutionDuration > '1h30m'`, compare('ExecutionDuration', '>', 5_400_000)],
    [`ExecutionDuration > '01:30:00'`, compare('ExecutionDuration', '>', 5_400_000)],
    [`ExecutionDuration > '1.5d'`, compare('ExecutionDuration', '>', 129_600_000)],
    [`ExecutionDuration > 1999999`, compare('ExecutionDuration', '>', 1)],
    [`ExecutionDuration >= 1999999`, compare('ExecutionDuration', '>=', 2)],
    [`ExecutionDuration = '1.5ms'`, never('ExecutionDuration')],
    [`ExecutionDuration NOT IN ('1.5ms')`, always('ExecutionDuration')],
    [`ExecutionDuration IN ('1.5ms', '2ms')`, { kind: 'in', column: column('ExecutionDuration'), not: false, operands: [2] }],
    [`StartTime > '2024-02-29T12:00:00.0015+02:00'`, compare('StartTime', '>', Date.UTC(2024, 1, 29, 10, 0, 0, 1))],
    [`StartTime < '2024-02-29T12:00:00.0015-02:00'`, compare('StartTime', '<', Date.UTC(2024, 1, 29, 14, 0, 0, 2))],
    [`StartTime = '0001-01-01T00:00:00Z'`, compare('StartTime', '=', -62_135_596_800_000)],
    [`StartTime = '9999-12-31T23:59:59.999Z'`, compare('StartTime', '=', 253_402_300_799_999)],
    [`StartTime = 1704067200000000000`, compare('StartTime', '=', 1_704_067_200_000)],
    [`StartTime >= -1`, compare('StartTime', '>=', 0)],
    [`StartTime <= -1`, compare('StartTime', '<=', -1)],
    [`StartTime = 1`, compare('StartTime', '<', -8_640_000_000_000_000)],
    [`AnInt = -9223372036854775808`, compare('AnInt', '=', -(2n ** 63n))],
    [`AnInt = 9223372036854775808`, never('AnInt')],
    [`AnInt < 9223372036854775808`, always('AnInt')],
    [`AnInt > 1e300`, never('AnInt')],
    [`AnInt > -1e300`, always('AnInt')],
    [`AnInt != 1.5`, always('AnInt')],
    [`AnInt < 1.5`, compare('AnInt', '<', 2)],
    [`AnInt > -1.5`, compare('AnInt', '>', -2)],
    [`AnInt BETWEEN 0.5 AND 2.5`, { kind: 'between', column: column('AnInt'), not: false, low: 1, high: 2 }],
    [`AnInt NOT BETWEEN 0.5 AND 0.6`, always('AnInt')],
    [`AnInt BETWEEN -1e300 AND 5`, { kind: 'between', column: column('AnInt'), not: false, low: -(2n ** 63n), high: 5 }],
    [`ADouble = -1.5`, compare('ADouble', '=', -1.5)],
    [`ABool = TRUE`, compare('ABool', '=', true)],
    [`AKeyword NOT STARTS_WITH 'a'`, { kind: 'startsWith', column: column('AKeyword'), not: true, prefix: 'a' }],
    [
      `NOT AKeyword = 'a' AND AnInt = 1 OR NOT AnInt IS NULL`,
      {
        kind: 'or',
        conditions: [
          { kind: 'and', conditions: [{ kind: 'not', condition: compare('AKeyword', '=', 'a') }, compare('AnInt', '=', 1)] },
          { kind: 'not', condition: { kind: 'isNull', column: column('AnInt'), not: false } },
        ],
      },
    ],
    [`TemporalWorkflowId = 'a'`, compare('WorkflowId', '=', 'a')],
    [`ScheduleId = 'a'`, compare('WorkflowId', '=', 'a')],
    [`ChangeVersion = 'a'`, compare('TemporalChangeVersion', '=', 'a')],
  ])('%s', (query, condition) => expect(conditionOf(query)).toEqual(condition));

  test('who names the division of the namespace gets what he asks for', () => {
    const query = `TemporalNamespaceDivision = 'x'`;
    expect(parseQuery(query, askedAttributes)).toEqual({
      kind: 'query',
      condition: compare('TemporalNamespaceDivision', '=', 'x'),
      byStatus: false,
    });
  });

  test('counts are grouped by status', () => {
    expect(parseQuery('group by ExecutionStatus', askedAttributes)).toEqual({ kind: 'query', condition: noDivision, byStatus: true });
  });
});

describe('strangers', () => {
  const comparison = (not = ''): string => `${not}AnInt = 1`;

  test('200 conditions are answered, one more is refused', () => {
    expect(answerTo(Array.from({ length: 200 }, () => comparison()).join(' OR '))).toBe('');
    expect(answerTo(Array.from({ length: 201 }, () => comparison()).join(' OR '))).toBe(
      'invalid query: operation is not supported: more than 200 conditions',
    );
  });

  test('8 KiB are read, one more is not', () => {
    const query = (bytes: number): string => `WorkflowId = '${'ä'.repeat((bytes - 16) / 2)}'`;
    expect(answerTo(query(8_192))).toBe('');
    expect(answerTo(query(8_194))).toBe('invalid query: operation is not supported: more than 8192 bytes');
  });

  test.each([
    '(',
    'NOT ',
    '- ',
    '!',
    '~',
    'a(',
    'a.',
    '``',
    '1 or ',
    'AnInt in (',
    'binary ',
    "'",
    '"',
    '`',
    '/*',
    '--',
    '\\',
    'x',
    '0',
    '(select ',
  ])('8 KiB of %s are refused in words', (piece) =>
    expect(answerTo(piece.repeat(Math.floor(8_192 / piece.length)))).toMatch(/^invalid query: /),
  );

  test.each([`AnInt = -(${'1+'.repeat(4_000)}1)`, `AnInt = ${'1+'.repeat(4_000)}1`, `${'a|'.repeat(4_000)}b`, `f(${'1,'.repeat(4_000)}1)`])(
    'long chains are refused in words as well',
    (query) => expect(answerTo(query)).toMatch(/^invalid query: /),
  );

  test('no text makes it throw', () => {
    const words = fc.constantFrom(...new Set(askedQueries.flatMap((query) => query.match(/'[^']*'|\w+|[^\w\s]/g) ?? [])), '');
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('utf16le')),
      fc.array(words, { maxLength: 30 }).map((list) => list.join(' ')),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseQuery(text, askedAttributes);
        if (parsed.kind === 'invalid') expect(parsed.message).toMatch(/^invalid query: /);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('printed and parsed again', () => {
  const text = fc.oneof(
    fc.string({ maxLength: 10 }),
    fc.string({ unit: 'binary', maxLength: 10 }),
    fc.constantFrom(`'`, `"`, '\\', '\n', '%_'),
  );
  const int = fc.oneof(
    fc.integer(),
    fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map((value) => (isSafe(value) ? Number(value) : value)),
  );
  const date = fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 });
  const instant = fc.bigInt({ min: -62_135_596_800_000_000_000n, max: 253_402_300_799_999_999_999n });
  const isSafe = (value: bigint): boolean => Number.isSafeInteger(Number(value));
  const operandOf = (of: Column): fc.Arbitrary<string | number | bigint | boolean> => {
    switch (of.kind) {
      case 'keyword':
      case 'keywordList':
        return text;
      case 'text':
        return text.filter((value) => value.trim() !== '');
      case 'int':
        if (of.name === 'ExecutionStatus') return fc.integer({ min: 0, max: 8 });
        return of.name === 'ExecutionDuration' ? fc.integer({ min: -1e12, max: 1e12 }) : int;
      case 'double':
        return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value));
      case 'bool':
        return fc.boolean();
      case 'datetime':
        return date;
      case 'instant':
        return instant;
    }
  };
  const columns = [...systemColumns.values(), ...[...askedTypes.keys()].map(column)];
  const term = fc.constantFrom(...columns).chain((of): fc.Arbitrary<Condition> => {
    const operand = operandOf(of);
    const not = fc.boolean();
    const isList = of.kind === 'text' || of.kind === 'keywordList';
    const operator = fc.constantFrom<Comparison>('=', '!=', ...(isList ? [] : (['<', '<=', '>', '>='] as const)));
    const kinds: fc.Arbitrary<Condition>[] = [
      fc.record({ kind: fc.constant('compare'), column: fc.constant(of), operator, operand }),
      fc.record({ kind: fc.constant('isNull'), column: fc.constant(of), not }),
    ];
    if (of.kind !== 'text') {
      const operands = fc.array(operand, { minLength: 1, maxLength: 4 });
      kinds.push(fc.record({ kind: fc.constant('in'), column: fc.constant(of), not, operands }));
    }
    if (of.kind === 'keyword') kinds.push(fc.record({ kind: fc.constant('startsWith'), column: fc.constant(of), not, prefix: text }));
    if (!isList && of.kind !== 'bool') {
      const range = fc.tuple(operand, operand).map(([a, b]) => (a <= b ? [a, b] : [b, a]));
      kinds.push(fc.tuple(range, not).map(([[low = 0, high = 0], negated]) => ({ kind: 'between', column: of, not: negated, low, high })));
    }
    return fc.oneof(...kinds);
  });
  const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 4 },
      term,
      fc.record({ kind: fc.constantFrom('and', 'or'), conditions: fc.array(tie('condition'), { minLength: 2, maxLength: 3 }) }),
      fc.record({ kind: fc.constant('not'), condition: tie('condition') }),
    ),
  }));

  test('is the same', () => {
    fc.assert(
      fc.property(condition, (one) => {
        const query = `(${printedCondition(one)})`;
        const parsed = parseQuery(query, askedAttributes);
        if (parsed.kind === 'invalid' && parsed.message.endsWith('bytes')) return;
        expect(parsed).toEqual({ kind: 'query', condition: withDivision(one), byStatus: false });
      }),
      { numRuns: 1_000 },
    );
  });

  function withDivision(one: Condition): Condition {
    return { kind: 'and', conditions: one.kind === 'and' ? [...one.conditions, noDivision] : [one, noDivision] };
  }
});

describe('a query of schedules', () => {
  const ofSchedules = (query: string) => parseQuery(query, askedAttributes, 'schedules');
  const open: readonly Condition[] = [
    { kind: 'compare', column: column('TemporalNamespaceDivision'), operator: '=', operand: 'TemporalScheduler' },
    { kind: 'compare', column: column('ExecutionStatus'), operator: '=', operand: 1 },
  ];
  const rowId = column('WorkflowId');
  const kept = (id: string): string => `temporal-sys-scheduler:${id}`;

  test.each<[string, readonly Condition[]]>([
    ['', []],
    [`ScheduleId = 'a'`, [{ kind: 'compare', column: rowId, operator: '=', operand: kept('a') }]],
    [`ScheduleId IN ('a', 'b')`, [{ kind: 'in', column: rowId, not: false, operands: [kept('a'), kept('b')] }]],
    [`ScheduleId NOT STARTS_WITH 'a'`, [{ kind: 'startsWith', column: rowId, not: true, prefix: kept('a') }]],
    [
      `NOT (ScheduleId BETWEEN 'a' AND 'b')`,
      [{ kind: 'not', condition: { kind: 'between', column: rowId, not: false, low: kept('a'), high: kept('b') } }],
    ],
    ['TemporalSchedulePaused = true', [{ kind: 'compare', column: column('TemporalSchedulePaused'), operator: '=', operand: true }]],
    [`ScheduleId IS NULL`, [{ kind: 'isNull', column: rowId, not: false }]],
  ])('%s finds open schedules alone', (query, asked) => {
    expect(ofSchedules(query)).toEqual({ kind: 'query', condition: { kind: 'and', conditions: [...open, ...asked] }, byStatus: false });
  });

  test.each([
    [`WorkflowId = 'a'`, 'invalid query filter for schedules: cannot filter on "WorkflowId"'],
    [`TemporalScheduleId = 'a'`, 'invalid query filter for schedules: cannot filter on "TemporalScheduleId"'],
    [`TemporalNamespaceDivision = 'x'`, 'invalid query filter for schedules: cannot filter on "TemporalNamespaceDivision"'],
    ['GROUP BY ExecutionStatus', 'invalid query filter for schedules: cannot filter on "ExecutionStatus"'],
    [
      `ScheduleId = 5`,
      'invalid query: invalid expression: invalid value type for search attribute ScheduleId of type Keyword: 5 (type: int64)',
    ],
    [`ScheduleId = 'a') OR (ScheduleId = 'b'`, 'invalid query: malformed SQL query: syntax error at position 45'],
    ['x y z', `invalid query: malformed SQL query: syntax error at position 31 near 'y'`],
  ])('%s is refused', (query, message) => {
    expect(ofSchedules(query)).toEqual({ kind: 'invalid', message });
  });
});
