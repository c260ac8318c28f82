import { readFileSync } from 'node:fs';
import { home } from '../kernel/home.ts';

/** Two numbers for each line of a part: which of the sources, and the line there; zeros for what the bundler added. */
type SourceLines = { readonly sources: readonly string[]; readonly lines: readonly number[] };

const bundled = import.meta.url.endsWith('.js');
/** `file:///opt/perdure/dist/program/composition-DzzEFz3A.js:18640:11` */
const placeInBundle = /(file:\/\/[^\s()]*\.js):(\d+):\d+/g;
const linesOf = new Map<string, SourceLines | undefined>();

/**
 * The stack of an error in lines of the sources, also when the program runs as a bundle. Only what is written down is translated, from a table
 * that is read with the first error: Node's `--enable-source-maps` costs every start 25 ms of 150, and a map that is read with the first error
 * stops the event loop for 130 ms and stays with 15 MiB, in what is an incident already.
 */
export function stackOf(error: Error): string | undefined {
  return bundled ? error.stack?.replaceAll(placeInBundle, sourcePlace) : error.stack;
}

function sourcePlace(place: string, part: string, line: string): string {
  if (!linesOf.has(part)) linesOf.set(part, readLines(part));
  const table = linesOf.get(part);
  const at = (Number(line) - 1) * 2;
  const sourceLine = table?.lines[at + 1];
  const source = table?.sources[table.lines[at] ?? 0];
  return sourceLine === undefined || sourceLine === 0 || source === undefined ? place : `${new URL(source, home).href}:${sourceLine}`;
}

function readLines(part: string): SourceLines | undefined {
  try {
    return JSON.parse(readFileSync(new URL(`${part}.lines.json`), 'utf8')) as SourceLines;
  } catch {
    // A package that is not in the bundle, or a table that is lost: the place stays as it is.
    return undefined;
  }
}
