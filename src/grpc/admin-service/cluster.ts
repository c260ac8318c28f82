import type { PartitionState } from '../../actors/ownership/partition-life.ts';
import { shownId } from '../../kernel/shown-id.ts';
import { notFound, unavailable } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { supportedClients } from '../interceptors/client-versions.ts';
import { runKeyOf } from '../validation/names.ts';
import { int64, type ServiceMessages, timestamp, timestampMs } from '../../wire/services.ts';
import { addressOf, type AdminContext, type AdminHandlers, type Host, type RequestOf, roles } from './admin-context.ts';
import { existingShard, invalidPageToken, noPageToken, required, uuidOrEmpty } from './conventions.ts';

const membersPageStandard = 100;
/** What a member says of itself holds so long without news. */
const recordLifeMs = 48 * 3_600_000;
const namesInMessageMax = 10;

export const clusterHandlers: AdminHandlers = {
  DescribeCluster: ({ context, host }, { clusterName }) => {
    const { server } = context.ports;
    if (clusterName !== '' && clusterName !== server.clusterName) {
      throw notFound(`cluster ${shownId(clusterName)} is not found: there is ${server.clusterName}`);
    }
    return {
      supportedClients: Object.fromEntries(supportedClients),
      serverVersion: server.version,
      membershipInfo: membership(host()),
      clusterId: server.clusterId,
      clusterName: server.clusterName,
      historyShardCount: server.historyShards,
      persistenceStore: server.persistenceStore,
      visibilityStore: server.visibilityStore,
      versionInfo: { current: { version: server.version } },
    };
  },
  ListClusters: ({ context, host }, { nextPageToken }) => {
    noPageToken(nextPageToken);
    const { version, clusterName, clusterId, historyShards: historyShardCount } = context.ports.server;
    const versionInfo = { current: { version } };
    const clusterAddress = addressOf(host());
    return { clusters: [{ clusterName, clusterId, historyShardCount, versionInfo, clusterAddress, isConnectionEnabled: true }] };
  },
  ListClusterMembers: ({ context, host }, request) => members(request, host(), context.nowMs()),
  DescribeHistoryHost: async ({ context, host }, request, call) => {
    const { hostAddress, shardId, namespace, workflowExecution } = request;
    const address = addressOf(host());
    if (hostAddress !== '' && hostAddress !== address)
      throw notFound(`history host ${shownId(hostAddress)} is not found: there is ${address}`);
    if (shardId !== 0) existingShard(shardId, context.ports.server.historyShards);
    // A process that is alone has every shard: whatever else is named names it again, once it is there.
    if (namespace !== '' || (workflowExecution ?? undefined) !== undefined) {
      const { id } = await context.anyNamespace(call, required(namespace, 'namespace'));
      const { workflowId, runId } = required(workflowExecution, 'workflow_execution');
      runKeyOf(id, required(workflowId, 'workflow_execution.workflow_id'), runId ?? '');
    }
    const shardIds = context.ports.state().shards.flatMap(({ shard, state }) => (isHeld(state) ? [shard] : []));
    const known = int64(context.ports.cluster.namespaces().length);
    return {
      shardsNumber: shardIds.length,
      shardsCount: shardIds.length,
      shardIds,
      namespaceCache: { itemsInCacheByIdCount: known, itemsInCacheByNameCount: known },
      address,
    };
  },
  DeepHealthCheck: (admin) => health(admin),
  GetShard: ({ context, host, messages }, { shardId }) => {
    const { server, state } = context.ports;
    existingShard(shardId, server.historyShards);
    const report = state().shards.find(({ shard }) => shard === shardId);
    if (report === undefined) throw unavailable(`shard ${shardId} has no owner now`);
    return {
      shardInfo: {
        shardId,
        rangeId: int64(report.epoch),
        owner: isHeld(report.state) ? addressOf(host()) : '',
        state: messages.adminservice.v1.ShardState[shardStates[report.state]],
      },
    };
  },
};

/** One process in four roles: four members. */
function members(request: RequestOf<'ListClusterMembers'>, host: Host, nowMs: number) {
  const { role, hostId, rpcAddress, nextPageToken, sessionStartedAfterTime } = request;
  uuidOrEmpty(hostId, 'host_id');
  if (role < 0 || role > roles.length) throw invalidArgument(`Unknown role: ${role}`);
  const after = lastRoleOf(nextPageToken);
  const isOther = (hostId !== '' && hostId.toLowerCase() !== host.id) || timestampMs(sessionStartedAfterTime) > host.startedTimeMs;
  const isAsked = (each: number): boolean =>
    each > after && (role === 0 || role === each) && (rpcAddress === '' || rpcAddress === placeOf(each, host).name);
  const found = isOther ? [] : roles.map((_, at) => at + 1).filter(isAsked);
  const size = request.pageSize <= 0 ? membersPageStandard : request.pageSize;
  const page = found.slice(0, size);
  const listed = page.map((each) => ({
    role: each,
    hostId: host.id,
    rpcAddress: placeOf(each, host).name,
    rpcPort: placeOf(each, host).port,
    sessionStartTime: timestamp(host.startedTimeMs),
    lastHeartbitTime: timestamp(nowMs),
    recordExpiryTime: timestamp(nowMs + recordLifeMs),
  }));
  const nextToken = found.length > page.length ? Uint8Array.of(page.at(-1) ?? 0) : new Uint8Array(0);
  return { activeMembers: listed, members: listed, nextPageToken: nextToken };
}

function placeOf(number: number, host: Host): Pick<Host, 'name' | 'port'> {
  const role = roles[number - 1];
  return role === 'history' || role === 'matching' ? (host.roles[role] ?? host) : host;
}

function lastRoleOf(token: Uint8Array): number {
  const [role = 0, ...rest] = token;
  if (rest.length > 0 || (token.length === 1 && (role === 0 || role >= roles.length))) throw invalidPageToken();
  return role;
}

function membership(host: Host) {
  const identity = addressOf(host);
  const ring = { memberCount: 1, members: [{ identity }] };
  return { currentHost: { identity }, reachableMembers: [identity], rings: roles.map((role) => ({ role, ...ring })) };
}

/** One history host: what it does not serve, or has lost, is the health of the cluster. */
function health({ context, host, messages }: AdminContext) {
  const { HealthState } = messages.enums.v1;
  const { condition } = context.ports;
  const unserved = condition.unserved().map(({ partition }) => partition);
  const lost = condition
    .concerns()
    .filter(({ severity }) => severity === 'lost')
    .map(({ subject }) => subject);
  const troubles = [...unserved, ...lost];
  const state = troubles.length === 0 ? HealthState.HEALTH_STATE_SERVING : HealthState.HEALTH_STATE_NOT_SERVING;
  const address = addressOf(host());
  const named = troubles.slice(0, namesInMessageMax).join(', ');
  const more = troubles.length > namesInMessageMax ? ` and ${troubles.length - namesInMessageMax} more` : '';
  const message = troubles.length === 0 ? '1 of 1 history hosts serves' : `${address}: grpc_health: not served: ${named}${more}`;
  const checks = [{ checkType: 'grpc_health', state, value: troubles.length, threshold: 0, message }];
  return { state, message, services: [{ service: 'history', state, message, hosts: [{ address, state, checks }] }] };
}

/** Whether the owner of a shard is here, and answers for it. */
function isHeld(state: PartitionState): boolean {
  return state === 'active' || state === 'draining';
}

const shardStates: Readonly<Record<PartitionState, keyof ServiceMessages['adminservice']['v1']['ShardState']>> = {
  unassigned: 'SHARD_STATE_UNOWNED',
  released: 'SHARD_STATE_UNOWNED',
  restoring: 'SHARD_STATE_ACQUIRING',
  replaying: 'SHARD_STATE_ACQUIRING',
  claiming: 'SHARD_STATE_ACQUIRING',
  active: 'SHARD_STATE_ACQUIRED',
  draining: 'SHARD_STATE_ACQUIRED',
  failed: 'SHARD_STATE_FAILED',
};
