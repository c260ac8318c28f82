/**
 * Dead letters of tasks that another cluster has sent: put as replication will put them, and then worked with through every front door, on a whole
 * server.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status as codes } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunningServer } from '../../../src/config/server-options.ts';
import { run as perdure } from '../../cli/capture.ts';
import { memoryServer } from '../../support/memory-server.ts';
import { AdminClient } from '../admin-client.ts';
import { openBench } from '../frontend-bench.ts';
import { LetterOwners } from './letter-owners.ts';
import { LetterClient, type Plain } from './letter-client.ts';

const replication = { category: 'replication', sourceCluster: 'west' };
const ofNamespaces = { category: 'namespace-replication', sourceCluster: 'west' };

let folder: string;
let server: RunningServer;
let admin: AdminClient;
let letters: LetterClient;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-foreign-'));
  await start(undefined);
});
afterEach(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(filename: string | undefined): Promise<void> {
  server = await memoryServer({ log: { kind: 'embedded', filename, sqlitePragmas: [] } });
  admin = await AdminClient.at(server.address);
  letters = new LetterClient(server.address);
}

async function stop(): Promise<void> {
  admin.close();
  letters.close();
  await server.stop();
}

const failed = { cause: 'retries-exhausted', errorType: 'Unavailable', errorMessage: 'west does not answer', attempts: 80 };

function workflowTask(nth: number, more: Plain = {}): Plain {
  const { ReplicationTaskInfo } = admin.messages.persistence.v1;
  const info = ReplicationTaskInfo.fromObject({
    ...{ namespaceId: 'n', workflowId: `order-${nth}`, runId: `run-${nth}`, taskType: 'TASK_TYPE_REPLICATION_HISTORY' },
    ...{ taskId: 1_000 + nth, version: 11, firstEventId: 5, nextEventId: 9, ...more },
  });
  return { value: ReplicationTaskInfo.encode(info).finish(), sourceShardId: 7, namespace: 'shop', ...failed };
}

function namespaceTask(id: string): Plain {
  const { ReplicationTask } = admin.messages.replication.v1;
  const task = ReplicationTask.fromObject({
    ...{ taskType: 'REPLICATION_TASK_TYPE_NAMESPACE_TASK', sourceTaskId: 3, namespaceTaskAttributes: { id, info: { name: 'shop' } } },
  });
  return { value: ReplicationTask.encode(task).finish(), namespace: 'shop', ...failed };
}

async function put(queue: Plain, firstSequence: number, ...put: readonly Plain[]): Promise<unknown> {
  const { messageIds } = await letters.onceServed('PutDeadLetters', { queue, shardId: 1, firstSequence, letters: put });
  return messageIds;
}

describe('put', () => {
  test('they are read, counted and purged through AdminService, each type and source by itself', async () => {
    expect(await put(replication, 1, workflowTask(0), workflowTask(1), workflowTask(2))).toEqual([1, 2, 3]);
    expect(await put(ofNamespaces, 1, namespaceTask('a'))).toEqual([1]);
    expect(await put({ ...replication, sourceCluster: 'north' }, 1, workflowTask(3))).toEqual([1]);

    const read = await admin.call('GetDLQMessages', { type: 1, sourceCluster: 'west', maximumPageSize: 2 });
    expect(read).toMatchObject({
      totalCount: 3,
      dlqMessages: [
        {
          ...{ taskType: 'TASK_TYPE_REPLICATION_HISTORY', namespaceId: 'n', workflowId: 'order-0', runId: 'run-0', firstEventId: 5 },
          ...{ nextEventId: 9, version: 11, shardId: 1, sourceCluster: 'west', attempts: 80, cause: 'retries-exhausted' },
          errorMessage: 'west does not answer',
        },
        { taskId: 2, messageId: 2, workflowId: 'order-1' },
      ],
      replicationTasksInfo: [
        { workflowId: 'order-0', firstEventId: 5 },
        { taskId: 2, workflowId: 'order-1' },
      ],
      // The events are at their source.
      replicationTasks: [
        { taskType: 'REPLICATION_TASK_TYPE_HISTORY_V2_TASK', rawTaskInfo: { workflowId: 'order-0', firstEventId: 5, taskId: 1_000 } },
        { sourceTaskId: 2, rawTaskInfo: { workflowId: 'order-1' } },
      ],
    });
    const { nextPageToken } = read;
    const rest = await admin.call('GetDLQMessages', { type: 1, sourceCluster: 'west', maximumPageSize: 2, nextPageToken });
    expect([rest['dlqMessages'], rest['nextPageToken']]).toEqual([[expect.objectContaining({ workflowId: 'order-2' })], undefined]);
    const namespaces = await admin.call('GetDLQMessages', { type: 2 });
    expect(namespaces['replicationTasks']).toMatchObject([{ namespaceTaskAttributes: { id: 'a', info: { name: 'shop' } } }]);
    expect((await admin.call('GetDLQMessages', { type: 1 }))['totalCount']).toBe(4);

    expect(await admin.refused('PurgeDLQMessages', { type: 1 })).toEqual([
      codes.INVALID_ARGUMENT,
      'source_cluster is not set: there are queues of west, north',
    ]);
    expect(await admin.call('PurgeDLQMessages', { type: 1, sourceCluster: 'west', inclusiveEndMessageId: 2 })).toEqual({});
    expect((await admin.call('GetDLQMessages', { type: 1, sourceCluster: 'west' }))['totalCount']).toBe(1);
    const { queues } = await admin.call('ListQueues', { queueType: 2 });
    expect(queues).toContainEqual({ queueName: '3_west_active_' + nameHash('3_west', queues), messageCount: 1, lastMessageId: 3 });
  });

  test('again with the same numbers they get the same ids, also once they are purged', async () => {
    expect(await put(replication, 1, workflowTask(0), workflowTask(1))).toEqual([1, 2]);
    expect(await put(replication, 1, workflowTask(0), workflowTask(1))).toEqual([1, 2]);
    await admin.call('PurgeDLQMessages', { type: 1, inclusiveEndMessageId: 1 });
    expect(await letters.call('CountDeadLetters', { queues: [replication] })).toEqual({ count: 1 });
    // As tdbg asks for all.
    await admin.call('PurgeDLQMessages', { type: 1, inclusiveEndMessageId: 0 });
    expect(await put(replication, 2, workflowTask(1), workflowTask(2))).toEqual([2, 3]);
    expect(await letters.call('CountDeadLetters', { queues: [replication] })).toEqual({ count: 1 });
  });

  test('merged they fail, for nothing replicates here, and stay', async () => {
    await put(replication, 1, workflowTask(0), workflowTask(1));
    const reason = 'message 1: this server executes no tasks of the category replication';
    expect(await admin.refused('MergeDLQMessages', { type: 1, inclusiveEndMessageId: 9 })).toEqual([
      codes.FAILED_PRECONDITION,
      `2 of 2 tasks failed again: ${reason}`,
    ]);
    expect((await admin.call('GetDLQMessages', { type: 1 }))['totalCount']).toBe(2);
  });

  test('the command line reads, counts and purges them', async () => {
    await put(replication, 1, workflowTask(0), workflowTask(1));
    await put(ofNamespaces, 1, namespaceTask('a'));
    const run = async (...words: readonly string[]) => {
      const { out, code } = await perdure(['admin', 'dlq', ...words, '--cluster', 'west', '--address', server.address]);
      return [code, out];
    };
    expect(await run('count')).toEqual([0, '3\n']);
    expect(await run('count', '--dlq-type', 'replication')).toEqual([0, '2\n']);
    const [, read] = await run('read', '--dlq-type', 'replication', '--limit', '1');
    expect(JSON.parse(String(read))).toEqual([
      {
        ...{ taskId: 1, taskType: 'TASK_TYPE_REPLICATION_HISTORY', namespaceId: 'n', workflowId: 'order-0', runId: 'run-0' },
        ...{ firstEventId: 5, nextEventId: 9, version: 11 },
      },
    ]);
    expect((await run('merge', '--dlq-type', 'replication', '--yes'))[0]).toBe(3);
    expect(await run('purge', '--yes')).toEqual([0, expect.stringContaining('purged')]);
    expect(await run('count')).toEqual([0, '0\n']);
  });

  test('they are there after a restart, and so are their queues', async () => {
    await stop();
    const filename = join(folder, 'x.db');
    await start(filename);
    await put(replication, 1, workflowTask(0));
    await stop();
    await start(filename);
    expect(await letters.onceServed('CountDeadLetters', { queues: [replication] })).toEqual({ count: 1 });
    expect(await put(replication, 1, workflowTask(0), workflowTask(1))).toEqual([1, 2]);
  });
});

describe('is refused, and opens no queue', () => {
  const namesTooLong = 'x'.repeat(250);
  test.each<[string, Plain, string]>([
    ['of this cluster', { queue: { ...replication, sourceCluster: 'active' } }, 'active is this cluster: nothing is replicated from it'],
    ['of no cluster', { queue: { category: 'replication' } }, 'SourceCluster is not set on request.'],
    ['of transfer tasks', { queue: { ...replication, category: 'transfer' } }, 'letters of transfer cannot be put'],
    ['of no queue', { queue: undefined }, 'letters of no category cannot be put'],
    ['of a cluster that no topic can name', { queue: { ...replication, sourceCluster: 'a/b' } }, 'source_cluster: a name has letters'],
    ['of a name that is too long', { queue: { ...replication, sourceCluster: namesTooLong } }, 'source_cluster: a name has letters'],
    ['of no shard', { shardId: 0 }, 'Invalid ShardID: 0'],
    ['of a negative shard', { shardId: -1 }, 'Invalid ShardID: -1'],
  ])('%s', async (_name, more, text) => {
    const request = { queue: replication, shardId: 1, firstSequence: 1, letters: [workflowTask(0)], ...more };
    expect(await letters.refused('PutDeadLetters', request)).toEqual([codes.INVALID_ARGUMENT, expect.stringContaining(text)]);
    expect(await noQueue()).toBe(true);
  });

  test.each<[string, () => Plain, string]>([
    ['no task', () => ({ value: Uint8Array.of(255) }), 'letters[0].value is no task of replication'],
    ['an empty value', () => ({ value: new Uint8Array(0) }), 'letters[0].value is no task of replication: it has no task_type'],
    ['a task of no workflow', () => workflowTask(0, { workflowId: '' }), 'it names no workflow'],
    ['a name without end', () => workflowTask(0, { workflowId: 'w'.repeat(1_001) }), 'workflowId has more than 1000 characters'],
    ['a time beyond all calendars', () => workflowTask(0, { visibilityTime: { seconds: 1e15 } }), 'visibility_time is no time'],
    ['an unknown cause', () => ({ ...workflowTask(0), cause: 'bored' }), 'letters[0].cause is none of'],
    ['negative attempts', () => ({ ...workflowTask(0), attempts: -1 }), 'letters[0].attempts is -1'],
    ['a failure before all time', () => ({ ...workflowTask(0), firstFailureTime: { seconds: -1 } }), 'first_failure_time is no time'],
  ])('%s', async (_name, letter, text) => {
    const request = { queue: replication, shardId: 1, firstSequence: 1, letters: [{ ...failed, ...letter() }] };
    expect(await letters.refused('PutDeadLetters', request)).toEqual([codes.INVALID_ARGUMENT, expect.stringContaining(text)]);
    expect(await noQueue()).toBe(true);
  });

  test('no dead letter at all, or too many, or a number that is none', async () => {
    const refused = (firstSequence: number, count: number) =>
      letters.refused('PutDeadLetters', {
        ...{ queue: replication, shardId: 1, firstSequence },
        letters: Array.from({ length: count }, (_, nth) => workflowTask(nth)),
      });
    expect(await refused(1, 0)).toEqual([codes.INVALID_ARGUMENT, 'letters has 0, and may have 1 to 100']);
    expect(await refused(1, 101)).toEqual([codes.INVALID_ARGUMENT, 'letters has 101, and may have 1 to 100']);
    expect(await refused(0, 1)).toEqual([codes.INVALID_ARGUMENT, 'first_sequence is 0: dead letters are numbered from 1']);
    expect(await refused(Number.MAX_SAFE_INTEGER, 2)).toEqual([
      codes.INVALID_ARGUMENT,
      'first_sequence is 9007199254740991: dead letters are numbered up to 9007199254740991',
    ]);
    expect(await noQueue()).toBe(true);
  });

  async function noQueue(): Promise<boolean> {
    const { queues } = await letters.call('ListDeadLetterQueues');
    return (queues as readonly { readonly name: Plain }[]).every(({ name }) => name['sourceCluster'] === 'active');
  }
});

test('there are only so many queues of other clusters', async () => {
  const owners = new LetterOwners();
  const bench = await openBench({ jobs: owners });
  const client = new LetterClient(bench.address);
  try {
    owners.serveOn(bench.stub);
    for (let nth = 0; nth < 100; nth += 1) owners.addQueue('replication', `cluster-${nth}`);
    const request = { queue: replication, shardId: bench.stub.ports.historyShardOf('n', 'order-0'), firstSequence: 1 };
    expect(await client.refused('PutDeadLetters', { ...request, letters: [workflowTask(0)] })).toEqual([
      codes.RESOURCE_EXHAUSTED,
      'there are 100 queues of other clusters, and there can be no more',
    ]);
  } finally {
    client.close();
    await bench.close();
  }
});

test('ids of another cluster keep all their digits', async () => {
  await put(replication, 1, workflowTask(0, { taskId: '9007199254740993', firstEventId: '9007199254740995' }));
  const { letters: listed } = await letters.call('ListDeadLetters', { queues: [replication] });
  expect(listed).toMatchObject([{ taskId: '9007199254740993' }]);
});

function nameHash(beginning: string, queues: unknown): string {
  const names = (queues as readonly { readonly queueName: string }[]).map(({ queueName }) => queueName);
  return (
    names
      .find((name) => name.startsWith(beginning))
      ?.split('_')
      .at(-1) ?? ''
  );
}
