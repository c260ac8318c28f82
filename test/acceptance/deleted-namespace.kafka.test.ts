/**
 * A namespace is deleted while its workflows wait: what they have left to do becomes letters. It is registered again, and a merge ends all of them,
 * each with the reason why nothing is left to do. On Kafka, and with state in PostgreSQL.
 */
import { randomUUID } from 'node:crypto';
import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { expect, inject, test } from 'vitest';
import { perdureAt } from '../cli/perdure-process.ts';
import { canStartPostgres, startPostgres } from '../postgres/postgres.ts';
import { skipAloud } from '../sdk/skip-aloud.ts';
import { kafkaServer, withFolder } from '../support/servers.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { consumeAll, kafkaClient } from './kafka-admin.ts';

const {
  COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION: complete,
  COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION: startChild,
  COMMAND_TYPE_START_TIMER: startTimer,
} = temporal.api.enums.v1.CommandType;
const { WORKFLOW_EXECUTION_STATUS_COMPLETED: completed } = temporal.api.enums.v1.WorkflowExecutionStatus;

const queue = 'admin queue dlq';
const patience = { timeout: 60_000, interval: 100 };
const taskQueue = { name: 'q' };

const kafka = inject('kafka');
const noPostgres = await canStartPostgres();
if ('missing' in kafka) skipAloud('letters of a deleted namespace on Kafka', kafka.missing);
else {
  test('a deleted namespace, on Kafka', () => namespaceComesBack(kafka.brokers, []));
  if (noPostgres !== undefined) skipAloud('letters of a deleted namespace with PostgreSQL', noPostgres);
  else
    test('a deleted namespace, on Kafka with PostgreSQL', async () => {
      const postgres = await startPostgres();
      try {
        await namespaceComesBack(kafka.brokers, [`postgres: { url: "postgres://perdure@127.0.0.1:${postgres.port}/postgres" }`]);
      } finally {
        await postgres.stop();
      }
    });
}

async function namespaceComesBack(brokers: readonly string[], perdure: readonly string[]): Promise<void> {
  const topicPrefix = `deleted-${randomUUID()}`;
  await withFolder(async (folder) => {
    const server = await kafkaServer(folder, { brokers, topicPrefix, perdure });
    try {
      await server.start();
      await withConnection(server, inFlightWhenDeleted);
      await lettersTell(server);
      await mergeInVain(server);
      // Whatever stands in memory is gone.
      await server.kill9();
      await server.start();
      await mergeWhenItIsBack(server);
      expect(await tombstones(brokers, `dlq.${topicPrefix}.timer.active`)).toEqual(['0 merged-noop', '1 merged-noop']);
      await server.kill9();
      await server.start();
      expect(await counts(server)).toEqual(['0\n', '0\n']);
      await withConnection(server, async ({ workflowService }) => {
        const execution = { workflowId: 'child' };
        const { workflowExecutionInfo } = await workflowService.describeWorkflowExecution({ namespace: 'default', execution });
        expect(workflowExecutionInfo?.status).toBe(completed);
      });
    } finally {
      await server.stop();
    }
  });
}

async function withConnection(server: ServerProcess, use: (connection: Connection) => Promise<void>): Promise<void> {
  const connection = await Connection.connect({ address: server.address });
  try {
    await use(connection);
  } finally {
    await connection.close();
  }
}

/** A run that times out, a timer, and a child elsewhere that has a parent here. */
async function inFlightWhenDeleted(connection: Connection): Promise<void> {
  const { workflowService: service, operatorService } = connection;
  const namespace = 'orders';
  const startIn = (workflowId: string, more: temporal.api.workflowservice.v1.IStartWorkflowExecutionRequest = {}) =>
    service.startWorkflowExecution({ namespace, workflowId, workflowType: { name: 'T' }, taskQueue, requestId: workflowId, ...more });
  const answer = async (of: string, command: temporal.api.command.v1.ICommand): Promise<void> => {
    const deadlineMs = Date.now() + 20_000;
    const { taskToken } = await connection.withDeadline(deadlineMs, () => service.pollWorkflowTaskQueue({ namespace: of, taskQueue }));
    await service.respondWorkflowTaskCompleted({ namespace: of, taskToken, commands: [command] });
  };
  await service.registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 86_400 as never } });
  await startIn('timed', { workflowRunTimeout: { seconds: 2 as never }, taskQueue: { name: 'nobody' } });
  await startIn('sleeper');
  await answer(namespace, {
    commandType: startTimer,
    startTimerCommandAttributes: { timerId: 'soon', startToFireTimeout: { seconds: 2 as never } },
  });
  await startIn('parent');
  const child = { namespace: 'default', workflowId: 'child', workflowType: { name: 'T' }, taskQueue };
  await answer(namespace, { commandType: startChild, startChildWorkflowExecutionCommandAttributes: child });
  // The child's first task says that its start has come back to its parent.
  const polled = connection.withDeadline(Date.now() + 20_000, () => service.pollWorkflowTaskQueue({ namespace: 'default', taskQueue }));
  const { taskToken } = await polled;
  await operatorService.deleteNamespace({ namespace });
  const commands = [{ commandType: complete, completeWorkflowExecutionCommandAttributes: {} }];
  await service.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, commands });
}

async function counts({ address }: ServerProcess): Promise<readonly string[]> {
  const [timer, transfer] = [`${queue} count --category timer`, `${queue} count --category transfer`];
  return [(await perdureAt(address, timer)).out, (await perdureAt(address, transfer)).out];
}

async function lettersTell(server: ServerProcess): Promise<void> {
  await expect.poll(() => counts(server), patience).toEqual(['2\n', '1\n']);
  const { out } = await perdureAt(server.address, `${queue} groups --category timer --by cause -o json`);
  expect(JSON.parse(out)).toMatchObject([{ key: 'namespace-deleted', count: 2 }]);
  const letters = JSON.parse((await perdureAt(server.address, `${queue} read --category timer`)).out) as readonly object[];
  expect(letters).toMatchObject([{ namespace: 'orders' }, { namespace: 'orders' }]);
}

async function mergeInVain({ address }: ServerProcess): Promise<void> {
  const { code, out } = await perdureAt(address, `${queue} merge --category timer --message-id 0`);
  expect([code, out]).toEqual([3, expect.stringContaining('NamespaceNotFound: Namespace orders is not found. (as before)')]);
}

async function mergeWhenItIsBack(server: ServerProcess): Promise<void> {
  const { address } = server;
  await expect.poll(async () => (await perdureAt(address, 'namespace register orders')).code, patience).toBe(0);
  await expect.poll(() => counts(server), patience).toEqual(['2\n', '1\n']);
  const told = (message: number, of: string, why: string): string => `  message ${message} of ${of}/active  nothing left to do: ${why}\n`;
  expect(await perdureAt(address, `${queue} merge --category timer`)).toEqual({
    code: 0,
    out:
      'merged 2, failed 0, skipped 0\nmerged with nothing left to do 2\n' +
      [0, 1].map((message) => told(message, 'timer', 'the workflow is gone')).join(''),
    err: '',
  });
  expect(await perdureAt(address, `${queue} merge --category transfer`)).toEqual({
    code: 0,
    out:
      'merged 1, failed 0, skipped 0\nmerged with nothing left to do 1\n' +
      told(0, 'transfer', 'the parent is gone with its namespace orders'),
    err: '',
  });
  expect(await counts(server)).toEqual(['0\n', '0\n']);
}

/** As any tool for Kafka sees them: what has become of which letter. */
async function tombstones(brokers: readonly string[], topic: string): Promise<readonly string[]> {
  const records = await consumeAll(kafkaClient(brokers), topic);
  return records
    .filter(({ message: { key, value } }) => value === null && !String(key).startsWith('@'))
    .map(({ message: { key, headers } }) => `${String(key)} ${String(headers?.['perdure.how'])}`);
}
