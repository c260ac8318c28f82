/**
 * One namespace asks for all that it can, with calls that are dear; another keeps at least half of its pace, a liveness probe is answered, and the
 * server can be stopped.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FloodedServer } from './flooded-server.ts';
import { harmsOf } from './harms.ts';

const turnMsMax = 50;

type Place = 'memory' | 'a file';

async function serverOn(place: Place): Promise<FloodedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-flood-'));
  const server = await FloodedServer.start(folder, place === 'memory' ? [] : ['--db-filename', join(folder, 'flooded.db')]);
  onTestFinished(async () => {
    await server.process.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return server;
}

const counts = ['counts of workers that compute', 'count-workers', '50'] as const;
const searches = ['searches for times that are hard to find', 'matching-times', '300'] as const;
const descriptions = ['descriptions that are dear to write', 'describe-activities', '900'] as const;
const signals = ['signals to one workflow', 'signals', '12000'] as const;

describe('another namespace keeps half of its pace, and the server says that it lives', () => {
  test.each([
    [...counts, 'memory'],
    [...searches, 'memory'],
    [...descriptions, 'memory'],
    [...descriptions, 'a file'],
  ] as const)('%s (%s × %s, on %s)', async (_what, program, underWay, place) => {
    const { harms, seen } = await harmsOf(await serverOn(place), turnMsMax, program, underWay);
    expect(harms, seen).toEqual([]);
  });
});

test.each([counts, searches, descriptions, signals])('SIGTERM ends a server within its grace: %s', async (_what, program, underWay) => {
  const server = await serverOn('a file');
  await server.stopUnder(program, underWay);
  // Who stops servers kills what is still there after 10 s, and the code would be none.
  expect(await server.process.exitCode(0)).toBe(0);
});
