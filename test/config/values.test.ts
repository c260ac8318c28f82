import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDurationMs, parseDurationMs } from '../../src/config/duration.ts';
import { substitute } from '../../src/config/environment.ts';
import { isHostPort } from '../../src/config/host-port.ts';
import { searchAttributeType } from '../../src/config/search-attributes.ts';
import { editDistance, suggest } from '../../src/config/suggest.ts';

describe('durations', () => {
  test.each([
    ['0', 0],
    ['0s', 0],
    ['1h30m', 5_400_000],
    ['500ms', 500],
    ['720h', 2_592_000_000],
    ['1.5s', 1_500],
    ['.5s', 500],
    ['1.s', 1_000],
    ['1m5s', 65_000],
    ['1m5ms', 60_005],
    ['0.1s0.2s', 300],
    ['1ns', 1],
    ['0.000001ns', 1],
    ['999999ns', 1],
    ['1000001ns', 2],
    ['1µs', 1],
    ['1500us', 2],
    ['2562047h', 9_223_369_200_000],
  ])('%s is %d ms', (text, durationMs) => {
    expect(parseDurationMs(text)).toBe(durationMs);
  });

  test.each(['', '30', '30 days', '1d', '-1s', '+1s', '1h 30m', 's', '.s', '1..5s', '1e3s', 'h1', '3000000h', '1h30', 'NaNs', '١s'])(
    '%j is no duration',
    (text) => {
      expect(parseDurationMs(text)).toBeUndefined();
    },
  );

  const durationsMs = fc.integer({ min: 0, max: 9_223_372_036_854 });

  test('what is formatted is read back', () => {
    fc.assert(
      fc.property(durationsMs, (durationMs) => {
        expect(parseDurationMs(formatDurationMs(durationMs))).toBe(durationMs);
      }),
    );
  });

  test('parts add up, in any order', () => {
    const part = fc.tuple(fc.integer({ min: 0, max: 10_000 }), fc.constantFrom(['ms', 1], ['s', 1_000], ['m', 60_000], ['h', 3_600_000]));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
        const text = parts.map(([amount, [unit]]) => `${amount}${unit}`).join('');
        const sum = parts.reduce((total, [amount, [, unitMs]]) => total + amount * Number(unitMs), 0);
        expect(parseDurationMs(text)).toBe(sum);
      }),
    );
  });

  test('nothing but whole milliseconds comes out, whatever goes in', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.]{0,4}(ns|us|ms|s|m|h|d| ){0,2}[0-9.]{0,3}(ms|s|h)?$/)), (text) => {
        const read = parseDurationMs(text);
        expect(read === undefined || (Number.isSafeInteger(read) && read >= 0)).toBe(true);
      }),
    );
  });

  test('below a millisecond rounds up, never down', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000_000 }), (ns) => {
        expect(parseDurationMs(`${ns}ns`)).toBe(Math.ceil(ns / 1_000_000));
      }),
    );
  });
});

describe('suggestions', () => {
  test.each([
    ['listenAdress', 'listenAddress'],
    ['brokres', 'brokers'],
    ['LEVEL', 'level'],
    ['levle', 'level'],
    ['tsl', 'tls'],
    ['xyz', undefined],
    ['tl', 'tls'],
    ['x', undefined],
  ])('%s means %s', (word, meant) => {
    expect(suggest(word, ['listenAddress', 'brokers', 'level', 'tls'])).toBe(meant);
  });

  test('the nearest wins', () => {
    expect(suggest('formatt', ['formal', 'format'])).toBe('format');
  });

  test('distance is symmetric, zero only for equals, and at most the longer word', () => {
    const word = fc.stringMatching(/^[abc]{0,8}$/);
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b, 100);
        expect(distance).toBe(editDistance(b, a, 100));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
        expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
        expect(editDistance(a, b, 2)).toBe(Math.min(distance, 2));
      }),
    );
  });
});

describe('environment variables in values', () => {
  const env = { HOST: 'kafka', EMPTY: '', NESTED: '${HOST}' };

  test.each([
    ['${HOST}:9092', 'kafka:9092', []],
    ['${NOPE:-other}', 'other', []],
    ['${HOST:-other}', 'kafka', []],
    ['${EMPTY:-other}', 'other', []],
    ['${EMPTY}', '', []],
    ['${NOPE:-}', '', []],
    ['${NOPE:-a:-b}', 'a:-b', []],
    ['${NOPE}-${ALSO}', '-', ['NOPE', 'ALSO']],
    ['$HOST and $$ and ${}', '$HOST and $$ and ${}', []],
    ['${NESTED}', '${HOST}', []],
  ])('%s is %s', (text, expected, missing) => {
    expect(substitute(text, env)).toEqual({ text: expected, missing });
  });
});

test.each([
  ['kafka:9092', true],
  ['10.0.0.1:1', true],
  ['[::1]:9092', true],
  ['[kafka]:9092', false],
  ['::1:9092', false],
  ['kafka', false],
  ['kafka:0', false],
  ['kafka:65536', false],
  [':9092', false],
  ['http://kafka:9092', false],
])('host:port %s: %s', (text, valid) => {
  expect(isHostPort(text)).toBe(valid);
});

test('search attribute types are known in any case', () => {
  expect(['keywordlist', 'KEYWORDLIST', 'Datetime', 'DateTime', 'string'].map(searchAttributeType)).toEqual([
    'KeywordList',
    'KeywordList',
    'Datetime',
    'Datetime',
    undefined,
  ]);
});
