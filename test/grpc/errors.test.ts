import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AskFailure } from '../../src/actors/asks/asks.ts';
import { historyRejection } from '../../src/grpc/errors/rejections.ts';
import { statusTrailers } from '../../src/grpc/transport/status-trailers.ts';
import type { Rejection } from '../../src/history/replies.ts';
import { emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';
import { encodeDescribeWorkflowExecutionRequest } from '../../src/wire/generated/lean/workflow_service.ts';
import { firstDetail, type FirstDetail } from './details.ts';
import { openBench, runId, type Bench } from './frontend-bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const describeRequest = encodeDescribeWorkflowExecutionRequest({ namespace: 'default', execution: { workflowId: 'w', runId: '' } });
const none: FirstDetail = { type: '', fields: {} };
const notFound: FirstDetail = { type: 'NotFoundFailure', fields: {} };

/** Total: a new reason does not compile until it has a row. */
const rows: {
  readonly [Reason in Rejection['reason']]: readonly [
    rejection: Rejection & { readonly reason: Reason },
    code: number,
    detail: FirstDetail,
  ];
} = {
  'workflow-not-found': [{ reason: 'workflow-not-found', message: 'm' }, codes.NOT_FOUND, notFound],
  'workflow-closed': [{ reason: 'workflow-closed', message: 'workflow execution already completed' }, codes.NOT_FOUND, notFound],
  'task-not-found': [{ reason: 'task-not-found', message: 'm' }, codes.NOT_FOUND, notFound],
  'activity-not-found': [{ reason: 'activity-not-found', message: 'm' }, codes.NOT_FOUND, notFound],
  'schedule-not-found': [{ reason: 'schedule-not-found', message: 'schedule not found' }, codes.NOT_FOUND, notFound],
  'already-started': [
    { reason: 'already-started', message: 'm', startRequestId: 'r', runId, firstExecutionRunId: runId },
    codes.ALREADY_EXISTS,
    { type: 'WorkflowExecutionAlreadyStartedFailure', fields: { startRequestId: 'r', runId, firstExecutionRunId: runId } },
  ],
  'invalid-argument': [{ reason: 'invalid-argument', message: 'm' }, codes.INVALID_ARGUMENT, none],
  'unhandled-command': [{ reason: 'unhandled-command', message: 'UnhandledCommand' }, codes.INVALID_ARGUMENT, none],
  'bad-command': [{ reason: 'bad-command', message: 'm' }, codes.INVALID_ARGUMENT, none],
  'failed-precondition': [{ reason: 'failed-precondition', message: 'm' }, codes.FAILED_PRECONDITION, none],
  'workflow-not-ready': [
    { reason: 'workflow-not-ready', message: 'm' },
    codes.FAILED_PRECONDITION,
    { type: 'WorkflowNotReadyFailure', fields: {} },
  ],
  'no-room': [
    { reason: 'no-room', message: 'm' },
    codes.RESOURCE_EXHAUSTED,
    {
      type: 'ResourceExhaustedFailure',
      fields: { cause: 'RESOURCE_EXHAUSTED_CAUSE_SYSTEM_OVERLOADED', scope: 'RESOURCE_EXHAUSTED_SCOPE_SYSTEM' },
    },
  ],
  'too-many-updates': [
    { reason: 'too-many-updates', message: 'm' },
    codes.RESOURCE_EXHAUSTED,
    {
      type: 'ResourceExhaustedFailure',
      fields: { cause: 'RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT', scope: 'RESOURCE_EXHAUSTED_SCOPE_NAMESPACE' },
    },
  ],
  'update-not-found': [{ reason: 'update-not-found', message: 'm' }, codes.NOT_FOUND, notFound],
  'busy-workflow': [
    { reason: 'busy-workflow', message: 'm' },
    codes.RESOURCE_EXHAUSTED,
    {
      type: 'ResourceExhaustedFailure',
      fields: { cause: 'RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW', scope: 'RESOURCE_EXHAUSTED_SCOPE_NAMESPACE' },
    },
  ],
  'query-timed-out': [{ reason: 'query-timed-out', message: 'context deadline exceeded' }, codes.DEADLINE_EXCEEDED, none],
  'query-failed': [
    { reason: 'query-failed', message: 'm', failure: encodeFailure({ ...emptyFailure(), message: 'unknown query' }) },
    codes.INVALID_ARGUMENT,
    { type: 'QueryFailedFailure', fields: { failure: { message: 'unknown query' } } },
  ],
};

test.each(Object.values(rows).map((row) => [row[0].reason, ...row] as const))(
  'a shard that rejects with %s',
  async (_, rejection, code, detail) => {
    bench.stub.answers.history = () => ({ kind: 'rejected', rejection });
    const error = await bench.client.refusal('DescribeWorkflowExecution', describeRequest);
    expect([error.code, error.details, firstDetail(error)]).toEqual([code, rejection.message, detail]);
  },
);

test('a busy workflow also says so in trailers', async () => {
  bench.stub.answers.history = () => ({ kind: 'rejected', rejection: { reason: 'busy-workflow', message: 'm' } });
  const { metadata } = await bench.client.refusal('DescribeWorkflowExecution', describeRequest);
  expect([metadata.get('x-resource-exhausted-cause'), metadata.get('x-resource-exhausted-scope')]).toEqual([
    ['BusyWorkflow'],
    ['Namespace'],
  ]);
});

test.each<[AskFailure, number, string]>([
  [{ kind: 'unavailable', message: 'the log does not answer' }, codes.UNAVAILABLE, 'the log does not answer'],
  [{ kind: 'notHere', message: 'history shard 1 is not here', hint: '', epoch: 0 }, codes.UNAVAILABLE, 'history shard 1 is not here'],
  [{ kind: 'deadline', message: 'x' }, codes.DEADLINE_EXCEEDED, 'context deadline exceeded'],
  [{ kind: 'busy', message: 'mailbox is full' }, codes.RESOURCE_EXHAUSTED, 'mailbox is full'],
  [{ kind: 'tooLarge', message: 'record is too large' }, codes.INVALID_ARGUMENT, 'record is too large'],
])('no reply: %j', async (failure, code, message) => {
  bench.stub.answers.history = () => failure;
  const error = await bench.client.refusal('DescribeWorkflowExecution', describeRequest);
  expect([error.code, error.details]).toEqual([code, message]);
});

test('a failure of a query that no header can carry is left out, its message stays', async () => {
  const failure = encodeFailure({ ...emptyFailure(), stackTrace: 'x'.repeat(20_000) });
  bench.stub.answers.history = () => ({ kind: 'rejected', rejection: { reason: 'query-failed', message: 'boom', failure } });
  const error = await bench.client.refusal('DescribeWorkflowExecution', describeRequest);
  expect([error.details, firstDetail(error)]).toEqual(['boom', { type: 'QueryFailedFailure', fields: {} }]);
});

test('trailers never grow beyond what clients accept', () => {
  const failure = encodeFailure({ ...emptyFailure(), stackTrace: 'x'.repeat(8_100) });
  const trailers = statusTrailers(historyRejection({ reason: 'query-failed', message: 'é'.repeat(2_000), failure }));
  const bytes = Object.entries(trailers).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
  expect(bytes).toBeLessThan(16 * 1024);
});

test.each([1_000, 1_300, 4_000])('clients of 16 KiB can read what %i characters of three bytes say', (count) => {
  const message = '漢'.repeat(count);
  const failure = encodeFailure({ ...emptyFailure(), message });
  const trailers = statusTrailers(historyRejection({ reason: 'query-failed', message, failure }));
  const block = Object.entries(trailers).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
  expect(block).toBeLessThan(16 * 1024);
  const text = decodeURIComponent(trailers['grpc-message'] ?? '');
  expect([text.startsWith('漢'.repeat(100)), message.startsWith(text.slice(0, -3))]).toEqual([true, true]);
});
