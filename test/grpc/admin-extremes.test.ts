/**
 * Requests to AdminService and DeadLetterService with values that nobody sends: one after another of a request that is fine is put to an extreme of
 * its type. Whatever comes, it is answered or refused as what it is, never as a bug of ours, and the server goes on.
 */
import { fileURLToPath } from 'node:url';
import { status as codes } from '@grpc/grpc-js';
import type { Type } from 'protobufjs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadProtos, publicApiFolders } from '../../scripts/generate/public-api.ts';
import type { RunningServer } from '../../src/config/server-options.ts';
import { Mutator, type Plain } from '../fuzz/mutate.ts';
import { Prng } from '../simulation/prng.ts';
import { memoryServer } from '../support/memory-server.ts';
import { withClient } from '../support/with-client.ts';
import { RawClient } from './raw-client.ts';

const protos = fileURLToPath(new URL('../../proto', import.meta.url));
const root = loadProtos(
  [protos, ...publicApiFolders()],
  ['temporal/server/api/adminservice/v1/service.proto', 'perdure/api/deadletter/v1/service.proto'],
);
const services = ['temporal.server.api.adminservice.v1.AdminService', 'perdure.api.deadletter.v1.DeadLetterService'];
const requestsOfEach = 30;

const execution = { workflowId: 'order-1' };
const queue = { category: 'transfer' };
const dlqKey = { taskCategory: 1, sourceCluster: 'active', targetCluster: 'active' };
const fine: Readonly<Record<string, Plain>> = {
  ListHistoryTasks: {
    shardId: 1,
    category: 2,
    taskRange: { inclusiveMinTaskKey: { taskId: 1 }, exclusiveMaxTaskKey: { taskId: 9, fireTime: { seconds: 9e9 } } },
  },
  RemoveTask: { shardId: 1, category: 2, taskId: 1, visibilityTime: { seconds: 9 } },
  AddTasks: {
    shardId: 1,
    tasks: [{ categoryId: 1, blob: { encodingType: 1, data: new Uint8Array([10, 1, 97, 18, 1, 98, 26, 1, 99, 32, 3]) } }],
  },
  DescribeMutableState: { namespace: 'default', execution },
  GetDLQTasks: { dlqKey, pageSize: 5 },
  PurgeDLQTasks: { dlqKey, inclusiveMaxTaskMetadata: { messageId: 3 } },
  MergeDLQTasks: { dlqKey, inclusiveMaxTaskMetadata: { messageId: 3 }, batchSize: 5 },
  ListQueues: { queueType: 2, pageSize: 5 },
  GetDLQMessages: { type: 1, sourceCluster: 'active', maximumPageSize: 5 },
  PurgeDLQMessages: { type: 1, inclusiveEndMessageId: 5 },
  MergeDLQMessages: { type: 2, maximumPageSize: 5 },
  GetDLQReplicationMessages: {
    taskInfos: [
      { namespaceId: 'n', workflowId: 'w', runId: '0e8f3f04-5ff4-4c9b-8a58-5d0f0f8a0c55', taskType: 1, firstEventId: 1, nextEventId: 3 },
    ],
  },
  GetShard: { shardId: 1 },
  DescribeHistoryHost: { shardId: 1, namespace: 'default', workflowExecution: execution },
  AddSearchAttributes: { namespace: 'default', searchAttributes: { Color: 2 } },
  RemoveSearchAttributes: { namespace: 'default', searchAttributes: ['Color'] },
  GetSearchAttributes: { namespace: 'default' },
  GetNamespace: { namespace: 'default' },
  ListDeadLetters: { queues: [queue], selection: { minMessageId: 0, maxMessageId: 9 }, pageSize: 5, withPayload: true },
  CountDeadLetters: { queues: [queue], selection: { query: 'Attempts > 1' } },
  GetDeadLetter: { queue, messageId: 1 },
  GroupDeadLetters: { queues: [queue], by: 'cause' },
  PlanDeadLetters: { operation: 1, queue, selection: { minMessageId: 0 }, reason: 'why' },
  PutDeadLetters: {
    queue: { category: 'replication', sourceCluster: 'west' },
    shardId: 1,
    firstSequence: 1,
    letters: [{ value: new Uint8Array([10, 1, 97, 18, 1, 98, 26, 1, 99, 32, 1]), cause: 'permanent-error', attempts: 3 }],
  },
  RestoreDeadLetters: { queue, messageIds: [1] },
  ListAuditEntries: { queue, messageId: 1, pageSize: 5 },
};

let server: RunningServer;
let client: RawClient;
beforeAll(async () => {
  server = await memoryServer({ historyShards: 1 });
  client = new RawClient(server.address);
});
afterAll(async () => {
  client.close();
  await server.stop();
});

const methods = services.flatMap((service) =>
  root.lookupService(service).methodsArray.map((method) => [method.name, service, method.resolvedRequestType as Type] as const),
);
/** What is large may become an element of a list, and come a thousand times. */
function isLarge(value: unknown): boolean {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length > 1_000;
  if (Array.isArray(value)) return value.length > 100 || value.some(isLarge);
  return typeof value === 'object' && value !== null && Object.values(value).some(isLarge);
}

const unexpected = new Set<number>([codes.INTERNAL, codes.UNKNOWN, codes.DATA_LOSS, codes.DEADLINE_EXCEEDED, codes.CANCELLED]);

test.each(methods)('%s', async (name, service, type) => {
  const prng = new Prng(`${service}${name}`.length * 7919);
  const mutator = new Mutator(prng, () => undefined);
  const bad: string[] = [];
  for (let nth = 0; nth < requestsOfEach; nth += 1) {
    const message = structuredClone(fine[name] ?? {});
    for (let times = nth % 3; times >= 0 && !isLarge(message); times -= 1) mutator.mutate(type, message);
    let bytes: Uint8Array;
    try {
      bytes = type.encode(type.fromObject(message)).finish();
    } catch {
      continue;
    }
    const failure = await client.call(`/${service}/${name}`, bytes, { timeoutMs: 10_000 }).then(
      () => undefined,
      (error: unknown) => error as { readonly code: number; readonly details: string },
    );
    if (failure !== undefined && unexpected.has(failure.code))
      bad.push(`${failure.code} ${failure.details} of ${JSON.stringify(message).slice(0, 300)}`);
  }
  expect(bad).toEqual([]);
});

test('and the server goes on', async () => {
  await withClient(server.address, async ({ workflow }) => {
    const handle = await workflow.start('Order', { taskQueue: 'orders', workflowId: 'order-after' });
    expect((await handle.describe()).status.name).toBe('RUNNING');
  });
});
