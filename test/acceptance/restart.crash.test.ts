/**
 * SIGTERM under load, again and again: the server leaves with 0 and soon, nothing that it answered is lost, and a worker that just polled
 * gets the task that was being started for it, instead of leaving it to its timeout.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CrashLoad } from '../crash/crash-load.ts';
import { check } from '../crash/checker.ts';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';

const restarts = 4;
const quiescenceTimeoutMs = 60_000;

test(`${restarts} restarts under load, journals in a file (seed ${seed})`, { timeout: 120_000 }, async () => {
  await withFolder(async (folder) => {
    const server = await embeddedServer(join(folder, 'perdure.db'));
    await server.start();
    try {
      await restartUnderLoad(server);
    } finally {
      await server.stop();
    }
  });
});

async function restartUnderLoad(server: ServerProcess): Promise<void> {
  const prng = new Prng(seed);
  const random = (): number => prng.fraction();
  const load = new CrashLoad({ addresses: [server.address], namespace: 'default', clients: 6, pollers: 6, random, updateShare: 0.4 });
  load.run();
  for (let round = 1; round <= restarts; round++) {
    await delay(300 + random() * 900);
    await server.stop();
    expect(await server.exitCode(0), `restart ${round}`).toBe(0);
    await server.start();
  }
  const finalRuns = await load.finish(quiescenceTimeoutMs);
  expect(check({ entries: load.recorder.entries, finalRuns })).toEqual([]);
  // With polls ended too early it is two or three for each restart. A machine that needs two seconds to start the server may cost one.
  const timedOut = finalRuns.flatMap(({ events }) => events.filter(({ type }) => type === 'WorkflowTaskTimedOut'));
  expect(timedOut.length, 'workflow tasks left to their timeout').toBeLessThan(restarts);
}
