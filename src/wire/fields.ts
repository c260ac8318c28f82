/** Memo, Header and SearchAttributes have one form: a map from names to encoded Payloads. Inputs are known to be well-formed. */
import type { PayloadValue } from '../kernel/search-attributes.ts';
import { decodePayload, decodeSearchAttributes, encodeSearchAttributes } from './generated/lean/common.ts';
import { Reader } from './reader.ts';
import { ownLimits } from './wire-limits.ts';

const fromUtf8 = new TextDecoder();

export function decodeFields(message: Uint8Array): ReadonlyMap<string, Uint8Array> {
  return decodeSearchAttributes(message, ownLimits).indexedFields;
}

export function encodeFields(fields: ReadonlyMap<string, Uint8Array>): Uint8Array {
  return encodeSearchAttributes({ indexedFields: fields });
}

const entryTag = (1 << 3) | 2;

/** Entries, a repeated name counted again, without making anything of them: 2 MiB hold 300,000. */
export function fieldCount(message: Uint8Array): number {
  const r = new Reader(message, ownLimits);
  let count = 0;
  while (r.pos < r.end) {
    const tag = r.tag();
    if (tag === entryTag) count++;
    r.skip(tag);
  }
  return count;
}

const nameTag = (1 << 3) | 2;
const payloadTag = (2 << 3) | 2;

/** The payload of one of them, as `decodeFields` has it, without making anything of the others; undefined: it is not there. */
export function fieldOf(message: Uint8Array, name: string): Uint8Array | undefined {
  const nameBytes = Buffer.byteLength(name);
  const r = new Reader(message, ownLimits);
  let payload: Uint8Array | undefined;
  while (r.pos < r.end) {
    const tag = r.tag();
    if (tag === entryTag) payload = entryOf(r, name, nameBytes) ?? payload;
    else r.skip(tag);
  }
  return payload;
}

/** The payload of an entry; undefined: the entry has another name. */
function entryOf(r: Reader, name: string, nameBytes: number): Uint8Array | undefined {
  const outer = r.enter();
  const after = r.end;
  let isIt = nameBytes === 0;
  let payloadAt = after;
  while (r.pos < r.end) {
    const tag = r.tag();
    if (tag === nameTag) {
      isIt = r.isString(name, nameBytes);
      continue;
    }
    if (tag === payloadTag) payloadAt = r.pos;
    r.skip(tag);
  }
  if (isIt) r.pos = payloadAt;
  const payload = isIt && payloadAt < after ? r.bytes() : noBytes;
  r.pos = after;
  r.leave(outer);
  return isIt ? payload : undefined;
}

const noBytes = new Uint8Array(0);
const dataTag = (2 << 3) | 2;

/** A null, empty or `[]` payload, which deletes its key in an upsert. Looks at the data alone: metadata may be large. */
export function isEmptyPayload(payload: Uint8Array): boolean {
  const r = new Reader(payload, ownLimits);
  let data: Uint8Array | undefined;
  while (r.pos < r.end) {
    const tag = r.tag();
    if (tag === dataTag) data = r.bytes();
    else r.skip(tag);
  }
  if (data === undefined || data.length === 0) return true;
  if (data.length > 4) return false;
  const text = fromUtf8.decode(data);
  return text === 'null' || text === '[]';
}

export function payloadValue(payload: Uint8Array): PayloadValue {
  const { metadata, data } = decodePayload(payload, ownLimits);
  const encoding = fromUtf8.decode(metadata.get('encoding'));
  return { encoding, dataBytes: data.length, text: fromUtf8.decode(data), generation: generationOf(metadata) };
}

/** Stands in the metadata of a search attribute's value, where an attribute of its name was removed before. */
export const GENERATION = 'perdure-generation';

/** The edge alone writes it; what else may stand there is none. */
function generationOf(metadata: ReadonlyMap<string, Uint8Array>): number {
  const bytes = metadata.get(GENERATION);
  const text = bytes === undefined ? '' : fromUtf8.decode(bytes);
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
}
