/** Values of crash runs as payloads. */
import { decodePayload, decodePayloads, encodePayload, encodePayloads } from '../../src/wire/generated/lean/common.ts';

export function jsonPayloads(value: unknown): Uint8Array {
  const metadata = new Map([['encoding', new TextEncoder().encode('json/plain')]]);
  const payload = { metadata, data: new TextEncoder().encode(JSON.stringify(value)), externalPayloads: [] };
  return encodePayloads({ payloads: [encodePayload(payload)] });
}

export function jsonValue(payloads: Uint8Array | undefined): unknown {
  const first = payloads === undefined ? undefined : decodePayloads(payloads).payloads[0];
  return first === undefined ? undefined : JSON.parse(new TextDecoder().decode(decodePayload(first).data));
}
