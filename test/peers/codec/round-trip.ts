/** What every codec of asks or answers owes. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Reader } from '../../../src/wire/reader.ts';
import { WireError } from '../../../src/wire/wire-error.ts';
import { now, type ByKind } from './arbitrary.ts';

export type CodecUnderTest<Union extends { readonly kind: string }> = {
  readonly encode: (message: Union, nowMs: number) => Uint8Array;
  readonly decode: (bytes: Uint8Array, nowMs: number) => Union;
  readonly byKind: ByKind<Union>;
};

export function describeCodec<Union extends { readonly kind: string }>(
  name: string,
  { encode, decode, byKind }: CodecUnderTest<Union>,
): void {
  const kinds: readonly (readonly [string, fc.Arbitrary<Union>])[] = Object.entries<fc.Arbitrary<Union>>(byKind);

  describe(name, () => {
    test.each(kinds)('%s comes back as it was', (_kind, arbitrary) => {
      fc.assert(
        fc.property(arbitrary, now, (message, nowMs) => {
          expect(decode(encode(message, nowMs), nowMs)).toStrictEqual(message);
        }),
      );
    });

    test.each(kinds)('changed bytes of %s are refused or mean something', (_kind, arbitrary) => {
      fc.assert(
        fc.property(arbitrary, now, changes, (message, nowMs, change) => {
          const changed = change(encode(message, nowMs));
          const read = decoded(() => decode(changed, nowMs));
          if (read !== undefined) expect(decode(encode(read, nowMs), nowMs)).toStrictEqual(read);
        }),
      );
    });

    test('a message of a kind that this version does not know is refused, an unknown field beside a known kind is not', () => {
      const unknown = Uint8Array.of(0xfa, 0x7f, 1, 7);
      expect(() => decode(unknown, 0)).toThrow(WireError);
      expect(() => decode(new Uint8Array(0), 0)).toThrow(WireError);
      const [, arbitrary] = kinds[0] ?? expect.unreachable('it has kinds');
      const message = sample(arbitrary);
      const known = encode(message, 0);
      expect(decode(Buffer.concat([unknown, known, unknown]), 0)).toStrictEqual(message);
    });
  });
}

/** Kind -> its number on the wire. */
export function numbersOf<Union extends { readonly kind: string }>({ encode, byKind }: CodecUnderTest<Union>): Record<string, number> {
  return Object.fromEntries(
    Object.entries<fc.Arbitrary<Union>>(byKind).map(([kind, arbitrary]) => [kind, new Reader(encode(sample(arbitrary), 0)).tag() >>> 3]),
  );
}

/** Always the same one. */
export function sample<T>(arbitrary: fc.Arbitrary<T>): T {
  const [value] = fc.sample(arbitrary, { numRuns: 1, seed: 1 });
  return value ?? expect.unreachable('a sample');
}

/** Undefined: refused, as malformed input is. */
function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

type Change = (bytes: Uint8Array) => Uint8Array;

const byteAt = fc.tuple(fc.nat(), fc.nat(255));
const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.nat().map(
    (at): Change =>
      (bytes) =>
        bytes.subarray(0, at % (bytes.length + 1)),
  ),
  byteAt.map(
    ([at, value]): Change =>
      (bytes) =>
        replaced(bytes, at % bytes.length, 1, value),
  ),
  byteAt.map(
    ([at, value]): Change =>
      (bytes) =>
        replaced(bytes, at % bytes.length, 0, value),
  ),
  fc.nat().map(
    (at): Change =>
      (bytes) =>
        replaced(bytes, at % bytes.length, 1),
  ),
  fc.array(byteAt, { minLength: 2, maxLength: 6 }).map(
    (several): Change =>
      (bytes) =>
        several.reduce((changed, [at, value]) => replaced(changed, at % changed.length, 1, value), bytes),
  ),
);

function replaced(bytes: Uint8Array, at: number, length: number, ...inserted: readonly number[]): Uint8Array {
  return Buffer.concat([bytes.subarray(0, at), Uint8Array.from(inserted), bytes.subarray(at + length)]);
}
