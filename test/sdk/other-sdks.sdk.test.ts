import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { serversUnderTest } from './servers.ts';
import type { RunningServer, ServerUnderTest } from './servers.ts';
import { skipAloud } from './skip-aloud.ts';

const run = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));
const cache = fileURLToPath(new URL('../../.cache', import.meta.url));
const buildTimeoutMs = 600_000;
const runTimeoutMs = 90_000;

/** Another language's SDK: three workflows, each replayed by that SDK; the program exits with 0 or says what was wrong. */
type OtherSdk = {
  readonly name: string;
  readonly missing: string | undefined;
  /** Compiles or installs; a second run finds it done. */
  prepare(): Promise<void>;
  readonly command: (server: RunningServer) => readonly [string, ...string[]];
};

const goBinary = join(cache, 'sdk-smoke-go');
const pythonHome = join(cache, 'sdk-smoke-python');
const pythonBinary = join(pythonHome, 'bin', 'python');

const otherSdks: readonly OtherSdk[] = [
  {
    name: 'Go',
    missing: answers('go', ['version']) ? undefined : 'no go on the path',
    async prepare() {
      mkdirSync(cache, { recursive: true });
      await run('go', ['build', '-o', goBinary, '.'], { cwd: join(here, 'go') });
    },
    command: ({ address, namespace }) => [goBinary, '-address', address, '-namespace', namespace],
  },
  {
    name: 'Python',
    missing: answers('python3', ['-c', 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'])
      ? undefined
      : 'no python3 of at least 3.10 with venv on the path',
    prepare: installPython,
    command: ({ address, namespace }) => [pythonBinary, join(here, 'python', 'smoke.py'), address, namespace],
  },
];

for (const sdk of otherSdks) {
  if (sdk.missing === undefined) {
    describe(`${sdk.name} SDK`, () => {
      smokeOnEveryServer(sdk);
    });
  }
  if (sdk.missing !== undefined) skipAloud(`the smoke test with the ${sdk.name} SDK`, sdk.missing);
}

function smokeOnEveryServer(sdk: OtherSdk): void {
  beforeAll(() => sdk.prepare(), buildTimeoutMs);

  for (const server of serversUnderTest()) {
    if (server.missing === undefined) {
      describe(server.name, () => {
        smokeOn(sdk, server);
      });
    }
    if (server.missing !== undefined) skipAloud(`the ${sdk.name} SDK on ${server.name}`, server.missing);
  }
}

function smokeOn(sdk: OtherSdk, server: ServerUnderTest): void {
  let running: RunningServer;

  beforeAll(async () => {
    running = await server.start();
  });
  afterAll(() => running.stop());

  test(
    'three workflows run and replay',
    async () => {
      const [program, ...args] = sdk.command(running);
      const { stdout } = await run(program, args, { timeout: runTimeoutMs });
      expect(stdout.match(/^ok: /gm)).toHaveLength(3);
    },
    runTimeoutMs + 10_000,
  );
}

/** The environment is made again when the pinned version has changed. */
async function installPython(): Promise<void> {
  const requirements = join(here, 'python', 'requirements.txt');
  const installed = join(pythonHome, 'requirements.txt');
  const wanted = readFileSync(requirements, 'utf8');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === wanted) return;
  await run('python3', ['-m', 'venv', '--clear', pythonHome]);
  await run(pythonBinary, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', requirements]);
  writeFileSync(installed, wanted);
}

function answers(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
