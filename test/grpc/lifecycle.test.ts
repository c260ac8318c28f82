/** What is done to a workflow from outside, and what is asked about it. */
import { status as codes } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Description, PendingActivityDescription } from '../../src/history/run/history-replies.ts';
import { decodeLink } from '../../src/wire/generated/lean/link.ts';
import { decodePriorityStats, decodeVersionInfo } from '../../src/wire/generated/api/taskqueue/description.ts';
import {
  decodeDescribeTaskQueueResponse,
  decodeListTaskQueuePartitionsResponse,
  encodeListTaskQueuePartitionsRequest,
  decodeQueryWorkflowResponse,
  decodeSignalWorkflowExecutionResponse,
  emptyDescribeTaskQueueRequest,
  emptyRequestCancelWorkflowExecutionRequest,
  emptySignalWorkflowExecutionRequest,
  emptyTerminateWorkflowExecutionRequest,
  encodeDescribeTaskQueueRequest,
  encodeDescribeWorkflowExecutionRequest,
  encodeQueryWorkflowRequest,
  encodeRequestCancelWorkflowExecutionRequest,
  encodeSignalWorkflowExecutionRequest,
  encodeTerminateWorkflowExecutionRequest,
  type DescribeTaskQueueRequest,
  type SignalWorkflowExecutionRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { computingCallsMax } from '../../src/grpc/computing-calls.ts';
import { firstDetail } from './details.ts';
import { openBench, runId, type Bench } from './frontend-bench.ts';
import { key, payloadsOf } from './started-tasks.ts';
import { until } from '../support/event-loop.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.stub.historyCommands.length = 0;
  bench.stub.matchingRequests.length = 0;
  bench.stub.cancelled.length = 0;
  bench.stub.answers.history = () => ({ kind: 'done' });
});

const execution = { workflowId: 'w', runId };
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/) as string;

describe('signal', () => {
  beforeEach(() => {
    bench.stub.answers.history = () => ({ kind: 'signaled', runId });
  });

  const valid: SignalWorkflowExecutionRequest = {
    ...emptySignalWorkflowExecutionRequest(),
    namespace: 'default',
    workflowExecution: execution,
    signalName: 'ping',
  };

  test('goes to its run, with its payload', async () => {
    const request = encodeSignalWorkflowExecutionRequest({ ...valid, input: payloadsOf(3), identity: 'me', requestId: 'r' });
    const answer = decodeSignalWorkflowExecutionResponse(await bench.client.call('SignalWorkflowExecution', request));
    expect(decodeLink(answer.link ?? new Uint8Array(0)).workflowEvent).toMatchObject({
      workflowId: 'w',
      runId,
      requestIdRef: { requestId: 'r', eventType: 26 },
    });
    expect(bench.stub.historyCommands).toMatchObject([
      {
        kind: 'signalWorkflow',
        key,
        signal: { signalName: 'ping', input: payloadsOf(3), identity: 'me', requestId: 'r' },
        childOf: undefined,
      },
    ]);
  });

  test('a run id in capitals is the same run', async () => {
    const request = { ...valid, workflowExecution: { workflowId: 'w', runId: runId.toUpperCase() } };
    await bench.client.call('SignalWorkflowExecution', encodeSignalWorkflowExecutionRequest(request));
    expect(bench.stub.historyCommands).toMatchObject([{ key: { runId }, signal: { requestId: uuid } }]);
  });

  test.each<[string, Partial<SignalWorkflowExecutionRequest>]>([
    ['SignalName is not set on request.', { signalName: '' }],
    ['SignalName length exceeds limit.', { signalName: 'x'.repeat(1_001) }],
    ['RequestId length exceeds limit.', { requestId: 'x'.repeat(1_001) }],
    ['WorkflowId is not set on request.', { workflowExecution: { workflowId: '', runId: '' } }],
    ['Blob data size exceeds limit.', { header: Buffer.alloc(2 * 1024 * 1024 + 1) }],
    ['grpc: error unmarshalling request: field 1 needs 9 bytes, 1 are left', { input: Buffer.from([10, 9, 1]) }],
    ['grpc: error unmarshalling request: field 1 has a wrong wire type', { links: [Buffer.from([8, 1])] }],
  ])('%s', async (message, changes) => {
    const error = await bench.client.refusal('SignalWorkflowExecution', encodeSignalWorkflowExecutionRequest({ ...valid, ...changes }));
    expect([error.details, error.code]).toEqual([message, codes.INVALID_ARGUMENT]);
    expect(bench.stub.historyCommands).toEqual([]);
  });
});

test('request to cancel', async () => {
  const request = {
    ...emptyRequestCancelWorkflowExecutionRequest(),
    namespace: 'default',
    workflowExecution: execution,
    reason: 'late',
    identity: 'me',
  };
  await bench.client.call(
    'RequestCancelWorkflowExecution',
    encodeRequestCancelWorkflowExecutionRequest({ ...request, firstExecutionRunId: runId }),
  );
  expect(bench.stub.historyCommands).toMatchObject([
    // Whichever run is named: with a first run, the chain's current one is meant.
    {
      kind: 'requestCancelWorkflow',
      key: { ...key, runId: '' },
      firstExecutionRunId: runId,
      cause: 'late',
      identity: 'me',
      requestId: uuid,
      external: undefined,
    },
  ]);
  const bad = encodeRequestCancelWorkflowExecutionRequest({ ...request, workflowExecution: { workflowId: 'w', runId: 'x' } });
  expect((await bench.client.refusal('RequestCancelWorkflowExecution', bad)).details).toBe('Invalid RunId.');
});

test('terminate, with what stands in when nothing is said', async () => {
  const request = { ...emptyTerminateWorkflowExecutionRequest(), namespace: 'default', workflowExecution: { workflowId: 'w', runId: '' } };
  await bench.client.call('TerminateWorkflowExecution', encodeTerminateWorkflowExecutionRequest(request));
  await bench.client.call(
    'TerminateWorkflowExecution',
    encodeTerminateWorkflowExecutionRequest({ ...request, reason: 'bad', identity: 'me', details: payloadsOf(1) }),
  );
  expect(bench.stub.historyCommands).toMatchObject([
    {
      kind: 'terminateWorkflow',
      key: { runId: '' },
      reason: 'terminated by user via frontend',
      identity: 'frontend-service',
      details: undefined,
    },
    { kind: 'terminateWorkflow', reason: 'bad', identity: 'me', details: payloadsOf(1) },
  ]);
});

describe('query', () => {
  const request = (queryRejectCondition = 0): Uint8Array =>
    encodeQueryWorkflowRequest({
      namespace: 'default',
      execution,
      query: { queryType: 'state', queryArgs: undefined, header: undefined },
      queryRejectCondition,
    });

  test('answered', async () => {
    bench.stub.answers.history = () => ({ kind: 'queryAnswered', answer: payloadsOf(2) });
    expect(decodeQueryWorkflowResponse(await bench.client.call('QueryWorkflow', request())).queryResult).toEqual(payloadsOf(2));
    expect(bench.stub.historyCommands).toMatchObject([{ kind: 'queryWorkflow', key, queryId: uuid, rejectCondition: 0 }]);
  });

  test('rejected by its condition', async () => {
    bench.stub.answers.history = () => ({ kind: 'queryRejected', status: 2 });
    const answer = decodeQueryWorkflowResponse(await bench.client.call('QueryWorkflow', request(2)));
    expect(answer).toMatchObject({ queryResult: undefined, queryRejected: { status: 2 } });
  });

  test('failed by the worker', async () => {
    bench.stub.answers.history = () => ({
      kind: 'rejected',
      rejection: { reason: 'query-failed', message: 'unknown queryType', failure: undefined },
    });
    const error = await bench.client.refusal('QueryWorkflow', request());
    expect([error.code, error.details, firstDetail(error).type]).toEqual([
      codes.INVALID_ARGUMENT,
      'unknown queryType',
      'QueryFailedFailure',
    ]);
  });

  test('a namespace whose waiting queries take 32 MiB is refused more of them, another one is not', async () => {
    bench.stub.answers.history = () => 'never';
    const large = { queryType: 'state', queryArgs: payloadsOf(2 * 1024 * 1024 - 100), header: undefined };
    const of = (namespace: string): Uint8Array =>
      encodeQueryWorkflowRequest({ namespace, execution, query: large, queryRejectCondition: 0 });
    const waiting = Array.from({ length: 16 }, () => bench.client.start('QueryWorkflow', of('default'), { gzip: true }));
    const given = Promise.allSettled(waiting.map((each) => each.answer));
    await vi.waitUntil(() => bench.stub.openAsks === 16, { timeout: 60_000 });
    const error = await bench.client.refusal('QueryWorkflow', of('default'));
    expect([error.code, error.details]).toEqual([codes.RESOURCE_EXHAUSTED, 'the queries of this namespace that wait are too large']);
    const other = bench.client.start('QueryWorkflow', of('other'));
    const otherEnded = other.answer.catch(() => undefined);
    await vi.waitUntil(() => bench.stub.openAsks === 17, { timeout: 60_000 });
    // Given up is not gone: it waits at the task queue.
    for (const each of [...waiting, other]) each.cancel();
    await Promise.all([given, otherEnded]);
    await vi.waitUntil(() => bench.stub.openAsks === 0, { timeout: 60_000 });
    expect((await bench.client.refusal('QueryWorkflow', of('default'))).code).toBe(codes.RESOURCE_EXHAUSTED);
    // What was answered is.
    bench.stub.answers.history = () => ({ kind: 'queryAnswered', answer: payloadsOf(2) });
    for (let at = 0; at < 20; at++) await bench.client.call('QueryWorkflow', of('other'));
  });

  test('its own words reach the client before the deadline does', async () => {
    const started = Date.now();
    bench.stub.answers.history = (command) => {
      if (command.kind === 'queryWorkflow') expect(command.deadlineMs).toBeLessThan(started + 3_000);
      return { kind: 'deadline', message: 'x' };
    };
    const error = await bench.client.refusal('QueryWorkflow', request(), { timeoutMs: 3_000 });
    expect([error.code, error.details]).toEqual([codes.DEADLINE_EXCEEDED, 'query timed out before a worker could process it']);
  });

  test('a cancelled query cancels its ask', async () => {
    const asked = Promise.withResolvers<void>();
    bench.stub.answers.history = () => (asked.resolve(), 'never');
    const { answer, cancel } = bench.client.start('QueryWorkflow', request());
    answer.catch(() => {});
    await asked.promise;
    cancel();
    await until(() => bench.stub.cancelled.length !== 0);
    expect(bench.stub.openAsks).toBe(0);
  });

  test.each([
    ['WorkflowQuery is not set on request.', undefined, 0],
    ['QueryType is not set on request.', { queryType: '', queryArgs: undefined, header: undefined }, 0],
    ['unknown QueryRejectCondition 9', { queryType: 'q', queryArgs: undefined, header: undefined }, 9],
  ])('%s', async (message, query, queryRejectCondition) => {
    const error = await bench.client.refusal(
      'QueryWorkflow',
      encodeQueryWorkflowRequest({ namespace: 'default', execution, query, queryRejectCondition }),
    );
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, message]);
  });
});

const description: Description = {
  kind: 'description',
  key,
  firstRunId: runId,
  workflowType: 'order',
  taskQueue: { name: 'orders', kind: 1, normalName: '' },
  status: 2,
  startTimeMs: 1_000,
  executionTimeMs: 1_500,
  closeTimeMs: 4_000,
  historyLength: 7,
  historySizeBytes: 900,
  stateTransitionCount: 5,
  executionTimeoutMs: 60_000,
  runTimeoutMs: 50_000,
  taskTimeoutMs: 10_000,
  memo: undefined,
  searchAttributes: undefined,
  parent: { namespaceId: 'default-id', execution: { workflowId: 'p', runId } },
  root: { workflowId: 'p', runId },
  executionExpirationTimeMs: 61_500,
  runExpirationTimeMs: 51_500,
  originalStartTimeMs: 1_000,
  cancelRequested: true,
  userMetadata: undefined,
  priority: undefined,
  lastResetTimeMs: 0,
  resetRunId: '',
  pause: { timeMs: 3_500, identity: 'operator', reason: 'look first', requestId: 'p' },
  pendingActivities: [
    {
      activityId: '5',
      activityType: 'charge',
      state: 2,
      heartbeatDetails: payloadsOf(1),
      lastHeartbeatTimeMs: 2_000,
      lastStartedTimeMs: 1_800,
      attempt: 3,
      maximumAttempts: 9,
      scheduledTimeMs: 1_200,
      expirationTimeMs: 9_000,
      lastFailure: undefined,
      lastWorkerIdentity: 'worker',
      currentRetryIntervalMs: 250,
      taskQueue: { name: 'q', kind: 1, normalName: '' },
      nextAttemptScheduleTimeMs: 2_100,
      lastAttemptCompleteTimeMs: 1_700,
      scheduleToCloseTimeoutMs: 60_000,
      scheduleToStartTimeoutMs: 0,
      startToCloseTimeoutMs: 5_000,
      heartbeatTimeoutMs: 1_000,
      retryPolicy: {
        initialIntervalMs: 1_000,
        backoffCoefficient: 2,
        maximumIntervalMs: 10_000,
        maximumAttempts: 9,
        nonRetryableErrorTypes: [],
      },
      priority: undefined,
      pause: { pauseTimeMs: 2_050, identity: 'operator', reason: 'why', requestId: 'r' },
    },
  ],
  pendingChildren: [{ workflowId: 'c', runId, workflowType: 'child', initiatedEventId: 6, parentClosePolicy: 3 }],
  pendingWorkflowTask: { started: true, scheduledTimeMs: 1_100, originalScheduledTimeMs: 1_050, startedTimeMs: 1_150, attempt: 2 },
  aside: { failedCommand: 'fireTimer', reason: 'RangeError: planted', timeMs: 3_000 },
  callbacks: [],
  requestIds: new Map([['r', { eventId: 1, eventType: 1, buffered: false }]]),
};

test('describe, read by the public API', async () => {
  bench.stub.answers.history = () => description;
  const answer = proto.temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse.decode(
    await bench.client.call('DescribeWorkflowExecution', encodeDescribeWorkflowExecutionRequest({ namespace: 'default', execution })),
  ).toJSON() as object;
  const seconds = (ms: number): object => ({
    ...(ms >= 1_000 ? { seconds: String(Math.floor(ms / 1_000)) } : {}),
    ...(ms % 1_000 === 0 ? {} : { nanos: (ms % 1_000) * 1e6 }),
  });
  const putAside =
    'quarantined since 1970-01-01T00:00:03.000Z: fireTimer cannot be decided (RangeError: planted). ' +
    'Its timers and tasks wait; it can be read and terminated.';
  expect(answer).toMatchObject({
    executionConfig: {
      taskQueue: { name: 'orders', kind: 'TASK_QUEUE_KIND_NORMAL' },
      workflowExecutionTimeout: seconds(60_000),
      workflowRunTimeout: seconds(50_000),
      defaultWorkflowTaskTimeout: seconds(10_000),
    },
    workflowExecutionInfo: {
      execution: { workflowId: 'w', runId },
      type: { name: 'order' },
      startTime: seconds(1_000),
      executionTime: seconds(1_500),
      closeTime: seconds(4_000),
      executionDuration: seconds(2_500),
      status: 'WORKFLOW_EXECUTION_STATUS_COMPLETED',
      historyLength: '7',
      historySizeBytes: '900',
      stateTransitionCount: '5',
      parentNamespaceId: 'default-id',
      parentExecution: { workflowId: 'p', runId },
      rootExecution: { workflowId: 'p', runId },
      taskQueue: 'orders',
      firstRunId: runId,
      memo: {
        fields: { PerdureQuarantined: { metadata: { encoding: base64('json/plain') }, data: base64(JSON.stringify(putAside)) } },
      },
    },
    pendingActivities: [
      {
        activityId: '5',
        activityType: { name: 'charge' },
        state: 'PENDING_ACTIVITY_STATE_STARTED',
        attempt: 3,
        maximumAttempts: 9,
        lastHeartbeatTime: seconds(2_000),
        lastStartedTime: seconds(1_800),
        scheduledTime: seconds(1_200),
        expirationTime: seconds(9_000),
        lastWorkerIdentity: 'worker',
        currentRetryInterval: seconds(250),
        nextAttemptScheduleTime: seconds(2_100),
        lastAttemptCompleteTime: seconds(1_700),
        activityOptions: { startToCloseTimeout: seconds(5_000), retryPolicy: { maximumAttempts: 9 } },
      },
    ],
    pendingChildren: [
      { workflowId: 'c', runId, workflowTypeName: 'child', initiatedId: '6', parentClosePolicy: 'PARENT_CLOSE_POLICY_REQUEST_CANCEL' },
    ],
    pendingWorkflowTask: {
      state: 'PENDING_WORKFLOW_TASK_STATE_STARTED',
      scheduledTime: seconds(1_100),
      originalScheduledTime: seconds(1_050),
      startedTime: seconds(1_150),
      attempt: 2,
    },
    workflowExtendedInfo: {
      executionExpirationTime: seconds(61_500),
      runExpirationTime: seconds(51_500),
      originalStartTime: seconds(1_000),
      cancelRequested: true,
      requestIdInfos: { r: { eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED', eventId: '1' } },
    },
  });
});

test('descriptions that are dear have places, before their shard is asked; others are described at once', async () => {
  const own = await openBench();
  const describing = (workflowId: string) =>
    own.client.start(
      'DescribeWorkflowExecution',
      encodeDescribeWorkflowExecutionRequest({ namespace: 'default', execution: { workflowId, runId } }),
    );
  const found = async (workflowId: string, activities: number): Promise<void> => {
    const pendingActivities = Array.from({ length: activities }, () => description.pendingActivities).flat();
    own.stub.answers.history = () => ({ ...description, pendingActivities });
    await describing(workflowId).answer;
  };
  await found('dear', 201);
  await found('cheap', 1);
  await found('cheap by now', 201);
  await found('cheap by now', 1);
  own.stub.historyCommands.length = 0;
  own.stub.answers.history = () => 'never';
  const calls = ['dear', 'cheap', 'cheap by now'].flatMap((workflowId) => Array.from({ length: 20 }, () => describing(workflowId)));
  await until(() => own.stub.historyCommands.length === computingCallsMax + 40);
  const asked = own.stub.historyCommands.filter((command) => 'key' in command && command.key.workflowId === 'dear');
  expect(asked).toHaveLength(computingCallsMax);
  const ends = Promise.allSettled(calls.map(({ answer }) => answer));
  for (const call of calls) call.cancel();
  await ends;
  await own.close();
});

test('a description that would be too large for its caller says what is left out', async () => {
  const described = async (change: Partial<Description>): Promise<{ readonly bytes: number; readonly text: string }> => {
    bench.stub.answers.history = () => ({ ...description, ...change });
    const request = encodeDescribeWorkflowExecutionRequest({ namespace: 'default', execution });
    const bytes = await bench.client.call('DescribeWorkflowExecution', request);
    const { workflowExecutionInfo, pendingActivities } =
      proto.temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse.decode(bytes);
    const note = Buffer.from(workflowExecutionInfo?.memo?.fields?.['PerdureLeftOut']?.data ?? []).toString();
    const heard = pendingActivities.filter(({ heartbeatDetails }) => (heartbeatDetails?.payloads?.length ?? 0) > 0).length;
    const failed = pendingActivities.filter(({ lastFailure }) => (lastFailure ?? undefined) !== undefined).length;
    return { bytes: bytes.length, text: `${pendingActivities.length} pending, ${failed} failed, ${heard} heard; ${note}` };
  };
  const many = (count: number, change: Partial<PendingActivityDescription>): readonly PendingActivityDescription[] =>
    Array.from({ length: count }, () => description.pendingActivities.map((activity) => ({ ...activity, ...change }))).flat();
  const left = '"this answer would be larger than 4194304 bytes; left out are';
  const failure = proto.temporal.api.failure.v1.Failure.encode({ message: 'x'.repeat(4_000) }).finish();
  const memo = proto.temporal.api.common.v1.Memo.encode({ fields: { m: { data: new Uint8Array(2_000_000) } } }).finish();

  // As many as a run may have could not be received: the first are shown with what their workers said last.
  const heartbeats = await described({ pendingActivities: many(50, { heartbeatDetails: payloadsOf(1_500_000) }) });
  expect(heartbeats.text).toBe(`50 pending, 0 failed, 2 heard; ${left} 48 of 50 heartbeat details"`);
  const beside = await described({ memo, pendingActivities: many(50, { heartbeatDetails: payloadsOf(1_500_000), lastFailure: failure }) });
  expect(beside.text).toBe(`50 pending, 50 failed, 1 heard; ${left} 49 of 50 heartbeat details"`);
  const failures = await described({ pendingActivities: many(2_000, { heartbeatDetails: undefined, lastFailure: failure }) });
  expect(failures.text).toMatch(/^2000 pending, 9\d\d failed, 0 heard; .* 1[01]\d\d of 2000 last failures"$/);
  const names = await described({
    memo,
    pendingActivities: many(2_000, { activityId: 'i'.repeat(1_000), lastWorkerIdentity: 'w'.repeat(1_000), heartbeatDetails: undefined }),
    requestIds: new Map(Array.from({ length: 2_000 }, (_, at) => [`${at}`.padStart(1_000), { eventId: 1, eventType: 1, buffered: false }])),
  });
  expect(names.text).toMatch(/^1\d\d\d pending, 0 failed, 0 heard; .* 9\d\d of 2000 pending activities, (1999|2000) of 2000 request ids"$/);
  for (const { bytes } of [heartbeats, beside, failures, names]) expect(bytes).toBeLessThanOrEqual(4 * 1024 * 1024);
});

describe('DescribeTaskQueue', () => {
  const request = (changes: Partial<DescribeTaskQueueRequest> = {}): Uint8Array =>
    encodeDescribeTaskQueueRequest({
      ...emptyDescribeTaskQueueRequest(),
      namespace: 'default',
      taskQueue: { name: 'orders', kind: 1, normalName: '' },
      ...changes,
    });

  test('puts the partitions together', async () => {
    const two = await openBench({ taskQueuePartitions: 2 });
    two.stub.answers.matching = (asked) => {
      const first = 'queue' in asked && asked.queue.partition === 0;
      const pollers = first
        ? [{ identity: 'a', lastAccessTimeMs: 1_000, ratePerSecond: undefined }]
        : [
            { identity: 'b', lastAccessTimeMs: 3_000, ratePerSecond: 5 },
            { identity: 'a', lastAccessTimeMs: 2_000, ratePerSecond: undefined },
          ];
      return {
        kind: 'taskQueueDescription',
        pollers,
        backlogCountHint: 3,
        backlogAgeMs: first ? 10 : 20,
        ackLevel: 1,
        readLevel: 4,
        ratePerSecond: first ? 7 : undefined,
        isRateLimited: first,
        levels: [
          { priorityKey: 3, backlogCount: 2, backlogAgeMs: first ? 10 : 15, addRate: 1.5, dispatchRate: 0.5 },
          ...(first ? [] : [{ priorityKey: 1, backlogCount: 1, backlogAgeMs: 20, addRate: 0, dispatchRate: 2 }]),
        ],
        config: undefined,
      };
    };
    const answer = decodeDescribeTaskQueueResponse(
      await two.client.call('DescribeTaskQueue', request({ taskQueueType: 2, includeTaskQueueStatus: true, reportStats: true })),
    );
    expect(answer.pollers.map((poller) => [poller.identity, poller.lastAccessTimeMs, poller.ratePerSecond])).toEqual([
      ['b', 3_000, 5],
      ['a', 2_000, 100_000],
    ]);
    expect(answer.taskQueueStatus).toMatchObject({ backlogCountHint: 6, readLevel: 4, ackLevel: 1 });
    const stats = { tasksAddRate: 3, tasksDispatchRate: 3, rateLimitingActive: true };
    expect(answer.stats).toEqual({ approximateBacklogCount: 6, approximateBacklogAgeMs: 20, ...stats });
    expect(answer.statsByPriorityKey.map((entry) => decodePriorityStats(entry))).toEqual([
      {
        key: 3,
        value: {
          approximateBacklogCount: 4,
          approximateBacklogAgeMs: 15,
          tasksAddRate: 3,
          tasksDispatchRate: 1,
          rateLimitingActive: false,
        },
      },
      {
        key: 1,
        value: {
          approximateBacklogCount: 1,
          approximateBacklogAgeMs: 20,
          tasksAddRate: 0,
          tasksDispatchRate: 2,
          rateLimitingActive: false,
        },
      },
    ]);
    // 2 = a worker has set it, 3 = nobody.
    expect(answer.effectiveRateLimit).toEqual({ requestsPerSecond: 7, rateLimitSource: 2 });
    expect(two.stub.matchingRequests).toMatchObject([
      { queue: { taskType: 'activity', partition: 0 } },
      { queue: { taskType: 'activity', partition: 1 } },
    ]);
    const enhanced = decodeDescribeTaskQueueResponse(
      await two.client.call(
        'DescribeTaskQueue',
        request({ apiMode: 1, reportStats: true, reportPollers: true, reportTaskReachability: true }),
      ),
    );
    const { typesInfo, taskReachability } = decodeVersionInfo(enhanced.versionsInfo.get('') ?? new Uint8Array(0));
    expect([[...enhanced.versionsInfo.keys()], taskReachability]).toEqual([[''], 1]);
    expect(typesInfo.map(({ key, value }) => [key, value?.pollers.length, value?.stats?.approximateBacklogCount])).toEqual([
      [1, 2, 6],
      [2, 2, 6],
    ]);
    const bare = decodeDescribeTaskQueueResponse(
      await two.client.call(
        'DescribeTaskQueue',
        request({ apiMode: 1, taskQueueTypes: [2, 3, 2], versions: { buildIds: [], unversioned: true, allActive: false } }),
      ),
    );
    expect(decodeVersionInfo(bare.versionsInfo.get('')!)).toEqual({
      typesInfo: [2, 3].map((key) => ({ key, value: { pollers: [], stats: undefined } })),
      taskReachability: 0,
    });
    await two.close();
  });

  test('ListTaskQueuePartitions names the partitions of both types, and who has them', async () => {
    const two = await openBench({ taskQueuePartitions: 2 });
    const asked = { namespace: 'default', taskQueue: { name: 'orders', kind: 1, normalName: '' } };
    const answer = await two.client.call('ListTaskQueuePartitions', encodeListTaskQueuePartitionsRequest(asked));
    const partitions = ['orders', '/_sys/orders/1'].map((key) => ({ key, ownerHostName: 'here:7233' }));
    expect(decodeListTaskQueuePartitionsResponse(answer)).toEqual({
      activityTaskQueuePartitions: partitions,
      workflowTaskQueuePartitions: partitions,
    });
    const unnamed = encodeListTaskQueuePartitionsRequest({ ...asked, taskQueue: undefined });
    expect(await two.client.refusal('ListTaskQueuePartitions', unnamed)).toMatchObject({
      code: codes.INVALID_ARGUMENT,
      details: 'taskQueue is not set',
    });
    await two.close();
  });

  test('of Nexus: nobody polls there, and nobody is asked', async () => {
    const before = bench.stub.matchingRequests.length;
    const answer = decodeDescribeTaskQueueResponse(await bench.client.call('DescribeTaskQueue', request({ taskQueueType: 3 })));
    expect(answer).toMatchObject({ pollers: [], taskQueueStatus: undefined });
    expect(bench.stub.matchingRequests.length).toBe(before);
  });

  test.each<[string, number, Partial<DescribeTaskQueueRequest>]>([
    ['taskQueue is not set', codes.INVALID_ARGUMENT, { taskQueue: undefined }],
    [
      'Enhanced DescribeTaskQueue is not valid for a sticky queue, use api_mode=UNSPECIFIED or a normal queue.',
      codes.INVALID_ARGUMENT,
      { apiMode: 1, taskQueue: { name: 'orders', kind: 2, normalName: 'n' } },
    ],
    [
      'versions.build_ids is not supported by this server yet',
      codes.UNIMPLEMENTED,
      { apiMode: 1, versions: { buildIds: ['b'], unversioned: false, allActive: false } },
    ],
    [
      'versions.all_active is not supported by this server yet',
      codes.UNIMPLEMENTED,
      { apiMode: 1, versions: { buildIds: [], unversioned: false, allActive: true } },
    ],
    ['unknown TaskQueueType 9', codes.INVALID_ARGUMENT, { apiMode: 1, taskQueueTypes: [9] }],
    ['unknown TaskQueueType 9', codes.INVALID_ARGUMENT, { taskQueueType: 9 }],
  ])('%s', async (message, code, changes) => {
    const error = await bench.client.refusal('DescribeTaskQueue', request(changes));
    expect([error.details, error.code]).toEqual([message, code]);
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
