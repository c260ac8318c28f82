/**
 * One namespace asks for all that it can, with calls that cost much; another keeps at least half of its pace, a liveness probe is answered, and the
 * server can be stopped meanwhile.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FloodedServer, type FloodPlan } from './flooded-server.ts';
import { harmsOf } from './harms.ts';

/** On a processor. */
const turnMsMax = 50;
/**
 * One read of 64 KiB brings 500 of the smallest calls, and Node makes the streams of all of them at once: 40 to 70 ms, by the machine and by who else is on
 * it. What the calls ask for is done in later turns.
 */
const readTurnMsMax = 120;

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

const workers: FloodPlan = { program: 'count-workers', args: ['50'] };
const searches: FloodPlan = { program: 'matching-times', args: ['300'] };
const descriptions: FloodPlan = { program: 'describe-activities', args: ['900'] };
const counts: FloodPlan = { program: 'nasty-counts', args: ['50'], victimCounts: true };
const signals: FloodPlan = { program: 'signals', args: ['12000'] };

test.each([
  ['counts of workers that compute', 'memory', workers, turnMsMax],
  ['searches for times that are hard to find', 'a file', searches, turnMsMax],
  ['descriptions that are large', 'memory', descriptions, turnMsMax],
  ['descriptions that are large', 'a file', descriptions, turnMsMax],
  ['counts of workflows whose conditions cost much', 'memory', counts, turnMsMax],
  ['counts of workflows whose conditions cost much', 'a file', counts, turnMsMax],
  ['signals to one workflow', 'memory', signals, readTurnMsMax],
  ['signals to one workflow', 'a file', signals, readTurnMsMax],
] as const)(
  '%s, on %s: another namespace keeps half of its pace, the server lives, and SIGTERM ends it in time',
  async (_what, place, plan, longestTurnMs) => {
    const server = await serverOn(place);
    const { harms, seen } = await harmsOf(server, longestTurnMs, plan);
    expect(harms, seen).toEqual([]);
    await endsInTime(server, plan);
  },
);

async function endsInTime(server: FloodedServer, plan: FloodPlan): Promise<void> {
  await server.stopUnder(plan);
  // Who stops servers kills what is still there after 10 s, and the code would be none.
  expect(await server.process.exitCode(0)).toBe(0);
}
