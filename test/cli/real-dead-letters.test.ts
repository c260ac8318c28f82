/** The commands over dead letters beside a whole server, whose tasks fail because they are told to. */
import { expect, test } from 'vitest';
import { withClient } from '../support/with-client.ts';
import { Child } from './child.ts';
import { childrenOfEachTest } from './children-of-test.ts';
import { bin, perdureAt, type Ran } from './perdure-process.ts';

const children = childrenOfEachTest();

test('tasks that fail for good are listed, read, counted, grouped, shown, purged and merged', async () => {
  const fault = 'task=TASK_TYPE_TRANSFER_WORKFLOW_TASK,kind=permanent,error=the dependency is away';
  const child = new Child(bin, ['server', 'start-dev', '--port', '0', '--ip', '127.0.0.1', '--dev-faults', fault]);
  children.push(child);
  const port = /\d+$/.exec(await child.seen('out', /^Server: +\S+:\d+(?=\n)/m))?.[0] ?? '';
  const address = `127.0.0.1:${port}`;
  const perdure = (line: string): Promise<Ran> => perdureAt(address, line);
  const queue = 'admin queue dlq';

  await withClient(address, async ({ workflow }) => {
    for (const id of ['a', 'b', 'c']) await workflow.start('Order', { taskQueue: 'orders', workflowId: id });
  });
  await expect.poll(async () => (await perdure(`${queue} count --category transfer`)).out, { timeout: 30_000 }).toBe('3\n');
  const letters = JSON.parse((await perdure(`${queue} read --category 1 --payload`)).out) as readonly Record<string, unknown>[];
  expect(letters.map(({ messageId }) => messageId)).toEqual([0, 1, 2]);
  expect(new Set(letters.map(({ workflowId }) => workflowId))).toEqual(new Set(['a', 'b', 'c']));
  expect(letters[0]).toMatchObject({
    taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
    category: 'transfer',
    sourceCluster: 'active',
    state: 'open',
    namespace: 'default',
    workflowType: 'Order',
    cause: 'permanent-error',
    payload: expect.objectContaining({ taskQueue: 'orders' }),
  });
  const one = `--message-id 1`;
  expect((await perdure(`${queue} show --category transfer ${one}`)).out).toContain('the dependency is away');
  expect((await perdure(`${queue} count --category transfer --workflow-id b`)).out).toBe('1\n');
  expect((await perdure(`${queue} count --category transfer --query "WorkflowId = 'b' OR MessageId > 5"`)).out).toBe('1\n');
  expect((await perdure(`${queue} read --category transfer --query "Colour = 1"`)).code).toBe(2);
  expect(JSON.parse((await perdure(`${queue} groups --category transfer --by cause -o json`)).out)).toMatchObject([
    { key: 'permanent-error', count: 3 },
  ]);
  expect((await perdure(`${queue} list`)).out).toMatch(/^transfer +active +active +3 +0 /m);
  expect(await perdure(`${queue} show --category transfer --message-id 9`)).toMatchObject({
    code: 1,
    err: expect.stringContaining('NOT_FOUND'),
  });

  // The first task of each of their shards has the same id.
  const taskId = String(letters[1]?.['taskId']);
  const shardId = String(letters[1]?.['shardId']);
  const ofShard = `--task-id ${taskId} --shard-id ${shardId}`;
  expect((await perdure(`${queue} purge --category transfer ${ofShard} --dry-run`)).out).toContain(
    '1 letter of transfer/active would be purged\n',
  );
  expect((await perdure(`${queue} count --category transfer`)).out).toBe('3\n');
  expect(await perdure(`${queue} purge --category transfer ${ofShard} --reason "nobody waits for it"`)).toEqual({
    code: 0,
    out: 'purged 1\n',
    err: '',
  });
  const again = await perdure(`${queue} purge --category transfer ${one}`);
  expect(again).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^perdure: NOT_FOUND: .*already purged/) });
  expect(JSON.parse((await perdure(`${queue} job list -o json`)).out)).toMatchObject([
    { operation: 'purge', state: 'completed', reason: 'nobody waits for it', counts: { selected: 1, purged: 1, remaining: 0 } },
  ]);
  expect((await perdure(`${queue} purge --category transfer`)).out).toBe('purged 2\n');
  expect((await perdure(`${queue} read --category transfer`)).out).toBe('[]\n');

  await withClient(address, async ({ workflow }) => {
    for (const id of ['stays', 'ends']) await workflow.start('Order', { taskQueue: 'orders', workflowId: id });
    await workflow.getHandle('ends').terminate();
  });
  await expect.poll(async () => (await perdure(`${queue} count --category transfer`)).out, { timeout: 30_000 }).toBe('2\n');
  // What was broken is broken still; of a workflow that has ended there is nothing left to do.
  const merged = await perdure(`${queue} merge --category transfer`);
  expect(merged.code).toBe(3);
  expect(merged.out).toMatch(/^merged 1, failed 1, skipped 0\nremaining 1\n {2}message \d of .*: the dependency is away \(as before\)\n$/);
  expect(JSON.parse((await perdure(`${queue} read --category transfer`)).out)).toMatchObject([{ workflowId: 'stays', generation: 1 }]);
});
