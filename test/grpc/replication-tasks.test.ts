/** The tasks behind dead letters that another cluster has of workflows of this one, as it fetches them to merge those. */
import { status as codes } from '@grpc/grpc-js';
import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { memoryServer } from '../support/memory-server.ts';
import { withClient } from '../support/with-client.ts';
import { AdminClient } from './admin-client.ts';

type Fields = Readonly<Record<string, unknown>>;

let server: RunningServer;
let admin: AdminClient;
let run: { readonly namespaceId: string; readonly workflowId: string; readonly runId: string };

beforeAll(async () => {
  server = await memoryServer();
  admin = await AdminClient.at(server.address);
  const { namespaceInfo } = await withClient(server.address, async ({ workflow, connection }) => {
    const handle = await workflow.start('Order', { taskQueue: 'orders', workflowId: 'order-1' });
    for (let nth = 0; nth < 30; nth += 1) await handle.signal('paid', 'x'.repeat(150_000));
    run = { namespaceId: '', workflowId: 'order-1', runId: handle.firstExecutionRunId };
    return connection.workflowService.describeNamespace({ namespace: 'default' });
  });
  run = { ...run, namespaceId: namespaceInfo?.id ?? '' };
});
afterAll(async () => {
  admin.close();
  await server.stop();
});

function info(more: Fields = {}): Fields {
  return { ...run, taskType: 'TASK_TYPE_REPLICATION_HISTORY', taskId: 7, firstEventId: 1, nextEventId: 3, ...more };
}

test('come with their events, exactly those that are asked for', async () => {
  const { replicationTasks } = await admin.call('GetDLQReplicationMessages', { taskInfos: [info()] });
  const [task] = replicationTasks as readonly Fields[];
  const attributes = task?.['historyTaskAttributes'] as Fields;
  expect(task).toMatchObject({ taskType: 'REPLICATION_TASK_TYPE_HISTORY_V2_TASK', sourceTaskId: 7 });
  expect(attributes).toMatchObject({ ...run, versionHistoryItems: [{ eventId: 2 }] });
  const { events } = temporal.api.history.v1.History.decode((attributes['events'] as { readonly data: Uint8Array }).data);
  expect(events.map(({ eventId, eventType }) => [Number(eventId), eventType])).toEqual([
    [1, temporal.api.enums.v1.EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED],
    [2, temporal.api.enums.v1.EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED],
  ]);
});

test('of a run that is gone, or is of another workflow or namespace, there are none', async () => {
  const gone = { runId: 'ffffffff-ffff-4fff-bfff-ffffffffffff' };
  for (const more of [gone, { workflowId: 'order-2' }, { namespaceId: 'other' }, { firstEventId: 9_000, nextEventId: 9_001 }]) {
    expect(await admin.call('GetDLQReplicationMessages', { taskInfos: [info(more)] })).toEqual({});
  }
});

test('more events than an answer holds are refused', async () => {
  expect(await admin.refused('GetDLQReplicationMessages', { taskInfos: [info({ nextEventId: 33 })] })).toEqual([
    codes.RESOURCE_EXHAUSTED,
    'the events of these tasks have more than 3145728 bytes: ask for fewer',
  ]);
});

test.each<[readonly Fields[], string]>([
  [[], 'task_infos is not set'],
  [[{}], 'task_infos[0].task_type is none of replication'],
  [[{ taskType: 3 }], 'task_infos[0].task_type is none of replication'],
  [[{ taskType: 2 ** 31 - 1 }], 'task_infos[0].task_type is none of replication'],
  [[{ taskType: 1 }], 'task_infos[0] does not name a run by namespace_id, workflow_id and run_id'],
])('%j is refused', async (taskInfos, text) => {
  expect(await admin.refused('GetDLQReplicationMessages', { taskInfos })).toEqual([codes.INVALID_ARGUMENT, text]);
});

test.each<[Fields, string]>([
  [{ firstEventId: 0 }, 'Invalid range of event ids: 0 to 3'],
  [{ firstEventId: 3 }, 'Invalid range of event ids: 3 to 3'],
  [{ nextEventId: '9223372036854775807' }, 'Invalid range of event ids'],
  [{ version: 11 }, 'task_infos[0].version is 11: events here have 0'],
])('%j of a task is refused', async (more, text) => {
  const [code, details] = await admin.refused('GetDLQReplicationMessages', { taskInfos: [info(more)] });
  expect([code, details]).toEqual([codes.INVALID_ARGUMENT, expect.stringContaining(text)]);
});

test('what this server never replicates is not built', async () => {
  const [code] = await admin.refused('GetDLQReplicationMessages', {
    taskInfos: [info({ taskType: 'TASK_TYPE_REPLICATION_SYNC_ACTIVITY' })],
  });
  expect(code).toBe(codes.UNIMPLEMENTED);
});
