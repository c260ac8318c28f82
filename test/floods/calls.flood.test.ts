/**
 * One namespace asks for all that it can, with calls that cost much; another keeps at least half of its pace, a liveness probe is answered, and the
 * server can be stopped meanwhile.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { FloodPlan } from './flood.ts';
import { FloodedServer, type FloodPlace } from './flooded-server.ts';
import { harmsOf, type TurnMsMax } from './harms.ts';
import { plainTurnMs } from './plain-turn.ts';

/** On a processor. */
const turnMsMax = 50;
const usual: TurnMsMax = async () => turnMsMax;
/**
 * One read of 64 KiB brings 500 of the smallest calls, and Node makes the streams of all of them in one turn. No server on Node is shorter, so this
 * flood is judged by what a server takes that does nothing else. What the calls ask for is done in later turns.
 */
const smallestCalls: TurnMsMax = async (plan) => Math.max(turnMsMax, 1.5 * (await plainTurnMs(plan)));

async function serverOn(place: FloodPlace): Promise<FloodedServer> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-flood-'));
  const server = await FloodedServer.start(folder, place);
  onTestFinished(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return server;
}

const workers: FloodPlan = { program: 'count-workers', args: ['50'] };
const searches: FloodPlan = { program: 'matching-times', args: ['300'] };
const descriptions: FloodPlan = { program: 'describe-activities', args: ['900'] };
const counts: FloodPlan = { program: 'nasty-counts', args: ['50'], victimCounts: true };
const signals: FloodPlan = { program: 'signals', args: ['12000'] };

test.each<[what: string, FloodPlace, FloodPlan, TurnMsMax?]>([
  ['counts of workers that compute', 'memory', workers],
  ['searches for times that are hard to find', 'a file', searches],
  ['descriptions that are large', 'memory', descriptions],
  ['descriptions that are large', 'a file', descriptions],
  ['counts of workflows whose conditions cost much', 'memory', counts],
  ['counts of workflows whose conditions cost much', 'a file', counts],
  ['signals to one workflow', 'memory', signals, smallestCalls],
  ['signals to one workflow', 'a file', signals, smallestCalls],
])(
  '%s, on %s: another namespace keeps half of its pace, the server lives, and SIGTERM ends it in time',
  async (_what, place, plan, turnMsMaxOf = usual) => {
    const server = await serverOn(place);
    const { harms, seen } = await harmsOf(server, turnMsMaxOf, plan);
    expect(harms, seen).toEqual([]);
    await endsInTime(server, plan);
  },
);

async function endsInTime(server: FloodedServer, plan: FloodPlan): Promise<void> {
  await server.stopUnder(plan);
  // Who stops servers kills what is still there after 10 s, and the code would be none.
  expect(await server.process.exitCode(0)).toBe(0);
}
