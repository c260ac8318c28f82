/**
 * Says when the heap is nearly full: at its limit V8 ends the process, with words that help nobody. Looked at after each full collection, for
 * only then is what is used also what is needed.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Logger } from './logger.ts';

const warnShare = 0.8;
const warnIntervalMs = 60_000;
const mebibyte = 2 ** 20;

export type HeapUse = { readonly usedMiB: number; readonly limitMiB: number };

export function heapUse(): HeapUse {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return { usedMiB: Math.round(used / mebibyte), limitMiB: Math.round(limit / mebibyte) };
}

/** Answers how to stop watching. */
export function watchHeap(logger: Logger): () => void {
  let warnedMs = -Infinity;
  const observer = new PerformanceObserver((collections) => {
    if (!collections.getEntries().some(isFull)) return;
    const { usedMiB, limitMiB } = heapUse();
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
  observer.observe({ entryTypes: ['gc'] });
  return () => observer.disconnect();
}

function isFull(entry: object): boolean {
  const detail: unknown = 'detail' in entry ? entry.detail : undefined;
  return typeof detail === 'object' && detail !== null && 'kind' in detail && detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}
