/** The generator's conventions, on a schema that uses all of them; the encoding itself is checked against protobufjs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emitModule } from '../../scripts/generate/emit-module.ts';
import { lowerCamel, readSchema } from '../../scripts/generate/schema.ts';
import { ownLimits, type WireLimits } from '../../src/wire/wire-limits.ts';

const source = `syntax = "proto3";
package perdure.sample.v1;
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";

enum TaskKind { TASK_KIND_UNSPECIFIED = 0; TASK_KIND_TIMER = 3; }
enum Plain { NONE = 0; SOME = 1; }

message Sample {
  message Inner { string name = 1; Sample parent = 2; }
  double double_value = 1; float float_value = 2;
  int32 int32_value = 3; int64 int64_value = 4;
  bool bool_value = 13; string string_value = 14; bytes bytes_value = 15;
  TaskKind kind = 16; Inner inner = 17;
  optional int64 maybe_number = 18; optional string maybe_text = 19; optional bytes maybe_bytes = 20; optional bool maybe_flag = 21;
  repeated int64 numbers = 22; repeated string texts = 23; repeated Inner inners = 24; repeated double doubles = 25; repeated bool flags = 26;
  repeated TaskKind kinds = 29; repeated int32 small_numbers = 30; repeated float floats = 34;
  map<string, string> labels = 40; map<string, Inner> inner_by_name = 41; map<string, int64> number_by_name = 42; map<string, bytes> bytes_by_name = 43;
  oneof choice { string chosen_text = 50; Inner chosen_inner = 51; }
  google.protobuf.Duration retry_timeout = 60; optional google.protobuf.Duration maybe_delay = 61; google.protobuf.Timestamp start_time = 62;
}

message Nothing {}

message Needs { Sample.Inner inner = 1 [(required) = true]; string name = 2; }
`;

type Codec = { encode(message: unknown): Uint8Array; decode(bytes: Uint8Array): unknown; empty(): unknown };

const folder = mkdtempSync(join(tmpdir(), 'perdure-generate-'));
let sample: Codec;
let needs: Pick<Codec, 'encode' | 'decode'>;
let text: string;
let modulePath: string;
const reflected = protobuf.parse(source, new protobuf.Root()).root;
const theirs = reflected.lookupType('perdure.sample.v1.Sample');

beforeAll(async () => {
  const [module] = readSchema([{ path: 'perdure/sample/v1/sample.proto', source }]);
  if (!module) throw new Error('the schema has no module');
  text = emitModule(module);
  modulePath = module.modulePath;
  const file = join(folder, 'sample.ts');
  const wire = new URL('../../src/wire/', import.meta.url).href;
  writeFileSync(file, text.replaceAll(/'\.\.\/\.\.\/([a-z-]+\.ts)'/g, `'${wire}$1'`));
  const loaded: Readonly<Record<string, unknown>> = await import(pathToFileURL(file).href);
  // Untyped because the module did not exist when this file was checked.
  const codec = { encode: loaded['encodeSample'], empty: loaded['emptySample'] } as Codec;
  const decode = loaded['decodeSample'] as (bytes: Uint8Array, limits: WireLimits) => unknown;
  sample = { ...codec, decode: (bytes) => decode(bytes, ownLimits) };
  needs = { encode: loaded['encodeNeeds'], decode: loaded['decodeNeeds'] } as Pick<Codec, 'encode' | 'decode'>;
  for (const type of ['Duration', 'Timestamp']) {
    reflected
      .define('google.protobuf')
      .add(new protobuf.Type(type).add(new protobuf.Field('seconds', 1, 'int64')).add(new protobuf.Field('nanos', 2, 'int32')));
  }
  reflected.resolveAll();
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

test('types follow the conventions', () => {
  expect(modulePath).toBe('sample/sample.ts');
  for (const line of [
    'export const TaskKind = {\n  UNSPECIFIED: 0,\n  TIMER: 3,\n} as const;',
    'export const Plain = {\n  NONE: 0,\n  SOME: 1,\n} as const;',
    'readonly int64Value: number;',
    'readonly kind: number;',
    'readonly inner: SampleInner | undefined;',
    'readonly maybeBytes: Uint8Array | undefined;',
    'readonly inners: readonly SampleInner[];',
    'readonly innerByName: ReadonlyMap<string, SampleInner>;',
    'readonly chosenText: string | undefined;',
    'readonly retryTimeoutMs: number;',
    'readonly maybeDelayMs: number | undefined;',
    'readonly startTimeMs: number;',
    'export type Needs = {\n  readonly inner: SampleInner;\n  readonly name: string;\n};',
  ]) {
    expect(text).toContain(line);
  }
});

test('underscores lift letters as in the public API', () => {
  expect(['workflow_id', 'a_b_c', 'v1_name', 'x_2y', 'already'].map(lowerCamel)).toEqual([
    'workflowId',
    'aBC',
    'v1Name',
    'x_2y',
    'already',
  ]);
});

test('what the types cannot say is refused when the code is generated', () => {
  const generate = (field: string) => () =>
    readSchema([{ path: 'perdure/bad/v1/bad.proto', source: `syntax = "proto3"; package perdure.bad.v1; message Bad { ${field} }` }]);
  expect(generate('repeated google.protobuf.Duration waits = 1;')).toThrow('lists of durations');
  expect(generate('map<int32, string> names = 1;')).toThrow('string keys');
  expect(generate('Unknown field = 1;')).toThrow('unknown type Unknown');
  expect(generate('sint64 delta = 1;')).toThrow('unknown type sint64');
  expect(generate('string name = 1 [(required) = true];')).toThrow('only messages can be required');
});

test('a required message is always there', () => {
  const message = { inner: { name: '', parent: undefined }, name: 'n' };
  expect([...needs.encode(message)]).toEqual([0x0a, 0, 0x12, 1, 110]);
  expect(needs.decode(needs.encode(message))).toStrictEqual(message);
  expect(() => needs.decode(new Uint8Array(0))).toThrow('Needs.inner is missing');
  expect(text).not.toContain('emptyNeeds');
});

const whole = (min: number, max: number): fc.Arbitrary<number> =>
  fc.oneof(fc.integer({ min, max }), fc.constantFrom(0, 1, 127, 128, max, min));
const int32 = whole(-(2 ** 31), 2 ** 31 - 1);
const int64 = whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const float = fc.float();
const string = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string({ maxLength: 50 }));
const bytes = fc.uint8Array({ maxLength: 200 });
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const list = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(value, { maxLength: 40 });
const map = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Map<string, T>> =>
  fc
    .uniqueArray(
      fc.tuple(
        string.filter((key) => key !== '__proto__'),
        value,
      ),
      { maxLength: 4, selector: ([key]) => key },
    )
    .map((entries) => new Map(entries));
const inner = fc.record({ name: string, parent: fc.constant(undefined) }, { noNullPrototype: true });

const message = fc.record(
  {
    doubleValue: fc.double(),
    floatValue: float,
    int32Value: int32,
    int64Value: int64,
    boolValue: fc.boolean(),
    stringValue: string,
    bytesValue: bytes,
    kind: fc.constantFrom(0, 3, 77),
    inner: maybe(inner),
    maybeNumber: maybe(int64),
    maybeText: maybe(string),
    maybeBytes: maybe(bytes),
    maybeFlag: maybe(fc.boolean()),
    numbers: list(int64),
    texts: list(string),
    inners: list(inner),
    doubles: list(fc.double()),
    flags: list(fc.boolean()),
    kinds: list(fc.constantFrom(0, 3, 77)),
    smallNumbers: list(int32),
    floats: list(float),
    labels: map(string),
    innerByName: map(inner),
    numberByName: map(int64),
    bytesByName: map(bytes),
    chosenText: maybe(string),
    chosenInner: fc.constant(undefined),
    retryTimeoutMs: int64.filter((ms) => Math.abs(ms) < 2 ** 52),
    maybeDelayMs: maybe(whole(0, 10 ** 12)),
    startTimeMs: whole(-(10 ** 13), 10 ** 13),
  },
  { noNullPrototype: true },
);

describe('the encoding', () => {
  test('ours reads what ours wrote', () => {
    fc.assert(
      fc.property(message, (value) => {
        expect(sample.decode(sample.encode(value))).toStrictEqual(value);
      }),
      { numRuns: 200 },
    );
  });

  test('protobufjs reads what ours wrote, and the other way round', () => {
    fc.assert(
      fc.property(message, (value) => {
        const read = theirs.decode(sample.encode(value));
        expect(plain(read)).toEqual(plain(theirs.fromObject(asTheirs(value))));
        expect(sample.decode(theirs.encode(read).finish())).toStrictEqual(value);
      }),
      { numRuns: 200 },
    );
  });

  test('lists of numbers that were not packed are read as well', () => {
    const unpacked = [0xb0, 0x01, 5, 0xb0, 0x01, 0x80, 0x01, 0xd0, 0x01, 1];
    expect(sample.decode(Uint8Array.from(unpacked))).toMatchObject({ numbers: [5, 128], flags: [true] });
  });

  test('a map entry may lack its key or its value', () => {
    expect(sample.decode(Uint8Array.from([0xc2, 0x02, 0, 0xca, 0x02, 3, 10, 1, 97]))).toMatchObject({
      labels: new Map([['', '']]),
      innerByName: new Map([['a', { name: '', parent: undefined }]]),
    });
  });
});

describe('lengths', () => {
  test.each([0, 1, 2, 3].flatMap((bytes) => [-3, -2, -1, 0, 1].map((offset) => 2 ** (7 * (bytes || 1)) + offset - bytes)))(
    'a message with a name of %i bytes inside another',
    (length) => {
      const value = {
        ...(sample.empty() as object),
        inner: { name: 'x'.repeat(Math.max(length, 0)), parent: undefined },
        stringValue: 'after',
      };
      expect(sample.decode(sample.encode(value))).toStrictEqual(value);
    },
  );

  test.each(Array.from({ length: 12 }, (_, index) => index + 36))('a string of %i letters of one, two, three and four bytes', (length) => {
    for (const letter of ['a', 'ü', '€', '𝄞']) {
      const value = { ...(sample.empty() as object), texts: [letter.repeat(length), `${'a'.repeat(length - 1)}${letter}`] };
      expect(sample.decode(sample.encode(value))).toStrictEqual(value);
    }
  });
});

describe('time', () => {
  const decodeTimes = (retryTimeout: [number, number], startTime: [number, number]): unknown => {
    const [retrySeconds, retryNanos] = retryTimeout;
    const [startSeconds, startNanos] = startTime;
    return sample.decode(
      theirs
        .encode(
          theirs.fromObject({
            retryTimeout: { seconds: retrySeconds, nanos: retryNanos },
            startTime: { seconds: startSeconds, nanos: startNanos },
          }),
        )
        .finish(),
    );
  };

  test.each([
    { nanos: 1, durationMs: 5001, timestampMs: 5000 },
    { nanos: 999_999, durationMs: 5001, timestampMs: 5000 },
    { nanos: 1_000_000, durationMs: 5001, timestampMs: 5001 },
    { nanos: 1_000_001, durationMs: 5002, timestampMs: 5001 },
    { nanos: 999_999_999, durationMs: 6000, timestampMs: 5999 },
  ])('5 s and $nanos ns', ({ nanos, durationMs, timestampMs }) => {
    expect(decodeTimes([5, nanos], [5, nanos])).toMatchObject({ retryTimeoutMs: durationMs, startTimeMs: timestampMs });
  });

  test('less than nothing stays less than nothing, before 1970 stays before 1970', () => {
    expect(decodeTimes([0, -1], [-1, 999_999_999])).toMatchObject({ retryTimeoutMs: -1, startTimeMs: -1 });
  });

  test('more milliseconds than a number holds: a date is refused by name, a duration is as long as any', () => {
    expect(() => decodeTimes([0, 0], [2 ** 53 - 1, 0])).toThrow(/start_time is outside ±2\^53/);
    expect(decodeTimes([2 ** 53 - 1, 0], [0, 0])).toMatchObject({ retryTimeoutMs: Number.MAX_SAFE_INTEGER });
  });
});

describe('values that the field cannot hold are refused', () => {
  test.each([
    ['int32Value', 2 ** 31],
    ['int32Value', 1.5],
    ['int64Value', 2 ** 53],
    ['int64Value', Number.NaN],
    ['int64Value', 0.5],
    ['retryTimeoutMs', 1.5],
    ['startTimeMs', Number.NaN],
  ])('%s = %d', (property, value) => {
    expect(() => sample.encode({ ...(sample.empty() as object), [property]: value })).toThrow('integer');
  });
});

/** Our message as an object that protobufjs takes. */
function asTheirs(value: object): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [property, field] of Object.entries(value)) {
    if (field === undefined) continue;
    if (!property.endsWith('Ms')) result[property] = field instanceof Map ? Object.fromEntries(field) : field;
    else if (field !== 0 || property === 'maybeDelayMs') {
      const seconds = property === 'startTimeMs' ? Math.floor(Number(field) / 1000) : Math.trunc(Number(field) / 1000);
      result[property.slice(0, -2)] = { seconds, nanos: (Number(field) - seconds * 1000) * 1e6 };
    }
  }
  return result;
}

function plain(read: protobuf.Message): unknown {
  return theirs.toObject(read, { longs: String, bytes: String, defaults: true });
}
