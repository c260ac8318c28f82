/**
 * A server that is killed with -9 again and again while it empties a deleted namespace: in the end nothing of it is left, in no shard, no task queue
 * and no row of List, and the namespace that has its name by now is as it was.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';

const namespace = 'orders';
const workflows = 200;
const kept = 5;
const kills = 2;
const flags = ['perdure.deleteNamespace.graceTime="300ms"', 'frontend.deleteNamespaceDeleteActivityRPS=20'];

test(`a namespace is emptied by a server that is killed ${kills} times (seed ${seed})`, { timeout: 120_000 }, () =>
  withFolder(async (folder) => {
    const prng = new Prng(seed);
    const database = join(folder, 'perdure.db');
    const server = await embeddedServer(
      database,
      flags.flatMap((value) => ['--dynamic-config-value', value]),
    );
    try {
      await server.start();
      const id = await withClient(server.address, async (client) => {
        const first = await register(client);
        await startMany(client, workflows);
        await client.connection.operatorService.deleteNamespace({ namespace });
        expect(await register(client)).not.toBe(first);
        await startMany(client, kept);
        return first;
      });
      for (let kill = 0; kill < kills; kill++) {
        await delay(prng.int(300, 1_200));
        await server.kill9();
        await server.start();
      }
      await withClient(server.address, async ({ workflowService: service }) => {
        const isGone = () =>
          service.describeNamespace({ id }).then(
            () => false,
            () => true,
          );
        await expect.poll(isGone, { timeout: 60_000, interval: 100 }).toBe(true);
        const listed = () => service.listWorkflowExecutions({ namespace });
        await expect.poll(async () => (await listed()).executions.length, { timeout: 60_000 }).toBe(kept);
      });
      const { shards, matching } = (await (await fetch(`http://${server.address}/health/state`)).json()) as StatePage;
      expect(sum(shards.map(({ executions: { hot, cold = 0 } }) => hot + cold))).toBe(kept);
      expect(sum(matching.map(({ storedTasks }) => storedTasks))).toBe(kept);
    } finally {
      await server.stop();
    }
    expect(rowsOf(`${database}-state`)).toEqual({ runs: kept, visibility: kept, matching_tasks: kept });
  }),
);

type StatePage = {
  readonly shards: readonly { readonly executions: { readonly hot: number; readonly cold?: number } }[];
  readonly matching: readonly { readonly storedTasks: number }[];
};

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

async function register({ workflowService: service }: Client): Promise<string> {
  await service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } });
  return (await service.describeNamespace({ namespace })).namespaceInfo?.id ?? '';
}

async function startMany({ workflowService: service }: Client, count: number): Promise<void> {
  const on = { workflowType: { name: 'T' }, taskQueue: { name: 'nobody' } };
  const start = (workflowId: string) => service.startWorkflowExecution({ namespace, workflowId, ...on, requestId: workflowId });
  await Promise.all(Array.from({ length: count }, (_, nth) => start(`w${nth}`)));
}

/** What a stopped server has left on the disk. */
function rowsOf(file: string): unknown {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const count = (table: string): unknown => database.prepare(`SELECT count(*) AS rows FROM ${table}`).get()?.['rows'];
    return { runs: count('runs'), visibility: count('visibility'), matching_tasks: count('matching_tasks') };
  } finally {
    database.close();
  }
}
