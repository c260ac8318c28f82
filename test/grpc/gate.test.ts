/** What interceptors say of a request once it is decoded: before anything is done, however the call comes. */
import { status as codes } from '@grpc/grpc-js';
import { afterEach, expect, test } from 'vitest';
import { statusCode, StatusError } from '../../src/grpc/errors/status-error.ts';
import { whoCalls } from '../../src/grpc/deadletter-service/letter-asks.ts';
import { HandlerContext } from '../../src/grpc/handler-context.ts';
import { streamed, taskUnary, unary, type NamedMethod } from '../../src/grpc/method.ts';
import { rpcService } from '../../src/grpc/rpcs/rpc.ts';
import type { Interceptor } from '../../src/grpc/transport/call.ts';
import { Gate } from '../../src/grpc/transport/gate.ts';
import { startListener, type RunningListener } from '../../src/grpc/transport/listener.ts';
import { jsonAnswer, page, type Page } from '../../src/grpc/transport/plain-http.ts';
import { defaultTransportLimits } from '../../src/grpc/transport/transport-limits.ts';
import { silentLogger } from '../../src/observability/logger.ts';
import { RawClient } from './raw-client.ts';
import { StubServer } from './stub-ports.ts';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const codec = {
  decode: (bytes: Uint8Array) => ({ text: Buffer.from(bytes.subarray(2)).toString() }),
  encode: (answer: string) => Buffer.from(answer),
};
/** A text as field 1, where a task token stands. */
const saying = (text: string): Uint8Array => Buffer.from([10, text.length, ...Buffer.from(text)]);
const row = { scope: 'none', access: 'none' } as const;
const { name, rpcs } = rpcService('test.Service', {
  StartWorkflowExecution: row,
  RespondActivityTaskCompleted: row,
  Watch: { ...row, streamed: true },
});

async function listening(
  interceptors: readonly Interceptor[],
  methods: readonly NamedMethod[],
  pages: readonly Page[] = [],
): Promise<{ server: RunningListener; client: RawClient }> {
  const address = { host: '127.0.0.1', port: 0, limits: defaultTransportLimits } as const;
  const services = [{ name, rpcs, methods: new Map(methods) }];
  const parts = { gate: new Gate(interceptors, silentLogger), logger: silentLogger, instance: '' };
  const server = await startListener({ role: 'frontend', ...address, services, pages }, parts);
  const client = new RawClient(`127.0.0.1:${server.port}`);
  cleanups.push(
    () => server.stop(0),
    () => client.close(),
  );
  return { server, client };
}

/** `done`: what methods and pages have done. */
function serve(interceptors: readonly Interceptor[], done: string[]): ReturnType<typeof listening> {
  const methods = [
    unary('StartWorkflowExecution', codec, ({ text }) => (done.push(text), `started ${text}`)),
    taskUnary(
      'RespondActivityTaskCompleted',
      () => ({ namespaceId: 'n' }),
      codec,
      ({ text }) => (done.push(text), `completed ${text}`),
    ),
    streamed('Watch', codec, async ({ text }, _call, send) => {
      done.push(text);
      send(`watched ${text}`);
    }),
  ];
  return listening(interceptors, methods, [page('POST /visibility/rebuild', () => (done.push('rebuild'), jsonAnswer(200, {})))]);
}

const methods = ['StartWorkflowExecution', 'RespondActivityTaskCompleted', 'Watch'];
const rebuild = (port: number) =>
  fetch(`http://127.0.0.1:${port}/visibility/rebuild`, { method: 'POST', headers: { 'perdure-operator': 'test' } });

test('the decoded request and the verified token are shown to each interceptor, one after the other, before the method has them', async () => {
  const done: string[] = [];
  const seen: unknown[] = [];
  const waits: Interceptor = {
    admit: async ({ rpc }, request, token) => {
      await new Promise(setImmediate);
      seen.push([rpc.method, { ...request }, token, [...done]]);
    },
  };
  const isQuick: Interceptor = { admit: () => void seen.push('quick') };
  const { server, client } = await serve([waits, isQuick], done);
  const answers: string[] = [];
  for (const method of methods) answers.push(Buffer.from(await client.call(`/${name}/${method}`, saying(method))).toString());
  expect((await rebuild(server.port)).status).toBe(200);
  expect(answers).toEqual(['started StartWorkflowExecution', 'completed RespondActivityTaskCompleted', 'watched Watch']);
  expect(seen).toEqual([
    ...methods.flatMap((method, nth) => [
      [method, { text: method }, nth === 1 ? { namespaceId: 'n' } : undefined, methods.slice(0, nth)],
      'quick',
    ]),
    ...[['POST /visibility/rebuild', {}, undefined, methods], 'quick'],
  ]);
});

test('what an interceptor refuses is not done, and its refusal is told to the others', async () => {
  const done: string[] = [];
  const ended: unknown[] = [];
  const refuses: Interceptor = {
    admit: async () => {
      throw new StatusError(statusCode.permissionDenied, 'you may not');
    },
  };
  const { server, client } = await serve([refuses, { after: ({ rpc }, { code }) => void ended.push([rpc.method, code]) }], done);
  for (const method of methods) {
    const error = await client.refusal(`/${name}/${method}`, saying('x'));
    expect([error.code, error.details]).toEqual([codes.PERMISSION_DENIED, 'you may not']);
  }
  const answer = await rebuild(server.port);
  expect([answer.status, await answer.text()]).toEqual([403, 'you may not']);
  expect(done).toEqual([]);
  expect(ended).toEqual([...methods, 'POST /visibility/rebuild'].map((method) => [method, codes.PERMISSION_DENIED]));
});

test('a call that is cancelled while it is admitted is not handled', async () => {
  const done: string[] = [];
  let admit = (): void => {};
  const asked = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const { client } = await serve(
    [
      {
        admit: () => {
          asked.resolve();
          return new Promise((resolve) => (admit = resolve));
        },
        after: () => ended.resolve(),
      },
    ],
    done,
  );
  const refused = client.refusal(`/${name}/StartWorkflowExecution`, saying('x'), { timeoutMs: 200 });
  await asked.promise;
  expect((await refused).code).toBe(codes.DEADLINE_EXCEEDED);
  await ended.promise;
  admit();
  await new Promise(setImmediate);
  expect(done).toEqual([]);
});

test('who calls and the span of a call travel with what it asks of actors, and say who changes dead letters', async () => {
  const stub = new StubServer();
  const context = new HandlerContext(stub.ports);
  const key = { namespaceId: 'default-id', workflowId: 'w', runId: '' };
  const knows: Interceptor = { before: (call) => void (call.principal = { name: 'ada', authType: 'jwt' }) };
  const whoAsked: unknown[] = [];
  const asks = unary('StartWorkflowExecution', codec, async (_request, call) => {
    whoAsked.push(whoCalls(call));
    await context.history(call, key, { kind: 'describeWorkflow', key }).catch(() => {});
    return 'asked';
  });
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  for (const interceptors of [[knows], []]) {
    const { client } = await listening(interceptors, [asks]);
    await client.call(`/${name}/StartWorkflowExecution`, saying('x'), { metadata: interceptors.length > 0 ? { traceparent: trace } : {} });
  }
  const deadlineMs = expect.any(Number);
  expect(stub.contexts).toEqual([
    { deadlineMs, principal: { name: 'ada', authType: 'jwt' }, trace },
    { deadlineMs, principal: undefined, trace: '' },
  ]);
  expect(whoAsked).toMatchObject([
    { actor: 'ada', caller: { authType: 'jwt' } },
    { actor: 'anonymous', caller: { authType: '' } },
  ]);
});
