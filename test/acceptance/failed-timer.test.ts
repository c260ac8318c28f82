/**
 * A journal holds what no version should have written: a timer that cannot be decided, ever. It is a dead letter after as many attempts as
 * operators allow; its shard goes on meanwhile, and kill -9 changes nothing.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { afterEach, expect, test } from 'vitest';
import { PartitionLoop } from '../../src/actors/partition/partition-loop.ts';
import { systemClock, systemRandom } from '../../src/actors/system-ports.ts';
import { defaults } from '../../src/config/defaults.ts';
import type { HistoryRecord } from '../../src/history/record.ts';
import { historyShardOf } from '../../src/kernel/shard.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { claimsOf } from '../../src/start/server-contact.ts';
import { topicCatalogue } from '../../src/topics/catalogue.ts';
import { historyCodec } from '../../src/topics/codec/history-codec.ts';
import { openEmbeddedLog } from '../../src/topics/embedded/embedded-log.ts';
import { scheduleActivity, ShardUnderTest } from '../history/shard-under-test.ts';
import { enums } from '../sdk/fields.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';

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

/** A workflow with an activity that has no deadline, and a timer for that deadline: no decision is possible when it fires. */
function poisoned(namespaceId: string): readonly HistoryRecord[] {
  const shard = new ShardUnderTest();
  shard.nowMs = Date.now() - 60_000;
  shard.start({ key: { namespaceId, workflowId, runId: '' }, namespace });
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity()]);
  const { key, scheduledEventId, stamp } = shard.pendingTask('activityTask');
  const taskId = 1 + Math.max(...shard.records.flatMap(({ tasks }) => tasks.map((task) => task.taskId)));
  const timer = {
    kind: 'activityTimeout',
    taskId,
    fireTimeMs: shard.nowMs,
    key,
    scheduledEventId,
    stamp,
    timeout: 'scheduleToStart',
  } as const;
  return shard.records.map((record, at) => (at === shard.records.length - 1 ? { ...record, tasks: [...record.tasks, timer] } : record));
}

/** Behind what the journal holds, by an owner as any other. */
async function append(database: string, shard: number, records: readonly HistoryRecord[]): Promise<void> {
  const topics = topicCatalogue({
    prefix: 'perdure',
    historyPartitions: historyShards,
    matchingPartitions: defaults.embedded.matchingPartitions,
  });
  const log = await openEmbeddedLog({ filename: database, topics });
  const active = Promise.withResolvers<void>();
  const loop = new PartitionLoop<HistoryRecord, never, HistoryRecord, never>({
    partition: { topic: 'perdure.history', partition: shard - 1 },
    log,
    codec: historyCodec,
    claims: claimsOf({ instance: '', addresses: [] }),
    owner: 'a version with a bug',
    create: () => ({
      core: {
        handle: (record) => ({ kind: 'commit', record, reply: undefined, effects: [] }),
        tooLarge: () => undefined,
        idsOf: () => ({ command: 'append' }),
        accept: () => {},
        evolve: () => {},
        cancel: () => ({ kind: 'wait', barrier: false, effects: [] }),
      },
      shell: {
        answer: () => {},
        act: () => {},
        activated: () => active.resolve(),
        accepted: () => {},
        undecided: () => {},
        deactivated: () => {},
      },
      subscribers: [],
    }),
    asks: { fail: () => {}, failAll: () => {}, abandon: () => {} },
    scale: { bytesOf: () => 0, finishesWork: () => false },
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
  });
  loop.start();
  await active.promise;
  for (const [index, record] of records.entries()) expect(loop.submit(index + 1, record)).toBeUndefined();
  await loop.drain();
  await log.close();
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
    await append(database, shard, poisoned(namespaceId));

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
