import type { LevelDescription, PollerDescription, TaskQueueDescription } from '../../matching/replies.ts';
import type { TaskQueueConfig } from '../../matching/task-queue-config.ts';
import type { TaskQueuePartition, TaskType } from '../../matching/task-queue.ts';
import { encodePriorityStats, encodeVersionInfo, type TypeInfo } from '../../wire/generated/api/taskqueue/description.ts';
import { DescribeTaskQueueMode, RateLimitSource, TaskQueueKind, TaskQueueType } from '../../wire/generated/lean/enums.ts';
import type { PollerInfo, TaskQueueStats } from '../../wire/generated/lean/taskqueue.ts';
import {
  decodeDescribeTaskQueueRequest,
  decodeListTaskQueuePartitionsRequest,
  decodeUpdateTaskQueueConfigRequest,
  emptyDescribeTaskQueueResponse,
  encodeDescribeTaskQueueResponse,
  encodeListTaskQueuePartitionsResponse,
  encodeUpdateTaskQueueConfigResponse,
  type DescribeTaskQueueRequest,
  type DescribeTaskQueueResponse,
  type ListTaskQueuePartitionsRequest,
  type ListTaskQueuePartitionsResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { requireTaskQueue } from '../validation/task-queue.ts';
import { encodedConfig, updateConfig } from './task-queue-config.ts';

export function taskQueueMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('DescribeTaskQueue', decodeDescribeTaskQueueRequest, encodeDescribeTaskQueueResponse, (request, call) =>
      describe(context, request, call),
    ),
    unary('ListTaskQueuePartitions', decodeListTaskQueuePartitionsRequest, encodeListTaskQueuePartitionsResponse, (request, call) =>
      listPartitions(context, request, call),
    ),
    unary('UpdateTaskQueueConfig', decodeUpdateTaskQueueConfigRequest, encodeUpdateTaskQueueConfigResponse, (request, call) =>
      updateConfig(context, request, call),
    ),
  ];
}

/** Who polls a queue, and what waits in it: all its partitions together. */
async function describe(context: HandlerContext, request: DescribeTaskQueueRequest, call: Call): Promise<DescribeTaskQueueResponse> {
  const namespace = await context.namespace(call, request.namespace);
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
  if (parts === undefined) return emptyDescribeTaskQueueResponse();
  const rate = parts[0]?.ratePerSecond;
  const config = parts[0]?.config;
  return {
    ...emptyDescribeTaskQueueResponse(),
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
    effectiveRateLimit: {
      requestsPerSecond: rate ?? ratePerSecondDefault,
      rateLimitSource: rateSource(rate, config),
    },
    config: request.reportConfig && config !== undefined ? encodedConfig(config) : undefined,
  };
}

/** A rate that is no limit is the server's own. */
function rateSource(rate: number | undefined, config: TaskQueueConfig | undefined): number {
  if (config?.queueRate?.perSecond === undefined) return rate === undefined ? RateLimitSource.SYSTEM : RateLimitSource.WORKER;
  return config.queueRate.perSecond < ratePerSecondDefault ? RateLimitSource.API : RateLimitSource.SYSTEM;
}

/** Of `temporal.api.enums.v1.BuildIdTaskReachability`. */
const reachable = 1;

type NamedQueue = Pick<TaskQueuePartition, 'namespaceId' | 'name' | 'kind'>;

/** The older form, in which each build of its workers has an entry of its own: the one of workers without versions. */
async function describeVersions(
  context: HandlerContext,
  request: DescribeTaskQueueRequest,
  call: Call,
  named: NamedQueue,
): Promise<DescribeTaskQueueResponse> {
  if (named.kind === 'sticky') {
    throw invalidArgument('Enhanced DescribeTaskQueue is not valid for a sticky queue, use api_mode=UNSPECIFIED or a normal queue.');
  }
  if ((request.versions?.buildIds ?? []).length > 0) throw notBuilt('versions.build_ids');
  if (request.versions?.allActive === true) throw notBuilt('versions.all_active');
  const types = request.taskQueueTypes.length > 0 ? new Set(request.taskQueueTypes) : [TaskQueueType.WORKFLOW, TaskQueueType.ACTIVITY];
  const typesInfo = await Promise.all(
    Array.from(types, async (key) => {
      const parts = (await partsOf(context, call, named, key)) ?? [];
      const value: TypeInfo = {
        pollers: request.reportPollers ? pollersOf(parts) : [],
        stats: request.reportStats && parts.length > 0 ? statsOf(parts) : undefined,
      };
      return { key, value };
    }),
  );
  // New workflows go to workers without versions, for there are no others.
  const taskReachability = request.reportTaskReachability ? reachable : 0;
  return { ...emptyDescribeTaskQueueResponse(), versionsInfo: new Map([['', encodeVersionInfo({ typesInfo, taskReachability })]]) };
}

/** What each partition says; undefined: there are none of that type. */
async function partsOf(
  context: HandlerContext,
  call: Call,
  named: NamedQueue,
  type: number,
): Promise<readonly TaskQueueDescription[] | undefined> {
  if (type === TaskQueueType.NEXUS) return undefined;
  const taskType: TaskType = type === TaskQueueType.ACTIVITY ? 'activity' : 'workflow';
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
  const levels = parts.flatMap((part) => part.levels);
  return {
    approximateBacklogCount: sumOf(parts, ({ backlogCountHint }) => backlogCountHint),
    approximateBacklogAgeMs: Math.max(...parts.map((part) => part.backlogAgeMs)),
    tasksAddRate: sumOf(levels, ({ addRate }) => addRate),
    tasksDispatchRate: sumOf(levels, ({ dispatchRate }) => dispatchRate),
    rateLimitingActive: parts.some(({ isRateLimited }) => isRateLimited),
  };
}

/** As entries of a map. */
function statsByPriority(parts: readonly TaskQueueDescription[]): readonly Uint8Array[] {
  const byKey = Map.groupBy(
    parts.flatMap((part) => part.levels),
    ({ priorityKey }) => priorityKey,
  );
  return Array.from(byKey, ([key, levels]) => encodePriorityStats({ key, value: statsOfLevels(levels) }));
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

/** The same for both types: the names of the partitions, and of the host that has them. */
async function listPartitions(
  context: HandlerContext,
  request: ListTaskQueuePartitionsRequest,
  call: Call,
): Promise<ListTaskQueuePartitionsResponse> {
  await context.namespace(call, request.namespace);
  const { name } = requireTaskQueue(request.taskQueue, context.limits);
  const partitions = Array.from({ length: context.ports.taskQueuePartitions }, (_, partition) => ({
    key: partition === 0 ? name : `/_sys/${name}/${partition}`,
    ownerHostName: context.ports.server.hostName,
  }));
  return { activityTaskQueuePartitions: partitions, workflowTaskQueuePartitions: partitions };
}
