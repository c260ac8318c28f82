/** `perdure namespace register` and `perdure namespace list`. */
import { formatDurationMs, parseDurationMs } from '../../config/duration.ts';
import {
  decodeListNamespacesResponse,
  decodeRegisterNamespaceResponse,
  emptyRegisterNamespaceRequest,
  encodeListNamespacesRequest,
  encodeRegisterNamespaceRequest,
  type DescribeNamespaceResponse,
  type ListNamespacesRequest,
  type ListNamespacesResponse,
  type RegisterNamespaceRequest,
  type RegisterNamespaceResponse,
} from '../../wire/generated/lean/namespace_service.ts';
import { usageError } from '../cli-error.ts';
import type { Invocation } from '../command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { withServer, type GrpcClient, type GrpcMethod } from '../grpc-client.ts';
import { listFormat } from '../output.ts';
import { PrintedList, printOne, printWhole } from '../printed-list.ts';
import { plainText } from '../plain-text.ts';

const path = (method: string): string => `/temporal.api.workflowservice.v1.WorkflowService/${method}`;

const registerNamespace: GrpcMethod<RegisterNamespaceRequest, RegisterNamespaceResponse> = {
  path: path('RegisterNamespace'),
  encode: encodeRegisterNamespaceRequest,
  decode: decodeRegisterNamespaceResponse,
};
const listNamespaces: GrpcMethod<ListNamespacesRequest, ListNamespacesResponse> = {
  path: path('ListNamespaces'),
  encode: encodeListNamespacesRequest,
  decode: decodeListNamespacesResponse,
};

export async function runRegister(invocation: Invocation): Promise<ExitCode> {
  const { flags, args, io } = invocation;
  const [namespace = ''] = args;
  const format = listFormat(flags.one('output'), 'text');
  const clusters = flags.all('clusters').flatMap((given) => given.split(',').filter((name) => name !== ''));
  const request: RegisterNamespaceRequest = {
    ...emptyRegisterNamespaceRequest(),
    namespace,
    description: flags.one('description') ?? '',
    ownerEmail: flags.one('owner-email') ?? '',
    workflowExecutionRetentionPeriodMs: retentionMs(flags.one('retention') ?? '72h'),
    clusters: clusters.map((clusterName) => ({ clusterName })),
    activeClusterName: flags.one('active-cluster') ?? '',
    data: new Map(flags.all('data').map(pair)),
    isGlobalNamespace: clusters.length > 1,
  };
  await withServer(invocation, (client) => client.call(registerNamespace, request, { isChange: true }));
  printOne(
    io,
    format,
    () => ({ namespace, registered: true }),
    () => `Namespace ${plainText(namespace)} registered.\n`,
  );
  return exitCodes.done;
}

/** Days too: `3d`. */
function retentionMs(given: string): number {
  const [, days] = /^(\d{1,6})d$/.exec(given) ?? [];
  const ms = days === undefined ? parseDurationMs(given) : Number(days) * 86_400_000;
  if (ms === undefined) throw usageError(`--retention: expected a duration such as 72h or 3d, got "${given}"`);
  return ms;
}

function pair(given: string): readonly [string, string] {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(given) ?? [];
  if (key === undefined || value === undefined) throw usageError(`--data: expected KEY=VALUE, got "${given}"`);
  return [key, value];
}

const states = ['', 'REGISTERED', 'DEPRECATED', 'DELETED'] as const;

export async function runListNamespaces(invocation: Invocation): Promise<ExitCode> {
  const { flags, io } = invocation;
  const forms = { json, titles: ['NAME', 'ID', 'STATE', 'RETENTION', 'ACTIVE', 'CLUSTERS'], cells };
  const list = new PrintedList<DescribeNamespaceResponse>(io, listFormat(flags.one('output'), 'text'), forms);
  return printWhole(io, list, () =>
    withServer(invocation, async (client) => {
      for await (const namespaces of pages(client)) if (!(await list.add(namespaces))) return;
    }),
  );
}

/** Of the first page. */
export async function namespaceNames(client: GrpcClient): Promise<readonly string[]> {
  const { value: first = [] } = await pages(client).next();
  return first.map(({ namespaceInfo }) => namespaceInfo?.name ?? '');
}

async function* pages(client: GrpcClient): AsyncGenerator<readonly DescribeNamespaceResponse[], undefined> {
  let nextPageToken: Uint8Array = new Uint8Array(0);
  do {
    const page = await client.call(listNamespaces, { pageSize: 100, nextPageToken, namespaceFilter: { includeDeleted: false } });
    yield page.namespaces;
    nextPageToken = page.nextPageToken;
  } while (nextPageToken.length > 0);
}

function stateOf({ namespaceInfo }: DescribeNamespaceResponse): string {
  return states[namespaceInfo?.state ?? 0] ?? '';
}

function retentionOf({ config }: DescribeNamespaceResponse): string {
  return formatDurationMs(config?.workflowExecutionRetentionTtlMs ?? 0);
}

function clustersOf({ replicationConfig }: DescribeNamespaceResponse): readonly string[] {
  return (replicationConfig?.clusters ?? []).map(({ clusterName }) => clusterName);
}

function cells(described: DescribeNamespaceResponse): readonly string[] {
  const { namespaceInfo, replicationConfig } = described;
  const clusters = clustersOf(described).join(',');
  return [
    namespaceInfo?.name ?? '',
    namespaceInfo?.id ?? '',
    stateOf(described),
    retentionOf(described),
    replicationConfig?.activeClusterName ?? '',
    clusters,
  ].map((cell) => plainText(cell) || '-');
}

function json(described: DescribeNamespaceResponse): object {
  const { namespaceInfo, replicationConfig, isGlobalNamespace } = described;
  return {
    name: namespaceInfo?.name ?? '',
    id: namespaceInfo?.id ?? '',
    state: `NAMESPACE_STATE_${stateOf(described) || 'UNSPECIFIED'}`,
    description: namespaceInfo?.description ?? '',
    ownerEmail: namespaceInfo?.ownerEmail ?? '',
    data: Object.fromEntries(namespaceInfo?.data ?? []),
    retention: retentionOf(described),
    activeCluster: replicationConfig?.activeClusterName ?? '',
    clusters: clustersOf(described),
    isGlobalNamespace,
  };
}
