import { utf8Bytes } from '../../kernel/utf8.ts';
import type { ArchivalPort } from '../../ports/archiver.ts';
import type { ArchivalChange, ArchivalState as Archival } from '../../cluster/archival-state.ts';
import type { UpdateNamespace as UpdateNamespaceCommand } from '../../cluster/cluster-commands.ts';
import { ArchivalState, NamespaceState, ReplicationState } from '../../wire/generated/lean/enums.ts';
import * as wire from '../../wire/generated/lean/namespace_service.ts';
import { namespaceState } from '../errors/details.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { methodsOf } from '../method.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLength } from '../validation/names.ts';

const pageSizeDefault = 100;
const pageSizeMax = 1_000;
const pageTextBytesMax = 2 * 1024 * 1024;

export const namespaceMethods = methodsOf(wire.codecs, {
  DescribeNamespace: async (context, request, call) => {
    if (request.namespace !== '' && request.id !== '') {
      throw invalidArgument('GetNamespace operation failed.  Both ID and Name specified in request.');
    }
    const { id, namespace: name } = request;
    if (name === '' && id === '') throw noNamespace();
    const namespace = id === '' ? await context.anyNamespace(call, name) : await context.anyNamespaceById(call, id);
    return namespaceDescription(context, namespace);
  },
  RegisterNamespace: async (context, request, call) => {
    const { namespace: name, description, ownerEmail, data, workflowExecutionRetentionPeriodMs: retentionMs } = request;
    if (name === '') throw noNamespace();
    checkLength(name, 'Namespace', context.limits);
    checkBound('RegisterNamespaceRequest.workflow_execution_retention_period', retentionMs);
    if (request.isGlobalNamespace) throw notBuilt('is_global_namespace');
    refuseOtherClusters(context.ports.server.clusterName, request.activeClusterName, request.clusters);
    checkBound('RegisterNamespaceRequest.history_archival_state', request.historyArchivalState);
    checkBound('RegisterNamespaceRequest.visibility_archival_state', request.visibilityArchivalState);
    const { historyArchivalState: state, historyArchivalUri: uri } = request;
    const archival = await registeredArchival(context.ports.archival, { state, uri });
    const id = context.ports.newId();
    await context.cluster(call, name, { kind: 'registerNamespace', id, name, description, ownerEmail, data, retentionMs, archival });
    return {};
  },
  /** What is empty stays as it is. What a workflow has of its namespace (its retention) it has from its start. */
  UpdateNamespace: async (context, request, call) => {
    if (request.namespace === '') throw noNamespace();
    const { updateInfo: info, config } = request;
    const { id, name } = await context.namespace(call, request.namespace);
    refuseUnbuiltUpdate(context, request);
    const { historyArchivalState: archivalState = 0, historyArchivalUri: uri = '' } = config ?? {};
    const archival = await archivalChange(context.ports.archival, { state: archivalState, uri });
    await context.cluster(call, request.namespace, {
      kind: 'updateNamespace',
      id,
      description: given(info?.description),
      ownerEmail: given(info?.ownerEmail),
      data: info === undefined || info.data.size === 0 ? undefined : info.data,
      retentionMs: config?.workflowExecutionRetentionTtlMs,
      state: wantedState(info?.state ?? NamespaceState.UNSPECIFIED),
      archival,
    });
    const updated = namespaceDescription(context, await context.namespace(call, name));
    const { namespaceInfo, config: newConfig, replicationConfig } = updated;
    return { namespaceInfo, config: newConfig, replicationConfig, failoverVersion: 0, isGlobalNamespace: false };
  },
  DeprecateNamespace: async (context, request, call) => {
    if (request.namespace === '') throw noNamespace();
    const { id } = await context.namespace(call, request.namespace);
    const unsaid = { description: undefined, ownerEmail: undefined, data: undefined, retentionMs: undefined };
    await context.cluster(call, request.namespace, { kind: 'updateNamespace', id, ...unsaid, state: 'deprecated' });
    return {};
  },
  ListNamespaces: async (context, request, call) => {
    await context.cluster(call, '', { kind: 'syncCluster' });
    const pageSize = request.pageSize <= 0 ? pageSizeDefault : Math.min(request.pageSize, pageSizeMax);
    const afterName = request.nextPageToken.length === 0 ? '' : context.tokens.namespacePage.read(request.nextPageToken).afterName;
    const deletedToo = request.namespaceFilter?.includeDeleted === true;
    const rest = context.ports.cluster.namespaces().filter(({ name, state }) => name > afterName && (deletedToo || state !== 'deleted'));
    const page = pageOf(rest, pageSize);
    const last = page.at(-1);
    return {
      namespaces: page.map((namespace) => namespaceDescription(context, namespace)),
      nextPageToken:
        last === undefined || rest.length === page.length ? new Uint8Array(0) : context.tokens.namespacePage.sign({ afterName: last.name }),
    };
  },
});

function noNamespace(): Error {
  return invalidArgument('Namespace not set on request.');
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function wantedState(state: number): UpdateNamespaceCommand['state'] {
  checkBound('UpdateNamespaceInfo.state', state);
  switch (state) {
    case NamespaceState.REGISTERED:
      return 'registered';
    case NamespaceState.DEPRECATED:
      return 'deprecated';
    case NamespaceState.DELETED:
      throw notBuilt('update_info.state DELETED (DeleteNamespace of OperatorService is)');
    default:
      return undefined;
  }
}

function refuseUnbuiltUpdate({ ports }: HandlerContext, request: wire.UpdateNamespaceRequest): void {
  const { config, replicationConfig } = request;
  if (config?.workflowExecutionRetentionTtlMs !== undefined) {
    checkBound('NamespaceConfig.workflow_execution_retention_ttl', config.workflowExecutionRetentionTtlMs);
  }
  checkBound('NamespaceConfig.history_archival_state', config?.historyArchivalState ?? 0);
  checkBound('NamespaceConfig.visibility_archival_state', config?.visibilityArchivalState ?? 0);
  if ((config?.badBinaries?.length ?? 0) > 0) throw notBuilt('config.bad_binaries');
  if ((config?.customSearchAttributeAliases.size ?? 0) > 0) throw notBuilt('config.custom_search_attribute_aliases');
  if (request.deleteBadBinary !== '') throw invalidArgument(`Bad binary checksum ${request.deleteBadBinary} doesn't exists.`);
  if (request.promoteNamespace) throw notBuilt('promote_namespace');
  refuseOtherClusters(ports.server.clusterName, replicationConfig?.activeClusterName ?? '', replicationConfig?.clusters ?? []);
  const state = replicationConfig?.state ?? ReplicationState.UNSPECIFIED;
  checkBound('NamespaceReplicationConfig.state', state);
  if (state === ReplicationState.HANDOVER) throw notBuilt('replication_config.state HANDOVER');
}

function refuseOtherClusters(own: string, active: string, clusters: readonly { readonly clusterName: string }[]): void {
  if (active !== '' && active !== own) throw notBuilt('active_cluster_name');
  if (clusters.some(({ clusterName }) => clusterName !== own)) throw notBuilt('clusters');
}

/** At least one; shorter where the texts are long, so that a client can receive it. */
function pageOf(namespaces: readonly Namespace[], pageSize: number): readonly Namespace[] {
  let bytes = 0;
  let count = 0;
  while (count < namespaces.length && count < pageSize) {
    bytes += textBytes(namespaces[count] as Namespace);
    if (count > 0 && bytes > pageTextBytesMax) break;
    count++;
  }
  return namespaces.slice(0, count);
}

function textBytes({ description: text, ownerEmail, data }: Namespace): number {
  let bytes = utf8Bytes(text) + utf8Bytes(ownerEmail);
  for (const [name, value] of data) bytes += utf8Bytes(name) + utf8Bytes(value);
  return bytes;
}

/** Nothing that is not built is advertised: workers change their behaviour by what stands here. */
export function namespaceDescription(context: HandlerContext, namespace: Namespace): wire.DescribeNamespaceResponse {
  const { clusterName } = context.ports.server;
  return {
    ...wire.emptyDescribeNamespaceResponse(),
    namespaceInfo: {
      name: namespace.name,
      state: namespaceState(namespace.state),
      description: namespace.description,
      ownerEmail: namespace.ownerEmail,
      data: namespace.data,
      id: namespace.id,
      capabilities: {
        ...wire.emptyNamespaceInfoCapabilities(),
        eagerWorkflowStart: true,
        reportedProblemsSearchAttribute: true,
        syncUpdate: true,
        asyncUpdate: true,
        workflowUpdateCallbacks: true,
        workerHeartbeats: context.ports.workers.isEnabled(namespace.name),
        workflowPause: true,
        workerPollCompleteOnShutdown: context.ports.workers.waitForPolls(namespace.name),
      },
      limits: {
        blobSizeLimitError: context.limits.blobBytesMax,
        memoSizeLimitError: context.limits.memoBytesMax,
        workflowTaskCompletionSizeLimitError: 0,
      },
      supportsSchedules: true,
    },
    config: {
      ...wire.emptyNamespaceConfig(),
      workflowExecutionRetentionTtlMs: namespace.retentionMs,
      ...describedArchival(context.ports.archival, namespace.archival),
      visibilityArchivalState: ArchivalState.DISABLED,
    },
    replicationConfig: { activeClusterName: clusterName, clusters: [{ clusterName }], state: ReplicationState.NORMAL },
  };
}

/** What a request says of the archival of histories. In a cluster that archives none it is passed over, as in Temporal. */
type Asked = { readonly state: number; readonly uri: string };

/** What is left out is the cluster's default. */
function registeredArchival(port: ArchivalPort | undefined, asked: Asked): Promise<ArchivalChange | undefined> {
  const isEnabledByDefault = port?.namespaceDefault.isEnabled === true;
  const state = asked.state === ArchivalState.UNSPECIFIED && isEnabledByDefault ? ArchivalState.ENABLED : asked.state;
  return archivalChange(port, { ...asked, state });
}

async function archivalChange(port: ArchivalPort | undefined, { state, uri }: Asked): Promise<ArchivalChange | undefined> {
  if (port === undefined || (state === ArchivalState.UNSPECIFIED && uri === '')) return undefined;
  const defaultUri = port.namespaceDefault.uri;
  const isEnabled = state === ArchivalState.UNSPECIFIED ? undefined : state === ArchivalState.ENABLED;
  const wanted = uri === '' && isEnabled === true ? defaultUri : uri;
  const problem = wanted === '' ? undefined : await port.archiver.problemOf(wanted);
  if (problem !== undefined) throw invalidArgument(`Invalid archival URI: ${problem}`);
  return { isEnabled, uri, defaultUri };
}

function describedArchival(port: ArchivalPort | undefined, { isEnabled, uri }: Archival) {
  if (port === undefined) return { historyArchivalState: ArchivalState.DISABLED, historyArchivalUri: '' };
  return { historyArchivalState: isEnabled ? ArchivalState.ENABLED : ArchivalState.DISABLED, historyArchivalUri: uri };
}
