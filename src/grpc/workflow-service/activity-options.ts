import type { ShownOptions } from '../../history/activity/activity-operations.ts';
import { TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import type { ActivityOptions as Message } from '../../wire/generated/lean/activity_options.ts';

/** As the answer to their change shows them. */
export function changedActivityOptions(options: ShownOptions): Message {
  return { ...activityOptions(options), taskQueue: { name: options.taskQueue.name, kind: TaskQueueKind.NORMAL, normalName: '' } };
}

/** As descriptions show them. Only activities outside of workflows have a start delay. */
export function activityOptions(options: ShownOptions): Message {
  return {
    taskQueue: { name: options.taskQueue.name, kind: 0, normalName: options.taskQueue.name },
    scheduleToCloseTimeoutMs: options.scheduleToCloseTimeoutMs,
    scheduleToStartTimeoutMs: options.scheduleToStartTimeoutMs,
    startToCloseTimeoutMs: options.startToCloseTimeoutMs,
    heartbeatTimeoutMs: options.heartbeatTimeoutMs,
    retryPolicy: options.retryPolicy,
    priority: options.priority,
    startDelayMs: 0,
  };
}
