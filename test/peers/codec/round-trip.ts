/** What every codec of asks or answers owes. A property that is undefined may as well be absent. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { UnionCodec } from '../../../src/peers/codec/union-codec.ts';
import { Reader } from '../../../src/wire/reader.ts';
import { WireError } from '../../../src/wire/wire-error.ts';
import { now, type ByKind } from './arbitrary.ts';

export function describeCodec<Union extends { readonly kind: string }>(
  name: string,
  codec: UnionCodec<Union>,
  byKind: ByKind<Union>,
): void {
  const kinds: readonly (readonly [string, fc.Arbitrary<Union>])[] = Object.entries<fc.Arbitrary<Union>>(byKind);

  describe(name, () => {
    test.each(kinds)('%s comes back as it was', (_kind, arbitrary) => {
      fc.assert(
        fc.property(arbitrary, now, (message, nowMs) => {
          expect(present(codec.decode(codec.encode(message, nowMs), nowMs))).toStrictEqual(present(message));
        }),
      );
    });

    test.each(kinds)('changed bytes of %s are refused or mean something', (_kind, arbitrary) => {
      fc.assert(
        fc.property(arbitrary, now, changes, (message, nowMs, change) => {
          const changed = change(codec.encode(message, nowMs));
          const read = decoded(() => codec.decode(changed, nowMs));
          if (read !== undefined) expect(present(codec.decode(codec.encode(read, nowMs), nowMs))).toStrictEqual(present(read));
        }),
      );
    });

    test('a message of a kind that this version does not know is refused, an unknown field beside a known kind is not', () => {
      const unknown = Uint8Array.of(0xfa, 0x7f, 1, 7);
      expect(() => codec.decode(unknown, 0)).toThrow(WireError);
      expect(() => codec.decode(new Uint8Array(0), 0)).toThrow(WireError);
      const [, arbitrary] = kinds[0] ?? expect.unreachable('it has kinds');
      const message = sample(arbitrary);
      const known = codec.encode(message, 0);
      expect(present(codec.decode(Buffer.concat([unknown, known, unknown]), 0))).toStrictEqual(present(message));
    });
  });
}

/** Without properties that are undefined, at any depth; what is no plain object or list stays what it is. */
function present(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(present);
  if (typeof value !== 'object' || value === null || ![Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null))
    return value;
  return Object.fromEntries(Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[name, present(item)]])));
}

/** Kind -> its number on the wire. */
export function numbersOf<Union extends { readonly kind: string }>(
  codec: UnionCodec<Union>,
  byKind: ByKind<Union>,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries<fc.Arbitrary<Union>>(byKind).map(([kind, arbitrary]) => [
      kind,
      new Reader(codec.encode(sample(arbitrary), 0)).tag() >>> 3,
    ]),
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
