/** What Temporal calls the tasks of a shard: letters, metrics and logs name them so, whoever wrote the task. */
import type { Task } from './tasks.ts';

export const taskCategories = ['transfer', 'timer', 'visibility', 'archival', 'outbound'] as const;

/** Which queue of dead letters takes a task. */
export type TaskCategory = (typeof taskCategories)[number];

const kinds = {
  workflowTask: ['transfer', 'TASK_TYPE_TRANSFER_WORKFLOW_TASK'],
  activityTask: ['transfer', 'TASK_TYPE_TRANSFER_ACTIVITY_TASK'],
  startChild: ['transfer', 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION'],
  // In Temporal this is what a start of a child ends with.
  scheduleChildFirstTask: ['transfer', 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION'],
  signalExternal: ['transfer', 'TASK_TYPE_TRANSFER_SIGNAL_EXECUTION'],
  cancelExternal: ['transfer', 'TASK_TYPE_TRANSFER_CANCEL_EXECUTION'],
  // Temporal has the next two as parts of one task.
  notifyParent: ['transfer', 'TASK_TYPE_TRANSFER_CLOSE_EXECUTION'],
  closeChild: ['transfer', 'TASK_TYPE_TRANSFER_CLOSE_EXECUTION'],
  startAction: ['transfer', 'TASK_TYPE_TRANSFER_START_CHILD_EXECUTION'],
  endAction: ['transfer', 'TASK_TYPE_TRANSFER_CANCEL_EXECUTION'],
  // It has the type of `endAction`, which a schedule asks of the same workflow: what keeps the news of closes from being told must not keep it from asking.
  lookAtAction: ['transfer', 'TASK_TYPE_TRANSFER_CANCEL_EXECUTION'],
  notifySchedule: ['transfer', 'TASK_TYPE_TRANSFER_CLOSE_EXECUTION'],
  scheduleWake: ['timer', 'TASK_TYPE_CHASM_PURE'],
  batchStep: ['timer', 'TASK_TYPE_CHASM_PURE'],
  userTimer: ['timer', 'TASK_TYPE_USER_TIMER'],
  activityTimeout: ['timer', 'TASK_TYPE_ACTIVITY_TIMEOUT'],
  activityRetry: ['timer', 'TASK_TYPE_ACTIVITY_RETRY_TIMER'],
  workflowTaskTimeout: ['timer', 'TASK_TYPE_WORKFLOW_TASK_TIMEOUT'],
  firstWorkflowTask: ['timer', 'TASK_TYPE_WORKFLOW_BACKOFF_TIMER'],
  runTimeout: ['timer', 'TASK_TYPE_WORKFLOW_RUN_TIMEOUT'],
  executionTimeout: ['timer', 'TASK_TYPE_WORKFLOW_EXECUTION_TIMEOUT'],
  retention: ['timer', 'TASK_TYPE_DELETE_HISTORY_EVENT'],
  archiveExecution: ['archival', 'TASK_TYPE_ARCHIVAL_ARCHIVE_EXECUTION'],
  // In Temporal the letter alone is kept, and its run waits for nobody.
  letterCheck: ['timer', 'TASK_TYPE_DELETE_HISTORY_EVENT'],
  invokeCallback: ['outbound', 'TASK_TYPE_STATE_MACHINE_OUTBOUND'],
  callbackBackoff: ['timer', 'TASK_TYPE_STATE_MACHINE_TIMER'],
  upsertVisibility: ['visibility', 'TASK_TYPE_VISIBILITY_UPSERT_EXECUTION'],
} as const satisfies { readonly [kind in Task['kind']]: readonly [TaskCategory, string] };
const closedRowType = 'TASK_TYPE_VISIBILITY_CLOSE_EXECUTION';

export type TaskType = (typeof kinds)[Task['kind']][1] | typeof closedRowType;

export function taskTypeOf(task: Task): TaskType {
  return task.kind === 'upsertVisibility' && task.isClosed ? closedRowType : kinds[task.kind][1];
}

export function taskCategoryOf(task: Task): TaskCategory {
  return kinds[task.kind][0];
}
