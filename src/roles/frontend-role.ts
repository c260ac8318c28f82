/** The port that clients and workers call, and the parts of other roles that its handlers use. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../ports/system-ports.ts';
import { adminSettings } from '../config/admin-settings.ts';
import { batchSettings } from '../config/batch-settings.ts';
import { letterSettings } from '../config/dead-letter-settings.ts';
import { usableHeapBytes, type Memory } from '../config/memory.ts';
import { namespaceDeletionSettings } from '../config/namespace-deletion-settings.ts';
import { namespaceLimits, namespaceLimitSettings } from '../config/namespace-limit-settings.ts';
import { transportSettings } from '../config/transport-settings.ts';
import { startFrontend, type Frontend } from '../grpc/frontend.ts';
import type { FrontendPorts, MemoryReport } from '../grpc/ports.ts';
import { scrapeListener } from '../grpc/scrape-listener.ts';
import { defaultTransportLimits } from '../grpc/transport/transport-limits.ts';
import { historyShardOf } from '../kernel/shard.ts';
import { uuidAt } from '../kernel/uuid.ts';
import { matchingPartitionOf } from '../kernel/task-queue.ts';
import type { DeadLetters } from '../start/dead-letters.ts';
import { workersOf } from '../start/workers.ts';
import { deadLetterTopic, historyTopic, matchingTopic } from '../topics/catalogue.ts';
import { encodeLetterTask } from '../codec/letter-task-codec.ts';
import { decodeTaskOf } from '../codec/task-info-codec.ts';
import type { ClusterRole } from './cluster-role.ts';
import type { HistoryRole } from './history-role.ts';
import type { MatchingRole } from './matching-role.ts';
import type { ProcessParts } from './process-parts.ts';
import type { WorkerRole } from './worker-role.ts';

/** Clients refuse servers that are not 1.x; this is the Temporal release whose behaviour Perdure follows. */
const SERVED_VERSION = '1.32.0';

export type ServedRoles = {
  readonly cluster: ClusterRole;
  readonly history: HistoryRole;
  readonly matching: MatchingRole;
  readonly worker: WorkerRole;
  /** Undefined while dead letters are not served yet. */
  readonly deadLetters: () => DeadLetters | undefined;
};

export type FrontendSetting = {
  readonly instance: string;
  readonly identity: { readonly clusterId: string; readonly clusterName: string; readonly tokenKey: Uint8Array };
  readonly memory: Memory;
};

/** Rejects if the port is not available. */
export function startFrontendRole(parts: ProcessParts, roles: ServedRoles, setting: FrontendSetting): Promise<Frontend> {
  const { options, dynamicConfig } = parts;
  return startFrontend({
    host: options.host,
    port: options.port,
    instance: setting.instance,
    limits: { ...defaultTransportLimits, ...dynamicConfig.values(transportSettings) },
    scrape: options.metrics && parts.metrics && scrapeListener(options.metrics, parts.metrics),
    rolePorts: options.rolePorts,
    topics: { history: historyTopic(parts.prefix), matching: matchingTopic(parts.prefix) },
    ports: {
      ...ofProcess(parts, setting),
      ...ofConfig(parts),
      ...ofRoles(parts, roles, setting),
      // A takeover replaces the object, so it is read each time.
      get cluster() {
        return roles.cluster.registry.view;
      },
    },
  });
}

function ofProcess(
  { options, common, layout, router, census, metrics, node, checkpoints, historyLimits }: ProcessParts,
  setting: FrontendSetting,
) {
  const { identity } = setting;
  return {
    clock: systemClock,
    turns: common.turns,
    newId: randomUUID,
    newRunId: () => uuidAt(systemClock.wallMs(), randomUUID()),
    random: Math.random,
    logger: common.logger,
    ...(metrics === undefined ? {} : { metrics: metrics.of('frontend') }),
    limits: historyLimits,
    server: {
      version: SERVED_VERSION,
      clusterId: identity.clusterId,
      clusterName: identity.clusterName,
      historyShards: layout.historyShards,
      hostName: node,
      persistenceStore: options.log.kind,
      visibilityStore: options.log.kind === 'kafka' && checkpoints !== undefined ? 'postgres' : 'sqlite',
    },
    asker: router,
    jobs: router,
    audit: router,
    historyShardOf: (namespaceId, workflowId) => historyShardOf(namespaceId, workflowId, layout.historyShards),
    matchingPartitionOf: (queue) => matchingPartitionOf(queue, layout.matchingPartitions),
    taskQueuePartitions: layout.taskQueuePartitions,
    tokenKey: () => identity.tokenKey,
    condition: census,
  } satisfies Partial<FrontendPorts>;
}

function ofConfig({ dynamicConfig, share }: ProcessParts) {
  return {
    batchSettings: (namespace) => dynamicConfig.values(batchSettings, { namespace }),
    deletionSettings: () => dynamicConfig.values(namespaceDeletionSettings),
    adminSettings: () => dynamicConfig.values(adminSettings),
    letterSettings: () => dynamicConfig.values(letterSettings),
    workers: workersOf(dynamicConfig, share),
    limitsOfNamespace: (namespace) => namespaceLimits(dynamicConfig.values(namespaceLimitSettings, { namespace })),
  } satisfies Partial<FrontendPorts>;
}

function ofRoles(parts: ProcessParts, { history, matching, worker, deadLetters }: ServedRoles, { memory }: FrontendSetting) {
  const { archival, callbacks, visibility } = history;
  const memoryReport = reportOf(parts, memory);
  return {
    visibility,
    ...(archival.port === undefined ? {} : { archival: archival.port }),
    callbacks: callbacks.ofFrontend,
    deadLetterTopic: (category, sourceCluster) => deadLetterTopic(parts.prefix, category, sourceCluster),
    whyNoQueue: (category, sourceCluster) => deadLetters()?.whyNoQueue(category, sourceCluster),
    openDeadLetterQueue: (queue) => deadLetters()?.openForeign(queue) ?? false,
    taskToAdd: (category, info) => {
      const task = decodeTaskOf(category, info);
      return { key: task.key, task: encodeLetterTask(task) };
    },
    state: () => ({ memory: memoryReport, shards: history.report(), matching: matching.report(), purges: worker.purges() }),
  } satisfies Partial<FrontendPorts>;
}

function reportOf({ checkpoints, stateLimits }: ProcessParts, memory: Memory): MemoryReport {
  const { historyCacheBytesMax, hotStateBytesMax, unwrittenStateBytesMax } = stateLimits;
  const ofState = checkpoints === undefined ? {} : { hotStateBytesMax, unwrittenStateBytesMax };
  return { stateBytes: usableHeapBytes(memory), limits: { ...ofState, historyCacheBytesMax } };
}
