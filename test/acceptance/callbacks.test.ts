/** Completion callbacks through the front door: a real HTTP server hears of the end of workflows. */
import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import Long from 'long';
import { afterEach, describe, expect, test } from 'vitest';
import type { RunningServer, ServerOptions } from '../../src/config/server-options.ts';
import { LetterClient, type Plain } from '../grpc/deadletter-service/letter-client.ts';
import { type Answering, HttpTarget } from '../outbound/http-target.ts';
import { enums } from '../sdk/fields.ts';
import { turns } from '../support/event-loop.ts';
import { memoryServer } from '../support/memory-server.ts';

const { Acceptance, Response } = proto.temporal.api.update.v1;

const open: { close(): void | Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

const anywhere = [{ Pattern: '127.0.0.1:*', AllowInsecure: true, AllowPrivate: true }];
const soon = { 'callback.retryPolicy.initialInterval': '10ms' };

async function serve(dynamicConfig: Readonly<Record<string, unknown>> = {}, options: Partial<ServerOptions> = {}): Promise<RunningServer> {
  const values = { 'callback.allowedAddresses': anywhere, ...soon, ...dynamicConfig };
  const server = await memoryServer({ dynamicConfig: new Map(Object.entries(values)), ...options });
  open.push({ close: () => server.stop() });
  return server;
}

async function connect({ address }: RunningServer): Promise<Client> {
  const connection = await Connection.connect({ address });
  open.push({ close: () => connection.close() });
  return new Client({ connection });
}

async function target(answer?: Answering): Promise<HttpTarget> {
  const opened = await HttpTarget.open(answer);
  open.push(opened);
  return opened;
}

type Nexus = { readonly url: string; readonly header?: Readonly<Record<string, string>> };
type Start = { readonly callbacks: readonly Nexus[]; readonly attach?: boolean; readonly requestId?: string };

async function start(
  { workflowService }: Client,
  workflowId: string,
  { callbacks, attach = false, requestId = workflowId }: Start,
): Promise<string> {
  const { runId } = await workflowService.startWorkflowExecution({
    namespace: 'default',
    workflowId,
    workflowType: { name: 'Order' },
    taskQueue: { name: 'orders' },
    requestId,
    completionCallbacks: callbacks.map((nexus) => ({ nexus })),
    ...(attach
      ? {
          workflowIdConflictPolicy: enums.WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
          onConflictOptions: { attachRequestId: true, attachCompletionCallbacks: true },
        }
      : {}),
  });
  return runId;
}

async function terminate({ workflow }: Client, workflowId: string): Promise<void> {
  await workflow.getHandle(workflowId).terminate('enough');
}

async function polled({ connection, workflowService }: Client): Promise<Uint8Array> {
  const poll = { namespace: 'default', taskQueue: { name: 'orders' } };
  const { taskToken } = await connection.withDeadline(Date.now() + 20_000, () => workflowService.pollWorkflowTaskQueue(poll));
  return taskToken;
}

type Info = NonNullable<Awaited<ReturnType<Client['workflowService']['describeWorkflowExecution']>>['callbacks']>[number];

async function callbacksOf({ workflowService }: Client, workflowId: string, runId = ''): Promise<readonly Info[]> {
  const { callbacks } = await workflowService.describeWorkflowExecution({ namespace: 'default', execution: { workflowId, runId } });
  return callbacks;
}

const { CallbackState } = enums as unknown as { readonly CallbackState: Readonly<Record<string, number>> };
const state = (name: string): number => CallbackState[`CALLBACK_STATE_${name}`] ?? -1;

async function untilState(client: Client, workflowId: string, name: string): Promise<Info> {
  for (;;) {
    const [info] = await callbacksOf(client, workflowId);
    if (info?.state === state(name)) return info;
    await turns();
  }
}

describe('a workflow with a callback', () => {
  test('stands by while it runs, and tells its end', async () => {
    const target_ = await target();
    const client = await connect(await serve());
    const runId = await start(client, 'w', { callbacks: [{ url: target_.url('/hook?x=1'), header: { 'X-Token': 'secret' } }] });
    expect(await callbacksOf(client, 'w')).toMatchObject([
      { callback: { nexus: { url: target_.url('/hook?x=1'), header: { 'x-token': 'secret' } } }, state: state('STANDBY'), attempt: 0 },
    ]);
    expect(target_.received).toEqual([]);
    await terminate(client, 'w');
    const [received] = await target_.requests(1);
    expect(received).toMatchObject({
      path: '/hook?x=1',
      headers: { 'x-token': 'secret', 'nexus-operation-state': 'failed', 'content-type': 'application/json' },
    });
    expect(received?.headers['nexus-link']).toContain(`/default/workflows/w/${runId}/history?eventID=1&`);
    expect(JSON.parse(String(received?.body))).toMatchObject({ message: 'operation terminated' });
    expect(await untilState(client, 'w', 'SUCCEEDED')).toMatchObject({
      attempt: 1,
      trigger: { workflowClosed: {} },
      lastAttemptFailure: null,
    });
  });

  test('is told what a worker completes it with', async () => {
    const target_ = await target();
    const client = await connect(await serve());
    await start(client, 'w', { callbacks: [{ url: target_.url() }] });
    const { workflowService } = client;
    const taskToken = await polled(client);
    const payloads = [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{"total":3}') }];
    await workflowService.respondWorkflowTaskCompleted({
      namespace: 'default',
      taskToken,
      commands: [
        {
          commandType: enums.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
          completeWorkflowExecutionCommandAttributes: { result: { payloads } },
        },
      ],
    });
    const [received] = await target_.requests(1);
    expect(received?.headers).toMatchObject({ 'nexus-operation-state': 'succeeded', 'content-type': 'application/json' });
    expect(String(received?.body)).toBe('{"total":3}');
  });

  test('is tried again until its target answers, and shows why', async () => {
    const target_ = await target((response, _, number) => response.writeHead(number < 3 ? 503 : 200).end());
    const client = await connect(await serve({ 'callback.retryPolicy.initialInterval': '300ms' }));
    await start(client, 'w', { callbacks: [{ url: target_.url() }] });
    await terminate(client, 'w');
    expect(await untilState(client, 'w', 'BACKING_OFF')).toMatchObject({
      attempt: 1,
      lastAttemptFailure: { message: 'handler error (UNAVAILABLE)', applicationFailureInfo: {} },
      nextAttemptScheduleTime: expect.anything(),
    });
    expect(await untilState(client, 'w', 'SUCCEEDED')).toMatchObject({ attempt: 3, nextAttemptScheduleTime: null });
  });

  test('is blocked when its target has failed six times in a row, and others are not', async () => {
    const down = await target((response) => response.writeHead(503).end());
    const up = await target();
    const client = await connect(await serve());
    for (let id = 0; id < 7; id++) await start(client, `w${id}`, { callbacks: [{ url: down.url() }] });
    await start(client, 'other', { callbacks: [{ url: up.url() }] });
    for (let id = 0; id < 7; id++) await terminate(client, `w${id}`);
    await down.requests(6);
    for (let isBlocked = false; !isBlocked; await turns()) {
      for (let id = 0; id < 7; id++) {
        const [info] = await callbacksOf(client, `w${id}`);
        if (info?.state !== state('BLOCKED')) continue;
        expect(info.blockedReason).toBe('The circuit breaker is open.');
        isBlocked = true;
      }
    }
    await terminate(client, 'other');
    await up.requests(1);
  });

  test('that hangs holds up no other', async () => {
    const hangs = await target(() => {});
    const answers = await target();
    const client = await connect(await serve());
    for (let id = 0; id < 8; id++) await start(client, `w${id}`, { callbacks: [{ url: hangs.url() }, { url: answers.url() }] });
    for (let id = 0; id < 8; id++) await terminate(client, `w${id}`);
    await answers.requests(8);
    expect(hangs.received).toHaveLength(4);
  });

  test('hands it to the run that it continues as', async () => {
    const target_ = await target();
    const client = await connect(await serve());
    const first = await start(client, 'w', { callbacks: [{ url: target_.url() }] });
    const { workflowService } = client;
    const taskToken = await polled(client);
    await workflowService.respondWorkflowTaskCompleted({
      namespace: 'default',
      taskToken,
      commands: [
        {
          commandType: enums.CommandType.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
          continueAsNewWorkflowExecutionCommandAttributes: { workflowType: { name: 'Order' }, taskQueue: { name: 'orders' } },
        },
      ],
    });
    expect(await callbacksOf(client, 'w')).toMatchObject([{ state: state('STANDBY') }]);
    expect(await callbacksOf(client, 'w', first)).toMatchObject([{ state: state('STANDBY') }]);
    await terminate(client, 'w');
    await target_.requests(1);
    await untilState(client, 'w', 'SUCCEEDED');
    expect(target_.received).toHaveLength(1);
  });

  test('is given one by a start that meets it, once for a request; and no more than a run may have', async () => {
    const target_ = await target();
    const client = await connect(await serve({ 'system.maxCallbacksPerWorkflow': 2 }));
    await start(client, 'w', { callbacks: [{ url: target_.url('/1') }] });
    for (let times = 0; times < 2; times++)
      await start(client, 'w', { callbacks: [{ url: target_.url('/2') }], attach: true, requestId: 'other' });
    expect(await callbacksOf(client, 'w')).toHaveLength(2);
    await expect(start(client, 'w', { callbacks: [{ url: target_.url('/3') }], attach: true, requestId: 'third' })).rejects.toMatchObject({
      code: 9,
      details: 'cannot attach more than 2 callbacks to a workflow (2 callbacks already attached)',
    });
    await terminate(client, 'w');
    const received = await target_.requests(2);
    const second = received.find(({ path }) => path === '/2');
    expect(second?.headers['nexus-link']).toContain('referenceType=RequestIdReference&requestID=other');
  });
});

describe('an update with a callback', () => {
  const update = ({ workflowService, connection }: Client, url: string, requestId = 'r1', operation = false): Promise<unknown> => {
    const request = {
      meta: { updateId: 'u1' },
      input: { name: 'add' },
      requestId,
      completionCallbacks: [{ nexus: { url, header: { 'X-Token': requestId } } }],
    };
    const workflowExecution = { workflowId: 'w' };
    const stage = enums.UpdateWorkflowExecutionLifecycleStage;
    const lifecycleStage = stage.UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED;
    const asked = { namespace: 'default', workflowExecution, request, waitPolicy: { lifecycleStage } };
    const startWorkflow = {
      namespace: 'default',
      workflowId: 'w',
      workflowType: { name: 'Order' },
      taskQueue: { name: 'orders' },
      requestId: 'start',
      workflowIdConflictPolicy: enums.WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
    };
    const both = { namespace: 'default', operations: [{ startWorkflow }, { updateWorkflow: asked }] };
    return connection.withDeadline(Date.now() + 20_000, async (): Promise<unknown> => {
      if (operation) return await workflowService.executeMultiOperation(both);
      return await workflowService.updateWorkflowExecution(asked);
    });
  };
  const ofUpdate = (name: string, value: Uint8Array) => ({
    id: name,
    protocolInstanceId: 'u1',
    body: { type_url: `type.googleapis.com/temporal.api.update.v1.${name}`, value },
  });
  const answer = async (client: Client, ...messages: readonly { readonly id: string }[]): Promise<void> => {
    const taskToken = await polled(client);
    const commandType = enums.CommandType.COMMAND_TYPE_PROTOCOL_MESSAGE;
    const commands = messages.map(({ id: messageId }) => ({ commandType, protocolMessageCommandAttributes: { messageId } }));
    await client.workflowService.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, commands, messages: [...messages] });
  };
  const accepted = ofUpdate(
    'Acceptance',
    Acceptance.encode({ acceptedRequestMessageId: 'u1/request', acceptedRequestSequencingEventId: Long.fromNumber(2) }).finish(),
  );

  test.each(['an update', 'an update-with-start'])(
    '%s: stands by once it is accepted, and tells its outcome while the workflow goes on',
    async (how) => {
      const target_ = await target();
      const client = await connect(await serve());
      const { namespaceInfo } = await client.workflowService.describeNamespace({ namespace: 'default' });
      expect(namespaceInfo?.capabilities?.workflowUpdateCallbacks).toBe(true);
      if (how === 'an update') await start(client, 'w', { callbacks: [] });
      const asked = update(client, target_.url(), 'r1', how !== 'an update');
      await answer(client, accepted);
      await asked;
      await update(client, target_.url(), 'r2');
      expect(await callbacksOf(client, 'w')).toMatchObject(
        ['r1', 'r2'].map((token) => ({
          callback: { nexus: { header: { 'x-token': token } } },
          trigger: { updateWorkflowExecutionCompleted: { updateId: 'u1' } },
          state: state('STANDBY'),
        })),
      );
      await client.workflow.getHandle('w').signal('wake');
      const payloads = [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('3') }];
      await answer(
        client,
        ofUpdate('Response', Response.encode({ meta: { updateId: 'u1' }, outcome: { success: { payloads } } }).finish()),
      );
      const received = await target_.requests(2);
      for (const { headers, body } of received) {
        expect(headers).toMatchObject({ 'nexus-operation-state': 'succeeded', 'content-type': 'application/json' });
        expect(String(body)).toBe('3');
      }
      const links = received.map(({ headers }) => [headers['x-token'], String(headers['nexus-link'])] as const);
      expect(Object.fromEntries(links)).toEqual({
        r1: expect.stringContaining('eventType=WorkflowExecutionUpdateAccepted&referenceType=RequestIdReference&requestID=r1'),
        r2: expect.stringContaining('eventType=WorkflowExecutionOptionsUpdated&referenceType=RequestIdReference&requestID=r2'),
      });
      await untilState(client, 'w', 'SUCCEEDED');
    },
  );

  test('tells the failure that callers get when its workflow ends first', async () => {
    const target_ = await target();
    const client = await connect(await serve());
    await start(client, 'w', { callbacks: [] });
    const asked = update(client, target_.url());
    await answer(client, accepted);
    await asked;
    await terminate(client, 'w');
    const [received] = await target_.requests(1);
    expect(received?.headers).toMatchObject({ 'nexus-operation-state': 'failed' });
    expect(JSON.parse(String(received?.body))).toMatchObject({
      message: 'Workflow Update failed because the Workflow completed before the Update completed.',
      details: { applicationFailureInfo: { type: 'AcceptedUpdateCompletedWorkflow', nonRetryable: true } },
    });
  });

  test('is refused without a request id', async () => {
    const client = await connect(await serve());
    await start(client, 'w', { callbacks: [] });
    await expect(update(client, 'http://127.0.0.1:1/', '')).rejects.toMatchObject({
      code: 3,
      details: 'invalid *update.Request: request_id is required when completion_callbacks are set',
    });
  });
});

test('one that is refused for good is FAILED and a dead letter; repaired and merged it is delivered', async () => {
  const target_ = await target((response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ message: 'wrong token' }));
  });
  const server = await serve();
  const client = await connect(server);
  const letters = new LetterClient(server.address);
  open.push(letters);
  await start(client, 'w', { callbacks: [{ url: target_.url() }] });
  await terminate(client, 'w');
  expect(await untilState(client, 'w', 'FAILED')).toMatchObject({
    attempt: 1,
    lastAttemptFailure: { message: 'handler error (BAD_REQUEST): wrong token', applicationFailureInfo: { nonRetryable: true } },
  });
  const queue = { category: 'outbound' };
  const count = async (): Promise<number> => Number((await letters.onceServed('CountDeadLetters', { queues: [queue] }))['count'] ?? 0);
  while ((await count()) !== 1) await turns();
  const { letters: [letter] = [] } = (await letters.onceServed('ListDeadLetters', { queues: [queue], withPayload: true })) as {
    readonly letters?: readonly Plain[];
  };
  expect(letter).toMatchObject({
    taskType: 'TASK_TYPE_STATE_MACHINE_OUTBOUND',
    cause: 'permanent-error',
    errorType: 'HandlerError BAD_REQUEST',
    errorMessage: 'handler error (BAD_REQUEST): wrong token',
    workflowId: 'w',
  });

  const merge = async (): Promise<Plain> => {
    const { plan } = await letters.onceServed('PlanDeadLetters', { operation: 'OPERATION_MERGE', queue, selection: {} });
    const { planId, hash } = plan as Plain;
    const { job } = await letters.onceServed('ApplyPlan', { planId, hash });
    for (;;) {
      const described = (await letters.onceServed('DescribeJob', { jobId: (job as Plain)['jobId'] }))['job'] as Plain;
      if (/completed|failed/i.test(String(described['state']))) return described;
      await turns();
    }
  };
  // It is broken still: the letter stays one, and its callback FAILED.
  await merge();
  expect(target_.received).toHaveLength(2);
  expect(await untilState(client, 'w', 'FAILED')).toMatchObject({ attempt: 2 });
  expect(await count()).toBe(1);

  target_.answers((response) => response.end());
  await merge();
  expect(await untilState(client, 'w', 'SUCCEEDED')).toMatchObject({ attempt: 3 });
  expect(await count()).toBe(0);
});

describe('a start is refused', () => {
  const url = 'https://example.com/done';

  test.each([
    ['where nothing is allowed', {}, [{ url }], 3, `invalid url: url does not match any configured callback address: ${url}`],
    [
      'without TLS',
      { 'callback.allowedAddresses': [{ Pattern: '*' }] },
      [{ url: 'http://example.com' }],
      3,
      'invalid url: callback address does not allow insecure connections: http://example.com',
    ],
    ['with another scheme', {}, [{ url: 'ftp://x' }], 3, 'invalid url: unknown scheme: ftp://x'],
    ['with a long URL', {}, [{ url: `https://${'x'.repeat(993)}` }], 3, 'invalid url: url length longer than max length allowed of 1000'],
    [
      'with a large header',
      { 'callback.allowedAddresses': [{ Pattern: '*' }] },
      [{ url, header: { a: 'x'.repeat(8_192) } }],
      3,
      'invalid header: header size longer than max allowed size of 8192',
    ],
    [
      'with a header that HTTP cannot take',
      { 'callback.allowedAddresses': [{ Pattern: '*' }] },
      [{ url, header: { a: 'x\r\ny: z' } }],
      3,
      'invalid header: "a" or its value is not allowed in an HTTP request',
    ],
    [
      'with too many',
      { 'system.maxCallbacksPerWorkflow': 32 },
      Array.from({ length: 33 }, () => ({ url })),
      3,
      'cannot attach more than 32 callbacks to an execution',
    ],
    [
      'to what only Temporal has',
      {},
      [{ url: 'temporal://system' }],
      12,
      expect.stringContaining('completion_callbacks to temporal://system'),
    ],
  ])('%s', async (_, config, callbacks, code, details) => {
    const client = await connect(await serve({ 'callback.allowedAddresses': [], ...config }));
    await expect(start(client, 'w', { callbacks })).rejects.toMatchObject({ code, details });
  });
});

test('an address that is not public is not called unless its rule says so, and what was forbidden meanwhile is not either', async () => {
  const target_ = await target();
  const client = await connect(await serve({ 'callback.allowedAddresses': [{ Pattern: '*', AllowInsecure: true }] }));
  await start(client, 'w', { callbacks: [{ url: target_.url() }] });
  await terminate(client, 'w');
  const { lastAttemptFailure } = await untilState(client, 'w', 'FAILED');
  expect(lastAttemptFailure?.message).toContain('127.0.0.1 is not a public address');
  expect(target_.received).toEqual([]);
});
