/**
 * A file with dead letters that an earlier version wrote, before queues had incarnations: its letters, jobs and undone purges go on as they were, and
 * those that come are counted on from there.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { perdureAt } from '../cli/perdure-process.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { polledWorkflows } from './polled-workflows.ts';

const patience = { timeout: 50_000, interval: 100 };
const namespace = 'default';
const taskQueue = { name: 'orders' };
const workflows = 12;
const fault = 'task=TASK_TYPE_TRANSFER_WORKFLOW_TASK,kind=permanent,error=planted';

type Job = { readonly jobId: string; readonly operation: string; readonly reason: string; readonly state: string };

test('dead letters, jobs and the undo of an earlier version go on', { timeout: 120_000 }, () =>
  withFolder(async (folder) => {
    const file = join(folder, 'perdure.db');
    await load('letters-before-incarnations.sql', file);
    await load('letters-before-incarnations-state.sql', `${file}-state`);
    const server = await embeddedServer(file);
    const faulty = await embeddedServer(file, ['--dev-faults', fault], {}, Number(server.address.split(':')[1]));
    const dlq = async (words: string) => await perdureAt(server.address, `admin queue dlq ${words}`);
    const count = async (): Promise<number> => Number((await dlq('count --category transfer')).out || Number.NaN);
    const job = async (jobId: string): Promise<unknown> => JSON.parse((await dlq(`job describe ${jobId} -o json`)).out || '{}') as unknown;
    try {
      await server.start();
      await expect.poll(count, patience).toBe(workflows - 1);
      const jobs = JSON.parse((await dlq('job list -o json')).out) as readonly Job[];
      expect(jobs.map(({ reason, state }) => [reason, state])).toEqual([
        ['slowly', 'running'],
        ['first', 'paused'],
        ['wanted', 'completed'],
        ['duplicates', 'completed'],
      ]);
      const [slow, canary] = jobs.map(({ jobId }) => jobId) as [string, string];
      expect(await dlq(`job update ${slow} --rps 0`)).toMatchObject({ code: 0 });
      expect(await dlq(`job resume ${canary}`)).toMatchObject({ code: 0 });
      const withFailures = { state: 'completed-with-failures' };
      await expect.poll(() => job(slow), patience).toMatchObject({ ...withFailures, counts: { selected: 4, merged: 3, failed: 1 } });
      await expect.poll(() => job(canary), patience).toMatchObject({ ...withFailures, counts: { selected: 6, merged: 5, failed: 1 } });
      const left = JSON.parse((await dlq('read --category transfer')).out) as readonly object[];
      expect(left).toMatchObject([0, 2, 8].map((messageId) => ({ messageId, workflowId: `order-${messageId}` })));

      expect(await dlq('purge --category transfer --message-id 0 --reason "not wanted"')).toMatchObject({ code: 0, out: 'purged 1\n' });
      expect(await dlq('restore --category transfer --message-id 0')).toMatchObject({ code: 0, out: 'restored 1\n' });
      const merged = await dlq('merge --category transfer --rps 0 --reason mended');
      expect(merged).toMatchObject({ code: 0, out: 'merged 3, failed 0, skipped 0\n' });
      const given = await polledWorkflows(server.address, { namespace, taskQueue, polls: workflows - 1 });
      expect(given).toEqual(new Set(Array.from({ length: workflows }, (_, nth) => `order-${nth}`).filter((id) => id !== 'order-1')));
      await server.stop();

      await faulty.start();
      await expect.poll(count, patience).toBe(0);
      await start(faulty.address, 'later');
      await expect.poll(count, patience).toBe(1);
      expect(JSON.parse((await dlq('read --category transfer')).out)).toMatchObject([{ messageId: workflows, workflowId: 'later' }]);
    } finally {
      for (const each of [server, faulty]) await each.stop();
    }
  }),
);

async function load(fixture: string, file: string): Promise<void> {
  const database = new DatabaseSync(file);
  database.exec(await readFile(new URL(`../fixtures/${fixture}`, import.meta.url), 'utf8'));
  database.close();
}

async function start(address: string, workflowId: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    const request = { namespace, workflowId, requestId: workflowId, workflowType: { name: 'Order' }, taskQueue };
    await connection.workflowService.startWorkflowExecution(request);
  } finally {
    await connection.close();
  }
}
