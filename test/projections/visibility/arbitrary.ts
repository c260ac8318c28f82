/**
 * Random visibility rows and conditions over few values, so that conditions meet rows. Conditions are values: any database
 * evaluates them, and what stands for them in a query can be written from them.
 */
import fc from 'fast-check';
import type { Column, Comparison, Condition, Operand } from '../../../src/filter/condition.ts';
import { OPEN_SORT_MS, type SlotValue, type VisibilityRow } from '../../../src/projections/visibility/row.ts';

const slotColumns: readonly Column[] = [
  { name: 'Keyword01', kind: 'keyword' },
  { name: 'Keyword20', kind: 'keyword' },
  { name: 'Text01', kind: 'text' },
  { name: 'Text06', kind: 'text' },
  { name: 'Int01', kind: 'int' },
  { name: 'Int06', kind: 'int' },
  { name: 'Double01', kind: 'double' },
  { name: 'Bool01', kind: 'bool' },
  { name: 'Datetime01', kind: 'instant' },
  { name: 'KeywordList01', kind: 'keywordList' },
  { name: 'KeywordList06', kind: 'keywordList' },
  { name: 'TemporalChangeVersion', kind: 'keywordList' },
  { name: 'TemporalScheduledById', kind: 'keyword' },
  { name: 'TemporalScheduledStartTime', kind: 'instant' },
  { name: 'TemporalSchedulePaused', kind: 'bool' },
  { name: 'TemporalNamespaceDivision', kind: 'keyword' },
];

const systemColumns: readonly Column[] = [
  { name: 'WorkflowId', kind: 'keyword' },
  { name: 'RunId', kind: 'keyword' },
  { name: 'WorkflowType', kind: 'keyword' },
  { name: 'TaskQueue', kind: 'keyword' },
  { name: 'ExecutionStatus', kind: 'int' },
  { name: 'StartTime', kind: 'datetime' },
  { name: 'ExecutionTime', kind: 'datetime' },
  { name: 'CloseTime', kind: 'datetime' },
  { name: 'ExecutionDuration', kind: 'int' },
  { name: 'HistoryLength', kind: 'int' },
  { name: 'HistorySizeBytes', kind: 'int' },
  { name: 'StateTransitionCount', kind: 'int' },
  { name: 'ParentWorkflowId', kind: 'keyword' },
  { name: 'ParentRunId', kind: 'keyword' },
  { name: 'RootWorkflowId', kind: 'keyword' },
  { name: 'RootRunId', kind: 'keyword' },
];

/**
 * The values that are drawn. What a client can decide on any server is a part of all: no run ids, no times but of attributes.
 */
export type Vocabulary = {
  readonly columns: readonly Column[];
  readonly keywords: readonly string[];
  readonly texts: readonly string[];
  readonly askedTexts: readonly string[];
  readonly ints: readonly (number | bigint)[];
  readonly askedInts: readonly (number | bigint)[];
  readonly times: readonly number[];
  readonly instants: readonly bigint[];
};

/** Orders by UTF-8, UTF-16 and locale differ among these; some mean something to LIKE, JSON or SQL. */
const keywords = [
  ...[
    'a',
    'ab',
    'abc',
    'B',
    'b',
    'Z',
    'é',
    'ß',
    'ss',
    '',
    ' ',
    'a%',
    'a_',
    'a\\',
    "o'x",
    '"q"',
    '{a}',
    '[1]',
    'null',
    '😀',
    '\uFF5E',
    '\uFFFD',
  ],
  ...['a,b', '♡', '\u007f', '\u{10FFFF}', 'a\u{10FFFF}', 'a\nb'],
];
const texts = [
  ...['hello', 'Hello World', 'world, hello!', 'foo-bar', 'foo', 'BAR', 'Überraschung', 'uberraschung', '注文 済', '済', '...', ''],
  ...["o'clock", 'a.b@c.example', '12 34', 'Σίσυφος', 'σισυφοσ'],
];
const numbers = [0, 1, -1, 2, 3, 1000, 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1];
const beyondNumbers = [2n ** 53n + 1n, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)];
const doubles = [0, 0.5, -1.5, 1, 2, 1e300, -1e300, 5e-324, 0.1];
const times = [0, -1, 1, 1_700_000_000_000, 1_700_000_000_001, 1_700_000_100_000, 253_402_300_799_999, -62_135_596_800_000];

/** Neighbours below a millisecond, before 1970 too, and the ends of the years that a date may have. */
const instants = [
  ...[0n, 1n, -1n, 100_000n, 999_999n, 1_000_000n, 1_000_001n, -999_999n, -1_000_000n, -1_000_001n],
  ...[1_700_000_000_000_000_000n, 1_700_000_000_000_000_001n, 1_700_000_000_000_999_999n, 1_700_000_000_001_000_000n],
  ...[253_402_300_799_999_999_999n, 253_402_300_799_999_000_000n, -62_167_219_200_000_000_000n, -62_167_219_199_999_999_999n],
];

const all: Vocabulary = {
  columns: [...systemColumns, ...slotColumns],
  keywords,
  texts,
  askedTexts: texts.filter((text) => /[\p{L}\p{N}]/u.test(text)),
  ints: [...numbers, ...beyondNumbers],
  askedInts: [...numbers, ...beyondNumbers, 0.5, -0.5, 1000.25],
  times,
  instants,
};

/**
 * What can be asked of any server: columns that a client fills, and values of which Temporal's development server has no opinion of its own.
 * (There items of lists and the beginnings of keywords are compared in any case, a text's `foo-bar` is a phrase, and a date of whole seconds
 * equals none, not even itself.)
 */
export const asked: Vocabulary = {
  ...all,
  columns: [
    ...systemColumns.filter(({ name }) =>
      ['WorkflowId', 'WorkflowType', 'ExecutionStatus', 'CloseTime', 'ParentWorkflowId'].includes(name),
    ),
    ...slotColumns.filter(({ name }) => /^(Keyword|Text|Int|Double|Bool|Datetime|KeywordList)01$/.test(name)),
  ],
  keywords: ['a', 'ab', 'abc', 'b', 'c', 'é', '注', '\uFF5E', '😀', "o'x", '12'],
  texts: ['hello', 'Hello World', 'world, hello!', 'foo', 'BAR foo', 'Überraschung', '注文 済', '12 34', 'uberraschung'],
  askedTexts: ['hello', 'WORLD', 'foo', 'bar hello', 'überraschung', '済', '34', 'none'],
  askedInts: numbers,
  ints: numbers,
  times: [-1, 1, 1_700_000_000_001, 1_700_000_000_999, 4_000_000_000_001],
  instants: [-1_000_000n, 1_000_000n, 1_700_000_000_001_000_000n, 1_700_000_000_999_000_000n, 4_000_000_000_001_000_000n],
};

/** In the order of their text, which is the order of their bytes. */
const runIdOf = (serial: number): string => `${serial.toString(16).padStart(8, '0')}-0000-7000-8000-000000000000`;

function slotValues(words: Vocabulary): Readonly<Record<Column['kind'], fc.Arbitrary<SlotValue>>> {
  const keyword = fc.constantFrom(...words.keywords);
  return {
    keyword,
    text: fc.constantFrom(...words.texts),
    int: fc.constantFrom(...words.ints),
    double: fc.constantFrom(...doubles),
    bool: fc.boolean(),
    datetime: fc.constantFrom(...words.times),
    instant: fc.constantFrom(...words.instants),
    keywordList: fc.uniqueArray(keyword, { minLength: 1, maxLength: 4 }),
  };
}

export function arbitrarySlots(words: Vocabulary = all): fc.Arbitrary<ReadonlyMap<string, SlotValue>> {
  const values = slotValues(words);
  const slots = words.columns.filter((column) => slotColumns.includes(column));
  return fc
    .tuple(
      ...slots.map(({ name, kind }) =>
        fc.option(
          values[kind].map((value) => [name, value] as const),
          { nil: undefined },
        ),
      ),
    )
    .map((entries) => new Map(entries.filter((entry) => entry !== undefined)));
}

/** `runId`s are of this set alone: give each row another prefix where rows of several sets meet. */
export function arbitraryRows(namespaceId: string, maxLength: number): fc.Arbitrary<readonly VisibilityRow[]> {
  return fc.uniqueArray(arbitraryRow(namespaceId), { maxLength, selector: ({ runId }) => runId });
}

function arbitraryRow(namespaceId: string): fc.Arbitrary<VisibilityRow> {
  const keyword = fc.constantFrom(...keywords);
  const count = fc.constantFrom(...numbers.filter((number) => number >= 0));
  const closed = fc.record({
    status: fc.integer({ min: 2, max: 7 }),
    closeTimeMs: fc.constantFrom(...times.filter((time) => time < OPEN_SORT_MS)),
    executionDurationMs: count,
    historyLength: count,
    historySizeBytes: count,
    stateTransitionCount: count,
  });
  const open = fc.constant({
    status: 1,
    closeTimeMs: undefined,
    executionDurationMs: undefined,
    historyLength: undefined,
    historySizeBytes: undefined,
    stateTransitionCount: undefined,
  });
  const runId = fc.integer({ min: 1, max: 2 ** 31 }).map(runIdOf);
  return fc
    .record({
      runId,
      state: fc.oneof(open, closed),
      workflowId: keyword,
      workflowType: keyword,
      taskQueue: keyword,
      startTimeMs: fc.constantFrom(...times),
      executionTimeMs: fc.constantFrom(...times),
      parentWorkflowId: keyword,
      parentRunId: fc.constantFrom('', runIdOf(1), runIdOf(2)),
      rootWorkflowId: keyword,
      rootRunId: fc.constantFrom('', runIdOf(1), runIdOf(2)),
      isRoot: fc.boolean(),
      shard: fc.integer({ min: 1, max: 16 }),
      slots: arbitrarySlots(),
    })
    .map(({ state, isRoot, ...row }) => ({
      ...row,
      ...state,
      ...(isRoot ? { rootWorkflowId: row.workflowId, rootRunId: row.runId } : {}),
      namespaceId,
      memo: undefined,
      searchAttributes: undefined,
      version: 1,
    }));
}

/** `rows`: run ids that exist, to ask for them. */
export function arbitraryCondition(rows: readonly VisibilityRow[], words: Vocabulary = all): fc.Arbitrary<Condition> {
  return conditionsOf(fc.oneof(...words.columns.map((column) => arbitraryTerm(column, operandFor(column, rows, words)))));
}

/** Terms, and what AND, OR and NOT make of them. */
export function conditionsOf(term: fc.Arbitrary<Condition>): fc.Arbitrary<Condition> {
  return fc.letrec<{ condition: Condition }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'condition' },
      { weight: 3, arbitrary: term },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('not' as const), condition: tie('condition') }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constantFrom('and' as const, 'or' as const),
          conditions: fc.array(tie('condition'), { minLength: 1, maxLength: 4 }),
        }),
      },
    ),
  })).condition;
}

function operandFor(column: Column, rows: readonly VisibilityRow[], words: Vocabulary): fc.Arbitrary<Operand> {
  if (column.name.endsWith('RunId')) {
    return fc.constantFrom(...rows.map(({ runId }) => runId), runIdOf(1), runIdOf(2), 'no uuid', '0', '');
  }
  if (column.name === 'ExecutionStatus') return fc.integer({ min: 1, max: 7 });
  switch (column.kind) {
    case 'keyword':
    case 'keywordList':
      return fc.constantFrom(...words.keywords);
    case 'text':
      return fc.constantFrom(...words.askedTexts);
    case 'int':
      return fc.constantFrom(...words.askedInts);
    case 'double':
      return fc.constantFrom(...doubles);
    case 'bool':
      return fc.boolean();
    case 'datetime':
      return fc.constantFrom(...words.times);
    case 'instant':
      return fc.constantFrom(...words.instants);
  }
}

const equality = ['=', '!='] as const;
const comparisons = ['=', '!=', '<', '<=', '>', '>='] as const;

export function arbitraryTerm(column: Column, operand: fc.Arbitrary<Operand>): fc.Arbitrary<Condition> {
  const compare = (operators: readonly Comparison[]): fc.Arbitrary<Condition> =>
    fc.record({ kind: fc.constant('compare' as const), column: fc.constant(column), operator: fc.constantFrom(...operators), operand });
  const isIn = fc.record({
    kind: fc.constant('in' as const),
    column: fc.constant(column),
    not: fc.boolean(),
    operands: fc.array(operand, { minLength: 1, maxLength: 4 }),
  });
  const between = fc.record({
    kind: fc.constant('between' as const),
    column: fc.constant(column),
    not: fc.boolean(),
    low: operand,
    high: operand,
  });
  const startsWith = fc.record({
    kind: fc.constant('startsWith' as const),
    column: fc.constant(column),
    not: fc.boolean(),
    prefix: operand.map(String),
  });
  const isNull = fc.record({ kind: fc.constant('isNull' as const), column: fc.constant(column), not: fc.boolean() });
  switch (column.kind) {
    case 'keyword':
      return fc.oneof(compare(comparisons), isIn, between, startsWith, isNull);
    case 'keywordList':
      return fc.oneof(compare(equality), isIn, isNull);
    case 'text':
      return fc.oneof(compare(equality), isNull);
    case 'bool':
      return fc.oneof(compare(equality), isIn, isNull);
    case 'int':
    case 'double':
    case 'datetime':
    case 'instant':
      return fc.oneof(compare(comparisons), isIn, between, isNull);
  }
}
