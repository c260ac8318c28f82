/** What one client can send that is made to be work: another namespace goes on, the server says that it lives, and it can be stopped. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { FloodPlan } from './flood.ts';
import { FloodedServer } from './flooded-server.ts';
import { harmsOf } from './harms.ts';

/** On a processor. One turn deals with 64 KiB of each of a few sockets to the end. */
const turnMsMax = async (): Promise<number> => 250;

let folder = '';
let server: FloodedServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-flood-'));
  server = await FloodedServer.start(folder);
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const wholeResets: FloodPlan = { program: 'rapid-resets', args: ['8', 'whole'] };
const cancelledPolls: FloodPlan = { program: 'cancelled-polls' };

test.each([
  ['requests in pieces of one byte, on one connection', { program: 'tiny-data' }],
  ['calls cancelled with the same breath, on one connection', { program: 'rapid-resets' }],
  ['whole calls cancelled with the same breath, on eight connections, again and again', wholeResets],
  ['calls of which nothing comes but long headers, with a deadline of years', { program: 'endless-requests' }],
] as const)('%s: the victim keeps half of its pace, and the server says that it lives', async (_what, plan) => {
  const { harms, seen } = await harmsOf(server, turnMsMax, plan);
  expect(harms, seen).toEqual([]);
});

test('polls cancelled on a connection that carries those of others: these live on, and so does everybody else', async () => {
  const { harms, seen, told } = await harmsOf(server, turnMsMax, cancelledPolls);
  expect(harms, seen).toEqual([]);
  expect(told).toMatch(/^0 of 20 long polls of another namespace ended/);
});

test.each([
  ['whole calls cancelled with the same breath', wholeResets],
  ['cancelled polls', cancelledPolls],
])('SIGTERM ends a server within its grace: %s', async (_what, plan) => {
  const own = await mkdtemp(join(tmpdir(), 'perdure-flood-'));
  const stopped = await FloodedServer.start(own);
  try {
    await stopped.stopUnder(plan);
    // Who stops servers kills what is still there after 10 s, and the code would be none.
    expect(await stopped.process.exitCode(0)).toBe(0);
  } finally {
    await stopped.stop();
    await rm(own, { recursive: true, force: true });
  }
});
