/** Lists as an SDK's client asks for them, of a whole server: filters of every type, pages, counts, tokens that outlive a restart. */
import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client';
import { defineSearchAttributeKey, SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { memoryServer } from '../support/memory-server.ts';

const { IndexedValueType } = temporal.api.enums.v1;
const taskQueue = 'nobody-polls-this';

const keys = {
  text: defineSearchAttributeKey('SdkText', SearchAttributeType.TEXT),
  keyword: defineSearchAttributeKey('SdkKeyword', SearchAttributeType.KEYWORD),
  int: defineSearchAttributeKey('SdkInt', SearchAttributeType.INT),
  double: defineSearchAttributeKey('SdkDouble', SearchAttributeType.DOUBLE),
  bool: defineSearchAttributeKey('SdkBool', SearchAttributeType.BOOL),
  datetime: defineSearchAttributeKey('SdkDatetime', SearchAttributeType.DATETIME),
  list: defineSearchAttributeKey('SdkList', SearchAttributeType.KEYWORD_LIST),
};
const types = {
  SdkText: IndexedValueType.INDEXED_VALUE_TYPE_TEXT,
  SdkKeyword: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
  SdkInt: IndexedValueType.INDEXED_VALUE_TYPE_INT,
  SdkDouble: IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE,
  SdkBool: IndexedValueType.INDEXED_VALUE_TYPE_BOOL,
  SdkDatetime: IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
  SdkList: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
};

const attributes = (nth: number): TypedSearchAttributes =>
  new TypedSearchAttributes([
    { key: keys.text, value: `order number ${nth}` },
    { key: keys.keyword, value: `customer-${nth % 3}` },
    { key: keys.int, value: nth },
    { key: keys.double, value: nth / 2 },
    { key: keys.bool, value: nth % 2 === 0 },
    { key: keys.datetime, value: new Date(Date.UTC(2026, 0, 1 + nth)) },
    { key: keys.list, value: [`tag-${nth}`, 'all'] },
  ]);

test('a filter of every type finds what was started with it, and shows it as it was given', async () => {
  const { client, server } = await opened();
  await client.connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes: types });
  for (let nth = 0; nth < 7; nth++) {
    await client.workflow.start('Order', { workflowId: `w${nth}`, taskQueue, typedSearchAttributes: attributes(nth), memo: { nth } });
  }
  const found: Readonly<Record<string, readonly string[]>> = {
    "SdkText = 'NUMBER'": ['w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'w6'],
    "SdkText = '4'": ['w4'],
    "SdkKeyword IN ('customer-1', 'nobody')": ['w1', 'w4'],
    "SdkKeyword STARTS_WITH 'customer' AND SdkInt BETWEEN 5 AND 9": ['w5', 'w6'],
    'SdkDouble <= 0.5': ['w0', 'w1'],
    'SdkBool = true AND NOT SdkInt = 0': ['w2', 'w4', 'w6'],
    "SdkDatetime > '2026-01-06T00:00:00Z'": ['w6'],
    "SdkList = 'tag-3'": ['w3'],
    "SdkList = 'all' AND `SdkKeyword` = 'customer-2' OR WorkflowId = 'w0'": ['w0', 'w2', 'w5'],
  };
  for (const [query, ids] of Object.entries(found)) {
    expect((await infos(client, query)).map(({ workflowId }) => workflowId).toSorted(), query).toEqual(ids);
    expect((await client.workflow.count(query)).count, query).toBe(ids.length);
  }
  const [shown] = await infos(client, "WorkflowId = 'w5'");
  expect(shown?.typedSearchAttributes.getAll().toSorted(byName)).toEqual(attributes(5).getAll().toSorted(byName));
  expect(shown).toMatchObject({ type: 'Order', taskQueue, memo: { nth: 5 }, status: { name: 'RUNNING' } });
  await server.stop();
});

test('pages come newest first and once, and go on in the next process of the server', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-lists-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const filename = join(folder, 'x.db');
  const first = await opened(filename);
  const ids = Array.from({ length: 11 }, (_, nth) => `w${nth}`);
  for (const workflowId of ids) await first.client.workflow.start('Order', { workflowId, taskQueue });
  const newestFirst = (await infos(first.client, '', 3)).map(({ workflowId }) => workflowId);
  expect(newestFirst.toSorted()).toEqual(ids.toSorted());
  const starts = (await infos(first.client, '', 4)).map(({ startTime }) => startTime.getTime());
  expect(starts).toEqual(starts.toSorted((a, b) => b - a));

  const query = "WorkflowType = 'Order'";
  const request = { namespace: 'default', pageSize: 4, query };
  const page = await first.client.connection.workflowService.listWorkflowExecutions(request);
  await first.server.stop();
  const again = await opened(filename);
  const next = await again.client.connection.workflowService.listWorkflowExecutions({ ...request, nextPageToken: page.nextPageToken });
  expect([...page.executions, ...next.executions].map(({ execution }) => execution?.workflowId)).toEqual(newestFirst.slice(0, 8));
  await again.server.stop();
});

test('counts by status, as the client reads them', async () => {
  const { client, server } = await opened();
  for (let nth = 0; nth < 5; nth++) await client.workflow.start('Order', { workflowId: `w${nth}`, taskQueue });
  await client.workflow.getHandle('w1').terminate();
  await client.workflow.getHandle('w2').terminate();
  expect(await client.workflow.count('GROUP BY ExecutionStatus')).toEqual({
    count: 5,
    groups: [
      { count: 3, groupValues: [['Running']] },
      { count: 2, groupValues: [['Terminated']] },
    ],
  });
  const closed = await client.connection.workflowService.listClosedWorkflowExecutions({
    namespace: 'default',
    statusFilter: { status: 5 },
    startTimeFilter: {},
  });
  expect(closed.executions.map(({ execution }) => execution?.workflowId ?? '').toSorted()).toEqual(['w1', 'w2']);
  await server.stop();
});

async function infos(client: Client, query: string, pageSize = 1_000): Promise<readonly WorkflowExecutionInfo[]> {
  const found: WorkflowExecutionInfo[] = [];
  for await (const info of client.workflow.list({ query, pageSize })) found.push(info);
  return found;
}

function byName(a: { readonly key: { readonly name: string } }, b: { readonly key: { readonly name: string } }): number {
  return a.key.name < b.key.name ? -1 : 1;
}

async function opened(filename?: string): Promise<{ readonly server: RunningServer; readonly client: Client }> {
  const server = await memoryServer({ log: { kind: 'embedded', filename, sqlitePragmas: [] }, historyShards: 3 });
  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  return { server, client: new Client({ connection }) };
}
