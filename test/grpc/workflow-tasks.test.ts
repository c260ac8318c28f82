import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { emptyCommand, type Command } from '../../src/wire/generated/lean/command.ts';
import { emptyMessage } from '../../src/wire/generated/lean/update.ts';
import { emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';
import { encodeWorkflowQuery } from '../../src/wire/generated/lean/taskqueue.ts';
import {
  decodePollWorkflowTaskQueueResponse,
  decodeRespondWorkflowTaskCompletedResponse,
  emptyPollWorkflowTaskQueueRequest,
  emptyRespondQueryTaskCompletedRequest,
  emptyRespondWorkflowTaskCompletedRequest,
  emptyRespondWorkflowTaskFailedRequest,
  emptyShutdownWorkerRequest,
  encodePollWorkflowTaskQueueRequest,
  encodeResetStickyTaskQueueRequest,
  encodeRespondQueryTaskCompletedRequest,
  encodeRespondWorkflowTaskCompletedRequest,
  encodeRespondWorkflowTaskFailedRequest,
  encodeShutdownWorkerRequest,
  type PollWorkflowTaskQueueRequest,
  type RespondWorkflowTaskCompletedRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { firstDetail } from './details.ts';
import { openBench, runId, type Bench } from './frontend-bench.ts';
import { key, startedActivityTask, payloadsOf, startedWorkflowTask, taskReply } from './started-tasks.ts';
import { until } from '../support/event-loop.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  bench.stub.events = Array.from({ length: 1_000 }, (_, at) => Buffer.from([8, at % 100]));
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.stub.historyCommands.length = 0;
  bench.stub.matchingRequests.length = 0;
  bench.stub.cancelled.length = 0;
  bench.stub.answers.matching = () => taskReply(startedWorkflowTask, 4);
  bench.stub.answers.history = () => ({
    kind: 'workflowTaskCompleted',
    workflowTask: undefined,
    activityTasks: [],
    resetHistoryEventId: 0,
  });
});

const orders = { name: 'orders', kind: 1, normalName: '' };

function poll(changes: Partial<PollWorkflowTaskQueueRequest> = {}): Uint8Array {
  return encodePollWorkflowTaskQueueRequest({
    ...emptyPollWorkflowTaskQueueRequest(),
    namespace: 'default',
    taskQueue: orders,
    identity: 'worker',
    ...changes,
  });
}

async function polledToken(): Promise<Uint8Array> {
  return decodePollWorkflowTaskQueueResponse(await bench.client.call('PollWorkflowTaskQueue', poll(), { timeoutMs: 70_000 })).taskToken;
}

describe('polls', () => {
  test('a started task, with its history as it is stored', async () => {
    const answer = decodePollWorkflowTaskQueueResponse(await bench.client.call('PollWorkflowTaskQueue', poll(), { timeoutMs: 70_000 }));
    expect(answer).toMatchObject({
      workflowExecution: { workflowId: 'w', runId },
      workflowType: { name: 'order' },
      startedEventId: 3,
      previousStartedEventId: 0,
      attempt: 1,
      backlogCountHint: 4,
      history: { events: bench.stub.events.slice(0, 3).map((event) => new Uint8Array(event)) },
      nextPageToken: new Uint8Array(0),
      workflowExecutionTaskQueue: { name: 'orders', kind: 1 },
      scheduledTimeMs: 1_700_000_000_000,
      startedTimeMs: 1_700_000_000_123,
    });
    expect(bench.stub.matchingRequests).toMatchObject([
      {
        kind: 'pollWorkflowTask',
        queue: { namespaceId: 'default-id', name: 'orders', taskType: 'workflow', partition: 0, kind: 'normal' },
        identity: 'worker',
      },
    ]);
  });

  test('a sticky poll goes to the sticky queue', async () => {
    await bench.client.call('PollWorkflowTaskQueue', poll({ taskQueue: { name: 'me:1', kind: 2, normalName: 'orders' } }), {
      timeoutMs: 70_000,
    });
    expect(bench.stub.matchingRequests).toMatchObject([{ queue: { name: 'me:1', kind: 'sticky', partition: 0 } }]);
  });

  test('the tail of a transient task follows the stored events', async () => {
    const tail = [Buffer.from([8, 4]), Buffer.from([8, 5])];
    bench.stub.answers.matching = () => taskReply({ ...startedWorkflowTask, startedEventId: 5, tailEvents: tail });
    const answer = decodePollWorkflowTaskQueueResponse(await bench.client.call('PollWorkflowTaskQueue', poll(), { timeoutMs: 70_000 }));
    expect(answer.history?.events).toEqual([...bench.stub.events.slice(0, 3), ...tail].map((event) => new Uint8Array(event)));
  });

  test('a run that was deleted before its history was read is no task', async () => {
    const { events } = bench.stub;
    bench.stub.events = [];
    onTestFinished(() => void (bench.stub.events = events));
    expect(await polledToken()).toHaveLength(0);
  });

  test('buffered queries ride along', async () => {
    const query = { queryType: 'state', queryArgs: undefined, header: undefined };
    bench.stub.answers.matching = () => taskReply({ ...startedWorkflowTask, queries: new Map([['q1', encodeWorkflowQuery(query)]]) });
    const answer = decodePollWorkflowTaskQueueResponse(await bench.client.call('PollWorkflowTaskQueue', poll(), { timeoutMs: 70_000 }));
    expect([...answer.queries]).toEqual([['q1', query]]);
  });

  test.each([
    [false, 5, 5],
    [true, 5, 0],
  ])('a query-only task (sticky %s) carries %i of history', async (sticky, historyLastEventId, delivered) => {
    const workflow = { key, workflowType: 'order', previousStartedEventId: 3, historyLastEventId, taskQueueName: 'orders' };
    const query = { queryType: 'state', queryArgs: undefined, header: undefined };
    bench.stub.answers.matching = (request) =>
      request.kind === 'answerQuery'
        ? { kind: 'done' }
        : { kind: 'queryTask', queryId: 'q1', query: encodeWorkflowQuery(query), workflow, queuePartition: 2, sticky };
    const taskQueue = sticky ? { name: 'me:1', kind: 2, normalName: 'orders' } : orders;
    const answer = decodePollWorkflowTaskQueueResponse(
      await bench.client.call('PollWorkflowTaskQueue', poll({ taskQueue }), { timeoutMs: 70_000 }),
    );
    expect(answer).toMatchObject({
      query,
      startedEventId: 0,
      previousStartedEventId: 3,
      attempt: 1,
      workflowExecution: { workflowId: 'w', runId },
    });
    expect(answer.history?.events).toHaveLength(delivered);
    await bench.client.call(
      'RespondQueryTaskCompleted',
      encodeRespondQueryTaskCompletedRequest({
        ...emptyRespondQueryTaskCompletedRequest(),
        taskToken: answer.taskToken,
        namespace: 'default',
        completedType: 1,
        queryResult: Buffer.from([10, 0]),
      }),
    );
    expect(bench.stub.matchingRequests.at(-1)).toMatchObject({
      kind: 'answerQuery',
      queue: { name: taskQueue.name, kind: sticky ? 'sticky' : 'normal', partition: 2, taskType: 'workflow' },
      queryId: 'q1',
      result: { answered: true, answer: new Uint8Array([10, 0]) },
    });
  });

  test('no task is an empty message', async () => {
    bench.stub.answers.matching = () => ({ kind: 'emptyPoll' });
    expect(await bench.client.call('PollWorkflowTaskQueue', poll(), { timeoutMs: 70_000 })).toHaveLength(0);
  });

  /** Of clocks and of the deadline on the wire. */
  const roundingMs = 5;

  test('the wait is 60 s less the jitter, or a second less than the client’s, who sets two at least', async () => {
    for (const [timeoutMs, expectedMs] of [
      [70_000, 55_000],
      [10_000, 9_000],
      [2_000, 1_000],
    ] as const) {
      const calledMs = Date.now();
      await bench.client.call('PollWorkflowTaskQueue', poll(), { timeoutMs });
      const answeredMs = Date.now();
      const request = bench.stub.matchingRequests.at(-1);
      const deadlineMs = request?.kind === 'pollWorkflowTask' ? request.deadlineMs : 0;
      // The server counts from when it has the call; what the call took to get there its client has told it to leave out.
      expect(deadlineMs).toBeGreaterThanOrEqual(calledMs + expectedMs - (answeredMs - calledMs) - roundingMs);
      expect(deadlineMs).toBeLessThanOrEqual(answeredMs + expectedMs + roundingMs);
    }
  });

  test.each([
    [undefined, codes.INVALID_ARGUMENT, 'Context timeout is not set.'],
    [1_500, codes.FAILED_PRECONDITION, 'Context timeout is too short.'],
  ])('a deadline of %s is refused', async (timeoutMs, code, message) => {
    const error = await bench.client.refusal('PollWorkflowTaskQueue', poll(), { timeoutMs });
    expect([error.code, error.details]).toEqual([code, message]);
    expect(bench.stub.matchingRequests).toEqual([]);
  });

  test.each<[string, number, Partial<PollWorkflowTaskQueueRequest>]>([
    ['taskQueue is not set', codes.INVALID_ARGUMENT, { taskQueue: undefined }],
    ['missing task queue name', codes.INVALID_ARGUMENT, { taskQueue: { name: '', kind: 1, normalName: '' } }],
    ['Identity length exceeds limit.', codes.INVALID_ARGUMENT, { identity: 'x'.repeat(1_001) }],
    ['Namespace x is not found.', codes.NOT_FOUND, { namespace: 'x' }],
    [
      'Worker Versioning (worker_version_capabilities.use_versioning) is not supported by this server yet',
      codes.UNIMPLEMENTED,
      { workerVersionCapabilities: Buffer.from([10, 1, 65, 16, 1]) },
    ],
    [
      'Worker Versioning (deployment_options with versioned mode) is not supported by this server yet',
      codes.UNIMPLEMENTED,
      { deploymentOptions: Buffer.from([24, 2]) },
    ],
    [
      'grpc: error unmarshalling request: a number is cut off or longer than 64 bits',
      codes.INVALID_ARGUMENT,
      { deploymentOptions: Buffer.from([24]) },
    ],
  ])('%s', async (message, code, changes) => {
    const error = await bench.client.refusal('PollWorkflowTaskQueue', poll(changes), { timeoutMs: 70_000 });
    expect([error.details, error.code]).toEqual([message, code]);
  });

  test('a cancelled poll cancels its ask', async () => {
    const asked = Promise.withResolvers<void>();
    bench.stub.answers.matching = () => {
      asked.resolve();
      return 'never';
    };
    const { answer, cancel } = bench.client.start('PollWorkflowTaskQueue', poll(), { timeoutMs: 70_000 });
    answer.catch(() => {});
    await asked.promise;
    const open = bench.stub.openAsks;
    cancel();
    await until(() => bench.stub.openAsks !== open);
    expect(bench.stub.cancelled).toHaveLength(1);
  });

  test('a server that stops ends the polls that no host has ended', async () => {
    const other = await openBench();
    const asked = Promise.withResolvers<void>();
    other.stub.answers.matching = () => {
      asked.resolve();
      return 'never';
    };
    const open = other.client.call('PollWorkflowTaskQueue', poll(), { timeoutMs: 70_000 });
    await asked.promise;
    const stopped = other.frontend.stop(100);
    expect(await open).toHaveLength(0);
    await stopped;
    expect(other.stub.openAsks).toBe(0);
    await other.close();
  });

  test('too many polls', async () => {
    bench.stub.answers.matching = () => ({ kind: 'rejected', rejection: { reason: 'too-many-polls', message: 'too many polls' } });
    const error = await bench.client.refusal('PollWorkflowTaskQueue', poll(), { timeoutMs: 70_000 });
    expect([error.code, error.details]).toEqual([codes.RESOURCE_EXHAUSTED, 'too many polls']);
    expect(firstDetail(error)).toEqual({
      type: 'ResourceExhaustedFailure',
      fields: { cause: 'RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT', scope: 'RESOURCE_EXHAUSTED_SCOPE_NAMESPACE' },
    });
    expect([error.metadata.get('x-resource-exhausted-cause'), error.metadata.get('x-resource-exhausted-scope')]).toEqual([
      ['ConcurrentLimit'],
      ['Namespace'],
    ]);
  });
});

describe('completions', () => {
  async function complete(changes: Partial<RespondWorkflowTaskCompletedRequest>): Promise<Uint8Array> {
    return encodeRespondWorkflowTaskCompletedRequest({
      ...emptyRespondWorkflowTaskCompletedRequest(),
      taskToken: await polledToken(),
      namespace: 'default',
      identity: 'worker',
      ...changes,
    });
  }

  const commandsOf = async (commands: readonly Command[]): Promise<unknown> => {
    await bench.client.call('RespondWorkflowTaskCompleted', await complete({ commands }));
    const command = bench.stub.historyCommands.at(-1);
    return command?.kind === 'completeWorkflowTask' ? command.commands : undefined;
  };

  test('the token comes back whole', async () => {
    await bench.client.call(
      'RespondWorkflowTaskCompleted',
      await complete({
        sdkMetadata: Buffer.from([8, 1]),
        meteringMetadata: Buffer.from([104, 1]),
        binaryChecksum: 'abc',
        stickyAttributes: { workerTaskQueue: { name: 'me:1', kind: 0, normalName: 'orders' }, scheduleToStartTimeoutMs: 10_000 },
        forceCreateNewWorkflowTask: true,
        queryResults: new Map([['q1', { resultType: 2, answer: undefined, errorMessage: 'no', failure: undefined }]]),
      }),
    );
    expect(bench.stub.historyCommands).toMatchObject([
      {
        kind: 'completeWorkflowTask',
        task: { key, scheduledEventId: 2, startedEventId: 3, startedTimeMs: 1_700_000_000_123, attempt: 1 },
        namespace: 'default',
        identity: 'worker',
        sticky: { taskQueue: { name: 'me:1', kind: 2, normalName: 'orders' }, scheduleToStartTimeoutMs: 10_000 },
        returnNewWorkflowTask: false,
        forceCreateNewWorkflowTask: true,
        queryResults: new Map([['q1', { answered: false, answer: undefined, errorMessage: 'no', failure: undefined }]]),
        sdkMetadata: new Uint8Array([8, 1]),
        meteringMetadata: new Uint8Array([104, 1]),
        binaryChecksum: 'abc',
        // Of the namespace, for what the workflow continues as.
        retentionMs: 86_400_000,
        registryPosition: 7,
      },
    ]);
  });

  test('commands keep their attributes', async () => {
    const failure = encodeFailure({
      ...emptyFailure(),
      message: 'broken',
      applicationFailureInfo: { type: 'Broken', nonRetryable: true, details: undefined, nextRetryDelayMs: 2_500, category: 0 },
    });
    const userMetadata = Buffer.from([10, 0]);
    expect(
      await commandsOf([
        {
          ...emptyCommand(),
          commandType: 1,
          userMetadata,
          scheduleActivityTaskCommandAttributes: {
            activityId: '1',
            activityType: { name: 'charge' },
            taskQueue: orders,
            header: undefined,
            input: Buffer.from([10, 0]),
            scheduleToCloseTimeoutMs: 1,
            scheduleToStartTimeoutMs: 2,
            startToCloseTimeoutMs: 3,
            heartbeatTimeoutMs: 4,
            retryPolicy: undefined,
            requestEagerExecution: true,
            useWorkflowBuildId: false,
            priority: undefined,
          },
        },
        { ...emptyCommand(), commandType: 3, startTimerCommandAttributes: { timerId: 't', startToFireTimeoutMs: 1_000 } },
        { ...emptyCommand(), commandType: 4 },
        { ...emptyCommand(), commandType: 5, failWorkflowExecutionCommandAttributes: { failure } },
        {
          ...emptyCommand(),
          commandType: 12,
          signalExternalWorkflowExecutionCommandAttributes: {
            namespace: 'other',
            execution: { workflowId: 'x', runId: '' },
            signalName: 's',
            input: undefined,
            control: '',
            childWorkflowOnly: false,
            header: undefined,
          },
        },
      ]),
    ).toMatchObject([
      {
        type: 'scheduleActivityTask',
        attributes: {
          activityId: '1',
          activityType: 'charge',
          taskQueue: orders,
          scheduleToCloseTimeoutMs: 1,
          heartbeatTimeoutMs: 4,
          requestEagerExecution: true,
        },
        userMetadata: new Uint8Array(userMetadata),
      },
      { type: 'startTimer', attributes: { timerId: 't', startToFireTimeoutMs: 1_000 } },
      // Absent attributes are the core's to judge: each command has its own cause for them.
      { type: 'completeWorkflowExecution', attributes: undefined },
      {
        type: 'failWorkflowExecution',
        attributes: {
          failure: {
            facts: { kind: 'application', type: 'Broken', nonRetryable: true, nextRetryDelayMs: 2_500, message: 'broken' },
            bytes: new Uint8Array(failure),
          },
        },
      },
      {
        type: 'signalExternalWorkflowExecution',
        attributes: { namespace: 'other', namespaceId: 'other-id', execution: { workflowId: 'x', runId: '' } },
      },
    ]);
  });

  test('an unknown target namespace refuses the whole request', async () => {
    const request = await complete({
      commands: [
        { ...emptyCommand(), commandType: 3, startTimerCommandAttributes: { timerId: 't', startToFireTimeoutMs: 1_000 } },
        {
          ...emptyCommand(),
          commandType: 8,
          requestCancelExternalWorkflowExecutionCommandAttributes: {
            namespace: 'gone',
            workflowId: 'x',
            runId: '',
            control: '',
            childWorkflowOnly: false,
            reason: '',
          },
        },
      ],
    });
    const error = await bench.client.refusal('RespondWorkflowTaskCompleted', request);
    expect([error.code, error.details]).toEqual([codes.NOT_FOUND, 'Namespace gone is not found.']);
    expect(bench.stub.historyCommands).toEqual([]);
  });

  test.each<[string, number, Partial<RespondWorkflowTaskCompletedRequest>]>([
    [
      'command SCHEDULE_NEXUS_OPERATION is not supported by this server yet',
      codes.UNIMPLEMENTED,
      { commands: [{ ...emptyCommand(), commandType: 17 }] },
    ],
    ['unknown command type: 99', codes.INVALID_ARGUMENT, { commands: [{ ...emptyCommand(), commandType: 99 }] }],
    ['nil message body', codes.INVALID_ARGUMENT, { messages: [{ ...emptyMessage(), id: 'm' }] }],
    [
      'message m has a body of the unknown type type.googleapis.com/google.protobuf.Any',
      codes.INVALID_ARGUMENT,
      {
        messages: [{ ...emptyMessage(), id: 'm', body: { typeUrl: 'type.googleapis.com/google.protobuf.Any', value: new Uint8Array(0) } }],
      },
    ],
    ['page_number is not supported by this server yet', codes.UNIMPLEMENTED, { intermediatePage: true }],
    [
      'versioning behavior cannot be specified without deployment options being set with versioned mode',
      codes.INVALID_ARGUMENT,
      { versioningBehavior: 1 },
    ],
    ['Error deserializing task token.', codes.INVALID_ARGUMENT, { taskToken: Buffer.from('not a token') }],
    ['Task token not set on request.', codes.INVALID_ARGUMENT, { taskToken: new Uint8Array(0) }],
    ['Operation requested with a token from a different namespace.', codes.INVALID_ARGUMENT, { namespace: 'other' }],
  ])('%s', async (message, code, changes) => {
    const error = await bench.client.refusal('RespondWorkflowTaskCompleted', await complete(changes));
    expect([error.details, error.code]).toEqual([message, code]);
    expect(bench.stub.historyCommands).toEqual([]);
  });

  test('inline workflow task and eager activities', async () => {
    bench.stub.answers.history = () => ({
      kind: 'workflowTaskCompleted',
      workflowTask: { ...startedWorkflowTask, historyFirstEventId: 4, historyLastEventId: 6, startedEventId: 6, previousStartedEventId: 3 },
      activityTasks: [startedActivityTask],
      resetHistoryEventId: 0,
    });
    const request = await complete({ returnNewWorkflowTask: true });
    const answer = decodeRespondWorkflowTaskCompletedResponse(await bench.client.call('RespondWorkflowTaskCompleted', request));
    expect(answer.workflowTask?.history?.events).toEqual(bench.stub.events.slice(3, 6).map((event) => new Uint8Array(event)));
    expect(answer.workflowTask?.startedEventId).toBe(6);
    expect(answer.activityTasks).toMatchObject([{ activityId: '5', workflowNamespace: 'default', attempt: 2 }]);
  });

  test.each([
    ['unhandled-command', 'UnhandledCommand', codes.INVALID_ARGUMENT, ''],
    ['bad-command', 'BadStartTimerAttributes: TimerId is not set on StartTimerCommand.', codes.INVALID_ARGUMENT, ''],
    ['task-not-found', 'Workflow task not found.', codes.NOT_FOUND, 'NotFoundFailure'],
  ] as const)('rejected as %s', async (reason, message, code, detail) => {
    bench.stub.answers.history = () => ({ kind: 'rejected', rejection: { reason, message } });
    const error = await bench.client.refusal('RespondWorkflowTaskCompleted', await complete({}));
    expect([error.code, error.details, firstDetail(error).type]).toEqual([code, message, detail]);
  });
});

test('a failed task reports its cause and failure', async () => {
  bench.stub.answers.history = () => ({ kind: 'done' });
  const failure = encodeFailure({ ...emptyFailure(), message: 'nondeterministic' });
  const taskToken = await polledToken();
  const request = { ...emptyRespondWorkflowTaskFailedRequest(), taskToken, namespace: 'default', identity: 'worker', cause: 24, failure };
  await bench.client.call('RespondWorkflowTaskFailed', encodeRespondWorkflowTaskFailedRequest(request));
  expect(bench.stub.historyCommands).toMatchObject([
    { kind: 'failWorkflowTask', cause: 24, failure: { facts: { kind: 'none', message: 'nondeterministic' } }, task: { startedEventId: 3 } },
  ]);
});

test('a failure over the limit is replaced', async () => {
  bench.stub.answers.history = () => ({ kind: 'done' });
  const failure = encodeFailure({ ...emptyFailure(), message: 'big', stackTrace: 'x'.repeat(2 * 1024 * 1024) });
  const request = { ...emptyRespondWorkflowTaskFailedRequest(), taskToken: await polledToken(), namespace: 'default', failure };
  await bench.client.call('RespondWorkflowTaskFailed', encodeRespondWorkflowTaskFailedRequest(request));
  expect(bench.stub.historyCommands).toMatchObject([
    { failure: { facts: { kind: 'server', nonRetryable: true, message: 'Failure exceeds size limit.' } } },
  ]);
});

test('a query answer over the limit becomes a failed query', async () => {
  const workflow = { key, workflowType: 'order', previousStartedEventId: 3, historyLastEventId: 3, taskQueueName: 'orders' };
  bench.stub.answers.matching = (request) =>
    request.kind === 'answerQuery'
      ? { kind: 'done' }
      : { kind: 'queryTask', queryId: 'q1', query: new Uint8Array(0), workflow, queuePartition: 0, sticky: false };
  const request = {
    ...emptyRespondQueryTaskCompletedRequest(),
    taskToken: await polledToken(),
    namespace: 'default',
    completedType: 1,
    queryResult: payloadsOf(2 * 1024 * 1024),
  };
  await bench.client.call('RespondQueryTaskCompleted', encodeRespondQueryTaskCompletedRequest(request));
  expect(bench.stub.matchingRequests.at(-1)).toMatchObject({
    result: { answered: false, errorMessage: 'Blob data size exceeds limit.' },
  });
});

test('ResetStickyTaskQueue', async () => {
  bench.stub.answers.history = () => ({ kind: 'done' });
  await bench.client.call(
    'ResetStickyTaskQueue',
    encodeResetStickyTaskQueueRequest({ namespace: 'default', execution: { workflowId: 'w', runId: '' } }),
  );
  expect(bench.stub.historyCommands).toEqual([{ kind: 'resetStickyTaskQueue', key: { ...key, runId: '' } }]);
});

test('ShutdownWorker tells every queue of the worker', async () => {
  bench.stub.answers.matching = () => ({ kind: 'done' });
  const request = {
    ...emptyShutdownWorkerRequest(),
    namespace: 'default',
    stickyTaskQueue: 'me:1',
    taskQueue: 'orders',
    workerInstanceKey: 'k',
  };
  await bench.client.call('ShutdownWorker', encodeShutdownWorkerRequest(request));
  expect(bench.stub.matchingRequests).toMatchObject([
    { kind: 'shutdownWorker', queue: { name: 'me:1', kind: 'sticky' }, workerInstanceKey: 'k' },
    { kind: 'shutdownWorker', queue: { name: 'orders', taskType: 'workflow', kind: 'normal' } },
    { kind: 'shutdownWorker', queue: { name: 'orders', taskType: 'activity', kind: 'normal' } },
  ]);
});

// What a matching host keeps of a worker that stops has these names in it.
test.each(['taskQueue', 'stickyTaskQueue', 'workerInstanceKey'] as const)(
  'ShutdownWorker with a %s that no worker can poll is refused',
  async (field) => {
    bench.stub.answers.matching = () => ({ kind: 'done' });
    const request = {
      ...emptyShutdownWorkerRequest(),
      namespace: 'default',
      taskQueue: 'orders',
      workerInstanceKey: 'k',
      [field]: 'x'.repeat(1_001),
    };
    const refused = bench.client.call('ShutdownWorker', encodeShutdownWorkerRequest(request));
    await expect(refused).rejects.toMatchObject({ code: codes.INVALID_ARGUMENT });
    expect(bench.stub.matchingRequests).toEqual([]);
  },
);
