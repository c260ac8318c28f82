/** Names and ids in requests: how long they may be, and what they must be to name a run or a task queue. */
import type { TaskQueue as TaskQueueFields } from '../../history/generated/public-api.ts';
import type { HistoryLimits } from '../../history/run/history-limits.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { partitionNamePrefix } from '../../kernel/task-queue.ts';
import { isUuid } from '../../kernel/uuid.ts';
import type { TaskQueue, WorkflowExecution } from '../../wire/generated/lean/common.ts';
import { TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import { checkBound } from './bounds.ts';

/** Edge and core have the same limits, so they cannot disagree. */
export type EdgeLimits = HistoryLimits;

/** `field` as the messages spell it: `WorkflowId`, `SignalName`, … */
export function checkLength(value: string, field: string, limits: EdgeLimits): void {
  if (isTooLong(value, limits)) throw invalidArgument(`${field} length exceeds limit.`);
}

export function checkLengths(values: Readonly<Record<string, string>>, limits: EdgeLimits): void {
  for (const field in values) checkLength(values[field] as string, field, limits);
}

export function isTooLong(value: string, { idBytesMax }: EdgeLimits): boolean {
  // A UTF-16 unit is at most three bytes, so short strings need no counting.
  return value.length * 3 > idBytesMax && Buffer.byteLength(value) > idBytesMax;
}

export function checkWorkflowIdLength(workflowId: string, limits: EdgeLimits): void {
  if (!isTooLong(workflowId, limits)) return;
  throw invalidArgument(`WorkflowId exceeds maximum allowed length (${Buffer.byteLength(workflowId)}/${limits.idBytesMax})`);
}

/** The run that a request names, `runId` '' = the current one. Form only: whether it exists is for its shard to say. */
export function runKey(namespaceId: string, execution: WorkflowExecution | undefined): RunKey {
  if (execution === undefined) throw invalidArgument('Execution is not set on request.');
  return runKeyOf(namespaceId, execution.workflowId, execution.runId);
}

/** The run that a request names, in the words of Temporal's shards: for calls that its frontend passes on without a look at their run id. */
export function shardRunKey(namespaceId: string, { workflowId, runId }: WorkflowExecution): RunKey {
  return runKeyOf(namespaceId, workflowId, runId, 'RunId is not valid UUID.');
}

export function runKeyOf(namespaceId: string, workflowId: string, runId: string, problem = 'Invalid RunId.'): RunKey {
  if (workflowId === '') throw invalidArgument('WorkflowId is not set on request.');
  if (runId !== '' && !isUuid(runId)) throw invalidArgument(problem);
  return { namespaceId, workflowId, runId: runId.toLowerCase() };
}

export function requireTaskQueue(queue: TaskQueue | undefined, limits: EdgeLimits): TaskQueue {
  if (queue === undefined) throw invalidArgument('taskQueue is not set');
  checkTaskQueue(queue, limits);
  return queue;
}

export function checkTaskQueue(queue: TaskQueue, limits: EdgeLimits): void {
  if (queue.name === '') throw invalidArgument('missing task queue name');
  if (isTooLong(queue.name, limits) || isTooLong(queue.normalName, limits)) throw invalidArgument('taskQueue length exceeds limit');
  if (queue.name.startsWith(partitionNamePrefix) || queue.normalName.startsWith(partitionNamePrefix)) {
    throw invalidArgument(`task queue name cannot start with reserved prefix ${partitionNamePrefix}`);
  }
  checkBound('TaskQueue.kind', queue.kind);
  if (queue.kind === TaskQueueKind.WORKER_COMMANDS) throw notBuilt('task queue kind WORKER_COMMANDS');
}

export function taskQueueFields(queue: TaskQueue): TaskQueueFields {
  return { name: queue.name, kind: queue.kind, normalName: queue.normalName };
}
