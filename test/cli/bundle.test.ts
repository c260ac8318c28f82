/** The bundle that an install makes, as `bin/perdure` starts it; and when it starts the sources instead. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { writeBundle } from '../../scripts/bundle.ts';
import { freePort } from '../support/server-process.ts';
import { Child } from './child.ts';
import { childrenOfEachTest } from './children-of-test.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-bundle-')));
afterAll(() => rmSync(folder, { recursive: true }));
const children = childrenOfEachTest();

/** What every installation has, beside its program. */
function installation(name: string): string {
  const home = join(folder, name);
  for (const part of ['bin', 'package.json']) cpSync(join(repository, part), join(home, part), { recursive: true });
  symlinkSync(join(repository, 'node_modules'), join(home, 'node_modules'));
  return home;
}

function perdure(home: string, line: readonly string[], env: Readonly<Record<string, string>> = {}): Child {
  // Whatever the run is set to, and a cache that is not that of the repository.
  const own = { PERDURE_PROGRAM: 'newest', NODE_OPTIONS: '', NODE_COMPILE_CACHE: join(folder, 'cache') };
  const child = new Child(join(home, 'bin/perdure'), line, { ...own, ...env }, folder);
  children.push(child);
  return child;
}

describe('the bundle, without sources beside it', () => {
  let home: string;
  let parts: readonly string[];
  beforeAll(async () => {
    home = installation('bundled');
    parts = await writeBundle(join(home, 'dist'));
  });

  test('its stamp is older than all that was written from what was read: an edit during the making is newer', () => {
    const stampMs = statSync(join(home, 'dist/stamp')).mtimeMs;
    for (const part of parts) expect(statSync(join(home, 'dist/program', part)).mtimeMs).toBeGreaterThan(stampMs);
    expect(readdirSync(home).toSorted()).toEqual(['bin', 'dist', 'node_modules', 'package.json']);
  });

  test('tells which program it is, where another has the same version', async () => {
    const buildOf = async (home: string): Promise<unknown> => {
      const child = perdure(home, ['version', '--output', 'json']);
      await child.exit;
      return (JSON.parse(child.out) as { readonly build?: unknown }).build;
    };
    const build = await buildOf(home);
    expect(build).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{8}$/);
    const other = join(folder, 'other-build');
    cpSync(home, other, { recursive: true, verbatimSymlinks: true });
    const main = join(other, 'dist/program/main.js');
    writeFileSync(main, `${readFileSync(main, 'utf8')}\n// Another program.\n`);
    expect(await buildOf(other)).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{8}$/);
    expect(await buildOf(other)).not.toBe(build);
  });

  async function startDev(...flags: readonly string[]): Promise<{ child: Child; address: string }> {
    const child = perdure(home, ['server', 'start-dev', '--port', '0', ...flags]);
    const port = /\d+$/.exec(await child.seen('out', /^Server: +localhost:\d+(?=\n)/m))?.[0] ?? '';
    return { child, address: `127.0.0.1:${port}` };
  }

  async function withClient<Result>(address: string, use: (client: Client) => Promise<Result>): Promise<Result> {
    const connection = await Connection.connect({ address });
    try {
      return await use(new Client({ connection }));
    } finally {
      await connection.close();
    }
  }

  async function listed(client: Client): Promise<readonly string[]> {
    const ids: string[] = [];
    for await (const { workflowId } of client.workflow.list({ query: "WorkflowType = 'hello'" })) ids.push(workflowId);
    return ids;
  }

  test('serves from a file, with its threads; what was acknowledged outlives a kill', async () => {
    const flags = ['--db-filename', join(folder, 'kept.db')];
    const first = await startDev(...flags);
    const runId = await withClient(first.address, async (client) => {
      const handle = await client.workflow.start('hello', { taskQueue: 'nobody', workflowId: 'kept', args: ['x'] });
      await handle.signal('note', 1);
      expect(await listed(client)).toEqual(['kept']);
      return handle.firstExecutionRunId;
    });
    first.child.process.kill('SIGKILL');
    await first.child.exit;
    const second = await startDev(...flags);
    await withClient(second.address, async (client) => {
      const { runId: found, status, historyLength } = await client.workflow.getHandle('kept').describe();
      expect([found, status.name, historyLength]).toEqual([runId, 'RUNNING', 3]);
      expect(await listed(client)).toEqual(['kept']);
    });
    expect(await second.child.stop()).toEqual({ code: 0, signal: null });
    expect(second.child.err).toBe('');
  });

  test('a server in memory loads nothing of what it does not need', async () => {
    const preload = join(folder, 'tell-loaded.mjs');
    writeFileSync(
      preload,
      `import { registerHooks } from 'node:module';
       registerHooks({ load: (url, context, next) => (url.startsWith('file:') && process.stderr.write(url + '\\n'), next(url, context)) });`,
    );
    const { child } = await startDev('--log-level', 'never');
    expect(child.err).toBe('');
    const told = perdure(home, ['server', 'start-dev', '--port', '0'], { NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` });
    await told.seen('out', /^Server:/m);
    const loaded = told.err.trim().split('\n');
    const program = pathToFileURL(join(home, 'dist/program/')).href;
    expect(loaded.filter((url) => !url.startsWith(program))).toEqual([]);
    expect(loaded).toContain(`${program}main.js`);
    expect(loaded.length).toBeLessThan(50);
    const sources = loaded.flatMap(
      (url) => (JSON.parse(readFileSync(new URL(`${url}.lines.json`), 'utf8')) as { sources: string[] }).sources,
    );
    expect(sources).toContain('src/composition.ts');
    expect(
      sources.filter((source) => /\/(zod|yaml|smol-toml|protobufjs|pg)\/|topics\/kafka\/kafka-|wire\/generated\/services/.test(source)),
    ).toEqual([]);
  });

  test('tells a bug in lines of the sources', async () => {
    const preload = join(folder, 'plant-bug.mjs');
    writeFileSync(
      preload,
      `import v8 from 'node:v8'; import { syncBuiltinESMExports } from 'node:module';
       v8.getHeapStatistics = () => { throw new Error('planted'); }; syncBuiltinESMExports();`,
    );
    const source = 'src/observability/heap-watch.ts';
    const lines = readFileSync(join(repository, source), 'utf8').split('\n');
    const calls = lines.flatMap((line, index) => (line.includes('getHeapStatistics()') ? [index + 1] : []));
    const child = perdure(home, ['server', 'start-dev', '--port', '0'], { NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` });
    expect(await child.exit).toEqual({ code: 1, signal: null });
    const [, place] = /^perdure: ended because of a bug.*\nError: planted\n.*\n {4}at .* \((.*)\)\n/.exec(child.err) ?? [];
    expect(calls.map((line) => `${pathToFileURL(join(home, source)).href}:${line}`)).toContain(place);
    expect(child.err).not.toContain('dist/program');
  });

  test('version, help and the check of a configuration, with kafkajs', async () => {
    const version = perdure(home, ['--version']);
    expect(await version.exit).toEqual({ code: 0, signal: null });
    expect(version.out).toMatch(/^Perdure 0\.1\.0\+[0-9a-f]{8} \(Temporal API /);
    const help = perdure(home, ['server', '--help']);
    expect(await help.exit).toEqual({ code: 0, signal: null });
    expect(help.out).toContain('start-dev');
    const closed = await freePort();
    const config = join(folder, 'kafka.yaml');
    writeFileSync(config, `perdure: {kafka: {brokers: ["127.0.0.1:${closed}"]}}\n`);
    const validate = perdure(home, ['config', 'validate', '--connect', config]);
    expect(await validate.exit).toEqual({ code: 1, signal: null });
    expect([validate.out, validate.err]).toEqual([`${config}: ok\n`, expect.stringMatching(`^127\\.0\\.0\\.1:${closed}: .*ECONNREFUSED`)]);
  });

  test('a start on Kafka is refused in words', async () => {
    const hangsUp = createServer((socket) => void socket.destroy());
    await new Promise<void>((resolve) => void hangsUp.listen(0, '127.0.0.1', resolve));
    const { port } = hangsUp.address() as AddressInfo;
    const config = join(folder, 'no-broker.yaml');
    writeFileSync(config, `services: {frontend: {rpc: {grpcPort: 0}}}\nperdure: {kafka: {brokers: ["127.0.0.1:${port}"]}}\n`);
    const child = perdure(home, ['server', 'start', '--config', config, '--allow-no-auth']);
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toContain(`127.0.0.1:${port}`);
    expect(child.err).not.toContain('bug');
    hangsUp.close();
  });

  test('a package that is gone is noticed by the start, not by the first line of the log', async () => {
    const bare = join(folder, 'without-packages');
    cpSync(home, bare, { recursive: true, filter: (path) => !path.endsWith('/node_modules') });
    const path = `${dirname(realpathSync(join(repository, 'node_modules/node/bin/node')))}:${process.env['PATH']}`;
    const child = perdure(bare, ['server', 'start-dev', '--port', '0'], { PATH: path });
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toBe(
      `perdure: this installation is not complete\nCannot find module 'pino'\nInstall the package in ${bare} again.\n`,
    );
  });

  test('a part that is gone is reported with what to do', async () => {
    const damaged = installation('damaged');
    cpSync(join(home, 'dist'), join(damaged, 'dist'), { recursive: true });
    const part = parts.find((name) => name.startsWith('composition-')) ?? '';
    rmSync(join(damaged, 'dist/program', part));
    const child = perdure(damaged, ['server', 'start-dev', '--port', '0']);
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toContain(`this installation is not complete\nCannot find module '${join(damaged, 'dist/program', part)}'`);
    // Made again over the damaged one.
    await writeBundle(join(damaged, 'dist'));
    const again = perdure(damaged, ['server', 'start-dev', '--port', '0']);
    await again.seen('out', /^Server:/m);
  });
});

describe('beside sources', () => {
  const hour = 3_600;
  const now = Date.now() / 1_000;
  let count = 0;

  /** Programs that say what they are; the bundle is half an hour old, the sources and package.json an hour. */
  function both(): string {
    const home = installation(`both-${count++}`);
    for (const [path, text] of [
      ['src/cli/main.ts', 'source'],
      ['src/history/timer/timer.ts', ''],
      ['src/history/timer/gone.ts', ''],
      ['dist/program/main.js', 'bundle'],
      ['dist/stamp', ''],
    ] as const) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), `console.log('${text}')`);
    }
    for (const path of [
      'src/history/timer/timer.ts',
      'src/history/timer/gone.ts',
      'src/history/timer',
      'src/history',
      'src/cli/main.ts',
      'src/cli',
      'src',
    ]) {
      utimesSync(join(home, path), now - hour, now - hour);
    }
    utimesSync(join(home, 'package.json'), now - hour, now - hour);
    utimesSync(join(home, 'dist/stamp'), now - hour / 2, now - hour / 2);
    return home;
  }

  async function runs(home: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const child = perdure(home, [], env);
    const { code } = await child.exit;
    expect([code, child.err]).toEqual([0, '']);
    return child.out.trim();
  }

  test('a bundle that is newer than all of them is run', async () => {
    expect(await runs(both())).toBe('bundle');
  });

  test.each<readonly [string, (home: string) => void]>([
    ['a source was edited', (home) => utimesSync(join(home, 'src/history/timer/timer.ts'), now + hour, now + hour)],
    ['a source was removed', (home) => rmSync(join(home, 'src/history/timer/gone.ts'))],
    [
      'a source came back under another name',
      (home) => renameSync(join(home, 'src/history/timer/gone.ts'), join(home, 'src/history/back.ts')),
    ],
    ['the packages may be others', (home) => utimesSync(join(home, 'package.json'), now + hour, now + hour)],
    ['the bundle has no stamp', (home) => rmSync(join(home, 'dist/stamp'))],
    ['there is no bundle', (home) => rmSync(join(home, 'dist'), { recursive: true })],
  ])('%s: the sources are run', async (_what, change) => {
    const home = both();
    change(home);
    expect(await runs(home)).toBe('source');
  });

  test('the sources are run when they are asked for, or when nothing tells which is newer', async () => {
    const home = both();
    expect(await runs(home, { PERDURE_PROGRAM: 'source' })).toBe('source');
    const tools = join(folder, 'without-find');
    mkdirSync(tools);
    for (const tool of ['readlink', 'dirname', 'sh'])
      symlinkSync(existsSync(join('/bin', tool)) ? join('/bin', tool) : join('/usr/bin', tool), join(tools, tool));
    expect(await runs(home, { PATH: tools })).toBe('source');
    const unknown = perdure(home, [], { PERDURE_PROGRAM: 'dist' });
    expect(await unknown.exit).toEqual({ code: 2, signal: null });
    expect(unknown.err).toBe('perdure: PERDURE_PROGRAM takes newest or source; found dist\n');
  });
});
