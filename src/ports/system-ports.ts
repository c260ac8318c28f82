/** The ports of a real process. */
import type { Clock, Random, Timer } from './machine.ts';

/** Longer delays make Node's timers fire at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

/** Microtasks are asked for by a promise, many in each turn of the event loop: `queueMicrotask` costs several times as much. */
const settled = Promise.resolve();

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
  soon: (act) => void settled.then(act),
  // A tick that is asked for by a microtask comes behind all ticks and microtasks.
  settled: (callback) => void settled.then(() => process.nextTick(callback)),
};

export const systemRandom: Random = { nonce: () => crypto.randomUUID(), fraction: () => Math.random() };
