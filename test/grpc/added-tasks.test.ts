/**
 * Tasks of every kind that a shard has, given to it for runs that never had them: whatever they say, it goes on, and comes up again. What evolves a
 * record that cannot be stops its partition.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status as codes } from '@grpc/grpc-js';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { taskCategoryOf } from '../../src/history/run/task-types.ts';
import type { PendingTask } from '../../src/history/run/tasks.ts';
import { historyShardOf } from '../../src/kernel/shard.ts';
import { encodeTaskInfo } from '../../src/codec/task-info-codec.ts';
import { memoryServer } from '../support/memory-server.ts';
import { withClient } from '../support/with-client.ts';
import { fullTasks, lastMessages, furtherTasks } from '../codec/full-state.ts';
import { AdminClient } from './admin-client.ts';

const categoryIds = { transfer: 1, timer: 2, visibility: 4, archival: 5, outbound: 7 };
const shards = 2;

let folder: string;
let server: RunningServer;
let admin: AdminClient;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-added-'));
});
afterEach(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const log = { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] } as const;
  server = await memoryServer({ log, historyShards: shards });
  admin = await AdminClient.at(server.address);
}

async function stop(): Promise<void> {
  admin.close();
  await server.stop();
}

type Key = PendingTask['key'];

async function runs(): Promise<Readonly<Record<string, Key>>> {
  return withClient(server.address, async ({ workflow, connection }) => {
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace: 'default' });
    const namespaceId = namespaceInfo?.id ?? '';
    const begun = async (workflowId: string): Promise<Key> => {
      const { firstExecutionRunId: runId } = await workflow.start('Order', { taskQueue: 'orders', workflowId });
      return { namespaceId, workflowId, runId };
    };
    const closed = await begun('closed');
    await workflow.getHandle('closed').terminate();
    const deleted = await begun('deleted');
    await connection.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution: { workflowId: 'deleted' } });
    const gone = { namespaceId: 'nobody', workflowId: 'nothing', runId: 'none' };
    return {
      open: await begun('open'),
      closed,
      deleted,
      gone,
      mixed: { ...closed, workflowId: 'open' },
      current: { ...closed, runId: '' },
    };
  });
}

function requestOf(tasks: readonly PendingTask[]): Readonly<Record<string, unknown>> {
  const [first] = tasks;
  const { namespaceId, workflowId } = first?.key ?? { namespaceId: '', workflowId: '' };
  const blobOf = (task: PendingTask) => ({ encodingType: 'ENCODING_TYPE_PROTO3', data: encodeTaskInfo(task).value });
  return {
    shardId: historyShardOf(namespaceId, workflowId, shards),
    tasks: tasks.map((task) => ({ categoryId: categoryIds[taskCategoryOf(task)], blob: blobOf(task) })),
  };
}

async function isServed(): Promise<void> {
  await withClient(server.address, async ({ workflow }) => {
    for (const id of ['open', 'after']) {
      await workflow.signalWithStart('Order', {
        taskQueue: 'orders',
        workflowId: id,
        signal: 'go',
        workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      });
      await workflow.getHandle(id).describe();
    }
  });
  expect((await admin.call('DeepHealthCheck'))['state']).toBe('HEALTH_STATE_SERVING');
}

const kinds = [...fullTasks, ...lastMessages, ...furtherTasks];

test('a shard goes on, and comes up again', async () => {
  await start();
  const keys = Object.values(await runs());
  const times = (task: PendingTask): PendingTask[] =>
    'fireTimeMs' in task
      ? [
          { ...task, fireTimeMs: 1 },
          { ...task, fireTimeMs: 8.64e15 },
        ]
      : [task];
  for (const key of keys) {
    for (const task of kinds.flatMap(times)) {
      const sender = 'sender' in task && task.sender !== undefined ? { sender: { ...task.sender, key } } : {};
      const given = { ...task, key, ...sender } as PendingTask;
      const outcome = await admin.call('AddTasks', requestOf([given, given])).then(
        () => codes.OK,
        (error: unknown) => (error as { readonly code: number }).code,
      );
      expect([task.kind, key, outcome]).toEqual([
        task.kind,
        key,
        expect.toSatisfy((code: number) => code === codes.OK || (code === codes.INVALID_ARGUMENT && key.runId === '')),
      ]);
    }
  }
  // Neither timed out nor deleted before their times.
  const statusOf = (id: string) =>
    withClient(server.address, async ({ workflow }) => (await workflow.getHandle(id).describe()).status.name);
  expect([await statusOf('open'), await statusOf('closed')]).toEqual(['RUNNING', 'TERMINATED']);
  await isServed();
  await stop();
  await start();
  await isServed();
});
