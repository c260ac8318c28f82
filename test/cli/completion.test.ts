/** Completion in shells, the programs that Temporal's command line runs, and the pages made of the command tree. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { cliPage, manualPage } from '../../scripts/cli-page.ts';
import { emptyJob } from '../../src/wire/generated/api/deadletter/service.ts';
import { freePort } from '../support/server-process.ts';
import { run } from './capture.ts';
import { Child } from './child.ts';
import { FakeDeadLetters, letter } from './fake-dead-letters.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'perdure-completion-'));
afterAll(() => rmSync(folder, { recursive: true }));

const complete = async (words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> =>
  (await run(['__completeNoDesc', ...words], env)).out.trimEnd().split('\n');

describe('completion', () => {
  test.each([
    [['ad'], ['admin', ':4']],
    [
      ['help', 'clu'],
      ['cluster', ':4'],
    ],
    [
      ['admin', 'queue', 'dlq', 're'],
      ['read', 'restore', ':4'],
    ],
    [
      ['admin', 'queue', 'dlq', 'job', 'p'],
      ['pause', ':4'],
    ],
    [
      ['admin', '--address', 'x:1', 'dlq', 'plan', ''],
      ['merge', 'purge', ':4'],
    ],
    [
      ['admin', 'dlq', 'read', '--min'],
      ['--min-message-id', ':4'],
    ],
    [
      ['admin', 'dlq', 'read', '-o', 'j'],
      ['json', 'jsonl', ':4'],
    ],
    [
      ['admin', 'dlq', 'read', '--dlq-type', ''],
      ['replication', 'namespace', ':4'],
    ],
    [
      ['admin', 'dlq', 'list', '--time-format', ''],
      ['relative', 'iso', 'raw', ':4'],
    ],
    [
      ['admin', 'dlq', 'groups', '--by', 'n'],
      ['namespace', 'node', ':4'],
    ],
    [
      ['completion', 'z'],
      ['zsh', ':4'],
    ],
    [['server', 'start', '--config', ''], [':0']],
    [['config', 'validate', ''], [':0']],
    [['nonsense', 'x'], [':4']],
    [['errors', ''], [':4']],
  ])('of %j', async (words, expected) => expect(await complete(words)).toEqual(expected));

  test('with what each is', async () => {
    const { out } = await run(['__complete', 'cluster', '']);
    expect(out).toBe('health\tPrint SERVING and exit with 0, or NOT_SERVING and exit with 4.\n:4\n');
  });

  test('asks the server which queues there are, and offers nothing where none answers', async () => {
    const fake = new FakeDeadLetters();
    await fake.listen();
    fake.letters.push(letter(0), letter(0, { queue: { category: 'timer', sourceCluster: 'active' } }));
    const patient = ['admin', '--command-timeout', '60s', '--client-connect-timeout', '60s'];
    const words = [...patient, 'queue', 'dlq', 'read', '--category', 't'];
    expect(await complete(words, { TEMPORAL_ADDRESS: fake.address })).toEqual(['timer', 'transfer', ':4']);
    expect(await complete([...patient, 'dlq', 'read', '--address', fake.address, '--cluster', ''])).toEqual(['active', ':4']);
    fake.jobs.push({ ...emptyJob(), jobId: 'job-1' }, { ...emptyJob(), jobId: 'job\n2' });
    expect(await complete([...patient, '--address', fake.address, 'dlq', 'job', 'watch', ''])).toEqual(['job-1', ':4']);
    fake.close();
    expect(await complete(['admin', ...words.slice(patient.length)], { TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` })).toEqual([
      ':4',
    ]);
  });

  test('in bash', () => {
    const script = `PATH=${join(repository, 'bin')}:$PATH; source <(perdure completion bash)
      COMP_WORDS=(perdure admin dl); COMP_CWORD=2; _perdure; echo "\${COMPREPLY[@]}"
      COMP_WORDS=(perdure admin dlq job ''); COMP_CWORD=4; _perdure; echo "\${COMPREPLY[@]}"`;
    expect(execFileSync('bash', ['-c', script], { encoding: 'utf8' })).toBe('dlq\nlist describe watch pause resume cancel update\n');
  });

  test.each(['bash', 'zsh', 'fish', 'powershell'])('%s gets a script, another shell 2', async (shell) => {
    const { code, out } = await run(['completion', shell]);
    expect({ code, asks: /__complete/.test(out) }).toEqual({ code: 0, asks: true });
    expect(await run(['completion', `${shell}x`])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining(`Did you mean ${shell}?`),
    });
  });
});

describe('as Temporal’s command line runs them', () => {
  async function extension(program: string, line: readonly string[]) {
    const link = join(folder, program);
    rmSync(link, { force: true });
    symlinkSync(join(repository, 'bin', program), link);
    const child = new Child(link, line);
    const { code } = await child.exit;
    return { code, out: child.out, err: child.err };
  }

  test('flags that it knows come before the words, and exit codes go through', async () => {
    const nobody = `127.0.0.1:${await freePort()}`;
    expect(await extension('temporal-cluster', ['--address', nobody, 'health'])).toMatchObject({ code: 4, out: 'NOT_SERVING\n' });
    expect(await extension('temporal-admin', ['--output', 'json', 'dlq', 'read'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--cluster is missing'),
    });
  });

  test('help and completion are asked with the word in front', async () => {
    const help = await run(['admin', 'dlq', '--help']);
    expect(await extension('temporal-admin', ['help', 'dlq'])).toEqual({ code: 0, out: help.out, err: '' });
    expect((await extension('temporal-namespace', ['__completeNoDesc', ''])).out).toBe('register\nlist\ndescribe\nupdate\ndelete\n:4\n');
    expect((await extension('temporal-admin', ['__completeNoDesc', 'help', 'queue', ''])).out).toBe('dlq\n:4\n');
  });
});

test('docs/cli.md and docs/perdure.1 are what scripts/cli-page.ts makes of the commands (npm run gen:docs)', () => {
  expect(readFileSync(join(repository, 'docs/cli.md'), 'utf8')).toBe(cliPage());
  expect(readFileSync(join(repository, 'docs/perdure.1'), 'utf8')).toBe(manualPage());
});
