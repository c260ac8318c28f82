/** Payloads of ours, encoded as every SDK reads them. */
import { encodePayload } from './generated/lean/common.ts';

const utf8 = new TextEncoder();
const noExternals: readonly Uint8Array[] = [];
const plain: readonly [string, Uint8Array] = ['encoding', utf8.encode('json/plain')];
const untyped: ReadonlyMap<string, Uint8Array> = new Map([plain]);

/** `type`: of a search attribute, by its name. */
export function jsonPayload(value: string | boolean | readonly string[], type?: string): Uint8Array {
  return jsonTextPayload(JSON.stringify(value), type);
}

/** A payload of what is JSON already. */
export function jsonTextPayload(text: string, type?: string): Uint8Array {
  const metadata = type === undefined ? untyped : new Map([plain, ['type', utf8.encode(type)]]);
  return encodePayload({ metadata, data: utf8.encode(text), externalPayloads: noExternals });
}
