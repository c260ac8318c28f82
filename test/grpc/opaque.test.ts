import proto from '@temporalio/proto';
import fc from 'fast-check';
import type { Root, Type } from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { opaqueKinds } from '../../scripts/generate/hot-messages.ts';
import { checkOpaque, type OpaqueKind } from '../../src/grpc/validation/opaque.ts';
import { invalidArgument } from '../../src/grpc/errors/status-error.ts';
import { arbitraryMessage } from '../wire/arbitrary.ts';

const reflection: unknown = proto;
const root = (reflection as Root).resolveAll();
const cases = Object.entries(opaqueKinds).flatMap(([kind, names]) => names.map((name): [string, OpaqueKind] => [name, kind as OpaqueKind]));

function typeOf(name: string): Type {
  return root.lookupType(name);
}

describe.each(cases)('%s', (name, kind) => {
  const type = typeOf(name);

  test('every well-formed one passes', () => {
    fc.assert(
      fc.property(arbitraryMessage(type), (message) => checkOpaque(type.encode(type.fromObject(message)).finish(), kind)),
      { numRuns: 100 },
    );
  });

  test('what passes, a client can read', () => {
    fc.assert(
      fc.property(
        arbitraryMessage(type),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 3 }),
        fc.nat(),
        (message, edits, cut) => {
          const bytes = type.encode(type.fromObject(message)).finish();
          for (const [at, byte] of edits) if (bytes.length > 0) bytes[at % bytes.length] = byte;
          const mutilated = bytes.subarray(0, bytes.length - (cut % 3));
          if (passes(mutilated, kind)) expect(() => type.decode(mutilated)).not.toThrow();
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

function passes(bytes: Uint8Array, kind: OpaqueKind): boolean {
  try {
    checkOpaque(bytes, kind);
    return true;
  } catch {
    return false;
  }
}

test.each<[string, number[], OpaqueKind]>([
  ['field 1 needs 5 bytes, 1 are left', [10, 5, 1], 'payloads'],
  ['field 1 has a wrong wire type', [8, 1], 'payloads'],
  ['field number 0', [2, 0], 'payloads'],
  ['wire type 3 of field 1 is not valid here', [11, 12], 'payloads'],
  ['a number is cut off or longer than 64 bits', [10, 0x80], 'payloads'],
  ['string field 1 is not valid UTF-8', [10, 1, 0xff], 'failure'],
  ['field 2 is cut off', [0x15, 0, 0], 'payloads'],
])('%s', (reason, bytes, kind) => {
  expect(() => checkOpaque(Uint8Array.from(bytes), kind)).toThrow(`grpc: error unmarshalling request: ${reason}`);
});

test('a failure may be nested 80 levels deep and no deeper', () => {
  checkOpaque(Uint8Array.from(nested(80)), 'failure');
  expect(() => checkOpaque(Uint8Array.from(nested(81)), 'failure')).toThrow(invalidArgument('failure is nested deeper than 80 levels'));
});

test('unknown fields pass', () => {
  checkOpaque(Uint8Array.from([0xf8, 0x3f, 1, 0xfa, 0x3f, 1, 7]), 'payloads');
});

/** A failure whose causes lie that deep. */
function nested(levels: number): number[] {
  let bytes = Buffer.alloc(0);
  for (let level = 1; level < levels; level++) {
    const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
    bytes = Buffer.concat([Buffer.from([0x22, ...length]), bytes]);
  }
  return [...bytes];
}
