/**
 * How much memory there is, and what of it the limits of state may take where nobody said otherwise.
 *
 *     machine or container   2 GiB and more    1 GiB     256 MiB            --max-old-space-size=96
 *     heap of the process    1.5 GiB and more  768 MiB   128 MiB that fit   96 MiB
 *     share of each limit    1                 1/2       1/12               1/16
 *
 * So a server on little memory leaves workflows to its database sooner, writes checkpoints sooner, and refuses starts sooner, in place of
 * being ended by V8 or by the kernel.
 *
 * What fits alone may not fit beside the others. So there is a part of the heap for all that the server file can limit, and what nobody set gives
 * way to what somebody did:
 *
 *     ├─ hot workflows, cache of histories, unwritten state: 5/8 ─┼─ commands that wait: 1/6 ─┼─ stored tasks: up to 1/6 ─┼─┤
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { defaults } from './defaults.ts';
import type { StateLimits } from './server-options.ts';

export type Memory = {
  /** What objects that last may take in the heap of the event loop: there V8 ends the process. */
  readonly heapBytes: number;
  /** Memory of the machine, or of the container. */
  readonly machineBytes: number;
};

const mebibyte = 2 ** 20;
/** A heap of so many bytes, or more, gives each limit what `defaults` say. */
const wholeHeapBytes = 1_536 * mebibyte;
/** The program, its threads, SQLite's pages, what comes in from sockets: all that no heap holds. */
const outsideBytes = 128 * mebibyte;
/** A smaller heap than this share of a whole one does not start a server at all, whatever its limits. */
const shareMin = 1 / 32;
/** A limit that somebody sets to more of the heap is said not to fit. */
const fitsShareMax = 1 / 2;
/** The share of the heap that the three limits of bytes may take together; the defaults take 13/24. */
const togetherShareMax = 5 / 8;
/** Each limit keeps so much of its default, whatever the others are set to. */
const defaultShareMin = 1 / 4;
const limitsOfBytes = ['hotStateBytesMax', 'historyCacheBytesMax', 'unwrittenStateBytesMax'] as const;
/** What V8 gives new objects, unless somebody said otherwise: `bin/perdure` does. */
const semiSpaceMiB = 16;

export function memoryThereIs(): Memory {
  const constrained = process.constrainedMemory();
  return { heapBytes: oldSpaceBytes(), machineBytes: Math.min(totalmem(), constrained > 0 ? constrained : Infinity) };
}

/** V8 names the limit of new and old objects together; the old ones reach theirs alone. */
function oldSpaceBytes(): number {
  const { heap_size_limit: limitBytes } = getHeapStatistics();
  const said = `${process.env['NODE_OPTIONS'] ?? ''} ${process.execArgv.join(' ')}`;
  const youngBytes = 3 * (lastMiB(said, /--max[-_]semi[-_]space[-_]size[= ](\d+)/g) ?? semiSpaceMiB) * mebibyte;
  const oldMiB = lastMiB(said, /--max[-_]old[-_]space[-_]size[= ](\d+)/g);
  return Math.min(limitBytes, oldMiB === undefined ? Math.max(limitBytes - youngBytes, limitBytes / 2) : oldMiB * mebibyte);
}

function lastMiB(said: string, option: RegExp): number | undefined {
  const given = Number([...said.matchAll(option)].at(-1)?.[1]);
  return given > 0 ? given : undefined;
}

/** What of the heap fits into the machine as well. */
export function usableHeapBytes({ heapBytes, machineBytes }: Memory): number {
  return Math.max(Math.min(heapBytes, machineBytes - outsideBytes), shareMin * wholeHeapBytes);
}

/** How much of each default holds: 1 where there is plenty. */
export function memoryShare(memory: Memory): number {
  return Math.min(1, usableHeapBytes(memory) / wholeHeapBytes);
}

export function stateLimitsIn(memory: Memory): StateLimits {
  const share = memoryShare(memory);
  const lowered = Object.entries(defaults.state).map(([key, most]) => [key, Math.floor(share * most)]);
  return Object.fromEntries(lowered) as Record<keyof StateLimits, number>;
}

/** What somebody set holds as it is; the others get what is left of their part of the heap, in proportion. */
export function stateLimitsBeside(given: Partial<StateLimits>, memory: Memory): StateLimits {
  const others = stateLimitsIn(memory);
  const left = togetherBytes(memory) - bytesOf(given);
  const wanted = bytesOf(others) - limitsOfBytes.reduce((sum, key) => sum + (given[key] === undefined ? 0 : others[key]), 0);
  const share = wanted <= left ? 1 : Math.max(left / wanted, defaultShareMin);
  const lowered = Object.fromEntries(limitsOfBytes.map((key) => [key, given[key] ?? Math.floor(share * others[key])]));
  return { ...others, ...given, ...lowered };
}

function togetherBytes(memory: Memory): number {
  return Math.floor(togetherShareMax * usableHeapBytes(memory));
}

function bytesOf(limits: Partial<StateLimits>): number {
  return limitsOfBytes.reduce((sum, key) => sum + (limits[key] ?? 0), 0);
}

/** Why the limits in force will not protect this process, all together; undefined: they do. */
export function whyTheyDoNotFit(limits: StateLimits, memory: Memory): string | undefined {
  const most = togetherBytes(memory);
  if (bytesOf(limits) <= most) return undefined;
  const named = limitsOfBytes.map((key) => `${key} (${inMiB(limits[key])})`).join(' + ');
  return (
    `${named} = ${inMiB(bytesOf(limits))} do not fit: this process has ${inMiB(usableHeapBytes(memory))} for state, of which these may fill ` +
    `${inMiB(most)}, and would run out of memory before all limits are reached. Lower what is set, or give it more memory ` +
    '(NODE_OPTIONS=--max-old-space-size=<MiB>, or a larger container)'
  );
}

/** Why a limit that somebody set will not protect this process; undefined: it does. */
export function whyItDoesNotFit(key: keyof StateLimits, given: number, memory: Memory): string | undefined {
  if (key === 'checkpointRecordsMax') return undefined;
  const usableBytes = usableHeapBytes(memory);
  const most = Math.floor(fitsShareMax * usableBytes);
  if (given <= most) return undefined;
  return (
    `${inMiB(given)} do not fit: this process has ${inMiB(usableBytes)} for state, and would run out of memory before this limit is reached. ` +
    `Give it more memory (NODE_OPTIONS=--max-old-space-size=<MiB>, or a larger container), say ${inMiB(most)} or less, or leave the key out ` +
    `(${inMiB(stateLimitsIn(memory)[key])} then)`
  );
}

function inMiB(bytes: number): string {
  return `${Math.floor(bytes / mebibyte)} MiB`;
}
