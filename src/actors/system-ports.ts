/** The ports of a real process. */
import { onceSettled } from '../kernel/once-settled.ts';
import type { Clock, Random, Timer } from './ports.ts';

/** Longer delays make Node's timers fire at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monoMs: () => performance.now(),
  after(delayMs: number, callback: () => void): Timer {
    if (delayMs <= 0) {
      const immediate = setImmediate(callback);
      return { cancel: () => clearImmediate(immediate) };
    }
    const timeout = setTimeout(callback, Math.min(delayMs, DELAY_MS_MAX));
    return { cancel: () => clearTimeout(timeout) };
  },
  soon: (callback) => queueMicrotask(callback),
  settled: onceSettled,
};

export const systemRandom: Random = {
  nonce: () => crypto.randomUUID(),
  fraction: () => Math.random(),
};
