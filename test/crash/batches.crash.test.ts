/**
 * A server that is killed with -9 again and again in the middle of two batch jobs: both come to their end by themselves, each of their workflows has
 * what was asked for it once, however often a step was taken, and is counted once.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';

const namespace = 'default';
const workflows = 60;
const kills = 2;
const twoAtATime = ['--dynamic-config-value', 'frontend.MaxConcurrentBatchOperationPerNamespace=2'];
/** Of executions a second: a job takes two seconds and a half, and is given less than that before each kill. */
const maxOperationsPerSecond = 24;
/** `temporal.api.enums.v1.BatchOperationState` */
const states = { running: 1, completed: 2 };

/** By the type of their workflows. */
const jobs = {
  Signalled: { signalOperation: { signal: 'go', identity: 'operator' } },
  Terminated: { terminationOperation: { identity: 'operator' } },
} as const;
type Job = keyof typeof jobs;

test(`batch jobs whose server is killed ${kills} times (seed ${seed})`, { timeout: 120_000 }, () =>
  withFolder(async (folder) => {
    const prng = new Prng(seed);
    const server = await embeddedServer(join(folder, 'perdure.db'), twoAtATime);
    const each = (use: (client: Client, job: Job) => Promise<void>): Promise<unknown> =>
      withClient(server.address, (client) => Promise.all([use(client, 'Signalled'), use(client, 'Terminated')]));
    try {
      await server.start();
      await each(begin);
      await each(startJob);
      for (let kill = 0; kill < kills; kill++) {
        await delay(prng.int(100, 1_000));
        await each(expectRunning);
        await server.kill9();
        await server.start();
      }
      await each(expectEnded);
      await each(expectEachOnce);
    } finally {
      await server.stop();
    }
  }),
);

function idsOf(job: Job): readonly string[] {
  return Array.from({ length: workflows }, (_, nth) => `${job}-${nth}`);
}

async function begin({ workflow }: Client, job: Job): Promise<void> {
  await Promise.all(idsOf(job).map((workflowId) => workflow.start(job, { workflowId, taskQueue: 'nobody' })));
  const found = async (): Promise<number> => (await workflow.count(`WorkflowType = '${job}'`)).count;
  await expect.poll(found, { timeout: 60_000, interval: 50 }).toBe(workflows);
}

async function startJob({ workflowService: service }: Client, job: Job): Promise<void> {
  const visibilityQuery = `WorkflowType = '${job}'`;
  await service.startBatchOperation({ namespace, jobId: job, reason: 'because', visibilityQuery, maxOperationsPerSecond, ...jobs[job] });
}

/** Else a kill proves nothing. */
async function expectRunning({ workflowService: service }: Client, jobId: Job): Promise<void> {
  expect(await service.describeBatchOperation({ namespace, jobId })).toMatchObject({ state: states.running });
}

async function expectEnded({ workflowService: service }: Client, jobId: Job): Promise<void> {
  const described = () => service.describeBatchOperation({ namespace, jobId });
  await expect.poll(async () => (await described()).state, { timeout: 60_000, interval: 100 }).not.toBe(states.running);
  const job = await described();
  const counts = [job.totalOperationCount, job.completeOperationCount, job.failureOperationCount].map(Number);
  expect([job.state, ...counts]).toEqual([states.completed, workflows, workflows, 0]);
}

async function expectEachOnce({ workflow }: Client, job: Job): Promise<void> {
  const isIt = { Signalled: 'workflowExecutionSignaledEventAttributes', Terminated: 'workflowExecutionTerminatedEventAttributes' } as const;
  const times = async (id: string): Promise<number> => {
    const { events } = await workflow.getHandle(id).fetchHistory();
    return (events ?? []).filter((event) => (event[isIt[job]] ?? undefined) !== undefined).length;
  };
  expect(await Promise.all(idsOf(job).map(times))).toEqual(idsOf(job).map(() => 1));
}
