/** The values at which types end, and those that nobody sends on purpose. Integers beyond 2^53 are text: protobufjs reads them exactly. */
import type { Prng } from '../simulation/prng.ts';

const int32s = [0, 1, -1, 2, 127, 128, 65_536, 100_000, 2 ** 31 - 1, -(2 ** 31)];
const uint32s = [0, 1, 2 ** 31, 2 ** 32 - 1];
const int64s = [
  0,
  1,
  -1,
  5,
  2 ** 31,
  2 ** 32,
  -(2 ** 32),
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740991',
  '-9007199254740993',
  '1152921504606846976',
  '9223372036854775807',
  '-9223372036854775808',
];
const doubles = [
  0,
  -0,
  1,
  1.5,
  2,
  -1,
  0.999,
  1e-300,
  5e-324,
  2 ** 53 + 2,
  1e18,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  NaN,
  Infinity,
  -Infinity,
];
const enumNumbers = [0, -1, 99, 2 ** 31 - 1, -(2 ** 31)];
const strings = [
  '',
  ' ',
  'x',
  '../..',
  'größe \u{1f4a5}',
  '\ud800',
  '%s%n',
  '__proto__',
  'constructor',
  'toString',
  "'; DROP TABLE",
  '\u0000',
  '@claim',
  '/_sys/q/1',
  '0e8f3f04-5ff4-4c9b-8a58-5d0f0f8a0c55',
  '0E8F3F04-5FF4-4C9B-8A58-5D0F0F8A0C55',
  'not-a-uuid',
  'x'.repeat(1_000),
  'x'.repeat(1_001),
  'é'.repeat(600),
  'x'.repeat(20_000),
];
/** Just over what a blob may have, and what a record may have without it. */
const hugeLengths = [65_536, 262_144, 2 * 1024 * 1024, 2 * 1024 * 1024 + 1, 3_900_000];
const elementCounts = [0, 2, 101, 1_001];
const elementCountHuge = 100_001;
const levels = [2, 20, 79, 80, 81, 99, 100, 101, 300];
const nanos = [0, 1, -1, 999_999, 1_000_000, 999_999_999, 1_000_000_000, -999_999_999, 2 ** 31 - 1, -(2 ** 31)];
const seconds = [...int64s, 3_600, 10, 315_576_000_000, 315_576_000_001, -315_576_000_000, '9007199254740', '9223372036', '9223372037'];
const timestampSeconds = [...int64s, 1_700_000_000, 253_402_300_799, 253_402_300_800, -62_135_596_800, -62_135_596_801];

/** What costs the sender much is drawn seldom. */
const hugeChance = 0.02;
const elementCountHugeChance = 0.06;

export const extremes = {
  scalar(type: string, prng: Prng): unknown {
    switch (type) {
      case 'string':
        return prng.pick(strings);
      case 'bytes':
        return noise(prng, prng.pick([0, 1, 5, 40, 300]));
      case 'bool':
        return prng.chance(0.5);
      case 'double':
      case 'float':
        return prng.pick(doubles);
      case 'int64':
      case 'sint64':
      case 'sfixed64':
        return prng.pick(int64s);
      case 'uint64':
      case 'fixed64':
        return prng.pick([...int64s.filter((value) => !String(value).startsWith('-')), '18446744073709551615']);
      case 'uint32':
      case 'fixed32':
        return prng.pick(uint32s);
      default:
        return prng.pick(int32s);
    }
  },
  /** Seldom, and for types that can be so large. */
  huge(type: string, prng: Prng): unknown {
    if ((type !== 'string' && type !== 'bytes') || !prng.chance(hugeChance)) return undefined;
    const length = prng.pick(hugeLengths);
    return type === 'string' ? 'x'.repeat(length) : new Uint8Array(length);
  },
  enumNumber: (known: readonly number[], prng: Prng): number => prng.pick(prng.chance(0.6) ? known : enumNumbers),
  duration: (prng: Prng): object => ({ seconds: prng.pick(seconds), nanos: prng.pick(nanos) }),
  timestamp: (prng: Prng): object => ({ seconds: prng.pick(timestampSeconds), nanos: prng.pick(nanos) }),
  key: (prng: Prng): string => prng.pick(strings),
  elementCount: (prng: Prng): number => (prng.chance(elementCountHugeChance) ? elementCountHuge : prng.pick(elementCounts)),
  levels: (prng: Prng): number => prng.pick(levels),
};

export function noise(prng: Prng, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => prng.int(0, 255));
}
