/**
 * How large heaps get, and what is done when the event loop's is nearly full: at its limit V8 ends the process, with words that help nobody. Looked
 * at after each full collection, for only then is what is used also what is needed.
 *
 *     0 ──────── room ──────── ▲ ── nearly full: no workflow is started, what runs goes on ── limit
 *                              └ at three quarters; a gibibyte before the limit of a large one. From four fifths on V8 may give up as well
 *
 * This sees what no other limit counts, and it is the only one of a server whose state has no database.
 */
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from './logger.ts';

const mebibyte = 2 ** 20;
const boundedFromMiB = 64;
/** The room that is kept: a share of the limit, and no more than so much of a large one. */
const roomShareMin = 1 / 4;
const roomMiBMax = 1_024;
/** More than that has to be free before workflows are started again, or it would be now and then at every collection. */
const roomAgainFactor = 1.2;
const warnIntervalMs = 60_000;
/** Where nothing is started little comes to be collected, and V8 may not look for long. */
const COLLECT_INTERVAL_MS = 30_000;

export type HeapUse = { readonly usedMiB: number; readonly limitMiB: number };

export function heapUse(): HeapUse {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return { usedMiB: Math.round(used / mebibyte), limitMiB: Math.round(limit / mebibyte) };
}

export class HeapWatch {
  readonly #logger: Logger;
  readonly #limitBytes: () => number;
  readonly #collectIntervalMs: number;
  readonly #stop: () => void;
  #nearlyFull: HeapUse | undefined;
  #warnedMs = -Infinity;
  #collectedMs = -Infinity;

  /** `limitBytes`: what objects that last may take. Asked anew each time. */
  constructor(logger: Logger, limitBytes: () => number, collectIntervalMs = COLLECT_INTERVAL_MS) {
    this.#logger = logger;
    this.#collectIntervalMs = collectIntervalMs;
    this.#limitBytes = limitBytes;
    this.#stop = afterFullCollections(() => this.#collected());
  }

  /** How full the heap is, for what would fill it further; undefined: there is room. */
  get nearlyFull(): HeapUse | undefined {
    if (this.#nearlyFull !== undefined && performance.now() - this.#collectedMs > this.#collectIntervalMs) {
      this.#collectedMs = performance.now();
      collect();
    }
    return this.#nearlyFull;
  }

  stop(): void {
    this.#stop();
  }

  #collected(): void {
    const limitMiB = Math.floor(this.#limitBytes() / mebibyte);
    const use = { usedMiB: Math.ceil(lastingBytes() / mebibyte), limitMiB };
    const roomMiB = Math.min(roomShareMin * limitMiB, roomMiBMax);
    this.#collectedMs = performance.now();
    if (use.usedMiB >= limitMiB - roomMiB) this.#isNearlyFull(use);
    else if (this.#nearlyFull !== undefined && use.usedMiB < limitMiB - roomAgainFactor * roomMiB) {
      this.#nearlyFull = undefined;
      const told = { 'heap-mib': use.usedMiB, 'heap-limit-mib': limitMiB };
      this.#logger.info('there is room in the heap again: workflows can be started', told);
    }
  }

  #isNearlyFull(use: HeapUse): void {
    this.#nearlyFull = use;
    if (performance.now() - this.#warnedMs < warnIntervalMs) return;
    this.#warnedMs = performance.now();
    this.#logger.warn(
      'the heap is nearly full: no workflow is started until there is room; running workflows continue. Give it more memory, or shorten the retention of closed workflows',
      { 'heap-mib': use.usedMiB, 'heap-limit-mib': use.limitMiB },
    );
  }
}

/** Bytes of objects that have outlived the space for new ones. */
function lastingBytes(): number {
  let bytes = 0;
  for (const { space_name: name, space_used_size: used } of getHeapSpaceStatistics()) if (!name.startsWith('new_')) bytes += used;
  return bytes;
}

let garbageCollector: (() => void) | undefined;

function collect(): void {
  if (garbageCollector === undefined) {
    setFlagsFromString('--expose-gc');
    garbageCollector = runInNewContext('gc') as () => void;
    setFlagsFromString('--no-expose-gc');
  }
  garbageCollector();
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
