/** AdminService through the front door of a whole server: what an operator and Temporal's own tools ask. */
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { adminRpcs } from '../../src/grpc/rpcs/admin-rpcs.ts';
import { loadServiceMessages, type ServiceMessages } from '../../src/wire/services.ts';
import { memoryServer } from '../support/memory-server.ts';
import { Service } from '../fuzz/service.ts';
import { RawClient } from './raw-client.ts';

type V1 = ServiceMessages['adminservice']['v1'];
type Plain = Readonly<Record<string, unknown>>;

const service = 'temporal.server.api.adminservice.v1.AdminService';
let api: V1;
let server: RunningServer;
let client: RawClient;

beforeAll(async () => {
  api = (await loadServiceMessages()).adminservice.v1;
  server = await memoryServer({ historyShards: 4 });
  client = new RawClient(server.address);
});
afterAll(async () => {
  client.close();
  await server.stop();
});

type Class = {
  fromObject(message: Plain): object;
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): Plain;
};

function classOf(name: string): Class {
  // The classes differ in their types alone.
  return (api as unknown as Readonly<Record<string, Class>>)[name] as Class;
}

function bytesOf(operation: string, request: Plain): Uint8Array {
  const type = classOf(`${operation}Request`);
  return type.encode(type.fromObject(request)).finish();
}

async function call(operation: string, request: Plain = {}): Promise<Plain> {
  const type = classOf(`${operation}Response`);
  const answer = await client.call(`/${service}/${operation}`, bytesOf(operation, request));
  return type.toObject(type.decode(answer), { longs: Number, enums: String });
}

async function refused(operation: string, request: Plain): Promise<readonly [number, string]> {
  const { code, details } = await client.refusal(`/${service}/${operation}`, bytesOf(operation, request));
  return [code, details];
}

const notFound = (message: string) => [codes.NOT_FOUND, message];
const invalid = (message: string) => [codes.INVALID_ARGUMENT, message];

describe('the cluster', () => {
  test('is described with its members, under its own name and under none', async () => {
    const described = await call('DescribeCluster');
    const identity = server.address;
    expect(described).toMatchObject({
      clusterName: 'active',
      clusterId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      historyShardCount: 4,
      serverVersion: '1.32.0',
      versionInfo: { current: { version: '1.32.0' } },
      persistenceStore: 'embedded',
      membershipInfo: { currentHost: { identity }, reachableMembers: [identity] },
    });
    expect(described).toMatchObject({ supportedClients: { 'temporal-server': '<2.0.0' } });
    const { rings } = described['membershipInfo'] as { rings: readonly Plain[] };
    expect(rings.map(({ role, memberCount }) => [role, memberCount])).toEqual([
      ['frontend', 1],
      ['history', 1],
      ['matching', 1],
      ['worker', 1],
    ]);
    expect(await call('DescribeCluster', { clusterName: 'active' })).toEqual(described);
    expect(await refused('DescribeCluster', { clusterName: 'elsewhere' })).toEqual(
      notFound('cluster elsewhere is not found: there is active'),
    );
  });

  test('is the only one', async () => {
    const [only, ...others] = (await call('ListClusters'))['clusters'] as readonly Plain[];
    expect([only?.['clusterName'], only?.['historyShardCount'], only?.['clusterAddress'], others]).toEqual([
      'active',
      4,
      server.address,
      [],
    ]);
    expect(await refused('ListClusters', { nextPageToken: 'AAAA' })).toEqual(invalid('Invalid NextPageToken.'));
  });

  const rolesOf = (answer: Plain) => ((answer['members'] ?? []) as readonly Plain[]).map(({ role }) => role);
  const role = (name: string) => `CLUSTER_MEMBER_ROLE_${name}`;

  test('has one process in four roles, told in both forms and by the page', async () => {
    const all = await call('ListClusterMembers');
    expect(rolesOf(all)).toEqual([role('FRONTEND'), role('HISTORY'), role('MATCHING'), role('WORKER')]);
    expect(all['activeMembers']).toEqual(all['members']);
    expect((all['members'] as readonly Plain[])[0]).toMatchObject({ rpcAddress: '127.0.0.1', rpcPort: server.port });
    expect(rolesOf(await call('ListClusterMembers', { role: 2 }))).toEqual([role('HISTORY')]);
    const first = await call('ListClusterMembers', { pageSize: 3 });
    const rest = await call('ListClusterMembers', { pageSize: 3, nextPageToken: first['nextPageToken'] });
    expect([rolesOf(first).length, rolesOf(rest), rest['nextPageToken']]).toEqual([3, [role('WORKER')], undefined]);
    const [{ hostId }] = all['members'] as readonly [Plain];
    expect(rolesOf(await call('ListClusterMembers', { hostId: String(hostId).toUpperCase() }))).toHaveLength(4);
    expect(rolesOf(await call('ListClusterMembers', { hostId: 'ffffffff-ffff-ffff-ffff-ffffffffffff' }))).toEqual([]);
    expect(rolesOf(await call('ListClusterMembers', { rpcAddress: '10.0.0.1' }))).toEqual([]);
  });

  test.each([
    [{ role: 5 }, 'Unknown role: 5'],
    [{ role: -1 }, 'Unknown role: -1'],
    [{ hostId: 'nobody' }, 'host_id is not a UUID'],
    [{ nextPageToken: Uint8Array.of(4) }, 'Invalid NextPageToken.'],
    [{ nextPageToken: Uint8Array.of(1, 1) }, 'Invalid NextPageToken.'],
  ])('members by %j are refused', async (request, message) => {
    expect(await refused('ListClusterMembers', request)).toEqual(invalid(message));
  });

  test('is healthy, and says by which host', async () => {
    expect(await call('DeepHealthCheck')).toMatchObject({
      state: 'HEALTH_STATE_SERVING',
      message: '1 of 1 history hosts serves',
      services: [{ service: 'history', hosts: [{ address: server.address, checks: [{ checkType: 'grpc_health' }] }] }],
    });
  });

  test('has one history host, whatever it is named by', async () => {
    const byNothing = await call('DescribeHistoryHost');
    expect(byNothing).toMatchObject({ shardsNumber: 4, shardsCount: 4, shardIds: [1, 2, 3, 4], address: server.address });
    for (const selector of [
      { hostAddress: server.address },
      { shardId: 4 },
      { namespace: 'default', workflowExecution: { workflowId: 'w' } },
      { hostAddress: server.address, shardId: 1 },
    ])
      expect(await call('DescribeHistoryHost', selector)).toEqual(byNothing);
    expect(await refused('DescribeHistoryHost', { hostAddress: '10.0.0.1:7234' })).toEqual(
      notFound(`history host 10.0.0.1:7234 is not found: there is ${server.address}`),
    );
    expect(await refused('DescribeHistoryHost', { shardId: -1 })).toEqual(invalid('Invalid ShardID: -1'));
    expect(await refused('DescribeHistoryHost', { workflowExecution: { workflowId: 'w' } })).toEqual(invalid('namespace is not set'));
    expect(await refused('DescribeHistoryHost', { namespace: 'default' })).toEqual(invalid('workflow_execution is not set'));
  });
});

describe('a shard', () => {
  test('has an epoch and an owner', async () => {
    expect(await call('GetShard', { shardId: 4 })).toEqual({
      shardInfo: { shardId: 4, rangeId: 1, owner: server.address, state: 'SHARD_STATE_ACQUIRED' },
    });
  });

  test.each([0, -1])('%i is none', async (shardId) => {
    expect(await refused('GetShard', { shardId })).toEqual(invalid(`Invalid ShardID: ${shardId}`));
  });

  test('beyond the last is not there', async () => {
    expect(await refused('GetShard', { shardId: 5 })).toEqual(notFound('shard 5 is not found: there are shards 1 to 4'));
  });
});

describe('tasks of a shard', () => {
  test.each([1, 2, 3, 4, 5, 6, 7])('of category %i there are none', async (category) => {
    const from = { taskId: 1, fireTime: { seconds: 1 } };
    const taskRange = { inclusiveMinTaskKey: from, exclusiveMaxTaskKey: { taskId: 1, fireTime: { seconds: 1 } } };
    expect(await call('ListHistoryTasks', { shardId: 1, category, taskRange })).toEqual({});
    expect(await call('ListHistoryTasks', { shardId: 4, category })).toEqual({});
  });

  const range = (min: Plain, max: Plain) => ({ taskRange: { inclusiveMinTaskKey: min, exclusiveMaxTaskKey: max } });
  const behind = 'Invalid task range: its first task is behind its last';

  test.each<[Plain, string]>([
    [{ category: 4 }, 'Invalid ShardID: 0'],
    [{ shardId: 1 }, 'Invalid task category id: 0'],
    [{ shardId: 1, category: 8 }, 'Invalid task category id: 8'],
    [{ shardId: 1, category: 4, nextPageToken: 'AAAA' }, 'Invalid NextPageToken.'],
    [{ shardId: 1, category: 4, ...range({ taskId: -1 }, {}) }, 'Invalid task id: -1'],
    [{ shardId: 1, category: 4, ...range({ taskId: 2 }, { taskId: 1 }) }, behind],
    [{ shardId: 1, category: 4, ...range({ taskId: 2 }, { taskId: 1, fireTime: { seconds: 9 } }) }, behind],
    [{ shardId: 1, category: 2, ...range({ fireTime: { seconds: 2 } }, { fireTime: { seconds: 1 } }) }, behind],
    [{ shardId: 1, category: 2, ...range({ taskId: 2, fireTime: { seconds: 1 } }, { taskId: 1, fireTime: { seconds: 1 } }) }, behind],
  ])('by %j are refused', async (request, message) => {
    expect(await refused('ListHistoryTasks', request)).toEqual(invalid(message));
  });
});

describe('the state of a run', () => {
  const namespace = 'default';
  const taskQueue = { name: 'orders' };
  const start = { namespace, workflowId: 'order-1', workflowType: { name: 'Order' }, taskQueue, requestId: 'start-1' };
  const execution = { workflowId: 'order-1' };
  const [scheduleActivity, startTimer, startChild] = [1, 3, 11];

  test('has all that is pending, under its event ids', async () => {
    const service = new Service(server.address);
    try {
      const memo = { fields: { color: { data: Buffer.from('"red"') } } };
      const { runId } = await service.call<{ runId: string }>('StartWorkflowExecution', { ...start, memo });
      const begun = (await call('DescribeMutableState', { namespace, execution }))['databaseMutableState'];
      expect(begun).toMatchObject({
        nextEventId: 3,
        executionState: { state: 'WORKFLOW_EXECUTION_STATE_RUNNING', createRequestId: 'start-1', runId },
        executionInfo: { workflowTaskScheduledEventId: 2, workflowTaskType: 'WORKFLOW_TASK_TYPE_NORMAL', workflowTaskAttempt: 1 },
      });
      const task = await service.call<{ taskToken: Uint8Array }>('PollWorkflowTaskQueue', { namespace, taskQueue, identity: 'worker' });
      await service.call('RespondWorkflowTaskCompleted', {
        namespace,
        taskToken: task.taskToken,
        commands: [
          {
            commandType: scheduleActivity,
            scheduleActivityTaskCommandAttributes: {
              ...{ activityId: 'pay', activityType: { name: 'Pay' }, taskQueue: { name: 'payments' } },
              startToCloseTimeout: { seconds: 30 },
            },
          },
          { commandType: startTimer, startTimerCommandAttributes: { timerId: 'remind', startToFireTimeout: { seconds: 3_600 } } },
          {
            commandType: startChild,
            startChildWorkflowExecutionCommandAttributes: {
              ...{ workflowId: 'shipment-1', workflowType: { name: 'Shipment' }, taskQueue, parentClosePolicy: 2 },
            },
          },
        ],
      });
      const { shardId, historyAddr, databaseMutableState: state } = await call('DescribeMutableState', { namespace, execution });
      expect([Number(shardId) >= 1 && Number(shardId) <= 4, historyAddr]).toEqual([true, server.address]);
      expect(state).toMatchObject({
        executionState: { state: 'WORKFLOW_EXECUTION_STATE_RUNNING', status: 'WORKFLOW_EXECUTION_STATUS_RUNNING' },
        executionInfo: {
          ...{ workflowId: 'order-1', taskQueue: 'orders', workflowTypeName: 'Order', firstExecutionRunId: runId },
          lastCompletedWorkflowTaskStartedEventId: 3,
          memo: { color: { data: new Uint8Array(Buffer.from('"red"')) } },
          versionHistories: { histories: [{ items: [{ eventId: expect.any(Number) }] }] },
        },
      });
      const { activityInfos, timerInfos, childExecutionInfos } = state as Readonly<Record<string, Plain>>;
      expect(Object.values(activityInfos ?? {})).toMatchObject([
        {
          activityId: 'pay',
          scheduledEventId: 5,
          activityType: { name: 'Pay' },
          taskQueue: 'payments',
          attempt: 1,
          startToCloseTimeout: { seconds: 30 },
        },
      ]);
      expect(timerInfos).toMatchObject({ remind: { timerId: 'remind', startedEventId: 6 } });
      expect(Object.values(childExecutionInfos ?? {})).toMatchObject([
        {
          initiatedEventId: 7,
          startedWorkflowId: 'shipment-1',
          workflowTypeName: 'Shipment',
          parentClosePolicy: 'PARENT_CLOSE_POLICY_ABANDON',
        },
      ]);
      for (const archetype of ['workflow', 'workflow.workflow']) await call('DescribeMutableState', { namespace, execution, archetype });
    } finally {
      service.close();
    }
  });

  test('is one that has not started while its start is delayed', async () => {
    const service = new Service(server.address);
    try {
      const later = { workflowId: 'later', workflowStartDelay: { seconds: 3_600 }, requestId: 'start-2' };
      await service.call('StartWorkflowExecution', { ...start, ...later });
    } finally {
      service.close();
    }
    const { databaseMutableState } = await call('DescribeMutableState', { namespace, execution: { workflowId: 'later' } });
    expect(databaseMutableState).toMatchObject({ executionState: { state: 'WORKFLOW_EXECUTION_STATE_CREATED' } });
  });

  test('tells how it goes on: its retry policy, its attempt, its schedule', async () => {
    const service = new Service(server.address);
    try {
      const retryPolicy = { initialInterval: { seconds: 2 }, maximumAttempts: 3, nonRetryableErrorTypes: ['Final'] };
      const yearly = { workflowId: 'yearly', requestId: 'start-3', retryPolicy, cronSchedule: '@yearly' };
      await service.call('StartWorkflowExecution', { ...start, ...yearly });
    } finally {
      service.close();
    }
    const { databaseMutableState } = await call('DescribeMutableState', { namespace, execution: { workflowId: 'yearly' } });
    expect(databaseMutableState).toMatchObject({
      executionInfo: {
        ...{ attempt: 1, cronSchedule: '@yearly', hasRetryPolicy: true, retryMaximumAttempts: 3, retryBackoffCoefficient: 2 },
        ...{ retryInitialInterval: { seconds: 2 }, retryMaximumInterval: { seconds: 200 }, retryNonRetryableErrorTypes: ['Final'] },
      },
    });
  });

  test.each<[Plain, readonly unknown[]]>([
    [{ execution }, invalid('namespace is not set')],
    [{ namespace }, invalid('execution is not set')],
    [{ namespace, execution: {} }, invalid('execution.workflow_id is not set')],
    [{ namespace, execution: { workflowId: 'w', runId: 'first' } }, invalid('Invalid RunId.')],
    [{ namespace, execution, archetype: 'scheduler.scheduler' }, invalid('Unknown archetype: scheduler.scheduler')],
    [{ namespace, execution, archetypeId: 7 }, invalid('Unknown archetype id: 7')],
    [{ namespace, execution: { workflowId: 'nobody' } }, notFound('workflow not found for ID: nobody')],
    [{ namespace: 'nowhere', execution }, notFound('Namespace nowhere is not found.')],
  ])('%j is refused', async (request, answer) => {
    expect(await refused('DescribeMutableState', request)).toEqual(answer);
  });
});

describe('a namespace', () => {
  test('is reported by name and by id', async () => {
    const byName = await call('GetNamespace', { namespace: 'default' });
    expect(byName).toMatchObject({
      info: { name: 'default', state: 'NAMESPACE_STATE_REGISTERED' },
      replicationConfig: { activeClusterName: 'active', clusters: [{ clusterName: 'active' }] },
    });
    expect(await call('GetNamespace', { id: (byName['info'] as Plain)['id'] })).toEqual(byName);
    expect(await refused('GetNamespace', {})).toEqual(invalid('namespace is not set'));
    expect(await refused('GetNamespace', { namespace: 'nowhere' })).toEqual(notFound('Namespace nowhere is not found.'));
  });

  test('gets search attributes, and loses them', async () => {
    const of = { namespace: 'default' };
    expect(await call('AddSearchAttributes', { ...of, searchAttributes: { Color: 2, Size: 3 } })).toEqual({});
    const added = await call('GetSearchAttributes', of);
    expect(added['customAttributes']).toEqual({ Color: 'INDEXED_VALUE_TYPE_KEYWORD', Size: 'INDEXED_VALUE_TYPE_INT' });
    expect(added['systemAttributes']).toMatchObject({ WorkflowId: 'INDEXED_VALUE_TYPE_KEYWORD' });
    expect(Object.keys(added['mapping'] as Plain)).toEqual(['Color', 'Size']);
    // The same once more is passed over; with another type it is refused, and with it all that came beside it.
    await call('AddSearchAttributes', { ...of, searchAttributes: { Color: 2 } });
    expect(await refused('AddSearchAttributes', { ...of, searchAttributes: { Color: 3, Weight: 3 } })).toEqual(
      invalid('Search attribute Color already exists with another type.'),
    );
    expect((await call('GetSearchAttributes', of))['customAttributes']).toEqual(added['customAttributes']);
    expect(await refused('RemoveSearchAttributes', { ...of, searchAttributes: ['Color', 'Nothing'] })).toEqual(
      notFound("Search attribute Nothing doesn't exist."),
    );
    await call('RemoveSearchAttributes', { ...of, searchAttributes: ['Color', 'Size'] });
    expect((await call('GetSearchAttributes', of))['customAttributes']).toBeUndefined();
  });

  test.each<[string, Plain, string]>([
    ['GetSearchAttributes', {}, 'namespace is not set'],
    ['AddSearchAttributes', { namespace: 'default' }, 'SearchAttributes are not set on request.'],
    [
      'AddSearchAttributes',
      { namespace: 'default', searchAttributes: { WorkflowId: 2 } },
      'Search attribute WorkflowId is reserved by system.',
    ],
    [
      'RemoveSearchAttributes',
      { namespace: 'default', searchAttributes: ['WorkflowId'] },
      'Unable to remove non-custom search attributes: WorkflowId.',
    ],
  ])('%s of %j is refused', async (operation, request, message) => {
    expect(await refused(operation, request)).toEqual(invalid(message));
  });
});

describe('dead letters', () => {
  // Nothing comes from another cluster.
  const key = { taskCategory: 3, sourceCluster: 'active', targetCluster: 'active' };
  const missing = notFound('queue not found: type = 2 and name = 3_active_active_B8jqXXpO');
  const last = { inclusiveMaxTaskMetadata: { messageId: 7 } };

  test('only queues of history tasks are listed', async () => {
    expect(await refused('ListQueues', { queueType: 2, pageSize: -1 })).toEqual(invalid('Invalid PageSize.'));
    expect(await refused('ListQueues', { queueType: 1 })).toEqual([
      codes.INVALID_ARGUMENT,
      expect.stringMatching(/^Invalid queue type: 1;/),
    ]);
  });

  test.each<[string, Plain]>([
    ['GetDLQTasks', { dlqKey: key, pageSize: 10 }],
    ['GetDLQTasks', { dlqKey: { ...key, targetCluster: '' } }],
    ['PurgeDLQTasks', { dlqKey: key, ...last }],
    ['MergeDLQTasks', { dlqKey: key, ...last }],
  ])('%s of %j finds no queue', async (operation, request) => {
    expect(await refused(operation, request)).toEqual(missing);
  });

  test.each<[string, Plain, string]>([
    ['GetDLQTasks', {}, 'dlq_key is not set'],
    ['GetDLQTasks', { dlqKey: { ...key, taskCategory: 0 } }, 'Invalid task category id: 0'],
    ['GetDLQTasks', { dlqKey: { ...key, taskCategory: 6 } }, 'Invalid task category id: 6'],
    ['GetDLQTasks', { dlqKey: { ...key, taskCategory: 8 } }, 'Invalid task category id: 8'],
    ['GetDLQTasks', { dlqKey: { ...key, sourceCluster: '' } }, 'SourceCluster is not set on request.'],
    ['GetDLQTasks', { dlqKey: key, pageSize: -1 }, 'Invalid PageSize.'],
    ['GetDLQTasks', { dlqKey: key, nextPageToken: 'AAAA' }, 'Invalid NextPageToken.'],
    ['PurgeDLQTasks', { dlqKey: key }, 'inclusive_max_task_metadata is not set'],
    ['PurgeDLQTasks', { dlqKey: key, inclusiveMaxTaskMetadata: { messageId: -1 } }, 'Invalid message id: -1'],
    ['MergeDLQTasks', { dlqKey: key, ...last, batchSize: -1 }, 'BatchSize must be positive or 0 to use the default'],
    ['MergeDLQTasks', { dlqKey: key, ...last, batchSize: 1001 }, 'BatchSize too large'],
    ['DescribeDLQJob', {}, 'Invalid DLQ job token.'],
    ['CancelDLQJob', { jobToken: Uint8Array.of(255, 255, 255) }, 'Invalid DLQ job token.'],
    ['GetDLQMessages', {}, 'The DLQ type is not supported.'],
    ['GetDLQMessages', { type: 1, shardId: -1 }, 'Invalid ShardID: -1'],
    ['PurgeDLQMessages', { type: 3 }, 'The DLQ type is not supported.'],
    ['MergeDLQMessages', { type: 2, nextPageToken: 'AAAA' }, 'Invalid NextPageToken.'],
  ])('%s of %j is refused', async (operation, request, message) => {
    expect(await refused(operation, request)).toEqual(invalid(message));
  });

  test('of replication there are none', async () => {
    expect(await call('GetDLQMessages', { type: 1, sourceCluster: 'active' })).toEqual({ type: 'DEAD_LETTER_QUEUE_TYPE_REPLICATION' });
    expect(await call('PurgeDLQMessages', { type: 2, inclusiveEndMessageId: 9 })).toEqual({});
    expect(await call('MergeDLQMessages', { type: 1, shardId: 4 })).toEqual({});
    expect(await refused('GetDLQMessages', { type: 1, sourceCluster: 'elsewhere' })).toEqual(
      notFound('cluster elsewhere is not found: there is active'),
    );
  });
});

test('every operation answers, or says by its name that it is not built', async () => {
  const methods = [...adminRpcs.rpcs.keys()];
  expect(methods.length).toBeGreaterThanOrEqual(46);
  const later = await Promise.all(
    methods.map(async (method) => {
      const outcome = await client.call(`/${service}/${method}`, new Uint8Array(0)).then(
        () => ({ code: codes.OK, details: '' }),
        (error: unknown) => error as { readonly code: number; readonly details: string },
      );
      if (outcome.code !== codes.UNIMPLEMENTED) return [];
      expect(outcome.details).toBe(`${method} is not supported by this server yet`);
      return [method];
    }),
  );
  expect(methods.length - later.flat().length).toBe(24);
});

test('what is no message, or too large to be one, is refused', async () => {
  const path = `/${service}/GetShard`;
  expect(await client.refusal(path, Uint8Array.of(255, 255))).toMatchObject({ code: codes.INVALID_ARGUMENT });
  expect(await client.refusal(path, new Uint8Array(300_000))).toMatchObject({
    code: codes.RESOURCE_EXHAUSTED,
    details: 'grpc: received message larger than max (300000 vs. 262144)',
  });
});
