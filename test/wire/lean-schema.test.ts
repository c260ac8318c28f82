/**
 * Our lean messages against the public API's own descriptors. A wrong number, type or name here would not fail loudly at run time: a
 * worker would merely not see a field.
 */
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';
import { describe, expect, test } from 'vitest';
import { declaredTypes, loadOurs, loadUpstream, localName, upstreamByLocalName } from './upstream.ts';

const repository = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const leanFiles = readdirSync(join(repository, 'proto', 'perdure', 'lean', 'v1')).map((name) => `perdure/lean/v1/${name}`);
const lean = declaredTypes(loadOurs(repository, leanFiles).lookup('perdure.lean.v1') as protobuf.Namespace);
const upstream = upstreamByLocalName(loadUpstream(), new Set(lean.map(localName)));

const leanMessages = lean.filter((type) => type instanceof protobuf.Type);
const leanEnums = lean.filter((type) => type instanceof protobuf.Enum);

describe('lean messages have the fields of the public API', () => {
  test('there is something to compare', () => {
    expect(leanMessages.length).toBeGreaterThan(190);
    expect(leanEnums.length).toBeGreaterThan(20);
  });

  test.each(leanMessages.map((type) => [localName(type), type] as const))('%s', (name, type) => {
    const original = upstream.get(name);
    if (!(original instanceof protobuf.Type)) throw new Error(`the public API has no message ${name}`);
    const expected = describeFields(original, type);
    expect(describeFields(type, 'lean')).toEqual(onlyWritten.has(name) ? expected.filter((line) => declares(type, line)) : expected);
  });

  test.each(leanEnums.map((type) => [localName(type), type] as const))('%s', (name, type) => {
    const original = upstream.get(name);
    if (!(original instanceof protobuf.Enum)) throw new Error(`the public API has no enumeration ${name}`);
    expect(type.values).toEqual(original.values);
  });
});

/** Never decoded, so what it leaves out cannot be lost. */
const onlyWritten = new Set(['ActivityOptions', 'Link']);

function declares(type: protobuf.Type, line: string): boolean {
  return type.fieldsArray.some((field) => line.startsWith(`${field.id} ${field.name}:`));
}

/**
 * One line for each field. A field of the public API whose lean form is `bytes` is described as opaque, if it is a message; a lean
 * field of type `bytes` stands for either, so the original decides which it has to be.
 */
function describeFields(type: protobuf.Type, comparedWith: 'lean' | protobuf.Type): string[] {
  return type.fieldsArray
    .toSorted((a, b) => a.id - b.id)
    .map(
      (field) =>
        `${field.id} ${field.name}: ${describeField(field, comparedWith === 'lean' ? undefined : comparedWith.fields[field.name])}`,
    );
}

function describeField(field: protobuf.Field, leanField: protobuf.Field | undefined): string {
  const opaque = leanField?.type === 'bytes' && field.resolvedType instanceof protobuf.Type;
  // A map is wire-compatible with a list of entries; the generator has no maps with numbers as keys.
  if (field instanceof protobuf.MapField && field.keyType !== 'string') return 'repeated bytes';
  const type = opaque ? 'bytes' : field.resolvedType ? meaningOf(field.resolvedType) : field.type;
  const oneOf = field.partOf && !isProto3Optional(field) ? `oneof ${field.partOf.name} ` : '';
  if (field instanceof protobuf.MapField) return `${oneOf}map<string, ${type}>`;
  return `${oneOf}${field.repeated ? 'repeated ' : ''}${type}`;
}

/** The local name, unless that stands for another type of the public API. */
function meaningOf(type: protobuf.Type | protobuf.Enum): string {
  const name = localName(type);
  const isOther = !type.fullName.startsWith('.perdure.') && upstream.get(name) !== type && upstream.has(name);
  return isOther ? type.fullName : name;
}

function isProto3Optional(field: protobuf.Field): boolean {
  return field.options?.['proto3_optional'] === true;
}

test('an opaque field without a list or a oneof keeps its presence', () => {
  const lost = leanMessages.flatMap((type) =>
    type.fieldsArray
      .filter((field) => field.type === 'bytes' && !field.repeated && !(field instanceof protobuf.MapField) && !field.partOf)
      .filter((field) => (upstream.get(localName(type)) as protobuf.Type).fields[field.name]?.type !== 'bytes')
      .map((field) => `${localName(type)}.${field.name}`),
  );
  expect(lost).toEqual([]);
});
