/** Namespaces that change, are deprecated, are deleted: who may still reach them, what a name is good for, what a restart knows. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { status as codes } from '@grpc/grpc-js';
import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { expect, onTestFinished, test } from 'vitest';
import type { LogOptions } from '../../src/config/server-options.ts';
import { memoryServer } from '../support/memory-server.ts';
import { refusal } from '../support/refusal.ts';

const { NAMESPACE_STATE_DELETED, NAMESPACE_STATE_DEPRECATED, NAMESPACE_STATE_REGISTERED } = temporal.api.enums.v1.NamespaceState;
const inMemory: LogOptions = { kind: 'embedded', filename: undefined, sqlitePragmas: [] };

class Bench {
  readonly #connection: Connection;
  readonly stop: () => Promise<void>;

  constructor(connection: Connection, stop: () => Promise<void>) {
    this.#connection = connection;
    this.stop = stop;
  }

  get workflows(): Connection['workflowService'] {
    return this.#connection.workflowService;
  }

  get operator(): Connection['operatorService'] {
    return this.#connection.operatorService;
  }

  async info(by: { namespace?: string; id?: string }) {
    return (await this.workflows.describeNamespace(by)).namespaceInfo;
  }

  start(namespace: string, workflowId: string, taskQueue = 'q') {
    return this.workflows.startWorkflowExecution({
      namespace,
      workflowId,
      workflowType: { name: 'T' },
      taskQueue: { name: taskQueue },
      requestId: workflowId,
    });
  }

  /** It would wait for 50 seconds at least. */
  poll(namespace: string, taskQueue = 'q') {
    return this.#connection.withDeadline(Date.now() + 120_000, () =>
      this.workflows.pollWorkflowTaskQueue({ namespace, taskQueue: { name: taskQueue } }),
    );
  }

  /** How many polls wait, or have just ended. */
  async pollers(namespace: string, taskQueue: string): Promise<number> {
    const { pollers } = await this.workflows.describeTaskQueue({ namespace, taskQueue: { name: taskQueue }, taskQueueType: 1 });
    return pollers?.length ?? 0;
  }

  async names(includeDeleted: boolean): Promise<readonly unknown[]> {
    const { namespaces } = await this.workflows.listNamespaces({ namespaceFilter: { includeDeleted } });
    return namespaces.map(({ namespaceInfo }) => namespaceInfo?.name);
  }
}

async function open(log: LogOptions = inMemory): Promise<Bench> {
  const server = await memoryServer({ log, namespaces: ['default', 'orders'] });
  const connection = await Connection.connect({ address: server.address });
  const stop = async (): Promise<void> => {
    await connection.close();
    await server.stop();
  };
  onTestFinished(stop);
  return new Bench(connection, stop);
}

test('nobody calls it by its old name, nor by the new one; who describes it sees that it is deleted', async () => {
  const bench = await open();
  await bench.start('orders', 'w');
  const id = (await bench.info({ namespace: 'orders' }))?.id ?? '';
  const renamed = `orders-deleted-${id.slice(0, 5)}`;
  expect(await bench.operator.deleteNamespace({ namespace: 'orders' })).toMatchObject({ deletedNamespace: renamed });

  const calls = (namespace: string): readonly (() => Promise<unknown>)[] => [
    () => bench.start(namespace, 'another'),
    () => bench.workflows.describeWorkflowExecution({ namespace, execution: { workflowId: 'w' } }),
    () => bench.workflows.listWorkflowExecutions({ namespace }),
    () => bench.workflows.terminateWorkflowExecution({ namespace, workflowExecution: { workflowId: 'w' } }),
    () => bench.poll(namespace),
    () => bench.operator.addSearchAttributes({ namespace, searchAttributes: { A: 2 } }),
  ];
  for (const call of calls('orders')) {
    expect(await refusal(call())).toEqual({ code: codes.NOT_FOUND, details: 'Namespace orders is not found.' });
  }
  for (const call of calls(renamed)) {
    const details = 'Namespace has invalid state: Deleted. Must be Registered or Deprecated.';
    expect(await refusal(call())).toEqual({ code: codes.FAILED_PRECONDITION, details });
  }
  for (const by of [{ id }, { namespace: renamed }]) {
    expect(await bench.info(by)).toMatchObject({ id, name: renamed, state: NAMESPACE_STATE_DELETED });
  }
  expect(await bench.names(false)).toEqual(['default']);
  expect(await bench.names(true)).toEqual(['default', renamed]);
});

test('its name can be registered again at once, and the new one has nothing of it; both can be deleted', async () => {
  const bench = await open();
  await bench.start('orders', 'w');
  const first = await bench.info({ namespace: 'orders' });
  const deleted = await bench.operator.deleteNamespace({ namespaceId: first?.id ?? '' });
  await bench.workflows.registerNamespace({ namespace: 'orders', workflowExecutionRetentionPeriod: { seconds: 86_400 } as never });
  const second = await bench.info({ namespace: 'orders' });
  expect(second).toMatchObject({ state: NAMESPACE_STATE_REGISTERED });
  expect(second?.id).not.toBe(first?.id);
  expect((await bench.workflows.listWorkflowExecutions({ namespace: 'orders' })).executions).toEqual([]);
  await bench.start('orders', 'w');

  // Once more changes nothing: whoever got no answer asks again.
  for (const again of [{ namespaceId: first?.id ?? '' }, { namespace: deleted.deletedNamespace }]) {
    expect(await bench.operator.deleteNamespace(again)).toEqual(deleted);
  }
  expect(await bench.info({ namespace: 'orders' })).toEqual(second);
  const both = await bench.operator.deleteNamespace({ namespace: 'orders' });
  expect(await bench.names(true)).toEqual(['default', ...[deleted, both].map(({ deletedNamespace }) => deletedNamespace).toSorted()]);
});

test('calls that wait in it end as if nothing had come; those of another namespace wait on', async () => {
  const bench = await open();
  await bench.start('orders', 'w');
  const polls = new Map(['orders', 'default'].map((namespace) => [namespace, bench.poll(namespace, 'idle')]));
  const first = await bench.workflows.getWorkflowExecutionHistory({
    namespace: 'orders',
    execution: { workflowId: 'w' },
    waitNewEvent: true,
  });
  const { nextPageToken } = first;
  const history = bench.workflows.getWorkflowExecutionHistory({
    namespace: 'orders',
    execution: { workflowId: 'w' },
    waitNewEvent: true,
    nextPageToken,
  });
  for (const namespace of polls.keys()) await expect.poll(() => bench.pollers(namespace, 'idle')).toBe(1);
  await bench.operator.deleteNamespace({ namespace: 'orders' });
  expect((await polls.get('orders'))?.taskToken).toHaveLength(0);
  expect((await history).history?.events ?? []).toEqual([]);
  expect(await refusal(bench.poll('orders'))).toMatchObject({ code: codes.NOT_FOUND });

  await bench.start('default', 'w', 'idle');
  expect((await polls.get('default'))?.workflowExecution).toMatchObject({ workflowId: 'w' });
});

test('in a deprecated namespace nothing is started, and what runs goes on', async () => {
  const bench = await open();
  await bench.start('orders', 'w');
  await bench.workflows.deprecateNamespace({ namespace: 'orders' });
  expect(await bench.info({ namespace: 'orders' })).toMatchObject({ state: NAMESPACE_STATE_DEPRECATED });
  const signaled = { namespace: 'orders', workflowId: 'x', workflowType: { name: 'T' }, taskQueue: { name: 'q' }, signalName: 's' };
  for (const start of [bench.start('orders', 'another'), bench.workflows.signalWithStartWorkflowExecution(signaled)]) {
    const details = 'Namespace has invalid state: Deprecated. Must be Registered.';
    expect(await refusal(start)).toEqual({ code: codes.FAILED_PRECONDITION, details });
  }
  expect((await bench.poll('orders')).workflowExecution).toMatchObject({ workflowId: 'w' });
  const back = bench.workflows.updateNamespace({ namespace: 'orders', updateInfo: { state: NAMESPACE_STATE_REGISTERED } });
  expect(await refusal(back)).toEqual({ code: codes.INVALID_ARGUMENT, details: 'Invalid namespace state update.' });
  await bench.workflows.deprecateNamespace({ namespace: 'orders' });
  await bench.operator.deleteNamespace({ namespace: 'orders' });
  expect(await refusal(bench.workflows.deprecateNamespace({ namespace: 'orders' }))).toMatchObject({ code: codes.NOT_FOUND });
});

test('an update changes what it says, answers with what is so now, and leaves the rest', async () => {
  const bench = await open();
  const first = await bench.workflows.updateNamespace({
    namespace: 'orders',
    updateInfo: { description: 'd', ownerEmail: 'o', data: { k: 'v' } },
  });
  const second = await bench.workflows.updateNamespace({
    namespace: 'orders',
    updateInfo: { data: { l: 'w' } },
    config: {
      workflowExecutionRetentionTtl:
        temporal.api.namespace.v1.NamespaceConfig.fromObject({ workflowExecutionRetentionTtl: { seconds: 7_200 } })
          .workflowExecutionRetentionTtl ?? null,
    },
  });
  expect(first.namespaceInfo).toMatchObject({ description: 'd', ownerEmail: 'o', data: { k: 'v' } });
  expect(second.namespaceInfo).toMatchObject({ description: 'd', ownerEmail: 'o', data: { k: 'v', l: 'w' }, name: 'orders' });
  expect(Number(first.config?.workflowExecutionRetentionTtl?.seconds)).toBe(3 * 86_400);
  expect(Number(second.config?.workflowExecutionRetentionTtl?.seconds)).toBe(7_200);
  expect(await bench.info({ namespace: 'orders' })).toEqual(second.namespaceInfo);
});

test.each<[number, string, Omit<temporal.api.workflowservice.v1.IUpdateNamespaceRequest, 'namespace'>]>([
  [codes.INVALID_ARGUMENT, 'Invalid namespace state update.', { updateInfo: { state: 9 as never } }],
  [codes.UNIMPLEMENTED, 'update_info.state DELETED', { updateInfo: { state: NAMESPACE_STATE_DELETED } }],
  [codes.INVALID_ARGUMENT, 'A valid retention period is not set on request.', { config: { workflowExecutionRetentionTtl: {} } }],
  [codes.INVALID_ARGUMENT, "Bad binary checksum x doesn't exists.", { deleteBadBinary: 'x' }],
  [codes.UNIMPLEMENTED, 'config.bad_binaries', { config: { badBinaries: { binaries: { x: {} } } } }],
  [codes.UNIMPLEMENTED, 'config.custom_search_attribute_aliases', { config: { customSearchAttributeAliases: { Keyword01: 'Color' } } }],
  [codes.UNIMPLEMENTED, 'promote_namespace', { promoteNamespace: true }],
  [codes.UNIMPLEMENTED, 'active_cluster_name', { replicationConfig: { activeClusterName: 'elsewhere' } }],
  [codes.UNIMPLEMENTED, 'replication_config.state HANDOVER', { replicationConfig: { state: 2 } }],
  [codes.INVALID_ARGUMENT, 'Namespace description, owner and data take', { updateInfo: { description: 'x'.repeat(70_000) } }],
])('an update that cannot be: %i %s', async (code, details, request) => {
  const bench = await open();
  const before = await bench.workflows.describeNamespace({ namespace: 'orders' });
  expect(await refusal(bench.workflows.updateNamespace({ namespace: 'orders', ...request }))).toEqual({
    code,
    details: expect.stringContaining(details) as string,
  });
  expect(await bench.workflows.describeNamespace({ namespace: 'orders' })).toEqual(before);
});

test('a restart knows it as deleted', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-delete-namespace-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const log: LogOptions = { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] };
  const bench = await open(log);
  const id = (await bench.info({ namespace: 'default' }))?.id ?? '';
  const { deletedNamespace: name } = await bench.operator.deleteNamespace({ namespace: 'default' });
  await bench.stop();

  // What the options name is registered when it is not there.
  const again = await open(log);
  expect(await again.info({ id })).toMatchObject({ name, state: NAMESPACE_STATE_DELETED });
  expect((await again.info({ namespace: 'default' }))?.id).not.toBe(id);
});

test.each([
  [{}, codes.INVALID_ARGUMENT, 'Namespace not set on request.'],
  [{ namespace: 'orders', namespaceId: 'x' }, codes.INVALID_ARGUMENT, 'Only one of namespace name or Id should be set on request.'],
  [{ namespace: 'nowhere' }, codes.NOT_FOUND, 'Namespace nowhere is not found.'],
  [{ namespaceId: 'nowhere' }, codes.NOT_FOUND, 'Namespace nowhere is not found.'],
  [{ namespace: 'x'.repeat(1_001) }, codes.INVALID_ARGUMENT, 'Namespace length exceeds limit.'],
  [{ namespace: 'temporal-system' }, codes.FAILED_PRECONDITION, 'unable to delete system namespace'],
  [{ namespaceId: '32049b68-7872-4094-8e63-d0dd59896a83' }, codes.FAILED_PRECONDITION, 'unable to delete system namespace'],
])('%j is refused', async (request, code, details) => {
  const bench = await open();
  expect(await refusal(bench.operator.deleteNamespace(request))).toEqual({ code, details });
  expect(await bench.names(true)).toEqual(['default', 'orders']);
});
