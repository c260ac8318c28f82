/** Memo and search attributes: maps whose values stay encoded. */
import type { HistoryWire } from './replies.ts';

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
