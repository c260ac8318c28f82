/** UpdateTaskQueueConfig from the socket to the matching host, and what DescribeTaskQueue shows of it. Texts are Temporal's. */
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { emptyConfig, type TaskQueueConfig } from '../../src/matching/task-queue-config.ts';
import { decodeConfig } from '../../src/wire/generated/api/taskqueue/description.ts';
import {
  decodeDescribeTaskQueueResponse,
  decodeUpdateTaskQueueConfigResponse,
  emptyDescribeTaskQueueRequest,
  emptyUpdateTaskQueueConfigRequest,
  encodeDescribeTaskQueueRequest,
  encodeUpdateTaskQueueConfigRequest,
  type UpdateTaskQueueConfigRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { openBench, type Bench } from './frontend-bench.ts';
import { namespace } from './stub-ports.ts';

const [workflow, activity, nexus] = [1, 2, 3];
const config: TaskQueueConfig = {
  version: 4,
  queueRate: { perSecond: 5, reason: 'why', identity: 'ops', timeMs: 7_000 },
  keyRate: { perSecond: 0.5, reason: 'fair', identity: 'ops', timeMs: 8_000 },
  weights: [{ key: 'tenant', weight: 2.5 }],
};

let bench: Bench;
let known: TaskQueueConfig;
beforeAll(async () => {
  bench = await openBench();
  bench.stub.namespaces.push(namespace('queues'));
  bench.stub.answers.matching = (request) => {
    if (request.kind === 'updateTaskQueueConfig') return { kind: 'taskQueueConfigured', config: known };
    return {
      kind: 'taskQueueDescription',
      pollers: [],
      backlogCountHint: 0,
      backlogAgeMs: 0,
      ackLevel: 0,
      readLevel: 0,
      ratePerSecond: known.queueRate?.perSecond,
      isRateLimited: false,
      levels: [],
      config: known,
    };
  };
});
afterAll(() => bench.close());
beforeEach(() => {
  known = config;
});

type Over = Partial<UpdateTaskQueueConfigRequest>;

async function update(over: Over): Promise<Uint8Array> {
  const request = { ...emptyUpdateTaskQueueConfigRequest(), namespace: 'queues', taskQueue: 'q', taskQueueType: activity, ...over };
  return await bench.client.call('UpdateTaskQueueConfig', encodeUpdateTaskQueueConfigRequest(request));
}

function rate(requestsPerSecond: number, reason = ''): Over {
  return { updateQueueRateLimit: { rateLimit: { requestsPerSecond }, reason } };
}

const shown = {
  queueRateLimit: {
    rateLimit: { requestsPerSecond: 5 },
    metadata: { reason: 'why', updateIdentity: 'ops', updateTimeMs: 7_000 },
  },
  fairnessKeysRateLimitDefault: {
    rateLimit: { requestsPerSecond: 0.5 },
    metadata: { reason: 'fair', updateIdentity: 'ops', updateTimeMs: 8_000 },
  },
  fairnessWeightOverrides: [{ key: 'tenant', value: 2.5 }],
};

test('it is asked of the root partition, and answered as a whole', async () => {
  const set = new Map([['tenant', 2.5]]);
  const change = { setFairnessWeightOverrides: set, unsetFairnessWeightOverrides: ['gone'], identity: 'ops' };
  const ofKeys = { updateFairnessKeyRateLimitDefault: { rateLimit: { requestsPerSecond: 0.5 }, reason: 'fair' } };
  const answer = decodeUpdateTaskQueueConfigResponse(await update({ ...rate(5, 'why'), ...ofKeys, ...change }));
  expect(decodeConfig(answer.config ?? new Uint8Array(0))).toEqual(shown);
  expect(bench.stub.matchingRequests.at(-1)).toMatchObject({
    kind: 'updateTaskQueueConfig',
    queue: { name: 'q', taskType: 'activity', partition: 0, kind: 'normal' },
    identity: 'ops',
    queueRate: { perSecond: 5, reason: 'why' },
    keyRate: { perSecond: 0.5, reason: 'fair' },
    setWeights: [{ key: 'tenant', weight: 2.5 }],
    unsetWeights: ['gone'],
  });
  await update({ updateQueueRateLimit: { rateLimit: undefined, reason: 'over' } });
  expect(bench.stub.matchingRequests.at(-1)).toMatchObject({ queueRate: { perSecond: undefined, reason: 'over' } });
});

test('a workflow queue has weights', async () => {
  await update({ taskQueueType: workflow, unsetFairnessWeightOverrides: ['gone'] });
  expect(bench.stub.matchingRequests.at(-1)).toMatchObject({ queue: { taskType: 'workflow' }, queueRate: undefined });
});

const long = 'x'.repeat(1_001);
const many = new Map(Array.from({ length: 1_001 }, (_, nth) => [String(nth), 1]));
test.each<[string, Over, number, string]>([
  [
    'a rate of workflows',
    { ...rate(5), taskQueueType: workflow },
    codes.INVALID_ARGUMENT,
    'Setting rate limit on workflow task queues is not allowed.',
  ],
  [
    'a rate of keys of workflows',
    { taskQueueType: workflow, updateFairnessKeyRateLimitDefault: { rateLimit: { requestsPerSecond: 1 }, reason: '' } },
    codes.INVALID_ARGUMENT,
    'Setting fairness key rate limit on workflow task queues is not allowed.',
  ],
  ['a negative rate', rate(-1), codes.INVALID_ARGUMENT, 'RequestsPerSecond for UpdateQueueRateLimit rate limit must be non-negative.'],
  [
    'a negative rate of keys',
    { updateFairnessKeyRateLimitDefault: { rateLimit: { requestsPerSecond: -1 }, reason: '' } },
    codes.INVALID_ARGUMENT,
    'RequestsPerSecond for UpdateFairnessKeyRateLimitDefault rate limit must be non-negative.',
  ],
  [
    'a long reason for a rate of keys',
    { updateFairnessKeyRateLimitDefault: { rateLimit: undefined, reason: long } },
    codes.INVALID_ARGUMENT,
    'UpdateFairnessKeyRateLimitDefault.Reason field too long (max 1000 characters).',
  ],
  ['a rate that is none', rate(NaN), codes.INVALID_ARGUMENT, 'RequestsPerSecond for UpdateQueueRateLimit rate limit must be non-negative.'],
  ['a long reason', rate(1, long), codes.INVALID_ARGUMENT, 'UpdateQueueRateLimit.Reason field too long (max 1000 characters).'],
  ['a long identity', { identity: long }, codes.INVALID_ARGUMENT, 'Identity field too long (max 1000 characters).'],
  [
    'many keys',
    { setFairnessWeightOverrides: many },
    codes.INVALID_ARGUMENT,
    'too many fairness weight overrides in request: got 1001, maximum 1000',
  ],
  ['no key', { unsetFairnessWeightOverrides: [''] }, codes.INVALID_ARGUMENT, 'fairness weight override key must not be empty'],
  ['a long key', { unsetFairnessWeightOverrides: [long] }, codes.INVALID_ARGUMENT, 'fairness key length exceeds limit'],
  [
    'a weight of 0',
    { setFairnessWeightOverrides: new Map([['k', 0]]) },
    codes.INVALID_ARGUMENT,
    'invalid fairness weight weight for key "k": must be greater than zero',
  ],
  [
    'a key twice',
    { setFairnessWeightOverrides: new Map([['k', 1]]), unsetFairnessWeightOverrides: ['k'] },
    codes.INVALID_ARGUMENT,
    'fairness weight override key "k" present in both set and unset lists',
  ],
  ['no queue', { taskQueue: '' }, codes.INVALID_ARGUMENT, 'missing task queue name'],
  ['no type', { taskQueueType: 0 }, codes.INVALID_ARGUMENT, 'Task queue type is not set.'],
  ['Nexus', { taskQueueType: nexus }, codes.UNIMPLEMENTED, 'task_queue_type NEXUS is not supported by this server yet'],
])('is refused: %s', async (_what, over, code, details) => {
  await expect(update(over)).rejects.toMatchObject({ code, details });
});

test.each<[string, number | undefined, number]>([
  ['API', 5, 1],
  ['that of the system, where it is no limit', 200_000, 3],
  ['that of the system, where it is unset', undefined, 3],
])('a description shows the configuration when it is asked for, and whose rate holds: %s', async (_whose, perSecond, source) => {
  known = { ...config, queueRate: { perSecond, reason: 'why', identity: 'ops', timeMs: 7_000 } };
  const describe = async (reportConfig: boolean) => {
    const taskQueue = { name: 'q', kind: 1, normalName: '' };
    const request = { ...emptyDescribeTaskQueueRequest(), namespace: 'queues', taskQueue, taskQueueType: activity, reportConfig };
    return decodeDescribeTaskQueueResponse(await bench.client.call('DescribeTaskQueue', encodeDescribeTaskQueueRequest(request)));
  };
  const answer = await describe(true);
  expect(answer.effectiveRateLimit?.rateLimitSource).toBe(source);
  const rateLimit = perSecond === undefined ? undefined : { requestsPerSecond: perSecond };
  expect(decodeConfig(answer.config ?? new Uint8Array(0))).toEqual({ ...shown, queueRateLimit: { ...shown.queueRateLimit, rateLimit } });
  expect((await describe(false)).config).toBeUndefined();
  known = emptyConfig;
});
