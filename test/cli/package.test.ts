/** What `npm pack` makes, installed in an empty folder: it runs without a build, and without the packages that the bundle was made with. */
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeBundle } from '../../scripts/bundle.ts';
import { Child } from './child.ts';
import { childrenOfEachTest } from './children-of-test.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-package-')));
afterAll(() => rmSync(folder, { recursive: true }));
const children = childrenOfEachTest();
const bins = join(folder, 'empty/node_modules/.bin');
/** Nothing of this repository but the Node that it pins, which an installation has to find on the PATH. */
const path = `${dirname(realpathSync(join(repository, 'node_modules/node/bin/node')))}:/usr/local/bin:/usr/bin:/bin`;

type Packed = { readonly filename: string; readonly size: number; readonly files: readonly { readonly path: string }[] };
let packed: Packed;

beforeAll(async () => {
  const packing = join(folder, 'packing');
  for (const part of ['bin', 'docs/perdure.1', 'package.json', 'README.md', 'LICENSE']) {
    cpSync(join(repository, part), join(packing, part), { recursive: true });
  }
  // What npm leaves out has to be there to be left out.
  for (const part of ['src/cli/main.ts', 'test/server.test.ts']) cpSync(join(repository, part), join(packing, part));
  await writeBundle(join(packing, 'dist'));
  // The bundle is made already: `prepare` would make it once more.
  const pack = await ran('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], packing);
  [packed] = JSON.parse(pack.out) as [Packed];
  mkdirSync(join(folder, 'empty'));
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', join(folder, packed.filename)];
  await ran('npm', install, join(folder, 'empty'));
}, 180_000);

async function ran(command: string, line: readonly string[], cwd = folder): Promise<Child> {
  const child = new Child(command, line, { PATH: path, NODE_OPTIONS: '' }, cwd);
  const { code } = await child.exit;
  expect([code, code === 0 ? '' : child.err]).toEqual([0, '']);
  return child;
}

test('has the program and its documents alone, in less than 3 MB', () => {
  const parts = new Set(packed.files.map((file) => file.path.split('/', 1).join()));
  expect([...parts].toSorted()).toEqual(['LICENSE', 'README.md', 'bin', 'dist', 'docs', 'package.json']);
  expect(packed.size).toBeLessThan(3_000_000);
});

test('brings no development packages, but their licences as far as they are in the bundle', () => {
  const modules = join(folder, 'empty/node_modules');
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as Record<string, Readonly<Record<string, string>>>;
  const installed = readdirSync(modules);
  expect(installed).toEqual(expect.arrayContaining(Object.keys(manifest['dependencies'] ?? {}).map((name) => name.split('/', 1).join())));
  // What pg or gRPC need themselves may be among ours.
  expect(
    installed.filter((name) => ['@temporalio', 'node', 'rolldown', 'typescript', 'vitest', 'xstate', 'yaml', 'zod'].includes(name)),
  ).toEqual([]);
  const licences = readFileSync(join(modules, 'perdure/dist/licenses.txt'), 'utf8');
  for (const name of ['long', 'protobufjs', 'smol-toml', 'xstate', 'yaml', 'zod'])
    expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'));
});

test('runs hello, and says which build it is', async () => {
  const { out } = await ran(join(bins, 'perdure'), ['version', '--output', 'json']);
  const { build } = JSON.parse(out) as { readonly build: string };
  const server = new Child(join(bins, 'perdure'), ['server', 'start-dev', '--port', '0'], { PATH: path, NODE_OPTIONS: '' }, folder);
  children.push(server);
  const address = (await server.seen('out', /^Server: +localhost:\d+(?=\n)/m)).replace(/^Server: +/, '');
  expect(server.out).toMatch(new RegExp(`^Perdure ${build.replace('+', '\\+')} \\(`));
  expect(server.out).not.toContain('npm run');
  const hello = new Child(process.execPath, [join(repository, 'examples/hello/hello.ts')], { TEMPORAL_ADDRESS: address });
  children.push(hello);
  await hello.exit;
  expect(hello.out).toContain('Hello, Perdure!\n');
  expect([await server.stop(), server.err]).toEqual([{ code: 0, signal: null }, '']);
});

test('an error pattern finds its engine, and the extensions of the Temporal CLI their program', async () => {
  const pattern = ['--dynamic-config-value', 'history.TaskDLQErrorPattern="no space|("'];
  const server = new Child(
    join(bins, 'perdure'),
    ['server', 'start-dev', '--port', '0', ...pattern],
    { PATH: path, NODE_OPTIONS: '' },
    folder,
  );
  children.push(server);
  await server.seen('err', /this value is not used: .*missing closing \): `no space\|\(`/);
  expect((await ran(join(bins, 'temporal-admin'), ['--help'])).out).toContain('Inspect and repair a running server.');
});

test('with an older Node says what it needs', async () => {
  const old = join(folder, 'old-node');
  mkdirSync(old);
  writeFileSync(join(old, 'node'), '#!/bin/sh\n[ "$1" = --version ] && echo v20.20.2 && exit 0\nexit 1\n');
  chmodSync(join(old, 'node'), 0o755);
  const child = new Child(join(bins, 'perdure'), ['server', 'start-dev'], { PATH: `${old}:${path}` });
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect([child.out, child.err]).toEqual([
    '',
    'perdure: needs Node 24.12 or newer; found on the PATH: v20.20.2.\nPut a newer node first on the PATH: https://nodejs.org/en/download has it.\n',
  ]);
});
