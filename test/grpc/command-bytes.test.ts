/** What a caller may make long, counts: while a log hangs, commands wait, and only their counted bytes are bounded. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { commandScale } from '../../src/history/command-table.ts';
import { commandScale as matchingScale } from '../../src/matching/command-table.ts';
import { emptyCommand, type Command } from '../../src/wire/generated/lean/command.ts';
import {
  emptyRequestCancelWorkflowExecutionRequest,
  emptyRespondQueryTaskCompletedRequest,
  emptyRespondWorkflowTaskCompletedRequest,
  emptyRespondWorkflowTaskFailedRequest,
  emptyTerminateWorkflowExecutionRequest,
  encodeRequestCancelWorkflowExecutionRequest,
  encodeRespondQueryTaskCompletedRequest,
  encodeRespondWorkflowTaskCompletedRequest,
  encodeRespondWorkflowTaskFailedRequest,
  encodeTerminateWorkflowExecutionRequest,
  type RespondWorkflowTaskCompletedRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { TokenSigner } from '../../src/grpc/tokens/token-signer.ts';
import { tokensOf, type Tokens } from '../../src/grpc/tokens/tokens.ts';
import { openBench, runId, type Bench } from './frontend-bench.ts';
import { key } from './started-tasks.ts';

let bench: Bench;
let tokens: Tokens;
beforeAll(async () => {
  bench = await openBench();
  tokens = tokensOf(new TokenSigner(bench.stub.ports.tokenKey));
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.stub.historyCommands.length = 0;
  bench.stub.matchingRequests.length = 0;
  bench.stub.answers.history = () => ({ kind: 'done' });
  bench.stub.answers.matching = () => ({ kind: 'done' });
});

const long = 'x'.repeat(1024 * 1024);
const workflowExecution = { workflowId: 'w', runId };

function workflowTaskToken(): Uint8Array {
  return tokens.workflowTask.sign({ ...key, scheduledEventId: 2, startedEventId: 3, startedTimeMs: 1, attempt: 1 });
}

function completion(changes: Partial<RespondWorkflowTaskCompletedRequest>): Uint8Array {
  return encodeRespondWorkflowTaskCompletedRequest({
    ...emptyRespondWorkflowTaskCompletedRequest(),
    taskToken: workflowTaskToken(),
    ...changes,
  });
}

function activity(taskQueue: string, nonRetryableErrorTypes: readonly string[]): Command {
  return {
    ...emptyCommand(),
    commandType: 1,
    scheduleActivityTaskCommandAttributes: {
      activityId: '1',
      activityType: { name: 'charge' },
      taskQueue: { name: taskQueue, kind: 1, normalName: '' },
      header: undefined,
      input: undefined,
      scheduleToCloseTimeoutMs: 0,
      scheduleToStartTimeoutMs: 0,
      startToCloseTimeoutMs: 1_000,
      heartbeatTimeoutMs: 0,
      retryPolicy: { initialIntervalMs: 0, backoffCoefficient: 1, maximumIntervalMs: 0, maximumAttempts: 0, nonRetryableErrorTypes },
      requestEagerExecution: false,
      useWorkflowBuildId: false,
      priority: undefined,
    },
  };
}

test.each([
  [
    'RequestCancelWorkflowExecution',
    'reason',
    () =>
      encodeRequestCancelWorkflowExecutionRequest({
        ...emptyRequestCancelWorkflowExecutionRequest(),
        namespace: 'default',
        workflowExecution,
        reason: long,
      }),
  ],
  [
    'TerminateWorkflowExecution',
    'reason',
    () =>
      encodeTerminateWorkflowExecutionRequest({
        ...emptyTerminateWorkflowExecutionRequest(),
        namespace: 'default',
        workflowExecution,
        reason: long,
      }),
  ],
  [
    'RespondWorkflowTaskFailed',
    'binary checksum',
    () =>
      encodeRespondWorkflowTaskFailedRequest({
        ...emptyRespondWorkflowTaskFailedRequest(),
        taskToken: workflowTaskToken(),
        binaryChecksum: long,
      }),
  ],
  ['RespondWorkflowTaskCompleted', 'binary checksum', () => completion({ binaryChecksum: long })],
  [
    'RespondWorkflowTaskCompleted',
    'error message of a query',
    () => completion({ queryResults: new Map([['q', { resultType: 2, answer: undefined, errorMessage: long, failure: undefined }]]) }),
  ],
  ['RespondWorkflowTaskCompleted', 'queue of an activity', () => completion({ commands: [activity(long, [])] })],
  ['RespondWorkflowTaskCompleted', 'error type of a retry policy', () => completion({ commands: [activity('q', ['a', long])] })],
] as const)('%s: the %s', async (method, _, request) => {
  await bench.client.call(method, request()).catch(() => undefined);
  expect(bench.stub.historyCommands).toHaveLength(1);
  expect(commandScale.bytesOf(bench.stub.historyCommands[0]!)).toBeGreaterThan(long.length);
});

test('RespondQueryTaskCompleted: the error message', async () => {
  const taskToken = tokens.queryTask.sign({ namespaceId: 'default-id', taskQueue: 'q', sticky: false, partition: 0, queryId: 'x' });
  await bench.client.call(
    'RespondQueryTaskCompleted',
    encodeRespondQueryTaskCompletedRequest({
      ...emptyRespondQueryTaskCompletedRequest(),
      taskToken,
      namespace: 'default',
      completedType: 2,
      errorMessage: long,
    }),
  );
  expect(matchingScale.bytesOf(bench.stub.matchingRequests[0]!)).toBeGreaterThan(long.length);
});
