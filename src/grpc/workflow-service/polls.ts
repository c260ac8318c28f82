import type { HandlerContext } from '../handler-context.ts';
import { invalidArgument, notBuilt, StatusError } from '../errors/status-error.ts';
import { statusCode } from '../errors/status-code.ts';
import type { TaskQueuePartition, TaskType } from '../../matching/task-queue.ts';
import type { TaskQueue } from '../../wire/generated/lean/common.ts';
import { TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import type { Call } from '../transport/call.ts';
import { checkLength, type EdgeLimits } from '../validation/lengths.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { requireTaskQueue } from '../validation/task-queue.ts';
import { buildIdOf, varintField } from './worker-version.ts';

const pollWaitMsMax = 60_000;
const pollJitterMsMax = 10_000;
/** A poll without a task is answered this long before the client's own deadline. */
const pollTailMs = 1_000;
const pollTimeoutMsMin = 2_000;
/** Of that, what a request may have spent on its way to us: a client that sets just the least is not refused for it. */
const pollTimeoutSlackMs = 100;

/** A poll is a wait by nature: a client that set no deadline, or none worth waiting for, made a mistake. */
export function checkPollDeadline(context: HandlerContext, call: Call): void {
  if (call.deadlineMs === Infinity) throw invalidArgument('Context timeout is not set.');
  if (call.deadlineMs - context.monoMs() < pollTimeoutMsMin - pollTimeoutSlackMs) {
    throw new StatusError(statusCode.failedPrecondition, 'Context timeout is too short.');
  }
}

/** When this poll is answered empty, by the wall clock as matching counts; undefined = at once. */
export function pollDeadline(context: HandlerContext, call: Call): number | undefined {
  const leftMs = call.deadlineMs - pollTailMs - context.monoMs();
  if (leftMs < 0) return undefined;
  return context.nowMs() + Math.floor(Math.min(pollWaitMsMax - context.ports.random() * pollJitterMsMax, leftMs));
}

type PollFields = {
  readonly taskQueue: TaskQueue | undefined;
  readonly identity: string;
  readonly workerVersionCapabilities: Uint8Array | undefined;
  readonly deploymentOptions: Uint8Array | undefined;
  readonly workerInstanceKey: string;
};

export function checkPoll(request: PollFields, call: Call, limits: EdgeLimits): TaskQueue {
  checkLength(request.identity, 'Identity', limits);
  checkLength(request.workerInstanceKey, 'WorkerInstanceKey', limits);
  checkOpaque(request.workerVersionCapabilities, 'workerVersionCapabilities');
  checkOpaque(request.deploymentOptions, 'deploymentOptions');
  checkLength(buildIdOf(request.workerVersionCapabilities), 'BuildId', limits);
  const taskQueue = requireTaskQueue(request.taskQueue, limits);
  const { name, normalName, kind } = taskQueue;
  call.notes.taskQueue = normalName === '' ? name : normalName;
  if (varintField(request.workerVersionCapabilities, useVersioningTag) !== 0)
    throw notBuilt('Worker Versioning (worker_version_capabilities.use_versioning)');
  if (varintField(request.deploymentOptions, workerVersioningModeTag) === versionedMode)
    throw notBuilt('Worker Versioning (deployment_options with versioned mode)');
  if (normalName !== '' && kind !== TaskQueueKind.STICKY)
    throw invalidArgument(`only sticky queues can have normal name. tq: ${name}, normal name: ${normalName}`);
  return taskQueue;
}

/** Polls may go to any partition of a normal queue; drawing one spreads them. */
export function polledPartition(context: HandlerContext, namespaceId: string, queue: TaskQueue, taskType: TaskType): TaskQueuePartition {
  const sticky = queue.kind === TaskQueueKind.STICKY;
  const partition =
    sticky || context.ports.taskQueuePartitions === 1 ? 0 : Math.floor(context.ports.random() * context.ports.taskQueuePartitions);
  return { namespaceId, name: queue.name, taskType, partition, kind: sticky ? 'sticky' : 'normal' };
}

// WorkerVersionCapabilities.use_versioning = 2; WorkerDeploymentOptions.worker_versioning_mode = 3, VERSIONED = 2
const useVersioningTag = 2 << 3;
const workerVersioningModeTag = 3 << 3;
const versionedMode = 2;
