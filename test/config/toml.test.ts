import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseToml, TomlError, type TomlValue } from '../../src/config/toml.ts';

function plain(value: TomlValue): unknown {
  if (value instanceof Map)
    return Object.fromEntries([...(value as ReadonlyMap<string, TomlValue>)].map(([key, each]) => [key, plain(each)]));
  return Array.isArray(value) ? (value as readonly TomlValue[]).map(plain) : value;
}
const read = (text: string): unknown => plain(parseToml(text));

describe('a file', () => {
  test('has tables, dotted and quoted keys, and comments', () => {
    const text =
      '# profiles\r\na.b = "x" # here too\n[profile.default]\n"full address" = \'y\'\n[ profile . "prod eu" ] # of Europe\non=true\noff = false\n';
    expect(read(text)).toEqual({ a: { b: 'x' }, profile: { default: { 'full address': 'y' }, 'prod eu': { on: true, off: false } } });
  });

  test.each([
    [String.raw`"a\tb\"\\\u00fc\U0001F600"`, 'a\tb"\\ü😀'],
    [String.raw`'C:\temp\n'`, String.raw`C:\temp\n`],
    ['"""\n-----BEGIN\nMII\n-----END\n"""', '-----BEGIN\nMII\n-----END\n'],
    ['"""one \\\n   line"""', 'one line'],
    ["'''\nit's ''so'''''", "it's ''so''"],
    ['[ "a", # first\n "b",\n]', ['a', 'b']],
    ['{ a = "x", b.c = [true] }', { a: 'x', b: { c: [true] } }],
    ['1_000', '1_000'],
    ['-1.5e3', '-1.5e3'],
    ['1979-05-27 07:32:00Z', '1979-05-27 07:32:00Z'],
  ])('has the value %s', (text, value) => {
    expect(read(`v = ${text}\nw = true`)).toEqual({ v: value, w: true });
  });

  test('has lists of tables', () => {
    expect(read('[[a]]\nb = "1"\n[[a]]\nb = "2"\n[a.c]\nd = "3"')).toEqual({ a: [{ b: '1' }, { b: '2', c: { d: '3' } }] });
  });

  test('may name what every object has', () => {
    expect(parseToml('[__proto__]\nconstructor = "x"').get('__proto__')).toEqual(new Map([['constructor', 'x']]));
  });
});

describe('what is wrong is told with its line', () => {
  test.each([
    ['a = "x"\nb = "y', 2, 'a string without its closing "'],
    ['a = "x" b = "y"', 1, 'expected the end of the line'],
    ['a = "x"\n\na = "y"', 3, 'a is here already'],
    ['[a]\n[b]\n[a]', 3, 'a is here already'],
    ['a = "x"\n[a.b]', 2, 'a is no table'],
    ['[a', 1, 'expected ]'],
    ['[[a]', 1, 'expected ]]'],
    ['= 1', 1, 'expected a key'],
    ['a 1', 1, 'expected ='],
    ['a =', 1, 'expected a value'],
    ['a = [1 2]', 1, 'expected , or ]'],
    ['a = {b = 1', 1, 'expected , or }'],
    [String.raw`a = "\q"`, 1, String.raw`unknown escape: \q`],
    [String.raw`a = "\ud800"`, 1, String.raw`no character: \ud800`],
    [`a = ${'['.repeat(10_000)}`, 1, 'too many lists and tables inside each other'],
  ])('%j', (text, line, message) => {
    expect(() => parseToml(text)).toThrow(expect.objectContaining({ line, message: expect.stringContaining(message) }));
  });

  test('whatever the text, it is read or refused', () => {
    const part = fc.constantFrom('[', ']', '"', "'", '"""', '\n', '=', '.', ',', '{', '}', '#', '\\', 'a', '1', ' ');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        try {
          parseToml(parts.join(''));
        } catch (error) {
          expect(error).toBeInstanceOf(TomlError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
