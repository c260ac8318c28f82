/** What comes before and beside the services: versions, readiness, health, the log. */
import { Client, credentials, status as codes } from '@grpc/grpc-js';
import { Connection } from '@temporalio/client';
import { afterEach, describe, expect, test } from 'vitest';
import { startFrontend } from '../../src/grpc/frontend.ts';
import { satisfies } from '../../src/grpc/interceptors/semantic-versions.ts';
import { silentLogger, type LogFields, type Logger } from '../../src/observability/logger.ts';
import { decodeGetSystemInfoResponse } from '../../src/wire/generated/lean/namespace_service.ts';
import { decodeHealthCheckResponse, encodeHealthCheckRequest } from '../../src/wire/generated/lean/health.ts';
import { healthPageOf } from '../support/health-page.ts';
import { firstDetail } from './details.ts';
import { openBench, type Bench } from './frontend-bench.ts';
import { StubServer } from './stub-ports.ts';

const open: Bench[] = [];
afterEach(async () => {
  for (const bench of open.splice(0)) await bench.close();
});

async function bench(...overrides: Parameters<typeof openBench>): Promise<Bench> {
  const opened = await openBench(...overrides);
  open.push(opened);
  return opened;
}

const none = new Uint8Array(0);

describe('versions', () => {
  const sdk = { 'client-name': 'temporal-typescript', 'supported-server-versions': '>=1.0.0 <2.0.0' };

  test.each([
    [{}],
    [{ ...sdk, 'client-version': '1.24.0' }],
    [{ ...sdk, 'client-version': '2.0.0-rc.1' }],
    [{ 'client-name': 'temporal-ui', 'client-version': '2.34.0' }],
    [{ 'client-name': 'my-own', 'client-version': 'yesterday' }],
  ])('%j is let in', async (metadata) => {
    expect(decodeGetSystemInfoResponse(await (await bench()).client.call('GetSystemInfo', none, { metadata })).serverVersion).toBe(
      '1.32.0',
    );
  });

  test('a client that is too new', async () => {
    const { client } = await bench();
    const error = await client.refusal('GetSystemInfo', none, { metadata: { ...sdk, 'client-version': '2.0.0' } });
    expect([error.code, error.details]).toEqual([
      codes.FAILED_PRECONDITION,
      'Client version 2.0.0 is not supported. Server supports temporal-typescript versions: <2.0.0',
    ]);
    expect(firstDetail(error)).toEqual({
      type: 'ClientVersionNotSupportedFailure',
      fields: { clientVersion: '2.0.0', clientName: 'temporal-typescript', supportedVersions: '<2.0.0' },
    });
  });

  test('a client that wants another server', async () => {
    const { client } = await bench();
    const error = await client.refusal('GetSystemInfo', none, { metadata: { 'supported-server-versions': '>=2.0.0' } });
    expect([error.code, error.details]).toEqual([
      codes.FAILED_PRECONDITION,
      'Server version 1.32.0 is not supported. Client supports server versions: >=2.0.0',
    ]);
    expect(firstDetail(error).type).toBe('ServerVersionNotSupportedFailure');
  });

  test.each([
    [{ ...sdk, 'client-version': 'new' }, 'Unable to parse client version: new'],
    [{ 'supported-server-versions': 'any' }, 'Unable to parse supported server versions: any'],
  ])('%j cannot be read', async (metadata, message) => {
    const error = await (await bench()).client.refusal('GetSystemInfo', none, { metadata });
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, message]);
  });

  test.each([
    ['1.32.0', '>=1.0.0 <2.0.0', true],
    ['2.0.0', '>=1.0.0 <2.0.0', false],
    ['0.9.0', '>= 1.0.0', false],
    ['1.0.0', '<1.0.0 || >=1.0.0', true],
    ['1.2.3', '1.2.3', true],
    ['1.2.3', '!=1.2.3', false],
    ['1.2.3-alpha', '<1.2.3', true],
    ['1.2.3', '>1.2.3-alpha', true],
    ['x', '>1', undefined],
    ['1', '>', undefined],
    ['1', `>${'1'.repeat(500)}`, undefined],
  ])('%s in %s: %s', (version, range, expected) => {
    expect(satisfies(version, range)).toBe(expected);
  });
});

test('a real client connects and learns the capabilities', async () => {
  const { address } = await bench();
  const connection = await Connection.connect({ address });
  const info = await connection.workflowService.getSystemInfo({});
  expect(info.serverVersion).toBe('1.32.0');
  expect(info.capabilities).toMatchObject({
    signalAndQueryHeader: true,
    sdkMetadata: true,
    upsertMemo: true,
    encodedFailureAttributes: true,
  });
  expect(info.capabilities?.eagerWorkflowStart).toBe(true);
  expect(info.capabilities?.supportsSchedules).toBe(true);
  const cluster = await connection.workflowService.getClusterInfo({});
  expect(cluster).toMatchObject({
    serverVersion: '1.32.0',
    clusterId: 'cluster-id',
    clusterName: 'active',
    historyShardCount: 4,
    persistenceStore: 'embedded',
  });
  await connection.close();
});

test('a server that is not ready says so everywhere', async () => {
  const stub = new StubServer();
  const frontend = await startFrontend({ host: '127.0.0.1', port: 0, ports: stub.ports, serving: false });
  const { RawClient } = await import('./raw-client.ts');
  const client = new RawClient(`127.0.0.1:${frontend.port}`);
  const error = await client.refusal('GetSystemInfo', none);
  expect([error.code, error.details]).toEqual([codes.UNAVAILABLE, 'Frontend is not healthy yet']);
  expect((await fetch(`http://127.0.0.1:${frontend.port}/health`)).status).toBe(503);
  expect((await fetch(`http://127.0.0.1:${frontend.port}/health/live`)).status).toBe(200);
  expect(decodeHealthCheckResponse(await client.call('/grpc.health.v1.Health/Check', none)).status).toBe(2);
  frontend.setServing(true);
  await client.call('GetSystemInfo', none);
  expect((await fetch(`http://127.0.0.1:${frontend.port}/health`)).status).toBe(200);
  client.close();
  await frontend.stop(0);
});

test('the port of a role tells of its own partitions', async () => {
  const lost = { partition: 'p.history/3', state: 'failed', reason: 'a record is damaged' } as const;
  const condition = {
    unserved: (topic?: string) => (topic === 'p.matching' ? [] : [lost]),
    ...{ concerns: () => [], runsPutAside: () => 0, watch: () => () => {} },
  };
  const at = { host: '127.0.0.1', port: 0, orFree: false };
  const ofRoles = { rolePorts: { history: at, matching: at }, topics: { history: 'p.history', matching: 'p.matching' } };
  const frontend = await startFrontend({ host: '127.0.0.1', port: 0, ports: { ...new StubServer().ports, condition }, ...ofRoles });
  const { port, rolePorts: opened } = frontend;
  const pages = [port, opened.history, opened.matching].map((each) => healthPageOf(`127.0.0.1:${each}`));
  const notServing = { status: 'NOT_SERVING', partitionsNotServed: 1, partitions: [lost] };
  expect(await Promise.all(pages)).toEqual([
    [503, notServing],
    [503, notServing],
    [200, { status: 'SERVING' }],
  ]);
  frontend.setServing(false);
  expect((await healthPageOf(`127.0.0.1:${opened.matching}`))[0]).toBe(503);
  await frontend.stop(0);
});

test('what wants a person and stops nobody stands in GET /health, which stays 200', async () => {
  const { address } = await bench({ condition: { unserved: () => [], concerns: () => [], runsPutAside: () => 2, watch: () => () => {} } });
  const answer = await fetch(`http://${address}/health`);
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'SERVING', runsQuarantined: 2 }]);
});

test('what a database does not take stands in GET /health, which stays 200; GET /health/state has each partition', async () => {
  const reason = 'postgres db:5432/perdure cannot be reached';
  const partition = (waitsSeconds: number | undefined) => ({
    ...({ state: 'active', reason: '', epoch: 3, offset: 9 } as const),
    checkpoint: {
      ...{ offset: 7, ageSeconds: 60, tailRecords: 1, tailBytes: 300, unwrittenBytes: 500 },
      ...(waitsSeconds === undefined ? {} : { trouble: { reason, seconds: waitsSeconds } }),
    },
  });
  const shards = [20, 40].map((seconds, index) => ({ shard: index + 1, ...partition(seconds), executions: { hot: 1, cold: 0 } }));
  const matching = [undefined, 30].map((seconds, index) => ({ partition: index, ...partition(seconds), storedTasks: 5 }));
  const memory = { stateBytes: 2 ** 30, limits: { hotStateBytesMax: 5, historyCacheBytesMax: 6, unwrittenStateBytesMax: 7 } };
  const { address } = await bench({ state: () => ({ memory, shards, matching, purges: [] }) });
  const answer = await fetch(`http://${address}/health`);
  const longest = { shard: 2, reason, seconds: 40, unwrittenBytes: 500 };
  const checkpointsWaiting = { shards: 2, matchingPartitions: 1, longest };
  expect([answer.status, await answer.json()]).toEqual([200, { status: 'SERVING', checkpointsWaiting }]);
  const page = await fetch(`http://${address}/health/state`);
  expect([page.status, await page.json()]).toEqual([200, { status: 'SERVING', memory, shards, matching, purges: [] }]);
});

test('what an operator wants done is done for a POST with his header alone, which no page of a browser can send', async () => {
  const { address, stub } = await bench();
  const asked: unknown[] = [];
  stub.answers.read = (shard, request) => {
    asked.push(request);
    return shard === 2 ? { kind: 'unavailable', message: 'it is busy' } : { kind: 'done' };
  };
  const url = `http://${address}/visibility/rebuild`;
  expect((await fetch(url)).status).toBe(405);
  expect((await fetch(url, { method: 'OPTIONS' })).headers.get('access-control-allow-headers')).toBeNull();
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(403);
  expect(asked).toEqual([]);
  const answer = await fetch(url, { method: 'POST', headers: { 'perdure-operator': 'test' } });
  const shards = [{ shard: 1 }, { shard: 2, refused: 'it is busy' }, { shard: 3 }, { shard: 4 }];
  expect([answer.status, await answer.json()]).toEqual([200, { shards }]);
});

describe('grpc.health.v1', () => {
  test.each([
    '',
    'temporal.api.workflowservice.v1.WorkflowService',
    'temporal.api.operatorservice.v1.OperatorService',
    'temporal.api.adminservice.v1.AdminService',
    'temporal.server.api.adminservice.v1.AdminService',
  ])('Check %j', async (service) => {
    const answer = await (await bench()).client.call('/grpc.health.v1.Health/Check', encodeHealthCheckRequest({ service }));
    expect(decodeHealthCheckResponse(answer).status).toBe(1);
  });

  test('Check of a stranger', async () => {
    const error = await (await bench()).client.refusal('/grpc.health.v1.Health/Check', encodeHealthCheckRequest({ service: 'x' }));
    expect([error.code, error.details]).toEqual([codes.NOT_FOUND, 'unknown service x']);
  });

  test.each(['Check', 'Watch'])('%s of a malformed request is its sender’s mistake', async (method) => {
    const bugs: string[] = [];
    const { client } = await bench({ logger: { ...silentLogger, error: (message) => void bugs.push(message) } });
    const error = await client.refusal(`/grpc.health.v1.Health/${method}`, Buffer.from([10, 5]));
    expect([error.code, error.details]).toEqual([
      codes.INVALID_ARGUMENT,
      'grpc: error unmarshalling request: field at byte 2 needs 5 bytes, 0 are left',
    ]);
    expect(bugs).toEqual([]);
  });

  test('Watch tells what is, then what changes, until it is cancelled', async () => {
    const { frontend, address } = await bench();
    const client = new Client(address, credentials.createInsecure());
    const watch = client.makeServerStreamRequest(
      '/grpc.health.v1.Health/Watch',
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => decodeHealthCheckResponse(bytes).status,
      encodeHealthCheckRequest({ service: '' }),
    );
    watch.on('error', () => {});
    const next = (): Promise<number> => new Promise((resolve) => watch.once('data', resolve));
    expect(await next()).toBe(1);
    const changed = next();
    frontend.setServing(false);
    expect(await changed).toBe(2);
    const back = next();
    frontend.setServing(true);
    expect(await back).toBe(1);
    watch.cancel();
    client.close();
  });

  test('Watch of a stranger says so and goes on', async () => {
    const { address } = await bench();
    const client = new Client(address, credentials.createInsecure());
    const watch = client.makeServerStreamRequest(
      '/grpc.health.v1.Health/Watch',
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes: Buffer) => decodeHealthCheckResponse(bytes).status,
      encodeHealthCheckRequest({ service: 'x' }),
    );
    watch.on('error', () => {});
    expect(await new Promise((resolve) => watch.once('data', resolve))).toBe(3);
    watch.cancel();
    client.close();
  });
});

test('the log names calls, never their content', async () => {
  const records: LogFields[] = [];
  const logger: Logger = { ...silentLogger, enabled: () => true, debug: (_message, fields) => void records.push(fields ?? {}) };
  const { client } = await bench({ logger });
  await client.call('GetSystemInfo', none, { metadata: { authorization: 'Bearer secret' } });
  await client.refusal('DescribeNamespace', Buffer.from([10, 1, 120]));
  expect(records).toMatchObject([
    { operation: 'GetSystemInfo', code: 0, error: undefined },
    { operation: 'DescribeNamespace', code: codes.NOT_FOUND, error: 'Namespace x is not found.' },
  ]);
  expect(JSON.stringify(records)).not.toContain('secret');
});
