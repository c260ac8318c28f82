import fc from 'fast-check';
import { expect, test } from 'vitest';
import { attributeValue, COLUMN_TEXT_BYTES_MAX, columnText } from '../../../src/projections/visibility/attribute-value.ts';
import type { ColumnKind } from '../../../src/filter/condition.ts';
import { OPEN_SORT_MS, type SlotValue } from '../../../src/projections/visibility/row.ts';

const text = 'text';
const keyword = 'keyword';
const int = 'int';
const double = 'double';
const bool = 'bool';
const datetime = 'instant';
const keywordList = 'keywordList';

function valueOf(type: ColumnKind, json: string, encoding = 'json/plain'): SlotValue | undefined {
  return attributeValue(type, { encoding, text: json, dataBytes: json.length });
}

const nothing = undefined;

function nanoseconds(text: string, more = 0n): bigint {
  return BigInt(Date.parse(text)) * 1_000_000n + more;
}

test.each<readonly [ColumnKind, string, SlotValue | undefined]>([
  [keyword, '"red"', 'red'],
  [keyword, '["red"]', 'red'],
  [keyword, '""', ''],
  [keyword, '["red","blue"]', nothing],
  [keyword, '[]', nothing],
  [keyword, 'null', nothing],
  [keyword, '[null]', nothing],
  [keyword, '', nothing],
  [keyword, '7', nothing],
  [keyword, '{"a":1}', nothing],
  [keyword, '"unfinished', nothing],
  [keyword, '"a\\u0000b"', 'a\ufffdb'],
  [keyword, '"\\ud800"', '\ufffd'],
  [keyword, '"\\udc00x\\ud83d\\ude00"', '\ufffdx😀'],
  [text, '"two words"', 'two words'],
  [text, '["one"]', 'one'],
  [int, '7', 7],
  [int, '[7]', 7],
  [int, '-0', 0],
  [int, '1.0', 1],
  [int, '1.5', nothing],
  [int, '"7"', nothing],
  [int, '9007199254740991', 9_007_199_254_740_991],
  [int, '9007199254740993', 9_007_199_254_740_993n],
  [int, ' [ -9007199254740993 ] ', -9_007_199_254_740_993n],
  [int, '9223372036854775807', 9_223_372_036_854_775_807n],
  [int, '9223372036854775808', nothing],
  [int, '-9223372036854775808', -9_223_372_036_854_775_808n],
  [int, '-9223372036854775809', nothing],
  [int, '1e18', 1_000_000_000_000_000_000n],
  [int, '1e19', nothing],
  [int, '1e400', nothing],
  [int, '9'.repeat(2_000), nothing],
  [double, '1.5', 1.5],
  [double, '[-2]', -2],
  [double, '-0.0', 0],
  [double, '1.7976931348623157e308', Number.MAX_VALUE],
  [double, '1e999', nothing],
  [double, '-1e999', nothing],
  [double, '"NaN"', nothing],
  [bool, 'true', true],
  [bool, '[false]', false],
  [bool, '0', nothing],
  [datetime, '"1970-01-01T00:00:00Z"', 0n],
  [datetime, '["2026-11-22T05:24:48.863Z"]', nanoseconds('2026-11-22T05:24:48.863Z')],
  [datetime, '"2026-11-22T05:24:48.863999999+02:30"', nanoseconds('2026-11-22T02:54:48.863Z', 999_999n)],
  [datetime, '"1969-12-31T23:59:59.9Z"', -100_000_000n],
  [datetime, '"1969-12-31T23:59:59.9999999Z"', -100n],
  [datetime, '"1969-12-31T23:59:59.999999999999Z"', -1n],
  [datetime, '"2024-02-29T00:00:00Z"', nanoseconds('2024-02-29T00:00:00Z')],
  [datetime, '"2023-02-29T00:00:00Z"', nothing],
  [datetime, '"2024-13-01T00:00:00Z"', nothing],
  [datetime, '"2024-00-10T00:00:00Z"', nothing],
  [datetime, '"2024-01-00T00:00:00Z"', nothing],
  [datetime, '"2024-01-01T24:00:00Z"', nothing],
  [datetime, '"2024-01-01T00:00:00+24:00"', nothing],
  [datetime, '"0000-01-01T00:00:00Z"', nanoseconds('0000-01-01T00:00:00Z')],
  [datetime, '"0099-03-01T00:00:00Z"', nanoseconds('0099-03-01T00:00:00Z')],
  [datetime, '"0000-01-01T00:00:00+01:00"', nothing],
  [datetime, '"9999-12-31T23:59:59.999999Z"', BigInt(OPEN_SORT_MS) * 1_000_000n + 999_000n],
  [datetime, '"9999-12-31T23:59:59-01:00"', nothing],
  [datetime, '"2024-01-01"', nothing],
  [datetime, '1700000000', nothing],
  [keywordList, '["a","b","a"]', ['a', 'b']],
  [keywordList, '"a"', ['a']],
  [keywordList, '[""]', ['']],
  [keywordList, '[]', nothing],
  [keywordList, '["a",null]', nothing],
  [keywordList, '["a",["b"]]', nothing],
  [keywordList, '["\\u0000","\\ud800"]', ['\ufffd']],
])('%s: %s', (type, json, value) => {
  expect(valueOf(type, json)).toEqual(value);
});

test('only json/plain is a value', () => {
  for (const encoding of ['', 'binary/null', 'binary/plain', 'json/protobuf']) expect(valueOf(keyword, '"red"', encoding)).toBeUndefined();
});

test('a text that no index takes is cut between characters', () => {
  expect(columnText('x'.repeat(COLUMN_TEXT_BYTES_MAX))).toHaveLength(COLUMN_TEXT_BYTES_MAX);
  expect(columnText('x'.repeat(COLUMN_TEXT_BYTES_MAX + 1))).toBe('x'.repeat(COLUMN_TEXT_BYTES_MAX));
  expect(columnText(`x${'😀'.repeat(600)}`)).toBe(`x${'😀'.repeat(511)}`);
  expect(columnText('\0'.repeat(1_000))).toBe('\ufffd'.repeat(682));
});

test('every date that JavaScript reads in the same form is read alike', () => {
  const part = (max: number, digits: number, min = 0): fc.Arbitrary<string> =>
    fc.integer({ min, max }).map((number) => String(number).padStart(digits, '0'));
  const date = fc.tuple(part(9998, 4, 1), part(12, 2, 1), part(28, 2, 1), part(23, 2), part(59, 2), part(59, 2), part(999, 3));
  const zone = fc.oneof(
    fc.constant('Z'),
    fc.tuple(fc.constantFrom('+', '-'), part(23, 2), part(59, 2)).map(([sign, h, m]) => `${sign}${h}:${m}`),
  );
  fc.assert(
    fc.property(date, zone, ([year, month, day, hour, minute, second, ms], offset) => {
      const written = `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}${offset}`;
      expect(valueOf(datetime, JSON.stringify(written))).toBe(nanoseconds(written));
    }),
  );
});

/** What each database takes in a column of that type. */
function isTaken(type: ColumnKind, value: SlotValue): boolean {
  const isText = (each: unknown): boolean =>
    typeof each === 'string' && each.isWellFormed() && !each.includes('\0') && Buffer.byteLength(each) <= COLUMN_TEXT_BYTES_MAX;
  switch (type) {
    case text:
    case keyword:
      return isText(value);
    case int:
      return typeof value === 'bigint' ? BigInt.asIntN(64, value) === value : Number.isSafeInteger(value) && !Object.is(value, -0);
    case double:
      return Number.isFinite(value) && !Object.is(value, -0);
    case bool:
      return typeof value === 'boolean';
    case datetime:
      return typeof value === 'bigint' && value / 1_000_000n <= BigInt(OPEN_SORT_MS);
    case 'datetime':
      return false;
    case keywordList:
      return Array.isArray(value) && value.length > 0 && value.every(isText) && new Set(value).size === value.length;
  }
}

const midnight = '00:00:00Z';

test('whatever is stored, a value comes of it that every database takes, or none', () => {
  const hostile = fc.oneof(
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: 'binary', maxLength: 3_000, size: 'max' }).map((value) => JSON.stringify(value)),
    fc
      .array(fc.constantFrom('\\u0000', '\\ud800', '\\udfff', 'ü', '\0', '😀', 'x'), { maxLength: 1_500, size: 'max' })
      .map((all) => `"${all.join('')}"`),
    fc.array(fc.constantFrom('"a"', '"\\u0000"', '""', 'null', '1'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
    fc.double().map(String),
    fc.tuple(fc.integer(), fc.integer({ min: -400, max: 400 })).map(([digits, exponent]) => `${digits}e${exponent}`),
    fc
      .tuple(fc.nat(9_999), fc.nat(19), fc.nat(39))
      .map(([y, m, d]) => `"${[y, m, d].map((n, i) => String(n).padStart(i === 0 ? 4 : 2, '0')).join('-')}T${midnight}"`),
    fc.nat(3_000).map((depth) => '['.repeat(depth)),
    fc.nat(3_000).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  );
  const encoding = fc.constantFrom('json/plain', 'json/plain', 'json/plain', '', 'binary/null');
  fc.assert(
    fc.property(fc.constantFrom(text, keyword, int, double, bool, datetime, keywordList), hostile, encoding, (type, json, encodedAs) => {
      const value = valueOf(type, json, encodedAs);
      if (value !== undefined) expect([value, isTaken(type, value)]).toEqual([value, true]);
    }),
    { numRuns: 500 },
  );
});
