/** What the README shows of dead letters: an incident, from the first failure to zero. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const demo = fileURLToPath(new URL('../../examples/dead-letters/demo.ts', import.meta.url));

test('the demo of dead letters makes an incident, shows it and cures it', async () => {
  const child = spawn(process.execPath, [demo], { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += String(chunk)));
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += String(chunk)));
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect(code, said).toBe(0);
  expect(printed).toContain('InjectedFault (6)');
  expect(printed).toContain('merged 6, failed 0, skipped 0');
  expect(printed).toContain('And 6 of 6 orders are shipped.');
  expect(printed).toMatch(/dlq count --category transfer\n0\n/);
}, 120_000);
