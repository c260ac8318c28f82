/** Namespaces and search attributes. */
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  decodeDescribeNamespaceResponse,
  decodeListNamespacesResponse,
  emptyRegisterNamespaceRequest,
  encodeDescribeNamespaceRequest,
  encodeListNamespacesRequest,
  encodeRegisterNamespaceRequest,
  type RegisterNamespaceRequest,
} from '../../src/wire/generated/lean/namespace_service.ts';
import {
  decodeListSearchAttributesResponse,
  encodeAddSearchAttributesRequest,
  encodeListSearchAttributesRequest,
  encodeRemoveSearchAttributesRequest,
} from '../../src/wire/generated/lean/operator_service.ts';
import { firstDetail } from './details.ts';
import { openBench, type Bench } from './frontend-bench.ts';
import { namespace } from './stub-ports.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  bench.stub.clusterCommands.length = 0;
  bench.stub.answers.cluster = () => ({ kind: 'done' });
});

const operator = '/temporal.api.operatorservice.v1.OperatorService/';
const dayMs = 86_400_000;

describe('DescribeNamespace', () => {
  const describeBy = (fields: { namespace?: string; id?: string }): Uint8Array =>
    encodeDescribeNamespaceRequest({ namespace: '', id: '', weakConsistency: false, ...fields });

  test.each([[{ namespace: 'default' }], [{ id: 'default-id' }]])('by %j', async (by) => {
    const answer = decodeDescribeNamespaceResponse(await bench.client.call('DescribeNamespace', describeBy(by)));
    expect(answer).toMatchObject({
      namespaceInfo: {
        name: 'default',
        id: 'default-id',
        state: 1,
        limits: { blobSizeLimitError: 2_097_152, memoSizeLimitError: 2_097_152 },
      },
      config: { workflowExecutionRetentionTtlMs: dayMs },
      replicationConfig: { activeClusterName: 'active', clusters: [{ clusterName: 'active' }] },
    });
  });

  test.each([
    [
      { namespace: 'default', id: 'default-id' },
      codes.INVALID_ARGUMENT,
      'GetNamespace operation failed.  Both ID and Name specified in request.',
    ],
    [{}, codes.INVALID_ARGUMENT, 'Namespace not set on request.'],
    [{ id: 'x' }, codes.NOT_FOUND, 'Namespace x is not found.'],
  ])('by %j is refused', async (by, code, message) => {
    const error = await bench.client.refusal('DescribeNamespace', describeBy(by));
    expect([error.code, error.details]).toEqual([code, message]);
  });
});

describe('RegisterNamespace', () => {
  const valid: RegisterNamespaceRequest = {
    ...emptyRegisterNamespaceRequest(),
    namespace: 'orders',
    workflowExecutionRetentionPeriodMs: dayMs,
  };
  const register = (changes: Partial<RegisterNamespaceRequest>): Uint8Array => encodeRegisterNamespaceRequest({ ...valid, ...changes });

  test('asks the cluster', async () => {
    await bench.client.call('RegisterNamespace', register({ description: 'd', ownerEmail: 'o', data: new Map([['k', 'v']]) }));
    expect(bench.stub.clusterCommands).toEqual([
      {
        kind: 'registerNamespace',
        id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
        name: 'orders',
        description: 'd',
        ownerEmail: 'o',
        data: new Map([['k', 'v']]),
        retentionMs: dayMs,
      },
    ]);
  });

  test('twice', async () => {
    bench.stub.answers.cluster = () => ({ kind: 'rejected', rejection: { reason: 'namespace-exists', message: '' } });
    const error = await bench.client.refusal('RegisterNamespace', register({}));
    expect([error.code, error.details, firstDetail(error).type]).toEqual([
      codes.ALREADY_EXISTS,
      'Namespace "orders" already exists',
      'NamespaceAlreadyExistsFailure',
    ]);
  });

  test.each<[string, number, Partial<RegisterNamespaceRequest>]>([
    ['Namespace not set on request.', codes.INVALID_ARGUMENT, { namespace: '' }],
    ['Namespace length exceeds limit.', codes.INVALID_ARGUMENT, { namespace: 'x'.repeat(1_001) }],
    ['A valid retention period is not set on request.', codes.INVALID_ARGUMENT, { workflowExecutionRetentionPeriodMs: 0 }],
    ['A valid retention period is not set on request.', codes.INVALID_ARGUMENT, { workflowExecutionRetentionPeriodMs: 1_000 }],
    ['is_global_namespace is not supported by this server yet', codes.UNIMPLEMENTED, { isGlobalNamespace: true }],
    ['clusters is not supported by this server yet', codes.UNIMPLEMENTED, { clusters: [{ clusterName: 'elsewhere' }] }],
  ])('%s', async (message, code, changes) => {
    const error = await bench.client.refusal('RegisterNamespace', register(changes));
    expect([error.details, error.code]).toEqual([message, code]);
    expect(bench.stub.clusterCommands).toEqual([]);
  });
});

test('a page of ListNamespaces is short where the texts are long', async () => {
  const long = 'x'.repeat(60_000);
  const added = Array.from({ length: 60 }, (_, at) => ({ ...namespace(`p-${String(at).padStart(2, '0')}`), description: long }));
  bench.stub.namespaces.push(...added);
  try {
    const names: string[] = [];
    let nextPageToken: Uint8Array = new Uint8Array(0);
    do {
      const request = encodeListNamespacesRequest({ pageSize: 1_000, nextPageToken, namespaceFilter: undefined });
      const answer = await bench.client.call('ListNamespaces', request);
      expect(answer.length).toBeLessThan(4 * 1024 * 1024);
      const page = decodeListNamespacesResponse(answer);
      names.push(...page.namespaces.map((each) => each.namespaceInfo?.name ?? ''));
      nextPageToken = page.nextPageToken;
    } while (nextPageToken.length > 0);
    expect(names).toEqual(expect.arrayContaining(added.map(({ name }) => name)));
    expect(new Set(names).size).toBe(names.length);
  } finally {
    bench.stub.namespaces.splice(-added.length);
  }
});

test('ListNamespaces in pages', async () => {
  const names: string[] = [];
  let nextPageToken: Uint8Array = new Uint8Array(0);
  do {
    const request = encodeListNamespacesRequest({ pageSize: 1, nextPageToken, namespaceFilter: undefined });
    const page = decodeListNamespacesResponse(await bench.client.call('ListNamespaces', request));
    names.push(...page.namespaces.map((each) => each.namespaceInfo?.name ?? ''));
    nextPageToken = page.nextPageToken;
  } while (nextPageToken.length > 0);
  expect(names).toEqual(['default', 'other']);
  const error = await bench.client.refusal(
    'ListNamespaces',
    encodeListNamespacesRequest({ pageSize: 1, nextPageToken: Buffer.from('x'), namespaceFilter: undefined }),
  );
  expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, 'Invalid NextPageToken.']);
});

describe('search attributes', () => {
  const add = (attributes: Record<string, number>, namespace = 'default'): Uint8Array =>
    encodeAddSearchAttributesRequest({ namespace, searchAttributes: new Map(Object.entries(attributes)) });

  test('list', async () => {
    const answer = await bench.client.call(`${operator}ListSearchAttributes`, encodeListSearchAttributesRequest({ namespace: 'default' }));
    const { customAttributes, systemAttributes } = decodeListSearchAttributesResponse(answer);
    expect([...customAttributes]).toEqual([
      ['CustomKeyword', 2],
      ['CustomInt', 3],
    ]);
    expect(systemAttributes.get('WorkflowId')).toBe(2);
  });

  test('add what is missing', async () => {
    await bench.client.call(`${operator}AddSearchAttributes`, add({ CustomKeyword: 2, Fresh: 5 }));
    expect(bench.stub.clusterCommands).toEqual([
      { kind: 'syncCluster' },
      { kind: 'addSearchAttributes', namespaceId: 'default-id', attributes: new Map([['Fresh', 5]]) },
    ]);
  });

  test('add nothing new asks nobody', async () => {
    // Even of another type.
    await bench.client.call(`${operator}AddSearchAttributes`, add({ CustomKeyword: 2, CustomInt: 2 }));
    expect(bench.stub.clusterCommands).toEqual([{ kind: 'syncCluster' }]);
  });

  test('remove what is there', async () => {
    const request = encodeRemoveSearchAttributesRequest({ namespace: 'default', searchAttributes: ['CustomInt', 'Unknown'] });
    await bench.client.call(`${operator}RemoveSearchAttributes`, request);
    expect(bench.stub.clusterCommands.at(-1)).toEqual({ kind: 'removeSearchAttributes', namespaceId: 'default-id', names: ['CustomInt'] });
  });

  test.each([
    ['Search attribute WorkflowId is reserved by system.', 'AddSearchAttributes', add({ WorkflowId: 2 })],
    ['Unknown search attribute type: 0.', 'AddSearchAttributes', add({ X: 0 })],
    ['Unknown search attribute type: 9.', 'AddSearchAttributes', add({ X: 9 })],
    ['SearchAttributes are not set on request.', 'AddSearchAttributes', add({})],
    ['Namespace is not set on request.', 'AddSearchAttributes', add({ X: 1 }, '')],
    [
      'Unable to remove non-custom search attributes: WorkflowId.',
      'RemoveSearchAttributes',
      encodeRemoveSearchAttributesRequest({ namespace: 'default', searchAttributes: ['WorkflowId'] }),
    ],
  ])('%s', async (message, method, request) => {
    const error = await bench.client.refusal(`${operator}${method}`, request);
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, message]);
  });
});
