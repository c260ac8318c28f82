import type { TaskQueue as TaskQueueFields } from '../../history/generated/public-api.ts';
import { TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import { type TaskQueue } from '../../wire/generated/lean/common.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import { checkBound } from './bounds.ts';
import { type EdgeLimits, isTooLong } from './lengths.ts';

/** Names of partitions, which only servers use among themselves. */
const reservedPrefix = '/_sys/';

/** A queue as a request names it. */
export function requireTaskQueue(queue: TaskQueue | undefined, limits: EdgeLimits): TaskQueue {
  if (queue === undefined) throw invalidArgument('taskQueue is not set');
  checkTaskQueue(queue, limits);
  return queue;
}

export function checkTaskQueue(queue: TaskQueue, limits: EdgeLimits): void {
  if (queue.name === '') throw invalidArgument('missing task queue name');
  if (isTooLong(queue.name, limits) || isTooLong(queue.normalName, limits)) throw invalidArgument('taskQueue length exceeds limit');
  if (queue.name.startsWith(reservedPrefix) || queue.normalName.startsWith(reservedPrefix)) {
    throw invalidArgument(`task queue name cannot start with reserved prefix ${reservedPrefix}`);
  }
  checkBound('TaskQueue.kind', queue.kind);
  if (queue.kind === TaskQueueKind.WORKER_COMMANDS) throw notBuilt('task queue kind WORKER_COMMANDS');
}

export function taskQueueFields(queue: TaskQueue): TaskQueueFields {
  return { name: queue.name, kind: queue.kind, normalName: queue.normalName };
}
