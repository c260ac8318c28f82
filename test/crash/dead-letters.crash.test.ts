/**
 * Tasks that fail for good while their server is killed at any moment: each is one dead letter in the end, and those of another namespace go on.
 * The server is killed while it hands over, so at every step of that in the long run: before its record, behind it, before and behind the dead
 * letter's, and before it is noted.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { expect, test } from 'vitest';
import { run } from '../cli/capture.ts';
import { enums } from '../sdk/fields.ts';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';

const rounds = 5;
const failing = 'orders';
const sound = 'default';
const flags = [
  ...['--namespace', failing],
  ...['--dev-faults', `task=TASK_TYPE_TRANSFER_START_CHILD_EXECUTION, namespace=${failing}, error=planted`],
  ...['--dev-faults', `task=TASK_TYPE_USER_TIMER, namespace=${failing}, error=planted, kind=permanent`],
  ...['--dynamic-config-value', 'history.TaskDLQUnexpectedErrorAttempts=1'],
];
const CALL_MS = 2_000;

type Letter = { readonly workflowId: string; readonly messageId: number };

test(`${rounds} times kill -9 while tasks become dead letters (seed ${seed})`, { timeout: 180_000 }, async () => {
  await withFolder(async (folder) => {
    const server = await embeddedServer(join(folder, 'perdure.db'), flags);
    try {
      await killAgainAndAgain(server);
    } finally {
      await server.stop();
    }
  });
});

async function killAgainAndAgain(server: ServerProcess): Promise<void> {
  const prng = new Prng(seed);
  const began = new Set<string>();
  for (let round = 1; round <= rounds; round++) {
    await server.start();
    const connection = await Connection.connect({ address: server.address });
    const isKilled = new AbortController();
    const load = Promise.all(
      Array.from({ length: 4 }, (_, nth) => failingWorkflows(connection, `${round}-${nth}`, began, isKilled.signal)),
    );
    await delay(200 + prng.fraction() * 600);
    await server.kill9();
    isKilled.abort();
    await load;
    await connection.close();
  }
  await server.start();
  const connection = await Connection.connect({ address: server.address });
  const expected = await withChildOf(connection, began);
  expect(expected.length, 'some began before each kill').toBeGreaterThan(rounds);
  for (const category of ['transfer', 'timer']) await until(async () => (await letters(server, category)).length >= expected.length);
  await startChildOf(connection, sound, 'neighbour');
  await until(async () => await isThere(connection, sound, 'neighbour-child'));
  await connection.close();

  // Whatever was under way has ended: another life adds nothing.
  await server.kill9();
  await server.start();
  for (const category of ['transfer', 'timer']) {
    const found = await letters(server, category);
    expect(found.map(({ workflowId }) => workflowId).toSorted(), category).toEqual(expected);
    expect(found.map(({ messageId }) => messageId)).toEqual(found.map((_, index) => index));
  }
}

/** One behind the other, until their server is killed. */
async function failingWorkflows(connection: Connection, name: string, began: Set<string>, signal: AbortSignal): Promise<void> {
  for (let nth = 0; !signal.aborted; nth++) {
    const workflowId = `order-${name}-${nth}`;
    began.add(workflowId);
    try {
      await startChildOf(connection, failing, workflowId);
    } catch (error) {
      if (!isGrpcServiceError(error)) throw error;
      return;
    }
  }
}

/** A workflow that starts a child and a timer at once. */
async function startChildOf(connection: Connection, namespace: string, workflowId: string): Promise<void> {
  const { workflowService: service } = connection;
  const taskQueue = { name: workflowId };
  const start = { namespace, workflowId, taskQueue, workflowType: { name: 'Order' }, requestId: workflowId };
  await connection.withDeadline(Date.now() + CALL_MS, async () => {
    await service.startWorkflowExecution(start);
    const { taskToken } = await service.pollWorkflowTaskQueue({ namespace, taskQueue, identity: 'worker' });
    const child = { namespace, workflowId: `${workflowId}-child`, workflowType: { name: 'Child' }, taskQueue };
    await service.respondWorkflowTaskCompleted({
      namespace,
      taskToken,
      commands: [
        { commandType: enums.CommandType.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION, startChildWorkflowExecutionCommandAttributes: child },
        {
          commandType: enums.CommandType.COMMAND_TYPE_START_TIMER,
          startTimerCommandAttributes: { timerId: 'soon', startToFireTimeout: { nanos: 1_000_000 } },
        },
      ],
    });
  });
}

/** Those whose child is in their history, whether anybody has heard of that or not. */
async function withChildOf({ workflowService: service }: Connection, began: ReadonlySet<string>): Promise<readonly string[]> {
  const found: string[] = [];
  for (const workflowId of began) {
    const history = service.getWorkflowExecutionHistory({ namespace: failing, execution: { workflowId } });
    const events = await history.then((answer) => answer.history?.events ?? [], noneIfUnknown);
    if (events.some((event) => event.startChildWorkflowExecutionInitiatedEventAttributes !== null)) found.push(workflowId);
  }
  return found.toSorted();
}

async function isThere({ workflowService: service }: Connection, namespace: string, workflowId: string): Promise<boolean> {
  const found = service.describeWorkflowExecution({ namespace, execution: { workflowId } });
  return (await found.then((answer) => [answer], noneIfUnknown)).length > 0;
}

function noneIfUnknown(error: unknown): readonly never[] {
  if (isGrpcServiceError(error) && error.code === 5) return [];
  throw error;
}

async function letters(server: ServerProcess, category: string): Promise<readonly Letter[]> {
  const { code, out } = await run(['admin', 'queue', 'dlq', 'read', '--category', category, '--address', server.address, '-o', 'json']);
  return code === 0 ? (JSON.parse(out) as readonly Letter[]) : [];
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(50);
}
