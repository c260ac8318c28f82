import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('./young-generation.ts', import.meta.url));
const fills = fileURLToPath(new URL('./heap-fill.ts', import.meta.url));

async function youngMiB(options: readonly string[], ...line: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [...options, program, ...line]);
  return Number(stdout);
}

test('a thread has a small young generation, whatever the event loop has', async () => {
  const options = ['--max-semi-space-size=16'];
  expect(await youngMiB(options)).toBeGreaterThan(16);
  // Of two halves of 4 MiB; pages that a collection has not given back yet count as well.
  expect(await youngMiB(options, 'bounded')).toBeLessThan(16);
});

test('where somebody limits the whole heap and the old generation, that is left alone: V8 takes two of the three limits', async () => {
  expect(await youngMiB(['--max-heap-size=1000', '--max-old-space-size=900'], 'bounded')).toBeGreaterThan(0);
});

test('a heap that is nearly full is told before V8 gives up, and again when there is room, though nothing else is collected', async () => {
  const options = ['--max-old-space-size=64', '--max-semi-space-size=4'];
  const { stdout } = await promisify(execFile)(process.execPath, [...options, fills, '64']);
  expect(stdout).toMatch(
    /^.*WARN .*the heap is nearly full: no workflow is started until there is room.*heap-mib=\d+ heap-limit-mib=64\nkept true\n.*INFO .*room in the heap again.*\nempty\n$/,
  );
});
