/**
 * A journal holds what no version should have written: a timer that cannot be decided, ever. It is a dead letter after as many attempts as
 * operators allow; its shard goes on meanwhile, and kill -9 changes nothing.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { afterEach, expect, test } from 'vitest';
import { defaults } from '../../src/config/defaults.ts';
import { historyShardOf } from '../../src/kernel/shard.ts';
import { enums } from '../sdk/fields.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { appendUndecidableTimer } from './undecidable-timer.ts';

const namespace = 'default';
const workflowId = 'poisoned';
const attemptsMax = ['--dynamic-config-value', 'history.TaskDLQUnexpectedErrorAttempts=2', '--log-level', 'warn'];
const historyShards = defaults.embedded.historyShards;

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function serverOn(database: string): Promise<ServerProcess> {
  const server = await embeddedServer(database, attemptsMax);
  open.push({ close: () => server.stop() });
  await server.start();
  return server;
}

async function connect(server: ServerProcess): Promise<Connection> {
  const connection = await Connection.connect({ address: server.address });
  open.push({ close: () => connection.close() });
  return connection;
}

/** A workflow whose first task waits for a timer of that shard. */
async function runToItsEnd(connection: Connection, otherId: string): Promise<void> {
  const { workflowService: service } = connection;
  const taskQueue = { name: 'work' };
  const workflowStartDelay = { seconds: 1 as never };
  await service.startWorkflowExecution({
    namespace,
    workflowId: otherId,
    workflowType: { name: 'Order' },
    taskQueue,
    requestId: otherId,
    workflowStartDelay,
  });
  const { taskToken } = await connection.withDeadline(Date.now() + 20_000, () =>
    service.pollWorkflowTaskQueue({ namespace, taskQueue, identity: 'worker' }),
  );
  const commandType = enums.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION;
  await service.respondWorkflowTaskCompleted({
    namespace,
    taskToken,
    commands: [{ commandType, completeWorkflowExecutionCommandAttributes: {} }],
  });
}

test('a timer that cannot be decided is a dead letter, its shard goes on, and kill -9 changes neither', async () => {
  await withFolder(async (folder) => {
    const database = join(folder, 'perdure.db');
    const first = await serverOn(database);
    const { namespaceInfo } = await (await connect(first)).workflowService.describeNamespace({ namespace });
    await first.stop();
    const namespaceId = namespaceInfo?.id ?? '';
    const shardOf = (id: string): number => historyShardOf(namespaceId, id, historyShards);
    const shard = shardOf(workflowId);
    const [before = '', after = ''] = Array.from({ length: 100 }, (_, index) => `order-${index}`).filter((id) => shardOf(id) === shard);
    await appendUndecidableTimer(database, { namespaceId, workflowId });

    const second = await serverOn(database);
    await runToItsEnd(await connect(second), before);
    while (!second.output.includes('Marking task as terminally failed')) await delay(20);
    expect(second.output.match(/could not be decided/g)).toHaveLength(2);
    await second.kill9();

    const third = await serverOn(database);
    const connection = await connect(third);
    await runToItsEnd(connection, after);
    expect(third.output, 'it is tried no more').not.toContain('could not be decided');
    const { workflowExecutionInfo } = await connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId } });
    expect(workflowExecutionInfo?.status, 'its workflow waits for a person').toBe(1);
  });
});
