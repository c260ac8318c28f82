import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { decodeFailure, emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';
import {
  decodePollActivityTaskQueueResponse,
  decodeRecordActivityTaskHeartbeatResponse,
  decodeRespondActivityTaskFailedResponse,
  emptyPollActivityTaskQueueRequest,
  encodePollActivityTaskQueueRequest,
  encodeRecordActivityTaskHeartbeatByIdRequest,
  encodeRecordActivityTaskHeartbeatRequest,
  encodeRespondActivityTaskCanceledByIdRequest,
  encodeRespondActivityTaskCanceledRequest,
  encodeRespondActivityTaskCompletedByIdRequest,
  encodeRespondActivityTaskCompletedRequest,
  encodeRespondActivityTaskFailedByIdRequest,
  emptyRespondActivityTaskFailedByIdRequest,
  encodeRespondActivityTaskFailedRequest,
  emptyRespondQueryTaskCompletedRequest,
  encodeRespondQueryTaskCompletedRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { encodeTemporalTaskToken } from '../../src/wire/generated/token/token.ts';
import { firstDetail } from './details.ts';
import { openBench, runId, type Bench } from './frontend-bench.ts';
import { key, payloadsOf, startedActivityTask, startedWorkflowTask, taskReply } from './started-tasks.ts';

let bench: Bench;
let taskToken: Uint8Array;
beforeAll(async () => {
  bench = await openBench();
  bench.stub.answers.matching = () => taskReply(startedActivityTask);
  taskToken = decodePollActivityTaskQueueResponse(
    await bench.client.call('PollActivityTaskQueue', poll(), { timeoutMs: 70_000 }),
  ).taskToken;
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.stub.historyCommands.length = 0;
  bench.stub.matchingRequests.length = 0;
  bench.stub.answers.matching = () => taskReply(startedActivityTask);
  bench.stub.answers.history = () => ({ kind: 'done' });
});

function poll(rate?: number): Uint8Array {
  const taskQueueMetadata = rate === undefined ? undefined : { maxTasksPerSecond: { value: rate } };
  return encodePollActivityTaskQueueRequest({
    ...emptyPollActivityTaskQueueRequest(),
    namespace: 'default',
    taskQueue: { name: 'orders', kind: 1, normalName: '' },
    identity: 'worker',
    taskQueueMetadata,
    workerInstanceKey: 'k',
  });
}

const byToken = { key, scheduledEventId: 5, activityId: '5', attempt: 2 };
const byId = { key: { ...key, runId: '' }, scheduledEventId: 0, activityId: '5', attempt: 0 };
/** What the forms have in common. */
const token = (): { taskToken: Uint8Array; identity: string; namespace: string; resourceId: string } => ({
  taskToken,
  identity: 'worker',
  namespace: 'default',
  resourceId: '',
});
const versions = { workerVersion: undefined, deployment: undefined, deploymentOptions: undefined };
const id = { namespace: 'default', workflowId: 'w', runId: '', activityId: '5', identity: 'worker', resourceId: '' };

test('a poll says everything of the task', async () => {
  const answer = decodePollActivityTaskQueueResponse(await bench.client.call('PollActivityTaskQueue', poll(2.5), { timeoutMs: 70_000 }));
  expect(answer).toMatchObject({
    workflowNamespace: 'default',
    workflowType: { name: 'order' },
    workflowExecution: { workflowId: 'w', runId },
    activityType: { name: 'charge' },
    activityId: '5',
    input: new Uint8Array([10, 0]),
    heartbeatDetails: undefined,
    scheduledTimeMs: 1_700_000_000_000,
    currentAttemptScheduledTimeMs: 1_700_000_001_000,
    startedTimeMs: 1_700_000_002_000,
    attempt: 2,
    scheduleToCloseTimeoutMs: 60_000,
    startToCloseTimeoutMs: 10_000,
    heartbeatTimeoutMs: 1_500,
    retryPolicy: startedActivityTask.retryPolicy,
  });
  expect(bench.stub.matchingRequests).toMatchObject([
    { kind: 'pollActivityTask', queue: { taskType: 'activity', kind: 'normal' }, maxTasksPerSecond: 2.5, workerInstanceKey: 'k' },
  ]);
});

test('no task is an empty message', async () => {
  bench.stub.answers.matching = () => ({ kind: 'emptyPoll' });
  expect(await bench.client.call('PollActivityTaskQueue', poll(), { timeoutMs: 70_000 })).toHaveLength(0);
});

test('a workflow task that lands in an activity poll is a bug of ours, not an answer', async () => {
  bench.stub.answers.matching = () => taskReply(startedWorkflowTask);
  const error = await bench.client.refusal('PollActivityTaskQueue', poll(), { timeoutMs: 70_000 });
  expect([error.code, error.details]).toEqual([codes.INTERNAL, 'internal server error']);
});

describe('answers by token and by id', () => {
  const result = payloadsOf(3);
  test('completed', async () => {
    await bench.client.call('RespondActivityTaskCompleted', encodeRespondActivityTaskCompletedRequest({ ...token(), ...versions, result }));
    await bench.client.call('RespondActivityTaskCompletedById', encodeRespondActivityTaskCompletedByIdRequest({ ...id, result }));
    expect(bench.stub.historyCommands).toEqual([
      { kind: 'completeActivityTask', activity: byToken, result, identity: 'worker' },
      { kind: 'completeActivityTask', activity: byId, result, identity: 'worker' },
    ]);
  });

  test('failed', async () => {
    const failure = encodeFailure({
      ...emptyFailure(),
      message: 'declined',
      applicationFailureInfo: { type: 'Declined', nonRetryable: false, details: undefined, nextRetryDelayMs: 250, category: 0 },
    });
    await bench.client.call(
      'RespondActivityTaskFailed',
      encodeRespondActivityTaskFailedRequest({ ...token(), ...versions, failure, lastHeartbeatDetails: result }),
    );
    await bench.client.call(
      'RespondActivityTaskFailedById',
      encodeRespondActivityTaskFailedByIdRequest({ ...id, failure: undefined, lastHeartbeatDetails: undefined }),
    );
    expect(bench.stub.historyCommands).toMatchObject([
      {
        kind: 'failActivityTask',
        activity: byToken,
        failure: { facts: { kind: 'application', type: 'Declined', nonRetryable: false, nextRetryDelayMs: 250 }, bytes: failure },
        lastHeartbeatDetails: result,
      },
      { kind: 'failActivityTask', activity: byId, failure: undefined, lastHeartbeatDetails: undefined },
    ]);
  });

  test('canceled', async () => {
    await bench.client.call(
      'RespondActivityTaskCanceled',
      encodeRespondActivityTaskCanceledRequest({ ...token(), ...versions, details: result }),
    );
    await bench.client.call(
      'RespondActivityTaskCanceledById',
      encodeRespondActivityTaskCanceledByIdRequest({ ...id, deploymentOptions: undefined, details: undefined }),
    );
    expect(bench.stub.historyCommands).toEqual([
      { kind: 'cancelActivityTask', activity: byToken, details: result, identity: 'worker' },
      { kind: 'cancelActivityTask', activity: byId, details: undefined, identity: 'worker' },
    ]);
  });

  test('heartbeat', async () => {
    bench.stub.answers.history = () => ({ kind: 'heartbeat', cancelRequested: true, activityPaused: true, activityReset: true });
    for (const [method, request] of [
      ['RecordActivityTaskHeartbeat', encodeRecordActivityTaskHeartbeatRequest({ ...token(), details: result })],
      ['RecordActivityTaskHeartbeatById', encodeRecordActivityTaskHeartbeatByIdRequest({ ...id, details: result })],
    ] as const) {
      expect(decodeRecordActivityTaskHeartbeatResponse(await bench.client.call(method, request)).cancelRequested).toBe(true);
    }
    expect(bench.stub.historyCommands).toEqual([
      { kind: 'recordActivityHeartbeat', activity: byToken, details: result, identity: 'worker' },
      { kind: 'recordActivityHeartbeat', activity: byId, details: result, identity: 'worker' },
    ]);
  });
});

describe('what is too large fails the activity for good, and the call succeeds', () => {
  const large = payloadsOf(2 * 1024 * 1024);
  const failed = (message: string): object => ({
    kind: 'failActivityTask',
    activity: byToken,
    failure: { facts: { kind: 'server', nonRetryable: true, message } },
    lastHeartbeatDetails: undefined,
  });

  test('result', async () => {
    await bench.client.call(
      'RespondActivityTaskCompleted',
      encodeRespondActivityTaskCompletedRequest({ ...token(), ...versions, result: large }),
    );
    expect(bench.stub.historyCommands).toMatchObject([failed('Complete result exceeds size limit.')]);
  });

  test('details of a cancel', async () => {
    await bench.client.call(
      'RespondActivityTaskCanceled',
      encodeRespondActivityTaskCanceledRequest({ ...token(), ...versions, details: large }),
    );
    expect(bench.stub.historyCommands).toMatchObject([failed('Cancel details exceed size limit.')]);
  });

  test('heartbeat details: the worker is told to stop', async () => {
    const answer = await bench.client.call(
      'RecordActivityTaskHeartbeat',
      encodeRecordActivityTaskHeartbeatRequest({ ...token(), details: large }),
    );
    expect(decodeRecordActivityTaskHeartbeatResponse(answer).cancelRequested).toBe(true);
    expect(bench.stub.historyCommands).toMatchObject([failed('Heartbeat details exceed size limit.')]);
  });

  test('last heartbeat details of a failure are dropped, and reported', async () => {
    const failure = encodeFailure({
      ...emptyFailure(),
      message: 'x',
      applicationFailureInfo: { type: '', nonRetryable: false, details: undefined, nextRetryDelayMs: undefined, category: 0 },
    });
    const request = encodeRespondActivityTaskFailedRequest({ ...token(), ...versions, failure, lastHeartbeatDetails: large });
    const answer = decodeRespondActivityTaskFailedResponse(await bench.client.call('RespondActivityTaskFailed', request));
    expect(answer.failures.map((bytes) => decodeFailure(bytes).message)).toEqual(['Heartbeat details exceed size limit.']);
    expect(bench.stub.historyCommands).toMatchObject([
      { kind: 'failActivityTask', failure: { bytes: failure }, lastHeartbeatDetails: undefined },
    ]);
  });

  test('a failure is replaced, and keeps its message', async () => {
    const failure = encodeFailure({
      ...emptyFailure(),
      message: 'declined',
      applicationFailureInfo: { type: '', nonRetryable: false, details: large, nextRetryDelayMs: undefined, category: 0 },
    });
    const request = encodeRespondActivityTaskFailedRequest({ ...token(), ...versions, failure, lastHeartbeatDetails: undefined });
    const answer = decodeRespondActivityTaskFailedResponse(await bench.client.call('RespondActivityTaskFailed', request));
    expect(answer.failures).toHaveLength(1);
    const [command] = bench.stub.historyCommands;
    const bytes = command?.kind === 'failActivityTask' ? command.failure?.bytes : undefined;
    const replaced = decodeFailure(bytes ?? new Uint8Array(0));
    expect(replaced).toMatchObject({ message: 'Failure exceeds size limit.', serverFailureInfo: { nonRetryable: true } });
    expect(decodeFailure(replaced.cause ?? new Uint8Array(0)).message).toBe('declined');
  });
});

test('a failure that is no application failure is refused', async () => {
  const failure = encodeFailure({ ...emptyFailure(), message: 'x' });
  const request = encodeRespondActivityTaskFailedRequest({ ...token(), ...versions, failure, lastHeartbeatDetails: undefined });
  const error = await bench.client.refusal('RespondActivityTaskFailed', request);
  expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'Failure must have ApplicationFailureInfo.']);
});

test('by id, any failure will do', async () => {
  const failure = encodeFailure({ ...emptyFailure(), message: 'x' });
  const request = { ...emptyRespondActivityTaskFailedByIdRequest(), namespace: 'default', workflowId: 'w', activityId: '5', failure };
  bench.stub.historyCommands.length = 0;
  bench.stub.answers.history = () => ({ kind: 'done' });
  await bench.client.call('RespondActivityTaskFailedById', encodeRespondActivityTaskFailedByIdRequest(request));
  expect(bench.stub.historyCommands).toMatchObject([{ kind: 'failActivityTask', activity: { activityId: '5', scheduledEventId: 0 } }]);
  const bad = encodeRespondActivityTaskFailedByIdRequest({ ...request, runId: 'x' });
  expect((await bench.client.refusal('RespondActivityTaskFailedById', bad)).details).toBe('RunId is not valid UUID.');
});

test('a workflow task’s token is no activity’s', async () => {
  bench.stub.answers.matching = () => taskReply(startedWorkflowTask);
  const { decodePollWorkflowTaskQueueResponse, emptyPollWorkflowTaskQueueRequest, encodePollWorkflowTaskQueueRequest } =
    await import('../../src/wire/generated/lean/workflow_service.ts');
  const request = { ...emptyPollWorkflowTaskQueueRequest(), namespace: 'default', taskQueue: { name: 'orders', kind: 1, normalName: '' } };
  bench.stub.events = [1, 2, 3].map((n) => Buffer.from([8, n]));
  const polled = await bench.client.call('PollWorkflowTaskQueue', encodePollWorkflowTaskQueueRequest(request), { timeoutMs: 70_000 });
  const wrong = decodePollWorkflowTaskQueueResponse(polled).taskToken;
  const error = await bench.client.refusal(
    'RespondActivityTaskCompleted',
    encodeRespondActivityTaskCompletedRequest({ ...token(), ...versions, taskToken: wrong, result: undefined }),
  );
  expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'Error deserializing task token.']);
});

describe('a token of the Temporal server that a worker spoke to before', () => {
  const names = {
    namespaceId: '4eb0f184-e031-44fa-8b0c-f027d055bedc',
    workflowId: 'moved',
    runId: '33fe12c8-be49-41a2-8abd-1765496ede9e',
  };
  // scheduled_event_id 5, attempt 1, activity_id "1", activity_type "pay", started_event_id 6.
  const rest = Buffer.from('2005280132013142037061795006', 'hex');
  const answer = async (taskToken: Uint8Array) => {
    const request = encodeRespondActivityTaskCompletedRequest({ ...token(), ...versions, taskToken, result: undefined });
    const { code, details } = await bench.client.refusal('RespondActivityTaskCompleted', request);
    return [code, details];
  };

  test('its task is not here, which its holder can tell from a mistake', async () => {
    const taskToken = Buffer.concat([encodeTemporalTaskToken(names), rest]);
    const notHere = `workflow execution not found for workflow ID "moved" and run ID "${names.runId}"`;
    expect(await answer(taskToken)).toEqual([codes.NOT_FOUND, notHere]);
    expect(bench.stub.historyCommands).toEqual([]);
  });

  test.each([
    ['without a workflow', { ...names, workflowId: '' }],
    ['with a namespace that is no id', { ...names, namespaceId: 'default' }],
    ['with a run that is no id', { ...names, runId: '5' }],
  ])('%s it is no token', async (_, wrong) => {
    expect(await answer(encodeTemporalTaskToken(wrong))).toEqual([codes.INVALID_ARGUMENT, 'Error deserializing task token.']);
  });

  test('a query has none of this form', async () => {
    const query = {
      ...emptyRespondQueryTaskCompletedRequest(),
      namespace: 'default',
      taskToken: encodeTemporalTaskToken(names),
      completedType: 1,
    };
    const { code } = await bench.client.refusal('RespondQueryTaskCompleted', encodeRespondQueryTaskCompletedRequest(query));
    expect(code).toBe(codes.INVALID_ARGUMENT);
  });
});

test('the activity is gone', async () => {
  const message = 'invalid activityID or activity already timed out or invoking workflow is completed';
  bench.stub.answers.history = () => ({ kind: 'rejected', rejection: { reason: 'activity-not-found', message } });
  const error = await bench.client.refusal(
    'RespondActivityTaskCompleted',
    encodeRespondActivityTaskCompletedRequest({ ...token(), ...versions, result: undefined }),
  );
  expect([error.code, error.details, firstDetail(error).type]).toEqual([codes.NOT_FOUND, message, 'NotFoundFailure']);
});
