/** The code under simulation may not look at the real world: clock, randomness and timers throw when it does. */

const guarded = '/src/actors/';

type Restore = () => void;

export function forbidGlobals(): Restore {
  const restores = [
    guard(Date, 'now'),
    guard(Math, 'random'),
    guard(performance, 'now'),
    guard(crypto, 'randomUUID'),
    guard(globalThis, 'setTimeout'),
    guard(globalThis, 'setInterval'),
    guard(globalThis, 'setImmediate'),
    guard(globalThis, 'queueMicrotask'),
  ];
  return () => restores.forEach((restore) => restore());
}

function guard<Name extends string>(owner: Record<Name, (...args: never[]) => unknown>, name: Name): Restore {
  const real = Object.getOwnPropertyDescriptor(owner, name);
  const call = owner[name];
  Object.defineProperty(owner, name, {
    configurable: true,
    writable: true,
    value(this: unknown, ...args: never[]) {
      const caller = new Error('who calls').stack?.split('\n')[2] ?? '';
      if (caller.includes(guarded)) throw new Error(`${name} is not simulated: take it from a port`);
      return call.apply(this, args);
    },
  });
  return () => {
    if (real === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, real);
  };
}
