import { codecs } from '../../wire/generated/lean/operator_service.ts';
import { systemNamespace } from '../../kernel/system-namespace.ts';
import { failedPrecondition, invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { type HandlersOf, methodsOf, service } from '../method.ts';
import { operatorRpcs } from '../rpcs/operator-rpcs.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import type { Call, Service } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLength } from '../validation/names.ts';

type Handlers = Required<HandlersOf<typeof codecs>>;

/** Names that exist already are passed over, whatever their type. Usable by Start as soon as this answers. */
export const addSearchAttributes: Handlers['AddSearchAttributes'] = async (context, request, call) => {
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
  const { id: namespaceId } = namespace;
  if (missing.size > 0) await context.cluster(call, namespace.name, { kind: 'addSearchAttributes', namespaceId, attributes: missing });
  return {};
};

export const removeSearchAttributes: Handlers['RemoveSearchAttributes'] = async (context, request, call) => {
  const namespace = await namespaceOf(context, call, request.namespace);
  if (request.searchAttributes.length === 0) throw invalidArgument('SearchAttributes are not set on request.');
  const system = request.searchAttributes.find((name) => context.ports.cluster.systemSearchAttributes.has(name));
  if (system !== undefined) throw invalidArgument(`Unable to remove non-custom search attributes: ${system}.`);
  const names = request.searchAttributes.filter((name) => namespace.customSearchAttributes.has(name));
  if (names.length > 0) await context.cluster(call, namespace.name, { kind: 'removeSearchAttributes', namespaceId: namespace.id, names });
  return {};
};

export const listSearchAttributes: Handlers['ListSearchAttributes'] = async (context, request, call) => {
  const namespace = await namespaceOf(context, call, request.namespace);
  return {
    customAttributes: namespace.customSearchAttributes,
    systemAttributes: context.ports.cluster.systemSearchAttributes,
    storageSchema: new Map(),
  };
};

/** Further than anybody waits, and within what times can be. */
const deleteDelayMsMax = 36_500 * 86_400_000;

export function operatorService(context: HandlerContext): Service {
  return service(operatorRpcs, operatorMethods(context));
}

const operatorMethods = methodsOf(codecs, {
  AddSearchAttributes: addSearchAttributes,
  RemoveSearchAttributes: removeSearchAttributes,
  ListSearchAttributes: listSearchAttributes,
  /** Its name is free when this answers, and nobody can call it any more. What it holds is purged behind that (src/actors/cluster/namespace-purge.ts). */
  DeleteNamespace: async (context, request, call) => {
    const { namespace: name, namespaceId: id } = request;
    if (name === '' && id === '') throw invalidArgument('Namespace not set on request.');
    if (name !== '' && id !== '') throw invalidArgument('Only one of namespace name or Id should be set on request.');
    if (name === systemNamespace.name || id === systemNamespace.id) {
      throw failedPrecondition('unable to delete system namespace');
    }
    // As of now: another process may have given the name to another namespace.
    await context.cluster(call, name, { kind: 'syncCluster' });
    const namespace = id === '' ? await context.anyNamespace(call, name) : await context.anyNamespaceById(call, id);
    const settings = context.ports.deletionSettings();
    const asked = request.namespaceDeleteDelayMs;
    const deleteDelayMs = asked > 0 ? Math.min(asked, deleteDelayMsMax) : settings.deleteDelayMs;
    await context.cluster(call, namespace.name, { kind: 'deleteNamespace', id: namespace.id, graceMs: settings.graceMs, deleteDelayMs });
    return { deletedNamespace: context.ports.cluster.namespaceById(namespace.id)?.name ?? '' };
  },
  /** The one that answers: there is no replication between clusters. */
  ListClusters: ({ ports: { server } }, { pageSize, nextPageToken }) => {
    checkBound('ListClustersRequest.page_size', pageSize);
    if (nextPageToken.length > 0) throw invalidArgument('Invalid NextPageToken.');
    const { clusterName, clusterId, hostName: address, historyShards: historyShardCount } = server;
    const described = { clusterName, clusterId, address, httpAddress: '', initialFailoverVersion: 1, historyShardCount };
    return { clusters: [{ ...described, isConnectionEnabled: true, isReplicationEnabled: false }], nextPageToken: new Uint8Array(0) };
  },
});

/** The namespace as of now: another process may have added attributes a moment ago. */
async function namespaceOf(context: HandlerContext, call: Call, name: string): Promise<Namespace> {
  if (name === '') throw invalidArgument('Namespace is not set on request.');
  await context.cluster(call, name, { kind: 'syncCluster' });
  return context.namespace(call, name);
}
