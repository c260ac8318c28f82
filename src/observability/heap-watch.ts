/**
 * How large heaps get, and who hears when the event loop's is nearly full: at its limit V8 ends the process, with words that help nobody. Looked
 * at after each full collection, for only then is what is used also what is needed.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { Logger } from './logger.ts';

const warnShare = 0.8;
const warnIntervalMs = 60_000;
const mebibyte = 2 ** 20;
const boundedFromMiB = 64;

export type HeapUse = { readonly usedMiB: number; readonly limitMiB: number };

export function heapUse(): HeapUse {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return { usedMiB: Math.round(used / mebibyte), limitMiB: Math.round(limit / mebibyte) };
}

/** Answers how to stop watching. */
export function watchHeap(logger: Logger): () => void {
  let warnedMs = -Infinity;
  return afterFullCollections(({ usedMiB, limitMiB }) => {
    if (usedMiB < warnShare * limitMiB || performance.now() - warnedMs < warnIntervalMs) return;
    warnedMs = performance.now();
    logger.warn(
      'the heap is nearly full; at its limit the process ends. Give it more memory, or let closed workflows go sooner (retention)',
      {
        'heap-mib': usedMiB,
        'heap-limit-mib': limitMiB,
      },
    );
  });
}

/**
 * From the first 64 MiB on a heap grows to twice what is used before it is collected. Left to itself V8 takes four to five times that, since the
 * limit is most of the machine: 1,000 MiB for 214. Much below twice the processor marks most of the time and little is won (33 %: 510 MiB
 * for them, at 2.2 times the processor time of 100 %: 530).
 *
 * Answers how to end it. Called once the compile cache is written: V8 takes what was compiled under another setting for foreign.
 */
export function boundHeapGrowth(): () => void {
  let isBounded = false;
  const stop = afterFullCollections(({ usedMiB }) => {
    if (isBounded || usedMiB < boundedFromMiB) return;
    isBounded = true;
    setFlagsFromString('--heap-growing-percent=100');
  });
  return () => {
    stop();
    if (isBounded) setFlagsFromString('--heap-growing-percent=0');
  };
}

/**
 * Threads that start from now on have a young generation of 8 MiB. What they hold is SQLite's, outside of the heap; the rest comes and goes with
 * a request. The limits of a Worker would say so too, were they not overridden by what `bin/perdure` says for the event loop's heap.
 */
export function boundThreadHeaps(): void {
  // V8 ends the process where a thread is given all three: this, the limit of the old generation, and that of the whole heap.
  const said = [process.env['NODE_OPTIONS'] ?? '', ...process.execArgv];
  if (said.some((options) => /max[-_]heap[-_]size/.test(options))) return;
  setFlagsFromString('--max-semi-space-size=4');
}

function afterFullCollections(look: (use: HeapUse) => void): () => void {
  const observer = new PerformanceObserver((collections) => {
    if (collections.getEntries().some(isFull)) look(heapUse());
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => observer.disconnect();
}

function isFull(entry: object): boolean {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined;
  return typeof detail === 'object' && detail !== null && 'kind' in detail && detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
