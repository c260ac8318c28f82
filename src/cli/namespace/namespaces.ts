/** `perdure namespace …`: register, list, describe, update and delete. */
import { formatDurationMs, parseDurationMs } from '../../config/duration.ts';
import { ArchivalState } from '../../wire/generated/lean/enums.ts';
import * as wire from '../../wire/generated/lean/namespace_service.ts';
import { calls as operatorCalls, emptyDeleteNamespaceRequest } from '../../wire/generated/lean/operator_service.ts';
import { usageError } from '../cli-error.ts';
import { exitCodes, type ExitCode, type Invocation } from '../command.ts';
import { methodsOf, pagesOf, withServer, type GrpcClient } from '../grpc-client.ts';
import { PrintedList, printOne } from '../printed-list.ts';
import { printFields } from '../printed-fields.ts';
import { plainText } from '../plain-text.ts';

const calls = {
  ...methodsOf('temporal.api.workflowservice.v1.WorkflowService', wire.calls),
  ...methodsOf('temporal.api.operatorservice.v1.OperatorService', operatorCalls),
};

export async function runRegister(invocation: Invocation): Promise<ExitCode> {
  const { flags, args } = invocation;
  const [namespace = ''] = args;
  const clusters = flags.all('clusters').flatMap((given) => given.split(',').filter((name) => name !== ''));
  const request: wire.RegisterNamespaceRequest = {
    ...wire.emptyRegisterNamespaceRequest(),
    namespace,
    description: flags.one('description') ?? '',
    ownerEmail: flags.one('owner-email') ?? '',
    workflowExecutionRetentionPeriodMs: retentionMs(flags.one('retention') ?? '72h'),
    clusters: clusters.map((clusterName) => ({ clusterName })),
    activeClusterName: flags.one('active-cluster') ?? '',
    data: new Map(flags.all('data').map(pair)),
    isGlobalNamespace: clusters.length > 1,
  };
  await withServer(invocation, (client) => client.call(calls.RegisterNamespace, request, { isChange: true }));
  return printOne(invocation, { namespace, registered: true }, () => `Namespace ${plainText(namespace)} registered.\n`);
}

/** Also accepts days, such as `3d`. */
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
  const request = { ...wire.emptyDescribeNamespaceRequest(), namespace };
  return printFields(invocation, fieldsOf(await withServer(invocation, (client) => client.call(calls.DescribeNamespace, request))));
}

export async function runUpdateNamespace(invocation: Invocation): Promise<ExitCode> {
  const { flags, args } = invocation;
  const [namespace = ''] = args;
  const changes = ['retention', 'description', 'owner-email', 'data'];
  if (changes.every((name) => flags.all(name).length === 0)) {
    throw usageError('no change is given', { next: `Give at least one of ${changes.map((name) => `--${name}`).join(', ')}.` });
  }
  const [description, ownerEmail] = [flags.one('description'), flags.one('owner-email')];
  if (description === '' || ownerEmail === '') {
    throw usageError('an empty text changes nothing', { why: 'For the server, an empty description or address is the same as none.' });
  }
  const retention = flags.one('retention');
  const request: wire.UpdateNamespaceRequest = {
    ...wire.emptyUpdateNamespaceRequest(),
    namespace,
    updateInfo: {
      ...wire.emptyUpdateNamespaceInfo(),
      description: description ?? '',
      ownerEmail: ownerEmail ?? '',
      data: new Map(flags.all('data').map(pair)),
    },
    config:
      retention === undefined ? undefined : { ...wire.emptyNamespaceConfig(), workflowExecutionRetentionTtlMs: retentionMs(retention) },
  };
  return printFields(
    invocation,
    fieldsOf(await withServer(invocation, (client) => client.call(calls.UpdateNamespace, request, { isChange: true }))),
  );
}

export async function runDeleteNamespace(invocation: Invocation): Promise<ExitCode> {
  const { flags, args, io } = invocation;
  const [namespace = ''] = args;
  if (flags.switched('yes') !== true && !(await isConfirmed(namespace, invocation))) {
    io.err('perdure: nothing was deleted\n');
    return exitCodes.failed;
  }
  const request = { ...emptyDeleteNamespaceRequest(), namespace };
  const { deletedNamespace } = await withServer(invocation, (client) => client.call(calls.DeleteNamespace, request, { isChange: true }));
  return printOne(
    invocation,
    { namespace, deleted: true, deletedNamespace },
    () =>
      `Namespace ${plainText(namespace)} deleted. Its contents are removed in the background, under the name ${plainText(deletedNamespace)}.\n`,
  );
}

/** A deletion cannot be undone, so the user has to type the name of the namespace, or give --yes. */
async function isConfirmed(namespace: string, { io }: Invocation): Promise<boolean> {
  if (!io.terminal.answers) throw usageError('namespace delete needs --yes here', { why: 'There is no terminal to ask on.' });
  const question = `Its running workflows are terminated, and its histories are removed. This cannot be undone.\nType the name of the namespace to delete it: `;
  return (await io.terminal.ask(question))?.trim() === namespace;
}

const states = ['', 'REGISTERED', 'DEPRECATED', 'DELETED'] as const;

export async function runListNamespaces(invocation: Invocation): Promise<ExitCode> {
  const forms = { json, titles: ['NAME', 'ID', 'STATE', 'RETENTION', 'ACTIVE', 'CLUSTERS'], cells };
  const list = new PrintedList<wire.DescribeNamespaceResponse>(invocation, forms);
  return list.whole(() =>
    withServer(invocation, async (client) => {
      for await (const { namespaces } of pages(client)) if (!(await list.add(namespaces))) return;
    }),
  );
}

export async function namespaceNames(client: GrpcClient): Promise<readonly string[]> {
  const { value: first } = await pages(client).next();
  return (first?.namespaces ?? []).map(({ namespaceInfo }) => namespaceInfo?.name ?? '');
}

function pages(client: GrpcClient): AsyncGenerator<wire.ListNamespacesResponse, undefined> {
  return pagesOf((nextPageToken) =>
    client.call(calls.ListNamespaces, { pageSize: 100, nextPageToken, namespaceFilter: { includeDeleted: false } }),
  );
}

type Described = Pick<wire.DescribeNamespaceResponse, 'namespaceInfo' | 'config' | 'replicationConfig' | 'isGlobalNamespace'>;

function stateOf({ namespaceInfo }: Described): string {
  return states[namespaceInfo?.state ?? 0] ?? '';
}

function retentionOf({ config }: Described): string {
  return formatDurationMs(config?.workflowExecutionRetentionTtlMs ?? 0);
}

function clustersOf({ replicationConfig }: Described): readonly string[] {
  return (replicationConfig?.clusters ?? []).map(({ clusterName }) => clusterName);
}

function cells(described: wire.DescribeNamespaceResponse): readonly string[] {
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

function json(described: Described) {
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

function fieldsOf(described: Described) {
  const { historyArchivalState = 0, historyArchivalUri = '' } = described.config ?? {};
  return { ...json(described), historyArchival: historyArchivalState === ArchivalState.ENABLED ? historyArchivalUri : 'disabled' };
}
