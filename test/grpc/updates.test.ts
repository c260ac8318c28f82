/** Updates at the front door of a whole server: what is refused, what a wait comes to, and what a restart leaves. */
import { Connection, Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import {
  decodeMultiOperationExecutionFailure,
  decodeStatus,
  type MultiOperationExecutionFailure,
} from '../../src/wire/generated/lean/error_details.ts';
import { memoryServer } from '../support/memory-server.ts';
import { openBench, runId } from './frontend-bench.ts';

const {
  UpdateWorkflowExecutionRequest,
  UpdateWorkflowExecutionResponse,
  PollWorkflowExecutionUpdateRequest,
  PollWorkflowExecutionUpdateResponse,
} = proto.temporal.api.workflowservice.v1;

const namespace = 'default';
const taskQueue = 'q';
const text = new TextEncoder();

type Service = Connection['workflowService'];
type Opened = { readonly server: RunningServer; readonly connection: Connection; readonly client: Client; readonly service: Service };

async function opened(filename?: string): Promise<Opened> {
  const server = await memoryServer({ log: { kind: 'embedded', filename, sqlitePragmas: [] }, historyShards: 2 });
  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  return { server, connection, client: new Client({ connection }), service: connection.workflowService };
}

const updateOf = (workflowId: string, updateId = 'u1', more: object = {}) => ({
  namespace,
  workflowExecution: { workflowId },
  request: { meta: { updateId, identity: 'caller' }, input: { name: 'add' } },
  ...more,
});
const start = (client: Client, workflowId = 'w') => client.workflow.start('Order', { workflowId, taskQueue });

/** A worker that takes one workflow task. */
async function take(connection: Connection) {
  const poll = { namespace, taskQueue: { name: taskQueue }, identity: 'worker' };
  const task = await connection.withDeadline(Date.now() + 30_000, () => connection.workflowService.pollWorkflowTaskQueue(poll));
  if (task.taskToken.length === 0) throw new Error('no task');
  return task;
}

type Task = Awaited<ReturnType<typeof take>>;

const body = (type: string, message: Uint8Array) => ({ type_url: `type.googleapis.com/temporal.api.update.v1.${type}`, value: message });
const acceptance = (updateId = 'u1') => ({
  id: `${updateId}/a`,
  protocolInstanceId: updateId,
  // accepted_request_message_id, accepted_request_sequencing_event_id
  body: body(
    'Acceptance',
    Buffer.concat([Buffer.from([10, updateId.length + 8]), text.encode(`${updateId}/request`), Buffer.from([16, 2])]),
  ),
});
const response = (updateId = 'u1') => ({
  id: `${updateId}/r`,
  protocolInstanceId: updateId,
  // meta { update_id }, outcome { success { payloads { data: "7" } } }
  body: body('Response', Buffer.from([10, 4, 10, 2, ...text.encode(updateId), 18, 7, 10, 5, 10, 3, 18, 1, 55])),
});

function answer(service: Service, { taskToken }: Task, messages: readonly ReturnType<typeof acceptance>[]) {
  const commands = messages.map(({ id }) => ({ commandType: 14, protocolMessageCommandAttributes: { messageId: id } }));
  return service.respondWorkflowTaskCompleted({ namespace, taskToken, identity: 'worker', commands, messages: [...messages] });
}

describe('what is refused', () => {
  const { INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED } = {
    INVALID_ARGUMENT: 3,
    NOT_FOUND: 5,
    PERMISSION_DENIED: 7,
  };
  const long = 'x'.repeat(1001);
  const input = { name: 'add' };
  const refusals: readonly (readonly [code: number, text: string, change: object])[] = [
    [INVALID_ARGUMENT, 'Execution is not set on request.', { workflowExecution: undefined }],
    [INVALID_ARGUMENT, 'WorkflowId is not set on request.', { workflowExecution: {} }],
    [INVALID_ARGUMENT, 'Invalid RunId.', { workflowExecution: { workflowId: 'w', runId: 'no' } }],
    [INVALID_ARGUMENT, 'Update meta is not set on request.', { request: undefined }],
    [INVALID_ARGUMENT, 'Update meta is not set on request.', { request: { input } }],
    [INVALID_ARGUMENT, 'Update input is not set on request.', { request: { meta: { updateId: 'u' } } }],
    [INVALID_ARGUMENT, 'Update name is not set on request.', { request: { meta: { updateId: 'u' }, input: {} } }],
    [INVALID_ARGUMENT, 'UpdateId length exceeds limit.', { request: { meta: { updateId: long }, input } }],
    [
      INVALID_ARGUMENT,
      'Blob data size exceeds limit.',
      { request: { meta: {}, input: { name: 'a', args: { payloads: [{ data: Buffer.alloc(2.1 * 2 ** 20) }] } } } },
    ],
    [PERMISSION_DENIED, 'waiting on update admitted is not supported', { waitPolicy: { lifecycleStage: 1 } }],
    [
      INVALID_ARGUMENT,
      'invalid url: url does not match any configured callback address: http://x',
      { request: { meta: {}, input, completionCallbacks: [{ nexus: { url: 'http://x' } }] } },
    ],
    [NOT_FOUND, 'workflow not found for ID: gone', { workflowExecution: { workflowId: 'gone' } }],
    [NOT_FOUND, 'workflow execution not found', { firstExecutionRunId: '00000000-0000-4000-8000-000000000000' }],
  ];
  test('each with its code and its text, and nothing has happened', async () => {
    const { client, connection, service } = await opened();
    await start(client);
    for (const [code, message, change] of refusals) {
      const refused = await service.updateWorkflowExecution(updateOf('w', 'u1', change)).catch((error: unknown) => error);
      expect(refused, message).toMatchObject({ code, details: expect.stringContaining(message) });
    }
    const polls = [
      [INVALID_ARGUMENT, 'UpdateRef is not set on request.', {}],
      [INVALID_ARGUMENT, 'UpdateId is not set on request.', { updateRef: { workflowExecution: { workflowId: 'w' } } }],
      [NOT_FOUND, 'update "u" not found', { updateRef: { workflowExecution: { workflowId: 'w' }, updateId: 'u' } }],
    ] as const;
    for (const [code, message, request] of polls) {
      const refused = await service.pollWorkflowExecutionUpdate({ namespace, ...request }).catch((error: unknown) => error);
      expect(refused, message).toMatchObject({ code, details: message });
    }
    expect((await take(connection)).messages).toEqual([]);
  });

  test('an update with start tells which of the two it was', async () => {
    const { service, client } = await opened();
    const startWorkflow = { namespace, workflowId: 'w', workflowType: { name: 'Order' }, taskQueue: { name: taskQueue }, requestId: 'r' };
    const both = (start: object, update: object) =>
      service
        .executeMultiOperation({
          namespace,
          operations: [{ startWorkflow: { ...startWorkflow, ...start } }, { updateWorkflow: { ...updateOf('w'), ...update } }],
        })
        .catch((error: unknown) => error);
    const refused = await service.executeMultiOperation({ namespace, operations: [{ startWorkflow }] }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: INVALID_ARGUMENT, details: 'Operations have to be exactly [Start, Update].' });
    const aborted = 'Operation was aborted.';
    const expected = [
      [{ cronSchedule: '* * * * *' }, {}, 3, ['CronSchedule is not allowed.', aborted]],
      [{ workflowType: {} }, {}, 3, ['WorkflowType is not set on request.', aborted]],
      [{}, { workflowExecution: { workflowId: 'other' } }, 3, [aborted, 'WorkflowId is not consistent with previous operation(s).']],
      [{}, { request: undefined }, 3, [aborted, 'Update meta is not set on request.']],
    ] as const;
    for (const [first, second, code, messages] of expected) {
      const error = await both(first, second);
      expect(error).toMatchObject({ code, details: 'Update-with-Start could not be executed.' });
      expect(statusesOf(error).map(({ message }) => message)).toEqual(messages);
    }
    await start(client);
    const started = await both({}, {});
    expect(started).toMatchObject({ code: 6 });
    expect(statusesOf(started).map(({ code }) => code)).toEqual([6, 10]);
  });
});

function statusesOf(error: unknown): MultiOperationExecutionFailure['statuses'] {
  const { metadata } = error as { metadata: { get(name: string): readonly Buffer[] } };
  const [status] = metadata.get('grpc-status-details-bin');
  const [detail] = decodeStatus(status ?? Buffer.alloc(0)).details;
  return decodeMultiOperationExecutionFailure(detail?.value ?? Buffer.alloc(0)).statuses;
}

test('a wait that is longer than its caller has time ends as his deadline does, however far the update is', async () => {
  const { client, connection, service } = await opened();
  await start(client);
  const within = (deadlineMs: number, ask: () => Promise<unknown>): Promise<unknown> =>
    connection.withDeadline(Date.now() + deadlineMs, ask).catch((error: unknown) => error);
  const updateRef = { workflowExecution: { workflowId: 'w' }, updateId: 'u1' };
  const polled = { namespace, updateRef, waitPolicy: { lifecycleStage: 3 } };
  expect(await within(700, () => service.updateWorkflowExecution(updateOf('w')))).toMatchObject({ code: 4 });
  // It waits for a worker all the same, whoever asks for it.
  const task = await take(connection);
  expect(task.messages).toMatchObject([{ id: 'u1/request', protocolInstanceId: 'u1' }]);
  expect(Number(task.messages[0]?.eventId)).toBe(Number(task.startedEventId) - 1);
  await answer(service, task, [acceptance()]);
  expect(await within(700, () => service.updateWorkflowExecution(updateOf('w')))).toMatchObject({ code: 4 });
  expect(await within(700, () => service.pollWorkflowExecutionUpdate(polled))).toMatchObject({ code: 4 });
  // Whoever waits for nothing is told at once.
  const now = await service.pollWorkflowExecutionUpdate({ namespace, updateRef });
  expect(now).toMatchObject({ stage: 2, outcome: null });
});

test('a wait that the server ends before its caller does is answered with how far the update is', async () => {
  const bench = await openBench();
  onTestFinished(() => bench.close());
  const stage = { kind: 'updateStage', runId, stage: 'accepted', completedEventId: 0, outcome: undefined, started: undefined } as const;
  bench.stub.answers.history = (command) =>
    command.kind === 'pollUpdate' && command.waitStage === 'none' ? stage : { kind: 'deadline', message: 'no answer in time' };
  const updateRef = { workflowExecution: { workflowId: 'w' }, updateId: 'u1' };
  const calls = {
    UpdateWorkflowExecution: [UpdateWorkflowExecutionRequest.encode(updateOf('w')).finish(), UpdateWorkflowExecutionResponse],
    PollWorkflowExecutionUpdate: [
      PollWorkflowExecutionUpdateRequest.encode({ namespace, updateRef, waitPolicy: { lifecycleStage: 3 } }).finish(),
      PollWorkflowExecutionUpdateResponse,
    ],
  } as const;
  for (const [method, [request, response]] of Object.entries(calls)) {
    const answered = response.decode(await bench.client.call(method, request, { timeoutMs: 60_000 }));
    expect(answered.stage, method).toBe(2);
    // The wait of the server would have been the longer one.
    const refused = await bench.client.refusal(method, request, { timeoutMs: 15_000 });
    expect([refused.code, refused.details], method).toEqual([4, 'context deadline exceeded']);
  }
});

test('after a restart what was accepted goes on, what was completed is answered from history, and what was admitted is asked for again', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-updates-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const filename = join(folder, 'x.db');
  const before = await opened(filename);
  await start(before.client);
  const asked = ['u1', 'u2'].map((updateId) =>
    before.service.updateWorkflowExecution(updateOf('w', updateId, { waitPolicy: { lifecycleStage: 2 } })),
  );
  const first = await take(before.connection);
  expect(new Set(first.messages.map(({ protocolInstanceId }) => protocolInstanceId))).toEqual(new Set(['u1', 'u2']));
  await answer(before.service, first, [acceptance('u1'), response('u1'), acceptance('u2')]);
  expect((await Promise.all(asked)).map(({ stage }) => stage)).toEqual([3, 2]);
  // Its client asks again for as long as it may: nobody is there.
  const lost = before.connection
    .withDeadline(Date.now() + 2_000, () => before.service.updateWorkflowExecution(updateOf('w', 'u3')))
    .catch((error: unknown) => error);
  expect((await take(before.connection)).messages.map(({ protocolInstanceId }) => protocolInstanceId)).toEqual(['u3']);
  await before.server.stop();
  expect(await lost).toMatchObject({ code: expect.toBeOneOf([4, 14]) });

  const { client, connection, service } = await opened(filename);
  const completed = await service.updateWorkflowExecution(updateOf('w', 'u1'));
  expect(completed.stage).toBe(3);
  expect(completed.outcome?.success?.payloads?.map(({ data }) => Buffer.from(data ?? []).toString())).toEqual(['7']);
  const again = service.updateWorkflowExecution(updateOf('w', 'u3'));
  const second = service.updateWorkflowExecution(updateOf('w', 'u2'));
  const task = await take(connection);
  expect(task.messages.map(({ protocolInstanceId }) => protocolInstanceId)).toEqual(['u3']);
  await answer(service, task, [response('u2'), acceptance('u3'), response('u3')]);
  expect([(await again).stage, (await second).stage]).toEqual([3, 3]);
  const { events } = await client.workflow.getHandle('w').fetchHistory();
  expect(events?.filter((event) => Boolean(event.workflowExecutionUpdateCompletedEventAttributes))).toHaveLength(3);
});
