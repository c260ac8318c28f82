/** A server on a file is killed with -9 in a merge, which is cancelled then, and the rest is purged: each dead letter is either executed or purged. */
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { perdureAt } from '../cli/perdure-process.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { polledWorkflows } from './polled-workflows.ts';

const patience = { timeout: 60_000, interval: 100 };
const namespace = 'default';
const taskQueue = { name: 'nobody' };
const letters = 60;
const fault = 'task=TASK_TYPE_TRANSFER_WORKFLOW_TASK,kind=permanent,error=planted';
type Job = { readonly state: string; readonly merged: number; readonly purged: number };

test('each dead letter of a merge that was killed is executed, or purged and never executed', () =>
  withFolder(async (folder) => {
    const file = join(folder, 'perdure.db');
    const faulty = await embeddedServer(file, ['--dev-faults', fault]);
    const mended = await embeddedServer(file, [], {}, Number(faulty.address.split(':')[1]));
    const dlq = (words: string) => perdureAt(faulty.address, `admin queue dlq ${words}`);
    const count = async (): Promise<number> => Number((await dlq('count --category transfer')).out || Number.NaN);
    try {
      await faulty.start();
      await startWorkflows(faulty.address);
      await expect.poll(count, patience).toBe(letters);
      await faulty.kill9();
      await mended.start();
      const begun = await dlq('merge --category transfer --rps 20 --concurrency 40 --no-wait --yes -o json');
      const { jobIds } = JSON.parse(begun.out) as { readonly jobIds: readonly [string] };
      await expect.poll(count, patience).toBeLessThan(letters);
      await mended.kill9();
      await mended.start();
      await expect.poll(async () => (await dlq(`job cancel ${jobIds[0]}`)).code, patience).toBe(0);
      const state = async (): Promise<unknown> => {
        const { out } = await dlq(`job describe ${jobIds[0]} -o json`);
        return out === '' ? undefined : (JSON.parse(out) as Job).state;
      };
      await expect.poll(state, patience).toMatch(/^cancelled|completed$/);
      const left = await workflowsLeft(dlq);
      const { out } = await dlq('purge --category transfer --yes -o json');
      const { purged } = JSON.parse(out) as Job;
      await expect.poll(count, patience).toBe(0);
      const tasks = await polledWorkflows(mended.address, { namespace, taskQueue, polls: letters - purged });
      expect(tasks.size).toBe(letters - purged);
      // Those of the last look that were not purged had been executed.
      expect(left.filter((workflowId) => !tasks.has(workflowId))).toHaveLength(purged);
    } finally {
      for (const server of [faulty, mended]) await server.stop();
    }
  }));

async function workflowsLeft(dlq: (words: string) => ReturnType<typeof perdureAt>): Promise<readonly string[]> {
  const { out } = await dlq('read --category transfer --limit 1000');
  return (JSON.parse(out) as readonly { readonly workflowId: string }[]).map(({ workflowId }) => workflowId);
}

async function startWorkflows(address: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    const common = { namespace, workflowType: { name: 'Order' }, taskQueue };
    const ids = Array.from({ length: letters }, (_, nth) => `order-${nth}`);
    await Promise.all(
      ids.map((workflowId) => connection.workflowService.startWorkflowExecution({ ...common, workflowId, requestId: workflowId })),
    );
  } finally {
    await connection.close();
  }
}
