const settled = Promise.resolve();

/**
 * Runs the callback when what follows from what runs now is done: no tick and no microtask is left. A tick that is asked for by a microtask comes behind
 * all of these. By a promise: `queueMicrotask` costs several times as much, and this is asked for in each turn of the event loop.
 */
export function onceSettled(callback: () => void): void {
  void settled.then(() => process.nextTick(callback));
}
