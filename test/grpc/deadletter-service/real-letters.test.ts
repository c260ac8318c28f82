/**
 * Dead letters of a whole server: tasks fail for good, and what an operator then sees of them, through the front door, from the index in its
 * database.
 */
import type { Client } from '@temporalio/client';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningServer } from '../../../src/config/server-options.ts';
import { turns } from '../../support/event-loop.ts';
import { memoryServer } from '../../support/memory-server.ts';
import { withClient } from '../../support/with-client.ts';
import { LetterClient, type Plain } from './letter-client.ts';

const transfer = { category: 'transfer' };
const both = { queues: [transfer, { category: 'timer' }] };
const workflows = 40;

let server: RunningServer;
let client: LetterClient;
beforeAll(async () => {
  server = await memoryServer({
    historyShards: 4,
    namespaces: ['default', 'shop'],
    devFaults: [
      { taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK', namespace: 'shop', errorMessage: 'no such queue', kind: 'permanent', share: 1 },
      { taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK', namespace: 'default', errorMessage: 'broken', kind: 'permanent', share: 1 },
      { taskType: 'TASK_TYPE_WORKFLOW_BACKOFF_TIMER', namespace: undefined, errorMessage: 'late', kind: 'permanent', share: 1 },
    ],
  });
  client = new LetterClient(server.address);
  for (const namespace of ['default', 'shop']) {
    await withClient(server.address, startAll, namespace);
  }
  while ((await count({})) < workflows) await turns();
});
afterAll(async () => {
  client.close();
  await server.stop();
});

async function startAll({ workflow }: Client): Promise<void> {
  for (let id = 0; id < workflows / 2; id += 1) {
    const delayed = id % 5 === 0 ? { startDelay: 1 } : {};
    await workflow.start(`Type${id % 3}`, { taskQueue: 'orders', workflowId: `order-${id}`, ...delayed });
  }
}

async function count(selection: Plain): Promise<number> {
  const { count: counted = 0 } = await client.onceServed('CountDeadLetters', { ...both, selection });
  return Number(counted);
}

type Listed = Plain & { readonly queue: Plain; readonly messageId?: number; readonly payload?: Plain };

async function list(request: Plain): Promise<readonly Listed[]> {
  const letters: Listed[] = [];
  let more: Plain = {};
  do {
    const page: Plain = await client.call('ListDeadLetters', { ...both, ...request, ...more });
    letters.push(...((page['letters'] ?? []) as readonly Listed[]));
    more = page['nextPageToken'] === undefined ? {} : { nextPageToken: page['nextPageToken'] };
  } while (Object.keys(more).length > 0);
  return letters;
}

test('the queues tell how many there are, and why', async () => {
  const { queues } = await client.call('ListDeadLetterQueues');
  expect((queues as { readonly open?: number }[]).filter(({ open }) => open !== undefined)).toMatchObject([
    { name: { category: 'transfer', sourceCluster: 'active' }, categoryId: 1, open: 32, nextMessageId: 32 },
    { name: { category: 'timer' }, categoryId: 2, open: 8, nextMessageId: 8 },
  ]);
});

test('a dead letter shows its task, and all that is known of its failure', async () => {
  const [found] = await list({ selection: { workflowId: 'order-7', namespace: 'shop' }, withPayload: true });
  expect(found).toMatchObject({
    queue: { category: 'transfer', sourceCluster: 'active' },
    taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
    namespace: 'shop',
    workflowType: 'Type1',
    cause: 'permanent-error',
    disposition: 'poison',
    errorMessage: expect.stringContaining('no such queue'),
    state: 'open',
    targetCluster: 'active',
  });
  expect(JSON.parse(String(found?.payload?.['json']))).toMatchObject({
    workflowId: 'order-7',
    taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
    taskQueue: 'orders',
    taskId: found?.['taskId'],
    runId: found?.['runId'],
    namespaceId: found?.['namespaceId'],
  });
  const { letter, headers } = await client.call('GetDeadLetter', { queue: transfer, messageId: found?.messageId ?? 0 });
  expect(letter).toEqual(found);
  expect(headers).toContainEqual({ name: 'perdure.workflow-id', value: 'order-7' });
});

describe('a selection', () => {
  const someSelection = fc.record(
    {
      messageIds: fc.array(fc.nat(45), { minLength: 1, maxLength: 25 }),
      minMessageId: fc.nat(20),
      maxMessageId: fc.integer({ min: 20, max: 40 }),
      workflowId: fc.nat(8).map((id) => `order-${id}`),
      namespace: fc.constantFrom('default', 'shop', 'gone'),
      shardId: fc.integer({ min: 1, max: 4 }),
      query: fc.constantFrom("WorkflowType = 'Type1'", "NOT Namespace = 'shop'", 'MessageId BETWEEN 3 AND 12'),
    },
    { requiredKeys: [] },
  );
  type Selection = typeof someSelection extends fc.Arbitrary<infer Value> ? Value : never;

  const meetsQuery: Readonly<Record<string, (letter: Listed) => boolean>> = {
    "WorkflowType = 'Type1'": (letter) => letter['workflowType'] === 'Type1',
    "NOT Namespace = 'shop'": (letter) => letter['namespace'] !== 'shop',
    'MessageId BETWEEN 3 AND 12': ({ messageId = 0 }) => messageId >= 3 && messageId <= 12,
  };

  /** In the words of the request. */
  function isChosen(
    letter: Listed,
    { messageIds, minMessageId = 0, maxMessageId = 99, workflowId, namespace, shardId, query }: Selection,
  ): boolean {
    const { messageId = 0 } = letter;
    return (
      (messageIds === undefined || messageIds.includes(messageId)) &&
      messageId >= minMessageId &&
      messageId <= maxMessageId &&
      (workflowId === undefined || letter['workflowId'] === workflowId) &&
      (namespace === undefined || letter['namespace'] === namespace) &&
      (shardId === undefined || letter['shardId'] === shardId) &&
      (query === undefined || (meetsQuery[query] as (letter: Listed) => boolean)(letter))
    );
  }

  test('lists what it says, counts as many, and groups no others', async () => {
    const all = await list({});
    expect(all).toHaveLength(workflows);
    await fc.assert(
      fc.asyncProperty(someSelection, fc.integer({ min: 1, max: 20 }), async (selection, pageSize) => {
        const wanted = all.filter((letter) => isChosen(letter, selection));
        expect(await list({ selection, pageSize })).toEqual(wanted);
        expect(await count(selection)).toBe(wanted.length);
        const { groups = [] } = await client.call('GroupDeadLetters', { ...both, selection, by: 'namespace' });
        expect((groups as readonly Plain[]).reduce((sum, group) => sum + Number(group['count']), 0)).toBe(wanted.length);
      }),
      { numRuns: 60 },
    );
  });
});

/** Last: the letters are gone then. */
test('a purge of what a filter names is planned, applied by its hash, and carried out to the end; all else stays', async () => {
  const selection = { query: "Namespace = 'shop'" };
  // As long as may be, in characters of two units each.
  const reason = '𝄞'.repeat(500);
  const kept = (await list({})).filter(({ queue, namespace }) => queue['category'] === 'timer' || namespace === 'default');
  const { plan } = await client.onceServed('PlanDeadLetters', {
    operation: 'OPERATION_PURGE',
    queue: transfer,
    selection,
    reason,
  });
  expect(plan).toMatchObject({ selected: 16, causes: [{ cause: 'permanent-error', count: 16 }] });
  const { planId, hash } = plan as Plain;
  const apply = { planId, hash: String(hash) };
  expect(await client.refused('ApplyPlan', { planId, hash: 'another' })).toMatchObject([9, expect.stringContaining('another hash')]);
  const { job } = await client.call('ApplyPlan', apply);
  const { jobId } = job as Plain;
  let ended: Plain = {};
  while (ended['endTime'] === undefined) {
    const { job: now } = await client.call('DescribeJob', { jobId });
    ended = now as Plain;
  }
  expect(ended).toMatchObject({ state: 'completed', counts: { selected: 16, purged: 16 }, reason });
  expect(await list({})).toEqual(kept);
  expect(await client.refused('ApplyPlan', apply)).toMatchObject([9, expect.stringContaining('applied before')]);
});
