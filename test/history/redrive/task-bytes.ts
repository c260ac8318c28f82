import type { PendingTask } from '../../../src/history/tasks.ts';
import { taskToMessage } from '../../../src/topics/codec/state/task-message.ts';
import { encodePendingTask } from '../../../src/wire/generated/state/history.ts';

/** As whoever asks for its execution sends it. */
export function taskBytes(task: PendingTask): Uint8Array {
  return encodePendingTask(taskToMessage(task));
}
