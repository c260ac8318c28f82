/**
 * Temporal's own `tdbg`, unmodified, against a server: what an operator types and reads.
 *
 * It is a Go program of 77 MB that takes minutes to build, so it is not built by every run of the tests: `PERDURE_TDBG=build` builds it once into
 * `.cache` (`build.sh`), and from then on every run has it, until `go.sum` changes. The build machine does so, beside the other tests.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { historyShardOf } from '../../src/kernel/shard.ts';
import { loadServiceMessages } from '../../src/wire/services.ts';
import { LetterClient } from '../grpc/deadletter-service/letter-client.ts';
import { memoryServer } from '../support/memory-server.ts';
import { withClient } from '../support/with-client.ts';

const run = promisify(execFile);
const goModule = fileURLToPath(new URL('.', import.meta.url));
const cache = fileURLToPath(new URL('../../.cache', import.meta.url));
const program = join(cache, `tdbg-${digestOf(join(goModule, 'go.sum'))}`);
const mustBuild = process.env['PERDURE_TDBG'] === 'build' && !existsSync(program);
const buildMsMax = 1_800_000;

function digestOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12);
}

/** Waits for the build that .ci/run has begun, or does it. */
async function build(): Promise<void> {
  await run('bash', [join(goModule, 'build.sh')], { maxBuffer: 16 * 1024 * 1024 });
}

/** The first workflow task of what starts in that namespace is a letter. */
const brokenStart = {
  taskType: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
  namespace: 'broken',
  errorMessage: 'no such queue',
  kind: 'permanent',
  share: 1,
} as const;

/** And there it fails again and again: it stays pending. */
const stuckStart = { ...brokenStart, namespace: 'stuck', kind: 'failed' } as const;

type Message = { readonly message_id: number; readonly shard_id: number; readonly payload: Readonly<Record<string, unknown>> };
type Task = {
  readonly task_id: number;
  readonly task_type: number;
  readonly workflow_id: string;
  readonly fire_time?: { readonly seconds: number; readonly nanos?: number };
};
type Outcome = { readonly code: number; readonly out: string; readonly err: string };

if (!mustBuild && !existsSync(program) && process.env['CI'] === undefined) {
  console.warn(`SKIPPED: Temporal's tdbg: there is no ${program}; PERDURE_TDBG=build makes it, in minutes`);
  // oxlint-disable-next-line vitest/no-disabled-tests -- the skip is the message
  test.skip("Temporal's tdbg", () => {});
} else {
  describe("Temporal's tdbg", () => {
    tdbg();
  });
}

function tdbg(): void {
  let server: RunningServer;

  beforeAll(async () => {
    if (mustBuild) await build();
    server = await memoryServer({ historyShards: 4, namespaces: ['default', 'broken', 'stuck'], devFaults: [brokenStart, stuckStart] });
  }, buildMsMax);
  afterAll(() => server.stop());

  async function typed(line: string): Promise<Outcome> {
    const given = ['--address', server.address, '--color', 'never', '--context-timeout', '60', ...line.split(' ')];
    try {
      const { stdout, stderr } = await run(program, given);
      return { code: 0, out: stdout, err: stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { readonly code: number; readonly stdout: string; readonly stderr: string };
      return { code, out: stdout, err: stderr };
    }
  }

  async function shown(line: string): Promise<unknown> {
    const { code, out, err } = await typed(line);
    expect([code, err]).toEqual([0, '']);
    return JSON.parse(out);
  }

  const queue = '--dlq-type 1 --cluster active --target-cluster active';
  const counted = { queue_name: '1_active_active_B8jqXXpO', message_count: 3, last_message_id: 2 };

  test('dlq list: queues by their dead letters', async () => {
    const startAll = async ({ workflow }: Client): Promise<void> => {
      for (const workflowId of ['order-1', 'order-2', 'order-3']) await workflow.start('Order', { taskQueue: 'orders', workflowId });
    };
    await withClient(server.address, startAll, 'broken');
    // A letter is there as soon as its queue is.
    await expect.poll(() => shown('dlq list --print-json'), { timeout: 60_000 }).toContainEqual(counted);
    const queues = await shown('dlq list --print-json');
    const empty = [2, 4, 5, 7].map((category) => ({ queue_name: `${category}_active_active_B8jqXXpO`, last_message_id: -1 }));
    expect(queues).toEqual([counted, ...empty]);
    expect(await typed('dlq list')).toMatchObject({ code: 0, err: '', out: expect.stringContaining('1_active_active_B8jqXXpO') });
  });

  async function read(more = ''): Promise<readonly Message[]> {
    const { code, out, err } = await typed(`--yes dlq read ${queue}${more}`);
    expect([code, err]).toEqual([0, '']);
    return out.trim() === '' ? [] : (JSON.parse(`[${out.trim().replaceAll('}\n\n{', '},{')}]`) as readonly Message[]);
  }

  test('dlq read: dead letters with their tasks, page by page', async () => {
    const letters = await read();
    expect(letters.map(({ message_id }) => message_id)).toEqual([0, 1, 2]);
    expect(letters.map(({ payload }) => String(payload['workflow_id'])).toSorted()).toEqual(['order-1', 'order-2', 'order-3']);
    expect(letters[1]).toMatchObject({
      shard_id: expect.toSatisfy((shard: number) => shard >= 1 && shard <= 4),
      payload: { task_type: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK', task_queue: 'orders', task_id: expect.stringMatching(/^\d+$/) },
    });
    expect(await read(' --pagesize 1')).toEqual(letters);
    expect(await read(' --last-message-id 1')).toEqual(letters.slice(0, 2));
    expect(await read(' --max-message-count 1')).toEqual(letters.slice(0, 1));
  });

  async function jobOf(line: string): Promise<string> {
    let out = '';
    const isStarted = async (): Promise<string> => {
      const outcome = await typed(`--yes dlq ${line} ${queue}`);
      ({ out } = outcome);
      return outcome.err;
    };
    // The actor of jobs comes while the server serves.
    await expect.poll(isStarted, { timeout: 60_000 }).toBe('');
    const { jobToken } = JSON.parse(out.slice(out.indexOf('{'))) as { readonly jobToken: string };
    return jobToken;
  }

  const key = { taskCategory: 1, sourceCluster: 'active', targetCluster: 'active' };

  test('dlq purge, and job describe: dead letters up to an id go', async () => {
    const token = await jobOf('purge --last-message-id 0');
    await expect
      .poll(() => shown(`dlq job describe --job-token ${token}`), { timeout: 60_000 })
      .toMatchObject({
        dlqKey: key,
        operationType: 'DLQ_OPERATION_TYPE_PURGE',
        operationState: 'DLQ_OPERATION_STATE_COMPLETED',
        messagesProcessed: '1',
      });
    expect((await read()).map(({ message_id }) => message_id)).toEqual([1, 2]);
    expect(await shown('dlq list --print-json')).toContainEqual({ ...counted, message_count: 2 });
  });

  test('dlq merge, and job cancel: what fails again stays', async () => {
    const token = await jobOf('merge');
    await expect
      .poll(() => shown(`dlq job describe --job-token ${token}`), { timeout: 60_000 })
      .toMatchObject({
        operationType: 'DLQ_OPERATION_TYPE_MERGE',
        operationState: 'DLQ_OPERATION_STATE_FAILED',
        maxMessageId: '2',
        lastProcessedMessageId: '2',
      });
    expect((await read()).map(({ message_id }) => message_id)).toEqual([1, 2]);
    expect(await shown(`dlq job cancel --job-token ${token} --reason enough`)).toEqual({});
    expect(await typed('dlq job describe --job-token AAAA')).toMatchObject({
      code: 1,
      err: expect.stringContaining('code = InvalidArgument desc = Invalid DLQ job token.'),
    });
  });

  const missing = '--dlq-type 3 --cluster west --target-cluster active';

  test('dlq read: a queue that is not there is an empty one', async () => {
    expect(await typed(`--yes dlq read ${missing}`)).toEqual({ code: 0, out: '', err: '' });
    expect(await typed('--yes dlq --dlq-version v1 read --dlq-type history --cluster active --shard-id 1')).toMatchObject({ code: 0 });
  });

  test('dlq merge and purge of it', async () => {
    expect(await typed(`--yes dlq merge ${missing}`)).toMatchObject({
      code: 0,
      out: expect.stringContaining('DLQ is empty, nothing to merge.'),
    });
    expect(await typed(`--yes dlq purge ${missing} --last-message-id 3`)).toMatchObject({
      code: 1,
      err: expect.stringContaining('queue not found: type = 2 and name = 3_west_active_'),
    });
  });

  test('shard describe', async () => {
    expect(await shown('shard describe --shard-id 1')).toEqual({ shardId: 1, rangeId: '1', owner: server.address });
    expect(await typed('shard describe --shard-id 5')).toMatchObject({
      code: 1,
      err: expect.stringContaining('code = NotFound desc = shard 5 is not found: there are shards 1 to 4'),
    });
  });

  test('shard list-tasks', async () => {
    expect(await typed('shard list-tasks --shard-id 1 --task-category visibility')).toEqual({ code: 0, out: '', err: '' });
    expect(await typed('shard list-tasks --shard-id 9 --task-category visibility')).toMatchObject({
      code: 1,
      err: expect.stringContaining('shard 9 is not found'),
    });
  });

  /** Of all shards, with the flags that name their shard. */
  async function tasksOf(category: string): Promise<readonly (Task & { readonly at: string })[]> {
    const upTo = category === 'timer' ? '--max-visibility-ts 2099-01-01T00:00:00+00:00' : '--max-task-id 9007199254740993';
    const found: (Task & { readonly at: string })[] = [];
    for (const shard of [1, 2, 3, 4]) {
      const at = `--shard-id ${shard} --task-category ${category}`;
      const { code, out, err } = await typed(`shard list-tasks ${at} ${upTo}`);
      expect([code, err]).toEqual([0, '']);
      if (out.trim() !== '') found.push(...(JSON.parse(out) as readonly Task[]).map((task) => ({ ...task, at })));
    }
    return found;
  }

  test('shard list-tasks and remove-task: what is pending, and what goes for ever', async () => {
    const startOne = async ({ workflow }: Client): Promise<void> => {
      await workflow.start('Order', { taskQueue: 'orders', workflowId: 'stuck-1', workflowExecutionTimeout: '2 days' });
    };
    await withClient(server.address, startOne, 'stuck');
    const { TASK_TYPE_TRANSFER_WORKFLOW_TASK, TASK_TYPE_WORKFLOW_EXECUTION_TIMEOUT } = (await loadServiceMessages()).enums.v1.TaskType;
    const [transfer, ...others] = (await tasksOf('transfer')).filter(({ workflow_id }) => workflow_id === 'stuck-1');
    expect([transfer?.task_type, others]).toEqual([TASK_TYPE_TRANSFER_WORKFLOW_TASK, []]);
    const [timer] = (await tasksOf('timer')).filter(({ workflow_id }) => workflow_id === 'stuck-1');
    expect(timer).toMatchObject({ task_type: TASK_TYPE_WORKFLOW_EXECUTION_TIMEOUT, fire_time: { seconds: expect.any(Number) } });

    const { seconds = 0, nanos = 0 } = timer?.fire_time ?? {};
    const fireTime = BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
    const removal = `shard remove-task ${timer?.at} --task-id ${timer?.task_id} --task-timestamp`;
    expect(await typed(`--yes ${removal} ${fireTime + 1_000_000n}`)).toMatchObject({
      code: 1,
      err: expect.stringContaining(`code = NotFound desc = task ${timer?.task_id} is not found`),
    });
    expect(await typed(`--yes ${removal} ${fireTime}`)).toMatchObject({ code: 0, err: '' });
    expect(await typed(`--yes shard remove-task ${transfer?.at} --task-id ${transfer?.task_id}`)).toMatchObject({ code: 0, err: '' });
    const left = [...(await tasksOf('transfer')), ...(await tasksOf('timer'))];
    expect(left.filter(({ workflow_id }) => workflow_id === 'stuck-1')).toEqual([]);
  });

  test('membership list-gossip and list-db', async () => {
    const ring = (role: string) => ({ role, member_count: 1, members: [{ identity: server.address }] });
    expect(await shown('membership list-gossip')).toEqual(['frontend', 'history', 'matching', 'worker'].map(ring));
    const members = await shown('membership list-db');
    expect(members).toHaveLength(4);
    expect(members).toMatchObject([{ rpc_address: '127.0.0.1', rpc_port: server.port }, {}, {}, {}]);
  });

  test('history-host describe', async () => {
    expect(await shown('history-host describe --shard-id 2')).toMatchObject({ shardsNumber: 4, address: server.address });
  });

  test('workflow describe', async () => {
    const runId = await withClient(server.address, async ({ workflow }) => {
      const handle = await workflow.start('Order', { taskQueue: 'orders', workflowId: 'order-1' });
      return handle.firstExecutionRunId;
    });
    const { code, out, err } = await typed('workflow describe --workflow-id order-1');
    expect([code, err]).toEqual([0, '']);
    const [, state = '', branch = ''] =
      /^Cache mutable state:\nDatabase mutable state:\n([^]*)\nCurrent branch token:\n([^]*)\nHistory service/.exec(out) ?? [];
    expect(JSON.parse(state)).toMatchObject({
      executionInfo: { workflowId: 'order-1', taskQueue: 'orders', workflowTypeName: 'Order', workflowTaskScheduledEventId: '2' },
      executionState: { runId, state: 'WORKFLOW_EXECUTION_STATE_RUNNING', status: 'WORKFLOW_EXECUTION_STATUS_RUNNING' },
      nextEventId: '3',
    });
    expect(JSON.parse(branch)).toEqual({ treeId: runId, branchId: runId });
    expect(out).toMatch(new RegExp(`History service address: ${server.address}\nShard Id: [1-4]\n$`));
    expect(await typed('workflow describe --workflow-id nobody')).toMatchObject({
      code: 1,
      err: expect.stringContaining('code = NotFound desc = workflow not found for ID: nobody'),
    });
  });

  test('dlq read, merge and purge of the dead letters of another cluster', async () => {
    const { ReplicationTaskInfo } = (await loadServiceMessages()).persistence.v1;
    const info = { namespaceId: 'n', workflowId: 'order-1', runId: 'r', taskType: 1, firstEventId: 5, nextEventId: 9 };
    const value = ReplicationTaskInfo.encode(ReplicationTaskInfo.fromObject(info)).finish();
    const letters = new LetterClient(server.address);
    try {
      const put = { queue: { category: 'replication', sourceCluster: 'west' }, firstSequence: 1 };
      const shard = historyShardOf('n', 'order-1', 4);
      await letters.onceServed('PutDeadLetters', { ...put, shardId: shard, letters: [{ value, cause: 'permanent-error' }] });
      expect(await shown('dlq list --print-json')).toContainEqual({
        queue_name: expect.stringMatching(/^3_west_active_/),
        // Ids of other clusters' queues begin at 1.
        last_message_id: 1,
        message_count: 1,
      });
      const { code, out } = await typed(`--yes dlq read ${missing}`);
      expect([code, JSON.parse(out)]).toMatchObject([0, { shard_id: 0, payload: { workflow_id: 'order-1', first_event_id: '5' } }]);
      const v1 = `--dlq-type history --cluster west --shard-id ${shard}`;
      const read = await typed(`--yes dlq --dlq-version v1 read ${v1}`);
      expect([read.code, read.out]).toEqual([0, expect.stringContaining('order-1')]);
      expect(await typed(`--yes dlq --dlq-version v1 merge ${v1} --last-message-id 9`)).toMatchObject({
        code: 1,
        err: expect.stringContaining('1 of 1 tasks failed again: message 1: this server executes no tasks of the category replication'),
      });
      expect(await typed(`--yes dlq --dlq-version v1 purge ${v1} --last-message-id 9`)).toMatchObject({ code: 0 });
      expect(await typed(`--yes dlq read ${missing}`)).toEqual({ code: 0, out: '', err: '' });
    } finally {
      letters.close();
    }
  });
}
