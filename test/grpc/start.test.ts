import { status as codes } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { encodePayload, encodeSearchAttributes } from '../../src/wire/generated/lean/common.ts';
import { EventType } from '../../src/wire/generated/lean/enums.ts';
import { decodeLink } from '../../src/wire/generated/lean/link.ts';
import {
  decodeSignalWithStartWorkflowExecutionResponse,
  decodeStartWorkflowExecutionResponse,
  emptySignalWithStartWorkflowExecutionRequest,
  emptyStartWorkflowExecutionRequest,
  encodeSignalWithStartWorkflowExecutionRequest,
  encodeStartWorkflowExecutionRequest,
  type SignalWithStartWorkflowExecutionRequest,
  type StartWorkflowExecutionRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { firstDetail } from './details.ts';
import { openBench, runId, type Bench } from './frontend-bench.ts';
import { startedWorkflowTask } from './started-tasks.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.stub.historyCommands.length = 0;
  bench.stub.answers.history = () => ({ kind: 'started', runId, firstExecutionRunId: runId, started: true, status: 1 });
});

const taskQueue = { name: 'orders', kind: 1, normalName: '' };
const valid: StartWorkflowExecutionRequest = {
  ...emptyStartWorkflowExecutionRequest(),
  namespace: 'default',
  workflowId: 'w',
  workflowType: { name: 'order' },
  taskQueue,
};

function start(changes: Partial<StartWorkflowExecutionRequest>): Uint8Array {
  return encodeStartWorkflowExecutionRequest({ ...valid, ...changes });
}

function searchAttributes(fields: Record<string, unknown>): Uint8Array {
  const payload = (value: unknown): Uint8Array =>
    encodePayload({
      metadata: new Map([['encoding', Buffer.from('json/plain')]]),
      data: Buffer.from(JSON.stringify(value)),
      externalPayloads: [],
    });
  return encodeSearchAttributes({ indexedFields: new Map(Object.entries(fields).map(([name, value]) => [name, payload(value)])) });
}

function priorityOf(priority: {
  readonly priorityKey?: number;
  readonly fairnessKey?: string;
  readonly fairnessWeight?: number;
}): Uint8Array {
  return proto.temporal.api.common.v1.Priority.encode(priority).finish();
}

test('a start becomes a command and an answer', async () => {
  const input = Buffer.from([10, 0]);
  const answer = decodeStartWorkflowExecutionResponse(
    await bench.client.call(
      'StartWorkflowExecution',
      start({
        input,
        workflowRunTimeoutMs: 5_000,
        identity: 'me',
        searchAttributes: searchAttributes({ CustomKeyword: 'x' }),
      }),
    ),
  );
  expect(answer).toMatchObject({ runId, firstExecutionRunId: runId, started: true, status: 1, eagerWorkflowTask: undefined });
  expect(decodeLink(answer.link ?? new Uint8Array(0)).workflowEvent).toMatchObject({
    namespace: 'default',
    workflowId: 'w',
    runId,
    eventRef: { eventId: 1, eventType: 1 },
  });
  expect(bench.stub.historyCommands).toMatchObject([
    {
      kind: 'startWorkflow',
      key: { namespaceId: 'default-id', workflowId: 'w', runId: '' },
      namespace: 'default',
      newRunId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      start: { workflowType: 'order', taskQueue, input: new Uint8Array(input), runTimeoutMs: 5_000, identity: 'me' },
      policies: { reusePolicy: 1, conflictPolicy: 1 },
      parent: undefined,
      onConflict: undefined,
    },
  ]);
});

test('a first task that comes with the start is answered as to a poll; none is asked for unasked', async () => {
  bench.stub.events = [1, 2, 3].map((eventId) => Buffer.from([8, eventId]));
  bench.stub.answers.history = () => ({
    kind: 'started',
    runId,
    firstExecutionRunId: runId,
    started: true,
    status: 1,
    workflowTask: startedWorkflowTask,
  });
  const answer = await bench.client.call('StartWorkflowExecution', start({ requestEagerExecution: true }));
  const { eagerWorkflowTask: task } = decodeStartWorkflowExecutionResponse(answer);
  expect(task).toMatchObject({
    workflowExecution: { workflowId: startedWorkflowTask.key.workflowId, runId: startedWorkflowTask.key.runId },
    workflowType: { name: startedWorkflowTask.workflowType },
    startedEventId: 3,
    attempt: startedWorkflowTask.attempt,
  });
  expect(task?.taskToken.length).toBeGreaterThan(0);
  expect(task?.history?.events).toEqual(bench.stub.events.slice(0, 3).map((event) => new Uint8Array(event)));
  await bench.client.call('StartWorkflowExecution', start({}));
  expect(bench.stub.historyCommands.map((command) => command.kind === 'startWorkflow' && command.eager)).toEqual([true, undefined]);
});

const retryPolicy = { initialIntervalMs: 0, backoffCoefficient: 0, maximumIntervalMs: 0, maximumAttempts: 0, nonRetryableErrorTypes: [] };

test('a retry policy gets its defaults, and with one attempt nothing else of it matters; a cron schedule is passed on', async () => {
  await bench.client.call('StartWorkflowExecution', start({ retryPolicy, cronSchedule: 'CRON_TZ=Europe/London 0 9 * * MON-FRI' }));
  const once = { ...retryPolicy, maximumAttempts: 1, backoffCoefficient: 0.1, initialIntervalMs: -1, maximumIntervalMs: -1 };
  await bench.client.call('StartWorkflowExecution', start({ retryPolicy: once }));
  await bench.client.call('StartWorkflowExecution', start({}));
  const withDefaults = { ...retryPolicy, initialIntervalMs: 1_000, backoffCoefficient: 2, maximumIntervalMs: 100_000 };
  expect(bench.stub.historyCommands).toMatchObject([
    { start: { retryPolicy: withDefaults, cronSchedule: 'CRON_TZ=Europe/London 0 9 * * MON-FRI' } },
    { start: { retryPolicy: once, cronSchedule: '' } },
    { start: { retryPolicy: undefined, cronSchedule: '' } },
  ]);
});

const long = 'x'.repeat(1_001);

describe('a start that is malformed is refused before any actor is asked', () => {
  test.each<[string, Partial<StartWorkflowExecutionRequest>]>([
    ['Namespace is empty.', { namespace: '' }],
    ['Namespace length exceeds limit.', { namespace: long }],
    ['WorkflowId is not set on request.', { workflowId: '' }],
    ['WorkflowId exceeds maximum allowed length (1001/1000)', { workflowId: long }],
    ['WorkflowId exceeds maximum allowed length (1002/1000)', { workflowId: 'é'.repeat(501) }],
    ['WorkflowType is not set on request.', { workflowType: undefined }],
    ['WorkflowType is not set on request.', { workflowType: { name: '' } }],
    ['WorkflowType length exceeds limit.', { workflowType: { name: long } }],
    ['taskQueue is not set', { taskQueue: undefined }],
    ['missing task queue name', { taskQueue: { name: '', kind: 1, normalName: '' } }],
    ['taskQueue length exceeds limit', { taskQueue: { name: long, kind: 1, normalName: '' } }],
    ['task queue name cannot start with reserved prefix /_sys/', { taskQueue: { name: '/_sys/orders/1', kind: 1, normalName: '' } }],
    ['unknown task queue kind 9', { taskQueue: { name: 'q', kind: 9, normalName: '' } }],
    ['An invalid WorkflowExecutionTimeoutSeconds is set on request. cause: negative duration', { workflowExecutionTimeoutMs: -1 }],
    ['An invalid WorkflowRunTimeoutSeconds is set on request. cause: negative duration', { workflowRunTimeoutMs: -1 }],
    ['An invalid WorkflowTaskTimeoutSeconds is set on request. cause: negative duration', { workflowTaskTimeoutMs: -1 }],
    ['An invalid WorkflowStartDelaySeconds is set on request. cause: negative duration', { workflowStartDelayMs: -1 }],
    ['CronSchedule and WorkflowStartDelay may not be used together.', { cronSchedule: '* * * * *', workflowStartDelayMs: 1 }],
    ['invalid CronSchedule.', { cronSchedule: '* * * *' }],
    ['invalid CronSchedule.', { cronSchedule: 'CRON_TZ=Nowhere/City @daily' }],
    ['invalid CronSchedule, no time can be found to satisfy the schedule', { cronSchedule: '0 0 31 2 *' }],
    ['invalid InitialInterval set on retry policy: negative duration', { retryPolicy: { ...retryPolicy, initialIntervalMs: -1 } }],
    ['BackoffCoefficient cannot be less than 1 on retry policy.', { retryPolicy: { ...retryPolicy, backoffCoefficient: 0.5 } }],
    ['BackoffCoefficient cannot be less than 1 on retry policy.', { retryPolicy: { ...retryPolicy, backoffCoefficient: Number.NaN } }],
    ['invalid MaximumInterval set on retry policy: negative duration', { retryPolicy: { ...retryPolicy, maximumIntervalMs: -1 } }],
    ['MaximumInterval cannot be less than InitialInterval on retry policy.', { retryPolicy: { ...retryPolicy, maximumIntervalMs: 999 } }],
    ['MaximumAttempts cannot be negative on retry policy.', { retryPolicy: { ...retryPolicy, maximumAttempts: -1 } }],
    ['Invalid timeout type value: Never.', { retryPolicy: { ...retryPolicy, nonRetryableErrorTypes: ['TemporalTimeout:Never'] } }],
    ['RequestId length exceeds limit.', { requestId: long }],
    ["priority key can't be negative", { priority: priorityOf({ priorityKey: -1 }) }],
    ['fairness key length exceeds limit', { priority: priorityOf({ fairnessKey: 'x'.repeat(65) }) }],
    ['must be greater than zero', { priority: priorityOf({ fairnessWeight: -1 }) }],
    ['Blob data size exceeds limit.', { input: Buffer.alloc(2 * 1024 * 1024 + 1) }],
    ['Memo size exceeds limit.', { memo: Buffer.alloc(2 * 1024 * 1024 + 1) }],
    ['cannot attach more than 10 links per request, got 11', { links: Array.from({ length: 11 }, () => Buffer.from([1])) }],
    ['link exceeds allowed size of 4000, got 4001', { links: [Buffer.alloc(4_001)] }],
    ['unknown WorkflowIdReusePolicy 9', { workflowIdReusePolicy: 9 }],
    ['unknown WorkflowIdConflictPolicy 9', { workflowIdConflictPolicy: 9 }],
    [
      'Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING cannot be used together with a WorkflowIDConflictPolicy',
      { workflowIdReusePolicy: 4, workflowIdConflictPolicy: 2 },
    ],
    [
      'Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE cannot be used together with WorkflowIdConflictPolicy WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING',
      { workflowIdReusePolicy: 3, workflowIdConflictPolicy: 3 },
    ],
    [
      'attaching request ID is required for attaching completion callbacks',
      { onConflictOptions: { attachRequestId: false, attachCompletionCallbacks: true, attachLinks: false } },
    ],
    [
      'invalid value for search attribute CustomKeyword of type Keyword: [a b]',
      { searchAttributes: searchAttributes({ CustomKeyword: ['a', 'b'] }) },
    ],
    ['Namespace default has no mapping defined for search attribute Nope', { searchAttributes: searchAttributes({ Nope: 1 }) }],
    ["WorkflowId attribute can't be set in SearchAttributes", { searchAttributes: searchAttributes({ WorkflowId: 'x' }) }],
    ['invalid value for search attribute CustomInt of type Int: x', { searchAttributes: searchAttributes({ CustomInt: 'x' }) }],
    [
      'search attribute CustomKeyword value size 2050 exceeds size limit 2048',
      { searchAttributes: searchAttributes({ CustomKeyword: 'x'.repeat(2_048) }) },
    ],
  ])('%s', async (message, changes) => {
    const error = await bench.client.refusal('StartWorkflowExecution', start(changes));
    expect([error.details, error.code]).toEqual([message, codes.INVALID_ARGUMENT]);
    expect(bench.stub.historyCommands).toEqual([]);
  });
});

describe('a field that is not built is refused by its name', () => {
  test.each<[string, Partial<StartWorkflowExecutionRequest>]>([
    ['versioning_override', { versioningOverride: new Uint8Array(0) }],
    ['time_skipping_config', { timeSkippingConfig: new Uint8Array(0) }],
    ['continued_failure', { continuedFailure: new Uint8Array(0) }],
    ['last_completion_result', { lastCompletionResult: new Uint8Array(0) }],
    ['task queue kind WORKER_COMMANDS', { taskQueue: { name: 'q', kind: 3, normalName: '' } }],
  ])('%s', async (field, changes) => {
    const error = await bench.client.refusal('StartWorkflowExecution', start(changes));
    expect([error.details, error.code]).toEqual([`${field} is not supported by this server yet`, codes.UNIMPLEMENTED]);
    expect(bench.stub.historyCommands).toEqual([]);
  });
});

test.each([
  [0, 0, { reusePolicy: 1, conflictPolicy: 1 }],
  [1, 2, { reusePolicy: 1, conflictPolicy: 2 }],
  [2, 3, { reusePolicy: 2, conflictPolicy: 3 }],
  [3, 1, { reusePolicy: 3, conflictPolicy: 1 }],
  [4, 0, { reusePolicy: 1, conflictPolicy: 3 }],
])('reuse policy %i with conflict policy %i', async (workflowIdReusePolicy, workflowIdConflictPolicy, policies) => {
  await bench.client.call('StartWorkflowExecution', start({ workflowIdReusePolicy, workflowIdConflictPolicy }));
  expect(bench.stub.historyCommands).toMatchObject([{ policies }]);
});

test('conflict options and links go to the shard', async () => {
  const links = [Buffer.from([10, 0])];
  await bench.client.call(
    'StartWorkflowExecution',
    start({ links, requestId: 'r', onConflictOptions: { attachRequestId: true, attachCompletionCallbacks: false, attachLinks: true } }),
  );
  expect(bench.stub.historyCommands).toMatchObject([
    { requestId: 'r', onConflict: { attachRequestId: true, attachLinks: true, links: [new Uint8Array([10, 0])] } },
  ]);
});

test('who attaches its request to an open run gets a link to the event of that; the link of others leads to the first event', async () => {
  const linkOf = async (onConflictOptions?: Parameters<typeof start>[0]['onConflictOptions']) => {
    const answer = decodeStartWorkflowExecutionResponse(
      await bench.client.call('StartWorkflowExecution', start({ requestId: 'r', onConflictOptions })),
    );
    return decodeLink(answer.link ?? new Uint8Array(0)).workflowEvent;
  };
  const attaches = { attachRequestId: true, attachCompletionCallbacks: false, attachLinks: false };
  expect((await linkOf(attaches))?.eventRef).toEqual({ eventId: 1, eventType: 1 });
  bench.stub.answers.history = () => ({ kind: 'started', runId, firstExecutionRunId: runId, started: false, status: 1 });
  expect((await linkOf(attaches))?.requestIdRef).toEqual({ requestId: 'r', eventType: EventType.WORKFLOW_EXECUTION_OPTIONS_UPDATED });
  expect((await linkOf({ ...attaches, attachRequestId: false }))?.eventRef).toEqual({ eventId: 1, eventType: 1 });
});

test('a callback of no kind that is known is refused as not built', async () => {
  const refused = bench.client.refusal('StartWorkflowExecution', start({ completionCallbacks: [Buffer.from([])] }));
  expect(await refused).toMatchObject({ code: codes.UNIMPLEMENTED, details: 'unknown callback variant: <nil>' });
});

test('a namespace that is not known passes the read barrier before it is not found', async () => {
  const { stub, client } = bench;
  stub.clusterCommands.length = 0;
  const error = await client.refusal('StartWorkflowExecution', start({ namespace: 'late' }));
  expect([error.code, error.details]).toEqual([codes.NOT_FOUND, 'Namespace late is not found.']);
  expect(firstDetail(error)).toEqual({ type: 'NamespaceNotFoundFailure', fields: { namespace: 'late' } });
  expect(stub.clusterCommands).toEqual([{ kind: 'syncCluster' }]);
  // Another process has just made it: the barrier brings it here.
  const late = { ...stub.namespaces[0], name: 'late', id: 'late-id' } as (typeof stub.namespaces)[number];
  stub.answers.cluster = () => {
    stub.namespaces.push(late);
    return { kind: 'done' };
  };
  await client.call('StartWorkflowExecution', start({ namespace: 'late' }));
  expect(stub.historyCommands).toMatchObject([{ key: { namespaceId: 'late-id' } }]);
  stub.namespaces.pop();
  stub.answers.cluster = () => ({ kind: 'done' });
});

describe('signal with start', () => {
  const validSignal: SignalWithStartWorkflowExecutionRequest = {
    ...emptySignalWithStartWorkflowExecutionRequest(),
    namespace: 'default',
    workflowId: 'w',
    workflowType: { name: 'order' },
    taskQueue,
    signalName: 'ping',
  };

  test('uses what is there unless told otherwise', async () => {
    const request = encodeSignalWithStartWorkflowExecutionRequest({ ...validSignal, signalInput: Buffer.from([10, 0]), requestId: 'r' });
    const answer = decodeSignalWithStartWorkflowExecutionResponse(await bench.client.call('SignalWithStartWorkflowExecution', request));
    expect(answer).toMatchObject({ runId, started: true, firstExecutionRunId: runId });
    expect(decodeLink(answer.signalLink ?? new Uint8Array(0)).workflowEvent?.requestIdRef).toEqual({ requestId: 'r', eventType: 26 });
    expect(bench.stub.historyCommands).toMatchObject([
      {
        kind: 'signalWithStartWorkflow',
        requestId: 'r',
        policies: { reusePolicy: 1, conflictPolicy: 2 },
        signal: { signalName: 'ping', input: new Uint8Array([10, 0]), requestId: 'r' },
      },
    ]);
  });

  test.each<[string, Partial<SignalWithStartWorkflowExecutionRequest>]>([
    ['signal not set', { signalName: '' }],
    ['signal name exceeds maximum allowed length (1001/1000)', { signalName: long }],
    ['Request ID exceeds maximum allowed length (1001/1000)', { requestId: long }],
    ['workflow type name exceeds maximum allowed length (1001/1000)', { workflowType: { name: long } }],
    ['workflow type not set', { workflowType: undefined }],
    ['Blob data size exceeds limit.', { signalInput: Buffer.alloc(2 * 1024 * 1024 + 1) }],
    [
      'Invalid WorkflowIDConflictPolicy: WORKFLOW_ID_CONFLICT_POLICY_FAIL is not supported for this operation.',
      { workflowIdConflictPolicy: 1 },
    ],
  ])('%s', async (message, changes) => {
    const request = encodeSignalWithStartWorkflowExecutionRequest({ ...validSignal, ...changes });
    const error = await bench.client.refusal('SignalWithStartWorkflowExecution', request);
    expect([error.details, error.code]).toEqual([message, codes.INVALID_ARGUMENT]);
    expect(bench.stub.historyCommands).toEqual([]);
  });
});
