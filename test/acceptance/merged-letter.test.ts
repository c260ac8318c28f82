/**
 * The start of a child fails for good, and is repaired: its dead letter is merged, and the child starts, once. Killed with -9 while the dead letter
 * is there, and once it is merged.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { afterEach, expect, test } from 'vitest';
import { LetterClient, type Plain } from '../grpc/deadletter-service/letter-client.ts';
import { enums } from '../sdk/fields.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';

const namespace = 'default';
const taskQueue = { name: 'work' };
const queue = { category: 'transfer' };
const faults = ['--dev-faults', 'task=TASK_TYPE_TRANSFER_START_CHILD_EXECUTION,kind=permanent,error=planted'];

const open: { close(): void | Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function serverOn(database: string, flags: readonly string[] = []): Promise<ServerProcess> {
  const server = await embeddedServer(database, flags);
  open.push({ close: () => server.stop() });
  await server.start();
  return server;
}

function lettersOf(server: ServerProcess): LetterClient {
  const client = new LetterClient(server.address);
  open.push(client);
  return client;
}

async function connect(server: ServerProcess): Promise<Connection> {
  const connection = await Connection.connect({ address: server.address });
  open.push({ close: () => connection.close() });
  return connection;
}

async function startParent(connection: Connection): Promise<void> {
  const { workflowService: service } = connection;
  await service.startWorkflowExecution({
    namespace,
    workflowId: 'parent',
    workflowType: { name: 'Parent' },
    taskQueue,
    requestId: 'parent',
  });
  const { taskToken } = await connection.withDeadline(Date.now() + 20_000, () => service.pollWorkflowTaskQueue({ namespace, taskQueue }));
  const commandType = enums.CommandType.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION;
  const startChildWorkflowExecutionCommandAttributes = {
    workflowId: 'child',
    workflowType: { name: 'Child' },
    taskQueue: { name: 'others' },
  };
  await service.respondWorkflowTaskCompleted({
    namespace,
    taskToken,
    commands: [{ commandType, startChildWorkflowExecutionCommandAttributes }],
  });
}

async function until<Answer>(ask: () => Promise<Answer>, isIt: (answer: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (isIt(answer)) return answer;
    await delay(20);
  }
}

async function count(client: LetterClient): Promise<number> {
  const { count: counted = 0 } = await client.call('CountDeadLetters', { queues: [queue] }).catch(() => ({ count: -1 }));
  return Number(counted);
}

async function merge(client: LetterClient): Promise<Plain> {
  const { plan } = await client.call('PlanDeadLetters', { operation: 'OPERATION_MERGE', queue, selection: {} });
  const { planId, hash } = plan as Plain;
  const { job } = await client.call('ApplyPlan', { planId, hash });
  const { jobId } = job as Plain;
  const answer = await until(
    () => client.call('DescribeJob', { jobId }),
    (described) => /completed|failed/i.test(String((described['job'] as Plain)['state'])),
  );
  return answer['job'] as Plain;
}

async function childStarts(connection: Connection): Promise<number> {
  const { history } = await connection.workflowService.getWorkflowExecutionHistory({ namespace, execution: { workflowId: 'parent' } });
  const type = enums.EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED;
  return (history?.events ?? []).filter(({ eventType }) => eventType === type).length;
}

test('the start of a child that failed is merged: the child starts, once, and kill -9 changes neither', async () => {
  await withFolder(async (folder) => {
    const database = join(folder, 'perdure.db');
    const first = await serverOn(database, faults);
    await startParent(await connect(first));
    const letters = lettersOf(first);
    await until(
      () => count(letters),
      (counted) => counted === 1,
    );
    await first.kill9();

    const second = await serverOn(database);
    const client = lettersOf(second);
    await until(
      () => count(client),
      (counted) => counted === 1,
    );
    expect(await childStarts(await connect(second))).toBe(0);
    expect(await merge(client)).toMatchObject({ state: 'completed' });
    expect(await childStarts(await connect(second))).toBe(1);
    expect(await count(client)).toBe(0);
    await second.kill9();

    const third = await serverOn(database);
    const again = lettersOf(third);
    await until(
      () => count(again),
      (counted) => counted >= 0,
    );
    expect(await count(again)).toBe(0);
    expect(await childStarts(await connect(third))).toBe(1);
  });
}, 120_000);
