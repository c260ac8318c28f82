/** One field is looked up in a map of them as if all were decoded, in whatever form another encoder writes it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeFields, encodeFields, fieldOf } from '../../src/wire/fields.ts';
import { encodeWith, type Writer } from '../../src/wire/writer.ts';

const name = fc.oneof(
  fc.constantFrom('', 'a', 'é', 'TemporalReportedProblems', 'TemporalReportedProblemz'),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const payload = fc.uint8Array({ maxLength: 6 });

/** As no encoder of ours writes them: parts in any order, twice or not at all, others between them. */
const part = fc.oneof(
  name.map((text) => (w: Writer) => w.stringAlways(10, text)),
  payload.map((bytes) => (w: Writer) => w.bytesAlways(18, bytes)),
  payload.map((bytes) => (w: Writer) => w.bytesAlways(26, bytes)),
);
const entry = fc.array(part, { maxLength: 4 });

test('the last of a name counts; an entry may lack either part', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 6 }), fc.array(name, { maxLength: 3 }), (entries, absent) => {
      const message = encodeWith((w) => {
        for (const parts of entries) {
          const at = w.open(10);
          for (const write of parts) write(w);
          w.close(at);
          w.bytesAlways(18, Uint8Array.of(1));
        }
      }, undefined);
      const decoded = decodeFields(message);
      for (const wanted of [...decoded.keys(), ...absent]) expect(fieldOf(message, wanted)).toEqual(decoded.get(wanted));
    }),
  );
});

test('what the others are is not looked at: no name is read but those of its length', () => {
  const fields = new Map(Array.from({ length: 100 }, (_, nth) => [`attribute-${nth}`, new Uint8Array(40)]));
  const message = encodeFields(fields);
  // Of the first name: it is no UTF-8 any more.
  message[message.indexOf(97)] = 0xff;
  expect(() => decodeFields(message)).toThrow('not valid UTF-8');
  expect(fieldOf(message, 'TemporalReportedProblems')).toBeUndefined();
  expect(fieldOf(message, 'attribute-99')).toEqual(new Uint8Array(40));
});
