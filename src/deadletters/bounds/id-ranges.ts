/** Sets of message ids as ranges that rise and do not touch each other: a million ids in a row are one of them. */
import type { IdRange } from '../letter-commands.ts';
import { isId } from '../queue-checks.ts';

export function countIds(ranges: readonly IdRange[]): number {
  return ranges.reduce((count, { from, to }) => count + to - from + 1, 0);
}

/** Undefined: they are such a set, of ids that there may be. */
export function idRangesProblem(ranges: readonly IdRange[]): string | undefined {
  let last = -2;
  for (const { from, to } of ranges) {
    if (!isId(from) || !isId(to) || from > to) return `no range of message ids: ${from} to ${to}`;
    if (from <= last + 1) return 'ranges of message ids rise and do not touch each other';
    last = to;
  }
  return undefined;
}

export function hasId(ranges: readonly IdRange[], id: number): boolean {
  return (ranges[firstEndingAt(ranges, id)]?.from ?? Infinity) <= id;
}

export function rangeWith(ranges: readonly IdRange[], id: number): IdRange | undefined {
  const range = ranges[firstEndingAt(ranges, id)];
  return range !== undefined && range.from <= id ? range : undefined;
}

/** How many ids there are up to `last`. */
export function countIdsUpTo(ranges: readonly IdRange[], last: number): number {
  return ranges.reduce((count, { from, to }) => count + Math.max(0, Math.min(to, last) - from + 1), 0);
}

/** The lowest id from `from` on; undefined: there is none. */
export function nextId(ranges: readonly IdRange[], from: number): number | undefined {
  const range = ranges[firstEndingAt(ranges, from)];
  return range === undefined ? undefined : Math.max(range.from, from);
}

export function idsOverlap(some: readonly IdRange[], others: readonly IdRange[]): boolean {
  let at = 0;
  for (const { from, to } of some) {
    while (at < others.length && (others[at]?.to ?? Infinity) < from) at += 1;
    if ((others[at]?.from ?? Infinity) <= to) return true;
  }
  return false;
}

/** Each of `some` is one of `others`. */
export function idsAreAmong(some: readonly IdRange[], others: readonly IdRange[]): boolean {
  return some.every(({ from, to }) => {
    const range = others[firstEndingAt(others, from)];
    return range !== undefined && range.from <= from && to <= range.to;
  });
}

export function* idsOf(ranges: readonly IdRange[]): Iterable<number> {
  for (const { from, to } of ranges) for (let id = from; id <= to; id++) yield id;
}

/** Whatever their order, and perhaps twice. */
export function rangesOfIds(ids: Iterable<number>): readonly IdRange[] {
  const ranges: { from: number; to: number }[] = [];
  for (const id of [...ids].sort((one, other) => one - other)) addRising(ranges, id);
  return ranges;
}

/** `id` is no lower than the last one. */
export function addRising(ranges: { from: number; to: number }[], id: number): void {
  const last = ranges.at(-1);
  if (last !== undefined && id <= last.to + 1) last.to = Math.max(last.to, id);
  else ranges.push({ from: id, to: id });
}

/** The place of that range; behind the last one if none ends there or later. */
function firstEndingAt(ranges: readonly IdRange[], id: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((ranges[middle]?.to ?? Infinity) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}
