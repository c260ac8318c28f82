import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AskFailure } from '../../src/actors/asks/asks.ts';
import { historyRejection } from '../../src/grpc/errors/rejections.ts';
import { StatusError } from '../../src/grpc/errors/status-error.ts';
import { statusTrailers } from '../../src/grpc/transport/status-trailers.ts';
import type { Rejection } from '../../src/history/run/history-replies.ts';
import { decodeQueryFailedFailure, decodeStatus } from '../../src/wire/generated/lean/error_details.ts';
import { decodeFailure, emptyFailure, encodeFailure, type Failure } from '../../src/wire/generated/lean/failure.ts';
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

/** What gRPC's C core takes without a doubt; from there on it refuses some, and above 16 KiB all. */
const blockBytesMax = 8 * 1024;

function blockOf(trailers: Readonly<Record<string, string>>): number {
  const block = { ...trailers, ':status': '200', 'content-type': 'application/grpc' };
  return Object.entries(block).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0);
}

const failureOf = (fields: Partial<Failure>): Uint8Array => encodeFailure({ ...emptyFailure(), ...fields });
const info = (type: string, details?: Uint8Array): Failure['applicationFailureInfo'] => ({
  type,
  nonRetryable: true,
  details,
  nextRetryDelayMs: undefined,
  category: 0,
});
const large = { stack: 'at f (x.js:1)\n'.repeat(600), payload: new Uint8Array(9_000) };

/** As Python and Core send it. */
test('a query that fails with a stack trace of 8,000 bytes says what and where, in less than clients accept', async () => {
  const failure = failureOf({ message: 'boom', stackTrace: large.stack, applicationFailureInfo: info('Broken') });
  bench.stub.answers.history = () => ({ kind: 'rejected', rejection: { reason: 'query-failed', message: 'boom', failure } });
  const error = await bench.client.refusal('DescribeWorkflowExecution', describeRequest);
  const { fields } = firstDetail(error);
  expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'boom']);
  expect(fields).toMatchObject({ failure: { message: 'boom', applicationFailureInfo: { type: 'Broken', nonRetryable: true } } });
  const { stackTrace } = (fields as { readonly failure: { readonly stackTrace: string } }).failure;
  expect([stackTrace.length > 2_000, large.stack.startsWith(stackTrace.slice(0, -3)), stackTrace.endsWith('...')]).toEqual([
    true,
    true,
    true,
  ]);
});

test.each<[what: string, Partial<Failure>]>([
  ['its cause has a long stack trace', { cause: failureOf({ message: 'below', stackTrace: large.stack }) }],
  ['both have one', { stackTrace: large.stack, cause: failureOf({ message: 'below', stackTrace: large.stack }) }],
  ['its cause has large details', { cause: failureOf({ message: 'below', applicationFailureInfo: info('Below', large.payload) }) }],
  ['it has large details', { applicationFailureInfo: info('Broken', large.payload), stackTrace: large.stack }],
  ['it is encoded', { encodedAttributes: large.payload, stackTrace: large.stack }],
  ['its type is long', { applicationFailureInfo: info('é'.repeat(5_000)) }],
])('a failure of a query whose room is not enough because %s keeps its message', (_, fields) => {
  const failure = failureOf({ message: 'boom', ...fields });
  const trailers = statusTrailers(historyRejection({ reason: 'query-failed', message: 'boom', failure }));
  expect(blockOf(trailers)).toBeLessThan(blockBytesMax);
  const [detail] = decodeStatus(Buffer.from(trailers['grpc-status-details-bin'] ?? '', 'base64')).details;
  const shown = decodeFailure(decodeQueryFailedFailure(detail?.value ?? new Uint8Array(0)).failure ?? new Uint8Array(0));
  expect(shown.message).toBe('boom');
  if (fields.cause !== undefined) expect(decodeFailure(shown.cause ?? new Uint8Array(0)).message).toBe('below');
  if (fields.stackTrace !== undefined) expect(shown.stackTrace.length).toBeGreaterThan(500);
});

test('what is no failure leaves the code and the message', () => {
  const trailers = statusTrailers(historyRejection({ reason: 'query-failed', message: 'boom', failure: new Uint8Array(9_000).fill(7) }));
  expect(trailers).toMatchObject({ 'grpc-status': '3', 'grpc-message': 'boom' });
});

test.each([
  ['of one byte', 'a', 4_000],
  ['of two bytes', 'é', 2_000],
  ['of three bytes', '漢', 1_300],
  ['of four bytes', '😀', 1_000],
  ['that are encoded', '%', 4_000],
])('clients can read the beginning of a text of characters %s, with details and without', (_what, character, count) => {
  const message = character.repeat(count);
  const failure = failureOf({ message, stackTrace: large.stack });
  for (const rejection of [
    { reason: 'query-failed', message, failure },
    { reason: 'busy-workflow', message },
    { reason: 'invalid-argument', message },
  ] as const) {
    const trailers = statusTrailers(historyRejection(rejection));
    expect(blockOf(trailers)).toBeLessThan(blockBytesMax);
    expect(trailers['grpc-status']).toBe(String(rejection.reason === 'busy-workflow' ? codes.RESOURCE_EXHAUSTED : codes.INVALID_ARGUMENT));
    const text = decodeURIComponent(trailers['grpc-message'] ?? '');
    expect([text.startsWith(character.repeat(70)), message.startsWith(text.replace(/\.\.\.$/, ''))]).toEqual([true, true]);
  }
});

test.each(['', 'boom'])('details that have no room beside the message "%s" are left out, and clients can read the code', (message) => {
  const details = [{ type: 'a.b.C', value: new Uint8Array(6_000) }];
  const trailers = statusTrailers(new StatusError(codes.INVALID_ARGUMENT, message, { details }));
  expect(blockOf(trailers)).toBeLessThan(blockBytesMax);
  expect([trailers['grpc-status'], trailers['grpc-message'] ?? '']).toEqual(['3', message]);
});
