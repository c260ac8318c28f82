/**
 * What a client can get wrong, against a whole server: its exact error, nothing changed, nothing broken, nothing left open.
 * `PERDURE_TEST_ADDRESS=host:port` takes a server that runs already; then what only its process shows is not looked at.
 */
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emptyCommand } from '../../src/wire/generated/lean/command.ts';
import {
  decodeDescribeWorkflowExecutionResponse,
  emptyStartWorkflowExecutionRequest,
  encodeDescribeWorkflowExecutionRequest,
  encodeStartWorkflowExecutionRequest,
  type DescribeWorkflowExecutionResponse,
} from '../../src/wire/generated/lean/workflow_service.ts';
import { decodes, publicServices, rpcsOf, type Rpc } from '../fuzz/descriptors.ts';
import { doomedNamespace, type Names, sparing } from '../fuzz/mutate.ts';
import { anyBody } from '../fuzz/requests.ts';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer } from '../support/servers.ts';
import { firstDetail } from './details.ts';
import { RawClient } from './raw-client.ts';

const bodiesInAll = 10_000;

let own: ServerProcess | undefined;
let client: RawClient;
let address: string;

beforeAll(async () => {
  address = process.env['PERDURE_TEST_ADDRESS'] ?? '';
  if (address === '') {
    own = await embeddedServer();
    await own.start();
    address = own.address;
  }
  client = new RawClient(address);
  await startTarget();
});

afterAll(async () => {
  client.close();
  await own?.stop();
});

const rpcs: readonly Rpc[] = publicServices.flatMap(rpcsOf);
/** Not in the package; any message does. */
const internalPaths = [
  '/temporal.server.api.matchingservice.v1.MatchingService/AddWorkflowTask',
  '/temporal.server.api.matchingservice.v1.MatchingService/PollWorkflowTaskQueue',
  '/temporal.server.api.adminservice.v1.AdminService/DescribeMutableState',
  '/temporal.server.api.adminservice.v1.AdminService/PurgeDLQTasks',
  '/temporal.api.adminservice.v1.AdminService/CloseShard',
];

const target = 'bad-input-target';
const workflow = { workflowId: target, runId: '' };

async function startTarget(): Promise<void> {
  const request = { ...emptyStartWorkflowExecutionRequest(), namespace: 'default', workflowId: target, workflowType: { name: 't' } };
  const taskQueue = { name: 'nobody-polls-this', kind: 1, normalName: '' };
  await client.call('StartWorkflowExecution', encodeStartWorkflowExecutionRequest({ ...request, taskQueue, workflowIdConflictPolicy: 2 }));
}

async function describeTarget(): Promise<DescribeWorkflowExecutionResponse> {
  const request = encodeDescribeWorkflowExecutionRequest({ namespace: 'default', execution: workflow });
  return decodeDescribeWorkflowExecutionResponse(await client.call('DescribeWorkflowExecution', request));
}

/** Every built method with a valid request of it as a plain object; `{ns}` marks who names a namespace, `{run}` who names a run. */
const runId = '0e8f3f04-5ff4-4c9b-8a58-5d0f0f8a0c55';
const byName = new Map(rpcs.map((rpc) => [rpc.method, rpc]));

function encode(method: string, message: Record<string, unknown>): Uint8Array {
  const type = byName.get(method)?.requestType;
  if (type === undefined) throw new Error(`no RPC ${method}`);
  return type.encode(type.fromObject(message)).finish();
}

const namesNamespace = {
  StartWorkflowExecution: { workflowId: 'w', workflowType: { name: 't' }, taskQueue: { name: 'q' } },
  SignalWithStartWorkflowExecution: { workflowId: 'w', workflowType: { name: 't' }, taskQueue: { name: 'q' }, signalName: 's' },
  SignalWorkflowExecution: { workflowExecution: workflow, signalName: 's' },
  RequestCancelWorkflowExecution: { workflowExecution: workflow },
  TerminateWorkflowExecution: { workflowExecution: workflow },
  DeleteWorkflowExecution: { workflowExecution: workflow },
  DescribeWorkflowExecution: { execution: workflow },
  QueryWorkflow: { execution: workflow, query: { queryType: 'q' } },
  GetWorkflowExecutionHistory: { execution: workflow },
  GetWorkflowExecutionHistoryReverse: { execution: workflow },
  ResetStickyTaskQueue: { execution: workflow },
  ShutdownWorker: {},
  PollWorkflowTaskQueue: { taskQueue: { name: 'q' } },
  PollActivityTaskQueue: { taskQueue: { name: 'q' } },
  DescribeTaskQueue: { taskQueue: { name: 'q' } },
  DescribeNamespace: {},
  ListWorkflowExecutions: { query: 'nobody = 1' },
  ScanWorkflowExecutions: {},
  ListOpenWorkflowExecutions: {},
  ListClosedWorkflowExecutions: { statusFilter: { status: 1 } },
  ListArchivedWorkflowExecutions: {},
  CountWorkflowExecutions: { query: 'GROUP BY nobody' },
  RespondActivityTaskCompletedById: { workflowId: target, activityId: 'a' },
  RespondActivityTaskFailedById: { workflowId: target, activityId: 'a' },
  RespondActivityTaskCanceledById: { workflowId: target, activityId: 'a' },
  RecordActivityTaskHeartbeatById: { workflowId: target, activityId: 'a' },
  AddSearchAttributes: { searchAttributes: { X: 1 } },
  RemoveSearchAttributes: { searchAttributes: ['X'] },
  ListSearchAttributes: {},
  UpdateNamespace: {},
  DeprecateNamespace: {},
  DeleteNamespace: {},
} as const;

const takesToken = [
  'RespondWorkflowTaskCompleted',
  'RespondWorkflowTaskFailed',
  'RespondQueryTaskCompleted',
  'RespondActivityTaskCompleted',
  'RespondActivityTaskFailed',
  'RespondActivityTaskCanceled',
  'RecordActivityTaskHeartbeat',
];

const namesRun = [
  'SignalWorkflowExecution',
  'RequestCancelWorkflowExecution',
  'TerminateWorkflowExecution',
  'DeleteWorkflowExecution',
  'DescribeWorkflowExecution',
  'QueryWorkflow',
  'GetWorkflowExecutionHistory',
  'GetWorkflowExecutionHistoryReverse',
  'ResetStickyTaskQueue',
] as const;

function pathOf(method: string): string {
  return byName.get(method)?.path ?? method;
}

describe('the exact error', () => {
  test.each(Object.entries(namesNamespace))('unknown namespace: %s', async (method, message) => {
    const error = await client.refusal(pathOf(method), encode(method, { ...message, namespace: 'nowhere' }), { timeoutMs: 5_000 });
    expect([error.code, error.details]).toEqual([codes.NOT_FOUND, 'Namespace nowhere is not found.']);
    expect(firstDetail(error)).toEqual({ type: 'NamespaceNotFoundFailure', fields: { namespace: 'nowhere' } });
  });

  test.each(namesRun)('bad run id: %s', async (method) => {
    const execution = { workflowId: target, runId: 'superneverexistwf!' };
    const field = 'workflowExecution' in namesNamespace[method] ? 'workflowExecution' : 'execution';
    const message = { ...namesNamespace[method], namespace: 'default', [field]: execution };
    const error = await client.refusal(pathOf(method), encode(method, message));
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'Invalid RunId.']);
  });

  test.each(namesRun)('no execution: %s', async (method) => {
    const field = 'workflowExecution' in namesNamespace[method] ? 'workflowExecution' : 'execution';
    const message: Record<string, unknown> = { ...namesNamespace[method], namespace: 'default' };
    delete message[field];
    const error = await client.refusal(pathOf(method), encode(method, message));
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'Execution is not set on request.']);
  });

  test.each(namesRun)('unknown workflow and unknown run: %s', async (method) => {
    const field = 'workflowExecution' in namesNamespace[method] ? 'workflowExecution' : 'execution';
    for (const [execution, text] of [
      [{ workflowId: 'no-such', runId: '' }, 'workflow not found for ID: no-such'],
      [{ workflowId: target, runId }, `workflow execution not found for workflow ID "${target}" and run ID "${runId}"`],
    ] as const) {
      const error = await client.refusal(
        pathOf(method),
        encode(method, { ...namesNamespace[method], namespace: 'default', [field]: execution }),
      );
      expect([error.code, error.details, firstDetail(error).type]).toEqual([codes.NOT_FOUND, text, 'NotFoundFailure']);
    }
  });

  test.each(takesToken)('a token that is not ours: %s', async (method) => {
    for (const taskToken of [Buffer.from('x'), Buffer.alloc(200, 1)]) {
      const error = await client.refusal(pathOf(method), encode(method, { namespace: 'default', taskToken, completedType: 1 }));
      expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'Error deserializing task token.']);
    }
  });

  test.each([...Object.keys(namesNamespace), ...takesToken])('malformed protobuf: %s', async (method) => {
    for (const [bytes, reason] of [
      [[10, 255], 'number at byte 1 is cut off'],
      [[10, 5, 1], 'field at byte 2 needs 5 bytes, 1 are left'],
      [[7], undefined],
      [[10, 1, 0xff], undefined],
    ] as const) {
      const error = await client.refusal(pathOf(method), Uint8Array.from(bytes), { timeoutMs: 5_000 });
      expect(error.code).toBe(codes.INVALID_ARGUMENT);
      if (reason === undefined) expect(error.details).toMatch(/^(grpc: error unmarshalling request: |Error deserializing task token\.)/);
      else expect(error.details).toBe(`grpc: error unmarshalling request: ${reason}`);
    }
  });

  test('a payload that is none, inside a request that is fine', async () => {
    const before = await describeTarget();
    const request = encode('SignalWorkflowExecution', {
      namespace: 'default',
      workflowExecution: workflow,
      signalName: 's',
      input: { payloads: [{ data: Buffer.alloc(3) }] },
    });
    // The innermost length is one byte too long.
    const at = Buffer.from(request).indexOf(Buffer.from([18, 3, 0, 0, 0]));
    request[at + 1] = 4;
    const error = await client.refusal('SignalWorkflowExecution', request);
    expect([error.code, error.details]).toEqual([
      codes.INVALID_ARGUMENT,
      'grpc: error unmarshalling request: field 2 needs 4 bytes, 3 are left',
    ]);
    expect((await describeTarget()).workflowExecutionInfo).toEqual(before.workflowExecutionInfo);
  });

  test('oversize blobs', async () => {
    const blob = { payloads: [{ data: Buffer.alloc(2 * 1024 * 1024 + 1) }] };
    for (const [method, fields, text] of [
      ['StartWorkflowExecution', { input: blob }, 'Blob data size exceeds limit.'],
      ['StartWorkflowExecution', { memo: { fields: { x: blob.payloads[0] } } }, 'Memo size exceeds limit.'],
      ['SignalWorkflowExecution', { input: blob }, 'Blob data size exceeds limit.'],
      ['SignalWithStartWorkflowExecution', { signalInput: blob }, 'Blob data size exceeds limit.'],
      ['TerminateWorkflowExecution', { details: blob }, 'Blob data size exceeds limit.'],
      ['QueryWorkflow', { query: { queryType: 'q', queryArgs: blob } }, 'Blob data size exceeds limit.'],
    ] as const) {
      const error = await client.refusal(method, encode(method, { ...namesNamespace[method], namespace: 'default', ...fields }));
      expect([method, error.details, error.code]).toEqual([method, text, codes.INVALID_ARGUMENT]);
    }
  });

  test.each(rpcs.map((rpc) => [rpc.method, rpc]))('oversize message: %s', async (_, rpc) => {
    const error = await client.refusal(rpc.path, Buffer.alloc(4 * 1024 * 1024 + 1));
    const missing = error.code === codes.UNIMPLEMENTED;
    expect(error.details).toBe(
      missing ? `${rpc.method} is not supported by this server yet` : 'grpc: received message larger than max (4194305 vs. 4194304)',
    );
  });

  test('unknown RPC', async () => {
    const error = await client.refusal('NoSuchThing', new Uint8Array(0));
    expect([error.code, error.details]).toEqual([codes.UNIMPLEMENTED, `unknown method NoSuchThing for service ${publicServices[0]}`]);
  });

  test('a command list that names an unknown namespace needs a task first', async () => {
    const command = {
      ...emptyCommand(),
      commandType: 8,
      requestCancelExternalWorkflowExecutionCommandAttributes: { namespace: 'nowhere', workflowId: 'x' },
    };
    const error = await client.refusal(
      'RespondWorkflowTaskCompleted',
      encode('RespondWorkflowTaskCompleted', { namespace: 'default', commands: [command] }),
    );
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'Task token not set on request.']);
  });
});

/** Codes that say: it was your request. */
const callersMistake: ReadonlySet<number> = new Set([
  codes.INVALID_ARGUMENT,
  codes.NOT_FOUND,
  codes.ALREADY_EXISTS,
  codes.FAILED_PRECONDITION,
  codes.UNIMPLEMENTED,
  codes.RESOURCE_EXHAUSTED,
  // Versioning by sets and rules, which is off for good.
  codes.PERMISSION_DENIED,
  // Queries of workflows that nobody works on.
  codes.DEADLINE_EXCEEDED,
]);

/** The worker's last heartbeat is not kept, so nobody ever has to read it. */
const dropsParts = new Set([pathOf('ShutdownWorker')]);

/** Mostly names that exist, so that requests get further than the first check. */
const names: Names = (field, prng) => (field === 'namespace' ? 'default' : field === 'workflowId' && prng.chance(0.7) ? target : undefined);

test(`${bodiesInAll} random bodies (seed ${seed}) break nothing`, { timeout: 300_000 }, async () => {
  const prng = new Prng(seed);
  const paths = [
    ...rpcs.map((rpc) => ({ path: rpc.path, type: rpc.requestType })),
    ...internalPaths.map((path) => ({ path, type: rpcs[0]!.requestType })),
  ];
  const doomed = { namespace: doomedNamespace(prng), workflowExecutionRetentionPeriod: { seconds: 86_400 } };
  await outcome(pathOf('RegisterNamespace'), encode('RegisterNamespace', doomed));
  const perMethod = Math.ceil(bodiesInAll / paths.length);
  expect(perMethod).toBeGreaterThanOrEqual(20);
  const before = openHandles();
  let sent = 0;
  let refused = 0;
  for (const { path, type } of paths) {
    const bodies = Array.from({ length: perMethod }, () => anyBody(type, prng, sparing(path.slice(path.lastIndexOf('/') + 1), names)));
    sent += bodies.length;
    const surprises = await Promise.all(
      bodies.map(async (body) => {
        const error = await outcome(path, body);
        if (error === undefined)
          return dropsParts.has(path) || decodes(type, body) ? undefined : `${path} accepted ${hex(body)}, which is no ${type.name}`;
        refused++;
        return callersMistake.has(error.code) ? undefined : `${path} answered ${error.code} ${error.details} to ${hex(body)}`;
      }),
    );
    expect(surprises.filter((surprise) => surprise !== undefined)).toEqual([]);
  }
  expect(sent).toBeGreaterThanOrEqual(bodiesInAll);
  expect(refused).toBeGreaterThan(sent / 2);
  // It still does its work, and what was refused left nothing behind.
  await startTarget();
  await describeTarget();
  if (own !== undefined) {
    expect(await own.exitCode(0)).toBeUndefined();
    expect(own.output).not.toContain('a call failed because of a bug');
    expect(openHandles()).toBeLessThanOrEqual(before + 2);
  }
});

test('noise on the socket, before and after the HTTP/2 preface, breaks nothing', async () => {
  const prng = new Prng(seed);
  const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const before = openHandles();
  for (let round = 0; round < 40; round++) {
    await Promise.all(
      Array.from({ length: 10 }, async (_, at) => {
        const noise = Buffer.from(Array.from({ length: prng.int(1, 400) }, () => prng.int(0, 255)));
        const head = [Buffer.alloc(0), Buffer.from('GET /health HTTP/1.1\r\n'), preface, Buffer.concat([preface, settings])][
          at % 4
        ] as Buffer;
        // Half of them look like frames: a short length, a known type, a small stream id.
        if (at >= 5 && noise.length >= 9) noise.set([0, 0, prng.int(0, 63), prng.int(0, 9), prng.int(0, 63), 0, 0, 0, 1]);
        await sent(Buffer.concat([head, noise]));
      }),
    );
  }
  await describeTarget();
  if (own !== undefined) {
    expect(await own.exitCode(0)).toBeUndefined();
    expect(openHandles()).toBeLessThanOrEqual(before + 2);
  }
});

/** Until the server closes it, or has had the time to take everything in. */
function sent(bytes: Buffer): Promise<void> {
  const [host, port] = [address.slice(0, address.lastIndexOf(':')), Number(address.slice(address.lastIndexOf(':') + 1))];
  return new Promise((resolve) => {
    const socket = connect(port, host);
    socket.on('error', () => {});
    socket.on('close', () => resolve());
    socket.on('data', () => {});
    socket.end(bytes);
  });
}

async function outcome(path: string, body: Uint8Array): Promise<{ readonly code: number; readonly details: string } | undefined> {
  try {
    // Long enough for a poll to be taken seriously, short enough for it to end soon.
    await client.call(path, body, { timeoutMs: 2_200 });
    return undefined;
  } catch (error) {
    return error as { readonly code: number; readonly details: string };
  }
}

function hex(body: Uint8Array): string {
  return Buffer.from(body).toString('hex');
}

/** Of the server's process; 0 where that cannot be seen. */
function openHandles(): number {
  if (own?.pid === undefined || process.platform !== 'linux') return 0;
  return readdirSync(`/proc/${own.pid}/fd`).length;
}
