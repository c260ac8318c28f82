import type { TaskQueue as TaskQueueFields } from '../../history/commands.ts';
import { TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import { type TaskQueue } from '../../wire/generated/lean/common.ts';
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
import { isTooLong } from './lengths.ts';

/** Names of partitions, which only servers use among themselves. */
const reservedPrefix = '/_sys/';

/** A queue as a request names it. */
export function requireTaskQueue(queue: TaskQueue | undefined): TaskQueue {
  if (queue === undefined) throw invalidArgument('taskQueue is not set');
  checkTaskQueue(queue);
  return queue;
}

export function checkTaskQueue(queue: TaskQueue): void {
  if (queue.name === '') throw invalidArgument('missing task queue name');
  if (isTooLong(queue.name) || isTooLong(queue.normalName)) throw invalidArgument('taskQueue length exceeds limit');
  if (queue.name.startsWith(reservedPrefix) || queue.normalName.startsWith(reservedPrefix)) {
    throw invalidArgument(`task queue name cannot start with reserved prefix ${reservedPrefix}`);
  }
  switch (queue.kind) {
    case TaskQueueKind.UNSPECIFIED:
    case TaskQueueKind.NORMAL:
    case TaskQueueKind.STICKY:
      return;
    case TaskQueueKind.WORKER_COMMANDS:
      throw notBuilt('task queue kind WORKER_COMMANDS');
    default:
      throw invalidArgument(`unknown task queue kind ${queue.kind}`);
  }
}

export function taskQueueFields(queue: TaskQueue): TaskQueueFields {
  return { name: queue.name, kind: queue.kind, normalName: queue.normalName };
}
