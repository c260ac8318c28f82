import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('./young-generation.ts', import.meta.url));

async function youngMiB(...line: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--max-semi-space-size=16', program, ...line]);
  return Number(stdout);
}

test('a thread has a small young generation, whatever the event loop has', async () => {
  expect(await youngMiB()).toBeGreaterThan(16);
  expect(await youngMiB('bounded')).toBeLessThan(10);
});
