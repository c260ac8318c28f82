/** List and Count of whole servers: what they show is what each workflow says of itself. */
import { Client, Connection } from '@temporalio/client';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { memoryServer } from '../support/memory-server.ts';
import type { RunningServer } from '../../src/config/server-options.ts';

const namespaces = ['default', 'other'];

test('a start, a close: whoever lists right after the answer is shown it, in its own namespace alone', async () => {
  const { server, clients } = await opened();
  const [client, other] = clients;
  expect(await rowsOf(client, '')).toEqual([]);
  for (let nth = 0; nth < 20; nth++) {
    const handle = await client.workflow.start('Order', { workflowId: `order-${nth}`, taskQueue: 'q', memo: { nth } });
    expect(await idsOf(client, "WorkflowType = 'Order' AND ExecutionStatus = 'Running'")).toContain(`order-${nth}`);
    if (nth % 3 !== 0) continue;
    await handle.terminate('enough');
    expect(await idsOf(client, "ExecutionStatus = 'Terminated'")).toContain(`order-${nth}`);
    expect(await idsOf(client, "ExecutionStatus = 'Running'")).not.toContain(`order-${nth}`);
  }
  await other.workflow.start('Order', { workflowId: 'order-1', taskQueue: 'q' });
  expect(await rowsOf(other, '')).toEqual(await describedBy(other, ['order-1']));
  const all = Array.from({ length: 20 }, (_, nth) => `order-${nth}`);
  expect(await rowsOf(client, '')).toEqual(await describedBy(client, all));
  const counted = await client.connection.workflowService.countWorkflowExecutions({
    namespace: 'default',
    query: 'GROUP BY ExecutionStatus',
  });
  expect(counted.groups?.map(({ count }) => Number(count)).toSorted((one, another) => one - another)).toEqual([7, 13]);
  await server.stop();
});

test('a server on a file shows after a restart what it showed before', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-visibility-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const filename = join(folder, 'x.db');
  const first = await opened(filename);
  const ids = Array.from({ length: 250 }, (_, nth) => `wf-${nth}`);
  const [client] = first.clients;
  await Promise.all(ids.map((workflowId) => client.workflow.start('T', { workflowId, taskQueue: 'q', memo: { workflowId } })));
  await Promise.all(ids.filter((_, nth) => nth % 7 === 0).map((workflowId) => client.workflow.getHandle(workflowId).terminate()));
  const before = await rowsOf(client, '');
  expect(before).toEqual(await describedBy(client, ids));
  await first.server.stop();

  const again = await opened(filename);
  expect(await rowsOf(again.clients[0], '')).toEqual(before);
  await again.server.stop();
});

test('a server that nobody asks stops without having opened a database', async () => {
  const { server } = await opened();
  await server.stop();
});

async function opened(filename?: string): Promise<{ readonly server: RunningServer; readonly clients: readonly [Client, Client] }> {
  const server = await memoryServer({ log: { kind: 'embedded', filename, sqlitePragmas: [] }, namespaces, historyShards: 3 });
  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  const [client, other] = namespaces.map((namespace) => new Client({ connection, namespace }));
  if (client === undefined || other === undefined) throw new Error('two namespaces');
  return { server, clients: [client, other] };
}

async function listed(client: Client, query: string) {
  const { namespace } = client.options;
  const { executions } = await client.connection.workflowService.listWorkflowExecutions({ namespace, query });
  return executions ?? [];
}

async function idsOf(client: Client, query: string): Promise<readonly (string | null | undefined)[]> {
  return (await listed(client, query)).map(({ execution }) => execution?.workflowId);
}

type Info = Awaited<ReturnType<typeof listed>>[number];

/** What both a list and a description say of a run. */
function shown({ execution, type, status, startTime, closeTime, executionTime, taskQueue, memo, historyLength }: Info): string {
  const times = [startTime, closeTime, executionTime];
  // A list tells the length of closed runs alone.
  return JSON.stringify([execution, type, status, times, taskQueue, memo?.fields ?? {}, closeTime === null ? 0 : Number(historyLength)]);
}

async function rowsOf(client: Client, query: string): Promise<readonly string[]> {
  return (await listed(client, query)).map(shown).toSorted();
}

async function describedBy(client: Client, workflowIds: readonly string[]): Promise<readonly string[]> {
  const { namespace } = client.options;
  const described = await Promise.all(
    workflowIds.map((workflowId) => client.connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } })),
  );
  return described.map(({ workflowExecutionInfo }) => (workflowExecutionInfo ? shown(workflowExecutionInfo) : '')).toSorted();
}
