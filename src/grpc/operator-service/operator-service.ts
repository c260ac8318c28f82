import {
  decodeAddSearchAttributesRequest,
  decodeDeleteNamespaceRequest,
  decodeListClustersRequest,
  decodeListSearchAttributesRequest,
  decodeRemoveSearchAttributesRequest,
  encodeAddSearchAttributesResponse,
  encodeDeleteNamespaceResponse,
  encodeListClustersResponse,
  encodeListSearchAttributesResponse,
  encodeRemoveSearchAttributesResponse,
  type AddSearchAttributesRequest,
  type DeleteNamespaceRequest,
  type DeleteNamespaceResponse,
  type ListClustersRequest,
  type ListClustersResponse,
  type ListSearchAttributesRequest,
  type ListSearchAttributesResponse,
  type RemoveSearchAttributesRequest,
} from '../../wire/generated/lean/operator_service.ts';
import { systemNamespace } from '../../kernel/system-namespace.ts';
import { statusCode } from '../errors/status-code.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary } from '../method.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import type { Call, Service } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLength } from '../validation/lengths.ts';

export const operatorServiceName = 'temporal.api.operatorservice.v1.OperatorService';

/** Search attributes of a namespace, and its end. Methods that are not listed answer UNIMPLEMENTED. */
export function operatorService(context: HandlerContext): Service {
  return {
    name: operatorServiceName,
    methods: new Map([
      unary('AddSearchAttributes', decodeAddSearchAttributesRequest, encodeAddSearchAttributesResponse, (request, call) =>
        addSearchAttributes(context, request, call),
      ),
      unary('RemoveSearchAttributes', decodeRemoveSearchAttributesRequest, encodeRemoveSearchAttributesResponse, (request, call) =>
        removeSearchAttributes(context, request, call),
      ),
      unary('ListSearchAttributes', decodeListSearchAttributesRequest, encodeListSearchAttributesResponse, (request, call) =>
        listSearchAttributes(context, request, call),
      ),
      unary('DeleteNamespace', decodeDeleteNamespaceRequest, encodeDeleteNamespaceResponse, (request, call) =>
        deleteNamespace(context, request, call),
      ),
      unary('ListClusters', decodeListClustersRequest, encodeListClustersResponse, (request) => listClusters(context, request)),
    ]),
  };
}

/** Names that exist already are passed over, whatever their type. Usable by Start as soon as this answers. */
export async function addSearchAttributes(
  context: HandlerContext,
  request: AddSearchAttributesRequest,
  call: Call,
): Promise<Record<string, never>> {
  const namespace = await namespaceOf(context, call, request.namespace);
  if (request.searchAttributes.size === 0) throw invalidArgument('SearchAttributes are not set on request.');
  const missing = new Map<string, number>();
  for (const [name, type] of request.searchAttributes) {
    if (name === '') throw invalidArgument('SearchAttributes are not set on request.');
    checkLength(name, 'SearchAttribute', context.limits);
    if (context.ports.cluster.systemSearchAttributes.has(name)) throw invalidArgument(`Search attribute ${name} is reserved by system.`);
    checkBound('AddSearchAttributesRequest.search_attributes', type);
    if (!namespace.customSearchAttributes.has(name)) missing.set(name, type);
  }
  if (missing.size > 0)
    await context.cluster(call, { kind: 'addSearchAttributes', namespaceId: namespace.id, attributes: missing }, namespace.name);
  return {};
}

export async function removeSearchAttributes(
  context: HandlerContext,
  request: RemoveSearchAttributesRequest,
  call: Call,
): Promise<Record<string, never>> {
  const namespace = await namespaceOf(context, call, request.namespace);
  if (request.searchAttributes.length === 0) throw invalidArgument('SearchAttributes are not set on request.');
  const system = request.searchAttributes.find((name) => context.ports.cluster.systemSearchAttributes.has(name));
  if (system !== undefined) throw invalidArgument(`Unable to remove non-custom search attributes: ${system}.`);
  const names = request.searchAttributes.filter((name) => namespace.customSearchAttributes.has(name));
  if (names.length > 0) await context.cluster(call, { kind: 'removeSearchAttributes', namespaceId: namespace.id, names }, namespace.name);
  return {};
}

export async function listSearchAttributes(
  context: HandlerContext,
  request: ListSearchAttributesRequest,
  call: Call,
): Promise<ListSearchAttributesResponse> {
  const namespace = await namespaceOf(context, call, request.namespace);
  return {
    customAttributes: namespace.customSearchAttributes,
    systemAttributes: context.ports.cluster.systemSearchAttributes,
    storageSchema: new Map(),
  };
}

/** Further than anybody waits, and within what times can be. */
const deleteDelayMsMax = 36_500 * 86_400_000;

/** Its name is free when this answers, and nobody can call it any more. What it holds is purged behind that (src/actors/cluster/namespace-purge.ts). */
async function deleteNamespace(context: HandlerContext, request: DeleteNamespaceRequest, call: Call): Promise<DeleteNamespaceResponse> {
  const { namespace: name, namespaceId: id } = request;
  if (name === '' && id === '') throw invalidArgument('Namespace not set on request.');
  if (name !== '' && id !== '') throw invalidArgument('Only one of namespace name or Id should be set on request.');
  if (name === systemNamespace.name || id === systemNamespace.id) {
    throw new StatusError(statusCode.failedPrecondition, 'unable to delete system namespace');
  }
  // As of now: another process may have given the name to another namespace.
  await context.cluster(call, { kind: 'syncCluster' }, name);
  const namespace = id === '' ? await context.anyNamespace(call, name) : await context.anyNamespaceById(call, id);
  const settings = context.ports.deletionSettings();
  const asked = request.namespaceDeleteDelayMs;
  const deleteDelayMs = asked > 0 ? Math.min(asked, deleteDelayMsMax) : settings.deleteDelayMs;
  await context.cluster(call, { kind: 'deleteNamespace', id: namespace.id, graceMs: settings.graceMs, deleteDelayMs }, namespace.name);
  return { deletedNamespace: context.ports.cluster.namespaceById(namespace.id)?.name ?? '' };
}

/** As of now: another process may have added attributes a moment ago. */
async function namespaceOf(context: HandlerContext, call: Call, name: string): Promise<Namespace> {
  if (name === '') throw invalidArgument('Namespace is not set on request.');
  await context.cluster(call, { kind: 'syncCluster' }, name);
  return context.namespace(call, name);
}

/** The one that answers: there is no replication between clusters. */
function listClusters({ ports: { server } }: HandlerContext, { pageSize, nextPageToken }: ListClustersRequest): ListClustersResponse {
  checkBound('ListClustersRequest.page_size', pageSize);
  if (nextPageToken.length > 0) throw invalidArgument('Invalid NextPageToken.');
  const { clusterName, clusterId, hostName, historyShards } = server;
  const only = {
    clusterName,
    clusterId,
    address: hostName,
    httpAddress: '',
    initialFailoverVersion: 1,
    historyShardCount: historyShards,
    isConnectionEnabled: true,
    isReplicationEnabled: false,
  };
  return { clusters: [only], nextPageToken: new Uint8Array(0) };
}
