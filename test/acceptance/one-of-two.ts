/** Two servers on one prefix that are started at the same moment, or nearly so. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { idsOf } from '../support/listed-workflows.ts';
import { withClient } from '../support/with-client.ts';
import type { ServerProcess } from '../support/server-process.ts';

/** For each gap: one of them ends with 3 and names the other, which goes on, with all workflows that any of them started. */
export async function oneGoesOn(servers: readonly [ServerProcess, ServerProcess], gapsMs: readonly number[]): Promise<void> {
  const [first, second] = servers;
  const started: string[] = [];
  try {
    for (const gapMs of gapsMs) {
      await Promise.allSettled([first.start(), delay(gapMs).then(async () => await second.start())]);
      const [loser, code] = await Promise.race(servers.map(async (server) => [server, await server.exitCode(30_000)] as const));
      const winner = loser === first ? second : first;
      expect(code, `the one that ended, ${gapMs} ms apart`).toBe(3);
      expect(loser.output).toMatch(new RegExp(`another server \\(\\S+ pid ${winner.pid}\\) serves prefix`));
      started.push(...(await serves(winner)));
      const listed = await withClient(winner.address, (client) => idsOf(client, ''));
      expect(new Set(listed)).toEqual(new Set(started));
      await winner.stop();
      expect(await winner.exitCode(0), 'the one that went on').toBe(0);
    }
  } finally {
    for (const server of servers) await server.stop();
  }
}

/** Starts workflows there, enough for each shard to have one: their ids. */
export async function serves({ address }: ServerProcess): Promise<readonly string[]> {
  const ids = Array.from({ length: 40 }, () => randomUUID());
  await withClient(address, async ({ workflow }) => {
    await Promise.all(ids.map((workflowId) => workflow.start('nobody-runs-it', { workflowId, taskQueue: 'nobody' })));
  });
  return ids;
}
