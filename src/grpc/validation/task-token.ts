import { Reader } from '../../wire/reader.ts';
import type { WireLimits } from '../../wire/wire-limits.ts';

// Field 1 of every request that has one.
const taskTokenTag = (1 << 3) | 2;
/** Encoders write fields in the order of their numbers. More of them before the token come from nobody who has one. */
const fieldsBeforeMax = 64;

/** The task token of a request that is not decoded yet, where it stands in the request; empty when it has none. */
export function taskTokenOf(request: Uint8Array, limits: WireLimits): Uint8Array {
  const reader = new Reader(request, limits);
  for (let fields = 0; reader.pos < reader.end && fields < fieldsBeforeMax; fields++) {
    const tag = reader.tag();
    if (tag === taskTokenTag) return reader.bytesInPlace();
    reader.skip(tag);
  }
  return noToken;
}

const noToken: Uint8Array = new Uint8Array(0);
