/** Dead letters of a whole server go by plans and jobs, through the front door. */
import { status as codes } from '@grpc/grpc-js';
import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DevFault } from '../../../src/config/dev-faults.ts';
import type { RunningServer } from '../../../src/config/server-options.ts';
import { turns } from '../../support/event-loop.ts';
import { memoryServer } from '../../support/memory-server.ts';
import { withClient } from '../../support/with-client.ts';
import { LetterClient, type Plain } from './letter-client.ts';

const queue = { category: 'transfer' };
const wait = { seconds: 60 };
const letters = 5;

let server: RunningServer;
let client: LetterClient;
beforeAll(async () => {
  const fault: DevFault = {
    taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
    namespace: undefined,
    errorMessage: 'broken',
    kind: 'permanent',
    share: 1,
  };
  server = await memoryServer({ historyShards: 2, devFaults: [fault] });
  client = new LetterClient(server.address);
  await withClient(server.address, startAll);
  while ((await count()) < letters) await turns();
  await client.onceServed('ListJobs');
});
afterAll(async () => {
  client.close();
  await server.stop();
});

async function startAll({ workflow }: Client): Promise<void> {
  for (let id = 0; id < letters; id += 1) await workflow.start('Order', { taskQueue: 'orders', workflowId: `order-${id}` });
}

async function count(selection: Plain = {}): Promise<number> {
  const { count: counted = 0 } = await client.onceServed('CountDeadLetters', { queues: [queue], selection });
  return Number(counted);
}

type Planned = { readonly plan: { readonly planId: string; readonly hash: string } & Plain };

async function planned(operation: string, selection: Plain, more: Plain = {}): Promise<Planned['plan']> {
  const answer: Plain = await client.call('PlanDeadLetters', { operation, queue, selection, ...more });
  return (answer as Planned).plan;
}

async function outcome(planId: string): Promise<Plain> {
  const { job } = await client.call('ApplyPlan', { planId });
  const { jobId } = job as { readonly jobId: string };
  const ended = await client.call('DescribeJob', { jobId, wait }, { timeoutMs: 90_000 });
  return ended['job'] as Plain;
}

test('a purge takes what was planned, and nothing else', async () => {
  const plan = await planned('OPERATION_PURGE', { maxMessageId: 1 }, { reason: 'never wanted' });
  expect(plan).toMatchObject({ selected: 2, ids: [{ to: 1 }], causes: [{ cause: 'permanent-error', count: 2 }] });
  expect(await count()).toBe(letters);
  expect(await client.refused('ApplyPlan', { planId: plan.planId, hash: 'another' })).toEqual([
    codes.FAILED_PRECONDITION,
    expect.any(String),
  ]);

  expect(await outcome(plan.planId)).toMatchObject({
    state: 'completed',
    reason: 'never wanted',
    counts: { selected: 2, purged: 2 },
    lastProcessedMessageId: 1,
  });
  expect(await count()).toBe(letters - 2);
  expect(await client.refused('GetDeadLetter', { queue, messageId: 1 })).toEqual([codes.NOT_FOUND, 'message 1 is already purged']);
  const again = { operation: 'OPERATION_PURGE', queue, selection: { messageIds: [1] } };
  expect(await client.refused('PlanDeadLetters', again)).toEqual([codes.NOT_FOUND, 'message 1 is already purged']);
  expect(await client.refused('ApplyPlan', { planId: plan.planId })).toEqual([codes.FAILED_PRECONDITION, expect.any(String)]);
  expect(await planned('OPERATION_PURGE', { maxMessageId: 1 })).not.toHaveProperty('selected');
});

test('a merge whose task does not succeed leaves the dead letter where it is', async () => {
  const plan = await planned('OPERATION_MERGE', { messageIds: [2] });
  const job = await outcome(plan.planId);
  expect(job).toMatchObject({ state: 'completed-with-failures', counts: { selected: 1, remaining: 1 }, lastProcessedMessageId: 2 });
  expect(job['counts']).not.toHaveProperty('merged');
  const { letter } = await client.call('GetDeadLetter', { queue, messageId: 2 });
  expect(letter).toMatchObject({ messageId: 2, state: 'open' });
});

test('jobs are listed, the newest first, and one that has ended cannot be cancelled', async () => {
  const { jobs } = await client.call('ListJobs', { queue });
  expect(jobs).toMatchObject([{ operation: 'OPERATION_MERGE' }, { operation: 'OPERATION_PURGE' }]);
  const [{ jobId }] = jobs as readonly [{ readonly jobId: string }];
  expect(await client.call('CancelJob', { jobId })).not.toHaveProperty('canceled');
  expect(await client.refused('PauseJob', { jobId })).toEqual([codes.FAILED_PRECONDITION, expect.any(String)]);
  expect(await client.refused('DescribeJob', { jobId: '0e8f3f04-5ff4-4c9b-8a58-5d0f0f8a0c55' })).toEqual([
    codes.NOT_FOUND,
    expect.any(String),
  ]);
});
