import { type TaskType, partitionOf, type TaskQueuePartition } from '../../kernel/task-queue.ts';
import type { HandlerContext } from '../handler-context.ts';
import { failedPrecondition, invalidArgument, notBuilt } from '../errors/status-error.ts';
import type { TaskQueue } from '../../wire/generated/lean/common.ts';
import { TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import { Reader } from '../../wire/reader.ts';
import { encodeBriefly, type Writer } from '../../wire/writer.ts';
import type { Call } from '../transport/call.ts';
import { checkLength, type EdgeLimits, requireTaskQueue } from '../validation/names.ts';
import { checkOpaque } from '../validation/opaque.ts';

const pollWaitMsMax = 60_000;
const pollJitterMsMax = 10_000;
/** A poll without a task is answered this long before the client's own deadline. */
const pollTailMs = 1_000;
const pollTimeoutMsMin = 2_000;
/** What a request may have spent of its time on its way to us: a client that sets just the least is not refused for it. */
const pollTimeoutSlackMs = 100;

/** A poll is a wait by nature: a client that set no deadline, or none worth waiting for, made a mistake. */
export function checkPollDeadline(context: HandlerContext, call: Call): void {
  if (call.deadlineMs === Infinity) throw invalidArgument('Context timeout is not set.');
  if (call.deadlineMs - context.monoMs() < pollTimeoutMsMin - pollTimeoutSlackMs) {
    throw failedPrecondition('Context timeout is too short.');
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
  const { taskQueuePartitions, random } = context.ports;
  return partitionOf(namespaceId, queue, taskType, () => (taskQueuePartitions === 1 ? 0 : Math.floor(random() * taskQueuePartitions)));
}

// WorkerVersionCapabilities.use_versioning = 2; WorkerDeploymentOptions.worker_versioning_mode = 3, VERSIONED = 2
const useVersioningTag = 2 << 3;
const workerVersioningModeTag = 3 << 3;
const versionedMode = 2;

// ── What events say of the worker that has taken a task: a `WorkerVersionStamp` ────────────────────────────────────────────────

// WorkerVersionCapabilities and WorkerVersionStamp: build_id = 1; WorkerVersionStamp.use_versioning = 3
const buildIdTag = (1 << 3) | 2;
const stampUseVersioningTag = 3 << 3;

export function stampOfPoll(capabilities: Uint8Array | undefined): Uint8Array | undefined {
  const buildId = buildIdOf(capabilities);
  return buildId === '' ? undefined : encodedStamp(buildId, false);
}

/** A stamp as a worker has sent it, but for fields that the public API does not have: each activity that starts eagerly keeps a copy. */
export function checkedStamp(stamp: Uint8Array | undefined, limits: EdgeLimits): Uint8Array | undefined {
  checkOpaque(stamp, 'workerVersionStamp');
  if (stamp === undefined) return undefined;
  const buildId = buildIdOf(stamp);
  checkLength(buildId, 'BuildId', limits);
  return encodedStamp(buildId, varintField(stamp, stampUseVersioningTag) !== 0);
}

const buildIdOf = (message: Uint8Array | undefined): string => lastOf(message, buildIdTag, (reader) => reader.string()) ?? '';

/** One number out of an opaque message that is known to be well-formed; 0 when it is not there. */
const varintField = (message: Uint8Array | undefined, tag: number): number => lastOf(message, tag, (reader) => reader.int32()) ?? 0;

/** Of a field that stands there several times the last counts. */
function lastOf<Value>(message: Uint8Array | undefined, wanted: number, read: (reader: Reader) => Value): Value | undefined {
  if (message === undefined) return undefined;
  const reader = new Reader(message);
  let value: Value | undefined;
  while (reader.pos < reader.end) {
    const tag = reader.tag();
    if (tag === wanted) value = read(reader);
    else reader.skip(tag);
  }
  return value;
}

function encodedStamp(buildId: string, usesVersioning: boolean): Uint8Array {
  const write = (w: Writer): void => {
    w.string(buildIdTag, buildId);
    w.bool(stampUseVersioningTag, usesVersioning);
  };
  return encodeBriefly(write, undefined);
}
