/** The image: what its build has to pack, and its health check as Docker would run it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { memoryServer } from '../support/memory-server.ts';
import { freePort } from '../support/server-process.ts';

const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
const [, command = '[]'] = /^HEALTHCHECK .*\\\n +CMD (.+)$/m.exec(dockerfile) ?? [];
const [program = '', ...args] = JSON.parse(command) as readonly string[];

let server: Awaited<ReturnType<typeof memoryServer>>;
beforeAll(async () => {
  server = await memoryServer({ historyShards: 1 });
});
afterAll(() => server.stop());

async function health(port: string): Promise<unknown> {
  const child = spawn(program, args, { stdio: 'ignore', env: { ...process.env, PERDURE_GRPC_PORT: port } });
  const [code] = await once(child, 'exit');
  return code;
}

test('is healthy while the server’s port is open, and not where nobody listens', async () => {
  expect(await health(server.address.split(':')[1] ?? '')).toBe(0);
  expect(await health(String(await freePort()))).not.toBe(0);
});

test('is built of all that the package holds, but for the bundle, which its build makes', () => {
  const { files } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly files: readonly string[];
  };
  const ignored = readFileSync(new URL('../../.dockerignore', import.meta.url), 'utf8').split('\n');
  const copied = [...dockerfile.matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, from = '']) => from.split(' '));
  for (const part of [...files.filter((name) => name !== 'dist'), 'README.md', 'LICENSE', 'package.json', 'package-lock.json']) {
    expect(copied).toContain(part);
    expect(ignored).toContain(`!${part}`);
  }
});
