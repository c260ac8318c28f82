/** An update with start whose workflow closes before a worker accepts the update. With whole servers: updates.test.ts and the SDK scenarios. */
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HistoryReply } from '../../src/history/run/history-replies.ts';
import { decodeMultiOperationExecutionFailure, decodeStatus } from '../../src/wire/generated/lean/error_details.ts';
import {
  decodeExecuteMultiOperationResponse,
  encodeExecuteMultiOperationRequest,
  decodeExecuteMultiOperationRequest,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { encodeOutcome } from '../../src/wire/generated/lean/update.ts';
import proto from '@temporalio/proto';
import { type Bench, openBench } from './frontend-bench.ts';
import type { CallOptions } from './raw-client.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

/** What the shard answers, one after the other. */
let answers: HistoryReply[];
beforeEach(() => {
  answers = [];
  bench.stub.historyCommands.length = 0;
  bench.stub.answers.history = (command) => inRunOf(command, answers.shift()!);
});

/** What says `next` is answered in the run that the command would make. */
function inRunOf(command: Parameters<Bench['stub']['answers']['history']>[0], reply: HistoryReply): HistoryReply {
  if (command.kind !== 'startAndUpdate' || reply.kind !== 'updateStage' || reply.runId !== 'next') return reply;
  return { ...reply, runId: command.start.newRunId };
}

const message = 'workflow update was aborted by closing workflow';
const closing = (begun: boolean): HistoryReply => ({ kind: 'updateRefused', rejection: { reason: 'workflow-closed', message }, begun });
const accepted: HistoryReply = {
  kind: 'updateStage',
  runId: 'next',
  stage: 'accepted',
  outcome: undefined,
  completedEventId: 0,
  started: { kind: 'started', runId: 'next', firstExecutionRunId: 'next', started: true, status: 1 },
};

const { ExecuteMultiOperationRequest } = proto.temporal.api.workflowservice.v1;
const { Link } = proto.temporal.api.common.v1;
const startWorkflow = {
  namespace: 'default',
  workflowId: 'w',
  workflowType: { name: 'Order' },
  taskQueue: { name: 'q' },
  requestId: 'r',
  workflowIdConflictPolicy: 2,
};
const updateWorkflow = {
  namespace: 'default',
  workflowExecution: { workflowId: 'w' },
  request: { meta: { updateId: 'u' }, input: { name: 'add' } },
};
const encoded = (workflowId: string): Uint8Array =>
  encodeExecuteMultiOperationRequest(
    decodeExecuteMultiOperationRequest(
      ExecuteMultiOperationRequest.encode({
        namespace: 'default',
        operations: [
          { startWorkflow: { ...startWorkflow, workflowId } },
          { updateWorkflow: { ...updateWorkflow, workflowExecution: { workflowId } } },
        ],
      }).finish(),
    ),
  );
const request = encoded('w');

async function refusal(
  asked = request,
  options: CallOptions = {},
): Promise<{ readonly code: number; readonly statuses: readonly (readonly [number, string])[] }> {
  const error = await bench.client.call('ExecuteMultiOperation', asked, options).then(
    () => undefined,
    (thrown: unknown) => thrown as { readonly code: number; readonly metadata: { get(name: string): readonly (string | Buffer)[] } },
  );
  if (error === undefined) throw new Error('it was answered');
  const [status] = error.metadata.get('grpc-status-details-bin');
  const [detail] = decodeStatus(status as Buffer).details;
  const { statuses } = decodeMultiOperationExecutionFailure(detail?.value ?? Buffer.alloc(0));
  return { code: error.code, statuses: statuses.map(({ code, message: text }) => [code, text]) };
}

describe('a workflow that was found open, and closes', () => {
  test('the server asks once more, and another one is started', async () => {
    answers = [closing(false), accepted];
    const { responses } = decodeExecuteMultiOperationResponse(await bench.client.call('ExecuteMultiOperation', request));
    expect(responses[0]?.startWorkflow).toMatchObject({ started: true, firstExecutionRunId: 'next' });
    expect(bench.stub.historyCommands.map(({ kind }) => kind)).toEqual(['startAndUpdate', 'startAndUpdate']);
  });

  test('twice: the caller may ask again', async () => {
    answers = [closing(false), closing(false), accepted];
    expect(await refusal()).toEqual({
      code: codes.ABORTED,
      statuses: [
        [codes.ABORTED, 'Operation was aborted.'],
        [codes.ABORTED, message],
      ],
    });
    expect(bench.stub.historyCommands).toHaveLength(2);
  });

  test('and the second time it was started for this: no more than that', async () => {
    answers = [closing(false), closing(true), accepted];
    expect(await refusal()).toEqual({
      code: codes.NOT_FOUND,
      statuses: [
        [codes.OK, ''],
        [codes.NOT_FOUND, message],
      ],
    });
  });
});

test('a workflow that was started for this, and closes: another one would be a second start', async () => {
  answers = [closing(true), accepted];
  expect((await refusal()).code).toBe(codes.NOT_FOUND);
  expect(bench.stub.historyCommands).toHaveLength(1);
});

test('other refusals are passed on as they are', async () => {
  const text = 'Unable to perform workflow execution update due to unexpected workflow task failure.';
  answers = [{ kind: 'updateRefused', rejection: { reason: 'workflow-not-ready', message: text }, begun: false }];
  expect(await refusal()).toMatchObject({
    code: codes.FAILED_PRECONDITION,
    statuses: [
      [codes.ABORTED, 'Operation was aborted.'],
      [9, text],
    ],
  });
});

test('a run that was found is not told as started, and its update leads to the event that accepted it', async () => {
  answers = [{ ...accepted, runId: 'found' }];
  const { responses } = decodeExecuteMultiOperationResponse(await bench.client.call('ExecuteMultiOperation', request));
  expect(responses[0]?.startWorkflow).toMatchObject({ runId: 'found', started: false, firstExecutionRunId: '' });
  expect(Link.decode(responses[1]?.updateWorkflow?.link ?? new Uint8Array()).toJSON()).toEqual({
    workflowEvent: {
      namespace: 'default',
      workflowId: 'w',
      runId: 'found',
      requestIdRef: { eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED' },
    },
  });
});

test('a failed update leads to its run', async () => {
  const outcome = encodeOutcome({ success: undefined, failure: new Uint8Array() });
  answers = [{ ...accepted, runId: 'found', stage: 'completed', outcome }];
  const { responses } = decodeExecuteMultiOperationResponse(await bench.client.call('ExecuteMultiOperation', request));
  expect(Link.decode(responses[1]?.updateWorkflow?.link ?? new Uint8Array()).toJSON()).toEqual({
    workflow: { namespace: 'default', workflowId: 'w', runId: 'found', reason: 'Update rejected' },
  });
});

test('what is wrong with the start and with the update is reported together', async () => {
  const wrong = ExecuteMultiOperationRequest.encode({
    namespace: 'default',
    operations: [
      { startWorkflow: { ...startWorkflow, cronSchedule: '@daily' } },
      { updateWorkflow: { ...updateWorkflow, workflowExecution: { workflowId: 'other' }, waitPolicy: { lifecycleStage: 1 } } },
    ],
  });
  expect((await refusal(wrong.finish())).statuses).toEqual([
    [codes.INVALID_ARGUMENT, 'CronSchedule is not allowed.'],
    [codes.PERMISSION_DENIED, 'UpdateWorkflowExecution issued asynchronously and waiting on update admitted is not supported.'],
  ]);
});

test.each([
  ['temporal-sys-scheduler:x', 'schedule'],
  ['temporal-sys-batcher:x', 'batch job'],
])('%s is the id of no workflow', async (workflowId, what) => {
  expect((await refusal(encoded(workflowId))).statuses).toEqual([
    [codes.INVALID_ARGUMENT, `WorkflowId ${workflowId} is a ${what}'s.`],
    [codes.ABORTED, 'Operation was aborted.'],
  ]);
  expect(bench.stub.historyCommands).toEqual([]);
});

test('an update that the shard has not decided in time is informed, and not that there is none', async () => {
  bench.stub.answers.history = ({ kind }) =>
    kind === 'startAndUpdate'
      ? { kind: 'deadline', message: 'too late' }
      : { kind: 'rejected', rejection: { reason: 'workflow-not-found', message: 'workflow not found for ID: w' } };
  expect(await refusal(request, { timeoutMs: 60_000 })).toMatchObject({
    statuses: [
      [codes.ABORTED, 'Operation was aborted.'],
      [codes.UNAVAILABLE, 'the update was not decided in time: ask again'],
    ],
  });
});
