import type { HistoryLimits } from '../../history/limits.ts';
import { fieldCount } from '../../wire/fields.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { checkOpaque, type OpaqueKind } from './opaque.ts';

/** Taken from the limits of the history core, so that edge and core cannot disagree. */
export type EdgeLimits = Pick<
  HistoryLimits,
  | 'idBytesMax'
  | 'blobBytesMax'
  | 'memoBytesMax'
  | 'memoKeysMax'
  | 'searchAttributeKeysMax'
  | 'searchAttributeValueBytesMax'
  | 'searchAttributesBytesMax'
>;

/** `field` as the messages spell it: `WorkflowId`, `SignalName`, … */
export function checkLength(value: string, field: string, limits: EdgeLimits): void {
  if (isTooLong(value, limits)) throw invalidArgument(`${field} length exceeds limit.`);
}

export function isTooLong(value: string, { idBytesMax }: EdgeLimits): boolean {
  // A UTF-16 unit is at most three bytes, so short strings need no counting.
  return value.length * 3 > idBytesMax && Buffer.byteLength(value) > idBytesMax;
}

/** Something that is passed on as it is: not too large, and well-formed. */
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
