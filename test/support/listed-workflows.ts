/** What List says of workflows, and what each says of itself, in one form. */
import { Client, Connection } from '@temporalio/client';
import { onTestFinished } from 'vitest';
import { memoryServer } from './memory-server.ts';
import type { LogOptions, RunningServer } from '../../src/config/server-options.ts';

export type ListedServer = { readonly server: RunningServer; readonly client: Client; readonly other: Client };

/** A server with two namespaces, and a client in each. */
export async function listedServer(log: LogOptions): Promise<ListedServer> {
  const server = await memoryServer({ log, namespaces: ['default', 'other'], historyShards: 3 });
  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  return { server, client: new Client({ connection }), other: new Client({ connection, namespace: 'other' }) };
}

/** All pages: a page ends where its bytes would be too many. */
async function listed(client: Client, query: string) {
  const { namespace } = client.options;
  const { workflowService } = client.connection;
  const first = await workflowService.listWorkflowExecutions({ namespace, query });
  const executions = [...(first.executions ?? [])];
  for (let { nextPageToken } = first; (nextPageToken?.length ?? 0) > 0;) {
    const page = await workflowService.listWorkflowExecutions({ namespace, query, nextPageToken });
    executions.push(...(page.executions ?? []));
    ({ nextPageToken } = page);
  }
  return executions;
}

export async function idsOf(client: Client, query: string): Promise<readonly (string | null | undefined)[]> {
  return (await listed(client, query)).map(({ execution }) => execution?.workflowId);
}

type Info = Awaited<ReturnType<typeof listed>>[number];

function shown({
  execution,
  type,
  status,
  startTime,
  closeTime,
  executionTime,
  taskQueue,
  memo,
  historyLength,
  searchAttributes,
}: Info): string {
  const times = [startTime, closeTime, executionTime];
  const attributes = Object.entries(searchAttributes?.indexedFields ?? {}).map(([name, { data }]) => `${name} ${String(data)}`);
  // A list tells the length of closed runs alone.
  const length = closeTime === null ? 0 : Number(historyLength);
  return JSON.stringify([execution, type, status, times, taskQueue, memo?.fields ?? {}, attributes.toSorted(), length]);
}

export async function rowsOf(client: Client, query = ''): Promise<readonly string[]> {
  return (await listed(client, query)).map(shown).toSorted();
}

export async function describedBy(client: Client, workflowIds: readonly string[]): Promise<readonly string[]> {
  const { namespace } = client.options;
  const described = await Promise.all(
    workflowIds.map((workflowId) => client.connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } })),
  );
  return described.map(({ workflowExecutionInfo }) => (workflowExecutionInfo ? shown(workflowExecutionInfo) : '')).toSorted();
}
