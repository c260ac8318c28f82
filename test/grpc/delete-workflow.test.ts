/** What a client sees of a workflow that it has deleted, of a whole server: nothing, at once. */
import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { memoryServer } from '../support/memory-server.ts';

const taskQueue = 'nobody-polls-this';
const notFound = { code: 5, details: 'workflow not found for ID: order' };

type Opened = { readonly server: RunningServer; readonly client: Client };

async function opened(filename?: string): Promise<Opened> {
  const server = await memoryServer({ log: { kind: 'embedded', filename, sqlitePragmas: [] }, historyShards: 3 });
  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  return { server, client: new Client({ connection }) };
}

function deleted({ connection }: Client, workflowId: string, runId = ''): Promise<unknown> {
  return connection.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution: { workflowId, runId } });
}

async function listed(client: Client): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { workflowId, runId } of client.workflow.list()) ids.push(`${workflowId} ${runId}`);
  return ids.toSorted();
}

function start(client: Client, workflowId = 'order'): Promise<string> {
  return client.workflow
    .start('Order', { workflowId, taskQueue, workflowIdReusePolicy: 'REJECT_DUPLICATE' })
    .then(({ firstExecutionRunId }) => firstExecutionRunId);
}

test('it is found nowhere, its id is free, and so it is in the next process of the server', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-delete-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const filename = join(folder, 'x.db');
  const first = await opened(filename);
  const { client } = first;
  const kept = await start(client, 'kept');
  await start(client);
  expect(await listed(client)).toHaveLength(2);

  await deleted(client, 'order');
  const handle = client.workflow.getHandle('order');
  expect(await listed(client)).toEqual([`kept ${kept}`]);
  expect((await client.workflow.count()).count).toBe(1);
  await expect(handle.describe()).rejects.toBeInstanceOf(WorkflowNotFoundError);
  await expect(handle.signal('s')).rejects.toBeInstanceOf(WorkflowNotFoundError);
  const { workflowService } = client.connection;
  const history = { namespace: 'default', execution: { workflowId: 'order' } };
  await expect(workflowService.getWorkflowExecutionHistory(history)).rejects.toMatchObject(notFound);
  await expect(workflowService.getWorkflowExecutionHistoryReverse(history)).rejects.toMatchObject(notFound);
  await expect(deleted(client, 'order')).rejects.toMatchObject(notFound);

  const second = await start(client);
  await handle.terminate();
  await deleted(client, 'order', second);
  await expect(handle.describe()).rejects.toBeInstanceOf(WorkflowNotFoundError);
  await first.server.stop();

  const again = await opened(filename);
  expect(await listed(again.client)).toEqual([`kept ${kept}`]);
  await expect(again.client.workflow.getHandle('order').describe()).rejects.toBeInstanceOf(WorkflowNotFoundError);
  await again.server.stop();
});

test('who waits for its result, or follows its history, hears that it was terminated', async () => {
  const { server, client } = await opened();
  const handle = client.workflow.getHandle('order', await start(client));
  const result = handle.result().catch((error: unknown) => error);
  const { workflowService } = client.connection;
  const history = { namespace: 'default', execution: { workflowId: 'order' }, waitNewEvent: true };
  const { nextPageToken } = await workflowService.getWorkflowExecutionHistory(history);
  const following = workflowService.getWorkflowExecutionHistory({ ...history, nextPageToken });
  // One connection, one shard: what was asked before a question that is answered has reached the shard, and waits there.
  await handle.describe();
  await handle.describe();
  await deleted(client, 'order');
  const message = 'Delete workflow execution';
  expect(await result).toMatchObject({ name: 'WorkflowFailedError', cause: { name: 'TerminatedFailure', message } });
  const { history: rest, nextPageToken: end } = await following;
  expect(end).toHaveLength(0);
  expect(rest?.events).toMatchObject([{ workflowExecutionTerminatedEventAttributes: { reason: message, identity: 'history-service' } }]);
  await server.stop();
});

test('by its run id, an old run goes and the newer one stays', async () => {
  const { server, client } = await opened();
  const old = await start(client);
  await client.workflow.getHandle('order').terminate();
  const { firstExecutionRunId: newer } = await client.workflow.start('Order', { workflowId: 'order', taskQueue });
  await deleted(client, 'order', old);
  expect(await listed(client)).toEqual([`order ${newer}`]);
  expect((await client.workflow.getHandle('order').describe()).runId).toBe(newer);
  await expect(client.workflow.getHandle('order', old).describe()).rejects.toBeInstanceOf(WorkflowNotFoundError);
  await server.stop();
});

test('a query that still waits for a worker is answered, and the worker that polls then is not refused', async () => {
  const { client } = await opened();
  const { connection } = client;
  const service = (connection as Connection).workflowService;
  await start(client);
  const poll = () =>
    (connection as Connection).withDeadline(Date.now() + 2_000, () =>
      service.pollWorkflowTaskQueue({ namespace: 'default', taskQueue: { name: taskQueue }, identity: 'worker' }),
    );
  const { taskToken } = await poll();
  await service.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, identity: 'worker' });
  const query = service.queryWorkflow({ namespace: 'default', execution: { workflowId: 'order' }, query: { queryType: 'q' } });
  const told = expect(query).rejects.toMatchObject({ code: 5 });
  // The query is in matching when this is answered: it was decided before.
  await client.workflow.getHandle('order').describe();
  await deleted(client, 'order');

  expect((await poll()).taskToken).toHaveLength(0);
  await told;
});
