import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { storable, wordsOf } from '../../../src/projections/visibility/text.ts';

describe('words of a text', () => {
  test.each([
    ['Hello, WORLD!', ['hello', 'world']],
    ['foo-bar foo_bar a.b@c.example', ['foo', 'bar', 'a', 'b', 'c', 'example']],
    ['again and again', ['again', 'and']],
    ['Überraschung ångström e\u0301tude', ['uberraschung', 'angstrom', 'etude']],
    ['注文 済 한국어', ['注文', '済', '한국어']],
    ['12 ½ x² 3rd', ['12', '½', 'x²', '3rd']],
    ['Σίσυφος', ['σισυφοσ']],
    ['... 😀 \0', []],
    ['half \uD83D of a pair', ['half', 'of', 'a', 'pair']],
    ['', []],
  ])('%j: %j', (text, words) => expect(wordsOf(text)).toEqual(words));

  test('are those of the tokenizer with which the development server indexes', () => {
    const db = new DatabaseSync(':memory:');
    db.exec(`CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = "unicode61 remove_diacritics 2")`);
    db.exec(`CREATE VIRTUAL TABLE words USING fts5vocab (texts, 'row')`);
    const insert = db.prepare('INSERT INTO texts VALUES (?)');
    const words = db.prepare('SELECT term FROM words');
    const part = fc.constantFrom(...'aZ09ßéÅñçøЖя注文済한 \t\n.,;:-_/\\\'"()[]{}@#$%&*+=<>|~^`’–…★😀½²Ⅷ'.split(/(?:)/u));
    fc.assert(
      fc.property(fc.string({ unit: part, maxLength: 30 }), (text) => {
        db.exec('DELETE FROM texts');
        insert.run(text);
        const terms = words.all().map(({ term }) => String(term));
        expect(wordsOf(text).toSorted()).toEqual(terms.toSorted());
      }),
      { numRuns: 1000 },
    );
    db.close();
  });
});

test.each([
  ['plain 注文 😀', 'plain 注文 😀'],
  ['a\0b', 'a\uFFFDb'],
  ['\uD83D', '\uFFFD'],
  ['x\uDE00\uD83Dy', 'x\uFFFD\uFFFDy'],
])('storable: %j is kept as %j', (text, kept) => {
  expect(storable(text)).toBe(kept);
  expect(storable(kept)).toBe(kept);
  expect(Buffer.from(kept).toString()).toBe(kept);
});
