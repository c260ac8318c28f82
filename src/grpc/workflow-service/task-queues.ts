import { allTaskTypes, type TaskType, taskTypeOfWire, taskTypes, partitionName, type TaskQueuePartition } from '../../kernel/task-queue.ts';
import type { LevelDescription, PollerDescription, TaskQueueDescription } from '../../matching/matching-replies.ts';
import type { ConfiguredRate, RateUpdate, TaskQueueConfig } from '../../matching/task-queue-config.ts';
import * as description from '../../wire/generated/api/taskqueue/description.ts';
import { DescribeTaskQueueMode, RateLimitSource, TaskQueueKind, TaskQueueType } from '../../wire/generated/lean/enums.ts';
import type { PollerInfo, TaskQueueStats } from '../../wire/generated/lean/taskqueue.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inNamespace, methodsOf } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { bounds, checkBound } from '../validation/bounds.ts';
import { checkTaskQueue, requireTaskQueue } from '../validation/names.ts';

const REASON_BYTES_MAX = 1_000;
const FAIRNESS_KEY_BYTES_MAX = 64;
const WEIGHTS_PER_REQUEST_MAX = 1_000;

export const taskQueueMethods = methodsOf(wire.codecs, {
  /** Who polls a queue, and what waits in it: all its partitions together. */
  DescribeTaskQueue: inNamespace(async (context, request, call, namespace) => {
    const taskQueue = requireTaskQueue(request.taskQueue, context.limits);
    const kind = taskQueue.kind === TaskQueueKind.STICKY ? 'sticky' : 'normal';
    for (const type of request.taskQueueTypes) checkBound('DescribeTaskQueueRequest.task_queue_types', type);
    const named: NamedQueue = { namespaceId: namespace.id, name: taskQueue.name, kind };
    if (request.apiMode === DescribeTaskQueueMode.ENHANCED) return describeVersions(context, request, call, named);
    if (request.versions !== undefined) throw notBuilt('versions');
    if (request.reportTaskReachability) throw notBuilt('report_task_reachability');
    checkBound('DescribeTaskQueueRequest.task_queue_type', request.taskQueueType);
    const parts = await partsOf(context, call, named, request.taskQueueType);
    // Nobody can poll for Nexus tasks here: an honest answer, which the web UI wants for every page of a workflow.
    if (parts === undefined) return wire.emptyDescribeTaskQueueResponse();
    const rate = parts[0]?.ratePerSecond;
    const config = parts[0]?.config;
    return {
      ...wire.emptyDescribeTaskQueueResponse(),
      pollers: pollersOf(parts),
      taskQueueStatus: request.includeTaskQueueStatus
        ? {
            backlogCountHint: sumOf(parts, ({ backlogCountHint }) => backlogCountHint),
            readLevel: Math.max(...parts.map((part) => part.readLevel)),
            ackLevel: Math.max(...parts.map((part) => part.ackLevel)),
            ratePerSecond: rate ?? ratePerSecondDefault,
            taskIdBlock: { startId: 0, endId: 0 },
          }
        : undefined,
      stats: request.reportStats ? statsOf(parts) : undefined,
      statsByPriorityKey: request.reportStats ? statsByPriority(parts) : [],
      effectiveRateLimit: { requestsPerSecond: rate ?? ratePerSecondDefault, rateLimitSource: rateSource(rate, config) },
      config: request.reportConfig && config !== undefined ? encodedConfig(config) : undefined,
    };
  }),
  /** Queues of every type have the same partitions, and one host has them all. */
  ListTaskQueuePartitions: async (context, request, call) => {
    await context.namespace(call, request.namespace);
    const { name } = requireTaskQueue(request.taskQueue, context.limits);
    const partitions = Array.from({ length: context.ports.taskQueuePartitions }, (_, partition) => ({
      key: partitionName(name, partition),
      ownerHostName: context.ports.server.hostName,
    }));
    return { activityTaskQueuePartitions: partitions, workflowTaskQueuePartitions: partitions } satisfies PartitionsOfTypes;
  },
  /** The root partition keeps it, and tells the others. */
  UpdateTaskQueueConfig: inNamespace(async (context, request, call, namespace) => {
    const taskType = taskTypeOfWire(request.taskQueueType);
    checkRates(request, taskType);
    checkText('Identity', request.identity, context.limits.idBytesMax);
    checkWeights(request);
    checkTaskQueue({ name: request.taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' }, context.limits);
    checkBound('UpdateTaskQueueConfigRequest.task_queue_type', request.taskQueueType);
    if (taskType === undefined) throw notBuilt('task_queue_type NEXUS');
    const queue = { namespaceId: namespace.id, name: request.taskQueue, taskType, partition: 0, kind: 'normal' } as const;
    const { config } = await context.matching(call, queue, {
      kind: 'updateTaskQueueConfig',
      queue,
      identity: request.identity,
      queueRate: rateUpdate(request.updateQueueRateLimit),
      keyRate: rateUpdate(request.updateFairnessKeyRateLimitDefault),
      setWeights: Array.from(request.setFairnessWeightOverrides, ([key, weight]) => ({ key, weight })),
      unsetWeights: request.unsetFairnessWeightOverrides,
    });
    return { config: encodedConfig(config) };
  }),
});

/** A rate that is no limit is the server's own. */
function rateSource(rate: number | undefined, config: TaskQueueConfig | undefined): number {
  if (config?.queueRate?.perSecond === undefined) return rate === undefined ? RateLimitSource.SYSTEM : RateLimitSource.WORKER;
  return config.queueRate.perSecond < ratePerSecondDefault ? RateLimitSource.API : RateLimitSource.SYSTEM;
}

/** `temporal.api.enums.v1.BuildIdTaskReachability`: new workflows may go to workers of a build. */
const reachable = 1;

type NamedQueue = Pick<TaskQueuePartition, 'namespaceId' | 'name' | 'kind'>;

/** The older form, in which each build of its workers has an entry of its own: the one of workers without versions. */
async function describeVersions(context: HandlerContext, request: wire.DescribeTaskQueueRequest, call: Call, named: NamedQueue) {
  if (named.kind === 'sticky') {
    throw invalidArgument('Enhanced DescribeTaskQueue is not valid for a sticky queue, use api_mode=UNSPECIFIED or a normal queue.');
  }
  if ((request.versions?.buildIds ?? []).length > 0) throw notBuilt('versions.build_ids');
  if (request.versions?.allActive === true) throw notBuilt('versions.all_active');
  const types = request.taskQueueTypes.length > 0 ? new Set(request.taskQueueTypes) : allTaskTypes.map((type) => taskTypes[type].wire);
  const typesInfo = await Promise.all(
    Array.from(types, async (key) => {
      const parts = (await partsOf(context, call, named, key)) ?? [];
      const value: description.TypeInfo = {
        pollers: request.reportPollers ? pollersOf(parts) : [],
        stats: request.reportStats && parts.length > 0 ? statsOf(parts) : undefined,
      };
      return { key, value };
    }),
  );
  // New workflows go to workers without versions, for there are no others.
  const taskReachability = request.reportTaskReachability ? reachable : 0;
  return {
    ...wire.emptyDescribeTaskQueueResponse(),
    versionsInfo: new Map([['', description.encodeVersionInfo({ typesInfo, taskReachability })]]),
  };
}

/** What each partition says; undefined: there are none of that type. */
async function partsOf(context: HandlerContext, call: Call, named: NamedQueue, type: number): Promise<TaskQueueDescription[] | undefined> {
  const taskType = taskTypeOfWire(type === TaskQueueType.UNSPECIFIED ? TaskQueueType.WORKFLOW : type);
  if (taskType === undefined) return undefined;
  const partitions = named.kind === 'sticky' ? 1 : context.ports.taskQueuePartitions;
  return await Promise.all(
    Array.from({ length: partitions }, (_, partition) => {
      const queue: TaskQueuePartition = { ...named, taskType, partition };
      return context.matching(call, queue, { kind: 'describeTaskQueue', queue });
    }),
  );
}

/** What clients see for a queue or a worker without a limit of its own. */
const ratePerSecondDefault = 100_000;

function sumOf<Part>(parts: readonly Part[], of: (part: Part) => number): number {
  return parts.reduce((sum, part) => sum + of(part), 0);
}

function statsOf(parts: readonly TaskQueueDescription[]): TaskQueueStats {
  return {
    ...statsOfLevels(parts.flatMap((part) => part.levels)),
    approximateBacklogCount: sumOf(parts, ({ backlogCountHint }) => backlogCountHint),
    approximateBacklogAgeMs: Math.max(...parts.map((part) => part.backlogAgeMs)),
    rateLimitingActive: parts.some(({ isRateLimited }) => isRateLimited),
  };
}

function statsByPriority(parts: readonly TaskQueueDescription[]): readonly Uint8Array[] {
  const byKey = Map.groupBy(
    parts.flatMap((part) => part.levels),
    ({ priorityKey }) => priorityKey,
  );
  return Array.from(byKey, ([key, levels]) => description.encodePriorityStats({ key, value: statsOfLevels(levels) }));
}

function statsOfLevels(levels: readonly LevelDescription[]): TaskQueueStats {
  return {
    approximateBacklogCount: sumOf(levels, ({ backlogCount }) => backlogCount),
    approximateBacklogAgeMs: Math.max(...levels.map(({ backlogAgeMs }) => backlogAgeMs)),
    tasksAddRate: sumOf(levels, ({ addRate }) => addRate),
    tasksDispatchRate: sumOf(levels, ({ dispatchRate }) => dispatchRate),
    rateLimitingActive: false,
  };
}

/** A worker polls several partitions in turn: its newest poll counts. Newest first. */
function pollersOf(parts: readonly TaskQueueDescription[]): readonly PollerInfo[] {
  const newest = new Map<string, PollerDescription>();
  for (const part of parts) {
    for (const poller of part.pollers) {
      const known = newest.get(poller.identity);
      if (known === undefined || known.lastAccessTimeMs < poller.lastAccessTimeMs) newest.set(poller.identity, poller);
    }
  }
  const sorted = [...newest.values()].toSorted((a, b) => b.lastAccessTimeMs - a.lastAccessTimeMs);
  return sorted.map(({ identity, lastAccessTimeMs, ratePerSecond }) => ({
    identity,
    lastAccessTimeMs,
    ratePerSecond: ratePerSecond ?? ratePerSecondDefault,
    workerVersionCapabilities: undefined,
    deploymentOptions: undefined,
  }));
}

/** A type of queues that the answer has no list for does not compile. */
type PartitionsOfTypes = { readonly [Type in TaskType as `${Type}TaskQueuePartitions`]: unknown };

type RateLimitUpdate = wire.UpdateTaskQueueConfigRequest['updateQueueRateLimit'];

function rateUpdate(update: RateLimitUpdate): RateUpdate | undefined {
  return update && { perSecond: update.rateLimit?.requestsPerSecond, reason: update.reason };
}

function checkRates(request: wire.UpdateTaskQueueConfigRequest, taskType: TaskType | undefined): void {
  const { updateQueueRateLimit: ofQueue, updateFairnessKeyRateLimitDefault: ofKeys } = request;
  const refuse = (update: RateLimitUpdate, what: string): void => {
    if (update?.rateLimit === undefined || taskType === undefined || taskTypes[taskType].hasRate) return;
    throw invalidArgument(`Setting ${what} on ${taskType} task queues is not allowed.`);
  };
  refuse(ofQueue, 'rate limit');
  checkRate(ofQueue, 'UpdateQueueRateLimit');
  refuse(ofKeys, 'fairness key rate limit');
  checkRate(ofKeys, 'UpdateFairnessKeyRateLimitDefault');
}

function checkRate(update: RateLimitUpdate, field: string): void {
  const problem = update?.rateLimit && bounds['RateLimit.requests_per_second'].problem(update.rateLimit.requestsPerSecond);
  if (problem !== undefined) throw invalidArgument(`RequestsPerSecond for ${field} rate limit ${problem}`);
  if (update !== undefined) checkText(`${field}.Reason`, update.reason, REASON_BYTES_MAX);
}

function checkText(field: string, value: string, bytesMax: number): void {
  if (Buffer.byteLength(value) > bytesMax) throw invalidArgument(`${field} field too long (max ${bytesMax} characters).`);
}

function checkWeights({ setFairnessWeightOverrides: set, unsetFairnessWeightOverrides: unset }: wire.UpdateTaskQueueConfigRequest): void {
  const max = WEIGHTS_PER_REQUEST_MAX;
  const count = set.size + unset.length;
  if (count > max) throw invalidArgument(`too many fairness weight overrides in request: got ${count}, maximum ${max}`);
  for (const [key, weight] of set) {
    checkKey(key);
    const problem = bounds['UpdateTaskQueueConfigRequest.set_fairness_weight_overrides'].problem(weight);
    if (problem !== undefined) throw invalidArgument(`invalid fairness weight weight for key ${JSON.stringify(key)}: ${problem}`);
  }
  for (const key of unset) checkKey(key);
  for (const key of unset) {
    if (set.has(key)) throw invalidArgument(`fairness weight override key ${JSON.stringify(key)} present in both set and unset lists`);
  }
}

function checkKey(key: string): void {
  if (key === '') throw invalidArgument('fairness weight override key must not be empty');
  if (Buffer.byteLength(key) > FAIRNESS_KEY_BYTES_MAX) throw invalidArgument('fairness key length exceeds limit');
}

function encodedConfig({ queueRate, keyRate, weights }: TaskQueueConfig): Uint8Array {
  return description.encodeConfig({
    queueRateLimit: queueRate && shownRate(queueRate),
    fairnessKeysRateLimitDefault: keyRate && shownRate(keyRate),
    fairnessWeightOverrides: weights.map(({ key, weight }) => ({ key, value: weight })),
  });
}

function shownRate({ perSecond, reason, identity, timeMs }: ConfiguredRate): description.RateConfig {
  return {
    rateLimit: perSecond === undefined ? undefined : { requestsPerSecond: perSecond },
    metadata: { reason, updateIdentity: identity, updateTimeMs: timeMs },
  };
}
