import type { PollerDescription, TaskQueueDescription } from '../../matching/replies.ts';
import type { TaskType } from '../../matching/task-queue.ts';
import { DescribeTaskQueueMode, TaskQueueKind, TaskQueueType } from '../../wire/generated/lean/enums.ts';
import {
  decodeDescribeTaskQueueRequest,
  emptyDescribeTaskQueueResponse,
  encodeDescribeTaskQueueResponse,
  type DescribeTaskQueueRequest,
  type DescribeTaskQueueResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import { notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { requireTaskQueue } from '../validation/task-queue.ts';

export function taskQueueMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('DescribeTaskQueue', decodeDescribeTaskQueueRequest, encodeDescribeTaskQueueResponse, (request, call) =>
      describe(context, request, call),
    ),
  ];
}

/** Who polls a queue, and what waits in it: all its partitions together. */
async function describe(context: HandlerContext, request: DescribeTaskQueueRequest, call: Call): Promise<DescribeTaskQueueResponse> {
  const namespace = await context.namespace(call, request.namespace);
  const taskQueue = requireTaskQueue(request.taskQueue, context.limits);
  if (request.apiMode !== DescribeTaskQueueMode.UNSPECIFIED) throw notBuilt('api_mode ENHANCED');
  if (request.versions !== undefined) throw notBuilt('versions');
  if (request.reportTaskReachability) throw notBuilt('report_task_reachability');
  // Nobody can poll for Nexus tasks here: an honest answer, which the web UI wants for every page of a workflow.
  if (request.taskQueueType === TaskQueueType.NEXUS) return emptyDescribeTaskQueueResponse();
  const taskType = taskTypeOf(request.taskQueueType);
  const kind = taskQueue.kind === TaskQueueKind.STICKY ? 'sticky' : 'normal';
  const partitions = kind === 'sticky' ? 1 : context.ports.taskQueuePartitions;
  const parts = await Promise.all(
    Array.from({ length: partitions }, (_, partition) => {
      const queue = { namespaceId: namespace.id, name: taskQueue.name, taskType, partition, kind } as const;
      return context.matching(call, queue, { kind: 'describeTaskQueue', queue });
    }),
  );
  const backlog = parts.reduce((sum, part) => sum + part.backlogCountHint, 0);
  return {
    ...emptyDescribeTaskQueueResponse(),
    pollers: pollers(parts).map((poller) => ({
      lastAccessTimeMs: poller.lastAccessTimeMs,
      identity: poller.identity,
      ratePerSecond: poller.ratePerSecond ?? ratePerSecondDefault,
      workerVersionCapabilities: undefined,
      deploymentOptions: undefined,
    })),
    taskQueueStatus: request.includeTaskQueueStatus
      ? {
          backlogCountHint: backlog,
          readLevel: Math.max(...parts.map((part) => part.readLevel)),
          ackLevel: Math.max(...parts.map((part) => part.ackLevel)),
          ratePerSecond: parts[0]?.ratePerSecond ?? ratePerSecondDefault,
          taskIdBlock: { startId: 0, endId: 0 },
        }
      : undefined,
    stats: request.reportStats
      ? {
          approximateBacklogCount: backlog,
          approximateBacklogAgeMs: Math.max(...parts.map((part) => part.backlogAgeMs)),
          tasksAddRate: 0,
          tasksDispatchRate: 0,
          rateLimitingActive: false,
        }
      : undefined,
  };
}

/** What clients see for a queue or a worker without a limit of its own. */
const ratePerSecondDefault = 100_000;

function taskTypeOf(type: number): TaskType {
  checkBound('DescribeTaskQueueRequest.task_queue_type', type);
  switch (type) {
    case TaskQueueType.ACTIVITY:
      return 'activity';
    default:
      return 'workflow';
  }
}

/** A worker polls several partitions in turn: its newest poll counts. Newest first. */
function pollers(parts: readonly TaskQueueDescription[]): readonly PollerDescription[] {
  const newest = new Map<string, PollerDescription>();
  for (const part of parts) {
    for (const poller of part.pollers) {
      const known = newest.get(poller.identity);
      if (known === undefined || known.lastAccessTimeMs < poller.lastAccessTimeMs) newest.set(poller.identity, poller);
    }
  }
  return [...newest.values()].toSorted((a, b) => b.lastAccessTimeMs - a.lastAccessTimeMs);
}
