import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Child } from '../cli/child.ts';
import { announcement, readGateArguments } from './gate-arguments.ts';

const gate = fileURLToPath(new URL('gate.ts', import.meta.url));

async function run(...line: readonly string[]): Promise<Child> {
  const child = new Child(process.execPath, [gate, ...line]);
  await child.exit;
  return child;
}

test('--help says what it does and runs nothing', async () => {
  const child = await run('--help');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(child.out).toContain('npm run gate -- file kafka --rounds 10');
  expect(child.err).toBe('');
});

test.each([[[]], [['--rounds', '3']]])('what is said at the start does the same once more (%j)', (rounds) => {
  const wanted = readGateArguments(['kafka', 'file', '--seed', '7', ...rounds]);
  if (wanted.kind !== 'run') throw new Error(`it is read as ${wanted.kind}`);
  const said = announcement(wanted);
  expect(said).toContain(rounds.length === 0 ? 'file 50, kafka 50' : 'file 3, kafka 3');
  expect(readGateArguments((said.split('npm run gate -- ')[1] ?? '').split(' '))).toEqual(wanted);
});

test.each([
  [['--round', '3'], "Unknown option '--round'"],
  [['files'], 'there is no campaign "files"'],
  [['--rounds', 'ten'], '--rounds takes a whole number, not "ten"'],
  [['--rounds', '0'], '--rounds 0 would prove nothing'],
  [['--seed', '-1'], '--seed'],
])('%j is refused with the usage and without a stack', async (line, message) => {
  const child = await run(...line);
  expect(await child.exit).toEqual({ code: 2, signal: null });
  expect(child.err).toContain(message);
  expect(child.err).toContain('npm run gate');
  expect(child.err).not.toMatch(/^\s+at /m);
});
