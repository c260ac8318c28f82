/** How late the event loop of a server was, as loop-delay-probe.mjs in it writes it down. Another program than Node writes nothing. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { figure, percentile } from './figures.ts';
import type { Figure } from './figures.ts';

const probe = fileURLToPath(new URL('loop-delay-probe.mjs', import.meta.url));

/** For the process that is measured. Its own timer fires each millisecond: that is in the figures. */
export function loopDelayEnvironment(file: string): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import=${probe}`.trim(), BENCH_LOOP_DELAY: file };
}

/** Between two times of `Date.now()`. NaN: nobody wrote. */
export function loopDelayFigures(file: string | undefined, fromMs: number, untilMs: number): readonly Figure[] {
  const seconds = linesOf(file).filter(([atMs]) => atMs > fromMs && atMs <= untilMs);
  const p99s = seconds.map(([, p99Ms]) => p99Ms);
  const longest = seconds.map(([, , longestMs]) => longestMs);
  return [
    figure('event loop p99, median second', 'ms', percentile(p99s, 0.5)),
    figure('event loop p99, worst second', 'ms', percentile(p99s, 1)),
    figure('event loop, longest', 'ms', percentile(longest, 1)),
  ];
}

function linesOf(file: string | undefined): readonly (readonly [atMs: number, p99Ms: number, longestMs: number])[] {
  if (file === undefined) return [];
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [atMs = Number.NaN, p99Ms = Number.NaN, longestMs = Number.NaN] = line.split(' ').map(Number);
        return [atMs, p99Ms, longestMs];
      });
  } catch {
    return [];
  }
}
