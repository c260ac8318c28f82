/** Closed histories whose server is killed with -9 while they are written to their folder: each is there in the end, whole and once. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { enums } from '../sdk/fields.ts';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';

const namespace = 'kept';
const workflows = 60;
const signals = 40;
const kills = 3;
const patience = { timeout: 60_000, interval: 50 };

test(`histories on their way to a folder are killed ${kills} times (seed ${seed})`, { timeout: 120_000 }, () =>
  withFolder(async (folder) => {
    const prng = new Prng(seed);
    const kept = join(folder, 'kept');
    const files = (): Promise<readonly string[]> => readdir(kept).catch(() => []);
    const whole = async (): Promise<number> => (await files()).filter((name) => name.endsWith('.history')).length;
    const archival = {
      ...{ isPaused: false, isRead: true, fileMode: 0o600, dirMode: 0o700, roots: [folder] },
      namespaceDefault: { isEnabled: true, uri: `file://${kept}` },
    };
    const spread = ['--dynamic-config-value', 'history.archivalProcessorArchiveDelay="3s"'];
    const server = await embeddedServer(join(folder, 'perdure.db'), spread, { archival });
    try {
      await server.start();
      const runs = await withClient(server.address, closedRuns);
      for (let kill = 0; kill < kills; kill++) {
        const before = await whole();
        await expect.poll(async () => (await whole()) > before || before === workflows, patience).toBe(true);
        await delay(prng.int(0, 200));
        await server.kill9();
        await server.start();
      }
      await expect.poll(whole, patience).toBe(workflows);
      await withClient(server.address, async (client) => {
        await Promise.all(runs.map(async (runId, nth) => await deleted(client, `order-${nth}`, runId)));
        for (const [nth, runId] of runs.entries()) {
          const execution = { workflowId: `order-${nth}`, runId };
          const { archived, history } = await client.workflowService.getWorkflowExecutionHistory({ namespace, execution });
          expect([archived, history?.events?.length]).toEqual([true, signals + 3]);
          expect(history?.events?.at(-1)?.eventType).toBe(enums.EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED);
        }
      });
      expect((await files()).toSorted()).toEqual((await files()).filter((name) => /^\d+_0\.history$/.test(name)).toSorted());
    } finally {
      await server.stop();
    }
  }),
);

/** By their number. */
async function closedRuns({ workflowService: service }: Client): Promise<readonly string[]> {
  await service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } });
  return await Promise.all(
    Array.from({ length: workflows }, async (_, nth) => {
      const workflowId = `order-${nth}`;
      const start = { namespace, workflowId, workflowType: { name: 'T' }, taskQueue: { name: 'q' }, requestId: workflowId };
      const { runId } = await service.startWorkflowExecution(start);
      const workflowExecution = { workflowId, runId };
      for (let signal = 0; signal < signals; signal++)
        await service.signalWorkflowExecution({ namespace, workflowExecution, signalName: `s${signal}`, requestId: `${signal}` });
      await service.terminateWorkflowExecution({ namespace, workflowExecution, reason: 'over' });
      return runId;
    }),
  );
}

async function deleted({ workflowService: service }: Client, workflowId: string, runId: string): Promise<void> {
  const execution = { workflowId, runId };
  await service.deleteWorkflowExecution({ namespace, workflowExecution: execution });
  const describe = () => service.describeWorkflowExecution({ namespace, execution });
  await expect.poll(() => describe().then(String, (error: unknown) => String(error)), patience).toContain('not found');
}
