import { utf8Bytes } from '../../kernel/utf8.ts';
import { ArchivalState, ReplicationState } from '../../wire/generated/lean/enums.ts';
import {
  decodeDescribeNamespaceRequest,
  decodeListNamespacesRequest,
  decodeRegisterNamespaceRequest,
  emptyDescribeNamespaceResponse,
  emptyNamespaceConfig,
  emptyNamespaceInfoCapabilities,
  encodeDescribeNamespaceResponse,
  encodeListNamespacesResponse,
  encodeRegisterNamespaceResponse,
  type DescribeNamespaceRequest,
  type DescribeNamespaceResponse,
  type ListNamespacesRequest,
  type ListNamespacesResponse,
  type RegisterNamespaceRequest,
} from '../../wire/generated/lean/namespace_service.ts';
import { namespaceState } from '../errors/details.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLength } from '../validation/lengths.ts';

const pageSizeDefault = 100;
const pageSizeMax = 1_000;
const pageTextBytesMax = 2 * 1024 * 1024;

/** Namespaces: a worker's second call, and their administration. */
export function namespaceMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('DescribeNamespace', decodeDescribeNamespaceRequest, encodeDescribeNamespaceResponse, (request, call) =>
      describe(context, request, call),
    ),
    unary('RegisterNamespace', decodeRegisterNamespaceRequest, encodeRegisterNamespaceResponse, (request, call) =>
      register(context, request, call),
    ),
    unary('ListNamespaces', decodeListNamespacesRequest, encodeListNamespacesResponse, (request, call) => list(context, request, call)),
  ];
}

async function describe(context: HandlerContext, request: DescribeNamespaceRequest, call: Call): Promise<DescribeNamespaceResponse> {
  if (request.namespace !== '' && request.id !== '') {
    throw invalidArgument('GetNamespace operation failed.  Both ID and Name specified in request.');
  }
  const { id, namespace: name } = request;
  const namespace = id === '' ? await context.anyNamespace(call, name) : await context.anyNamespaceById(call, id);
  return namespaceDescription(context, namespace);
}

async function register(context: HandlerContext, request: RegisterNamespaceRequest, call: Call): Promise<Record<string, never>> {
  if (request.namespace === '') throw invalidArgument('Namespace not set on request.');
  checkLength(request.namespace, 'Namespace', context.limits);
  checkBound('RegisterNamespaceRequest.workflow_execution_retention_period', request.workflowExecutionRetentionPeriodMs);
  if (request.isGlobalNamespace) throw notBuilt('is_global_namespace');
  const { clusterName } = context.ports.server;
  if (request.activeClusterName !== '' && request.activeClusterName !== clusterName) throw notBuilt('active_cluster_name');
  if (request.clusters.some((cluster) => cluster.clusterName !== clusterName)) throw notBuilt('clusters');
  checkBound('RegisterNamespaceRequest.history_archival_state', request.historyArchivalState);
  checkBound('RegisterNamespaceRequest.visibility_archival_state', request.visibilityArchivalState);
  if (request.historyArchivalState === ArchivalState.ENABLED) throw notBuilt('history_archival_state');
  if (request.visibilityArchivalState === ArchivalState.ENABLED) throw notBuilt('visibility_archival_state');
  await context.cluster(
    call,
    {
      kind: 'registerNamespace',
      id: context.ports.newId(),
      name: request.namespace,
      description: request.description,
      ownerEmail: request.ownerEmail,
      data: request.data,
      retentionMs: request.workflowExecutionRetentionPeriodMs,
    },
    request.namespace,
  );
  return {};
}

async function list(context: HandlerContext, request: ListNamespacesRequest, call: Call): Promise<ListNamespacesResponse> {
  await context.cluster(call, { kind: 'syncCluster' }, '');
  const pageSize = request.pageSize <= 0 ? pageSizeDefault : Math.min(request.pageSize, pageSizeMax);
  const afterName = request.nextPageToken.length === 0 ? '' : context.tokens.readNamespacePage(request.nextPageToken).afterName;
  const deletedToo = request.namespaceFilter?.includeDeleted === true;
  const rest = context.ports.cluster.namespaces().filter(({ name, state }) => name > afterName && (deletedToo || state !== 'deleted'));
  const page = pageOf(rest, pageSize);
  const last = page.at(-1);
  return {
    namespaces: page.map((namespace) => namespaceDescription(context, namespace)),
    nextPageToken:
      last === undefined || rest.length === page.length ? new Uint8Array(0) : context.tokens.namespacePage({ afterName: last.name }),
  };
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
export function namespaceDescription(context: HandlerContext, namespace: Namespace): DescribeNamespaceResponse {
  const { clusterName } = context.ports.server;
  return {
    ...emptyDescribeNamespaceResponse(),
    namespaceInfo: {
      name: namespace.name,
      state: namespaceState(namespace.state),
      description: namespace.description,
      ownerEmail: namespace.ownerEmail,
      data: namespace.data,
      id: namespace.id,
      capabilities: { ...emptyNamespaceInfoCapabilities(), reportedProblemsSearchAttribute: true },
      limits: {
        blobSizeLimitError: context.limits.blobBytesMax,
        memoSizeLimitError: context.limits.memoBytesMax,
        workflowTaskCompletionSizeLimitError: 0,
      },
      supportsSchedules: false,
    },
    config: {
      ...emptyNamespaceConfig(),
      workflowExecutionRetentionTtlMs: namespace.retentionMs,
      historyArchivalState: ArchivalState.DISABLED,
      visibilityArchivalState: ArchivalState.DISABLED,
    },
    replicationConfig: { activeClusterName: clusterName, clusters: [{ clusterName }], state: ReplicationState.NORMAL },
  };
}
