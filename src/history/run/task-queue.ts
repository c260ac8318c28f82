import { partitionNamePrefix } from '../../kernel/task-queue.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import type { TaskQueue } from '../generated/public-api.ts';
import { taskQueueKind } from '../generated/enums.ts';

/** The queue that a command names, or the workflow's own; a text says why it cannot be used. */
export function checkTaskQueue(queue: TaskQueue | undefined, own: TaskQueue, idBytesMax: number): TaskQueue | string {
  const name = queue === undefined || queue.name === '' ? own.name : queue.name;
  if (name === '') return 'missing task queue name';
  if (utf8Bytes(name) > idBytesMax) return 'taskQueue length exceeds limit';
  if (name.startsWith(partitionNamePrefix) && name !== own.name)
    return `task queue name cannot start with reserved prefix ${partitionNamePrefix}`;
  return { name, kind: taskQueueKind.normal, normalName: '' };
}

/** The form in which Temporal's messages print a queue. */
export function taskQueueText(name: string): string {
  return `name:"${name}" kind:TASK_QUEUE_KIND_NORMAL`;
}
