/** What one client can send that is made to be work: another namespace goes on, the server says that it lives, and it can be stopped. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FloodedServer, type FloodReport } from './flooded-server.ts';

/** A machine that does much else may starve the victim too: then once more. What a server lets a flood do, it lets it do each time. */
const attempts = 3;
/** On a machine that answers at once without the flood; else three times what it takes then. */
const liveMsMax = 500;
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

/** Each of them in one attempt at least. */
function harmsOf(reports: readonly FloodReport[]): readonly string[] {
  const harms = [
    { harm: 'the victim is slower than half', isNone: ({ paceRatio }: FloodReport) => paceRatio >= 0.5 },
    { harm: '/health/live is slow', isNone: ({ liveMs, calmLiveMs }: FloodReport) => liveMs <= Math.max(liveMsMax, 3 * calmLiveMs) },
    { harm: 'a turn is long', isNone: ({ turnMs }: FloodReport) => turnMs <= turnMsMax },
  ];
  return harms.filter(({ isNone }) => !reports.some(isNone)).map(({ harm }) => harm);
}

describe.each([
  ['requests in pieces of one byte, on one connection', 'tiny-data', []],
  ['calls cancelled with the same breath, on one connection', 'rapid-resets', []],
  ['whole calls cancelled with the same breath, on eight connections, again and again', 'rapid-resets', ['8', 'whole']],
] as const)('%s', (_what, program, args) => {
  test('the victim keeps half of its pace, and the server says that it lives', async () => {
    const reports: FloodReport[] = [];
    while (reports.length < attempts && harmsOf(reports).length > 0) reports.push(await server.under(program, ...args));
    expect(harmsOf(reports), JSON.stringify(reports)).toEqual([]);
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
