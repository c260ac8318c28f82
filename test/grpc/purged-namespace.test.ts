/** A namespace that is deleted is emptied behind that: what it held is gone, what others heard of it, and what stands beside it is as it was. */
import { status as codes } from '@grpc/grpc-js';
import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { memoryServer } from '../support/memory-server.ts';
import { refusal } from '../support/refusal.ts';

const { COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION: startChild, COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK: scheduleActivity } =
  temporal.api.enums.v1.CommandType;
const { TASK_QUEUE_TYPE_ACTIVITY: activityQueue } = temporal.api.enums.v1.TaskQueueType;
const { EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED: childTerminated } = temporal.api.enums.v1.EventType;
const taskQueue = { name: 'q' };
const workflowType = { name: 'T' };
const patience = { timeout: 60_000, interval: 50 };
const soon: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['perdure.deleteNamespace.graceTime', '200ms'],
  ['frontend.deleteNamespaceDeleteActivityRPS', 1_000],
  ['frontend.MaxConcurrentBatchOperationPerNamespace', 2],
]);

let server: RunningServer;
let connection: Connection;

beforeEach(async () => {
  server = await memoryServer({ namespaces: ['default', 'orders'], dynamicConfig: soon, historyShards: 2 });
  connection = await Connection.connect({ address: server.address });
});
afterEach(async () => {
  await connection.close();
  await server.stop();
});

async function idOf(namespace: string): Promise<string> {
  return (await connection.workflowService.describeNamespace({ namespace })).namespaceInfo?.id ?? '';
}

function start(namespace: string, workflowId: string, queue = 'q') {
  const on = { workflowType, taskQueue: { name: queue }, requestId: workflowId };
  return connection.workflowService.startWorkflowExecution({ namespace, workflowId, ...on });
}

async function answerNextTask(namespace: string, command: temporal.api.command.v1.ICommand): Promise<void> {
  const { workflowService: service } = connection;
  const polled = connection.withDeadline(Date.now() + 30_000, () => service.pollWorkflowTaskQueue({ namespace, taskQueue }));
  const { taskToken } = await polled;
  await service.respondWorkflowTaskCompleted({ namespace, taskToken, commands: [command] });
}

type StatePage = {
  readonly shards: readonly { readonly executions: { readonly hot: number; readonly cold?: number } }[];
  readonly matching: readonly { readonly storedTasks: number }[];
};

/** Of all namespaces, those that are deleted included: executions of all kinds, and tasks that matching has stored. */
async function runsAndTasks(address: string): Promise<readonly [runs: number, tasks: number]> {
  const { shards, matching } = (await (await fetch(`http://${address}/health/state`)).json()) as StatePage;
  const runs = shards.reduce((sum, { executions: { hot, cold = 0 } }) => sum + hot + cold, 0);
  return [runs, matching.reduce((sum, { storedTasks }) => sum + storedTasks, 0)];
}

/** Its entry is gone, so all that came before that is. */
async function purged(id: string): Promise<void> {
  const describe = () => refusal(connection.workflowService.describeNamespace({ id }));
  await expect.poll(async () => (await describe().catch(() => undefined))?.code, patience).toBe(codes.NOT_FOUND);
}

test('300 workflows, a schedule, a batch job and tasks go, and a namespace of its name that was registered meanwhile keeps its own', async () => {
  const { workflowService: service, operatorService } = connection;
  const namespace = 'orders';
  const id = await idOf(namespace);
  await Promise.all(Array.from({ length: 300 }, (_, nth) => start(namespace, `w${nth}`, nth % 2 === 0 ? 'q' : 'nobody')));
  for (let nth = 0; nth < 20; nth++)
    await service.terminateWorkflowExecution({ namespace, workflowExecution: { workflowId: `w${nth}` }, reason: 'closed' });
  const action = { startWorkflow: { workflowId: 'of-schedule', workflowType, taskQueue } };
  const spec = { interval: [{ interval: { seconds: 1 as never } }] };
  await service.createSchedule({ namespace, scheduleId: 's', schedule: { spec, action }, requestId: 's' });
  const signalOperation = { signal: 'x', identity: 'me' };
  await service.startBatchOperation({ namespace, jobId: 'j', reason: 'r', visibilityQuery: 'WorkflowType = "T"', signalOperation });
  await operatorService.deleteNamespace({ namespace });
  await service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } });
  await start(namespace, 'w0');
  await start('default', 'w1');
  await purged(id);
  const listed = await service.listNamespaces({ namespaceFilter: { includeDeleted: true } });
  expect(listed.namespaces.map(({ namespaceInfo }) => namespaceInfo?.name)).toEqual(['default', 'orders']);
  for (const [of, workflowId] of [
    [namespace, 'w0'],
    ['default', 'w1'],
  ] as const) {
    const described = await service.describeWorkflowExecution({ namespace: of, execution: { workflowId } });
    expect(described.workflowExecutionInfo?.status).toBe(1);
  }
  expect(await runsAndTasks(server.address)).toEqual([2, 2]);
});

test('a parent in another namespace hears that its child was terminated, and no dead letter is made of it', async () => {
  const { workflowService: service, operatorService } = connection;
  const id = await idOf('orders');
  await start('default', 'parent');
  const child = { namespace: 'orders', workflowId: 'child', workflowType, taskQueue };
  await answerNextTask('default', { commandType: startChild, startChildWorkflowExecutionCommandAttributes: child });
  await expect
    .poll(
      () => service.describeWorkflowExecution({ namespace: 'orders', execution: { workflowId: 'child' } }).catch(() => undefined),
      patience,
    )
    .toBeDefined();
  await operatorService.deleteNamespace({ namespace: 'orders' });
  await purged(id);
  const types = async () => {
    const { history } = await service.getWorkflowExecutionHistory({ namespace: 'default', execution: { workflowId: 'parent' } });
    return history?.events?.map(({ eventType }) => eventType);
  };
  await expect.poll(types, patience).toContain(childTerminated);
});

test('its entry stays for the delay that was asked for', async () => {
  const { operatorService, workflowService: service } = connection;
  const id = await idOf('orders');
  await start('orders', 'w');
  await operatorService.deleteNamespace({ namespace: 'orders', namespaceDeleteDelay: { seconds: 2 as never } });
  const deletedMs = Date.now();
  expect((await service.describeNamespace({ id })).namespaceInfo?.id).toBe(id);
  await purged(id);
  expect(Date.now() - deletedMs).toBeGreaterThan(2_000);
});

test('a task queue that nothing may leave is emptied all the same', async () => {
  const { workflowService: service, operatorService } = connection;
  const held = { namespace: 'orders', taskQueue: 'held' };
  await service.updateTaskQueueConfig({
    ...held,
    taskQueueType: activityQueue,
    updateQueueRateLimit: { rateLimit: { requestsPerSecond: 0 } },
  });
  await start('orders', 'holding');
  const activity = {
    activityId: 'a',
    activityType: workflowType,
    taskQueue: { name: 'held' },
    startToCloseTimeout: { seconds: 60 as never },
  };
  await answerNextTask('orders', { commandType: scheduleActivity, scheduleActivityTaskCommandAttributes: activity });
  await expect.poll(() => runsAndTasks(server.address), patience).toEqual([1, 1]);
  await operatorService.deleteNamespace({ namespace: 'orders' });
  await expect.poll(() => runsAndTasks(server.address), patience).toEqual([0, 0]);
});
