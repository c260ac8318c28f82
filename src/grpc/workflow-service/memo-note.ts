/**
 * What Perdure has to say about a workflow and upstream has no field for. The memo is what every tool shows: one more entry, which no workflow
 * and no history ever sees.
 */
import { encodePayload, encodeSearchAttributes } from '../../wire/generated/lean/common.ts';

const utf8 = new TextEncoder();

/** Encoded messages join end to end: a map takes the last of each key. */
export function withNote(memo: Uint8Array | undefined, name: string, text: string): Uint8Array {
  const metadata = new Map([['encoding', utf8.encode('json/plain')]]);
  const payload = encodePayload({ metadata, data: utf8.encode(JSON.stringify(text)), externalPayloads: [] });
  // Memo and SearchAttributes have one and the same form.
  const entry = encodeSearchAttributes({ indexedFields: new Map([[name, payload]]) });
  const joined = new Uint8Array((memo?.length ?? 0) + entry.length);
  if (memo !== undefined) joined.set(memo);
  joined.set(entry, memo?.length ?? 0);
  return joined;
}
