import { describe, expect, test } from 'vitest';
import { differenceOf } from './asks-through-codecs.ts';

class Instance {
  readonly name = 'x';
}

describe('what does not arrive as it was sent is named', () => {
  test.each<[string, unknown, unknown, string]>([
    ['a number', { at: { ms: 1 } }, { at: { ms: 2 } }, 'ask.at.ms: number 1, then number 2'],
    ['what is lost', { retentionMs: 5 }, {}, 'ask.retentionMs: number 5, then undefined undefined'],
    ['what appears', {}, { links: [] }, 'ask.links: undefined undefined, then Array'],
    ['empty bytes and none', { input: undefined }, { input: Uint8Array.of() }, 'ask.input: undefined undefined, then Uint8Array'],
    ['bytes', { links: [Uint8Array.of(1)] }, { links: [Uint8Array.of(2)] }, 'ask.links[0]: other bytes'],
    ['an element', [1, 2], [1], 'ask: 2 elements, then 1'],
    ['an entry of a map', { map: new Map([['a', 1]]) }, { map: new Map([['a', 2]]) }, 'ask.map[0][1]: number 1, then number 2'],
    ['an instance, equal or not', { x: new Instance() }, { x: { name: 'x' } }, 'ask.x: Instance, then Object'],
    ['NaN', { jitter: Number.NaN }, { jitter: 0 }, 'ask.jitter: number NaN, then number 0'],
  ])('%s', (_, sent, received, difference) => {
    expect(differenceOf(sent, received, 'ask')).toBe(difference);
  });

  test('nothing else is', () => {
    const sent = { kind: 'x', bytes: Buffer.from([1]), absent: undefined, map: new Map([['a', { n: 1 }]]), list: [{ ok: true }] };
    const received = { kind: 'x', bytes: Uint8Array.of(1), map: new Map([['a', { n: 1 }]]), list: [{ ok: true, also: undefined }] };
    expect(differenceOf(sent, received, 'ask')).toBeUndefined();
  });
});

describe('by a clock that is ahead', () => {
  test('a moment arrives as the same time from now, none as none, and a fact as it was', () => {
    const sent = { deadlineMs: 1_000, task: { holdUntilMs: 0 }, startTimeMs: 7 };
    expect(differenceOf(sent, { ...sent, deadlineMs: 1_050 }, 'ask', 50)).toBeUndefined();
  });

  test('a moment that travelled as it stood is named', () => {
    expect(differenceOf({ task: { holdUntilMs: 9 } }, { task: { holdUntilMs: 9 } }, 'ask', 50)).toBe(
      'ask.task.holdUntilMs: number 59, then number 9',
    );
  });
});
