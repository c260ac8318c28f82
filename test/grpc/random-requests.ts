/**
 * Requests that no SDK sends, from a seed: messages of the right type with hostile values, the same with bytes changed or cut, and plain
 * noise.
 */
import proto from '@temporalio/proto';
import { Enum, MapField, Type, type Field, type Root } from 'protobufjs';

const reflection: unknown = proto;
const root = (reflection as Root).resolveAll();

export type Rpc = { readonly path: string; readonly service: string; readonly method: string; readonly requestType: Type };

export function rpcsOf(serviceName: string): readonly Rpc[] {
  return root.lookupService(serviceName).methodsArray.map((method) => ({
    path: `/${serviceName}/${method.name}`,
    service: serviceName,
    method: method.name,
    requestType: root.lookupType(method.resolvedRequestType?.fullName ?? ''),
  }));
}

/** Uniform in [0, 1), repeatable (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function randomBody(type: Type, random: () => number): Uint8Array {
  const shape = random();
  if (shape < 0.15) return noise(random, Math.floor(random() * 200));
  const valid = type.encode(type.fromObject(randomMessage(type, random, 0))).finish();
  if (shape < 0.6 || valid.length === 0) return valid;
  if (shape < 0.75) return valid.subarray(0, Math.floor(random() * valid.length));
  const changed = Uint8Array.from(valid);
  for (let edits = 1 + Math.floor(random() * 4); edits > 0; edits--)
    changed[Math.floor(random() * changed.length)] = Math.floor(random() * 256);
  return changed;
}

/** False when the bytes are not even one message of that type at the outermost level. */
export function decodes(type: Type, bytes: Uint8Array): boolean {
  try {
    type.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function noise(random: () => number, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => Math.floor(random() * 256));
}

const strings = [
  '',
  ' ',
  'x',
  '../..',
  'größe \u{1f4a5}',
  '%s%n',
  '__proto__',
  'constructor',
  "'; DROP TABLE",
  '\u0000',
  '/_sys/q/1',
  'x'.repeat(1_000),
  'x'.repeat(1_001),
];
const runIds = ['', 'not-a-uuid', '0e8f3f04-5ff4-4c9b-8a58-5d0f0f8a0c55', '0E8F3F04-5FF4-4C9B-8A58-5D0F0F8A0C55'];
const numbers = [0, 1, -1, 2, 3, 127, 128, 65_536, 2 ** 31 - 1, -(2 ** 31)];
const large = [2 ** 32, 2 ** 53 - 1, '9223372036854775807', '-9223372036854775808'];

function randomMessage(type: Type, random: () => number, depth: number): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  const chosen = new Set(type.oneofsArray.map((oneof) => pick(oneof.fieldsArray, random)?.name));
  for (const field of type.fieldsArray) {
    if (field.partOf !== null && field.partOf !== undefined && !chosen.has(field.name)) continue;
    if (random() < (depth === 0 ? 0.3 : 0.5)) continue;
    const value = (): unknown => randomValue(field, random, depth);
    if (field instanceof MapField) message[field.name] = { [pick(strings, random) ?? '']: value() };
    else message[field.name] = field.repeated ? Array.from({ length: Math.floor(random() * 3) }, value) : value();
  }
  return message;
}

function randomValue(field: Field, random: () => number, depth: number): unknown {
  const { resolvedType } = field;
  if (resolvedType instanceof Type) return depth > 6 ? {} : randomMessage(resolvedType, random, depth + 1);
  if (resolvedType instanceof Enum) return pick([...Object.values(resolvedType.values), 99, -1], random);
  switch (field.type) {
    case 'string':
      return randomString(field.name, random);
    case 'bytes':
      return noise(random, Math.floor(random() * 40));
    case 'bool':
      return random() < 0.5;
    case 'double':
    case 'float':
      return pick([0, 1.5, -1, Infinity, NaN], random);
    case 'int64':
    case 'uint64':
      return pick([...numbers, ...large], random);
    default:
      return pick(numbers, random);
  }
}

/** Mostly names that exist, so that requests get further than the first check. */
function randomString(name: string, random: () => number): string {
  if (name === 'namespace' && random() < 0.8) return 'default';
  if (name === 'runId' || name === 'firstExecutionRunId') return pick(runIds, random) ?? '';
  if (name === 'workflowId' && random() < 0.5) return 'bad-input-target';
  return pick(strings, random) ?? '';
}

function pick<T>(values: readonly T[], random: () => number): T | undefined {
  return values[Math.floor(random() * values.length)];
}
