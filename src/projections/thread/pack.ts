/**
 * Plain data, made ready for another thread: all its bytes stand in one buffer, which is transferred.
 *
 *     { runs: [{ runId, state ─┐ }, { runId, state ─┐ }] }        the rest is copied by structured clone
 *                              ▼                    ▼
 *     one ArrayBuffer:  [ state of the first │ state of the second ]
 *
 * Structured clone alone copies, with each view, the whole buffer under it: 20 bytes cut out of a pool of 64 KiB cross as 64 KiB. And to
 * transfer each buffer would take it from whoever else holds a view of it.
 *
 * What arrives are views of one buffer: who keeps some bytes of an answer for long keeps all of them, or copies.
 */
export type Packed<T> = { readonly value: T; readonly transfer: readonly ArrayBuffer[] };

export function pack<T>(value: T): Packed<T> {
  const bytes = bytesIn(value);
  // A view of nothing counts as well: the buffer under it may be large.
  if (bytes === undefined) return { value, transfer: [] };
  const place = { buffer: new Uint8Array(bytes), at: 0 };
  return { value: moved(value, place) as T, transfer: [place.buffer.buffer] };
}

type Place = { readonly buffer: Uint8Array<ArrayBuffer>; at: number };

/** How many bytes a value holds; undefined: there is no view of bytes in it. */
function bytesIn(value: unknown): number | undefined {
  if (!isComposed(value)) return undefined;
  if (value instanceof Uint8Array) return value.byteLength;
  let sum: number | undefined;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') sum = plus(sum, bytesIn(item));
  } else {
    for (const key in value) {
      const field = value[key];
      if (typeof field === 'object') sum = plus(sum, bytesIn(field));
    }
  }
  return sum;
}

function plus(sum: number | undefined, more: number | undefined): number | undefined {
  return more === undefined ? sum : (sum ?? 0) + more;
}

/** The value with its bytes moved to `place`. What holds no bytes is not copied: structured clone will do that. */
function moved(value: unknown, place: Place): unknown {
  if (!isComposed(value)) return value;
  if (value instanceof Uint8Array) {
    const { buffer, at } = place;
    buffer.set(value, at);
    place.at += value.byteLength;
    return buffer.subarray(at, place.at);
  }
  if (Array.isArray(value)) {
    return typeof value[0] === 'object' || value.some((item) => typeof item === 'object') ? value.map((item) => moved(item, place)) : value;
  }
  const copy = { ...value };
  for (const key in copy) if (typeof copy[key] === 'object') copy[key] = moved(copy[key], place);
  return copy;
}

/** Maps (slots of a row) hold no bytes. */
function isComposed(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !(value instanceof Map);
}
