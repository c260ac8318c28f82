import { compileFunction } from 'node:vm';
import { expect, test } from 'vitest';
import { forbidGlobals } from './forbid-globals.ts';

/** Code that looks as if it stood among the actors. */
function actorCode(expression: string): () => unknown {
  const run: unknown = compileFunction(`return ${expression};`, [], { filename: '/repo/src/actors/pretended.ts' });
  if (typeof run !== 'function') throw new Error('a function was compiled');
  return () => Reflect.apply(run, undefined, []);
}

test('an actor that looks at the real world is caught; the harness may', () => {
  const calls = [
    'Date.now()',
    'Math.random()',
    'performance.now()',
    'crypto.randomUUID()',
    'setTimeout(() => {}, 0)',
    'queueMicrotask(() => {})',
  ];
  const restore = forbidGlobals();
  try {
    for (const call of calls) expect(actorCode(call), call).toThrow('is not simulated');
    expect(Date.now()).toBeGreaterThan(0);
  } finally {
    restore();
  }
  for (const call of calls) expect(actorCode(call), call).not.toThrow();
});
