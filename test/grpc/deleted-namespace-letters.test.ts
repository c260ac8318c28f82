/** What a deleted namespace has left to do, or others to tell it: it becomes dead letters, by the name that the namespace had. */
import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import {
  decodeListDeadLettersResponse,
  encodeListDeadLettersRequest,
  type DeadLetter,
} from '../../src/wire/generated/api/deadletter/service.ts';
import { memoryServer } from '../support/memory-server.ts';
import { RawClient } from './raw-client.ts';

const { COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION: complete, COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION: startChild } =
  temporal.api.enums.v1.CommandType;
const taskQueue = { name: 'q' };
const workflowType = { name: 'T' };

let server: RunningServer;
let connection: Connection;
let raw: RawClient;

beforeEach(async () => {
  server = await memoryServer({ namespaces: ['default', 'orders'] });
  connection = await Connection.connect({ address: server.address });
  raw = new RawClient(server.address);
});
afterEach(async () => {
  raw.close();
  await connection.close();
  await server.stop();
});

async function lettersOf(category: string): Promise<readonly DeadLetter[]> {
  const queues = [{ category, sourceCluster: 'active' }];
  const request = { queues, selection: undefined, pageSize: 0, nextPageToken: new Uint8Array(0), withPayload: true };
  const path = '/perdure.api.deadletter.v1.DeadLetterService/ListDeadLetters';
  return decodeListDeadLettersResponse(await raw.call(path, encodeListDeadLettersRequest(request))).letters;
}

async function idOf(namespace: string): Promise<string> {
  return (await connection.workflowService.describeNamespace({ namespace })).namespaceInfo?.id ?? '';
}

function start(namespace: string, workflowId: string, more: temporal.api.workflowservice.v1.IStartWorkflowExecutionRequest = {}) {
  return connection.workflowService.startWorkflowExecution({
    namespace,
    workflowId,
    workflowType,
    taskQueue,
    requestId: workflowId,
    ...more,
  });
}

async function answerNextTask(namespace: string, command: temporal.api.command.v1.ICommand): Promise<void> {
  const { workflowService } = connection;
  const { taskToken } = await connection.withDeadline(Date.now() + 30_000, () =>
    workflowService.pollWorkflowTaskQueue({ namespace, taskQueue }),
  );
  await workflowService.respondWorkflowTaskCompleted({ namespace, taskToken, commands: [command] });
}

test('a timer that fires; that of a namespace that is there fires as ever', async () => {
  const namespaceId = await idOf('orders');
  for (const namespace of ['default', 'orders']) await start(namespace, 'timed', { workflowRunTimeout: { seconds: 1 as never } });
  await connection.operatorService.deleteNamespace({ namespace: 'orders' });
  const ofNamespace = { namespaceId, namespace: 'orders', cause: 'namespace-deleted' };
  const letter = { ...ofNamespace, workflowId: 'timed', taskType: 'TASK_TYPE_WORKFLOW_RUN_TIMEOUT', errorType: 'NamespaceNotFound' };
  await expect.poll(() => lettersOf('timer'), { timeout: 60_000 }).toMatchObject([letter]);
  const { workflowExecutionInfo } = await connection.workflowService.describeWorkflowExecution({
    namespace: 'default',
    execution: { workflowId: 'timed' },
  });
  expect(workflowExecutionInfo?.status).toBe(temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_TIMED_OUT);
});

test('a child that tells its parent in a deleted namespace how it has ended', async () => {
  const [namespaceId, targetNamespaceId] = [await idOf('default'), await idOf('orders')];
  await start('orders', 'parent');
  const child = { namespace: 'default', workflowId: 'child', workflowType, taskQueue };
  await answerNextTask('orders', { commandType: startChild, startChildWorkflowExecutionCommandAttributes: child });
  await expect
    .poll(() => connection.workflowService.describeWorkflowExecution({ namespace: 'default', execution: { workflowId: 'child' } }))
    .toBeDefined();
  await connection.operatorService.deleteNamespace({ namespace: 'orders' });
  await answerNextTask('default', { commandType: complete, completeWorkflowExecutionCommandAttributes: {} });
  const letter = {
    namespaceId,
    namespace: 'default',
    targetNamespaceId,
    targetNamespace: 'orders',
    workflowId: 'child',
    cause: 'namespace-deleted',
  };
  await expect.poll(() => lettersOf('transfer'), { timeout: 60_000 }).toMatchObject([letter]);
});
