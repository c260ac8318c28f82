/** What Perdure says of a workflow, and upstream has no field for: in the memo, which every tool shows and no workflow ever sees. */
import type { PutAsideDescription } from '../../history/commands/put-aside-description.ts';
import { encodeSearchAttributes } from '../../wire/generated/lean/common.ts';
import { jsonPayload } from '../../wire/json-payload.ts';

/** Encoded messages join end to end: a map takes the last of each key. */
export function withNote(memo: Uint8Array | undefined, name: string, text: string): Uint8Array {
  // Memo and SearchAttributes have one and the same form.
  const entry = encodeSearchAttributes({ indexedFields: new Map([[name, jsonPayload(text)]]) });
  const joined = new Uint8Array((memo?.length ?? 0) + entry.length);
  if (memo !== undefined) joined.set(memo);
  joined.set(entry, memo?.length ?? 0);
  return joined;
}

/** What its shard cannot go on with says so, and why. `wayOut`: what can be done with it. */
export function withPutAside(memo: Uint8Array | undefined, aside: PutAsideDescription | undefined, wayOut: string): Uint8Array | undefined {
  if (aside === undefined) return memo;
  const since = new Date(aside.timeMs).toISOString();
  const why = `quarantined since ${since}: ${aside.failedCommand} cannot be decided (${aside.reason}).`;
  return withNote(memo, 'PerdureQuarantined', `${why} Its timers and tasks wait; ${wayOut}.`);
}
