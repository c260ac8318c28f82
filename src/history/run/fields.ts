/** Memo and search attributes: maps whose values stay encoded. */
import type { HistoryLimits } from './history-limits.ts';
import type { HistoryWire } from './history-replies.ts';

/** The end of a text that begins with the field's name. Counted before anything is decoded. */
export function memoProblem(memo: Uint8Array | undefined, wire: HistoryWire, limits: HistoryLimits): string | undefined {
  if (memo === undefined) return undefined;
  if (memo.length > limits.memoBytesMax) return 'exceeds size limit.';
  const count = wire.fieldCount(memo);
  return count > limits.memoKeysMax ? `has ${count} keys, more than the limit of ${limits.memoKeysMax}.` : undefined;
}

/** Per key; a null, empty or `[]` payload deletes its key. */
export function mergeFields(old: Uint8Array | undefined, upserted: Uint8Array | undefined, wire: HistoryWire): Uint8Array | undefined {
  if (upserted === undefined) return old;
  const merged = new Map(old === undefined ? [] : wire.decodeFields(old));
  for (const [name, payload] of wire.decodeFields(upserted)) {
    if (wire.isEmptyPayload(payload)) merged.delete(name);
    else merged.set(name, payload);
  }
  return merged.size === 0 ? undefined : wire.encodeFields(merged);
}

/** Keys without a value are not stored when a run starts. */
export function withoutEmptyFields(fields: Uint8Array | undefined, wire: HistoryWire): Uint8Array | undefined {
  return fields === undefined || fields.length === 0 ? undefined : mergeFields(undefined, fields, wire);
}
