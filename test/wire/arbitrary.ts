/** Random messages of the public API, as the objects that protobufjs reflection encodes. */
import fc from 'fast-check';
import protobuf from 'protobufjs';

const depthMax = 4;

/**
 * Durations and timestamps are whole, non-zero milliseconds, and doubles are finite: our types cannot hold more. Everything else that the
 * schema allows may come.
 */
export function arbitraryMessage(type: protobuf.Type, depth = 0): fc.Arbitrary<Record<string, unknown>> {
  if (type.fullName === '.google.protobuf.Duration') return fc.integer({ min: 1, max: 10 ** 12 }).map(secondsAndNanos);
  if (type.fullName === '.google.protobuf.Timestamp') return fc.integer({ min: 1, max: 2 * 10 ** 12 }).map(secondsAndNanos);
  const alone = type.fieldsArray.filter((field) => !isOneof(field));
  const oneofs = type.oneofsArray.filter((oneof) => oneof.fieldsArray.some(isOneof));
  const optional = Object.fromEntries(alone.map((field) => [field.name, arbitraryField(field, depth)]));
  const members = oneofs.map((oneof) =>
    fc.oneof(
      { depthSize: 'small' },
      fc.constant({}),
      ...oneof.fieldsArray.map((field) => arbitraryField(field, depth).map((value) => ({ [field.name]: value }))),
    ),
  );
  return fc
    .tuple(fc.record(optional, { requiredKeys: [] }), ...members)
    .map((parts) => Object.assign({}, ...parts.map((part) => withoutUndefined(part))) as Record<string, unknown>);
}

function arbitraryField(field: protobuf.Field, depth: number): fc.Arbitrary<unknown> {
  const value = arbitraryValue(field, depth);
  if (field instanceof protobuf.MapField) {
    const key = field.keyType === 'string' ? fc.string({ minLength: 1, maxLength: 5 }) : fc.integer({ min: 1, max: 9 }).map(String);
    return fc.dictionary(
      key.filter((text) => text !== '__proto__'),
      value,
      { maxKeys: depth < depthMax ? 3 : 0 },
    );
  }
  if (field.repeated) return fc.array(value, { maxLength: depth < depthMax ? 3 : 0 });
  return value;
}

function arbitraryValue(field: protobuf.Field, depth: number): fc.Arbitrary<unknown> {
  const resolved = field.resolvedType;
  if (resolved instanceof protobuf.Enum) return fc.constantFrom(...Object.values(resolved.values));
  if (resolved instanceof protobuf.Type) return depth < depthMax ? arbitraryMessage(resolved, depth + 1) : fc.constant(undefined);
  switch (field.type) {
    case 'string':
      return fc.oneof(fc.string({ maxLength: 60 }), fc.string({ unit: 'grapheme', maxLength: 60 }), fc.uuid());
    case 'bytes':
      return fc.uint8Array({ maxLength: 90 });
    case 'bool':
      return fc.boolean();
    case 'int32':
      return fc.oneof(fc.integer(), fc.integer({ min: -1, max: 200 }));
    case 'uint32':
      return fc.oneof(fc.nat({ max: 0xffff_ffff }), fc.nat({ max: 200 }));
    case 'int64':
      return fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -1, max: 200 }));
    case 'float':
      return fc.float({ noDefaultInfinity: true, noNaN: true }).filter((value) => !Object.is(value, -0));
    case 'double':
      return fc.double({ noDefaultInfinity: true, noNaN: true }).filter((value) => !Object.is(value, -0));
    default:
      throw new Error(`${field.fullName}: no arbitrary for ${field.type}`);
  }
}

function isOneof(field: protobuf.Field): boolean {
  return field.partOf !== null && field.options?.['proto3_optional'] !== true;
}

function secondsAndNanos(ms: number): Record<string, unknown> {
  return { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 };
}

function withoutUndefined(part: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined));
}
