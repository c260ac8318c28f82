/** A start and a command that set the same search attribute get the same verdict, each in its own wording. */
import { describe, expect, test } from 'vitest';
import { checkSearchAttributes, withTypes } from '../../src/grpc/validation/search-attributes.ts';
import { defaultHistoryLimits } from '../../src/history/run/history-limits.ts';
import { decodeFields, encodeFields, payloadValue } from '../../src/wire/fields.ts';
import { decodePayload, encodePayload } from '../../src/wire/generated/lean/common.ts';
import { IndexedValueType } from '../../src/wire/generated/lean/enums.ts';
import { ShardUnderTest } from '../history/shard-under-test.ts';
import { namespace } from './stub-ports.ts';

const types = new Map<string, number>(
  Object.entries(IndexedValueType)
    .filter(([name]) => name !== 'UNSPECIFIED')
    .map(([name, type]) => [name, type]),
);
types.set('FUTURE', 99);
const of = { ...namespace('ns'), searchAttributeTypes: types };

/** `encoding` '' = none. */
function payload(text: string, encoding = 'json/plain'): Uint8Array {
  const metadata = new Map(encoding === '' ? [] : [['encoding', Buffer.from(encoding)] as const]);
  return encodePayload({ metadata, data: Buffer.from(text), externalPayloads: [] });
}

function ofStart(fields: Uint8Array): string {
  try {
    checkSearchAttributes(fields, of, defaultHistoryLimits);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

function ofCommand(fields: Uint8Array): string {
  const shard = new ShardUnderTest();
  shard.start();
  const upsert = { type: 'upsertWorkflowSearchAttributes', userMetadata: undefined, attributes: { searchAttributes: fields } } as const;
  const reply = shard.ask(shard.completion(shard.pollWorkflowTask(), [upsert], { searchAttributeTypes: types }));
  return reply?.kind === 'rejected' ? reply.rejection.message : '';
}

const noEncoding = payload('"x"', '');
const deep = `${'['.repeat(900)}1${']'.repeat(900)}`;

describe('the verdict', () => {
  test.each<[string, string, Uint8Array, string | undefined]>([
    ['a keyword', 'KEYWORD', payload('"x"'), undefined],
    ['without an encoding', 'KEYWORD', noEncoding, 'encoding is not set, expected json/plain'],
    ['of another encoding', 'KEYWORD', payload('"x"', 'binary/plain'), 'encoding binary/plain, expected json/plain'],
    ['nothing', 'KEYWORD', payload(''), 'not valid JSON'],
    ['nothing at all', 'KEYWORD', payload('', ''), 'encoding is not set, expected json/plain'],
    ['null by its encoding', 'INT', payload('', 'binary/null'), undefined],
    ['null', 'INT', payload('null'), undefined],
    ['an empty list', 'INT', payload('[]'), undefined],
    ['a list of one', 'INT', payload('[7]'), undefined],
    ['a list of two', 'INT', payload('[7,8]'), '[7 8]'],
    ['a list of one of another type', 'INT', payload('["x"]'), '[x]'],
    ['a null in a list', 'INT', payload('[null]'), '[<nil>]'],
    ['the largest whole number', 'INT', payload('[ 9223372036854775807 ]'), undefined],
    ['a larger one', 'INT', payload('9223372036854775808'), '9.223372036854776e+18'],
    ['a whole number written as a fraction', 'INT', payload('1.0'), '1'],
    ['a whole number written with an exponent', 'INT', payload('1e3'), '1000'],
    ['more than a number holds', 'DOUBLE', payload('1e400'), 'Infinity'],
    ['a fraction', 'INT', payload('1.5'), '1.5'],
    ['a number', 'DOUBLE', payload('1.5'), undefined],
    ['a text', 'BOOL', payload('"true"'), 'true'],
    ['a map', 'TEXT', payload('{"b":1,"a":[null]}'), 'map[a:[<nil>] b:1]'],
    ['a date', 'DATETIME', payload('"2026-01-02T03:04:05.678Z"'), undefined],
    ['a date with an offset', 'DATETIME', payload('"2026-01-02T03:04:05+01:00"'), undefined],
    ['a day', 'DATETIME', payload('"2026-01-02"'), '2026-01-02'],
    ['a word that some clocks read', 'DATETIME', payload('"May 1"'), 'May 1'],
    ['one keyword for a list', 'KEYWORD_LIST', payload('"x"'), 'x'],
    ['keywords', 'KEYWORD_LIST', payload('["x","y"]'), undefined],
    ['a list of other things', 'KEYWORD_LIST', payload('["x",1]'), '[x 1]'],
    ['half a value', 'KEYWORD', payload('"x'), 'not valid JSON'],
    ['lists in lists', 'KEYWORD_LIST', payload(deep), '[[[[[[[[...]]]]]]]]'],
    ['of a type that is not known', 'FUTURE', payload('1'), '1'],
  ])('%s', (_what, name, value, problem) => {
    const fields = encodeFields(new Map([[name, value]]));
    const typeName = { KEYWORD_LIST: 'KeywordList', FUTURE: 'IndexedValueType(99)' }[name] ?? name.charAt(0) + name.slice(1).toLowerCase();
    const text = problem === undefined ? '' : `invalid value for search attribute ${name} of type ${typeName}: ${problem}`;
    expect(ofStart(fields)).toBe(text);
    expect(ofCommand(fields)).toBe(text === '' ? '' : `BadSearchAttributes: ${text}`);
  });

  test.each<[string, ReadonlyMap<string, Uint8Array>, string]>([
    [
      'too many',
      new Map(Array.from({ length: 101 }, (_, at) => [`k${at}`, payload('1')])),
      'number of search attributes 101 exceeds limit 100',
    ],
    [
      'a large value',
      new Map([['KEYWORD', payload(`"${'x'.repeat(2047)}"`)]]),
      'search attribute KEYWORD value size 2049 exceeds size limit 2048',
    ],
    [
      'large in all',
      new Map(Array.from({ length: 21 }, (_, at) => [`k${at}`, payload(`"${'x'.repeat(2000)}"`)])),
      'total size of search attributes 42830 exceeds size limit 40960',
    ],
    ['unknown', new Map([['Nope', payload('1')]]), 'Namespace ns has no mapping defined for search attribute Nope'],
    ['the server’s own', new Map([['RunId', payload('"x"')]]), "RunId attribute can't be set in SearchAttributes"],
  ])('%s', (_what, values, text) => {
    const fields = encodeFields(values);
    expect(ofStart(fields)).toBe(text);
    expect(ofCommand(fields)).toBe(`BadSearchAttributes: ${text}`);
  });
});

describe('types are added to', () => {
  const named = (names: readonly string[]): Uint8Array => encodeFields(new Map(names.map((name) => [name, payload('"x"')])));

  test('what will be set', () => {
    const typed = withTypes(named(['KEYWORD']), of, defaultHistoryLimits)!;
    const value = decodePayload(decodeFields(typed).get('KEYWORD')!);
    expect(Buffer.from(value.metadata.get('type')!).toString()).toBe('Keyword');
  });

  test.each([
    ['an unknown name among them', ['KEYWORD', 'nobody']],
    ['more than may be set', Array.from({ length: 101 }, (_, at) => `name ${at}`)],
  ])('nothing that will be refused, and nothing is read of it: %s', (_, names) => {
    const refused = named(names);
    expect(withTypes(refused, of, defaultHistoryLimits)).toBe(refused);
  });

  test('and which of its name it is, where there was one before; whatever the client says of that counts for nothing', () => {
    const again = { ...of, searchAttributeGenerations: new Map([['KEYWORD', 3]]) };
    const generations = (message: Uint8Array): readonly number[] =>
      [...decodeFields(message).values()].map((value) => payloadValue(value).generation);
    const said = withTypes(named(['KEYWORD', 'TEXT']), again, defaultHistoryLimits)!;
    expect(generations(said)).toEqual([3, 0]);
    const older = withTypes(said, { ...of, searchAttributeGenerations: new Map([['TEXT', 1]]) }, defaultHistoryLimits)!;
    expect(generations(older)).toEqual([0, 1]);
    expect(withTypes(older, { ...of, searchAttributeGenerations: new Map([['TEXT', 1]]) }, defaultHistoryLimits)).toEqual(older);
  });
});
