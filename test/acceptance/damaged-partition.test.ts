/**
 * One journal partition of a server's file is damaged while it is stopped. The server comes back, serves everything else, says what it
 * does not serve, and why.
 */
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterEach, describe, expect, test } from 'vitest';
import { enums } from '../sdk/fields.ts';
import { Child } from '../cli/child.ts';
import { healthOf } from '../support/grpc-health.ts';
import { freePort, ServerProcess } from '../support/server-process.ts';
import { withFolder } from '../support/servers.ts';
import { fileURLToPath } from 'node:url';
import { historyShardOf } from '../../src/kernel/shard.ts';
import { refusal } from '../support/refusal.ts';

const namespace = 'default';
const taskQueue = { name: 'work' };
const workflowIds = Array.from({ length: 24 }, (_, index) => `order-${index}`);
const damagedShard = 2;
const damagedPartition = 'perdure.history/1';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function serverOn(database: string): Promise<ServerProcess> {
  const port = await freePort();
  const line = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--headless', '--db-filename', database];
  const server = new ServerProcess(port, line);
  open.push({ close: () => server.stop() });
  await server.start();
  return server;
}

/** Sees every answer: the connection's own retries are off. */
async function connect(server: ServerProcess): Promise<Connection> {
  const connection = await Connection.connect({ address: server.address, interceptors: [] });
  open.push({ close: () => connection.close() });
  return connection;
}

type Poll = ReturnType<Connection['workflowService']['pollWorkflowTaskQueue']>;

function poll(connection: Connection, name: string): Poll {
  const request = { namespace, taskQueue: { name }, identity: 'worker' };
  return connection.withDeadline(Date.now() + 20_000, () => connection.workflowService.pollWorkflowTaskQueue(request));
}

/** One byte of the partition's newest batch, as a bad disk would. */
function damage(database: string, topic: string, partition: number): void {
  const db = new DatabaseSync(database);
  const id = Number(db.prepare('SELECT id FROM partitions WHERE topic = ? AND partition = ?').get(topic, partition)?.['id']);
  const row = db.prepare(`SELECT base, data FROM journal_${id} ORDER BY base DESC LIMIT 1`).get();
  const data = row?.['data'];
  if (!(data instanceof Uint8Array)) throw new Error(`${topic}/${partition} holds nothing`);
  const at = data.byteLength - 1;
  data[at] = (data[at] ?? 0) ^ 1;
  db.prepare(`UPDATE journal_${id} SET data = ? WHERE base = ?`).run(data, Number(row?.['base']));
  db.close();
}

/** A worker whose workflows complete at once; answers which did, when `count` have. */
async function completeTasks(connection: Connection, count: number): Promise<readonly string[]> {
  const done: string[] = [];
  while (done.length < count) {
    const { taskToken, workflowExecution } = await poll(connection, taskQueue.name);
    if (taskToken.length === 0) continue;
    const commandType = enums.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION;
    await connection.workflowService.respondWorkflowTaskCompleted({
      namespace,
      taskToken,
      commands: [{ commandType, completeWorkflowExecutionCommandAttributes: {} }],
    });
    done.push(workflowExecution?.workflowId ?? '');
  }
  return done.toSorted();
}

describe('a damaged journal partition', () => {
  test('of history: its workflows are unavailable, all others run, and health says so', async () => {
    await withFolder(async (folder) => {
      const database = join(folder, 'perdure.db');
      const before = await serverOn(database);
      const { workflowService: firstService } = await connect(before);
      const { namespaceInfo } = await firstService.describeNamespace({ namespace });
      const shardOf = (workflowId: string): number => historyShardOf(namespaceInfo?.id ?? '', workflowId, 4);
      for (const workflowId of workflowIds) {
        await firstService.startWorkflowExecution({
          namespace,
          workflowId,
          workflowType: { name: 'Order' },
          taskQueue,
          requestId: workflowId,
        });
      }
      await before.stop();
      damage(database, 'perdure.history', damagedShard - 1);

      const after = await serverOn(database);
      const health = await fetch(`http://${after.address}/health`);
      expect(health.status).toBe(503);
      expect(await health.json()).toEqual({
        status: 'NOT_SERVING',
        partitionsNotServed: 1,
        partitions: [{ partition: damagedPartition, state: 'failed', reason: expect.stringMatching(/fails its checksum/) }],
      });
      expect((await fetch(`http://${after.address}/health/live`)).status).toBe(200);
      expect(await healthOf(after.address)).toBe('NOT_SERVING');

      const connection = await connect(after);
      const service = connection.workflowService;
      const [lost = [], healthy = []] = [true, false].map((gone) => workflowIds.filter((id) => (shardOf(id) === damagedShard) === gone));
      expect([lost.length > 0, healthy.length > 0]).toEqual([true, true]);
      for (const workflowId of lost) {
        const refused = await refusal(service.describeWorkflowExecution({ namespace, execution: { workflowId } }));
        expect(refused).toEqual({ code: 14, details: expect.stringContaining(damagedPartition) });
        expect(refused.details).toContain('fails its checksum');
      }
      // Their tasks stand in the queue's backlog among the others.
      expect(await completeTasks(connection, healthy.length)).toEqual(healthy.toSorted());
      await after.stop();
      expect(after.output).toMatch(/ERROR .*perdure\.history\/1/);
    });
  });

  test('of matching: its queues are unavailable, the server serves', async () => {
    await withFolder(async (folder) => {
      const database = join(folder, 'perdure.db');
      await (await serverOn(database)).stop();
      damage(database, 'perdure.matching', 0);
      const after = await serverOn(database);
      expect(await (await fetch(`http://${after.address}/health`)).json()).toMatchObject({
        status: 'NOT_SERVING',
        partitions: [{ partition: 'perdure.matching/0', state: 'failed' }],
      });
      const connection = await connect(after);
      // Some of many queues live there, of four partitions by a namespace that has another id each time: they are refused at once, with the reason;
      // the others wait for tasks.
      const polls = Array.from({ length: 64 }, (_, index) =>
        poll(connection, `queue-${index}`).then(
          () => 'ended',
          (error: { code: number; details: string }) => `${error.code} ${error.details}`,
        ),
      );
      const refused = await Promise.race(polls);
      expect(refused).toMatch(/^14 perdure\.matching\/0.*checksum/);
      await after.stop();
      const answers = await Promise.all(polls);
      expect(answers.filter((answer) => answer === 'ended').length).toBeGreaterThan(0);
    });
  });

  test('of the cluster: nothing can be served without it, and the start says so', async () => {
    await withFolder(async (folder) => {
      const database = join(folder, 'perdure.db');
      await (await serverOn(database)).stop();
      damage(database, 'perdure.cluster', 0);
      const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
      const child = new Child(bin, ['server', 'start-dev', '--port', '0', '--db-filename', database]);
      expect(await child.exit).toEqual({ code: 1, signal: null });
      expect(child.err).toMatch(/^perdure: nothing can be served without perdure\.cluster\/0, .*\nBecause: .*fails its checksum/m);
      expect(child.out).toBe('');
    });
  });
});
