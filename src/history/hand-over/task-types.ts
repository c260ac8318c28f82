/** What Temporal calls the tasks of a shard: letters, metrics and logs name them so, whoever wrote the task. */
import type { Task } from '../tasks.ts';

const taskTypes = {
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
  startAction: 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION',
  endAction: 'TASK_TYPE_TRANSFER_CANCEL_EXECUTION',
  // As the other that a schedule asks of its workflow: what keeps the news of closes from being told must not keep it from asking.
  lookAtAction: 'TASK_TYPE_TRANSFER_CANCEL_EXECUTION',
  notifySchedule: 'TASK_TYPE_TRANSFER_CLOSE_EXECUTION',
  scheduleWake: 'TASK_TYPE_CHASM_PURE',
  batchStep: 'TASK_TYPE_CHASM_PURE',
  userTimer: 'TASK_TYPE_USER_TIMER',
  activityTimeout: 'TASK_TYPE_ACTIVITY_TIMEOUT',
  activityRetry: 'TASK_TYPE_ACTIVITY_RETRY_TIMER',
  workflowTaskTimeout: 'TASK_TYPE_WORKFLOW_TASK_TIMEOUT',
  firstWorkflowTask: 'TASK_TYPE_WORKFLOW_BACKOFF_TIMER',
  runTimeout: 'TASK_TYPE_WORKFLOW_RUN_TIMEOUT',
  executionTimeout: 'TASK_TYPE_WORKFLOW_EXECUTION_TIMEOUT',
  retention: 'TASK_TYPE_DELETE_HISTORY_EVENT',
  archiveExecution: 'TASK_TYPE_ARCHIVAL_ARCHIVE_EXECUTION',
  // There the letter alone is kept, and its run waits for nobody.
  letterCheck: 'TASK_TYPE_DELETE_HISTORY_EVENT',
  invokeCallback: 'TASK_TYPE_STATE_MACHINE_OUTBOUND',
  callbackBackoff: 'TASK_TYPE_STATE_MACHINE_TIMER',
  upsertVisibility: 'TASK_TYPE_VISIBILITY_UPSERT_EXECUTION',
} as const satisfies { readonly [kind in Task['kind']]: string };
const closedRowType = 'TASK_TYPE_VISIBILITY_CLOSE_EXECUTION';

export type TaskType = (typeof taskTypes)[Task['kind']] | typeof closedRowType;

/** Which queue of dead letters takes it. */
export type TaskCategory = (typeof taskCategories)[number];

export const taskCategories = ['transfer', 'timer', 'visibility', 'archival', 'outbound'] as const;

const categories: { readonly [kind in Task['kind']]: TaskCategory } = {
  workflowTask: 'transfer',
  activityTask: 'transfer',
  startChild: 'transfer',
  scheduleChildFirstTask: 'transfer',
  signalExternal: 'transfer',
  cancelExternal: 'transfer',
  notifyParent: 'transfer',
  closeChild: 'transfer',
  startAction: 'transfer',
  endAction: 'transfer',
  lookAtAction: 'transfer',
  notifySchedule: 'transfer',
  scheduleWake: 'timer',
  batchStep: 'timer',
  userTimer: 'timer',
  activityTimeout: 'timer',
  activityRetry: 'timer',
  workflowTaskTimeout: 'timer',
  firstWorkflowTask: 'timer',
  runTimeout: 'timer',
  executionTimeout: 'timer',
  retention: 'timer',
  letterCheck: 'timer',
  callbackBackoff: 'timer',
  upsertVisibility: 'visibility',
  archiveExecution: 'archival',
  invokeCallback: 'outbound',
};

export function taskTypeOf(task: Task): TaskType {
  return task.kind === 'upsertVisibility' && task.isClosed ? closedRowType : taskTypes[task.kind];
}

export function taskCategoryOf(task: Task): TaskCategory {
  return categories[task.kind];
}
