/** The ports of a real process. */
import type { Clock, Random, Timer } from './ports.ts';

/** Longer delays make Node's timers fire at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

const settled = Promise.resolve();

/**
 * Runs the callback when what follows from what runs now is done: no tick and no microtask is left. A tick that is asked for by a microtask comes behind
 * all of these. By a promise: `queueMicrotask` costs several times as much, and this is asked for in each turn of the event loop.
 */
export function onceSettled(callback: () => void): void {
  void settled.then(() => process.nextTick(callback));
}

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
