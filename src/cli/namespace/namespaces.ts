/** `perdure namespace …`: register, list, describe, update and delete. */
import { formatDurationMs, parseDurationMs } from '../../config/duration.ts';
import { ArchivalState } from '../../wire/generated/lean/enums.ts';
import {
  decodeDescribeNamespaceResponse,
  decodeListNamespacesResponse,
  decodeRegisterNamespaceResponse,
  decodeUpdateNamespaceResponse,
  emptyDescribeNamespaceRequest,
  emptyNamespaceConfig,
  emptyRegisterNamespaceRequest,
  emptyUpdateNamespaceInfo,
  emptyUpdateNamespaceRequest,
  encodeDescribeNamespaceRequest,
  encodeListNamespacesRequest,
  encodeRegisterNamespaceRequest,
  encodeUpdateNamespaceRequest,
  type DescribeNamespaceRequest,
  type DescribeNamespaceResponse,
  type ListNamespacesRequest,
  type ListNamespacesResponse,
  type RegisterNamespaceRequest,
  type RegisterNamespaceResponse,
  type UpdateNamespaceRequest,
  type UpdateNamespaceResponse,
} from '../../wire/generated/lean/namespace_service.ts';
import {
  decodeDeleteNamespaceResponse,
  emptyDeleteNamespaceRequest,
  encodeDeleteNamespaceRequest,
  type DeleteNamespaceRequest,
  type DeleteNamespaceResponse,
} from '../../wire/generated/lean/operator_service.ts';
import { usageError } from '../cli-error.ts';
import type { Invocation } from '../command.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { withServer, type GrpcClient, type GrpcMethod } from '../grpc-client.ts';
import { listFormat } from '../output.ts';
import { PrintedList, printOne, printWhole } from '../printed-list.ts';
import { printFields } from '../printed-fields.ts';
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
const describeNamespace: GrpcMethod<DescribeNamespaceRequest, DescribeNamespaceResponse> = {
  path: path('DescribeNamespace'),
  encode: encodeDescribeNamespaceRequest,
  decode: decodeDescribeNamespaceResponse,
};
const updateNamespace: GrpcMethod<UpdateNamespaceRequest, UpdateNamespaceResponse> = {
  path: path('UpdateNamespace'),
  encode: encodeUpdateNamespaceRequest,
  decode: decodeUpdateNamespaceResponse,
};
const deleteNamespace: GrpcMethod<DeleteNamespaceRequest, DeleteNamespaceResponse> = {
  path: '/temporal.api.operatorservice.v1.OperatorService/DeleteNamespace',
  encode: encodeDeleteNamespaceRequest,
  decode: decodeDeleteNamespaceResponse,
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

export async function runDescribeNamespace(invocation: Invocation): Promise<ExitCode> {
  const [namespace = ''] = invocation.args;
  listFormat(invocation.flags.one('output'), 'text');
  const request = { ...emptyDescribeNamespaceRequest(), namespace };
  return printFields(invocation, fieldsOf(await withServer(invocation, (client) => client.call(describeNamespace, request))));
}

export async function runUpdateNamespace(invocation: Invocation): Promise<ExitCode> {
  const { flags, args } = invocation;
  const [namespace = ''] = args;
  listFormat(flags.one('output'), 'text');
  const changes = ['retention', 'description', 'owner-email', 'data'];
  if (changes.every((name) => flags.all(name).length === 0)) {
    throw usageError('nothing to update is given', { next: `Give one of ${changes.map((name) => `--${name}`).join(', ')}.` });
  }
  const [description, ownerEmail] = [flags.one('description'), flags.one('owner-email')];
  if (description === '' || ownerEmail === '') {
    throw usageError('an empty text changes nothing', { why: 'To a server, an empty description or address is one that is not given.' });
  }
  const retention = flags.one('retention');
  const request: UpdateNamespaceRequest = {
    ...emptyUpdateNamespaceRequest(),
    namespace,
    updateInfo: {
      ...emptyUpdateNamespaceInfo(),
      description: description ?? '',
      ownerEmail: ownerEmail ?? '',
      data: new Map(flags.all('data').map(pair)),
    },
    config: retention === undefined ? undefined : { ...emptyNamespaceConfig(), workflowExecutionRetentionTtlMs: retentionMs(retention) },
  };
  return printFields(
    invocation,
    fieldsOf(await withServer(invocation, (client) => client.call(updateNamespace, request, { isChange: true }))),
  );
}

export async function runDeleteNamespace(invocation: Invocation): Promise<ExitCode> {
  const { flags, args, io } = invocation;
  const [namespace = ''] = args;
  const format = listFormat(flags.one('output'), 'text');
  if (flags.switched('yes') !== true && !(await isConfirmed(namespace, invocation))) {
    io.err('perdure: nothing was deleted\n');
    return exitCodes.failed;
  }
  const request = { ...emptyDeleteNamespaceRequest(), namespace };
  const { deletedNamespace } = await withServer(invocation, (client) => client.call(deleteNamespace, request, { isChange: true }));
  printOne(
    io,
    format,
    () => ({ namespace, deleted: true, deletedNamespace }),
    () =>
      `Namespace ${plainText(namespace)} deleted. What it held is removed in the background, under the name ${plainText(deletedNamespace)}.\n`,
  );
  return exitCodes.done;
}

/** Nobody can undo it, so whoever deletes a namespace types its name, or says --yes. */
async function isConfirmed(namespace: string, { io }: Invocation): Promise<boolean> {
  if (!io.terminal.answers) throw usageError('namespace delete needs --yes here', { why: 'Nobody can be asked for confirmation.' });
  const question = `Its running workflows end, and its histories are removed: this cannot be undone.\nType the name of the namespace to delete it: `;
  return (await io.terminal.ask(question))?.trim() === namespace;
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

/** What the calls that show one namespace have in common. */
type Told = Pick<DescribeNamespaceResponse, 'namespaceInfo' | 'config' | 'replicationConfig' | 'isGlobalNamespace'>;

function stateOf({ namespaceInfo }: Told): string {
  return states[namespaceInfo?.state ?? 0] ?? '';
}

function retentionOf({ config }: Told): string {
  return formatDurationMs(config?.workflowExecutionRetentionTtlMs ?? 0);
}

function clustersOf({ replicationConfig }: Told): readonly string[] {
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

function json(described: Told) {
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

/** What the list shows, and what it leaves out. */
function fieldsOf(described: Told) {
  const { historyArchivalState = 0, historyArchivalUri = '' } = described.config ?? {};
  return { ...json(described), historyArchival: historyArchivalState === ArchivalState.ENABLED ? historyArchivalUri : 'disabled' };
}
