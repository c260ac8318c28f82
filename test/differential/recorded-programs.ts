/** Programs, and what Temporal's server showed of them: a line each, so that a change shows which. */
import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Program } from './program.ts';
import type { Seen } from './run-program.ts';

export type Recorded = { readonly program: Program; readonly seen: readonly Seen[] };

/** Of this release. */
export const recordedServer = '1.32.0';

const file = new URL('fixtures/recorded-programs.jsonl.gz', import.meta.url);

export function readRecorded(): readonly Recorded[] {
  const lines = gunzipSync(readFileSync(file)).toString().trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Recorded);
}

/** Without what rests on the hour in which a server is asked: when a schedule will act. */
export function timeless(seen: readonly Seen[]): readonly Seen[] {
  return JSON.parse(JSON.stringify(seen), (name, value: unknown) => (name === 'futureActionTimes' ? undefined : value)) as readonly Seen[];
}

export function writeRecorded(recorded: readonly Recorded[]): void {
  writeFileSync(file, gzipSync(recorded.map((one) => `${JSON.stringify(one)}\n`).join(''), { level: 9 }));
}
