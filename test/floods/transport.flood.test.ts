/** What one client can send that is made to be work: another namespace goes on, the server says that it lives, and it can be stopped. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FloodedServer } from './flooded-server.ts';
import { harmsOf } from './harms.ts';

/** On a processor. One turn deals with 64 KiB of each of a few sockets to the end. */
const turnMsMax = 250;

let folder = '';
let server: FloodedServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-flood-'));
  server = await FloodedServer.start(folder);
});
afterAll(async () => {
  await server.process.stop();
  await rm(folder, { recursive: true, force: true });
});

describe.each([
  ['requests in pieces of one byte, on one connection', 'tiny-data', []],
  ['calls cancelled with the same breath, on one connection', 'rapid-resets', []],
  ['whole calls cancelled with the same breath, on eight connections, again and again', 'rapid-resets', ['8', 'whole']],
] as const)('%s', (_what, program, args) => {
  test('the victim keeps half of its pace, and the server says that it lives', async () => {
    const { harms, seen } = await harmsOf(server, turnMsMax, program, ...args);
    expect(harms, seen).toEqual([]);
  });
});

test('SIGTERM ends a server under a flood within its grace', async () => {
  const own = await mkdtemp(join(tmpdir(), 'perdure-flood-'));
  const stopped = await FloodedServer.start(own);
  try {
    // Who stops servers kills what is still there after 10 s, and the code would be none.
    await stopped.stopUnder('rapid-resets', '8', 'whole');
    expect(await stopped.process.exitCode(0)).toBe(0);
  } finally {
    await stopped.process.stop();
    await rm(own, { recursive: true, force: true });
  }
});
