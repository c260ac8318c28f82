/**
 * Messages that the server passes on without looking into them still have to be messages: one malformed payload in a stored event would
 * make the whole history unreadable for every worker and client, for ever. This walks the bytes once and copies nothing.
 *
 * A known field of a wrong wire type is refused as well: decoders disagree about it, some skip it, some fail.
 */
import { isUtf8 } from 'node:buffer';
import { fieldCount } from '../../wire/fields.ts';
import { type OpaqueField, type OpaqueShape, opaqueShapes } from '../../wire/generated/opaque-shapes.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { EdgeLimits } from './names.ts';

export type OpaqueKind = keyof typeof opaqueShapes;

/** Readers of histories take 100 levels (prost's limit); event and answer put five around what a client sends, and the core more. */
const depthMax = 80;

/** `kind` also names it in errors. */
export function checkOpaque(bytes: Uint8Array | undefined, kind: OpaqueKind): void {
  if (bytes === undefined || bytes.length === 0) return;
  walked = kind;
  walk(bytes, 0, bytes.length, opaqueShapes[kind], 1);
}

export function checkBlob(bytes: Uint8Array | undefined, kind: OpaqueKind, { blobBytesMax }: EdgeLimits): void {
  if (bytes === undefined) return;
  if (bytes.length > blobBytesMax) throw invalidArgument('Blob data size exceeds limit.');
  checkOpaque(bytes, kind);
}

export function checkMemo(bytes: Uint8Array | undefined, { memoBytesMax, memoKeysMax }: EdgeLimits): void {
  if (bytes === undefined) return;
  if (bytes.length > memoBytesMax) throw invalidArgument('Memo size exceeds limit.');
  checkOpaque(bytes, 'fields');
  const count = fieldCount(bytes);
  if (count > memoKeysMax) throw invalidArgument(`Memo has ${count} keys, more than the limit of ${memoKeysMax}.`);
}

let walked: OpaqueKind = 'payloads';

/** What `varint` read last: it answers where the number ended, and this saves an object for the pair. */
let value = 0;

function walk(bytes: Uint8Array, start: number, end: number, shape: OpaqueShape, depth: number): void {
  if (depth > depthMax) throw invalidArgument(`${walked} is nested deeper than ${depthMax} levels`);
  let at = start;
  while (at < end) {
    const tagAt = at;
    at = varint(bytes, at, end);
    if (at - tagAt > 5 || value > 0xffff_ffff) malformed('a tag is longer than 32 bits');
    const wireType = value & 7;
    const fieldNumber = value >>> 3;
    if (fieldNumber === 0) malformed('field number 0');
    const field = shape[fieldNumber];
    switch (wireType) {
      case 0:
        if (field !== undefined && field !== 'varint' && field !== 'packed') wrongType(fieldNumber);
        at = varint(bytes, at, end);
        break;
      case 1:
        if (field !== undefined && field !== 'fixed64') wrongType(fieldNumber);
        at += 8;
        break;
      case 5:
        if (field !== undefined && field !== 'fixed32') wrongType(fieldNumber);
        at += 4;
        break;
      case 2: {
        at = varint(bytes, at, end);
        const fieldEnd = at + value;
        if (fieldEnd > end) malformed(`field ${fieldNumber} needs ${value} bytes, ${end - at} are left`);
        if (field !== undefined) delimited(bytes, at, fieldEnd, fieldNumber, field, depth);
        at = fieldEnd;
        break;
      }
      default:
        malformed(`wire type ${wireType} of field ${fieldNumber} is not valid here`);
    }
    if (at > end) malformed(`field ${fieldNumber} is cut off`);
  }
}

function delimited(bytes: Uint8Array, start: number, end: number, fieldNumber: number, field: OpaqueField, depth: number): void {
  switch (field) {
    case 'bytes':
      return;
    case 'string':
      if (!isShortAscii(bytes, start, end) && !isUtf8(bytes.subarray(start, end)))
        malformed(`string field ${fieldNumber} is not valid UTF-8`);
      return;
    case 'packed':
      for (let at = start; at < end;) at = varint(bytes, at, end);
      return;
    case 'varint':
    case 'fixed32':
    case 'fixed64':
      return wrongType(fieldNumber);
    default:
      walk(bytes, start, end, field, depth + 1);
  }
}

const asciiScanBytesMax = 128;

/** Nearly all are, and a view of each would cost more than its bytes: two MiB hold a million of them. */
function isShortAscii(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > asciiScanBytesMax) return false;
  for (let at = start; at < end; at++) if ((bytes[at] as number) > 127) return false;
  return true;
}

function varint(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let result = 0;
  for (let scale = 1; at < end && at - start < 10; scale *= 128) {
    const byte = bytes[at++] as number;
    result += (byte & 127) * scale;
    if (byte < 128) {
      if (at - start === 10 && byte > 1) break;
      value = result;
      return at;
    }
  }
  return malformed('a number is cut off or longer than 64 bits');
}

function wrongType(fieldNumber: number): never {
  return malformed(`field ${fieldNumber} has a wrong wire type`);
}

function malformed(reason: string): never {
  throw invalidArgument(`grpc: error unmarshalling request: ${reason}`);
}
