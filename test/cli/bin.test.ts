import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { Child } from './child.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const bin = join(repository, 'bin/perdure');
const pinned = join(repository, 'node_modules/node/bin/node');
const folder = mkdtempSync(join(tmpdir(), 'perdure-bin-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function output(command: string, line: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = new Child(command, line, env, folder);
  const { code } = await child.exit;
  return { code, out: child.out, err: child.err };
}

/** The sources without node_modules, as a broken installation has them. */
function bareCopy(name: string): string {
  const home = join(folder, name);
  for (const part of ['bin', 'src/cli', 'src/config', 'src/kernel', 'src/observability', 'package.json']) {
    mkdirSync(join(home, part, '..'), { recursive: true });
    cpSync(join(repository, part), join(home, part), { recursive: true });
  }
  return home;
}

/** A PATH with nothing but the tools that the script uses and one node. */
function pathWith(name: string, node: string | undefined): string {
  const tools = join(folder, name);
  mkdirSync(tools);
  for (const tool of ['readlink', 'dirname', 'sh']) {
    const found = ['/bin', '/usr/bin'].map((place) => join(place, tool)).find((path) => exists(path));
    symlinkSync(found ?? tool, join(tools, tool));
  }
  if (node !== undefined) {
    writeFileSync(join(tools, 'node'), node);
    chmodSync(join(tools, 'node'), 0o755);
  }
  return tools;
}

function exists(path: string): boolean {
  try {
    return realpathSync(path) !== '';
  } catch {
    return false;
  }
}

describe('bin/perdure', () => {
  test('gives all of its output to a slow reader, past what a pipe holds', async () => {
    const long = 'x'.repeat(120_000);
    const { out } = await output('/bin/sh', ['-c', '"$0" "$1" 2>&1 | (sleep 0.5; cat)', bin, long]);
    expect(out).toContain(long);
    expect(out).toContain('--help');
  });

  test('runs on the pinned Node, from anywhere, through links', async () => {
    const link = join(folder, 'link');
    symlinkSync(bin, link);
    const relative = join(folder, 'relative');
    symlinkSync('./link', relative);
    for (const command of [bin, link, relative]) {
      const { code, out, err } = await output(command, ['version', '-o', 'json']);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(JSON.parse(out)).toMatchObject({ node: '24.21.0' });
    }
  });

  test.each([
    ['without a limit', 'max', 75],
    ['of 512 MiB', String(512 * 2 ** 20), 75],
    ['of 256 MiB', String(256 * 2 ** 20), 50],
  ])('a container %s leaves room beside the heap', async (_what, limit, percentage) => {
    const home = mkdtempSync(join(folder, 'container-'));
    writeFileSync(join(home, 'memory.max'), `${limit}\n`);
    mkdirSync(join(home, 'bin'));
    mkdirSync(join(home, 'node_modules/node/bin'), { recursive: true });
    writeFileSync(join(home, 'bin/perdure'), readFileSync(bin, 'utf8').replaceAll('/sys/fs/cgroup', home), { mode: 0o755 });
    writeFileSync(join(home, 'node_modules/node/bin/node'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
    const { code, out } = await output(join(home, 'bin/perdure'), ['version'], { NODE_OPTIONS: '' });
    expect(code).toBe(0);
    expect(out).toContain(`--max-old-space-size-percentage=${percentage} `);
  });

  test('execs: the process that was started is Node itself, so that SIGKILL reaches it', async () => {
    if (process.platform !== 'linux') return;
    const child = new Child(bin, ['server', 'start-dev', '--port', '0', '--log-config', '--ip', '127.0.0.1']);
    // Printed by our own code, before the server starts: by then the shell is gone.
    await child.seen('err', /^startDev:/m);
    expect(readlinkSync(`/proc/${child.process.pid}/exe`)).toBe(realpathSync(pinned));
    child.process.kill('SIGKILL');
    expect(await child.exit).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('passes arguments on as they are', async () => {
    const { code, err } = await output(bin, ['server', 'start-dev', '--dynamic-config-value', 'a=two words $HOME *']);
    expect(code).toBe(2);
    expect(err).toContain('got two words $HOME *\n');
  });

  test('without the pinned Node takes a new enough one from the PATH', async () => {
    const home = bareCopy('with-path-node');
    const tools = pathWith('new-node', `#!/bin/sh\nexec ${pinned} "$@"\n`);
    const { code, out } = await output(join(home, 'bin/perdure'), ['version'], { PATH: tools });
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('Node 24.21') });
  });

  test.each([
    { name: 'none', node: undefined, found: 'none' },
    { name: 'old', node: '#!/bin/sh\n[ "$1" = --version ] && echo v20.20.2 && exit 0\nexit 1\n', found: 'v20.20.2' },
  ])('with $name on the PATH says what to do', async ({ name, node, found }) => {
    const home = bareCopy(`with-${name}`);
    const { code, err } = await output(join(home, 'bin/perdure'), ['version'], { PATH: pathWith(`tools-${name}`, node) });
    expect(code).toBe(1);
    expect(err).toBe(
      `perdure: needs Node 24.12 or newer; found on the PATH: ${found}.\nThe pinned Node is not installed under ${home}/node_modules/node.\nRun 'npm ci' in ${home}, or put a newer node first on the PATH.\n`,
    );
  });

  test('without generated code a server says how it comes to be', async () => {
    const home = join(folder, 'not-generated');
    for (const part of ['bin', 'src', 'package.json']) {
      cpSync(join(repository, part), join(home, part), { recursive: true, filter: (path) => !path.endsWith('/generated') });
    }
    symlinkSync(join(repository, 'node_modules'), join(home, 'node_modules'));
    const { code, err } = await output(join(home, 'bin/perdure'), ['server', 'start-dev', '--port', '0']);
    expect(code).toBe(1);
    expect(err).toMatch(/^perdure: this installation is not complete\nCannot find module .*generated.*\nRun 'npm ci' in .*\n$/);
    expect(err).toContain(home);
  });

  test('an install without the development packages says in one line what to run', async () => {
    const home = bareCopy('without-dev');
    mkdirSync(join(home, 'scripts'));
    cpSync(join(repository, 'scripts/prepare.js'), join(home, 'scripts/prepare.js'));
    const { code, out, err } = await output(process.execPath, [join(home, 'scripts/prepare.js')]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^perdure: .* run 'npm ci', then 'npm prune --omit=dev --ignore-scripts'\.\n$/);
  });

  test('a reader that goes away is no error', async () => {
    const child = new Child('/bin/sh', ['-c', `${bin} config schema | head -c 1 >/dev/null; echo done`]);
    await child.exit;
    expect([child.out, child.err]).toEqual(['done\n', '']);
  });

  test.skipIf(!exists('/dev/full'))('a full disk under its log ends no server, and is no success of a command', async () => {
    const line = `exec ${bin} server start-dev --port 0 --log-level info --dynamic-config-value a=1 2>/dev/full`;
    const child = new Child('/bin/sh', ['-c', line]);
    await child.seen('out', /^With Temporal's CLI/m);
    expect(await child.stop()).toEqual({ code: 0, signal: null });
    const printed = await output('/bin/sh', ['-c', `${bin} config schema >/dev/full`]);
    expect(printed.code).toBe(1);
    expect(printed.err).toMatch(/^perdure: the output could not be written: .*ENOSPC.*\n$/);
  });
});
