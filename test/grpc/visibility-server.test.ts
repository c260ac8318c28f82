/** List and Count of whole servers: what they show is what each workflow says of itself. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { describedBy, idsOf, listedServer, rowsOf } from '../support/listed-workflows.ts';

/** `temporal.api.enums.v1.WorkflowTaskFailedCause` */
const nonDeterministicError = 24;
const inMemory = { kind: 'embedded', filename: undefined, sqlitePragmas: [] } as const;

test('a start, a close: whoever lists right after the answer is shown it, in its own namespace alone', async () => {
  const { server, client, other } = await listedServer(inMemory);
  expect(await rowsOf(client)).toEqual([]);
  for (let nth = 0; nth < 20; nth++) {
    const handle = await client.workflow.start('Order', { workflowId: `order-${nth}`, taskQueue: 'q', memo: { nth } });
    expect(await idsOf(client, "WorkflowType = 'Order' AND ExecutionStatus = 'Running'")).toContain(`order-${nth}`);
    if (nth % 3 !== 0) continue;
    await handle.terminate('enough');
    expect(await idsOf(client, "ExecutionStatus = 'Terminated'")).toContain(`order-${nth}`);
    expect(await idsOf(client, "ExecutionStatus = 'Running'")).not.toContain(`order-${nth}`);
  }
  await other.workflow.start('Order', { workflowId: 'order-1', taskQueue: 'q' });
  expect(await rowsOf(other)).toEqual(await describedBy(other, ['order-1']));
  const all = Array.from({ length: 20 }, (_, nth) => `order-${nth}`);
  expect(await rowsOf(client)).toEqual(await describedBy(client, all));
  const query = 'GROUP BY ExecutionStatus';
  const { groups } = await client.connection.workflowService.countWorkflowExecutions({ namespace: 'default', query });
  expect(groups?.map(({ count }) => Number(count)).toSorted((one, another) => one - another)).toEqual([7, 13]);
  await server.stop();
});

test('a workflow whose tasks fail again and again is found, until one of them completes', async () => {
  const { server, client } = await listedServer(inMemory);
  const { workflowService } = client.connection;
  const taskQueue = { name: 'broken' };
  await client.workflow.start('Broken', { workflowId: 'broken', taskQueue: 'broken' });
  await client.workflow.start('Sound', { workflowId: 'sound', taskQueue: 'sound' });
  const poll = () =>
    client.connection.withDeadline(Date.now() + 60_000, () => workflowService.pollWorkflowTaskQueue({ namespace: 'default', taskQueue }));
  const troubled = "TemporalReportedProblems IN ('category=WorkflowTaskFailed', 'category=WorkflowTaskTimedOut')";
  for (let attempt = 1; attempt <= 5; attempt++) {
    expect(await idsOf(client, troubled)).toEqual([]);
    const { taskToken } = await poll();
    await workflowService.respondWorkflowTaskFailed({
      namespace: 'default',
      taskToken,
      cause: nonDeterministicError,
    });
  }
  expect(await idsOf(client, troubled)).toEqual(['broken']);
  expect(await idsOf(client, "TemporalReportedProblems = 'cause=WorkflowTaskFailedCauseNonDeterministicError'")).toEqual(['broken']);
  expect(await rowsOf(client, troubled)).toEqual(await describedBy(client, ['broken']));
  const { taskToken } = await poll();
  await workflowService.respondWorkflowTaskCompleted({ namespace: 'default', taskToken });
  expect(await idsOf(client, 'TemporalReportedProblems IS NOT NULL')).toEqual([]);
  await server.stop();
});

test('whatever clients call their workflows and put into memos is listed, and keeps no other from being listed', async () => {
  const { server, client } = await listedServer(inMemory);
  const large = 'x'.repeat(1_500_000);
  const ids = ['plain', '', '\u0000', 'a\u0000b', "';--", '%_\\', '𝕏🛒', '\ufffd', 'y'.repeat(900)].map((id, nth) => `${nth}${id}`);
  for (const [nth, workflowId] of ids.entries()) {
    const memo = { [`key ${workflowId}`]: nth % 2 === 0 ? workflowId : large };
    await client.workflow.start(workflowId, { workflowId, taskQueue: workflowId.replaceAll('\u0000', '0'), memo });
  }
  const listed = await idsOf(client, '');
  expect(listed).toHaveLength(ids.length);
  expect(new Set(listed)).toEqual(new Set(ids.map((id) => id.replaceAll('\u0000', '\ufffd'))));
  await client.workflow.getHandle('0plain').terminate();
  expect(await idsOf(client, "ExecutionStatus = 'Terminated'")).toEqual(['0plain']);
  await server.stop();
});

test('a server on a file shows after a restart what it showed before', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-visibility-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const onFile = { ...inMemory, filename: join(folder, 'x.db') };
  const first = await listedServer(onFile);
  const ids = Array.from({ length: 250 }, (_, nth) => `wf-${nth}`);
  await Promise.all(ids.map((workflowId) => first.client.workflow.start('T', { workflowId, taskQueue: 'q', memo: { workflowId } })));
  await Promise.all(ids.filter((_, nth) => nth % 7 === 0).map((workflowId) => first.client.workflow.getHandle(workflowId).terminate()));
  const before = await rowsOf(first.client);
  expect(before).toEqual(await describedBy(first.client, ids));
  await first.server.stop();

  const again = await listedServer(onFile);
  expect(await rowsOf(again.client)).toEqual(before);
  await again.server.stop();
});
