import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorPattern, errorPatternLimits } from '../../src/config/error-pattern.ts';

function matches(pattern: string, text: string): boolean {
  const compiled = errorPattern(pattern);
  if (compiled.kind === 'refused') throw new Error(`refused: ${compiled.problem}`);
  return compiled.pattern.matches(text);
}

/** Patterns that Go and JavaScript read alike, over texts of a few characters. */
const { tree: somePattern } = fc.letrec<{ tree: string; atom: string }>((tie) => ({
  atom: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('a', 'b', 'B', '-', '.', '[ab]', '[^a-b]', '[1-3_]', '\\d', '\\W', '\\w', '\\.', '^', '$', '\\b', '\\B', '\\x61'),
    tie('tree').map((inner) => `(${inner})`),
    tie('tree').map((inner) => `(?:${inner})`),
  ),
  tree: fc.oneof(
    { depthSize: 'small' },
    tie('atom'),
    fc.tuple(tie('tree'), tie('tree')).map((parts) => parts.join('')),
    fc.tuple(tie('tree'), tie('tree')).map((parts) => parts.join('|')),
    fc
      .tuple(tie('tree'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,}', '*?', '+?'))
      .map(([inner, repeat]) => `(?:${inner})${repeat}`),
  ),
}));
const someText = fc.string({ unit: fc.constantFrom('a', 'b', 'A', 'B', '1', '7', '_', '-', '.', '😀'), maxLength: 12 });

/** Not within one: V8 finds a `\B` between the halves of a surrogate pair. */
function matchesBetweenCharacters(sticky: RegExp, text: string): boolean {
  const places = [0];
  for (const character of text) places.push((places.at(-1) ?? 0) + character.length);
  return places.some((at) => {
    sticky.lastIndex = at;
    return sticky.test(text);
  });
}

describe('patterns of operators', () => {
  test('mean what they mean elsewhere', () => {
    fc.assert(
      fc.property(somePattern, fc.array(someText, { minLength: 1, maxLength: 8 }), fc.boolean(), (pattern, texts, ignoresCase) => {
        const compiled = errorPattern(ignoresCase ? `(?i)${pattern}` : pattern);
        // Repeats of repeats may be too large.
        fc.pre(compiled.kind === 'pattern');
        if (compiled.kind !== 'pattern') return;
        const reference = new RegExp(pattern, ignoresCase ? 'iuy' : 'uy');
        for (const text of texts) expect([text, compiled.pattern.matches(text)]).toEqual([text, matchesBetweenCharacters(reference, text)]);
      }),
      { numRuns: 400 },
    );
  });

  test.each([
    ['no space left', 'write: no space left on device', true],
    ['(?i)TIMEOUT', 'a timeout', true],
    ['timeout(?i) ERROR', 'timeout error', true],
    ['(?i:a)b', 'AB', false],
    ['a.b', 'a\nb', false],
    ['(?s)a.b', 'a\nb', true],
    ['(?m)^second$', 'first\nsecond\nthird', true],
    ['^second$', 'first\nsecond\nthird', false],
    ['\\Aa{2,3}\\z', 'aaaa', false],
    ['(?P<code>\\d{3})-x{', 'code 503-x{', true],
    ['a{,2}', 'a{,2}', true],
    ['[]a]+$', ']]a', true],
    ['[a-]$', '-', true],
    ['(?i)[^a]', 'A', false],
    ['\\x{1F600}', '😀', true],
    ['\\pL', 'é', true],
    ['[[:upper:]]{2}', 'aB', false],
    ['\\Qa.b\\E', 'acb', false],
    ['', 'anything', true],
  ])('%j over %j: %j', (pattern, text, matched) => {
    expect(matches(pattern, text)).toBe(matched);
  });

  test.each([
    ['(a', 'missing closing ): `(a`'],
    ['a)', 'unexpected ): `a)`'],
    ['[a', 'missing closing ]: `[a`'],
    ['*a', 'missing argument to repetition operator: `*`'],
    ['a**', 'invalid nested repetition operator: `**`'],
    ['a{3,2}', 'invalid repeat count: `{3,2}`'],
    ['a{1001}', 'invalid repeat count: `{1001}`'],
    ['[b-a]', 'invalid character class range: `b-a`'],
    ['[a-\\d]', 'invalid escape sequence: `\\d`'],
    ['(?=a)', 'invalid or unsupported Perl syntax: `(?=`'],
    ['(?<!a)', 'invalid named capture: `(?<!a)`'],
    ['(a)\\1', 'invalid escape sequence: `\\1`'],
    ['a\\', 'trailing backslash at end of expression'],
    ['(((a{10}){10}){10}){10}', 'invalid repeat count: `{10}`'],
    ['((((){1000}){1000}){1000}){1000}', 'expression too large'],
    ['(a{10}){100}', 'it is too large'],
    ['a'.repeat(1_001), 'it is longer than 1000 characters'],
  ])('%j is refused', (pattern, problem) => {
    expect(errorPattern(pattern)).toEqual({ kind: 'refused', problem: expect.stringContaining(problem) });
  });

  test('whatever it is, it is read or refused', () => {
    const pieces = fc.constantFrom(...'a()[]{}*+?|^$\\.-:<>P,1i=pLQE'.split(''), '😀', '\ud83d');
    fc.assert(fc.property(fc.string({ unit: pieces, maxLength: 30 }), (text) => ['pattern', 'refused'].includes(errorPattern(text).kind)));
  });

  test('a pattern that would backtrack for years comes to its end', { timeout: 30_000 }, () => {
    const text = 'a'.repeat(errorPatternLimits.textCharsMax);
    expect(matches('^(a+)+$', `${text.slice(1)}b`)).toBe(false);
    expect(matches('(a|a)*(a|aa)*b', text)).toBe(false);
    expect(matches(`(a?){${100}}b`, text)).toBe(false);
  });

  test('looks at the first 4,096 characters', () => {
    expect(matches('b', `${'a'.repeat(4_095)}b`)).toBe(true);
    expect(matches('b', `${'a'.repeat(4_096)}b`)).toBe(false);
    expect(matches('b', `${'😀'.repeat(4_095)}b`)).toBe(true);
    expect(matches('b', `${'😀'.repeat(4_096)}b`)).toBe(false);
  });
});
