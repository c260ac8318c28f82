import { invalidArgument } from '../errors/status-error.ts';
import { checkOpaque, type OpaqueKind } from './opaque.ts';

/** Of ids and names, as UTF-8. */
const idBytesMax = 1_000;
/** Payloads, failures, details; error limits of the public contract. */
export const blobBytesMax = 2 * 1024 * 1024;
export const memoBytesMax = 2 * 1024 * 1024;

/** `field` as the messages spell it: `WorkflowId`, `SignalName`, … */
export function checkLength(value: string, field: string): void {
  if (isTooLong(value)) throw invalidArgument(`${field} length exceeds limit.`);
}

export function isTooLong(value: string): boolean {
  // A UTF-16 unit is at most three bytes, so short strings need no counting.
  return value.length * 3 > idBytesMax && Buffer.byteLength(value) > idBytesMax;
}

/** Something that is passed on as it is: not too large, and well-formed. */
export function checkBlob(bytes: Uint8Array | undefined, kind: OpaqueKind): void {
  if (bytes === undefined) return;
  if (bytes.length > blobBytesMax) throw invalidArgument('Blob data size exceeds limit.');
  checkOpaque(bytes, kind);
}

export function checkMemo(bytes: Uint8Array | undefined): void {
  if (bytes === undefined) return;
  if (bytes.length > memoBytesMax) throw invalidArgument('Memo size exceeds limit.');
  checkOpaque(bytes, 'fields');
}
