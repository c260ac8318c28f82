import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attributeValue } from '../../../src/projections/visibility/attribute-value.ts';
import { columnKinds, queryAttributes } from '../../../src/projections/visibility/columns.ts';
import { parseQuery } from '../../../src/projections/visibility/filter/parse-query.ts';
import type { SlotValue, VisibilityRow } from '../../../src/projections/visibility/row.ts';
import { keysetOf } from '../../support/condition-oracle.ts';
import type { DatabaseUnderTest, Owner } from './database-under-test.ts';
import { uuid, visibilityRow } from './samples.ts';

const attributes = queryAttributes({ types: new Map([['Due', 6]]), slots: new Map([['Due', 'Datetime01']]) });

/** At the ends of the years that a date may have, and of the nanoseconds that int64 has; around 1970; today. */
const seconds = [-62_167_219_200n, -9_223_372_037n, -2n, -1n, 0n, 1n, 1_767_225_600n, 9_223_372_036n, 253_402_300_799n] as const;
const parts = [0n, 1n, 100_000n, 499_999n, 500_000n, 900_000n, 999_999n, 1_000_000n, 1_000_001n, 500_000_000n, 999_999_999n] as const;

const moment = fc.tuple(fc.constantFrom(...seconds), fc.constantFrom(...parts)).map(([second, part]) => second * 1_000_000_000n + part);
const column = fc.constantFrom('Due', 'TemporalScheduledStartTime', 'StartTime');

/** With as few digits as tell it. */
function written(nanoseconds: bigint): string {
  const part = ((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  const second = new Date(Number((nanoseconds - part) / 1_000_000n)).toISOString().slice(0, 19);
  const digits = String(part).padStart(9, '0').replace(/0+$/, '');
  return `${second}${digits === '' ? '' : `.${digits}`}Z`;
}

/** A query about one date, and what it means of one. */
type Asked = { readonly query: string; readonly holds: (date: bigint) => boolean };

const comparisons: Readonly<Record<string, (date: bigint, operand: bigint) => boolean>> = {
  '=': (date, operand) => date === operand,
  '!=': (date, operand) => date !== operand,
  '<': (date, operand) => date < operand,
  '<=': (date, operand) => date <= operand,
  '>': (date, operand) => date > operand,
  '>=': (date, operand) => date >= operand,
};

/** As a text, or as the number of its nanoseconds. */
const operandText = (operand: bigint, asNumber: boolean): string =>
  asNumber && BigInt.asIntN(64, operand) === operand ? String(operand) : `'${written(operand)}'`;

const compared: fc.Arbitrary<(name: string) => Asked> = fc
  .tuple(fc.constantFrom(...Object.keys(comparisons)), moment, fc.boolean())
  .map(([operator, operand, asNumber]) => (name: string) => ({
    query: `${name} ${operator} ${operandText(operand, asNumber)}`,
    holds: (date) => comparisons[operator]?.(date, operand) === true,
  }));
const listedIn: fc.Arbitrary<(name: string) => Asked> = fc
  .tuple(fc.boolean(), fc.array(moment, { minLength: 1, maxLength: 4 }))
  .map(([not, operands]) => (name: string) => ({
    query: `${name} ${not ? 'NOT ' : ''}IN (${operands.map((operand) => operandText(operand, false)).join(', ')})`,
    holds: (date) => operands.includes(date) !== not,
  }));
const between: fc.Arbitrary<(name: string) => Asked> = fc.tuple(fc.boolean(), moment, moment).map(([not, low, high]) => (name: string) => ({
  query: `${name} ${not ? 'NOT ' : ''}BETWEEN '${written(low)}' AND '${written(high)}'`,
  holds: (date) => (low <= date && date <= high) !== not,
}));
const term = fc.tuple(fc.oneof(compared, listedIn, between), column).map(([of, name]) => ({ name, ...of(name) }));
const query = fc.tuple(term, fc.boolean()).map(([{ name, query: text, holds }, isNegated]) => ({
  name,
  text: isNegated ? `NOT (${text})` : text,
  holds: (date: bigint) => holds(date) !== isNegated,
}));
/** By an index of either, or of none. */
const pairs = fc.tuple(query, query, fc.constantFrom('AND', 'OR'));

export function describeExactDates(use: () => DatabaseUnderTest): void {
  describe('dates', () => {
    test('compare to the nanosecond, in each query and on each page', async () => {
      const owner = await use().freshOwner();
      const dates = fc.record({ when: fc.option(moment), scheduled: fc.option(moment), start: moment });
      const cases = fc.record({ dates: fc.array(dates, { maxLength: 20 }), queries: fc.array(pairs, { minLength: 20, maxLength: 20 }) });
      await fc.assert(
        fc.asyncProperty(cases, async ({ dates: all, queries }) => {
          const namespaceId = uuid();
          const rows = all.map(({ when, scheduled, start }) => {
            const slots = [...slotOf('Datetime01', when), ...slotOf('TemporalScheduledStartTime', scheduled)];
            const startTimeMs = Number(start / 1_000_000n);
            const row = visibilityRow({ namespaceId, startTimeMs, slots: new Map(slots) });
            const known = new Map([['StartTime', BigInt(startTimeMs) * 1_000_000n]]);
            if (when !== null) known.set('Due', when);
            if (scheduled !== null) known.set('TemporalScheduledStartTime', scheduled);
            return { row, known };
          });
          expect(
            await owner.database.flush(
              owner.journal,
              owner.fence,
              rows.map(({ row }) => row),
              [],
            ),
          ).toBe('flushed');
          for (const [one, other, how] of queries) {
            for (const text of [one.text, `(${one.text}) ${how} (${other.text})`]) {
              // What is not there is found by neither side.
              const isMet = (known: ReadonlyMap<string, bigint>): boolean => {
                const [first, second] = [one, other].map(({ name, holds }) => {
                  const date = known.get(name);
                  return date !== undefined && holds(date);
                });
                if (text === one.text) return first === true;
                return how === 'AND' ? first === true && second === true : first === true || second === true;
              };
              const expected = rows.filter(({ known }) => isMet(known)).map(({ row }) => row.runId);
              expect([text, await found(owner, namespaceId, text)]).toEqual([text, expected.toSorted()]);
            }
          }
        }),
        { numRuns: 20 },
      );
    });

    test('many of one millisecond are distinguished, and put on pages once each', async () => {
      const owner = await use().freshOwner();
      const { namespaceId } = owner;
      const base = 1_767_225_600_000_000_000n;
      const rows = Array.from({ length: 3_000 }, (_, n) =>
        visibilityRow({ namespaceId, startTimeMs: 1_770_000_000_000 + n, slots: new Map(slotOf('Datetime01', base + BigInt(n) * 300n)) }),
      );
      expect(await owner.database.flush(owner.journal, owner.fence, rows, [])).toBe('flushed');
      const ids = (from: number, to = 3_000): readonly string[] =>
        rows
          .slice(from, to)
          .map(({ runId }) => runId)
          .toSorted();
      expect(await found(owner, namespaceId, `Due = '${written(base + 600n)}'`)).toEqual(ids(2, 3));
      expect(await found(owner, namespaceId, `Due = '${written(base + 601n)}'`)).toEqual([]);
      expect(await found(owner, namespaceId, `Due > '${written(base + 2_990n * 300n)}'`)).toEqual(ids(2_991));
      expect(await found(owner, namespaceId, `Due <= '${written(base + 899_099n)}'`, 700)).toEqual(ids(0, 2_997));
      expect(
        await found(owner, namespaceId, `Due IN ('${written(base)}', '${written(base + 300n)}') OR Due > '2027-01-01T00:00:00Z'`),
      ).toEqual(ids(0, 2));
    });
  });
}

function slotOf(slot: string, date: bigint | null): readonly (readonly [string, SlotValue])[] {
  const kind = columnKinds.get(6);
  if (date === null || kind === undefined) return [];
  const text = JSON.stringify(written(date));
  const value = attributeValue(kind, { encoding: 'json/plain', text, dataBytes: text.length });
  return value === undefined ? [] : [[slot, value]];
}

/** Run ids of all pages, and what Count says of them. */
async function found({ database }: Owner, namespaceId: string, text: string, max = 7): Promise<readonly string[]> {
  const parsed = parseQuery(text, attributes);
  if (parsed.kind === 'invalid') throw new Error(`${text}: ${parsed.message}`);
  const { condition } = parsed;
  const runIds: string[] = [];
  for (let after: Pick<VisibilityRow, 'closeTimeMs' | 'startTimeMs' | 'runId'> | undefined; ;) {
    const { rows } = await database.list({ namespaceId, condition, after: after === undefined ? undefined : keysetOf(after), max });
    runIds.push(...rows.map(({ runId }) => runId));
    if (rows.length < max) break;
    after = rows.at(-1);
  }
  const counts = await database.count({ namespaceId, condition, byStatus: false });
  expect([text, counts]).toEqual([text, [{ status: undefined, count: runIds.length }]]);
  return runIds.toSorted();
}
