/** Workers that send heartbeats, from the socket: who finds them, and how many at a time. */
import { status as codes } from '@grpc/grpc-js';
import proto, { type temporal } from '@temporalio/proto';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WorkerRegistry } from '../../src/workers/worker-registry.ts';
import { openBench, type Bench } from './frontend-bench.ts';
import type { FrontendPorts } from '../../src/grpc/ports.ts';

const { workflowservice, worker: messages } = proto.temporal.api;
type Heartbeat = temporal.api.worker.v1.IWorkerHeartbeat;
const running = 1;
const shuttingDown = 2;
const shutDown = 3;

async function opened(overrides: Partial<FrontendPorts> = {}): Promise<WorkersBench> {
  const bench = await openBench(overrides);
  onTestFinished(() => bench.close());
  return new WorkersBench(bench);
}

class WorkersBench {
  readonly bench: Bench;

  constructor(bench: Bench) {
    this.bench = bench;
  }

  async send(heartbeats: readonly Heartbeat[], namespace = 'default'): Promise<void> {
    const { RecordWorkerHeartbeatRequest: request } = workflowservice.v1;
    await this.bench.client.call(
      'RecordWorkerHeartbeat',
      request.encode({ namespace, identity: 'me', workerHeartbeat: [...heartbeats] }).finish(),
    );
  }

  async list(request: temporal.api.workflowservice.v1.IListWorkersRequest = {}) {
    const bytes = workflowservice.v1.ListWorkersRequest.encode({ namespace: 'default', ...request }).finish();
    return workflowservice.v1.ListWorkersResponse.decode(await this.bench.client.call('ListWorkers', bytes));
  }

  async keys(request: temporal.api.workflowservice.v1.IListWorkersRequest = {}): Promise<readonly unknown[]> {
    return (await this.list(request)).workers.map(({ workerInstanceKey }) => workerInstanceKey);
  }

  async count(query = '', includeSystemWorkers = false): Promise<number> {
    const bytes = workflowservice.v1.CountWorkersRequest.encode({ namespace: 'default', query, includeSystemWorkers }).finish();
    return Number(workflowservice.v1.CountWorkersResponse.decode(await this.bench.client.call('CountWorkers', bytes)).count);
  }
}

const whole: Heartbeat = {
  workerInstanceKey: 'key',
  workerIdentity: '7@host',
  hostInfo: { hostName: 'host', processId: '7', workerGroupingKey: 'group', currentHostCpuUsage: 0.5 },
  taskQueue: 'orders',
  deploymentVersion: { deploymentName: 'd', buildId: 'b' },
  sdkName: 'temporal-typescript',
  sdkVersion: '1.13.0',
  status: running,
  startTime: { seconds: 1_700_000_000 as unknown as never },
  workflowTaskSlotsInfo: { currentAvailableSlots: 5, slotSupplierKind: 'Fixed' },
  totalStickyCacheHit: 7,
  plugins: [{ name: 'p', version: '1' }],
  drivers: [{ type: 's3' }],
};

test('a heartbeat is listed in short and in full, and described in full', async () => {
  const workers = await opened();
  await workers.send([whole]);
  const { workers: listed, workersInfo } = await workers.list();
  expect(listed[0]).toMatchObject({
    ...{ workerInstanceKey: 'key', workerIdentity: '7@host', taskQueue: 'orders', sdkName: 'temporal-typescript', sdkVersion: '1.13.0' },
    ...{ status: running, hostName: 'host', workerGroupingKey: 'group', processId: '7' },
    deploymentVersion: { deploymentName: 'd', buildId: 'b' },
    plugins: [{ name: 'p', version: '1' }],
    drivers: [{ type: 's3' }],
  });
  expect(Number(listed[0]?.startTime?.seconds)).toBe(1_700_000_000);
  const { DescribeWorkerRequest, DescribeWorkerResponse } = workflowservice.v1;
  const bytes = DescribeWorkerRequest.encode({ namespace: 'default', workerInstanceKey: 'key' }).finish();
  const described = DescribeWorkerResponse.decode(await workers.bench.client.call('DescribeWorker', bytes)).workerInfo;
  for (const info of [described, workersInfo[0]]) {
    expect(messages.v1.WorkerInfo.toObject(messages.v1.WorkerInfo.create(info ?? {}), { longs: Number })).toMatchObject({
      workerHeartbeat: {
        totalStickyCacheHit: 7,
        workflowTaskSlotsInfo: { currentAvailableSlots: 5 },
        hostInfo: { currentHostCpuUsage: 0.5 },
      },
    });
  }
});

test('queries choose workers, for lists and for counts', async () => {
  const workers = await opened();
  await workers.send([
    { ...whole, workerInstanceKey: 'a' },
    { workerInstanceKey: 'b', taskQueue: 'bills', status: shuttingDown },
  ]);
  expect(await workers.keys({ query: `TaskQueue = 'bills'` })).toEqual(['b']);
  expect(await workers.keys({ query: `WorkerStatus = 'ShuttingDown'` })).toEqual(['b']);
  expect(await workers.count()).toBe(2);
  expect(await workers.count(`HostName STARTS_WITH 'ho'`)).toBe(1);
  expect(await workers.count(`Unknown = 'x'`)).toBe(0);
  const malformed = workflowservice.v1.CountWorkersRequest.encode({ namespace: 'default', query: 'a =' }).finish();
  expect(await workers.bench.client.refusal('CountWorkers', malformed)).toMatchObject({
    code: codes.INVALID_ARGUMENT,
    details: 'malformed query: syntax error at position 31',
  });
});

test('pages come in the order of their keys, each worker once, and a token of others is refused', async () => {
  const workers = await opened();
  const all = Array.from({ length: 7 }, (_, at) => `key-${at}`);
  await workers.send(all.toReversed().map((workerInstanceKey) => ({ workerInstanceKey })));
  const seen: unknown[] = [];
  let nextPageToken = new Uint8Array(0);
  do {
    const page = await workers.list({ pageSize: 3, nextPageToken });
    seen.push(...page.workers.map(({ workerInstanceKey }) => workerInstanceKey));
    nextPageToken = new Uint8Array(page.nextPageToken);
  } while (nextPageToken.length > 0);
  expect(seen).toEqual(all);
  const forged = workflowservice.v1.ListWorkersRequest.encode({ namespace: 'default', nextPageToken: new Uint8Array([1, 2]) }).finish();
  expect(await workers.bench.client.refusal('ListWorkers', forged)).toMatchObject({ code: codes.INVALID_ARGUMENT });
});

test('without a page size a list ends where a client could receive no more', async () => {
  const registry = new WorkerRegistry(() => ({ ttlMs: 300_000, workersMax: 1_000, bytesMax: 2 ** 30 }));
  const workers = await opened({ workers: { registry, isEnabled: () => true, waitForPolls: () => false } });
  const large = { ...whole, workerIdentity: 'x'.repeat(60_000) };
  for (let batch = 0; batch < 2; batch++) {
    await workers.send(Array.from({ length: 30 }, (_, at) => ({ ...large, workerInstanceKey: `${batch}-${at}` })));
  }
  const first = await workers.list();
  expect(first.workers.length).toBeLessThan(60);
  const rest = await workers.list({ nextPageToken: first.nextPageToken });
  expect(rest.workers.length + (await workers.list({ nextPageToken: rest.nextPageToken })).workers.length).toBe(60 - first.workers.length);
});

test('ten thousand heartbeats in one request keep no other call waiting', async () => {
  const registry = new WorkerRegistry(() => ({ ttlMs: 300_000, workersMax: 10_000, bytesMax: 2 ** 30 }));
  const workers = await opened({ workers: { registry, isEnabled: () => true, waitForPolls: () => false } });
  const answered: string[] = [];
  const heartbeats = Array.from({ length: 10_000 }, (_, at) => ({ workerInstanceKey: `key-${at}`, taskQueue: 'q', sdkName: 'sdk' }));
  const many = workers.send(heartbeats).then(() => answered.push('many'));
  const one = workers.count().then(() => answered.push('one'));
  await Promise.all([many, one]);
  expect(answered).toEqual(['one', 'many']);
  expect(await workers.count()).toBe(10_000);
  expect((await workers.list({ pageSize: 5, query: 'WorkerInstanceKey STARTS_WITH "key-99"' })).workers).toHaveLength(5);
});

test('without a page size a page has as many as can be written in a moment, and the rest follow', async () => {
  const registry = new WorkerRegistry(() => ({ ttlMs: 300_000, workersMax: 20_000, bytesMax: 2 ** 30 }));
  const workers = await opened({ workers: { registry, isEnabled: () => true, waitForPolls: () => false } });
  await workers.send(Array.from({ length: 10_000 }, (_, at) => ({ workerInstanceKey: `key-${at}` })));
  await workers.send(Array.from({ length: 5 }, (_, at) => ({ workerInstanceKey: `later-${at}` })));
  const first = await workers.list();
  const rest = await workers.list({ nextPageToken: first.nextPageToken });
  expect([first.workers.length, rest.workers.length, rest.nextPageToken.length]).toEqual([10_000, 5, 0]);
});

test('nobody looks on for whoever has gone away', async () => {
  const registry = new WorkerRegistry(() => ({ ttlMs: 300_000, workersMax: 1_000, bytesMax: 2 ** 30 }));
  const workers = await opened({ workers: { registry, isEnabled: () => true, waitForPolls: () => false } });
  await workers.send([whole]);
  const [worker] = registry.workersAfter('default-id', undefined, 1, performance.now());
  let looks = 0;
  // As many as nobody has: there are always more.
  registry.workersAfter = () => Array.from({ length: ++looks < 5_000 ? 1_000 : 0 }, () => worker ?? expect.unreachable());
  const request = workflowservice.v1.CountWorkersRequest.encode({ namespace: 'default', query: `HostName STARTS_WITH 'ho'` }).finish();
  const call = workers.bench.client.start('CountWorkers', request);
  await vi.waitUntil(() => looks > 0, { interval: 1, timeout: 60_000 });
  call.cancel();
  await expect(call.answer).rejects.toMatchObject({ code: codes.CANCELLED });
  let before = -1;
  await vi.waitUntil(() => before === (before = looks), { interval: 50, timeout: 60_000 });
  expect(looks).toBeLessThan(2_500);
});

test('a page that takes the last of those that are meant is the last', async () => {
  const workers = await opened();
  await workers.send(
    ['a', 'b', 'c', 'd'].map((workerInstanceKey) => ({ workerInstanceKey, taskQueue: workerInstanceKey < 'c' ? 'early' : 'late' })),
  );
  const page = await workers.list({ pageSize: 2, query: 'TaskQueue = "early"' });
  expect([page.workers.length, page.nextPageToken.length]).toEqual([2, 0]);
});

test('who shuts down is gone, said with a heartbeat or with its shutdown', async () => {
  const workers = await opened();
  await workers.send([{ workerInstanceKey: 'a' }, { workerInstanceKey: 'b' }, { workerInstanceKey: 'c' }]);
  await workers.send([{ workerInstanceKey: 'a', status: shutDown }]);
  const request = { namespace: 'default', identity: 'me', workerHeartbeat: { workerInstanceKey: 'b', status: shutDown } };
  await workers.bench.client.call('ShutdownWorker', workflowservice.v1.ShutdownWorkerRequest.encode(request).finish());
  expect(await workers.keys()).toEqual(['c']);
  const bytes = workflowservice.v1.DescribeWorkerRequest.encode({ namespace: 'default', workerInstanceKey: 'b' }).finish();
  expect(await workers.bench.client.refusal('DescribeWorker', bytes)).toMatchObject({
    code: codes.NOT_FOUND,
    details: 'Worker b not found',
  });
});

test('workers of the server itself are listed on demand', async () => {
  const workers = await opened();
  await workers.send([{ workerInstanceKey: 'a', taskQueue: 'temporal-sys-per-ns-tq' }, { workerInstanceKey: 'b' }]);
  expect(await workers.keys()).toEqual(['b']);
  expect(await workers.keys({ includeSystemWorkers: true })).toEqual(['a', 'b']);
  expect(await workers.count('', true)).toBe(2);
});

test('a namespace sees its own workers alone', async () => {
  const workers = await opened();
  await workers.send([whole], 'other');
  expect(await workers.keys()).toEqual([]);
  expect(await workers.keys({ namespace: 'other' })).toEqual(['key']);
});

test('one bad heartbeat of a request: none is kept; one too large is refused; beside a shutdown it is passed over', async () => {
  const workers = await opened();
  const tooLarge = { workerInstanceKey: 'large', workerIdentity: 'x'.repeat(70_000) };
  await expect(workers.send([whole, tooLarge])).rejects.toMatchObject({
    code: codes.INVALID_ARGUMENT,
    details: 'WorkerHeartbeat size exceeds limit.',
  });
  await expect(workers.send([whole, { workerInstanceKey: 'x'.repeat(1_001) }])).rejects.toMatchObject({
    details: 'WorkerInstanceKey length exceeds limit.',
  });
  const request = { namespace: 'default', identity: 'me', workerHeartbeat: tooLarge };
  await workers.bench.client.call('ShutdownWorker', workflowservice.v1.ShutdownWorkerRequest.encode(request).finish());
  expect(await workers.keys()).toEqual([]);
});

test('switched off, heartbeats are taken and not kept, and workers are informed; as whether they are to wait for their polls', async () => {
  const registry = new WorkerRegistry(() => ({ ttlMs: 300_000, workersMax: 10, bytesMax: 2 ** 20 }));
  const workers = await opened({
    workers: { registry, isEnabled: (namespace) => namespace !== 'default', waitForPolls: (namespace) => namespace === 'default' },
  });
  await workers.send([whole]);
  await workers.send([whole], 'other');
  expect(await workers.keys()).toEqual([]);
  expect(await workers.keys({ namespace: 'other' })).toEqual(['key']);
  const told = async (namespace: string): Promise<unknown> => {
    const bytes = workflowservice.v1.DescribeNamespaceRequest.encode({ namespace }).finish();
    const answer = await workers.bench.client.call('DescribeNamespace', bytes);
    const { workerHeartbeats, workerPollCompleteOnShutdown } =
      workflowservice.v1.DescribeNamespaceResponse.decode(answer).namespaceInfo?.capabilities ?? {};
    return [workerHeartbeats, workerPollCompleteOnShutdown];
  };
  expect([await told('default'), await told('other')]).toEqual([
    [false, true],
    [true, false],
  ]);
});
