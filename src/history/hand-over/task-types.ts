/** What Temporal calls the tasks of a shard: letters, metrics and logs name them so, whoever wrote the task. */
import { isTimer, type Task } from '../tasks.ts';

const transferTaskTypes = {
  workflowTask: 'TASK_TYPE_TRANSFER_WORKFLOW_TASK',
  activityTask: 'TASK_TYPE_TRANSFER_ACTIVITY_TASK',
  startChild: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
  // There it is what a start of a child ends with.
  scheduleChildFirstTask: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
  signalExternal: 'TASK_TYPE_TRANSFER_SIGNAL_EXECUTION',
  cancelExternal: 'TASK_TYPE_TRANSFER_CANCEL_EXECUTION',
  // And these two are parts of one task.
  notifyParent: 'TASK_TYPE_TRANSFER_CLOSE_EXECUTION',
  closeChild: 'TASK_TYPE_TRANSFER_CLOSE_EXECUTION',
} as const;

const timerTaskTypes = {
  userTimer: 'TASK_TYPE_USER_TIMER',
  activityTimeout: 'TASK_TYPE_ACTIVITY_TIMEOUT',
  activityRetry: 'TASK_TYPE_ACTIVITY_RETRY_TIMER',
  workflowTaskTimeout: 'TASK_TYPE_WORKFLOW_TASK_TIMEOUT',
  firstWorkflowTask: 'TASK_TYPE_WORKFLOW_BACKOFF_TIMER',
  runTimeout: 'TASK_TYPE_WORKFLOW_RUN_TIMEOUT',
  executionTimeout: 'TASK_TYPE_WORKFLOW_EXECUTION_TIMEOUT',
  retention: 'TASK_TYPE_DELETE_HISTORY_EVENT',
} as const;

export type TaskType = (typeof transferTaskTypes)[keyof typeof transferTaskTypes] | (typeof timerTaskTypes)[keyof typeof timerTaskTypes];

/** Which queue of dead letters takes it. */
export type TaskCategory = 'transfer' | 'timer';

export function taskTypeOf(task: Task): TaskType {
  return isTimer(task) ? timerTaskTypes[task.kind] : transferTaskTypes[task.kind];
}

export function taskCategoryOf(task: Task): TaskCategory {
  return isTimer(task) ? 'timer' : 'transfer';
}
