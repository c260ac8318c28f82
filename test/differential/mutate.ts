import type { Prng } from '../simulation/prng.ts';
import type { Fields } from './program.ts';

/** Fields of bytes: what is wrong with them is for the worker to find. */
const BYTES: ReadonlySet<string> = new Set(['data', 'encoding', 'metadata', 'id']);
const LONG = 'x'.repeat(1001);

/** One request with one thing wrong, or odd: a field left out, emptied, too long, negative, too large. */
export function mutated(prng: Prng, request: Fields): Fields {
  const paths = pathsOf(request).filter((path) => !BYTES.has(path.at(-1) ?? ''));
  const path = anyOf(
    prng,
    paths.filter(([first]) => first !== 'namespace' || prng.chance(0.2)),
  );
  return path === undefined ? request : (changed(prng, request, path) as Fields);
}

/** Without each optional field in turn, with probability one half. The `needed` ones stay. */
export function thinned(prng: Prng, request: Fields, needed: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(request).filter(([name]) => needed.includes(name) || prng.chance(0.4)));
}

function pathsOf(value: unknown): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null || isDuration(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => [[name], ...pathsOf(item).map((rest) => [name, ...rest])]);
}

function changed(prng: Prng, value: unknown, path: readonly string[]): unknown {
  const [name, ...rest] = path;
  if (name === undefined || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item, index) => (String(index) === name ? changedItem(prng, item, rest) : item));
  const entries = Object.entries(value);
  if (rest.length > 0) return Object.fromEntries(entries.map(([key, item]) => [key, key === name ? changed(prng, item, rest) : item]));
  const replaced = odd(prng, name, Object.entries(value).find(([key]) => key === name)?.[1]);
  return Object.fromEntries(
    entries.flatMap(([key, item]) => (key !== name ? [[key, item]] : replaced === undefined ? [] : [[key, replaced]])),
  );
}

function changedItem(prng: Prng, item: unknown, rest: readonly string[]): unknown {
  return rest.length === 0 ? item : changed(prng, item, rest);
}

function odd(prng: Prng, name: string, value: unknown): unknown {
  if (isDuration(value)) {
    return anyOf(prng, [
      undefined,
      {},
      { seconds: -1 },
      { nanos: -5 },
      { seconds: 1, nanos: -5 },
      { seconds: 1, nanos: 1_500_000_000 },
      { nanos: 1 },
      { seconds: 315_576_000_001 },
      { seconds: 3_600 },
    ]);
  }
  if (typeof value === 'string') {
    if (name === 'runId') return prng.pick(['', 'not-a-uuid', 'ffffffff-ffff-4fff-8fff-ffffffffffff']);
    if (/token/i.test(name)) return prng.pick(['', '/////w==', '$TOKENOLD0', '$ATOKENOLD0']);
    return anyOf(prng, [undefined, '', LONG, '/_sys/$W9', '/_sys/$W9/1', '$W9-nobody', '$W9-ünï']);
  }
  if (typeof value === 'number') return prng.pick([0, -1, 1, 9_999, 0.5]);
  if (typeof value === 'boolean') return !value;
  return undefined;
}

function isDuration(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && ('seconds' in value || 'nanos' in value);
}

/** `undefined` may be among the choices. */
export function anyOf<T>(prng: Prng, choices: readonly T[]): T | undefined {
  return choices[prng.int(0, choices.length - 1)];
}
