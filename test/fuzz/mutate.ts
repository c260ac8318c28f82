/**
 * Makes a request hostile: one value after another of a message that was fine is put to an extreme of its type, wherever the descriptor
 * says that there may be one; or its bytes are damaged.
 */
import { Enum, MapField, Type, type Field } from 'protobufjs';
import type { Prng } from '../simulation/prng.ts';
import { encodeMessage } from './descriptors.ts';
import { extremes, noise } from './extremes.ts';

/** As protobufjs' `fromObject` takes it. */
export type Plain = Record<string, unknown>;

const depthMax = 8;
const manyElements = 10_000;

/** A value for a field of that name that means something to the server; undefined: any will do. */
export type Names = (field: string, prng: Prng) => string | undefined;

const endsNamespaces: ReadonlySet<string> = new Set(['DeleteNamespace', 'DeprecateNamespace', 'UpdateNamespace']);

/** Nothing goes on in these, and they come and go. */
export function doomedNamespace(prng: Prng): string {
  return `fuzz-made-${prng.int(0, 20)}`;
}

/** A call that may end the namespace that it names gets one of those. */
export function sparing(method: string, names: Names): Names {
  if (!endsNamespaces.has(method)) return names;
  return (field, prng) => (field === 'namespace' ? doomedNamespace(prng) : names(field, prng));
}

export class Mutator {
  readonly #prng: Prng;
  readonly #names: Names;

  constructor(prng: Prng, names: Names) {
    this.#prng = prng;
    this.#names = names;
  }

  /** Changes one value, here or further down. */
  mutate(type: Type, message: Plain, depth = 0): void {
    const prng = this.#prng;
    const fields = type.fieldsArray;
    if (fields.length === 0) return;
    const present = fields.filter((field) => message[field.name] !== undefined);
    const field = present.length > 0 && prng.chance(0.5) ? prng.pick(present) : prng.pick(fields);
    for (const sibling of field.partOf?.fieldsArray ?? []) if (sibling !== field) delete message[sibling.name];
    if (field instanceof MapField) message[field.name] = this.#map(field, message[field.name], depth);
    else if (field.repeated) message[field.name] = this.#list(field, message[field.name], depth);
    else message[field.name] = this.#value(type, field, message[field.name], depth);
  }

  /** A message that has about half of its fields, with any values but huge ones. */
  anyMessage(type: Type, depth = 0): Plain {
    const prng = this.#prng;
    const message: Plain = {};
    if (depth > depthMax) return message;
    const chosen = new Set(type.oneofsArray.map((oneof) => prng.pick(oneof.fieldsArray).name));
    for (const field of type.fieldsArray) {
      if ((field.partOf ?? undefined) !== undefined && !chosen.has(field.name)) continue;
      if (!prng.chance(depth === 0 ? 0.6 : 0.4)) continue;
      if (field instanceof MapField) message[field.name] = { [extremes.key(prng)]: this.#anyValue(field, depth) };
      else if (field.repeated) message[field.name] = Array.from({ length: prng.int(0, 2) }, () => this.#anyValue(field, depth));
      else message[field.name] = this.#anyValue(field, depth);
    }
    return message;
  }

  #map(field: Field, now: unknown, depth: number): Plain {
    const prng = this.#prng;
    const entries: Plain = { ...(now as Plain | undefined) };
    const count = prng.chance(0.1) ? extremes.elementCount(prng) : 1;
    if (count === 1) entries[extremes.key(prng)] = this.#anyValue(field, depth);
    else for (let index = 0; index < count; index++) entries[`k${index}`] = simplest(field);
    return entries;
  }

  #list(field: Field, now: unknown, depth: number): readonly unknown[] {
    const prng = this.#prng;
    const elements = [...((now as readonly unknown[] | undefined) ?? [])];
    if (prng.chance(0.15)) {
      const count = extremes.elementCount(prng);
      const element = elements[0] ?? simplest(field);
      const repeated = count > manyElements && !isSmall(field, element) ? simplest(field) : element;
      return Array.from({ length: count }, () => repeated);
    }
    if (field.resolvedType instanceof Type && elements.length > 0 && prng.chance(0.8)) {
      this.mutate(field.resolvedType, prng.pick(elements) as Plain, depth + 1);
      return elements;
    }
    elements.push(this.#anyValue(field, depth));
    return elements;
  }

  #value(owner: Type, field: Field, now: unknown, depth: number): unknown {
    const prng = this.#prng;
    const { resolvedType } = field;
    if (!(resolvedType instanceof Type)) return extremes.huge(field.type, prng) ?? this.#anyValue(field, depth);
    const wellKnown = timeValue(resolvedType, prng);
    if (wellKnown !== undefined) return wellKnown;
    if (resolvedType === owner && prng.chance(0.5)) return chain(owner, field, (now as Plain | undefined) ?? {}, extremes.levels(prng));
    if (depth > depthMax || prng.chance(0.1)) return {};
    const message = (now as Plain | undefined) ?? (prng.chance(0.5) ? {} : this.anyMessage(resolvedType, depth + 1));
    this.mutate(resolvedType, message, depth + 1);
    return message;
  }

  #anyValue(field: Field, depth: number): unknown {
    const prng = this.#prng;
    const { resolvedType } = field;
    if (resolvedType instanceof Enum) return extremes.enumNumber(Object.values(resolvedType.values), prng);
    if (resolvedType instanceof Type) return timeValue(resolvedType, prng) ?? this.anyMessage(resolvedType, depth + 1);
    const name = field.type === 'string' && prng.chance(0.7) ? this.#names(field.name, prng) : undefined;
    return name ?? extremes.scalar(field.type, prng);
  }
}

/** Cut, edited, or with something behind it that the descriptor does not know. */
export function damaged(bytes: Uint8Array, prng: Prng): Uint8Array {
  switch (prng.int(0, 4)) {
    case 0:
      return noise(prng, prng.int(0, 200));
    case 1:
      return bytes.subarray(0, prng.int(0, bytes.length));
    case 2:
      return concat(bytes, unknownField(prng));
    case 3:
      return concat(bytes, nestedField(prng));
    default: {
      const edited = bytes.slice();
      for (let edits = prng.int(1, 4); edits > 0 && edited.length > 0; edits--) edited[prng.int(0, edited.length - 1)] = prng.int(0, 255);
      return edited;
    }
  }
}

function timeValue(type: Type, prng: Prng): object | undefined {
  if (type.fullName === '.google.protobuf.Duration') return extremes.duration(prng);
  if (type.fullName === '.google.protobuf.Timestamp') return extremes.timestamp(prng);
  return undefined;
}

/** A failure's cause's cause's cause … */
function chain(type: Type, field: Field, innermost: Plain, levels: number): Plain {
  let message = innermost;
  for (let level = 1; level < levels; level++) message = { [field.name]: message };
  return type.fields['message'] === undefined ? message : { message: 'outermost', ...message };
}

/** So many of them still fit into one request. */
function isSmall({ resolvedType }: Field, element: unknown): boolean {
  return resolvedType instanceof Type && encodeMessage(resolvedType, element as Plain).length <= 30;
}

function simplest(field: Field): unknown {
  if (field.resolvedType instanceof Type) return {};
  if (field.resolvedType instanceof Enum) return 1;
  return field.type === 'string' ? 'x' : field.type === 'bytes' ? new Uint8Array(1) : field.type === 'bool' ? true : 1;
}

function concat(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** Field 15 with any wire type, also those that do not exist, and a number that lies about what follows. */
function unknownField(prng: Prng): Uint8Array {
  return concat(Uint8Array.of((15 << 3) | prng.int(0, 7)), noise(prng, prng.int(0, 12)));
}

/** A field of a small number that holds itself, too deep for anybody who reads by recursion. */
function nestedField(prng: Prng): Uint8Array {
  const tag = (prng.int(1, 14) << 3) | 2;
  const parts: number[] = [];
  let length = 0;
  for (let level = prng.pick([50, 101, 1_000, 5_000]); level > 0; level--) {
    const prefix = [tag, ...varint(length)];
    parts.push(...prefix.toReversed());
    length += prefix.length;
  }
  return Uint8Array.from(parts.toReversed());
}

function varint(value: number): readonly number[] {
  const digits: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...digits, rest];
    digits.push((rest % 128) | 128);
  }
}
