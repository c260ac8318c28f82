import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { namesIn } from './names-in.ts';
import { onFile, serversUnderTest } from './servers.ts';
import type { RunningServer, ServerUnderTest } from './servers.ts';
import { skipAloud } from './skip-aloud.ts';

const run = promisify(execFile);
const here = fileURLToPath(new URL('.', import.meta.url));
const cache = fileURLToPath(new URL('../../.cache', import.meta.url));
const buildTimeoutMs = 600_000;
const runTimeoutMs = 300_000;

/** Another language's SDK: one program that runs all of its scenarios at once, replays them, and prints a line for each. */
type OtherSdk = {
  readonly name: string;
  /** As its sources have them: a program that runs others has lost some, a list that nobody appends or a module that nobody imports. */
  readonly scenarios: readonly string[];
  readonly missing: string | undefined;
  /** Compiles or installs; a second run finds it done. */
  prepare(): Promise<void>;
  readonly command: (server: RunningServer) => readonly [string, ...string[]];
};

const goBinary = join(cache, 'sdk-scenarios-go');
const pythonHome = join(cache, 'sdk-scenarios-python');
const pythonBinary = join(pythonHome, 'bin', 'python');

const otherSdks: readonly OtherSdk[] = [
  {
    name: 'Go',
    scenarios: namesIn('go', /^\t\{"(.+)", func\(/gm),
    missing: answers('go', ['version']) ? undefined : 'no go on the path',
    async prepare() {
      mkdirSync(cache, { recursive: true });
      await run('go', ['build', '-o', goBinary, '.'], { cwd: join(here, 'go') });
    },
    command: ({ address, namespace }) => [goBinary, '-address', address, '-namespace', namespace],
  },
  {
    name: 'Python',
    scenarios: namesIn('python', /^@scenario\("(.+)"\)$/gm),
    missing: answers('python3', ['-c', 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))'])
      ? undefined
      : 'no python3 of at least 3.10 with venv on the path',
    prepare: installPython,
    command: ({ address, namespace }) => [pythonBinary, '-B', join(here, 'python', 'main.py'), address, namespace],
  },
];

const present = otherSdks.filter(({ missing }) => missing === undefined);
for (const { name, missing } of otherSdks) {
  if (missing !== undefined) skipAloud(`the scenarios with the ${name} SDK`, missing);
}

test('the documentation lists every scenario', () => {
  const page = readFileSync(new URL('../../docs/sdk-scenarios.md', import.meta.url), 'utf8');
  const names = otherSdks.flatMap(({ scenarios }) => scenarios);
  expect(names.filter((name) => !page.includes(name))).toEqual([]);
});

describe('other SDKs', () => {
  beforeAll(() => Promise.all(present.map((sdk) => sdk.prepare())), buildTimeoutMs);

  for (const server of [...serversUnderTest(), ...onFile()]) {
    if (server.missing === undefined) {
      describe(server.name, () => {
        scenariosOn(server);
      });
    }
    if (server.missing !== undefined) skipAloud(`other SDKs on ${server.name}`, server.missing);
  }
});

/** They wait more than they compute: all of them at once, beside each other. */
function scenariosOn(server: ServerUnderTest): void {
  let running: RunningServer;

  beforeAll(async () => {
    running = await server.start();
  });
  afterAll(() => running.stop());

  describe.concurrent('scenarios', () => {
    for (const sdk of present) {
      test(
        `all scenarios with the ${sdk.name} SDK`,
        async () => {
          const { lines, error } = await linesOf(sdk.command(running));
          console.log(lines.map((line) => `${sdk.name}: ${line}`).join('\n'));
          expect(lines.filter((line) => line.startsWith('FAILED: '))).toEqual([]);
          expect(error).toBe('');
          const ok = lines.flatMap((line) => /^ok: (.+) \(\d+ ms\)$/.exec(line)?.[1] ?? []);
          expect(ok.toSorted()).toEqual(sdk.scenarios);
        },
        runTimeoutMs + 10_000,
      );
    }
  });
}

/** What a program printed, and what is wrong if it did not end well. */
async function linesOf([program, ...args]: readonly [string, ...string[]]): Promise<{ readonly lines: string[]; readonly error: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: runTimeoutMs }, (error, stdout, stderr) => {
      resolve({ lines: stdout.split('\n').filter((line) => line !== ''), error: error === null ? '' : `${error.message}\n${stderr}` });
    });
  });
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
