/** Is the simulation any good? Each planted bug runs in a process of its own, on source that was patched as it was loaded. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { plants, seedsMax, stalePlant } from './plants.ts';

const program = fileURLToPath(new URL('./run-planted.ts', import.meta.url));
const found: string[] = [];

afterAll(() => console.log(['planted bugs:', ...found].join('\n')));

describe('planted bugs', () => {
  for (const { name, caughtBy } of plants) {
    const where = caughtBy === 'scenarios' ? 'by a scenario' : `within ${seedsMax[caughtBy]} ${caughtBy}`;
    test(`${name}: caught ${where}`, { timeout: 300_000 }, async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [program, name]);
      const finding: unknown = JSON.parse(stdout.trim().split('\n').at(-1) ?? 'null');
      expect(finding, 'the bug went unnoticed').toMatchObject({ by: expect.any(String), invariant: expect.stringMatching(/^[IT]\d+/) });
      const { by, invariant } = finding as { readonly by: string; readonly invariant: string };
      found.push(`  ${name.padEnd(64)} ${by.slice(0, 60).padEnd(61)} ${invariant}`);
    });
  }

  test('a patch whose text is gone fails', async () => {
    await expect(promisify(execFile)(process.execPath, [program, stalePlant.name])).rejects.toThrow('occurs 0 times');
  });
});
