import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { letterTable } from '../../../src/projections/tables/letter-columns.ts';
import { letterFields, parseLetterFilter } from '../../../src/deadletters/filter/parse-letter-filter.ts';
import type { Condition } from '../../../src/filter/condition.ts';
import type { LetterRow } from '../../../src/deadletters/letter-records.ts';
import { letterRow } from '../../contract/database/samples.ts';
import { lettersThat } from '../../support/letter-oracle.ts';

function conditionOf(filter: string): Condition | undefined {
  const parsed = parseLetterFilter(filter);
  if (parsed.kind === 'invalid') throw new Error(parsed.message);
  return parsed.condition;
}

function messageOf(filter: string): string {
  const parsed = parseLetterFilter(filter);
  return parsed.kind === 'invalid' ? parsed.message : '';
}

const letters: readonly LetterRow[] = [
  letterRow(0, { namespace: 'shop', errorType: 'Unavailable', attempts: 70, deadLetterTimeMs: Date.UTC(2026, 0, 31, 12) }),
  letterRow(1, { namespace: 'shop', errorType: 'NotFound', cause: 'namespace-deleted', state: 'quarantined', generation: 5, attempts: 1 }),
  letterRow(2, { namespace: 'bank', workflowId: "o'x", taskId: 2n ** 60n, build: '', shardId: undefined }),
];

describe('which dead letters a filter selects', () => {
  test.each<[string, readonly number[]]>([
    ['', [0, 1, 2]],
    ['  ', [0, 1, 2]],
    [`Namespace = 'shop'`, [0, 1]],
    [`Namespace = 'shop' AND NOT State = 'quarantined';`, [0]],
    [`Cause != "retries-exhausted"`, [1]],
    [`MessageId BETWEEN 1 AND 2`, [1, 2]],
    [`MessageId IN (0, 2)`, [0, 2]],
    [`TaskId = 1152921504606846976`, [2]],
    [`Attempts >= 1.5`, [0, 2]],
    [`Generation > 0 OR WorkflowId = 'o''x'`, [1, 2]],
    [`Build IS NULL`, [2]],
    [`ShardId IS NOT NULL`, [0, 1]],
    [`ErrorMessage STARTS_WITH 'connection 1'`, [1]],
    [`DeadLetterTime < '2026-02-01T00:00:00Z'`, [0]],
    [`FirstFailureTime = 1770000000000000000`, [0, 1, 2]],
  ])('%s', (filter, ids) => {
    expect(lettersThat(letters, conditionOf(filter)).map(({ messageId }) => messageId)).toEqual(ids);
  });

  test('each field of the language can be asked of a dead letter, and stands in a column', () => {
    for (const [name, { kind }] of letterFields) {
      const value = kind === 'keyword' ? `'x'` : kind === 'datetime' ? `'2026-01-31T12:00:00Z'` : '1';
      const condition = conditionOf(`${name} = ${value}`);
      expect(() => lettersThat(letters, condition), name).not.toThrow();
      expect(letterTable.columns[name], name).toBeDefined();
    }
  });
});

const fields = `a field of dead letters (${[...letterFields.keys()].join(', ')})`;
const ofTexts = '=, !=, <, <=, >, >=, IN, NOT IN, BETWEEN, STARTS_WITH or IS NULL';
const ofNumbers = '=, !=, <, <=, >, >=, IN, NOT IN, BETWEEN or IS NULL';

describe('what is wrong with a filter is said with its place, and with what would be right', () => {
  test.each<[string, number, string, string]>([
    [`Namespace = 'shop' AND ErrorType LIKE 'Un%'`, 34, ofTexts, 'LIKE'],
    [`Attempts STARTS_WITH 7`, 10, ofNumbers, 'STARTS_WITH'],
    [`Foo = 1`, 1, fields, 'Foo'],
    [`Namespace = 'a' OR TaskQueue = 'b'`, 20, fields, 'TaskQueue'],
    [`  Namespace = `, 14, 'a name, a value or (', 'the end'],
    [`Namespace`, 1, 'a comparison, not a name alone', 'Namespace'],
    [`Namespace 'shop'`, 11, 'an operator, AND, OR or the end', `'shop'`],
    [`Namespace = shop`, 13, 'a value; texts stand in quotes', 'shop'],
    [`Namespace = 7`, 13, 'a text in quotes', '7'],
    [`Attempts = 'many'`, 12, 'a number', `'many'`],
    [`DeadLetterTime > 'yesterday'`, 18, `a time ('2026-01-31T12:00:00Z', or nanoseconds since 1970)`, `'yesterday'`],
    [`Namespace IN 'a'`, 14, 'a list of values in parentheses', `'a'`],
    [`Attempts BETWEEN 1`, 19, 'AND and the upper bound', 'the end'],
    [`(Namespace = 'a'`, 17, ')', 'the end'],
    [`State = 'open' LIMIT 5`, 16, 'AND, OR or the end', 'LIMIT'],
    [`State = 'open' ORDER BY MessageId`, 16, 'AND, OR or the end', 'ORDER'],
    [`Build IS TRUE`, 7, 'IS NULL or IS NOT NULL', 'IS'],
    [`Build = NULL`, 9, 'a value', 'NULL'],
    [`Build = ('a', 'b')`, 9, 'one value', '('],
    [`Build = (1, 2)`, 10, 'a text in quotes', '1'],
    [`now() > 1`, 1, 'a name', 'now'],
    [`WorkflowId = '😀' AND Nope = 1`, 22, fields, 'Nope'],
    [`WorkflowId = 'open`, 14, 'what begins here to have an end', `'open`],
    [`State = 'open' /* and`, 16, 'what begins here to have an end', '/*'],
  ])('%s', (filter, position, expected, found) => {
    expect(messageOf(filter)).toBe(`invalid filter: at position ${position}: expected ${expected}, found ${found}`);
  });

  test('a filter has at most 8192 characters and 200 conditions', () => {
    const filter = (characters: number): string => `WorkflowId = '${'é'.repeat(characters - 15)}'`;
    expect(messageOf(filter(8_192))).toBe('');
    expect(messageOf(filter(8_193))).toBe('invalid filter: it has 8193 characters, and may have 8192');
    const terms = (count: number): string => Array.from({ length: count }, (_, id) => `TaskId=${id}`).join(' OR ');
    expect(messageOf(terms(200))).toBe('');
    expect(messageOf(terms(201))).toMatch(/^invalid filter: at position \d+: expected at most 200 conditions, found TaskId=200$/);
    expect(messageOf('('.repeat(4_000))).toMatch(/^invalid filter: at position 200: expected fewer than 200 parentheses/);
  });

  test('whatever is written, it is a filter or refused', () => {
    const words = fc.constantFrom(
      ...[
        ...letterFields.keys(),
        "'x'",
        '"',
        "'",
        '1',
        '-',
        '(',
        ')',
        'AND',
        'OR',
        'NOT',
        '=',
        '<',
        'IN',
        'BETWEEN',
        'IS',
        'NULL',
        ',',
        ';',
        '/*',
      ],
      ...[
        'LIMIT',
        'GROUP BY',
        'ORDER BY',
        'HAVING',
        '`',
        '\0',
        '\uD800',
        '😀',
        '.',
        '1e999',
        'x',
        '?',
        'true',
        'STARTS_WITH',
        'select',
        'exists',
      ],
    );
    fc.assert(
      fc.property(fc.array(words, { maxLength: 12 }), fc.constantFrom(' ', ''), (parts, between) => {
        const parsed = parseLetterFilter(parts.join(between));
        if (parsed.kind === 'invalid') expect(parsed.message).toMatch(/^invalid filter: at position \d+: expected .+, found ./su);
        else expect(() => lettersThat(letters, parsed.condition)).not.toThrow();
      }),
      { numRuns: 3_000 },
    );
  });
});
