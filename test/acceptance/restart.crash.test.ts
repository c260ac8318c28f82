/**
 * SIGTERM under load, again and again: the server leaves with 0 and soon, nothing that it answered is lost, and a worker that just polled
 * gets the task that was being started for it, instead of leaving it to its timeout.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CrashLoad } from '../crash/crash-load.ts';
import { check } from '../crash/checker.ts';
import type { FinalRun, ObservedEvent } from '../crash/recorded-history.ts';
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
  const stopsMs: number[] = [];
  for (let round = 1; round <= restarts; round++) {
    await load.begun(20 + Math.floor(random() * 80));
    stopsMs.push(Date.now());
    await server.stop();
    expect(await server.exitCode(0), `restart ${round}`).toBe(0);
    await server.start();
  }
  const finalRuns = await load.finish(quiescenceTimeoutMs);
  expect(check({ entries: load.recorder.entries, finalRuns })).toEqual([]);
  expect(leftByPolls(finalRuns, load.emptyPolls, stopsMs), 'tasks that were started for a poll which a stop ended without them').toEqual(
    [],
  );
}

/** A server that stops ends the polls that are still open after half of its grace of two seconds, whatever is on its way to them. */
const pollGraceMs = 900;

/**
 * Workflow tasks that timed out because the poll for which they were started was ended empty too soon. A slow machine may use up the grace, and
 * may take longer than a task's timeout to start the server again: neither is counted.
 */
function leftByPolls(
  runs: readonly FinalRun[],
  emptyPolls: ReadonlyMap<string, number>,
  stopsMs: readonly number[],
): readonly ObservedEvent[] {
  const started = runs.flatMap(({ events }) =>
    events
      .filter(({ type }) => type === 'WorkflowTaskTimedOut')
      .flatMap(({ startedEventId }) => events.filter(({ eventId, poller }) => eventId === startedEventId && poller !== undefined)),
  );
  return started.filter(({ poller = '' }) => {
    const endedMs = emptyPolls.get(poller);
    return endedMs !== undefined && !stopsMs.some((stopMs) => endedMs >= stopMs + pollGraceMs && endedMs < stopMs + 10_000);
  });
}
