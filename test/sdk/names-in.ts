import { readdirSync, readFileSync } from 'node:fs';

/** The names of scenarios as the sources of a folder beside this file have them; `pattern` has the name as its group. Sorted. */
export function namesIn(folder: string, pattern: RegExp): readonly string[] {
  const files = readdirSync(new URL(`${folder}/`, import.meta.url), { withFileTypes: true }).filter((entry) => entry.isFile());
  const sources = files.map(({ name }) => readFileSync(new URL(`${folder}/${name}`, import.meta.url), 'utf8'));
  return sources.flatMap((source) => Array.from(source.matchAll(pattern), (found) => found[1] ?? '')).toSorted();
}
