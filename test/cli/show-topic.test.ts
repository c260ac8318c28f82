import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Child } from './child.ts';

const script = fileURLToPath(new URL('../../scripts/show-topic.ts', import.meta.url));
const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));

async function showTopic(...line: readonly string[]) {
  const child = new Child(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...line]);
  const { code } = await child.exit;
  return { code, out: child.out, err: child.err };
}

test('--help says how; a flag that it does not know is refused in one line', async () => {
  const help = await showTopic('--help');
  expect(help).toMatchObject({ code: 0, err: '', out: expect.stringContaining('--partition') });
  expect(await showTopic('--tpoic', 'x')).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^show-topic: .*--tpoic.*\n$/) });
  expect((await showTopic()).err).toContain('show-topic: name --file, or --brokers and --topic\n');
});

test('shows the records of a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-show-'));
  const filename = join(folder, 'perdure.db');
  const server = new Child(bin, ['server', 'start-dev', '--port', '0', '--db-filename', filename]);
  await server.seen('out', /^Server:/m);
  await server.stop();
  const { code, out } = await showTopic('--file', filename, '--topic', 'perdure.cluster');
  expect(code).toBe(0);
  expect(out).toMatch(/^perdure\.cluster\/0 @0 .* @claim {2}Claim /m);
  // A reader that has gone before the first line.
  const words = [process.execPath, '--disable-warning=ExperimentalWarning', script, '--file', filename].map((word) => `'${word}'`);
  const gone = new Child('/bin/sh', ['-c', `exec 3>&1; { ${words.join(' ')}; echo "code $?" >&3; } | true`]);
  expect((await gone.exit).code).toBe(0);
  expect({ out: gone.out, err: gone.err }).toEqual({ out: 'code 0\n', err: '' });
  rmSync(folder, { recursive: true });
});
