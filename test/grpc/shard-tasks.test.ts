/** Pending tasks of shards through AdminService: listed, removed and added, whether they are in memory or rows of a database alone. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status as codes } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunningServer, ServerOptions } from '../../src/config/server-options.ts';
import { memoryServer } from '../support/memory-server.ts';
import { withClient } from '../support/with-client.ts';
import { Service } from '../fuzz/service.ts';
import { AdminClient } from './admin-client.ts';

type Fields = Readonly<Record<string, unknown>>;
type Task = {
  readonly shardId: number;
  readonly taskId: number;
  readonly namespaceId: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly taskType: string;
  readonly fireTime: Fields;
};

const [transfer, timer] = [1, 2];
const workflowIds = ['order-0', 'order-1', 'order-2', 'order-3', 'order-4'];
const failing = {
  taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
  namespace: undefined,
  errorMessage: 'busy',
  kind: 'failed',
  share: 1,
} as const;

let folder: string;
let server: RunningServer;
let admin: AdminClient;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-tasks-'));
});
afterEach(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(options: Partial<ServerOptions>): Promise<void> {
  server = await memoryServer({ historyShards: 2, ...options });
  admin = await AdminClient.at(server.address);
}

async function stop(): Promise<void> {
  admin.close();
  await server.stop();
}

/** Each with a workflow task that fails for a long time, and a timeout that is days away: no window of timers reaches as far. */
async function startWorkflows(): Promise<void> {
  await withClient(server.address, async ({ workflow }) => {
    for (const [nth, workflowId] of workflowIds.entries()) {
      await workflow.start('Order', { taskQueue: 'orders', workflowId, workflowExecutionTimeout: `${9 - nth} days` });
    }
  });
}

async function tasks(category: number, more: Fields = {}): Promise<readonly Task[]> {
  const found: Task[] = [];
  for (const shardId of [1, 2]) {
    let nextPageToken: unknown;
    do {
      const request = { shardId, category, ...more, ...(nextPageToken === undefined ? {} : { nextPageToken }) };
      const page = await admin.call('ListHistoryTasks', request);
      found.push(...((page['tasks'] ?? []) as readonly Task[]).map((task) => ({ ...task, shardId })));
      nextPageToken = page['nextPageToken'];
    } while (nextPageToken !== undefined);
  }
  return found;
}

function names(found: readonly Task[]): readonly string[] {
  return found.map(({ workflowId }) => workflowId).sort();
}

function workflowTaskOf({ namespaceId, workflowId, runId }: Pick<Task, 'namespaceId' | 'workflowId' | 'runId'>): Fields {
  const { persistence, enums } = admin.messages;
  const info = persistence.v1.TransferTaskInfo.fromObject({
    ...{ namespaceId, workflowId, runId, taskQueue: 'orders', scheduledEventId: 2, stamp: 1, taskId: 77 },
    taskType: enums.v1.TaskType.TASK_TYPE_TRANSFER_WORKFLOW_TASK,
  });
  return { encodingType: 'ENCODING_TYPE_PROTO3', data: persistence.v1.TransferTaskInfo.encode(info).finish() };
}

describe.each(['in memory', 'on a file, after a restart'])('%s', (kind) => {
  beforeEach(async () => {
    const filename = kind === 'in memory' ? undefined : join(folder, 'x.db');
    const options: Partial<ServerOptions> = { log: { kind: 'embedded', filename, sqlitePragmas: [] }, devFaults: [failing] };
    await start(options);
    await startWorkflows();
    if (filename === undefined) return;
    await stop();
    await start(options);
  });

  test('all are listed, in their order and whatever the page', async () => {
    const transfers = await tasks(transfer);
    expect(names(transfers)).toEqual(workflowIds);
    expect(new Set(transfers.map(({ taskType }) => taskType))).toEqual(new Set(['TASK_TYPE_TRANSFER_WORKFLOW_TASK']));
    const timers = await tasks(timer);
    expect(names(timers)).toEqual(workflowIds);
    expect(timers[0]).toMatchObject({ taskType: 'TASK_TYPE_WORKFLOW_EXECUTION_TIMEOUT', fireTime: { seconds: expect.any(Number) } });
    for (const category of [transfer, timer]) {
      const whole = await tasks(category);
      expect(await tasks(category, { batchSize: 1 })).toEqual(whole);
      expect(await tasks(category, { batchSize: 2 })).toEqual(whole);
    }
    const order = (shard: number) => timers.filter((task) => task.shardId === shard).map(({ workflowId }) => workflowId);
    // What was started later ends sooner.
    for (const shard of [1, 2]) expect(order(shard)).toEqual(order(shard).toSorted().reverse());
  });

  test('one is removed by its id and its time, or by its id alone, and once', async () => {
    const [byTime, byId] = (await tasks(timer)) as readonly [Task, Task];
    const removal = ({ shardId, taskId }: Task) => ({ shardId, category: timer, taskId });
    expect(await admin.call('RemoveTask', { ...removal(byTime), visibilityTime: byTime.fireTime })).toEqual({});
    expect(await admin.call('RemoveTask', removal(byId))).toEqual({});
    expect(await admin.refused('RemoveTask', removal(byId))).toEqual([
      codes.NOT_FOUND,
      `task ${byId.taskId} is not found: shard ${byId.shardId} has no such task in category 2`,
    ]);
    expect(names(await tasks(timer))).toEqual(workflowIds.filter((id) => id !== byTime.workflowId && id !== byId.workflowId));
    // Of another category there is none with that id.
    expect((await admin.refused('RemoveTask', { ...removal(byTime), category: transfer }))[0]).toBe(codes.NOT_FOUND);
  });
});

test('a task that was removed is done by nobody, also after a restart, and one that is added is', async () => {
  const log = { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] } as const;
  await start({ log, devFaults: [failing] });
  await startWorkflows();
  const [removed] = (await tasks(transfer)) as readonly [Task];
  const { workflowId, taskId, shardId } = removed;
  expect(await admin.call('RemoveTask', { shardId, category: transfer, taskId })).toEqual({});
  await stop();

  await start({ log });
  const service = new Service(server.address);
  try {
    const poll = async () => {
      const task = await service.call<{ workflowExecution: { workflowId: string } }>('PollWorkflowTaskQueue', {
        ...{ namespace: 'default', taskQueue: { name: 'orders' }, identity: 'worker' },
      });
      return task.workflowExecution?.workflowId;
    };
    const others = [await poll(), await poll(), await poll(), await poll()];
    expect(others.map(String).sort()).toEqual(workflowIds.filter((id) => id !== workflowId));
    const added = poll();
    const blob = workflowTaskOf(removed);
    expect(await admin.call('AddTasks', { shardId, tasks: [{ categoryId: transfer, blob }] })).toEqual({});
    expect(await added).toBe(workflowId);
    // It has started: whoever adds it again adds nothing.
    expect(await admin.call('AddTasks', { shardId, tasks: [{ categoryId: transfer, blob }] })).toEqual({});
    expect(await tasks(transfer)).toEqual([]);
  } finally {
    service.close();
  }
});

describe('tasks to add', () => {
  const nobody = { namespaceId: 'nobody', workflowId: 'nothing', runId: 'none' };
  const itsShard = 1;
  const add = (more: Fields, ...others: readonly Fields[]) => {
    const task = { categoryId: transfer, blob: workflowTaskOf(nobody), ...more };
    return { shardId: itsShard, tasks: [task, ...others] };
  };
  const garbage = { encodingType: 'ENCODING_TYPE_PROTO3', data: Uint8Array.of(255, 255, 255) };

  test('are refused together where one cannot be read, or belongs elsewhere', async () => {
    await start({});
    const invalid = async (request: Fields) => {
      const [code, text] = await admin.refused('AddTasks', request);
      expect(code).toBe(codes.INVALID_ARGUMENT);
      return text;
    };
    expect(await admin.call('AddTasks', add({}))).toEqual({});
    expect(await invalid({ shardId: 1, tasks: [] })).toBe('Must specify at least one task');
    expect(await invalid({ ...add({}), shardId: 0 })).toBe('Invalid ShardID: 0');
    expect(await invalid({ ...add({}), shardId: 2 })).toBe('tasks[0]: its workflow is in shard 1');
    expect(await invalid(add({ categoryId: 0 }))).toBe('Invalid task category id: 0');
    expect(await invalid(add({ categoryId: 2 ** 31 - 1 }))).toBe('Invalid task category id: 2147483647');
    expect(await invalid(add({ categoryId: 3 }))).toBe('tasks[0]: no shard here executes tasks of category 3');
    expect(await invalid(add({ blob: undefined }))).toBe('tasks[0].blob is not set');
    expect(await invalid(add({ blob: {} }))).toBe('tasks[0].blob.encoding_type is not PROTO3');
    expect(await invalid(add({}, { categoryId: transfer, blob: garbage }))).toMatch(
      /^tasks\[1\]: the task of the dead letter cannot be read/,
    );
    expect(await invalid(add({ categoryId: timer }))).toMatch(/^tasks\[0\]: /);
    expect(await invalid(add({}, ...Array.from({ length: 1_000 }, () => ({}))))).toBe('1001 tasks are more than 1000');
    expect((await admin.refused('AddTasks', add({ blob: { ...garbage, data: new Uint8Array(5 * 1024 * 1024) } })))[0]).not.toBe(codes.OK);
    expect(await tasks(transfer)).toEqual([]);
  });
});

test('where they are not to be listed they are not', async () => {
  await start({ dynamicConfig: new Map([['admin.enableListHistoryTasks', false]]) });
  expect(await admin.refused('ListHistoryTasks', { shardId: 1, category: transfer })).toEqual([
    codes.PERMISSION_DENIED,
    'ListHistoryTasks is turned off by admin.enableListHistoryTasks',
  ]);
});
