import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {} from '../../../src/projections/database-port.ts';
import type { LetterGrouping } from '../../../src/deadletters/letter-commands.ts';
import { letterFields } from '../../../src/deadletters/filter/parse-letter-filter.ts';
import type { LetterRow } from '../../../src/deadletters/letter-records.ts';
import type { Column, Condition, Operand } from '../../../src/filter/condition.ts';
import { letterGroups, lettersThat } from '../../support/letter-oracle.ts';
import { arbitraryTerm, conditionsOf } from '../../projections/visibility/arbitrary.ts';
import { type DatabaseUnderTest, Owner } from './database-under-test.ts';
import { letterRow } from './samples.ts';

const all = { condition: undefined, afterMessageId: -1, max: 100_000, bytesMax: Infinity };

export function describeLetters(use: () => DatabaseUnderTest): void {
  describe('dead letters', () => {
    test('come back whole, whatever they hold', async () => {
      const owner = await use().freshOwner('deadLetters');
      await owner.lettersWritten(hostileLetters);
      expect(await lettersOf(owner)).toEqual(hostileLetters);
    });

    test('are what was written last, and those that are gone are gone', async () => {
      const owner = await use().freshOwner('deadLetters');
      await owner.lettersWritten([letterRow(0), letterRow(1), letterRow(2)]);
      const again = letterRow(1, { generation: 1, state: 'quarantined', offset: 99, errorMessage: '', nextEventId: 7 });
      await owner.lettersWritten([again, letterRow(3)], [0, 77]);
      expect(await lettersOf(owner)).toEqual([again, letterRow(2), letterRow(3)]);
      await owner.lettersWritten([], [1, 2, 3]);
      expect(await lettersOf(owner)).toEqual([]);
      expect((await owner.database.countLetters(owner.journal, undefined)).rows).toBe(0);
    });

    test('random conditions over random dead letters: the dead letters, ids, counts and groups of the oracle', async () => {
      const owner = await use().freshOwner('deadLetters');
      const other = await use().freshOwner('deadLetters');
      let known: readonly LetterRow[] = [];
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(arbitraryLetter, { maxLength: 25, selector: ({ messageId }) => messageId }),
          fc.array(arbitraryCondition, { minLength: 15, maxLength: 15 }),
          fc.integer({ min: 1, max: 8 }),
          async (letters, conditions, max) => {
            await owner.lettersWritten(
              letters,
              known.map(({ messageId }) => messageId).filter((id) => !letters.some(({ messageId }) => messageId === id)),
            );
            // Of another queue: none of them may be seen.
            await other.lettersWritten(letters.map((row) => ({ ...row, fingerprint: 'other', errorMessage: 'other' })));
            known = letters;
            for (const condition of [undefined, ...conditions]) await agrees(owner, letters, condition, max);
          },
        ),
        { numRuns: 20 },
      );
    });

    test('pages stand still while dead letters before them go and others come', async () => {
      const owner = await use().freshOwner('deadLetters');
      await owner.lettersWritten(Array.from({ length: 10 }, (_, id) => letterRow(id)));
      const first = (await owner.database.letters(owner.journal, { ...all, max: 4 })).rows;
      expect([ids(first.letters), first.isLast]).toEqual([[0, 1, 2, 3], false]);
      await owner.lettersWritten([letterRow(10)], [0, 3, 5]);
      const second = (await owner.database.letters(owner.journal, { ...all, max: 4, afterMessageId: 3 })).rows;
      expect([ids(second.letters), second.isLast]).toEqual([[4, 6, 7, 8], false]);
      const third = (await owner.database.letters(owner.journal, { ...all, max: 4, afterMessageId: 8 })).rows;
      expect([ids(third.letters), third.isLast]).toEqual([[9, 10], true]);
    });

    test('a page ends where its texts have no room, behind the first one however large', async () => {
      const owner = await use().freshOwner('deadLetters');
      const large = (id: number): LetterRow => letterRow(id, { errorMessage: 'é'.repeat(1_000) });
      await owner.lettersWritten([large(0), letterRow(1), letterRow(2), large(3), letterRow(4)]);
      const pages: unknown[] = [];
      for (let afterMessageId = -1; pages.length < 9;) {
        const { letters, isLast } = (await owner.database.letters(owner.journal, { ...all, afterMessageId, bytesMax: 1_500 })).rows;
        pages.push(ids(letters));
        if (isLast) break;
        afterMessageId = letters.at(-1)?.messageId ?? -1;
      }
      expect(pages).toEqual([[0], [1, 2], [3], [4]]);
    });

    test('groups: the largest first, no more than asked for, each with an example', async () => {
      const owner = await use().freshOwner('deadLetters');
      const of = (fingerprint: string, from: number, count: number): LetterRow[] =>
        Array.from({ length: count }, (_, index) =>
          letterRow(from + index, {
            fingerprint,
            errorType: `Error of ${fingerprint}`,
            errorMessage: `first of ${from}`,
            taskType: `TYPE_${from}`,
          }),
        );
      await owner.lettersWritten([...of('small', 0, 1), ...of('large', 1, 5), ...of('other', 6, 3), ...of('', 9, 3)]);
      const { rows } = await owner.database.letterGroups(owner.journal, { condition: undefined, by: 'fingerprint', max: 3 });
      const times = (from: number, count: number) => ({
        oldestMs: letterRow(from).deadLetterTimeMs,
        newestMs: letterRow(from + count - 1).deadLetterTimeMs,
      });
      expect(rows).toEqual([
        {
          key: 'large',
          count: 5,
          lowestId: 1,
          ...times(1, 5),
          errorType: 'Error of large',
          errorMessage: 'first of 1',
          taskType: 'TYPE_1',
        },
        {
          key: 'other',
          count: 3,
          lowestId: 6,
          ...times(6, 3),
          errorType: 'Error of other',
          errorMessage: 'first of 6',
          taskType: 'TYPE_6',
        },
        { key: '', count: 3, lowestId: 9, ...times(9, 3), errorType: 'Error of ', errorMessage: 'first of 9', taskType: 'TYPE_9' },
      ]);
    });

    test('a former owner writes none, and every read bears the fence and the offset of what it read', async () => {
      const former = await use().freshOwner('deadLetters');
      const { database, journal } = former;
      const generations = async (): Promise<unknown[]> =>
        [
          await database.letters(journal, all),
          await database.letterIds(journal, all),
          await database.countLetters(journal, undefined),
          await database.countLetters(journal, equals('State', 'keyword', 'open')),
          await database.letterGroups(journal, { condition: undefined, by: 'cause', max: 1 }),
        ].map(({ fence, nextOffset }) => [fence, nextOffset]);
      const five = (fence: number, nextOffset: number): unknown[] => Array.from({ length: 5 }, () => [fence, nextOffset]);
      expect(await generations()).toEqual(five(former.fence, 0));
      await former.lettersWritten([letterRow(0)]);
      const successor = await Owner.restore(use().other, journal);
      expect(await former.writeLetters([letterRow(1)], [0])).toEqual({ kind: 'fenced' });
      expect(await lettersOf(former)).toEqual([letterRow(0)]);
      expect(await generations()).toEqual(five(successor.fence, successor.nextOffset));
      await successor.lettersWritten([letterRow(1)]);
      expect(await generations()).toEqual(five(successor.fence, successor.nextOffset));
    });

    test.each<[string, Partial<LetterRow>]>([
      ['no message id', { messageId: Number.NaN }],
      ['half an offset', { offset: 1.5 }],
      ['a time that is none', { deadLetterTimeMs: Number.POSITIVE_INFINITY }],
      ['a task id of more than 64 bits', { taskId: 2n ** 63n }],
    ])('with %s, behind good ones: all are refused, and the next write is not', async (_name, fields) => {
      const owner = await use().freshOwner('deadLetters');
      await owner.lettersWritten([letterRow(0), letterRow(1)]);
      const position = await owner.database.position(owner.journal);
      const write = owner.writeLetters([letterRow(1, { generation: 1 }), letterRow(2), letterRow(3, fields)], [0]);
      await expect(write).rejects.toMatchObject({ name: 'DatabaseError', code: 'data' });
      expect(await lettersOf(owner)).toEqual([letterRow(0), letterRow(1)]);
      expect(await owner.database.position(owner.journal)).toEqual(position);
      await owner.lettersWritten([letterRow(2)], [0]);
      expect(await lettersOf(owner)).toEqual([letterRow(1), letterRow(2)]);
    });

    test('queues know nothing of each other, nor of other journals of their number', async () => {
      const one = await use().freshOwner('deadLetters');
      const other = await use().freshOwner('deadLetters');
      const matching = await Owner.restore(use().database, { kind: 'matching', partition: one.journal.partition });
      await one.lettersWritten([letterRow(0), letterRow(1, { workflowId: 'shared' })]);
      await other.lettersWritten([letterRow(1, { workflowId: 'shared', node: 'other' })]);
      await matching.matchingWritten({ goneTasks: [0, 1] });
      const shared = equals('WorkflowId', 'keyword', 'shared');
      const found = async (owner: Owner) => (await owner.database.letters(owner.journal, { ...all, condition: shared })).rows.letters;
      expect((await found(one)).map(({ node }) => node)).toEqual(['host:7233']);
      expect((await found(other)).map(({ node }) => node)).toEqual(['other']);
      await other.lettersWritten([], [0, 1]);
      expect(ids(await lettersOf(one))).toEqual([0, 1]);
      const groups = { condition: undefined, by: 'node', max: 10 } as const;
      expect((await one.database.letterGroups(one.journal, groups)).rows.map(({ key, count }) => [key, count])).toEqual([['host:7233', 2]]);
      expect((await other.database.letterGroups(other.journal, groups)).rows).toEqual([]);
    });

    test('many of them: each page, count and group is of all stretches', async () => {
      const owner = await use().freshOwner('deadLetters');
      const letters = Array.from({ length: 12_001 }, (_, id) =>
        letterRow(id * 3, {
          fingerprint: id % 3 === 0 ? 'a' : `b${id % 2}`,
          errorType: id === 12_000 ? 'Last' : 'Some',
          workflowId: `w${id % 4}`,
        }),
      );
      await owner.lettersWritten(letters);
      const last = equals('ErrorType', 'keyword', 'Last');
      for (const condition of [
        undefined,
        last,
        equals('Fingerprint', 'keyword', 'a'),
        equals('WorkflowId', 'keyword', 'w1'),
        within(10_000, 20_000),
      ]) {
        await agrees(owner, letters, condition, 7_000);
      }
    });
  });
}

async function agrees(owner: Owner, letters: readonly LetterRow[], condition: Condition | undefined, max: number): Promise<void> {
  const { database, journal } = owner;
  const told = JSON.stringify(condition, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
  const expected = lettersThat(letters, condition);
  const pages: LetterRow[] = [];
  for (let isLast = false; !isLast;) {
    const afterMessageId = pages.at(-1)?.messageId ?? -1;
    const { rows } = await database.letters(journal, { condition, afterMessageId, max, bytesMax: Infinity });
    if (!rows.isLast) expect(rows.letters.length, told).toBe(max);
    pages.push(...rows.letters);
    isLast = rows.isLast;
  }
  expect(pages, told).toEqual(expected);
  const idPage = (await database.letterIds(journal, { condition, afterMessageId: -1, max })).rows;
  expect(idPage.ids, told).toEqual(expected.slice(0, max).map(({ messageId, generation }) => ({ messageId, generation })));
  if (idPage.isLast) expect(expected.length, told).toBeLessThanOrEqual(max);
  expect((await database.countLetters(journal, condition)).rows, told).toBe(expected.length);
  for (const by of groupings) {
    const grouped = { condition, by, max: 3 };
    expect((await database.letterGroups(journal, grouped)).rows, `${by} ${told}`).toEqual(letterGroups(letters, grouped));
  }
}

const groupings: readonly LetterGrouping[] = [
  ...([
    'fingerprint',
    'cause',
    'disposition',
    'errorType',
    'taskType',
    'namespace',
    'workflowType',
    'node',
    'build',
    'sourceCluster',
  ] as const),
];

async function lettersOf(owner: Owner): Promise<readonly LetterRow[]> {
  return (await owner.database.letters(owner.journal, all)).rows.letters;
}

function ids(letters: readonly LetterRow[]): readonly number[] {
  return letters.map(({ messageId }) => messageId);
}

function equals(name: string, kind: Column['kind'], operand: Operand): Condition {
  return { kind: 'compare', column: { name, kind }, operator: '=', operand };
}

function within(low: number, high: number): Condition {
  return { kind: 'between', column: { name: 'MessageId', kind: 'int' }, not: false, low, high };
}

const hostileTexts = [
  'a\0b',
  '\uD800',
  '\uDC00x\uD800',
  '',
  '\u{10FFFF}',
  "'; DROP TABLE dead_letters; --",
  '\\x00',
  'x'.repeat(2_048),
  '\n\t"',
];

const hostileLetters: readonly LetterRow[] = [
  ...hostileTexts.map((text, index) =>
    letterRow(index, {
      taskType: text,
      namespaceId: text,
      namespace: text,
      workflowId: text,
      runId: text,
      workflowType: text,
      errorType: text,
      errorMessage: text,
      fingerprint: text,
      sourceCluster: text,
      node: text,
      build: text,
    }),
  ),
  letterRow(100, { taskId: 2n ** 53n, firstEventId: -(2n ** 63n), nextEventId: 2n ** 63n - 1n, version: -(2n ** 53n) - 1n }),
  letterRow(101, { taskId: 2 ** 53 - 1, firstEventId: -(2 ** 53) + 1, nextEventId: 0, version: -1 }),
  letterRow(102, {
    taskId: undefined,
    shardId: undefined,
    cause: '',
    disposition: '',
    taskFireTimeMs: -1,
    firstFailureTimeMs: undefined,
    lastFailureTimeMs: undefined,
    firstEventId: undefined,
    isDamaged: true,
  }),
  letterRow(2 ** 53 - 1, {
    ...{
      offset: 2 ** 53 - 1,
      taskId: 1,
      shardId: 2 ** 53 - 1,
      attempts: 2 ** 53 - 1,
      generation: 2 ** 53 - 1,
      deadLetterTimeMs: 2 ** 53 - 1,
    },
    state: 'quarantined',
  }),
];

const texts = ['', 'a', 'ab', 'b', 'é', '\uFF5E', '😀', 'a\0', '\uFFFD', '\u{10FFFF}', 'a\u{10FFFF}', 'a%', 'X'] as const;
const text = fc.constantFrom(...texts);
const natural = fc.constantFrom(0, 1, 2, 3, 70, 2 ** 31, 2 ** 53 - 1);
const whole = fc.constantFrom(0, 1, -1, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n));
const time = fc.constantFrom(0, -1, 1_700_000_000_000, 1_700_000_000_001, 253_402_300_799_999);

const arbitraryLetter: fc.Arbitrary<LetterRow> = fc
  .record({
    messageId: fc.integer({ min: 0, max: 40 }),
    taskId: fc.option(whole, { nil: undefined }),
    shardId: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    taskType: text,
    namespace: text,
    workflowId: text,
    runId: text,
    workflowType: text,
    cause: fc.constantFrom('', 'retries-exhausted', 'permanent-error', 'namespace-deleted'),
    disposition: fc.constantFrom('', 'poison', 'exhausted', 'systemic', 'target-gone', 'operator'),
    errorType: text,
    errorMessage: text,
    fingerprint: text,
    attempts: natural,
    generation: natural,
    state: fc.constantFrom('open', 'quarantined'),
    firstFailureTimeMs: fc.option(time, { nil: undefined }),
    deadLetterTimeMs: time,
    sourceCluster: text,
    node: text,
    build: text,
  })
  .map(({ messageId, ...fields }) => letterRow(messageId, fields));

const askedNumbers = fc.constantFrom<Operand>(0, 1, 2, 3.5, 70, -1, 39, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n));
const askedTexts = fc.constantFrom<Operand>(...texts, 'open', 'quarantined', 'permanent-error');

const asked = { keyword: askedTexts, int: askedNumbers, datetime: time };
const arbitraryCondition: fc.Arbitrary<Condition> = conditionsOf(
  fc.oneof(
    ...[...letterFields.values()].map((column) => {
      const { kind } = column;
      if (kind !== 'keyword' && kind !== 'int' && kind !== 'datetime') throw new Error(`nothing is asked of a ${kind} yet`);
      return arbitraryTerm(column, asked[kind]);
    }),
  ),
);
